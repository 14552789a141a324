"""The transpose of one pullback: the pushforward of an operation whose rule is an adjoint.

A pullback is linear in the cotangent. It runs once with a cotangent that is recorded, and the reverse of that record
maps tangents of the arguments to the tangent of the result. So a rule is given once, for both directions.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingRule, NoSource, Unsupported
from ..tree import children, leaves_of, map_tree
from .calls import call_rewritten, user_place
from .inputs import track
from .memory import gradient_dtype
from .sweep import live, pop, push
from .var import KIND, VARS, plain

__all__ = ["transposed"]

_MOST = 4096            # numbers of a result up to which a tangent is computed one by one


def transposed(context: Any, pulled: Callable, record: Any, seeds: list[Any], *extra: Any) -> Any:
    """The tangent of `record.out`, where `pulled(record, g, *extra)` is the list of cotangents of the targets of a record
    for the cotangent g of its result, and `seeds` are the tangents of these targets (None: zero)."""
    generic = map_tree(_generic, record.out)
    try:
        t = _transposed(pulled, record, generic, seeds, extra)
    except (MissingRule, NoSource, Unsupported) as error:
        if live():
            raise
        error.place = error.place or user_place()
        return _by_entries(context, functools.partial(_natively, pulled, record, extra), generic, seeds, error)
    if extra and not live():
        other = map_tree(lambda leaf: None if leaf is None else -2.5 * leaf, generic)
        _check_linear(pulled(record, other, *extra), seeds, generic, t)
    return t


def _transposed(pulled: Callable, record: Any, generic: Any, seeds: list[Any], extra: tuple) -> Any:
    from .backward import gradients
    sweep = push()
    try:
        tracked = track(sweep, generic, "the cotangent")
        found = call_rewritten(pulled, record, tracked.value, *extra)
    finally:
        pop(sweep)
    run = call_rewritten if live() else _called
    return run(gradients, sweep, found, seeds, [tracked.places])[0]


def _natively(pulled: Callable, record: Any, extra: tuple, g: Any) -> list[Any]:
    return pulled(record, g, *extra)


def _called(function: Callable, *args: Any) -> Any:
    return function(*args)


_waves = np.zeros(0)


def _generic(leaf: Any) -> Any:
    """A cotangent of a result at which nothing vanishes by accident (its value does not matter)."""
    global _waves
    if KIND[type(leaf)] == 2:
        if leaf.dtype.kind not in "fciu":
            return None
        if _waves.size < leaf.size:
            _waves = 0.7310585 + 0.1 * np.sin(1.0 + np.arange(max(leaf.size, 2 * _waves.size)))
        return _waves[:leaf.size].reshape(leaf.shape).astype(gradient_dtype(leaf.dtype))
    if type(leaf) not in VARS:
        return None
    number = plain(leaf)
    return type(number)(0.7310585) if isinstance(number, (float, complex, np.inexact)) else 0.7310585


def _pairing(cotangents: Any, tangents: Any) -> tuple[float, float]:
    """Re(sum(c * t)) over a nesting, and the same of absolute values."""
    if cotangents is None or tangents is None:
        return 0.0, 0.0
    parts = children(cotangents)
    if parts is None:
        product = np.asarray(cotangents) * np.asarray(tangents)
        return float(np.sum(np.real(product))), float(np.sum(np.abs(product)))
    other = dict(children(tangents) or [])
    pairs = [_pairing(child, other.get(key)) for key, child in parts]
    return sum(p for p, _ in pairs), sum(p for _, p in pairs)


def _check_linear(found: Any, seeds: list[Any], generic: Any, t: Any) -> None:
    """Refuse a user's pullback that is not linear: there is no pushforward that belongs to it."""
    (left, size), (right, other) = _pairing(list(found), list(seeds)), _pairing(generic, t)
    right *= -2.5
    if np.isfinite(left) and np.isfinite(right) and abs(left - right) > 1e-3 * max(size, 2.5 * other, 1e-30):
        raise Unsupported("forward mode through a custom_rule whose back function is not linear in the cotangent",
                          instead="differentiate in reverse (grad, vjp, jacrev), which applies it as it is",
                          place=user_place())


def _by_entries(context: Any, pulled: Callable, generic: Any, seeds: list[Any], error: Any) -> Any:
    """The tangent number by number, for a pullback that cannot be differentiated, or that has no value for some
    cotangents. NaN stands where it has none; that is an error if it reaches the result."""
    leaves = [leaf for leaf in leaves_of(generic) if leaf is not None]
    if sum(np.size(leaf) for leaf in leaves) > _MOST:
        raise error
    found = []
    for k, leaf in enumerate(leaves):
        t = np.zeros_like(leaf)
        for index in np.ndindex(t.shape):
            try:
                t[index] = sum(side * _pairing(pulled(_unit(generic, k, index, weight)), list(seeds))[0]
                               for weight, side in ((1.0, 1.0), (-1j, 1j))[:1 + np.iscomplexobj(leaf)])
            except Unsupported:
                context.refused.append(error)
                t[index] = np.nan
        found.append(t if isinstance(leaf, np.ndarray) else type(leaf)(t[()]))
    rest = iter(found)
    return map_tree(lambda leaf: None if leaf is None else next(rest), generic)


def _unit(generic: Any, which: int, index: tuple, weight: complex) -> Any:
    """A cotangent that is zero but for one number."""
    number = itertools.count()

    def leaf_of(leaf: Any) -> Any:
        if leaf is None:
            return None
        unit = np.zeros_like(leaf)
        if next(number) == which:
            unit[index] = weight
        return unit if isinstance(leaf, np.ndarray) else type(leaf)(unit[()])
    return map_tree(leaf_of, generic)
