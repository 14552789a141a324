"""Adjoints of whole-array functions: one entry per function of the normal form."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from transad.ir import Block, Do, Let, Store
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.reverse.terms import Term
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
    return [Do(call("scatter_add", name(a.shadows.of(e.args[0].id)), a.values.index(e.args[1], s), cot.node()))]


def _linspace(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    start, stop, _ = e.args
    out: Block = []
    if a.uses(start, s):
        out += _into(a, s, start, expr("s(d) - r(d)", s=name("summed"), r=name("ramp"), d=cot.node()))
    if a.uses(stop, s):
        out += _into(a, s, stop, call("ramp", cot.node()))
    return out


def _inv(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    return _into(a, s, e.args[0], call("inverse_adjoint", _own(a, s, e), cot.node()))


def _own(a: Adjoint, s: Let, e: Node) -> Node:
    """The result of the statement itself, which the reverse sweep reads."""
    return a.values.of(e, s)


def _solve(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    matrix, right = e.args
    d = a.temp("d_right")
    a.shadows.variables[d] = a.rank(right)
    out: Block = [Let(d, call("solve_transposed", a.values.of(matrix, s), cot.node()))]
    if a.uses(matrix, s):
        out += _into(a, s, matrix, call("outer_of", name(d), _own(a, s, e)))
    return out + (_into(a, s, right, name(d)) if a.uses(right, s) else [])


def _cholesky(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    return _into(a, s, e.args[0], call("cholesky_adjoint", _own(a, s, e), cot.node()))


def _eigvalsh(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    return _into(a, s, e.args[0], call("eigvalsh_adjoint", a.values.of(e.args[0], s), cot.node()))


def _det(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    return _into(a, s, e.args[0], cot.times(call("cofactors", a.values.of(e.args[0], s))).node())


def _log_det(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    turned = expr("inverse(a).T", inverse=name("np.linalg.inv"), a=a.values.of(e.args[0], s))
    return _into(a, s, e.args[0], cot.times(turned).node())


ARRAY_CALLS: dict[str, Callable[[Adjoint, Let, Node, Term], Block]] = {
    "np.sum": _sum, "np.max": _extreme, "np.min": _extreme, "np.dot": _dot, "np.where": _where, "np.copy": _copy,
    "gather": _gather, "np.linspace": _linspace,
    "np.linalg.inv": _inv, "np.linalg.solve": _solve, "np.linalg.cholesky": _cholesky, "np.linalg.eigvalsh": _eigvalsh,
    "det_of": _det, "log_det": _log_det}
