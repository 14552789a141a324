"""The body of a marked call run forwards in the middle of a reverse sweep.

>>> from transad.ir import Let, dump
>>> from transad.kinds import FLOAT
>>> from transad.quote import expr
>>> body = Dual("square", ["x", "c"], [Let("y", expr("c * x * x"))], ["y"])
>>> kinds = dict.fromkeys("xcy", FLOAT)
>>> names = Names(set(kinds))
>>> lines, slopes = dual_code(body, ["x"], {"x": name("u"), "c": name("w")}, kinds, {}, names, names.fresh)
>>> print(dump(lines), [show(s) for s in slopes[0]], sep="; ")
t_y = 2.0 * w * u; ['t_y']
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, assigned, walk
from transad.names import Names
from transad.passes.duals import Dual
from transad.passes.forward.push import push
from transad.passes.prune import _live_block
from transad.passes.versions import versions
from transad.quote import Node, name, names_in, show, substitute


def dual_code(dual: Dual, lanes: list[str], given: dict[str, Node], kinds: dict[str, Any], constants: dict[str, Any],
              names: Names, fresh: Callable[[str], str]) -> tuple[Block, list[list[Node]]]:
    """The statements, under names of their own, and the slope of every result for each lane: `slopes[lane][k]`.

    given: what stands for each input; kinds: gets those of the new names."""
    program = Program(dual.label, dual.inputs, dual.body, [name(y) for y in dual.results], kinds, constants)
    p = push(versions(program), [[v] for v in lanes], Names(names.taken), unit=True)
    wanted = {n for row in p.tangents for e in row for n in names_in(e)}
    for s in walk(p.body):
        s.source = ""                                   # the forward sweep has run what may raise
    body, _ = _live_block(p.body, wanted, keep_user=False)
    new = {v: fresh(v) for v in sorted(assigned(body))}
    kinds.update({n: kinds[v] for v, n in new.items() if v in kinds})

    def use(e: Node) -> Node:
        return substitute(e, lambda n: name(new[n.id]) if n.id in new else given.get(n.id))
    return _renamed(body, new, use), [[use(e) for e in row] for row in p.tangents]


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
