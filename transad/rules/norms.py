"""The rule of `np.linalg.norm`, every order and axis, and of its relatives; at 0 a finite subgradient
(mostly 0).

Ties (orders inf, -inf, and 1, 2 of matrices) are split evenly.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.errors import Unsupported
from transad.rules.algebra import conj, zero_safe_divide
from transad.rules.registry import adjoint

__all__ = ["norm_cotangent"]

_M = np.array([[1.0, -2.0, 0.4], [0.5, 1.5, -0.3]])
_V = np.array([0.5, -1.5, 2.0])
_T = np.sin(1 + np.arange(24.0) ** 2).reshape(2, 3, 4)
_Z = _M + 1j * _M[::-1] ** 2


def _unit(x: Any) -> Any:
    """The slope of the modulus: the sign of a real number, conj(z) / |z| of a complex one, 0 at 0."""
    return zero_safe_divide(conj(x), np.abs(x)) if np.iscomplexobj(x) else np.sign(x)


def _share(x: Any, best: Any, axis: Any) -> Any:
    """Each entry's part in an extremum: 1 over the number of ties."""
    hits = np.where(x == best, 1.0, 0.0)
    return hits / np.sum(hits, axis=axis, keepdims=True)


def _vector(g: Any, n: Any, x: Any, order: Any, axis: Any) -> Any:
    """`g` and the norm `n` have the axes kept; `axis` is one axis, or any for the Euclidean norm."""
    if order is None or order == 2:
        return g * conj(zero_safe_divide(x, n))
    size = np.abs(x)
    if order == 0:
        return np.zeros(np.shape(x))
    if order == np.inf or order == -np.inf:
        return g * _unit(x) * _share(size, n, axis)
    if order == 1:
        return g * _unit(x)
    usable = (size > 0) & (n > 0)
    ratio = np.where(usable, size, 1.0) / np.where(usable, n, 1.0)
    return g * _unit(x) * np.where(usable, ratio ** (order - 1), 0.0)


def _matrix(g: Any, n: Any, x: Any, order: Any, row: int, column: int) -> Any:
    """`g` and the norm `n` have the axes kept; `row` and `column` are the axes of the matrices."""
    if order == "fro" or order is None:
        return g * conj(zero_safe_divide(x, n))
    if order in (1, -1, np.inf, -np.inf):
        along, across = (row, column) if order in (1, -1) else (column, row)
        sums = np.sum(np.abs(x), axis=along, keepdims=True)
        return g * _unit(x) * _share(sums, n, across)
    u, s, vh = np.linalg.svd(np.moveaxis(x, (row, column), (-2, -1)), full_matrices=False)
    if order == "nuc":
        weights = np.where(s > np.finfo(s.dtype).eps * np.max(s, axis=-1, keepdims=True, initial=0.0), 1.0,
                           0.0)
    elif order in (2, -2):
        weights = _share(s, s[..., :1] if order == 2 else s[..., -1:], -1)
    else:
        raise Unsupported(f"norm of order {order!r} has no derivative rule")
    return g * np.moveaxis(conj(np.matmul(u * np.expand_dims(weights, -2), vh)), (-2, -1), (row, column))


def norm_cotangent(g: Any, out: Any, x: Any, order: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of `x` in `np.linalg.norm(x, order, axis, keepdims)`."""
    x = np.asarray(x)
    if np.size(x) == 0:
        return np.zeros(np.shape(x))
    every = tuple(range(np.ndim(x)))
    if axis is None and (order is None or (order in ("fro", "f") and np.ndim(x) == 2)
                         or (order == 2 and np.ndim(x) == 1)):
        n = np.reshape(out, (1,) * np.ndim(x))
        return np.reshape(g, np.shape(n)) * conj(zero_safe_divide(x, n))
    axes = every if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(int(k) % np.ndim(x) for k in axes)
    if not keepdims:
        g, out = np.expand_dims(g, axes), np.expand_dims(out, axes)
    else:
        g, out = np.reshape(g, np.shape(out)), np.asarray(out)
    if len(axes) == 1:
        return _vector(g, out, x, order, axes[0])
    return _matrix(g, out, x, "fro" if order == "f" else order, axes[0], axes[1])


_ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
_NORM_POINTS = ([(_V,), (_M,), (_T,), (_Z,), (_V, 3), (_V, 1), (_V, 2), (_V, np.inf), (_V, -np.inf),
                 (_V, 2.5), (_V, -1), (_V, 0.5),
                 (_V, 0), (_M, None, 0), (_M, 3, 1), (_T, 1, 2), (_Z, 3, 1), (_Z, np.inf, 0),
                 (_M, 2, -1, True), (_M, None, (0, 1)),
                 (_M, None, None, True), (np.array([0.0, 1.0, -2.0]), 4), (_T, None, (2, 0), True)]
                + [(_M, order) for order in _ORDERS] + [(_T, order, (2, 0)) for order in _ORDERS]
                + [(_Z, order) for order in _ORDERS] + [(_T, "nuc", (0, 1), True)])


@adjoint(np.linalg.norm, "x", at=_NORM_POINTS, singular=True)
def _(g, out, x, ord=None, axis=None, keepdims=False):
    return norm_cotangent(g, out, x, ord, axis, keepdims)


@adjoint(np.linalg.vector_norm, "x", at=[(_V,), (_M,), (_T,), (_M,)], singular=True,
         keywords=[{}, {"ord": 3}, {"axis": (0, 2), "ord": 1}, {"axis": 1, "keepdims": True}])
def _(g, out, x, *, axis=None, keepdims=False, ord=2):
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(np.ndim(x))) if axis is None else tuple(int(k) % np.ndim(x) for k in axis)
        if not keepdims:
            g, out = np.expand_dims(g, axes), np.expand_dims(out, axes)
        return _vector(g, out, x, ord, axes)
    return norm_cotangent(g, out, x, ord, axis, keepdims)


@adjoint(np.linalg.matrix_norm, "x", at=[(_M,), (_T,), (_T,)], singular=True,
         keywords=[{}, {"ord": "nuc"}, {"ord": 1, "keepdims": True}])
def _(g, out, x, *, keepdims=False, ord="fro"):
    return norm_cotangent(g, out, x, ord, (-2, -1), keepdims)
