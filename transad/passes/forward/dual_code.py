"""The body of a marked call run forwards in the middle of a reverse sweep.

>>> from transad.ir import Let, dump
>>> from transad.kinds import FLOAT
>>> from transad.quote import expr
>>> body = Dual("square", ["x", "c"], [Let("y", expr("c * x * x"))], ["y"])
>>> kinds = dict.fromkeys("xcy", FLOAT)
>>> code = DualCode(body, {"x": name("u"), "c": name("w")}, kinds, {}, Names(set(kinds)), Names(set(kinds)).fresh)
>>> lines, slopes = code.at_once(["x"])
>>> print(dump(lines), [show(s) for s in slopes[0]], sep="; ")
t_y = 2.0 * w * u; ['t_y']
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, assigned, walk
from transad.kinds import INT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.duals import Dual
from transad.passes.forward.lanes import Lane, item_lanes
from transad.passes.forward.push import Push, push
from transad.passes.prune import _live_block
from transad.passes.versions import versions
from transad.quote import Node, call, constant, expr, name, names_in, show, substitute


class DualCode:
    """The dual code of one marked call, under names of its own.

    given: what stands for each input; kinds: gets those of the new names."""

    def __init__(self, dual: Dual, given: dict[str, Node], kinds: dict[str, Any], constants: dict[str, Any], names: Names,
                 fresh: Callable[[str], str]) -> None:
        self.program = Program(dual.label, dual.inputs, dual.body, [name(y) for y in dual.results], kinds, constants)
        self.given, self.kinds, self.names, self.fresh = dict(given), kinds, names, fresh

    def elements(self, array: str) -> list[Lane] | None:
        """The elements of an array as inputs of their own, where the body reads it under literal indices only."""
        found = item_lanes(self.program, [array], Names({*self.names.taken, *self.program.kinds}), {})
        if found is None:
            return None
        self.program = found.program
        return found.lanes

    def at_once(self, lanes: list[str]) -> tuple[Block, list[list[Node]]]:
        """A lane for each of these inputs, which are numbers: the statements, and the slope of every result for each
        lane, `slopes[lane][k]`."""
        p = push(versions(self.program), [[v] for v in lanes], Names(self.names.taken), unit=True)
        body, use = self.renamed(p, [e for row in p.tangents for e in row])
        return body, [[use(e) for e in row] for row in p.tangents]

    def by_element(self, array: str, results: dict[int, Node | None]) -> tuple[Block, dict[int, str]]:
        """One sweep for each element of an array: the statements, and for each result an array with the shape of the
        input. For a number it holds the slopes. Of an array, whose cotangent is given, it holds the contributions."""
        of = next(iter(results)) if len(results) == 1 else None
        p = push(versions(self.program), [[array]], Names(self.names.taken), of=of)
        tangents = {k: p.tangents[0][k] for k in results if isinstance(p.tangents[0][k], gast.Name)}
        if not tangents:
            return [], {}
        kind = self.kinds[array]
        out: Block = []
        assert isinstance(kind, Array)
        whole = self.given[array]
        if not isinstance(whole, gast.Name):
            new = self.named(array, kind)
            out.append(Let(new.id, whole))
            whole = self.given[array] = new
        seed = self.given[p.seeds[0][0]] = self.named(p.seeds[0][0], kind)
        made = {k: self.named(f"slope_{array}", kind) for k in tangents}
        at = [self.named("j", INT) for _ in range(kind.ndim)]
        body, use = self.renamed(p, list(tangents.values()))
        ends: Block = []
        for k, t in tangents.items():
            cotangent = results[k]
            value = use(t) if cotangent is None else call("summed", call("keep_zero", cotangent, use(t)))
            ends.append(Store(made[k].id, at, value))
        loop: Block = [Store(seed.id, at, constant(1.0)), *body, *ends, Store(seed.id, at, constant(0.0))]
        for axis in reversed(range(kind.ndim)):
            length = expr("len(a)", a=whole) if kind.ndim == 1 else expr(f"a.shape[{axis}]", a=whole)
            loop = [For(at[axis].id, constant(0), length, 1, loop)]
        out += [Let(x.id, call("np.empty_like", whole)) for x in made.values()]
        return [*out, Let(seed.id, call("np.zeros_like", whole)), *loop], {k: x.id for k, x in made.items()}

    def named(self, wanted: str, kind: Any) -> Node:
        """A new variable."""
        made = self.fresh(wanted)
        self.kinds[made] = kind
        return name(made)

    def renamed(self, p: Push, tangents: list[Node]) -> tuple[Block, Callable[[Node], Node]]:
        """The statements that the tangents need, under new names, and what renames an expression."""
        wanted = {n for e in tangents for n in names_in(e)}
        for s in walk(p.body):
            s.source = ""                               # the forward sweep has run what may raise
        body, _ = _live_block(p.body, wanted, keep_user=False)
        new = {v: self.fresh(v) for v in sorted(assigned(body))}
        self.kinds.update({n: p.kinds[v] for v, n in new.items() if v in p.kinds})

        def use(e: Node) -> Node:
            return substitute(e, lambda n: name(new[n.id]) if n.id in new else self.given.get(n.id))
        return _renamed(body, new, use), use


def _renamed(block: Block, new: dict[str, str], use: Callable[[Node], Node]) -> Block:
    out: Block = []
    for s in block:
        made: Statement
        if isinstance(s, Let):
            made = Let(new[s.name], use(s.value))
        elif isinstance(s, Move):
            made = Move([new[t] for t in s.targets], [show(use(name(v))) for v in s.sources])
        elif isinstance(s, Store):
            made = Store(new[s.array], [use(i) for i in s.index], use(s.value), s.op)
        elif isinstance(s, Do):
            made = Do(use(s.value))
        elif isinstance(s, Exit):
            made = Exit(s.how, None if s.value is None else use(s.value))
        elif isinstance(s, If):
            made = If(use(s.test), _renamed(s.then, new, use), _renamed(s.orelse, new, use))
        elif isinstance(s, For):
            made = For(new[s.var], use(s.start), use(s.stop), s.step, _renamed(s.body, new, use))
        else:
            assert isinstance(s, While)
            made = While(use(s.test), _renamed(s.body, new, use))
        made.line = s.line
        out.append(made)
    return out
