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

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, dump
from transad.names import Names
from transad.quote import Node, name, show, substitute


def distinct(program: Program, names: Names) -> Program:
    """The program with each later assignment at the top level under a fresh name."""
    known, now, body, kinds = set(program.parameters), dict[str, str](), [], dict(program.kinds)
    for s in program.body:
        if not isinstance(s, Let):
            body.append(_renamed(s, now))
            known |= _assigned(s)
            continue
        value = _inside(s.value, now)
        if s.name in known:
            now = {**now, s.name: names.fresh(s.name)}
            kinds[now[s.name]] = kinds[s.name]
        known.add(s.name)
        body.append(Let(now.get(s.name, s.name), value, line=s.line, source=s.source))
    return replace(program, body=body, results=[_inside(e, now) for e in program.results], kinds=kinds)


def _assigned(s: Statement) -> set[str]:
    from transad.ir import assigned
    return assigned([s])


def _inside(e: Node, now: dict[str, str]) -> Node:
    return substitute(e, lambda n: name(now[n.id]) if n.id in now else None) if now else e


def _renamed(s: Statement, now: dict[str, str]) -> Statement:
    """A statement with other names for some variables."""
    if not now:
        return s
    place: dict[str, Any] = {"line": s.line, "source": s.source}

    def block(b: Block) -> Block:
        return [_renamed(x, now) for x in b]

    if isinstance(s, Let):
        return Let(now.get(s.name, s.name), _inside(s.value, now), **place)
    if isinstance(s, Move):
        return replace(s, targets=[now.get(t, t) for t in s.targets], sources=[now.get(t, t) for t in s.sources])
    if isinstance(s, Store):
        return Store(now.get(s.array, s.array), [_inside(i, now) for i in s.index], _inside(s.value, now), s.op, **place)
    if isinstance(s, For):
        return For(now.get(s.var, s.var), _inside(s.start, now), _inside(s.stop, now), s.step, block(s.body),
                   mapped=s.mapped, **place)
    if isinstance(s, While):
        return While(_inside(s.test, now), block(s.body), **place)
    if isinstance(s, If):
        return If(_inside(s.test, now), block(s.then), block(s.orelse), **place)
    if isinstance(s, Exit):
        return Exit(s.how, None if s.value is None else _inside(s.value, now), **place)
    assert isinstance(s, Do)
    return Do(_inside(s.value, now), **place)


__all__ = ["distinct", "dump", "show"]
