"""Maps whose results are used in order, divided: the items as a map of their own, then the loop that uses them.

What a trip computes without what earlier trips left is an item; it goes through an array to the loop that remains.

>>> from transad.kinds import FLOAT, INT, Array
>>> from transad.quote import expr
>>> loop = For("i", constant(0), expr("len(x)"), 1, [Let("y", expr("g(x[i])")), Let("s", expr("0.5 * s + y"))], mapped=True)
>>> program = Program("f", ["x"], [Let("s", expr("1.0")), loop], [name("s")],
...                   {"x": Array("float64", 1), "s": FLOAT, "y": FLOAT, "i": INT})
>>> print(dump(divided(program, Names("xsyi"), lambda part: True).body))
items = np.empty(len(x))
for i in range(0, len(x)):
    y = g(x[i])
    items[i] = y
s = 1.0
for i in range(0, len(x)):
    y = items[i]
    s = 0.5 * s + y
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, assigned, dump, reads, walk
from transad.kinds import Array, Kind
from transad.names import Names
from transad.nodes import gast
from transad.passes.fresh import private
from transad.passes.map_items import Dependent, Map, live_from, mapped
from transad.passes.regions import view_of
from transad.passes.reverse.assembly import definite
from transad.passes.specialise.extents import Extents
from transad.passes.versions import live_before
from transad.quote import Node, call, constant, index, name, show, tuple_

_ZERO = {"float64": 0.0, "int64": 0, "bool": False}


class _Whole(Exception):
    """A loop that is not divided."""


def divided(program: Program, names: Names, worth: Callable[[Map], bool]) -> Program:
    """The program with the maps divided that are none as they are. `worth`: whether the items are worth it."""
    k = 0
    while k < len(program.body):
        s = program.body[k]
        if isinstance(s, For) and s.mapped and not s.library and not _is_map(s, k, program, names):
            new, place = _divided_at(k, s, program, Names(names.taken)) or (program, k)
            found = _map_at(new.body[place], place, new, names)
            if found is not None and worth(found):
                program, k = new, place + 1
                names.taken |= set(new.kinds)
        k += 1
    return program


def _map_at(s: Statement, k: int, program: Program, names: Names) -> Map | None:
    assert isinstance(s, For)
    try:
        return mapped(s, program.body[:k], program, Names(names.taken), live_from(program, k + 1))
    except Dependent:
        return None


def _is_map(s: For, k: int, program: Program, names: Names) -> bool:
    return _map_at(s, k, program, names) is not None


def _divided_at(k: int, s: For, program: Program, names: Names) -> tuple[Program, int] | None:
    try:
        return _Division(k, s, program, names).program_of_it()
    except _Whole:
        return None


class _Division:
    def __init__(self, k: int, s: For, program: Program, names: Names) -> None:
        self.k, self.s, self.program, self.names = k, s, program, names
        self.kinds: dict[str, Kind] = dict(program.kinds)
        if s.step != 1 or not isinstance(s.start, gast.Constant) or s.start.value < 0 or any(
                isinstance(x, Do) or (isinstance(x, Exit) and x.how != "raise") for x in walk(s.body)):
            raise _Whole
        if s.var in live_from(program, k + 1):
            raise _Whole

    def program_of_it(self) -> tuple[Program, int]:
        """The program with the two loops, and the place of the first."""
        first, second = self.parts()
        s, place = self.s, {"line": self.s.line, "source": self.s.source}
        given = sorted({v for x in first for v in assigned([x])} & {v for x in walk(second) for v in reads(x)})
        extents = Extents(first, self.kinds)
        made: Block = []
        starts: Block = []
        ends: Block = []
        taken: Block = []
        for v in given:
            if not self.settled(v, first, second):
                raise _Whole
            array, shape = self.column(v, first, extents)
            made.append(Let(array, self.allocated(array, shape), line=s.line))
            if v not in definite(first):
                if shape:
                    raise _Whole
                starts.append(Let(v, constant(_ZERO[self.kinds[v].dtype]), line=s.line))
            ends.append(Store(array, [name(s.var)], name(v), line=s.line))
            taken.append(Let(v, index(name(array), [name(s.var)]), line=s.line))
        items = For(s.var, s.start, s.stop, 1, starts + first + ends, mapped=True, store=s.store, own=s.own, **place)
        rest = For(s.var, s.start, s.stop, 1, taken + second, own=s.own, **place)
        before, late = self.late(first, second)
        made = [*(If(test, [Exit("raise", name("ItemFailed"), line=s.line)], [], line=s.line) for test in extents.tests()), *made]
        body = [*before, *made, items, *late, rest, *self.program.body[self.k + 1:]]
        return replace(self.program, body=body, kinds=self.kinds), len(before) + len(made)

    def settled(self, v: str, first: Block, second: Block) -> bool:
        """Whether the items have set a variable for good when it is first read."""
        sets = [k for k, x in enumerate(self.s.body) if v in assigned([x]) and any(x is y for y in first)]
        uses = [k for k, x in enumerate(self.s.body) if v in _touched(x) and any(x is y for y in second)]
        return max(sets) < min(uses)

    def late(self, first: Block, second: Block) -> tuple[Block, Block]:
        """What comes before the items, and of that what only the loop that remains needs: it can come after them."""
        needed, used = {v for x in first for v in _touched(x)}, {v for x in second for v in _touched(x)}
        before: Block = []
        late: Block = []
        for x in reversed(self.program.body[:self.k]):
            given = reads(x)
            reread = any(isinstance(self.kinds.get(v), Array) for v in given) and any(
                isinstance(y, Store) for y in walk(before))
            if isinstance(x, Let) and x.name in used - needed and x.name not in self.program.parameters and not reread:
                late.insert(0, x)
                used |= given
            else:
                before.insert(0, x)
                needed |= _touched(x)
        return before, late

    def parts(self) -> tuple[Block, Block]:
        """The statements that do not depend on earlier trips, and those that do."""
        body = self.s.body
        live: set[str] = set()
        for x in reversed(body):
            live = live_before(x, live)
        after = live_from(self.program, self.k + 1)
        tied = (assigned(body) & (live | after)) - self.s.own | self.written()
        while True:
            second = [x for x in body if _touched(x) & tied]
            more = {v for x in second for v in (assigned([x]) | _stored(x))} - tied
            if not more:
                break
            tied |= more
        first = [x for x in body if not any(x is y for y in second)]
        if not first or not second:
            raise _Whole
        return first, second

    def written(self) -> set[str]:
        """The arrays from before that trips write into; nothing else may be another name for them."""
        fresh = private(self.s.body)
        arrays = {v for x in self.s.body for v in _stored(x)} - fresh
        for a in arrays:
            births = [x for x in walk(self.program.body) if isinstance(x, Let) and x.name == a]
            if len(births) != 1 or view_of(births[0].value) is not None or a in self.program.parameters:
                raise _Whole
            for x in walk(self.program.body):
                if (isinstance(x, Let) and view_of(x.value) == a) or (isinstance(x, Move) and a in (*x.sources, *x.targets)):
                    raise _Whole
        return arrays

    def column(self, v: str, first: Block, extents: Extents) -> tuple[str, list[Node]]:
        """An array for what the items leave in a variable, and the shape of one entry."""
        kind = self.kinds[v]
        shape: list[Node] | None = []
        if isinstance(kind, Array):
            shape = extents.shape(name(v)) if v in private(first) else None
        if shape is None or kind.dtype not in _ZERO or len(shape) > 2:
            raise _Whole
        array = self.names.fresh("items")
        self.kinds[array] = Array(kind.dtype, 1 + len(shape))
        return array, shape

    def allocated(self, array: str, shape: list[Node]) -> Node:
        n = self.s.stop if show(self.s.stop).startswith("len(") else call("max", self.s.stop, constant(0))
        size = tuple_([n, *shape]) if shape else n
        dtype = self.kinds[array].dtype
        return call("np.empty", size) if dtype == "float64" else call(
            "np.empty", size, name("np.bool_" if dtype == "bool" else f"np.{dtype}"))


def _touched(s: Statement) -> set[str]:
    return {v for x in walk([s]) for v in reads(x)} | assigned([s]) | _stored(s)


def _stored(s: Statement) -> set[str]:
    return {x.array for x in walk([s]) if isinstance(x, Store)}


__all__ = ["divided", "dump"]
