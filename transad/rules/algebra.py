"""What the rules of arrays share: transposes of stacks of matrices, and the sums that undo broadcasting.

All of it is plain NumPy whose functions have rules themselves, so that rules can be differentiated again.
Complex numbers: a cotangent `g` pairs with a tangent `t` as `Re(sum(g * t))`, so nothing is conjugated for a
holomorphic function. Formulas from the literature that pair as `Re(sum(conj(g) * t))` are used between two
`conj`.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.errors import MissingRule
from transad.rules.linear import summed

__all__ = ["conj", "hermitian", "imag", "outer_last", "transposed", "unbroadcast", "unknown",
           "zero_safe_divide"]


def transposed(a: Any) -> Any:
    """The transpose of each matrix of a stack."""
    return np.swapaxes(a, -1, -2)


def conj(a: Any) -> Any:
    """The conjugate; real arrays are not copied."""
    return np.conj(a) if np.iscomplexobj(a) else a


def imag(a: Any) -> Any:
    """The imaginary part of a complex array, as the real part of another."""
    return np.real(-1j * a)


def hermitian(a: Any) -> Any:
    """The conjugate transpose of each matrix of a stack."""
    return conj(np.swapaxes(a, -1, -2))


def outer_last(a: Any, b: Any) -> Any:
    """`a[..., i] * b[..., j]`."""
    return np.expand_dims(a, -1) * np.expand_dims(b, -2)


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum `g` over the axes along which an array of the shape of `like` was broadcast.

    >>> unbroadcast(np.ones((2, 3)), np.zeros((2, 1)))
    array([[3.],
           [3.]])
    """
    shape = np.shape(like)
    if np.shape(g) == shape:
        return g
    extra = np.ndim(g) - len(shape)
    if extra > 0:
        g = np.reshape(summed(g, tuple(range(extra))), np.shape(g)[extra:])
    stretched = tuple(k for k in range(len(shape)) if shape[k] == 1 and np.shape(g)[k] != 1)
    if stretched:
        g = summed(g, stretched)
    return g if np.shape(g) == shape else np.broadcast_to(g, shape)


def unknown(function: str, argument: str) -> Any:
    """Stands for a partial derivative that nobody has a formula for: raised only if it is asked for."""
    raise MissingRule(f"{function} has no derivative rule for its argument {argument!r}",
                      instead="keep it constant, or declare the rule of a function of your own")


def zero_safe_divide(numerator: Any, denominator: Any) -> Any:
    """The quotient, and 0 where the denominator is 0 (also in its derivatives)."""
    usable = denominator != 0
    return np.where(usable, numerator / np.where(usable, denominator, 1), 0)
