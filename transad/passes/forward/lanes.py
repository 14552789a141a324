"""The item of a map as a function of numbers, where that is all its derivative needs.

An array of which an item reads elements only under its own index, shifted or not, or under literal indices, is no array
to the item: each such element becomes a parameter. Then a forward sweep with a lane for each number gives value and
slopes of the item at once, without a tape.

>>> from transad.quote import expr
>>> from transad.kinds import INT
>>> from transad.ir import dump
>>> row = Array("float64", 1)
>>> item = Program("f_item", ["i", "x", "p", "a"], [Let("y", expr("x[i] * p[0] + a * p[0] * len(x)"))], [name("y")],
...                {"i": INT, "x": row, "p": row, "a": FLOAT, "y": FLOAT})
>>> found = item_lanes(item, ["x", "p", "a"], Names(item.kinds), {"i": name("i")})
>>> print(dump(found.program.body))
y = x_i * p_0 + a * p_0 * len(x)
>>> [(lane.name, lane.own, show(lane.argument)) for lane in found.lanes]
[('x_i', True, 'x[i]'), ('p_0', False, 'p[0]'), ('a', False, 'a')]
"""
from __future__ import annotations

from dataclasses import dataclass

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While
from transad.kinds import FLOAT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.duals import value_of
from transad.quote import Node, index, mapped, name, show


@dataclass
class Lane:
    """One number: `argument` is what the map passes for the parameter `name`, `input` the variable that it belongs to.
    `own`: an element under the item's own index, of which no two items share one."""

    name: str
    input: str
    items: list[Node]
    own: bool

    @property
    def argument(self) -> Node:
        return index(name(self.input), self.items) if self.items else name(self.input)


@dataclass
class Lanes:
    """The item with the elements as parameters, and its lanes."""

    program: Program
    lanes: list[Lane]


def item_lanes(item: Program, wanted: list[str], names: Names, own: dict[str, Node]) -> Lanes | None:
    """The item as a function of numbers; None where it reads a differentiated array in another way.

    own  what has another value in every item (`Bounds.own_indices`)"""
    arrays = {v for v in wanted if isinstance(item.kinds[v], Array)}
    work = _Elements(item, arrays, names, own)
    body = work.block(item.body)
    results = [work.use(e) for e in item.results]
    if work.refused:
        return None
    lanes: list[Lane] = []
    for v in wanted:
        lanes += [x for x in work.lanes.values() if x.input == v] if v in arrays else [Lane(v, v, [], False)]
    new = [x.name for x in lanes if x.items]
    kinds = item.kinds | dict.fromkeys(new, FLOAT)
    program = Program(**{**vars(item), "body": body, "results": results, "parameters": [*item.parameters, *new],
                         "kinds": kinds})
    return Lanes(program, lanes)


class _Elements:
    """Replaces element loads of `arrays` by names."""

    def __init__(self, item: Program, arrays: set[str], names: Names, own: dict[str, Node]) -> None:
        self.arrays, self.names, self.kinds, self.own = arrays, names, item.kinds, own
        self.index = item.parameters[0] if own else ""
        self.shifts: dict[str, set[str]] = {}           # of each array, the ways in which its own index is shifted
        self.lanes: dict[str, Lane] = {}
        self.refused = False

    def use(self, e: Node) -> Node:
        if isinstance(e, gast.Name):
            self.refused |= e.id in self.arrays
            return e
        if _is_size(e, self.arrays):
            return e
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and e.value.id in self.arrays:
            return self.element(e)
        return mapped(e, self.use)

    def element(self, e: Node) -> Node:
        """The lane of a load under the item's index or literals."""
        items = list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]
        own = [isinstance(x, gast.Name) and x.id in self.own for x in items]
        items = [self.own[x.id] if mine else x for x, mine in zip(items, own, strict=True)]
        words = [show(x) for x in items]
        shifts = self.shifts.setdefault(e.value.id, set())
        shifts |= {w for w, mine in zip(words, own, strict=True) if mine}
        if len(items) != self.kinds[e.value.id].ndim or len(shifts) > 1 or sum(own) > 1 or not all(
                mine or w.removeprefix("-").isdigit() for w, mine in zip(words, own, strict=True)):
            self.refused = True                         # x[i] and x[i + 1]: an entry that two items share
            return e
        key = f"{e.value.id}[{', '.join(words)}]"
        if key not in self.lanes:
            parts = [self.index if mine else w.replace("-", "m") for w, mine in zip(words, own, strict=True)]
            self.lanes[key] = Lane(self.names.fresh("_".join([e.value.id, *parts])), e.value.id, items, any(own))
        return name(self.lanes[key].name)

    def block(self, block: Block) -> Block:
        return [self.statement(s) for s in block]

    def statement(self, s: Statement) -> Statement:
        place = {"line": s.line, "source": s.source}
        if isinstance(s, Let):
            return Let(s.name, self.use(value_of(s.value)), **place)
        if isinstance(s, Move):
            self.refused |= bool(self.arrays & {*s.targets, *s.sources})
            return s
        if isinstance(s, Store):
            self.refused |= s.array in self.arrays
            return Store(s.array, [self.use(i) for i in s.index], self.use(s.value), s.op, **place)
        if isinstance(s, Do):
            return Do(self.use(s.value), **place)
        if isinstance(s, Exit):
            return Exit(s.how, None if s.value is None else self.use(s.value), **place)
        if isinstance(s, If):
            return If(self.use(s.test), self.block(s.then), self.block(s.orelse), **place)
        if isinstance(s, For):
            return For(s.var, self.use(s.start), self.use(s.stop), s.step, self.block(s.body), **place)
        assert isinstance(s, While)
        return While(self.use(s.test), self.block(s.body), **place)


def _is_size(e: Node, arrays: set[str]) -> bool:
    """Whether an expression asks for the shape of an array only."""
    if isinstance(e, gast.Call) and getattr(e.func, "id", "") == "len":
        return isinstance(e.args[0], gast.Name) and e.args[0].id in arrays
    return isinstance(e, gast.Attribute) and e.attr in ("shape", "size", "ndim") and isinstance(
        e.value, gast.Name) and e.value.id in arrays


__all__ = ["Lane", "Lanes", "item_lanes"]
