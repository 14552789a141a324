"""The adjoint of one argument of a function with a rule, as emitted text calls it."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..deferred import is_deferred
from ..rules.registry import Rule
from .reverse import kept
from .rule_parts import adjoint_parts, partial_parts

__all__ = ["adjoint_of", "partial_of", "real_part"]


def real_part(share: Any) -> Any:
    """The cotangent of a real argument, None for one that is accounted for elsewhere."""
    if share is None:
        return 0.0
    if is_deferred(share):
        return share
    return np.real(share) if np.iscomplexobj(share) else share


def adjoint_of(rule: Rule, argument: str) -> Callable[..., Any]:
    """The cotangent of an argument, from that of the result and from what the rule reads of the call, by name.

    It is a new array, a product that was not computed yet, or a number. A zero cotangent wins where the rule may divide by
    zero."""
    function, position = adjoint_parts(rule).adjoints[argument]
    singular = rule.singular
    parameters = list(inspect.signature(function).parameters.values())[2:]
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    rest = next((k for k, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), 0)
    leading = [p.name for p in parameters[:rest + 1]] if rest or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL else []

    def adjoint(g: Any, *, out: Any = None, **given: Any) -> Any:
        if singular and not np.any(g):
            return 0.0
        words = dict.fromkeys(required)
        words.update(given)
        first = [words.pop(n, ()) for n in leading]
        found = function(g, out, *first[:-1], *first[-1], **words) if leading else function(g, out, **words)
        share = found if position is None else found[position]
        held = [a for v in (g, out, *given.values()) for a in (v if isinstance(v, list | tuple) else (v,))
                if isinstance(a, np.ndarray)]
        if isinstance(share, list | tuple):
            parts = []
            for x in share:
                parts.append(_new(real_part(x), held))
                held.append(parts[-1])
            return parts
        return _new(real_part(share), held)
    return adjoint


def _new(share: Any, held: list[Any]) -> Any:
    """A cotangent that may be written to: a copy where it shares memory with what is held elsewhere."""
    if isinstance(share, np.ndarray) and (not share.flags.writeable or any(
            isinstance(a, np.ndarray) and np.may_share_memory(share, a) for a in held)):
        return np.array(share)
    return share


def partial_of(rule: Rule, argument: str, names: list[str]) -> Callable[..., Any]:
    """The same for an elementwise function: cotangent times partial derivative, not yet summed where it was broadcast."""
    part = partial_parts(rule).part(names.index(argument))
    assert part is not None
    function, takes_out, singular = part.function, part.takes_out, rule.singular

    def adjoint(g: Any, *, out: Any = None, **given: Any) -> Any:
        args = [given.get(n) for n in names]
        slope = function(*args, out=out) if takes_out else function(*args)
        if slope is None:                                # no derivative by this argument
            return np.zeros_like(g)[()]
        return kept(g, slope) if singular else g * slope
    return adjoint
