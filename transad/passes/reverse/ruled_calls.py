"""The adjoint of a call that stays one: the rule of each array that it was given."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transad.ir import Block, Let, Store
from transad.nodes import gast
from transad.passes.reverse.terms import Term
from transad.passes.ruled import adjoint_name, arguments, function_of, reads, rule_of
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
        plain = _spread(a, e, argument, cot)
        if plain is not None:
            out.append(Store(a.shadows.of(value.id), [], plain, "+"))
            continue
        if argument not in rule_of(e).adjoints:
            raise NotTyped(f"{show(e.func)} has no rule for {argument}")
        made = call(adjoint_name(e, argument), cot.node(), **_read(a, s, e, argument, given))
        if not isinstance(value, gast.Tuple):
            out.append(Store(a.shadows.of(value.id), [], made, "+"))
            continue
        shares = a.temp("d_parts")
        out.append(Let(shares, made))
        for variable in dict.fromkeys(parts[k].id for k in active):
            which = [k for k in active if parts[k].id == variable]
            share = index(name(shares), [constant(which[0])]) if len(which) == 1 else call(
                "total_of", name(shares), *(constant(k) for k in which))
            out.append(Store(a.shadows.of(variable), [], share, "+"))
    return out


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
