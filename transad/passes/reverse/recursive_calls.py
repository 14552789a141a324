"""The adjoint of a recursive call: its pullback, called by name, which calls itself in the same way.

The pullback of a recursive call runs its forward sweep again, so nothing of the inner activations is kept: memory is that of
the primal. Each level computes the values below it anew: a chain of n calls costs n² / 2, a balanced tree n log n.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transad.ir import Block, Let, Store
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.activity import carries
from transad.passes.reverse.terms import Term
from transad.passes.versions import base
from transad.quote import Node, call, constant, index, name

if TYPE_CHECKING:
    from transad.passes.reverse.adjoint import Adjoint


def recursive_call(a: Adjoint, s: Let, e: Node, entry: Any, cot: Term) -> Block:
    """Add the parts of `h_vjp(arguments, d_result)` to the cotangents of the arguments."""
    *given, never = e.args
    parameters = entry.program.parameters
    carrying = [k for k, p in enumerate(parameters) if carries(entry.specialiser.kinds[base(p)])]
    wanted = [k for k in carrying if a.uses(given[k], s)]
    if not wanted:
        return []
    parts = a.temp("d_args")
    arguments = [a.values.of(x, s) for x in given]
    out: Block = [Let(parts, call(f"{entry.name}_vjp", *arguments, cot.node(), never))]
    for place, k in enumerate(carrying):
        if k not in wanted or not isinstance(given[k], gast.Name):
            continue
        part = index(name(parts), [constant(place)]) if len(carrying) > 1 else name(parts)
        if isinstance(a.values.kind(given[k]), Array):
            out.append(Store(a.shadows.of(given[k].id), [], part, "+"))
        else:
            out.append(a.add_scalar(a.d(given[k].id), part))
    return out
