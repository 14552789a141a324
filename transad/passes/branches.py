"""Maps inside branches, brought to the top level of the program: where the branch is not taken, they have no items.

>>> from transad.kinds import FLOAT, INT, Array
>>> from transad.quote import expr
>>> loop = For("i", expr("0"), expr("len(x)"), 1, [Let("s", expr("s + x[i]"))], mapped=True)
>>> arm = [Let("s", expr("0.0")), loop, Let("y", expr("a * s"))]
>>> program = Program("f", ["x", "a"], [If(expr("a < 1.0"), [Let("y", expr("a"))], arm)], [name("y")],
...                   {"x": Array("float64", 1), "a": FLOAT, "s": FLOAT, "y": FLOAT, "i": INT})
>>> print(dump(flattened(program, Names("xasyi")).body))
y = 0.0
taken = a < 1.0
if taken:
    y = a
stop = 0
if not taken:
    stop = len(x)
s_1 = 0.0
for i in range(0, stop):
    s_1 = s_1 + x[i]
if not taken:
    s = s_1
    y = a * s
"""
from __future__ import annotations

from dataclasses import replace

from transad.ir import Block, For, If, Let, Program, Statement, Store, assigned, dump, reads, walk
from transad.kinds import BOOL, INT, Array, Kind
from transad.names import Names
from transad.nodes import gast
from transad.passes.distinct import renamed
from transad.passes.reverse.assembly import definite
from transad.quote import Node, call, constant, expr, name, names_in, show, tuple_

_ZERO = {"float64": 0.0, "int64": 0, "bool": False}


class _Left(Exception):
    """A branch that stays as it is."""


def flattened(program: Program, names: Names) -> Program:
    """The program with the maps that stand in branches, but in no loop, at the top level."""
    if not any(isinstance(s, If) and _has_map(s) for s in program.body):
        return program
    try:
        return _Flat(program, names).flat()
    except _Left:
        return program


def _has_map(s: Statement) -> bool:
    if isinstance(s, For):
        return s.mapped
    return isinstance(s, If) and any(_has_map(x) for x in [*s.then, *s.orelse])


class _Flat:
    def __init__(self, program: Program, names: Names) -> None:
        self.program, self.names = program, names
        self.kinds: dict[str, Kind] = dict(program.kinds)

    def flat(self) -> Program:
        body = self.block(self.program.body)
        body = [*self.first_values(body), *body]
        return replace(self.program, body=body, kinds=self.kinds)

    def fresh(self, wanted: str, kind: Kind) -> str:
        new = self.names.fresh(wanted)
        self.kinds[new] = kind
        return new

    def block(self, block: Block) -> Block:
        out: Block = []
        for s in block:
            if not (isinstance(s, If) and _has_map(s)):
                out.append(s)
                continue
            taken = self.fresh("taken", BOOL)
            out.append(Let(taken, s.test, line=s.line))
            for arm, test in ((s.then, name(taken)), (s.orelse, expr("not t", t=name(taken)))):
                out += self.arm(self.block(arm), test, s)
        return out

    def arm(self, arm: Block, test: Node, around: If) -> Block:
        """The statements of an arm, each under the condition of the arm, but for its maps."""
        out: Block = []
        current: Block = []

        def close() -> None:
            nonlocal current
            if current:
                out.append(If(test, current, [], line=around.line, source=around.source))
            current = []
        for s in arm:
            if not (isinstance(s, For) and s.mapped):
                current.append(s)
                continue
            made, before, s, after = self.map(s, current)
            current = [*(x for x in current if not any(x is m for m in made)), *before]
            names = [x.name for x in before if isinstance(x, Let)]
            out += [Let(v, constant(0), line=s.line) for v in names]
            close()
            out += [*(replace(m, name=after.get(m.name, m.name)) if isinstance(m, Let) else m for m in made), s]
            current = [Let(old, name(new), line=s.line) for old, new in after.items()]
        close()
        return out

    def map(self, s: For, before: Block) -> tuple[Block, Block, For, dict[str, str]]:
        """What a map needs to run without the condition: the statements of `before` that allocate what it fills and
        start its sums, the bounds to set under the condition, the loop, and its sums under their names in the loop."""
        lets = {x.name: x for x in before if isinstance(x, Let) and sum(
            x.name in reads(y) or x.name in assigned([y]) for y in walk(before)) == 1}
        filled = {x.array for x in walk(s.body) if isinstance(x, Store) and x.array in lets}
        sums = {v: self.fresh(v, self.kinds[v]) for v in sorted(assigned(s.body) & set(lets))
                if isinstance(lets[v].value, gast.Constant)}
        bounds: Block = []
        made: Block = [lets[v] for v in sums]
        for a in sorted(filled):
            if not self.is_allocated(a, before):
                raise _Left
            made.append(Let(a, self.sized(lets[a].value, bounds), line=lets[a].line))
            before[before.index(lets[a])] = made[-1]
        start, stop = self.bound("start", s.start, bounds), self.bound("stop", s.stop, bounds)
        loop = renamed(s, sums)
        assert isinstance(loop, For)
        return made, bounds, replace(loop, start=start, stop=stop), sums

    def is_allocated(self, a: str, before: Block) -> bool:
        """Whether an array is made for the map alone, just before it."""
        value = next(x.value for x in before if isinstance(x, Let) and x.name == a)
        everywhere = [x for x in walk(self.program.body) if isinstance(x, Let) and x.name == a]
        return isinstance(value, gast.Call) and show(value.func) in ("np.empty", "np.zeros") and len(everywhere) == 1

    def sized(self, e: Node, bounds: Block) -> Node:
        """An allocation whose sizes are known where the branch is not taken too."""
        first, *rest = e.args
        sizes = list(first.elts) if isinstance(first, gast.Tuple) else [first]
        known = [self.bound("size", x, bounds) for x in sizes]
        return call(e.func.id, known[0] if len(known) == 1 else tuple_(known), *rest)

    def bound(self, wanted: str, e: Node, bounds: Block) -> Node:
        if isinstance(e, gast.Constant):
            return e
        new = self.fresh(wanted, INT)
        bounds.append(Let(new, e))
        return name(new)

    def first_values(self, body: Block) -> Block:
        """A value for every variable that was set in one piece of a branch and is read in another."""
        places: dict[str, set[int]] = {}
        for k, s in enumerate(body):
            for v in assigned([s]) | {n for x in walk([s]) for n in reads(x)}:
                places.setdefault(v, set()).add(k)
        for e in self.program.results:
            for v in names_in(e):
                places.setdefault(v, set()).add(len(body))
        there, out = set(self.program.parameters), list[Statement]()
        for s in body:
            for v in sorted(assigned([s]) - definite([s]) - there) if not isinstance(s, For) else ():
                there.add(v)
                if len(places[v]) > 1:
                    out.append(Let(v, self.zero(self.kinds[v])))
            there |= definite([s])
        return out

    def zero(self, kind: Kind) -> Node:
        if isinstance(kind, Array):
            if kind.dtype not in _ZERO:
                raise _Left
            shape = constant(0) if kind.ndim == 1 else tuple_([constant(0)] * kind.ndim)
            more = {} if kind.dtype == "float64" else {"dtype": name(f"np.{kind.dtype}")}
            return call("np.empty", shape, **more)
        if kind.dtype not in _ZERO:
            raise _Left
        return constant(_ZERO[kind.dtype])


__all__ = ["dump", "flattened"]
