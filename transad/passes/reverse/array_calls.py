"""Adjoints of whole-array functions: one entry per function of the normal form."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from transad.ir import Block, Do, Let, Store
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.reverse.terms import Term
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, name

if TYPE_CHECKING:
    from transad.passes.reverse.adjoint import Adjoint


def _into(a: Adjoint, s: Let, argument: Node, value: Node) -> Block:
    """Add a cotangent to an argument: an array, a number, or nothing if it is inactive."""
    if not isinstance(argument, gast.Name):
        if isinstance(argument, gast.Constant):
            return []
        found = a.differentiate(argument, Term(1.0, (value,)), s)
        return a.added(found, s, "")
    if argument.id not in a.active:
        return []
    if isinstance(a.values.kind(argument), Array):
        d = a.shadows.of(argument.id)
        return [Store(d, [], value, "+")]
    return [a.add_scalar(a.d(argument.id), value)]


def _sum(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    return _into(a, s, e.args[0], cot.node())


def _extreme(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    x = a.values.of(e.args[0], s)
    return _into(a, s, e.args[0], cot.times(call("share_of_extreme", x, name(s.name))).node())


def _dot(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    left, right = e.args
    ranks = (a.rank(left), a.rank(right))
    d = cot.node()
    out: Block = []
    if a.uses(left, s):
        b = a.values.of(right, s)
        value = {(1, 1): "d * b", (2, 1): "d[:, None] * b", (1, 2): "np_dot(b, d)", (2, 2): "np_dot(d, b.T)"}
        out += _into(a, s, left, _filled(value[ranks], d=d, b=b))
    if a.uses(right, s):
        x = a.values.of(left, s)
        value = {(1, 1): "d * x", (2, 1): "np_dot(x.T, d)", (1, 2): "x[:, None] * d", (2, 2): "np_dot(x.T, d)"}
        out += _into(a, s, right, _filled(value[ranks], d=d, x=x))
    return out


def _filled(template: str, **holes: Node) -> Node:
    return expr(template, np_dot=name("np.dot"), **holes)


def _where(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    test = a.values.of(e.args[0], s)
    d, zero = cot.node(), constant(0.0)
    out: Block = []
    for k, (yes, no) in ((1, (d, zero)), (2, (zero, d))):
        if a.uses(e.args[k], s):
            value = call("np.where", test, yes, no)
            if isinstance(a.values.kind(e.args[k]), Array):
                value = call("unbroadcast", value, name(a.shadows.of(e.args[k].id)))
            else:
                value = call("summed", value)
            out += _into(a, s, e.args[k], value)
    return out


def _copy(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    if isinstance(e.args[0], gast.Subscript):
        return a.added(a.differentiate(e.args[0], cot, s), s, "")
    return _into(a, s, e.args[0], cot.node())


def _gather(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    if not a.uses(e.args[0], s):
        return []
    return [Do(call("scatter_add", name(a.shadows.of(e.args[0].id)), a.values.of(e.args[1], s), cot.node()))]


def _refused(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    if any(a.uses(x, s) for x in e.args):
        raise NotTyped(f"no typed derivative of {e.func.id}")
    return []


ARRAY_CALLS: dict[str, Callable[[Adjoint, Let, Node, Term], Block]] = {
    "np.sum": _sum, "np.max": _extreme, "np.min": _extreme, "np.dot": _dot, "np.where": _where, "np.copy": _copy,
    "gather": _gather, "np.linspace": _refused}
