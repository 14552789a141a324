"""The function of one row, from a function of a batch in which row i of the result depends on row i alone.

Afterwards the program takes one row of each argument that has rows and returns one number. Loops over the rows are
gone, arrays with an entry per row are numbers, and whatever is the same for all rows is as it was. Where a row of the
result may depend on other rows, `Mixed` says at which line: this is an analysis of the text, nothing is tried.

>>> from transad.ir import Let, Program, dump
>>> from transad.kinds import Array
>>> matrix, row = Array("float64", 2), Array("float64", 1)
>>> batch = Program("f", ["w", "X"], [Let("t", expr("dot_(X, w)", dot_=name("np.dot"))), Let("y", expr("t * t"))],
...                 [name("y")], {"w": row, "X": matrix, "t": row, "y": row})
>>> one = one_row(batch, {"X": 0})
>>> print(dump(one.body))
t = np.dot(X, w)
y = t * t
>>> one.kinds["X"], one.kinds["t"]
(Array(dtype='float64', ndim=1), Scalar(dtype='float64'))
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, assigned, reads, walk
from transad.kinds import INT, Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import view_of
from transad.passes.row_expressions import COUNT, NUMBER, NUMBERS, Mixed, Row, RowExpressions, whole_constant
from transad.passes.versions import base
from transad.quote import Node, constant, expr, index, name, names_in

__all__ = ["Mixed", "one_row"]


def one_row(program: Program, mapped: dict[str, int]) -> Program:
    """The program of one row. `mapped`: the parameters that have rows, and along which axis.

    Where the number of rows is used as a number it is one more parameter, the last."""
    work = _Rows(program, mapped)
    body = _read(work.block(program.body), work.turned, program)
    if len(program.results) != 1:
        raise Mixed("the result is not one array")
    result, align = work.whole(program.results[0])
    if not isinstance(align, Row) or work.rank(program.results[0]) != 1 + len(align.ones):
        raise Mixed("the result has no entry for each row")
    work.check_aliases()
    kinds = {**program.kinds, **{v: _less(program.kinds[v], k) for v, k in work.fewer.items() if v in program.kinds}}
    parameters = list(program.parameters)
    if work.counted:
        kinds[work.count] = INT
        parameters.append(work.count)
    return replace(program, body=body, results=[result], kinds=kinds, parameters=parameters)


def _read(body: Block, views: dict[str, str], program: Program) -> Block:
    """Without transposes that nobody reads any more."""
    used = {n for s in walk(body) for n in reads(s)} | {n for e in program.results for n in names_in(e)}
    return [s for s in body if not (isinstance(s, Let) and s.name in views and s.name not in used)]


def _less(kind: Kind, axes: int) -> Kind:
    if not axes or not isinstance(kind, Array):
        return kind
    return Array(kind.dtype, kind.ndim - axes) if kind.ndim > axes else Scalar(kind.dtype)


class _Rows(RowExpressions):
    """Statements. `env`: what is known of names that are not the same for all rows."""

    def __init__(self, program: Program, mapped: dict[str, int]) -> None:
        env = {p: Row(axis % self.axes(program, p)) for p, axis in mapped.items()}
        super().__init__(program, env, Names({*program.kinds, *program.constants}))
        self.fewer: dict[str, int] = {}             # how many axes a name loses
        self.stores: list[tuple[int, str, tuple[int, ...]]] = []
        self.links: list[tuple[int, str, str, tuple[int, ...]]] = []
        self.at = 0
        self.around: tuple[int, ...] = ()
        self.foreign: set[str] = set()              # variables of a row that see memory of all
        for p, row in self.env.items():
            self.fewer[p] = 1 + len(row.ones)

    def axes(self, program: Program, p: str) -> int:
        kind = program.kinds[p]
        if not isinstance(kind, Array):
            raise Mixed(f"{p} is one number, not an array with an entry per row")
        return kind.ndim

    # -- blocks ----------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> Block:
        out: Block = []
        for s in block:
            self.at += 1
            self.statement_now = s
            for x in self.statement(s):
                x.line, x.source = x.line or s.line, x.source or s.source
                out.append(x)
        return out

    def statement(self, s: Statement) -> Block:
        if isinstance(s, Let):
            return self.let(s)
        if isinstance(s, Store):
            return self.store(s)
        if isinstance(s, For):
            return self.loop(s)
        if isinstance(s, While):
            return [While(self.same(s.test), self.repeated(s, s.body))]
        if isinstance(s, If):
            return self.branch(s)
        if isinstance(s, Move):
            return [self.move(s)]
        if isinstance(s, Do):
            return self.do(s)
        assert isinstance(s, Exit)
        return [Exit(s.how, None if s.value is None else self.same(s.value))]

    def do(self, s: Do) -> Block:
        if isinstance(s.value, gast.Name):
            return []
        if self.inside:
            return [Do(self.item(s.value))]
        return [Do(self.same(s.value))]

    def let(self, s: Let) -> Block:
        if self.inside:
            return self.let_inside(s)
        made = self.made(s)
        if made is not None:
            value, align = made
        else:
            value, align = self.whole(s.value)
            self.link(s)
        if isinstance(align, Row) and isinstance(value, gast.IfExp):        # `np.where` of numbers: a branch
            self.bound(s.name, value, align)
            return [If(value.test, [Let(s.name, value.body)], [Let(s.name, value.orelse)])]
        return self.bound(s.name, value, align)

    def bound(self, v: str, value: Node, align: Any) -> Block:
        """The assignment, and what is known of the name from here on."""
        fewer = 1 + len(align.ones) if isinstance(align, Row) else 0
        if self.fewer.setdefault(v, fewer) != fewer:
            self.refuse(f"{v} has rows in one place and none in another")
        self.gone.discard(v)
        self.env.pop(v, None)
        if align is not None:
            self.env[v] = align
        if align in (COUNT, NUMBERS):
            return []
        return [] if isinstance(value, gast.Name) and value.id == v else [Let(v, value)]

    def let_inside(self, s: Let) -> Block:
        self.local.add(s.name)
        self.gone.discard(s.name)
        self.env.pop(s.name, None)
        if self.fewer.setdefault(s.name, 0):
            self.refuse(f"{s.name} has rows in one place and none in another")
        if self.is_number(s.value):
            self.env[s.name] = NUMBER
            return []
        self.link(s)
        source = view_of(s.value)
        if source is not None and (source in self.foreign or not (
                source in self.local or isinstance(self.env.get(source), Row))):
            self.foreign.add(s.name)
        else:
            self.foreign.discard(s.name)
        return [Let(s.name, self.item(s.value))]

    def move(self, s: Move) -> Statement:
        aligned = [self.env.get(v) for v in s.sources]
        for v in s.sources:
            self.use(v)
        for v, align in zip(s.targets, aligned, strict=True):
            if align in (COUNT, NUMBERS, NUMBER):
                self.refuse("the number of rows changes its name")
            self.bound(v, constant(0), align)
        return Move(list(s.targets), list(s.sources))

    # -- stores ----------------------------------------------------------------------------------------------------
    def store(self, s: Store) -> Block:
        self.use(s.array)
        self.stores.append((self.at, s.array, self.around))
        row = self.env.get(s.array)
        if self.inside:
            value = self.item(s.value)
            if s.array in self.foreign or (row is None and s.array not in self.local):
                self.refuse(f"{s.array} is written by every row")
            place = self.place_inside(s.array, s.index) if isinstance(row, Row) else index(
                name(s.array), [self.item(i) for i in s.index]) if s.index else name(s.array)
            return self.stored(place, value, s.op)
        region = index(name(s.array), s.index) if s.index else name(s.array)
        _, align = self.whole(region)
        if not isinstance(align, Row):
            if align is not None or isinstance(self.whole(s.value)[1], Row):
                self.refuse(f"{s.array} is written from all rows")
            return [Store(s.array, [self.same_index(i) for i in s.index], self.same(s.value), s.op)]
        return self.stored(self.whole(region)[0], self.fitted(s.value, region), s.op)

    def fitted(self, value: Node, region: Node) -> Node:
        """The right side of a store, for the row of the region that it fills."""
        if self.rank(value) > self.rank(region):
            self.refuse("an array is stored into one with fewer axes")
        both, align = self.whole(expr("a + b", a=region, b=value))
        if align != self.whole(region)[1]:
            self.refuse("an array is stored along an axis of length one")
        return both.right

    def stored(self, place: Node, value: Node, op: str) -> Block:
        """`place op= value`, where a place that became a number is assigned."""
        if isinstance(place, gast.Name):
            rank = self.rank(place) - self.fewer.get(place.id, 0)
            if rank == 0:
                return [Let(place.id, expr(f"a {op} b", a=place, b=value) if op else value)]
            return [Store(place.id, [], value, op)]
        items = list(place.slice.elts) if isinstance(place.slice, gast.Tuple) else [place.slice]
        return [Store(place.value.id, items, value, op)]

    # -- control flow ----------------------------------------------------------------------------------------------
    def branch(self, s: If) -> Block:
        test = self.item(s.test) if self.inside else self.same(s.test)
        if isinstance(test, gast.Constant):
            return self.block(s.then if test.value else s.orelse)
        before, gone = dict(self.env), set(self.gone)
        then = self.block(s.then)
        after, gone_then = self.env, self.gone
        self.env, self.gone = dict(before), gone
        orelse = self.block(s.orelse)
        changed = assigned([s])
        for v in changed & set(reads_after_any(after, self.env)):
            if after.get(v) != self.env.get(v):
                self.gone.add(v)
        self.gone |= gone_then
        return [If(test, then, orelse)]

    def repeated(self, loop: Statement, body: Block) -> Block:
        """The body of a loop that does not run over the rows: what is known of a name holds in every trip."""
        around, self.around = self.around, (*self.around, id(loop))
        for _ in range(3):
            before = dict(self.env)
            out = self.block(body)
            if all(before.get(v) == self.env.get(v) for v in assigned(body)):
                self.around = around
                return out                      # else a trip begins with what the one before has left
        self.refuse("the trips of a loop do not agree about which arrays have rows")

    def loop(self, s: For) -> Block:
        if self.inside:
            self.env.pop(s.var, None)
            self.local.add(s.var)
            start, stop = self.item(s.start), self.item(s.stop)
            if (whole_constant(start), whole_constant(stop), s.step) == (0, 1, 1):
                self.zeros.add(s.var)
            else:
                self.zeros.discard(s.var)
            return [For(s.var, start, stop, s.step, self.block(s.body), mapped=s.mapped, library=s.library)]
        if self.is_count(s.stop):
            return self.row_loop(s)
        start, stop = self.same(s.start), self.same(s.stop)
        self.env.pop(s.var, None)
        self.gone.discard(s.var)
        return [For(s.var, start, stop, s.step, self.repeated(s, s.body), mapped=s.mapped, library=s.library)]

    def row_loop(self, s: For) -> Block:
        """A loop over the rows: its body, once."""
        if not (isinstance(s.start, gast.Constant) and s.start.value == 0 and s.step == 1):
            self.refuse("a loop runs over a part of the rows")
        _refuse_carried(s.body, self)
        before = dict(self.env)
        self.inside, self.local = True, {s.var}
        self.env[s.var] = NUMBER
        out = self.block(_without_continue(s.body, self))
        self.inside = False
        for v in self.local:
            self.env.pop(v, None)
        self.env.update({v: a for v, a in before.items() if v not in self.local})
        self.gone |= self.local
        self.local = set()
        return out

    # -- arrays that became numbers --------------------------------------------------------------------------------
    def link(self, s: Let) -> None:
        source = view_of(s.value)
        if source is not None and isinstance(self.program.kinds.get(s.name), Array):
            self.links.append((self.at, s.name, source, self.around))

    def check_aliases(self) -> None:
        """An array that became a number shares no memory: no name of it may be written once it has another name."""
        parent: dict[str, str] = {}

        def find(v: str) -> str:
            while parent.get(v, v) != v:
                v = parent[v]
            return v
        for _, v, source, _ in self.links:
            parent[find(v)] = find(source)
        numbers = {find(v) for v, k in self.fewer.items() if k and self.program.kinds.get(v) == Array(
            getattr(self.program.kinds.get(v), "dtype", ""), k)}
        for at, v, around in self.stores:
            if any(find(p) == find(v) for p in self.program.parameters if self.fewer.get(p)):
                raise Mixed(f"{v}, an argument, is written")
            if find(v) in numbers and any(find(x) == find(v) and (here < at or set(loops) & set(around))
                                          for here, x, _, loops in self.links):
                raise Mixed(f"{v} is written under two names")


def reads_after_any(*envs: dict[str, Any]) -> set[str]:
    """The names that any of the environments knows."""
    return {v for env in envs for v in env}


def _refuse_carried(body: Block, work: _Rows) -> None:
    """What a trip over a row reads it has assigned itself."""
    inner = assigned(body)

    def visit(block: Block, known: set[str]) -> set[str]:
        for s in block:
            for v in reads(s) & inner - known:
                work.refuse(f"{base(v)} goes on from row to row")
            if isinstance(s, Let):
                known = known | {s.name}
            elif isinstance(s, Move):
                known = known | set(s.targets)
            elif isinstance(s, For | While):
                visit(s.body, known | ({s.var} if isinstance(s, For) else set()))
            elif isinstance(s, If):
                ends = [visit(b, known) for b in (s.then, s.orelse)]
                stops = [bool(b) and isinstance(b[-1], Exit) for b in (s.then, s.orelse)]
                known = ends[1] if stops[0] else ends[0] if stops[1] else ends[0] & ends[1]
        return known
    visit(body, set())


def _without_continue(body: Block, work: _Rows) -> Block:
    """The body of a loop over the rows: `continue` ends a row, `break` would end the others."""
    out: Block = []
    for s in body:
        if isinstance(s, Exit) and s.how == "continue":
            continue
        if isinstance(s, Exit) and s.how == "break":
            work.refuse("a row ends the loop for the others")
        if isinstance(s, If):
            s = If(s.test, _without_continue(s.then, work), _without_continue(s.orelse, work), line=s.line, source=s.source)
        out.append(s)
    return out
