"""Names that may stand for one buffer each: those with one assignment, made so where a straight line assigns again."""
from __future__ import annotations

from typing import Any

from transad.ir import Block, For, If, Let, Statement, Store, While, assigned, expressions
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.reverse.assembly import _renamed
from transad.quote import Node, name, names_in, show, substitute

__all__ = ["assigned_once", "mentioned", "one_name_each", "only_as_shape"]


def assigned_once(*blocks: Block) -> set[str]:
    """The names with one assignment, which is in no loop."""
    counts: dict[str, int] = {}

    def visit(block: Block, weight: int) -> None:
        for s in block:
            for v in [s.name] if isinstance(s, Let) else getattr(s, "targets", []):
                counts[v] = counts.get(v, 0) + weight
            if isinstance(s, If):
                visit(s.then, weight)
                visit(s.orelse, weight)
            elif isinstance(s, For | While):
                visit(s.body, 2)
    for block in blocks:
        visit(block, 1)
    return {v for v, n in counts.items() if n == 1}


def one_name_each(forward: Block, rest: Block, results: list[Node], parameters: list[str], kinds: dict[str, Any],
                  names: Names) -> tuple[Block, Block, list[Node]]:
    """Arrays that the straight line of the forward sweep assigns again get a name for each assignment."""
    inner = assigned([x for s in forward if not isinstance(s, Let) for x in [s]]) | assigned(rest)
    counts = dict.fromkeys(parameters, 1)
    for s in forward:
        if isinstance(s, Let):
            counts[s.name] = counts.get(s.name, 0) + 1
    again = {v for v, n in counts.items() if n > 1 and v not in inner and isinstance(kinds.get(v), Array)}
    now: dict[str, str] = {}
    met = set(parameters)

    def rename(v: str) -> str:
        return now.get(v, v)

    def use(e: Node) -> Node:
        return substitute(e, lambda n: name(now[n.id]) if n.id in now else None)
    out: Block = []
    for s in forward:
        if isinstance(s, Let) and s.name in again:
            value = use(s.value)
            if s.name in met:
                now[s.name] = names.fresh(s.name)
                kinds[now[s.name]] = kinds[s.name]
            met.add(s.name)
            out.append(Let(rename(s.name), value, line=s.line, source=s.source))
        else:
            out += _renamed([s], rename, use)
    return out, _renamed(rest, rename, use), [use(e) for e in results]


def mentioned(s: Statement) -> set[str]:
    """The names that a statement reads or stores into."""
    found = {n for e in expressions(s) for n in names_in(e)} | set(getattr(s, "sources", []))
    return found | ({s.array} if isinstance(s, Store) else set())


def only_as_shape(e: Node, v: str) -> bool:
    """Whether a name is only the second argument of `unbroadcast`, of which the shape counts."""
    return (isinstance(e, gast.Call) and show(e.func) == "unbroadcast" and v not in names_in(e.args[0]))
