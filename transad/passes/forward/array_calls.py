"""Pushforwards of whole-array functions: each is linear in the tangents of its arguments.

An entry prepares what all lanes share and returns the map from the tangents (None for zero) to the result's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transad.ir import Block, Let, Statement
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, name

if TYPE_CHECKING:
    from transad.passes.forward.push import _Pusher

Lane = Callable[[list[Any]], Node | None]


def _first(f: str) -> Callable[..., Lane]:
    """A function that is linear in its first argument."""
    def rule(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
        return lambda t: None if t[0] is None else call(f, t[0], *e.args[1:])
    return rule


def _extreme(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
    if not isinstance(s, Let):
        raise NotTyped("an extreme inside a longer statement")
    share = p.fresh("share")
    p.program.kinds[share] = p.values.kind(e.args[0])
    before.append(Let(share, call("share_of_extreme", e.args[0], p.values.pseudo(e, s))))
    return lambda t: call("np.sum", expr("a * b", a=name(share), b=t[0]))


def _dot(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
    a, b = e.args

    def lane(t: list[Any]) -> Node:
        terms = [call("np.dot", x, y) for x, y in ((t[0], b), (a, t[1])) if x is not None and y is not None]
        return terms[0] if len(terms) == 1 else expr("a + b", a=terms[0], b=terms[1])
    return lane


def _where(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
    zero = constant(0.0)
    return lambda t: call("np.where", e.args[0], zero if t[1] is None else t[1], zero if t[2] is None else t[2])


def _linspace(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
    zero = constant(0.0)
    return lambda t: call("np.linspace", t[0] or zero, t[1] or zero, e.args[2])


def _keep_zero(p: _Pusher, e: Node, s: Statement, before: Block) -> Lane:
    d, slope = e.args

    def lane(t: list[Any]) -> Node:
        terms = [call("keep_zero", x, y) for x, y in ((t[0], slope), (d, t[1])) if x is not None and y is not None]
        return terms[0] if len(terms) == 1 else expr("a + b", a=terms[0], b=terms[1])
    return lane


LINEAR_CALLS: dict[str, Callable[..., Lane]] = {
    "np.sum": _first("np.sum"), "np.max": _extreme, "np.min": _extreme, "np.dot": _dot, "np.where": _where,
    "np.copy": _first("np.copy"), "gather": _first("gather"), "np.linspace": _linspace, "summed": _first("summed"),
    "unbroadcast": _first("unbroadcast"), "stretched": _first("stretched"), "keep_zero": _keep_zero}
