"""Derivatives of medians, quantiles and percentiles: weighted sums of one or two of the sorted elements.

At a tie the cotangent goes to one of the tied elements (the one that sorting puts there).
"""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.linear import as_axes, count, refuse
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1, 0.4])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
HOLES = np.array([[0.5, np.nan, 2.0], [1.7, 0.3, np.nan]])


def flat_last(a, axis):
    """`a` with the reduced axes flattened into the last one, and the axes in that order."""
    shape = np.shape(a)
    axes = as_axes(axis, len(shape))
    order = tuple(i for i in range(len(shape)) if i not in axes) + axes
    kept = tuple(shape[i] for i in range(len(shape)) if i not in axes)
    return np.reshape(np.transpose(a, order), kept + (count(shape, axis),)), order


def spread(g, a, axis, positions):
    """The cotangent of `a` for elements at the fractional `positions` of the sorted order.

    `positions` has a first axis of quantiles, and possibly further axes for the rows.
    """
    shape = np.shape(a)
    flat, order = flat_last(a, axis)
    ranks = np.argsort(np.argsort(flat, axis=-1), axis=-1)
    rows = np.reshape(g, (len(positions),) + np.shape(flat)[:-1])
    places = np.reshape(positions, np.shape(positions) + (1,) * (np.ndim(rows) - np.ndim(positions)))
    total = 0.0
    for row, place in zip(rows, places, strict=True):
        hat = np.maximum(0.0, 1.0 - np.absolute(np.arange(np.shape(flat)[-1]) - np.expand_dims(place, -1)))
        total = total + np.expand_dims(row, -1) * hat
    unsorted = np.take_along_axis(np.broadcast_to(total, np.shape(flat)), ranks, -1)
    moved = np.reshape(unsorted, tuple(shape[i] for i in order))
    return np.transpose(moved, [order.index(i) for i in range(len(shape))])


def sorted_positions(a, axis, q, method):
    """Where in the sorted order the quantiles lie: the quantiles of 0, 1, 2, ..."""
    return np.quantile(np.arange(float(count(np.shape(a), axis))), np.ravel(q), method=method)


def positions_past_nan(a, axis, q, method, name):
    """The same for each row's numbers, which sort before its NaN."""
    if method != "linear":
        refuse(name, f"method={method!r}", "use method='linear'")
    flat, _ = flat_last(a, axis)
    last = np.maximum(np.sum(~np.isnan(flat), axis=-1) - 1, 0)
    return np.stack([each * last for each in np.ravel(q)])


def slope_in_q(g, a, axis, q, method, weights, name):
    """The cotangent of `q`: the gap between neighbours in the sorted order (at an element, to the right)."""
    plain(name, weights)
    if method != "linear":
        refuse(name, f"the position with method={method!r}", "use method='linear'")
    flat, _ = flat_last(a, axis)
    ordered = np.sort(flat, axis=-1)
    last = np.shape(flat)[-1] - 1
    rows = np.reshape(g, (np.size(q),) + np.shape(flat)[:-1])
    low = np.clip(np.floor(np.ravel(q) * last).astype(int), 0, max(last - 1, 0))
    gaps = np.moveaxis(ordered[..., np.minimum(low + 1, last)] - ordered[..., low], -1, 0)
    return np.reshape(np.sum(rows * gaps * last, axis=tuple(range(1, np.ndim(rows)))), np.shape(q))


def plain(name, weights):
    """Refuse weights."""
    if weights is not None:
        refuse(name, "weights", "sort the data and interpolate the running sum of the weights")


MEDIANS = [(V,), (M,), (M, 0), (M, 1), (T, (0, 2)), (M, None), (2.5,)]


@adjoint(np.median, "a", at=MEDIANS, keywords=[{}] * 5 + [{"keepdims": True}])
def _(g, out, a, axis=None, buffer=None, overwrite_input=False, keepdims=False):
    return spread(g, a, axis, [(count(np.shape(a), axis) - 1) / 2])


@adjoint(np.nanmedian, "a", at=[*MEDIANS[:-1], (HOLES,), (HOLES, 0)],
         keywords=[{}] * 5 + [{"keepdims": True}])
def _(g, out, a, axis=None, buffer=None, overwrite_input=False, keepdims=False):
    return spread(g, a, axis, positions_past_nan(a, axis, 0.5, "linear", "np.nanmedian"))


QS = np.array([0.23, 0.9])
QUANTILES = [(V, 0.3), (M, 0.7, 0), (M, QS, 1), (T, QS, (0, 2)), (M, QS), (M, 0.1), (M, QS)]
QUANTILE_KEYWORDS = [{}] * 4 + [{"keepdims": True}]


def in_percent(points):
    """The points of the quantile functions for the percentile functions."""
    return [(a, 100.0 * q, *rest) for a, q, *rest in points]


@adjoint(np.quantile, "a", at=[*QUANTILES, (M, np.array([[0.23, 0.9, 0.7]]), 1)], keywords=QUANTILE_KEYWORDS)
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    plain("np.quantile", weights)
    return spread(g, a, axis, sorted_positions(a, axis, q, method))


@adjoint(np.percentile, "a", at=in_percent(QUANTILES), keywords=QUANTILE_KEYWORDS)
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    plain("np.percentile", weights)
    return spread(g, a, axis, sorted_positions(a, axis, np.true_divide(q, 100.0), method))


@adjoint(np.quantile, "q")
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    return slope_in_q(g, a, axis, q, method, weights, "np.quantile")


@adjoint(np.percentile, "q")
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    return slope_in_q(g, a, axis, np.true_divide(q, 100.0), method, weights, "np.percentile") / 100.0


@adjoint(np.nanquantile, "a", at=[*QUANTILES, (HOLES, 0.4, 1), (HOLES, QS, 0)], keywords=QUANTILE_KEYWORDS)
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    plain("np.nanquantile", weights)
    return spread(g, a, axis, positions_past_nan(a, axis, q, method, "np.nanquantile"))


@adjoint(np.nanpercentile, "a", at=in_percent([*QUANTILES, (HOLES, 0.4, 1), (HOLES, QS, 0)]),
         keywords=QUANTILE_KEYWORDS)
def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *,
      weights=None):
    plain("np.nanpercentile", weights)
    fraction = np.true_divide(q, 100.0)
    return spread(g, a, axis, positions_past_nan(a, axis, fraction, method, "np.nanpercentile"))
