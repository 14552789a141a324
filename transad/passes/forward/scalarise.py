"""Small arrays as numbers: an array of known length that is only read and written at constant indices.

Afterwards such an argument is a row of numbers, and so is such a local array, so that a derivative sees which element
depends on which, and compiled code keeps them in registers.

>>> from transad.quote import expr
>>> from transad.kinds import Array
>>> from transad.ir import dump
>>> row = Array("float64", 1)
>>> program = Program("f", ["v"], [Let("e", expr("empty_(2)", empty_=name("np.empty"))),
...                   Store("e", [expr("0")], expr("v[0] * v[-1]")), Store("e", [expr("1")], expr("len(v)"))],
...                   [expr("e")], {"v": row, "e": row})
>>> small = scalarise(program, {"v": 3}, Names({"v", "e"}))
>>> print(dump(small.program.body))
e_0 = v_0 * v_2
e_1 = float(3)
>>> small.program.parameters, small.results
(['v_0', 'v_1', 'v_2'], [['e_0', 'e_1']])
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, expressions, walk
from transad.kinds import FLOAT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.values import Values
from transad.quote import Node, call, constant, expr, mapped, name

LARGEST = 64                       # elements of an array that becomes numbers


@dataclass
class Scalarised:
    """`arguments`: the numbers of an array argument; `results`: one entry per result, a list of numbers for an array
    that was taken apart."""

    program: Program
    arguments: dict[str, list[str]]
    results: list[list[str] | None]


def scalarise(program: Program, sizes: dict[str, int], names: Names) -> Scalarised:
    """The program with small arrays as numbers; `sizes` are the lengths of array arguments of rank one."""
    lengths = {p: n for p, n in sizes.items() if n <= LARGEST and program.kinds.get(p) == Array("float64", 1)}
    lengths |= _locals(program)
    refused = _Uses(lengths).of(program)
    lengths = {a: n for a, n in lengths.items() if a not in refused}
    parts = {a: [names.fresh(f"{a}_{k}") for k in range(n)] for a, n in lengths.items()}
    kinds = program.kinds | {e: FLOAT for row in parts.values() for e in row}
    work = _Rewrite(parts, Values(Program(**{**vars(program), "kinds": kinds}), Regions(), Scopes(Scope([])), Names()))
    parameters = [e for p in program.parameters for e in parts.get(p, [p])]
    packed = [parts.get(r.id) if isinstance(r, gast.Name) else None for r in program.results]
    results = [x for r, row in zip(program.results, packed, strict=True) for x in (
        [name(e) for e in row] if row else [work.use(r)])]
    body = work.block(program.body)
    made = Program(**{**vars(program), "body": body, "results": results, "parameters": parameters, "kinds": kinds})
    return Scalarised(made, {p: parts[p] for p in program.parameters if p in parts}, packed)


def _locals(program: Program) -> dict[str, int]:
    """Local arrays of constant length, made in one place."""
    made: dict[str, list[Node]] = {}
    for s in walk(program.body):
        if isinstance(s, Let):
            made.setdefault(s.name, []).append(s.value)
    out = {}
    for a, values in made.items():
        e = values[0]
        if len(values) == 1 and program.kinds.get(a) == Array("float64", 1) and isinstance(e, gast.Call) and getattr(
                e.func, "id", "") in ("np.empty", "np.zeros", "np.ones") and a not in program.parameters:
            n = e.args[0].value if isinstance(e.args[0], gast.Constant) else None
            if isinstance(n, int) and 0 < n <= LARGEST:
                out[a] = n
    return out


def _position(i: Node, n: int) -> int | None:
    """A constant index in range, counted from the front."""
    k: Any = i.value if isinstance(i, gast.Constant) else None
    if isinstance(i, gast.UnaryOp) and isinstance(i.op, gast.USub) and isinstance(i.operand, gast.Constant):
        k = -i.operand.value
    return k % n if type(k) is int and -n <= k < n else None


def _folded(e: Node, lengths: dict[str, Any]) -> tuple[str, int | None] | None:
    """(array, element) for `a[k]`, (array, None) for its length; None for anything else."""
    if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and e.value.id in lengths:
        k = _position(e.slice, lengths[e.value.id])
        return None if k is None else (e.value.id, k)
    if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute) and e.value.attr == "shape" and isinstance(
            e.value.value, gast.Name) and e.value.value.id in lengths and getattr(e.slice, "value", 1) == 0:
        return e.value.value.id, None
    if isinstance(e, gast.Attribute) and e.attr == "size" and isinstance(e.value, gast.Name) and e.value.id in lengths:
        return e.value.id, None
    if isinstance(e, gast.Call) and getattr(e.func, "id", "") == "len" and isinstance(
            e.args[0], gast.Name) and e.args[0].id in lengths:
        return e.args[0].id, None
    return None


class _Uses:
    """Finds the arrays that are used in another way than element by element."""

    def __init__(self, lengths: dict[str, int]) -> None:
        self.lengths = lengths
        self.refused: set[str] = set()

    def of(self, program: Program) -> set[str]:
        for s in walk(program.body):
            if isinstance(s, Store):
                known = self.lengths.get(s.array)
                if known is not None and (len(s.index) != 1 or _position(s.index[0], known) is None
                                          or s.array in program.parameters or s.op not in ("", "+", "-", "*", "/")):
                    self.refused.add(s.array)
            if isinstance(s, Move):
                self.refused.update([*s.targets, *s.sources])
            allocation = isinstance(s, Let) and s.name in self.lengths
            for e in expressions(s):
                self.expression(e, allocation)
        for r in program.results:
            if not isinstance(r, gast.Name):
                self.expression(r, False)
            elif r.id in program.parameters:
                self.refused.add(r.id)
        counts = [r.id for r in program.results if isinstance(r, gast.Name)]
        self.refused |= {a for a in counts if counts.count(a) > 1}          # one array returned twice stays one array
        return self.refused

    def expression(self, e: Node, allocation: bool) -> None:
        if isinstance(e, gast.Name):
            self.refused.add(e.id)
        elif _folded(e, self.lengths) is None:
            for child in gast.iter_child_nodes(e):
                if isinstance(child, gast.expr):
                    self.expression(child, allocation)


class _Rewrite:
    def __init__(self, parts: dict[str, list[str]], values: Values) -> None:
        self.parts, self.values = parts, values
        self.lengths = {a: len(row) for a, row in parts.items()}

    def use(self, e: Node) -> Node:
        found = _folded(e, self.lengths)
        if found is not None:
            array, k = found
            return constant(self.lengths[array]) if k is None else name(self.parts[array][k])
        return mapped(e, self.use)

    def block(self, block: Block) -> Block:
        return [new for s in block for new in self.statement(s)]

    def statement(self, s: Statement) -> Block:
        place = {"line": s.line, "source": s.source}
        if isinstance(s, Let) and s.name in self.parts:
            fill = {"np.zeros": 0.0, "np.ones": 1.0}.get(s.value.func.id)
            return [] if fill is None else [Let(e, constant(fill), **place) for e in self.parts[s.name]]
        if isinstance(s, Let):
            return [Let(s.name, self.use(s.value), **place)]
        if isinstance(s, Store) and s.array in self.parts:
            target = self.parts[s.array][_position(s.index[0], self.lengths[s.array]) or 0]
            value = self.use(s.value)
            if s.op:
                value = expr(f"a {s.op} b", a=name(target), b=value)
            if self.values.kind(value) != FLOAT:
                value = call("float", value)
            return [Let(target, value, **place)]
        if isinstance(s, Store):
            return [Store(s.array, [self.use(i) for i in s.index], self.use(s.value), s.op, **place)]
        if isinstance(s, Do):
            return [Do(self.use(s.value), **place)]
        if isinstance(s, Exit):
            return [Exit(s.how, None if s.value is None else self.use(s.value), **place)]
        if isinstance(s, If):
            return [If(self.use(s.test), self.block(s.then), self.block(s.orelse), **place)]
        if isinstance(s, For):
            return [For(s.var, self.use(s.start), self.use(s.stop), s.step, self.block(s.body), **place)]
        if isinstance(s, While):
            return [While(self.use(s.test), self.block(s.body), **place)]
        return [s]
