"""Augmented stores whose right side is a part of the same memory read a copy of it.

`a[1:] *= a[:-1]` means the values from before the statement. NumPy keeps to that; compiled code multiplies element by
element and would read what it has just written. A copy is made only where both sides may share memory.

>>> from transad.quote import constant, expr, name, slice_
>>> from transad.kinds import Array
>>> from transad.ir import dump
>>> at = {"a": name("a@0")}
>>> store = Store("a@0", [slice_(constant(1), None)], expr("a[:-1]", **at), "*")
>>> program = Program("f", ["a@0"], [store], [], {"a": Array("float64", 1)})
>>> print(dump(apart(program).body))
part@1 = a@0[:-1].copy()
a@0[1:] *= part@1
"""
from __future__ import annotations

from transad.ir import Block, Let, Program, Statement, Store, blocks, walk
from transad.kinds import Array
from transad.nodes import gast
from transad.quote import Node, expr, name, show


def apart(program: Program) -> Program:
    """The program with versions, where augmented stores read no memory that they write at another place."""
    from transad.passes.regions import regions, view_of
    suspects = [s for s in walk(program.body) if isinstance(s, Store) and s.op and view_of(s.value) is not None
                and part_kind(s.value, program) is not None]
    if not suspects:
        return program
    found = regions(program)
    mixed = {id(s) for s in suspects if found.same(view_of(s.value) or "", s.array) and not _same_place(s)}
    if mixed:
        _copy_first(program.body, mixed, program)
    return program


def _same_place(s: Store) -> bool:
    """Whether the right side is the very part that is stored into."""
    target = name(s.array) if not s.index else None
    if target is not None:
        return show(target) == show(s.value)
    if not isinstance(s.value, gast.Subscript) or show(s.value.value) != s.array:
        return False
    items = s.value.slice.elts if isinstance(s.value.slice, gast.Tuple) else [s.value.slice]
    return [show(i) for i in items] == [show(i) for i in s.index]


def part_kind(e: Node, program: Program) -> Array | None:
    """The kind of an array, a view of it or an alias; None for a number."""
    if isinstance(e, gast.Name):
        kind = program.kinds.get(e.id.split("@")[0])
        return kind if isinstance(kind, Array) else None
    if isinstance(e, gast.Attribute):
        return part_kind(e.value, program)
    if isinstance(e, gast.Call):
        kind = part_kind(e.args[0], program)
        return kind if e.func.id == "np.transpose" else None
    owner = part_kind(e.value, program)
    if owner is None:
        return None
    items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
    added = sum(isinstance(i, gast.Constant) and i.value is None for i in items)
    rank = owner.ndim + added - sum(not isinstance(i, gast.Slice) for i in items) + added
    return Array(owner.dtype, rank) if rank else None


def _copy_first(block: Block, mixed: set[int], program: Program) -> None:
    made: Block = []
    for s in block:
        for inner in blocks(s):
            _copy_first(inner, mixed, program)
        if id(s) in mixed:
            made.append(_copied(s, program))
        made.append(s)
    block[:] = made


def _copied(s: Statement, program: Program) -> Let:
    assert isinstance(s, Store)
    kind, variable, k = part_kind(s.value, program), "part", 1
    while variable in program.kinds:
        k += 1
        variable = f"part_{k}"
    assert kind is not None
    program.kinds[variable] = kind
    copy = Let(f"{variable}@1", expr("a.copy()", a=s.value), line=s.line, source=s.source)
    s.value = name(copy.name)
    return copy
