"""Directional derivatives on the recorded path: the pullback is linear in the cotangent, and its pullback is the
pushforward. No rules beyond those of the reverse sweep are needed, and they nest like everything else."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..tree import map_tree
from .inputs import is_differentiable
from .var import KIND, plain

__all__ = ["pushforward"]


def pushforward(function: Any, args: tuple, kwargs: dict, chosen: list[int | str] | None,
                has_aux: bool) -> tuple[Any, Callable]:
    """`(y, push)`; push(tangents of the chosen arguments) is the tangent of y. chosen None: all arguments."""
    from ..api import run_pullback
    which = list(range(len(args))) if chosen is None else chosen
    values = [args[c] if isinstance(c, int) else kwargs[c] for c in which]
    live_ones = [k for k, v in enumerate(values) if is_differentiable(v)]
    positions = [which[k] for k in live_ones if isinstance(which[k], int)]
    names = [which[k] for k in live_ones if isinstance(which[k], str)]
    chosen_ones: list[Any] = [*positions, *names]
    live_ones = [which.index(c) for c in chosen_ones]
    y, back = run_pullback(function, args, kwargs, positions, names)  # type: ignore[arg-type]
    out = y[0] if has_aux else y

    def linear(cotangent: Any) -> list[Any]:
        return back((cotangent, None) if has_aux else cotangent)

    def push(tangents: tuple) -> Any:
        from .run import pullback
        seeds = [_fitting(tangents[k], values[k], which[k]) for k in live_ones]
        _, transposed, _ = pullback(_Native(linear), (map_tree(_generic, out),), {}, [0])
        return map_tree(_tangent, transposed(seeds)[0])
    return y, push


class _Native:
    """A callable that runs as it is while sweeps are live (it belongs to transad)."""

    def __init__(self, function: Callable) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


def _generic(leaf: Any) -> Any:
    """A cotangent at which nothing vanishes by accident (its value does not matter)."""
    leaf = plain(leaf)
    if KIND[type(leaf)] == 2 and leaf.dtype.kind in "fciu":
        dtype = leaf.dtype if leaf.dtype.kind in "fc" else np.float64
        return (0.7310585 + 0.1 * np.sin(1.0 + np.arange(leaf.size))).reshape(leaf.shape).astype(dtype)
    if isinstance(leaf, (bool, str)) or not isinstance(leaf, (int, float, complex, np.number)):
        return leaf
    return type(leaf)(0.7310585) if isinstance(leaf, (float, complex, np.inexact)) else 0.7310585


def _tangent(leaf: Any) -> Any:
    return leaf


def _fitting(tangent: Any, value: Any, which: int | str) -> Any:
    """The tangent as a cotangent of the gradient of `value`."""
    if tangent is None:
        return None
    if KIND[type(value)] == 2 and value.ndim == 0 and KIND[type(tangent)] != 2:
        return np.asarray(tangent)
    if KIND[type(value)] == 2 and np.shape(tangent) != value.shape:
        raise InvalidArgument(f"the tangent of argument {which!r} has shape {np.shape(tangent)}, the argument "
                              f"{value.shape}")
    return tangent
