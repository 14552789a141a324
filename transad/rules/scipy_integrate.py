"""Rules of `scipy.integrate`: sums over samples."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as si

from transad.errors import Unsupported
from transad.rules.algebra import unbroadcast
from transad.rules.registry import adjoint

_Y, _X = np.sin(np.arange(12.0)).reshape(3, 4), np.array([0.0, 0.4, 1.0, 1.3])


def _steps(x: Any, dx: Any, axis: int, rank: int) -> Any:
    if x is None:
        return dx
    if np.ndim(x) == 1:
        return np.reshape(np.diff(x), (-1,) + (1,) * (rank - 1 - axis))
    return np.diff(x, axis=axis)


def _ends(g: Any, axis: int, at_end: bool) -> Any:
    """One zero more along `axis`, at the end or at the beginning."""
    shape = np.shape(g)
    zero = np.zeros(shape[:axis] + (1,) + shape[axis + 1:])
    return np.concatenate((g, zero) if at_end else (zero, g), axis=axis)


def _pairs(on_sum: Any, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    """Cotangents of y, x and dx, from that of each trapezium."""
    rank = np.ndim(y)
    size = np.shape(y)[axis]
    front = (slice(None),) * axis
    half = 0.5 * (y[front + (slice(1, size),)] + y[front + (slice(0, size - 1),)])
    weighted = 0.5 * on_sum * _steps(x, dx, axis, rank)
    on_y = _ends(weighted, axis, True) + _ends(weighted, axis, False)
    if x is None:
        return on_y, None, np.sum(on_sum * half)
    on_step = on_sum * half
    if np.ndim(x) == 1:
        on_step = np.sum(on_step, axis=tuple(k for k in range(rank) if k != axis))
        return on_y, _ends(on_step, 0, False) - _ends(on_step, 0, True), None
    return on_y, unbroadcast(_ends(on_step, axis, False) - _ends(on_step, axis, True), x), None


@adjoint(si.trapezoid, "y", "x", "dx", at=[(_Y,), (_Y, _X), (_Y, None, 0.3, 0), (_X, _X ** 2), (_Y, _Y ** 2)])
def _(g, out, y, x=None, dx=1.0, axis=-1):
    y, axis = np.asarray(y), axis % np.ndim(y)
    shape = list(np.shape(y))
    shape[axis] -= 1
    return _pairs(np.broadcast_to(np.expand_dims(g, axis), shape), y, x, dx, axis)


@adjoint(si.cumulative_trapezoid, "y", "x", "dx", at=[(_Y,), (_Y, _X), (_Y, None, 0.3, 0), (_X, _X ** 2),
                                                      (_Y, _X, 1.0, -1, 0)])
def _(g, out, y, x=None, dx=1.0, axis=-1, initial=None):
    y, axis = np.asarray(y), axis % np.ndim(y)
    if initial is not None:
        g = g[(slice(None),) * axis + (slice(1, np.shape(g)[axis]),)]
    return _pairs(np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis), y, x, dx, axis)


@adjoint(si.simpson, "y", at=[(_Y,), (_Y, _X), (_Y,), (_X,)], keywords=[{}, {}, {"dx": 0.3, "axis": 0}, {}])
def _(g, out, y, x=None, *, dx=1.0, axis=-1):
    y, axis = np.asarray(y), axis % np.ndim(y)
    if x is not None and np.ndim(x) > 1:
        raise Unsupported("scipy.integrate.simpson with x of several dimensions has no derivative rule",
                          instead="scipy.integrate.trapezoid")
    weights = si.simpson(np.eye(np.shape(y)[axis]), x=x, dx=dx, axis=1)
    return np.expand_dims(g, axis) * np.reshape(weights, (-1,) + (1,) * (np.ndim(y) - 1 - axis))
