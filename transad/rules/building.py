"""Derivatives of functions that make arrays: conversions, constants, even spacings, grids, random numbers."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
Z = M + 1j * np.flip(M)


# Conversions. Casts of the cotangent to the argument's dtype are the caller's business.

def nested(g, like):
    """`g` taken apart into the nested lists of `like`, in the shapes of its arrays."""
    if isinstance(like, (list, tuple)):
        return [nested(g[i], each) for i, each in enumerate(like)]
    return np.reshape(g, np.shape(like))


@adjoint(np.array, "object", at=[(M,), (2.5,), ([[0.5, 2.0], (1.0, -3.0)],), ([V, V * 2],), (V,), (Z,)],
         keywords=[{}, {}, {}, {}, {"ndmin": 2}])
def _(g, out, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    return nested(np.reshape(g, np.shape(object)), object)


@adjoint(np.asarray, "a", at=[(M,), (2.5,), ([[0.5, 2.0], [1.0, -3.0]],)])
@adjoint(np.asanyarray, "a", at=[(M,)])
def _(g, out, a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return nested(g, a)


@adjoint(np.ascontiguousarray, "a", at=[(M.T,), (2.5,)])
@adjoint(np.asfortranarray, "a", at=[(M,)])
def _(g, out, a, dtype=None, *, like=None):
    return nested(np.reshape(g, np.shape(a)), a)


@adjoint(np.asarray_chkfinite, "a", at=[(M,)])
def _(g, out, a, dtype=None, order=None):
    return nested(g, a)


@adjoint(np.require, "a", at=[(M,)])
def _(g, out, a, dtype=None, requirements=None, *, like=None):
    return nested(np.reshape(g, np.shape(a)), a)


@adjoint(np.copy, "a", at=[(M,), (2.5,)])
def _(g, out, a, order="K", subok=False):
    return nested(g, a)


@adjoint(np.astype, "x", at=[(M, np.float64), (M, np.complex128)])
def _(g, out, x, dtype, /, *, copy=True, device=None):
    return g


@adjoint(np.full, "fill_value", at=[(3, 0.5), ((2, 3), V)])
def _(g, out, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    return unbroadcast(g, fill_value)


@adjoint(np.full_like, "a", "fill_value", at=[(M, 0.5), (M, V)])
def _(g, out, a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return np.zeros(np.shape(a)), unbroadcast(g, fill_value)


# Evenly spaced numbers: out = start + i step. How many there are, and so the end, carries no derivative.

@adjoint(np.arange, "start_or_stop", at=[(0.5, 3.2, 0.7), (2.5,)])
def _(g, out, start_or_stop, stop=None, step=1, dtype=None, *, device=None, like=None):
    return 0.0 if stop is None else np.sum(g)


@adjoint(np.arange, "stop")
def _(g, out, start_or_stop, stop=None, step=1, dtype=None, *, device=None, like=None):
    return 0.0


@adjoint(np.arange, "step")
def _(g, out, start_or_stop, stop=None, step=1, dtype=None, *, device=None, like=None):
    return np.sum(g * np.arange(np.size(g)))


def fractions(num, endpoint, rank):
    """How far from start to stop each number lies, along the first axis of a rank-`rank` array."""
    gaps = max(num - 1 if endpoint else num, 1)
    return np.reshape(np.arange(num) / gaps, (num,) + (1,) * (rank - 1))


RULERS = [(0.5, 2.0, 5), (V, 3.0, 4), (1.5, V * V, 3, False), (0.5, V, 4)]
MIDDLE = [{}, {}, {}, {"axis": 1}]


@adjoint(np.linspace, "start", "stop", at=[*RULERS, (0.5, 2.0), (0.5, 2.0, 1), (0.5, 2.0, 5, True, True)],
         keywords=MIDDLE)
def _(g, out, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    rows = np.moveaxis(g[0] if retstep else g, axis, 0)
    far = fractions(num, endpoint, np.ndim(rows))
    low, high = np.sum(rows * (1.0 - far), axis=0), np.sum(rows * far, axis=0)
    if retstep:
        part = g[1] / max(num - 1 if endpoint else num, 1)
        low, high = low - part, high + part
    return unbroadcast(low, start), unbroadcast(high, stop)


@adjoint(np.logspace, "start", "stop", "base", at=[*RULERS, (0.5, 2.0, 5, True, 3.0), (V, 2.0, 3, True, V * V + 1.0)],
         keywords=MIDDLE)
def _(g, out, start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    rows, values = np.moveaxis(g, axis, 0), np.moveaxis(out, axis, 0)
    far = fractions(num, endpoint, np.ndim(rows))
    weighted = rows * values
    scale = np.log(base)
    exponents = (1.0 - far) * start + far * stop
    return (unbroadcast(np.sum(weighted * (1.0 - far), axis=0) * scale, start),
            unbroadcast(np.sum(weighted * far, axis=0) * scale, stop),
            unbroadcast(np.sum(weighted * exponents, axis=0) / base, base))


@adjoint(np.geomspace, "start", "stop", keywords=MIDDLE, at=[
    (0.5, 2.0, 5), (V * V, 3.0, 4), (1.5, V * V, 3, False), (0.5, V * V, 4), (-1.0, -4.0, 3)])
def _(g, out, start, stop, num=50, endpoint=True, dtype=None, axis=0):
    rows, values = np.moveaxis(g, axis, 0), np.moveaxis(out, axis, 0)
    far = fractions(num, endpoint, np.ndim(rows))
    weighted = rows * values
    return (unbroadcast(np.sum(weighted * (1.0 - far), axis=0) / start, start),
            unbroadcast(np.sum(weighted * far, axis=0) / stop, stop))


@adjoint(np.meshgrid, "xi", at=[(V, V[:2]), (V, V[:2], V * 2), (V, V[:2]), (V, 2.5), (V,)],
         keywords=[{}, {"indexing": "ij"}, {"sparse": True}])
def _(g, out, *xi, copy=True, sparse=False, indexing="xy"):
    ndim = len(xi)
    cotangents = []
    for i, (part, x) in enumerate(zip(g, xi, strict=True)):
        along = 1 - i if indexing == "xy" and ndim > 1 and i < 2 else i
        others = tuple(k for k in range(ndim) if k != along)
        cotangents.append(np.reshape(np.sum(part, axis=others), np.shape(x)))
    return cotangents


@adjoint(np.vander, "x", at=[(V,), (V, 2), (V, 4, True), (np.array([0.0, 2.0]),)])
def _(g, out, x, N=None, increasing=False):
    powers = np.arange(np.shape(out)[1])
    powers = powers if increasing else powers[::-1]
    return np.sum(g * powers * np.power(np.expand_dims(x, 1), np.maximum(powers - 1, 0)), axis=1)


# Random numbers of the legacy generator, shifted and scaled: d/d loc and d/d scale at the numbers drawn.

DRAWS = [(0.3, 1.5), (V, 2.0), (0.5, V * V, (2, 3))]


@adjoint(np.random.normal, "loc", "scale", at=DRAWS)
@adjoint(np.random.laplace, "loc", "scale", at=DRAWS)
@adjoint(np.random.logistic, "loc", "scale", at=DRAWS)
@adjoint(np.random.gumbel, "loc", "scale", at=DRAWS)
def _(g, out, loc=0.0, scale=1.0, size=None):
    return unbroadcast(g, loc), unbroadcast(g * ((out - loc) / scale), scale)


@adjoint(np.random.uniform, "low", "high", at=[(0.3, 1.5), (V, 4.0), (-2.0, V, (2, 3))])
def _(g, out, low=0.0, high=1.0, size=None):
    far = (out - low) / (high - low)
    return unbroadcast(g * (1.0 - far), low), unbroadcast(g * far, high)


@adjoint(np.random.exponential, "scale", at=[(1.5,), (V * V, (2, 3))])
def _(g, out, scale=1.0, size=None):
    return unbroadcast(g * (out / scale), scale)
