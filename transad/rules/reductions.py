"""Derivatives of sums, products, means, extrema and their NaN-skipping versions.

Ties of `max` and `min` share the cotangent evenly. Products are differentiated without division, so zeros
among the factors are harmless. Where a standard deviation is 0 its cotangent is 0 (a subgradient).
"""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import as_axes, count, expand, mask_of
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
Z = M + 1j * np.flip(M)
HOLES = np.array([[0.5, np.nan, 2.0], [1.7, 0.3, np.nan]])
KEEP = np.array([[True, False, True], [True, True, True]])
POINTS = [(V,), (2.5,), (M, 0), (M, (0, -1)), (T, (2, 0)), (M, None), (T, 1), (M,), (M, -1)]
KEYWORDS = [{}, {}, {}, {}, {}, {"keepdims": True}, {"keepdims": True}, {"axis": 1, "where": KEEP}]


def masked(cotangent, where):
    """`cotangent` where the reduction looked, else 0."""
    return cotangent if where is True else np.where(where, cotangent, 0.0)


# Sums and means

@adjoint(np.sum, "a", at=[*POINTS, (Z, 1)], keywords=KEYWORDS)
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=0, where=True):
    return masked(expand(g, np.shape(a), axis, keepdims), where)


@adjoint(np.sum, "initial", at=[(M, 0)], keywords=[{"initial": 2.5}])
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=0, where=True):
    return unbroadcast(g, initial)


@adjoint(np.nansum, "a", at=[*POINTS, (HOLES,), (HOLES, 0)], keywords=KEYWORDS)
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=0, where=True):
    return masked(expand(g, np.shape(a), axis, keepdims), mask_of(a, where))


def mean_of(g, a, axis, keepdims, where):
    """The cotangent of the elements of a mean over those that `where` selects."""
    if where is True:
        return expand(np.divide(g, count(np.shape(a), axis)), np.shape(a), axis, keepdims)
    looked = np.broadcast_to(where, np.shape(a))
    members = np.sum(looked, axis=axis, keepdims=keepdims, dtype=np.asarray(g).dtype)
    return masked(expand(g / np.maximum(members, 1), np.shape(a), axis, keepdims), where)


@adjoint(np.mean, "a", at=[*POINTS, (Z, 1)], keywords=KEYWORDS)
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, *, where=True):
    return mean_of(g, a, axis, keepdims, where)


@adjoint(np.nanmean, "a", at=[*POINTS, (HOLES,), (HOLES, 0)], keywords=KEYWORDS)
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, *, where=True):
    return mean_of(g, a, axis, keepdims, mask_of(a, where))


# Variances: the derivative through the mean vanishes, as the deviations add up to 0.

def squared_deviation(g, a, axis, keepdims, ddof, where, mean):
    """The cotangent of the elements of a sum of squared deviations over (number - ddof)."""
    given = mean is not None
    if where is True:
        centre = mean if given else np.mean(a, axis=axis, keepdims=True)
        scale = np.divide(2.0 * g, count(np.shape(a), axis) - ddof)
        return np.conjugate(a - centre) * expand(scale, np.shape(a), axis, keepdims)
    looked = np.broadcast_to(where, np.shape(a))
    numbers = np.sum(looked, axis=axis, keepdims=True, dtype=np.asarray(g).dtype)
    values = np.where(looked, a, 0.0)
    centre = mean if given else np.sum(values, axis=axis, keepdims=True) / np.maximum(numbers, 1)
    scale = 2.0 * expand(g, np.shape(a), axis, keepdims) / np.maximum(numbers - ddof, 1)
    return np.where(looked, np.conjugate(values - centre) * scale, 0.0)


def variance_of(g, a, axis, keepdims, ddof, where, mean, correction):
    """With the array-API spelling `correction` of `ddof`."""
    return squared_deviation(g, a, axis, keepdims, ddof if correction is None else correction, where, mean)


def half_over(g, out):
    """d sqrt(v) = dv / (2 sqrt(v)); 0 where out = 0."""
    return np.where(out == 0, 0.0, 0.5 * g / np.where(out == 0, 1.0, out))


DDOF = [{}, {"ddof": 0}, {"ddof": 1}, {}, {"ddof": 1}, {"keepdims": True}, {"keepdims": True},
        {"axis": 1, "where": KEEP}, {"correction": 1}]
SPREADS = [(V,), (M,), (M, 0), (M, (0, -1)), (T, (2, 0)), (M, None), (T, 1), (M,), (M, -1)]


@adjoint(np.var, "a", at=[*SPREADS, (Z, 1)], keywords=DDOF)
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return variance_of(g, a, axis, keepdims, ddof, where, mean, correction)


@adjoint(np.nanvar, "a", at=[*SPREADS, (HOLES, 1)], keywords=DDOF)
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return variance_of(g, a, axis, keepdims, ddof, mask_of(a, where), mean, correction)


@adjoint(np.std, "a", at=[*SPREADS, (Z, 1)], keywords=DDOF)
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return variance_of(half_over(g, out), a, axis, keepdims, ddof, where, mean, correction)


@adjoint(np.nanstd, "a", at=[*SPREADS, (HOLES, 1)], keywords=DDOF)
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return variance_of(half_over(g, out), a, axis, keepdims, ddof, mask_of(a, where), mean, correction)


def mean_given(g, a, axis, keepdims, ddof, where, mean, correction):
    """The cotangent of a mean that the caller supplied."""
    each = variance_of(g, a, axis, keepdims, ddof, where, mean, correction)
    return unbroadcast(-each, mean)


@adjoint(np.var, "mean", at=[(M, 1)], keywords=[{"mean": np.array([[0.4], [0.3]]), "keepdims": True}])
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return mean_given(g, a, axis, keepdims, ddof, where, mean, correction)


@adjoint(np.std, "mean", at=[(M, 1)], keywords=[{"mean": np.array([[0.4], [0.3]]), "keepdims": True}])
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return mean_given(half_over(g, out), a, axis, keepdims, ddof, where, mean, correction)


@adjoint(np.nanvar, "mean", at=[(HOLES, 1)], keywords=[{"mean": np.array([[0.4], [0.3]]), "keepdims": True}])
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return mean_given(g, a, axis, keepdims, ddof, mask_of(a, where), mean, correction)


@adjoint(np.nanstd, "mean", at=[(HOLES, 1)], keywords=[{"mean": np.array([[0.4], [0.3]]), "keepdims": True}])
def _(g, out, a, axis=None, dtype=None, buffer=None, ddof=0, keepdims=False, *, where=True, mean=None,
      correction=None):
    return mean_given(half_over(g, out), a, axis, keepdims, ddof, mask_of(a, where), mean, correction)


def aligned_weights(weights, a, axis):
    """`weights` of `np.average` in a shape that broadcasts against `a`: its axes are those averaged over."""
    if np.shape(weights) == np.shape(a) or axis is None:
        return weights
    ndim = np.ndim(a)
    chosen = tuple(each % ndim for each in (axis if isinstance(axis, tuple) else (axis,)))
    order = tuple(chosen.index(each) for each in sorted(chosen))
    shape = tuple(np.shape(a)[i] if i in chosen else 1 for i in range(ndim))
    return np.reshape(np.transpose(weights, order), shape)


AVERAGES = [(M,), (M, 0), (M, 1, V), (M, None, M * M), (T, (2, 0), M[:, :2] ** 2), (M, 1, V, True)]


@adjoint(np.average, "a", at=AVERAGES, keywords=[{}, {}, {"keepdims": True}])
def _(g, out, a, axis=None, weights=None, returned=False, *, keepdims=False):
    g_mean = g[0] if returned else g
    if weights is None:
        return mean_of(g_mean, a, axis, keepdims, True)
    w = aligned_weights(weights, a, axis)
    total = np.sum(np.broadcast_to(w, np.shape(a)), axis=axis, keepdims=True)
    return expand(g_mean, np.shape(a), axis, keepdims) * (w / total)


@adjoint(np.average, "weights")
def _(g, out, a, axis=None, weights=None, returned=False, *, keepdims=False):
    g_mean, mean = (g[0], out[0]) if returned else (g, out)
    shape = np.shape(a)
    w = aligned_weights(weights, a, axis)
    total = np.sum(np.broadcast_to(w, shape), axis=axis, keepdims=True)
    deviation = a - expand(mean, shape, axis, keepdims)
    each = expand(g_mean, shape, axis, keepdims) * deviation / total
    if returned:
        each = each + expand(g[1], shape, axis, keepdims)
    if axis is None or np.shape(w) == np.shape(weights):
        return unbroadcast(each, w)
    chosen = axis if isinstance(axis, tuple) else (axis,)
    chosen = [i % len(shape) for i in chosen]
    summed = np.sum(each, axis=tuple(i for i in range(len(shape)) if i not in chosen))
    return np.transpose(summed, [sorted(chosen).index(i) for i in chosen])


# Extrema

def share_of(g, out, a, axis, keepdims, initial, where):
    """The cotangent of the elements equal to the extremum, shared evenly (with `initial` too)."""
    shape = np.shape(a)
    extremum = expand(out, shape, axis, keepdims)
    chosen = a == extremum
    if np.any(out != out):
        chosen = chosen | ((extremum != extremum) & (a != a))
    if where is True and initial is None and np.count_nonzero(chosen) == np.size(out):
        return np.where(chosen, expand(g, shape, axis, keepdims), 0.0)              # no ties
    chosen = chosen & where
    number = np.sum(chosen, axis=axis, keepdims=True, dtype=np.asarray(out).dtype)
    if initial is not None:
        number = number + np.reshape(initial == out, np.shape(number))
    return np.where(chosen, expand(g, shape, axis, keepdims) / np.maximum(number, 1), 0.0)


EXTREMA = [*KEYWORDS[:-1], {"axis": 1, "where": KEEP, "initial": -0.1}]


@adjoint(np.max, "a", at=POINTS, keywords=EXTREMA)
@adjoint(np.amax, "a", at=POINTS, keywords=EXTREMA)
@adjoint(np.min, "a", at=POINTS, keywords=EXTREMA)
@adjoint(np.amin, "a", at=POINTS, keywords=EXTREMA)
@adjoint(np.nanmax, "a", at=[*POINTS, (HOLES, 0)], keywords=EXTREMA)
@adjoint(np.nanmin, "a", at=[*POINTS, (HOLES, 0)], keywords=EXTREMA)
def _(g, out, a, axis=None, buffer=None, keepdims=False, initial=None, where=True):
    return share_of(g, out, a, axis, keepdims, initial, where)


@adjoint(np.max, "initial", at=[(M, 0)], keywords=[{"initial": 1.0}])
@adjoint(np.amax, "initial", at=[(M, 0)], keywords=[{"initial": 1.0}])
@adjoint(np.min, "initial", at=[(M, 0)], keywords=[{"initial": 0.4}])
@adjoint(np.amin, "initial", at=[(M, 0)], keywords=[{"initial": 0.4}])
def _(g, out, a, axis=None, buffer=None, keepdims=False, initial=None, where=True):
    tied = np.sum((a == expand(out, np.shape(a), axis, keepdims)) & where, axis=axis, keepdims=keepdims)
    return unbroadcast(np.where(out == initial, g / (tied + 1.0), 0.0), initial)


@adjoint(np.ptp, "a", at=[(V,), (2.5,), (M, 0), (M, (0, -1)), (T, (2, 0)), (M, None)],
         keywords=[{}, {}, {}, {}, {}, {"keepdims": True}])
def _(g, out, a, axis=None, buffer=None, keepdims=False):
    top = np.max(a, axis=axis, keepdims=keepdims)
    bottom = np.min(a, axis=axis, keepdims=keepdims)
    return (share_of(g, top, a, axis, keepdims, None, True)
            - share_of(g, bottom, a, axis, keepdims, None, True))


# Products

def product_of_others(a, axis):
    """For each element the product of the others along `axis`: those to the left times those to the right.

    >>> product_of_others(np.array([2.0, 0.0, 3.0]), None)
    array([0., 6., 0.])
    """
    shape = np.shape(a)
    if not shape:
        return np.ones(())
    axes = as_axes(axis, len(shape))
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    order = kept + axes
    moved = np.transpose(a, order)
    flat = np.reshape(moved, tuple(shape[i] for i in kept) + (count(shape, axis),))
    one = np.ones_like(flat[..., :1])
    left = np.cumprod(np.concatenate([one, flat[..., :-1]], axis=-1), axis=-1)
    right = np.flip(np.cumprod(np.concatenate([one, np.flip(flat, -1)[..., :-1]], axis=-1), axis=-1), -1)
    others = np.reshape(left * right, np.shape(moved))
    return np.transpose(others, [order.index(i) for i in range(len(shape))])


def prod_of(g, a, axis, keepdims, initial, where):
    """The cotangent of the factors that `where` selects."""
    factors = a if where is True else np.where(where, a, 1.0)
    scaled = expand(g * initial, np.shape(a), axis, keepdims)
    return masked(scaled * product_of_others(factors, axis), where)


ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]])


@adjoint(np.prod, "a", at=[*POINTS, (Z, 1), (ZEROS, 1), (ZEROS, 0), (M, 0)],
         keywords=[*KEYWORDS, {}, {}, {}, {}, {"initial": 2.5}])
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=1, where=True):
    return prod_of(g, a, axis, keepdims, initial, where)


@adjoint(np.nanprod, "a", at=[*POINTS, (HOLES,), (HOLES, 0)], keywords=KEYWORDS)
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=1, where=True):
    return prod_of(g, a, axis, keepdims, initial, mask_of(a, where))


@adjoint(np.prod, "initial")
def _(g, out, a, axis=None, dtype=None, buffer=None, keepdims=False, initial=1, where=True):
    return unbroadcast(g * np.prod(a, axis=axis, keepdims=keepdims, where=where), initial)
