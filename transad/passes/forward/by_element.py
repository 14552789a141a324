"""Marked functions that take one sweep for each element of an array.

>>> from transad.ir import Let
>>> from transad.kinds import FLOAT
>>> from transad.passes.duals import Dual, by_dual
>>> from transad.quote import expr
>>> square = Dual("square", ["v"], [Let("y", expr("f(v)", f=name("np.sum")))], ["y"])
>>> value = by_dual(expr("f(v)", f=name("np.sum"), v=name("w@1")), square, 0)
>>> value.args[3] = name("w@1")
>>> row = Array("float64", 1)
>>> program = Program("f", ["x@0"], [Let("w@1", expr("2.0 * x", x=name("x@0"))), Let("s@1", value)], [name("s@1")],
...                   {"x": row, "w": row, "s": FLOAT, "v": row, "y": FLOAT})
>>> swept_by_element(program, ["x"])
[('square', 0, 0)]
"""
from __future__ import annotations

import math

from transad.ir import Let, Program, walk
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import carriers
from transad.passes.duals import dual_of
from transad.passes.forward.lanes import item_lanes
from transad.passes.versions import base
from transad.quote import Node, name, names_in


def swept_by_element(program: Program, wanted: list[str]) -> list[tuple[str, int, int]]:
    """The labels of such functions, each with the parameter (among those that are differentiated) whose shape the array
    has, but for so many leading axes, as far as the text shows it."""
    values = {s.name: s.value for s in walk(program.body) if isinstance(s, Let)}
    out = {}
    for e in values.values():
        found = dual_of(e)
        if found is None or found[1]:
            continue
        dual = found[0]
        for v, x in zip(dual.inputs, e.args[3:], strict=True):
            kind = program.kinds[v]
            if isinstance(kind, Array) and kind.real and isinstance(x, gast.Name):
                body = Program(dual.label, dual.inputs, dual.body, [name(y) for y in dual.results], program.kinds, {})
                origin, axes = _origin(x, values, program)
                if base(origin) not in wanted or origin not in program.parameters:
                    continue
                if item_lanes(body, [v], Names(program.kinds), {}) is None:
                    out[dual.label, program.parameters.index(origin), axes] = None
    return list(out)


def _origin(e: Node, values: dict[str, Node], program: Program) -> tuple[str, int]:
    """The array that an array gets its shape from, and how many leading axes it lacks; "" where that is not seen."""
    if isinstance(e, gast.Name):
        return _origin(values[e.id], values, program) if e.id in values else (e.id, 0)
    if isinstance(e, gast.Subscript):
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        origin, axes = _origin(e.value, values, program)
        numbers = all(isinstance(i, gast.Constant | gast.Name | gast.BinOp) and not any(isinstance(
            program.kinds.get(base(v)), Array) for v in names_in(i)) for i in items)
        return (origin, axes + len(items)) if numbers and not _none(items) else ("", 0)
    if not isinstance(e, gast.BinOp | gast.UnaryOp | gast.Call):
        return "", 0
    arrays = {v for v in carriers(e) if isinstance(program.kinds.get(base(v)), Array)}
    return _origin(name(arrays.pop()), values, program) if len(arrays) == 1 else ("", 0)


def _none(items: list[Node]) -> bool:
    return any(isinstance(i, gast.Constant) and i.value is None for i in items)


def numbers_of(shape: tuple[int, ...], axes: int) -> int:
    """How many sweeps an array of this shape takes, without its leading axes."""
    return math.prod(shape[axes:])
