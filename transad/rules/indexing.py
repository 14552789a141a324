"""Derivatives of functions that pick, order or choose elements, and of interpolation in a table."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import refuse, scatter_along, scatter_axis
from transad.rules.registry import adjoint
from transad.rules.through import through

V = np.array([0.7, -1.3, 2.1, 0.4])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
YES = np.array([[True, False, True], [False, False, True]])


# By position

@adjoint(np.take, "a", at=[
    (V, [1, 3, 1]), (M, 4), (M, [[0, 2], [2, -1]], 1), (T, 1, 1), (V, [5, -6], None, None, "wrap"),
    (V, [5, -6], 0, None, "clip"), (M, [], 0)])
def _(g, out, a, indices, axis=None, buffer=None, mode="raise"):
    size = np.size(a) if axis is None else np.shape(a)[axis]
    indices = np.asarray(indices, dtype=np.intp)
    if mode != "raise":
        indices = indices % size if mode == "wrap" else np.clip(indices, 0, size - 1)
    if axis is None:
        return np.reshape(scatter_axis(g, indices, size, 0), np.shape(a))
    return scatter_axis(g, indices, size, axis % np.ndim(a))


@adjoint(np.take_along_axis, "arr", at=[
    (M, np.array([[2, 0, 0], [1, 1, -1]]), 1), (M, np.array([[1, 0, 1]]), 0),
    (M, np.array([4, 4, 0]), None), (T, np.argsort(T, 1), 1)])
def _(g, out, arr, indices, axis=-1):
    if axis is None:
        return np.reshape(scatter_axis(g, indices, np.size(arr), 0), np.shape(arr))
    return scatter_along(g, indices, np.shape(arr), axis % np.ndim(arr))


@adjoint(np.compress, "a", masks=True, at=[([True, False, True], V), ([False, True], M, 0), ([0, 1, 1], M, 1)])
def _(g, out, condition, a, axis=None, buffer=None):
    size = np.size(a) if axis is None else np.shape(a)[axis]
    along = 0 if axis is None else axis % np.ndim(a)
    return np.reshape(scatter_axis(g, np.flatnonzero(condition), size, along), np.shape(a))


@adjoint(np.extract, "arr", masks=True, at=[(YES, M), (V > 0.5, V)])
def _(g, out, condition, arr):
    return np.reshape(scatter_axis(g, np.flatnonzero(condition), np.size(arr), 0), np.shape(arr))


# By condition

@adjoint(np.where, "x", masks=True, at=[(YES, M, V[:3]), (YES, 1.5, M), (True, 2.0, V), (YES, M + 1j, 2.0)])
def _(g, out, condition, x, y):
    return unbroadcast(np.where(condition, g, 0.0), x)


@adjoint(np.where, "y", masks=True)
def _(g, out, condition, x, y):
    return unbroadcast(np.where(condition, 0.0, g), y)


def first_true(condlist):
    """For each condition, where it is the first to hold; and where none holds."""
    taken, free = [], True
    for condition in condlist:
        taken.append(condition & free)
        free = free & ~np.asarray(condition)
    return taken, free


@adjoint(np.select, "choicelist", masks=True, at=[([YES, M > 0.4], [M, 2.0 * M]), ([YES, M > 0.4], [V[:3], 1.5], 0.3),
                                      ([V > 1, V > 0], [V, 3.0], V * V)])
def _(g, out, condlist, choicelist, default=0):
    taken, _ = first_true(condlist)
    return [unbroadcast(np.where(here, g, 0.0), choice)
            for here, choice in zip(taken, choicelist, strict=True)]


@adjoint(np.select, "default", masks=True)
def _(g, out, condlist, choicelist, default=0):
    _, free = first_true(condlist)
    return unbroadcast(np.where(free, g, 0.0), default)


@adjoint(np.choose, "choices", masks=True, at=[
    ([1, 0, 1, 0], [V, 2.0]), ([[0, 1, 1], [1, 0, 0]], (M, V[:3])),
    ([3, -1, 1, 0], [V, V * 2], None, "wrap"), ([3, -1, 1, 0], [V, V * 2], None, "clip")])
def _(g, out, a, choices, buffer=None, mode="raise"):
    number = np.asarray(a)
    if mode != "raise":
        number = number % len(choices) if mode == "wrap" else np.clip(number, 0, len(choices) - 1)
    parts = [unbroadcast(np.where(number == k, g, 0.0), choices[k]) for k in range(len(choices))]
    return parts if isinstance(choices, (list, tuple)) else np.stack(parts)


# min(max(a, low), high), with the even shares of each

def clip_bounds(a_min, a_max, low, high):
    """Both spellings of the bounds; None is no bound."""
    return (a_min if low is None else low), (a_max if high is None else high)


def share_above(x, y):
    """The share of x in max(x, y); with negated arguments, in min(x, y)."""
    return np.where(x > y, 1.0, np.where(x < y, 0.0, 0.5))


def clip_shares(a, low, high):
    """The shares of a, of the lower and of the upper bound in the clipped value."""
    raised = a if low is None else np.maximum(a, low)
    from_a = 1.0 if low is None else share_above(a, low)
    inside = 1.0 if high is None else 1.0 - share_above(raised, high)
    return from_a * inside, (1.0 - from_a) * inside, 1.0 - inside


CLIPS = [(V, 0.0, 1.0), (M, V[:3] - 1, 1.2), (V, None, 0.5), (V, 0.5), (V,), (0.3, -1.0, 2.0), (V,)]
CLIP_KEYWORDS = [{}, {}, {}, {"a_max": None}, {"min": 0.0, "max": 0.5}, {}, {"min": 0.5}]


@adjoint(np.clip, "a", at=CLIPS, keywords=CLIP_KEYWORDS)
def _(g, out, a, a_min=None, a_max=None, buffer=None, *, min=None, max=None):
    low, high = clip_bounds(a_min, a_max, min, max)
    return unbroadcast(g * clip_shares(a, low, high)[0], a)


@adjoint(np.clip, "a_min", "min")
def _(g, out, a, a_min=None, a_max=None, buffer=None, *, min=None, max=None):
    low, high = clip_bounds(a_min, a_max, min, max)
    cotangent = unbroadcast(g * clip_shares(a, low, high)[1], 0.0 if low is None else low)
    return cotangent, cotangent


@adjoint(np.clip, "a_max", "max")
def _(g, out, a, a_min=None, a_max=None, buffer=None, *, min=None, max=None):
    low, high = clip_bounds(a_min, a_max, min, max)
    cotangent = unbroadcast(g * clip_shares(a, low, high)[2], 0.0 if high is None else high)
    return cotangent, cotangent


@adjoint(np.nan_to_num, "x", at=[(V,), (np.array([0.5, np.nan, np.inf, -2.0]), True, 0.0, 3.0),
                                 (M + 1j,), (2.5,)])
def _(g, out, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        refuse("np.nan_to_num", "copy=False", "assign its result")
    if not np.iscomplexobj(x):
        return np.where(np.isfinite(x), g, 0.0)
    return (np.where(np.isfinite(np.real(x)), np.real(g), 0.0)
            + 1j * np.where(np.isfinite(np.imag(x)), np.imag(g), 0.0))


# By order

def unsorted(g, order, axis):
    """`g` carried back through the permutation `order` along `axis` (None: of the flattened array)."""
    return np.take_along_axis(g, np.argsort(order, axis=axis), axis)


def sorted_back(g, a, order, axis):
    """The cotangent of `a` where the result is `a` in the given `order`."""
    return np.reshape(unsorted(g, order, 0), np.shape(a)) if axis is None else unsorted(g, order, axis)


@adjoint(np.sort, "a", at=[(V,), (M,), (M, 0), (T, 1, "stable"), (M, None)])
def _(g, out, a, axis=-1, kind=None, order=None, *, stable=None):
    return sorted_back(g, a, np.argsort(a, axis=axis, kind=kind, stable=stable), axis)


@adjoint(np.partition, "a", at=[(V, 1), (M, 1, 0), (T, [0, 1], 1), (M, 3, None)])
def _(g, out, a, kth, axis=-1, kind="introselect", order=None):
    return sorted_back(g, a, np.argpartition(a, kth, axis=axis, kind=kind), axis)


@adjoint(np.unique, "ar", at=[(V,), (M,), (np.array([0.5, 2.0, -0.5]), True), (V,)],
         keywords=[{}, {}, {}, {"return_counts": True}])
def _(g, out, ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True,
      sorted=True):
    if axis is not None or not sorted:
        refuse("np.unique", "axis or sorted=False", "index with the return_index of np.unique")
    values = g[0] if return_index or return_inverse or return_counts else g
    first = np.unique(ar, return_index=True, equal_nan=equal_nan)[1]
    return np.reshape(scatter_axis(values, first, np.size(ar), 0), np.shape(ar))


@adjoint(np.bincount, "weights", at=[(np.array([0, 2, 2, 1]), V), (np.array([0, 3, 3, 0]), V, 6)])
def _(g, out, x, weights=None, minlength=0):
    return np.take(g, x)


@adjoint(np.unwrap, "p", "period", at=[(np.array([0.1, 3.0, 6.5, 1.0]),), (T * 9.0, None, 1), (V * 3.0,)],
         keywords=[{}, {}, {"period": 1.7}])
def _(g, out, p, discont=None, axis=-1, *, period=6.283185307179586):
    return g, np.sum(g * np.round((out - p) / period))          # whole periods were added


# Interpolation: out = fp[i] + t (fp[i+1] - fp[i]) with t = (x - xp[i]) / (xp[i+1] - xp[i]); at a knot, t = 0.

def located(x, xp):
    """For each x: the knots on both sides, their distance, the fraction t, whether x is in the table."""
    last = len(xp) - 1
    knot = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(last - 1, 0))
    after = np.minimum(knot + 1, last)
    low, wide = np.take(xp, knot), np.take(xp, after) - np.take(xp, knot)
    inside = (x >= xp[0]) & (x <= xp[-1])
    t = np.where(inside & (wide > 0), (x - low) / np.where(wide > 0, wide, 1.0), 0.0)
    return knot, after, np.where(wide > 0, wide, 1.0), t, inside


def periodic(x, xp, fp, period):
    """`np.interp(x, xp, fp, period=period)`, by a table that reaches beyond one period at both ends."""
    size = np.abs(period)
    places = np.mod(xp, size)
    order = np.argsort(places)
    places, values = np.take(places, order), np.take(fp, order)
    return np.interp(np.mod(x, size), np.concatenate([places[-1:] - size, places, places[:1] + size]),
                     np.concatenate([values[-1:], values, values[:1]]))


KNOTS, TABLE = np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, -1.0, 2.0, 0.5])
INTERPOLATIONS = [(0.4, KNOTS, TABLE), (np.array([[0.4, 2.7], [-1.0, 5.0]]), KNOTS, TABLE),
                  (np.array([0.4, -1.0, 5.0]), KNOTS, TABLE, -3.0, 4.0),
                  (np.array([0.4, -1.0, 5.0]), KNOTS, TABLE + 1j), (np.array([0.4, -1.3, 5.2]), KNOTS, TABLE),
                  (0.4, np.array([2.5, 5.1, 0.2, 7.7]), TABLE)]
INTERPOLATION_KEYWORDS = [{}, {}, {}, {}, {"period": 3.5}, {"period": 3.1}]


@adjoint(np.interp, "x", "xp", at=INTERPOLATIONS, keywords=INTERPOLATION_KEYWORDS)
def _(g, out, x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        return through(periodic, g, x, xp, fp, period)[:2]
    knot, after, wide, t, inside = located(x, xp)
    pull = np.where(inside, g * ((np.take(fp, after) - np.take(fp, knot)) / wide), 0.0)
    xp_pull = (scatter_axis(-np.ravel(pull * (1.0 - t)), np.ravel(knot), len(xp), 0)
               + scatter_axis(-np.ravel(pull * t), np.ravel(after), len(xp), 0))
    return pull, xp_pull


@adjoint(np.interp, "fp")
def _(g, out, x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        return through(periodic, g, x, xp, fp, period)[2]
    knot, after, _, t, inside = located(x, xp)
    total = (scatter_axis(np.ravel(np.where(inside, g * (1.0 - t), 0.0)), np.ravel(knot), len(fp), 0)
             + scatter_axis(np.ravel(np.where(inside, g * t, 0.0)), np.ravel(after), len(fp), 0))
    low = np.sum(np.where(x < xp[0], g, 0.0)) if left is None else 0.0
    high = np.sum(np.where(x > xp[-1], g, 0.0)) if right is None else 0.0
    first, last = np.arange(len(fp)) == 0, np.arange(len(fp)) == len(fp) - 1
    return total + np.where(first, low, 0.0) + np.where(last, high, 0.0)


@adjoint(np.interp, "period")
def _(g, out, x, xp, fp, left=None, right=None, period=None):
    return through(periodic, g, x, xp, fp, period)[3]


@adjoint(np.interp, "left", "right")
def _(g, out, x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        return 0.0, 0.0
    return np.sum(np.where(x < xp[0], g, 0.0)), np.sum(np.where(x > xp[-1], g, 0.0))
