"""The adjoint of a call that stays one: the rule of each array that it was given."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from transad.ir import Block, Let, Statement, Store, walk
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.reverse.terms import Term
from transad.passes.ruled import adjoint_name, arguments, function_of, has_rule, is_ruled, reads, rule_of, shares
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, index, name, show, slice_, tuple_

if TYPE_CHECKING:
    from transad.passes.reverse.adjoint import Adjoint


def ruled_call(a: Adjoint, s: Let, e: Node, cot: Term) -> Block:
    """`y = f(x, axis=1)` -> `d_x += f_adjoint(d_y, x=x, axis=1)`, with what the rule reads."""
    out: Block = []
    given = arguments(e)
    for argument, value in given.items():
        parts = value.elts if isinstance(value, gast.Tuple) else [value]
        active = [k for k, v in enumerate(parts) if isinstance(v, gast.Name) and v.id in a.active]
        if not active:
            continue
        if not has_rule(e, argument):
            raise NotTyped(f"{show(e.func)} has no rule for {argument}")
        made = _spread(a, e, argument, cot) or call(adjoint_name(e, argument), cot.node(), **_read(a, s, e, argument, given))
        if not isinstance(value, gast.Tuple):
            out.append(_added(a, value, _fitted(a, e, value, made, cot)))
            continue
        shared = a.temp("d_parts")
        out.append(Let(shared, made))
        for variable in dict.fromkeys(parts[k].id for k in active):
            which = [k for k in active if parts[k].id == variable]
            share = index(name(shared), [constant(which[0])]) if len(which) == 1 else call(
                "total_of", name(shared), *(constant(k) for k in which))
            out.append(_added(a, name(variable), share))
    return out


def _added(a: Adjoint, value: Node, share: Node) -> Statement:
    if isinstance(a.values.kind(value), Array):
        return Store(a.shadows.of(value.id), [], share, "+")
    return a.add_scalar(a.d(value.id), share)


def _fitted(a: Adjoint, e: Node, value: Node, made: Node, cot: Term) -> Node:
    """The share of an argument that an elementwise function has broadcast, in its own shape."""
    if rule_of(e).partials is None or not a.is_array_node(cot.node()):
        return made
    if not isinstance(a.values.kind(value), Array):
        return call("summed", made)
    return made if len(e.args) == 1 else call("unbroadcast", made, name(a.shadows.of(value.id)))


def _spread(a: Adjoint, e: Node, argument: str, cot: Term) -> Node | None:
    """A sum or mean along one axis needs no rule: each element has the cotangent of its sum."""
    given = arguments(e)
    axis, kept = (getattr(given.get(k), "value", None) for k in ("axis", "keepdims"))
    if function_of(e) not in (np.sum, np.mean) or argument != "a" or type(axis) is not int or set(given) - {
            "a", "axis", "keepdims"}:
        return None
    rank = a.rank(given["a"])
    items = [constant(None) if k == axis % rank else slice_(None, None) for k in range(rank)]
    spread = cot.node() if kept or rank == 1 else index(cot.node(), items)
    return expr(f"d / x.shape[{axis % rank}]", d=spread, x=given["a"]) if function_of(e) is np.mean else spread


def _read(a: Adjoint, s: Let, e: Node, argument: str, given: dict[str, Node]) -> dict[str, Node]:
    """What the adjoint of an argument reads of the call, by name."""
    wanted = reads(e, argument)

    def value(v: Node) -> Node:
        if isinstance(v, gast.Tuple):
            return tuple_([value(x) for x in v.elts])
        return a.values.of(v, s) if isinstance(v, gast.Name) else v
    words = {k: value(v) for k, v in given.items() if k in wanted}
    return ({"out": a.values.of(e, s)} if "out" in wanted else {}) | words


def refuse_written(block: Block, written: Callable[[str], bool]) -> None:
    """Results that may share memory are values like others as long as nobody writes to that memory."""
    for s in walk(block):
        if isinstance(s, Let) and is_ruled(s.value) and shares(s.value) and written(s.name):
            raise NotTyped(f"{show(s.value.func)}, whose result may be a view, of an array that is written to")
