"""A name of its own for every value that the straight text of a function assigns to a variable anew.

Parts of a program that are run one after the other then mean the same value by the same name.

>>> from transad.quote import expr, name
>>> from transad.kinds import FLOAT
>>> program = Program("f", ["a"], [Let("s", expr("2.0 * a")), Let("a", expr("a + s")), Let("s", expr("a * s"))],
...                   [name("s")], {"a": FLOAT, "s": FLOAT})
>>> new = distinct(program, Names("as"))
>>> print(dump(new.body), show(new.results[0]))
s = 2.0 * a
a_1 = a + s
s_1 = a_1 * s s_1
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, assigned, dump
from transad.names import Names
from transad.passes.versions import live_before
from transad.quote import Node, name, names_in, show, substitute


def distinct(program: Program, names: Names) -> Program:
    """The program with each later assignment at the top level under a fresh name, but for what a map adds to. A branch or
    a loop that assigns a variable anew starts from what it held."""
    known, now, body, kinds = set(program.parameters), dict[str, str](), list[Statement](), dict(program.kinds)

    def fresh(v: str) -> None:
        nonlocal now
        now = {**now, v: names.fresh(v)}
        kinds[now[v]] = kinds[v]

    for s, after in zip(program.body, _live_after(program), strict=True):
        if isinstance(s, Let):
            value = _inside(s.value, now)
            if s.name in known:
                fresh(s.name)
            known.add(s.name)
            body.append(Let(now.get(s.name, s.name), value, line=s.line, source=s.source))
            continue
        if isinstance(s, If | For | While) and not (isinstance(s, For) and s.mapped):
            for v in sorted(assigned([s]) & known & after):
                old = name(now.get(v, v))
                fresh(v)
                if v in live_before(s, after):
                    body.append(Let(now[v], old, line=s.line))
        body.append(renamed(s, now))
        known |= assigned([s])
    return replace(program, body=body, results=[_inside(e, now) for e in program.results], kinds=kinds)


def _live_after(program: Program) -> list[set[str]]:
    """The variables that are read after each statement."""
    live = {n for e in program.results for n in names_in(e)}
    out = []
    for s in reversed(program.body):
        out.append(live)
        live = live_before(s, live)
    return out[::-1]


def _inside(e: Node, now: dict[str, str]) -> Node:
    return substitute(e, lambda n: name(now[n.id]) if n.id in now else None) if now else e


def renamed(s: Statement, now: dict[str, str]) -> Statement:
    """A statement with other names for some variables."""
    if not now:
        return s
    place: dict[str, Any] = {"line": s.line, "source": s.source}

    def block(b: Block) -> Block:
        return [renamed(x, now) for x in b]

    if isinstance(s, Let):
        return Let(now.get(s.name, s.name), _inside(s.value, now), **place)
    if isinstance(s, Move):
        return replace(s, targets=[now.get(t, t) for t in s.targets], sources=[now.get(t, t) for t in s.sources])
    if isinstance(s, Store):
        return Store(now.get(s.array, s.array), [_inside(i, now) for i in s.index], _inside(s.value, now), s.op, **place)
    if isinstance(s, For):
        return For(now.get(s.var, s.var), _inside(s.start, now), _inside(s.stop, now), s.step, block(s.body),
                   mapped=s.mapped, library=s.library, store=s.store, own=s.own, **place)
    if isinstance(s, While):
        return While(_inside(s.test, now), block(s.body), **place)
    if isinstance(s, If):
        return If(_inside(s.test, now), block(s.then), block(s.orelse), **place)
    if isinstance(s, Exit):
        return Exit(s.how, None if s.value is None else _inside(s.value, now), **place)
    assert isinstance(s, Do)
    return Do(_inside(s.value, now), **place)


__all__ = ["distinct", "dump", "renamed", "show"]
