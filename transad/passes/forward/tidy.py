"""Dual code as a person would leave it: no second names for one value, no sum that starts from zero for one term.

>>> from transad.ir import Let, dump
>>> from transad.quote import expr
>>> body = [Let("s", expr("0.0")), Let("a", expr("x")), Let("t_y", expr("2.0 * a")), Let("t_s", expr("t_y")),
...         Let("s", expr("s + a * a"))]
>>> body, outs = tidy(body, [expr("s"), expr("t_s")], ["x"], {"a"})
>>> print(dump(body), [show(e) for e in outs], sep="; ")
t_y = 2.0 * x
s = x * x; ['s', 't_y']
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Store, While, assigned, reads, walk
from transad.nodes import gast
from transad.quote import Node, constant, expr, name, names_in, show, substitute


def tidy(body: Block, outs: list[Node], parameters: list[str], floats: Container[str] = (),
         users: bool = True) -> tuple[Block, list[Node]]:
    """The statements and what is read after them.

    floats: numbers of which a sum from zero may become its one term (then -0.0 stays -0.0)
    users: names in the user's own statements stay"""
    body = _one_term(body, floats)
    count = Counter(parameters)
    for s in walk(body):
        count.update(s.targets if isinstance(s, Move) else [s.name] if isinstance(s, Let) else [s.var] if isinstance(
            s, For) else [])
    copies: dict[str, str] = {}
    _collect(body, count, set(parameters), copies, users)
    last: set[str] = set()                              # what the rest of the program assigns
    for s in reversed(body):
        if isinstance(s, Let) and isinstance(s.value, gast.Name) and count[s.name] == 1 and not (users and s.source) and (
                s.value.id not in last and count[s.value.id]):
            copies[s.name] = s.value.id
        last |= assigned([s])

    def final(v: str) -> str:
        while v in copies:
            v = copies[v]
        return v

    def use(e: Node) -> Node:
        return substitute(e, lambda n: name(final(n.id)) if n.id in copies else None)
    return _renamed(body, copies, final, use), [use(e) for e in outs]


def _one_term(block: Block, floats: Container[str]) -> Block:
    """Without `s = 0.0` where the block goes on with nothing of `s` but one `s + term`."""
    starts: dict[str, int] = {}
    out: list[Any] = list(block)
    for k, s in enumerate(block):
        v, e = (s.name, s.value) if isinstance(s, Let) else ("", constant(None))
        if v in starts and isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add) and show(e.left) == v and (
                all(n in floats or n.startswith("math.") for n in names_in(e.right))):
            out[starts.pop(v)] = None
            out[k] = Let(v, e.right, line=s.line, source=s.source)
            continue
        touched = {n for x in walk([s]) for n in reads(x)} | assigned([s])
        for n in touched:
            starts.pop(n, None)
        if isinstance(e, gast.Constant) and e.value == 0.0 and isinstance(e.value, float):
            starts[v] = k
    return [s for s in out if s is not None]


def _collect(block: Block, count: Counter[str], parameters: set[str], copies: dict[str, str], users: bool) -> None:
    """Names that are set once, to another name that the same block has set, once, and are read after that only."""
    before: set[str] = set()
    here = set(parameters)
    for s in block:
        pairs = [(s.name, s.value.id)] if isinstance(s, Let) and isinstance(s.value, gast.Name) else list(
            zip(s.targets, s.sources, strict=True)) if isinstance(s, Move) else []
        for v, of in pairs:
            mine = not users or not s.source or v.startswith("t_")
            if mine and count[v] == count[of] == 1 and of in here and v not in before:
                copies[v] = of
        for inner in ([s.then, s.orelse] if isinstance(s, If) else [s.body] if isinstance(s, For | While) else []):
            _collect(inner, count, parameters, copies, users)
        before |= {n for x in walk([s]) for n in reads(x)}
        here |= {s.name} if isinstance(s, Let) else set(s.targets) if isinstance(s, Move) else set()


def _renamed(block: Block, copies: dict[str, str], final: Callable[[str], str], use: Callable[[Node], Node]) -> Block:
    out: Block = []
    for s in block:
        place: dict[str, Any] = {"line": s.line, "source": s.source}
        if isinstance(s, Let):
            if s.name not in copies:
                out.append(Let(s.name, use(s.value), **place))
        elif isinstance(s, Move):
            pairs = [(t, final(v)) for t, v in zip(s.targets, s.sources, strict=True) if t not in copies]
            if pairs:
                out.append(Move([t for t, _ in pairs], [v for _, v in pairs], **place))
        elif isinstance(s, Store):
            out.append(Store(final(s.array), [use(i) for i in s.index], use(s.value), s.op, **place))
        elif isinstance(s, If):
            out.append(If(use(s.test), _renamed(s.then, copies, final, use), _renamed(s.orelse, copies, final, use), **place))
        elif isinstance(s, For):
            out.append(For(s.var, use(s.start), use(s.stop), s.step, _renamed(s.body, copies, final, use), **place))
        elif isinstance(s, While):
            out.append(While(use(s.test), _renamed(s.body, copies, final, use), **place))
        elif isinstance(s, Exit):
            out.append(Exit(s.how, None if s.value is None else use(s.value), **place))
        else:
            assert isinstance(s, Do)
            out.append(Do(use(s.value), **place))
    return out


def onto(variable: str, value: Node) -> Node:
    """`t - a * t - b` as `t - (a * t + b)`: what is added to a variable, in one piece.

    >>> show(onto("t", expr("t - a * t - b"))), show(onto("t", expr("t + a - b"))), show(onto("t", expr("a + b")))
    ('t - (a * t + b)', 't + (a - b)', 'a + b')
    """
    terms: list[tuple[bool, Node]] = []
    e = value
    while isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub):
        terms.append((isinstance(e.op, gast.Sub), e.right))
        e = e.left
    if not (isinstance(e, gast.Name) and e.id == variable and len(terms) > 1):
        return value
    terms.reverse()
    first, total = terms[0]
    for minus, term in terms[1:]:
        total = expr("a + b" if minus == first else "a - b", a=total, b=term)
    return expr("t - a" if first else "t + a", t=e, a=total)
