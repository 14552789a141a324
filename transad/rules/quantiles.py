"""Derivatives of medians, quantiles and percentiles: weighted sums of one or two of the sorted elements.

At a tie the cotangent goes to one of the tied elements (the one that sorting puts there).
"""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.linear import as_axes, count
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


def positions_past_nan(a, axis, q, method):
    """The same for each row's numbers, which sort before its NaN."""
    flat, _ = flat_last(a, axis)
    numbers = np.maximum(np.sum(~np.isnan(flat), axis=-1), 1)
    places = np.zeros((np.size(q),) + np.shape(numbers))
    for n in np.unique(numbers):
        row = np.reshape(np.quantile(np.arange(float(n)), np.ravel(q), method=method), (-1,) + (1,) * np.ndim(numbers))
        places = np.where(numbers == n, row, places)
    return places


# How far the position in the sorted order of n elements moves with q: by n plus this, where it is not at an end.
MOVES = {"linear": -1.0, "interpolated_inverted_cdf": 0.0, "hazen": 0.0, "weibull": 1.0, "median_unbiased": 1.0 / 3.0,
         "normal_unbiased": 0.25}


def slope_in_q(g, a, axis, q, method, places):
    """The cotangent of `q`: the gap between neighbours in the sorted order (at an element, to the right)."""
    if method not in MOVES:
        return np.zeros(np.shape(q))                # steps
    flat, _ = flat_last(a, axis)
    ordered = np.sort(flat, axis=-1)
    numbers = np.sum(~np.isnan(flat), axis=-1)
    rows = np.reshape(g, (np.size(q),) + np.shape(flat)[:-1])
    places = np.broadcast_to(np.reshape(places, np.shape(places) + (1,) * (np.ndim(rows) - np.ndim(places))), np.shape(rows))
    total = []
    for row, place in zip(rows, places, strict=True):
        low = np.minimum(np.floor(place).astype(int), np.maximum(numbers - 2, 0))
        high = np.minimum(low + 1, np.maximum(numbers - 1, 0))
        gap = (np.take_along_axis(ordered, np.expand_dims(high, -1), -1)
               - np.take_along_axis(ordered, np.expand_dims(low, -1), -1))[..., 0]
        moves = np.where((place > 0) & (place < numbers - 1) | (method == "linear"), numbers + MOVES[method], 0.0)
        total.append(np.sum(row * gap * moves))
    return np.reshape(np.stack(total), np.shape(q))


def weighted(g, out, a, axis, q):
    """With weights a quantile is one of the elements: it (or the equal ones among them) gets the cotangent."""
    flat, order = flat_last(a, axis)
    rows = np.reshape(g, (np.size(q),) + np.shape(flat)[:-1])
    values = np.reshape(out, np.shape(rows))
    total = 0.0
    for row, value in zip(rows, values, strict=True):
        chosen = flat == np.expand_dims(value, -1)
        total = total + np.where(chosen, np.expand_dims(row, -1) / np.maximum(np.sum(chosen, axis=-1, keepdims=True), 1), 0.0)
    moved = np.reshape(total, tuple(np.shape(a)[i] for i in order))
    return np.transpose(moved, [order.index(i) for i in range(np.ndim(a))])


MEDIANS = [(V,), (M,), (M, 0), (M, 1), (T, (0, 2)), (M, None), (2.5,)]


@adjoint(np.median, "a", at=MEDIANS, keywords=[{}] * 5 + [{"keepdims": True}])
def _(g, out, a, axis=None, buffer=None, overwrite_input=False, keepdims=False):
    return spread(g, a, axis, [(count(np.shape(a), axis) - 1) / 2])


@adjoint(np.nanmedian, "a", at=[*MEDIANS[:-1], (HOLES,), (HOLES, 0)],
         keywords=[{}] * 5 + [{"keepdims": True}])
def _(g, out, a, axis=None, buffer=None, overwrite_input=False, keepdims=False):
    return spread(g, a, axis, positions_past_nan(a, axis, 0.5, "linear"))


QS = np.array([0.23, 0.9])
QUANTILES = [(V, 0.3), (M, 0.7, 0), (M, QS, 1), (T, QS, (0, 2)), (M, QS), (M, 0.1), (M, QS)]
QUANTILE_KEYWORDS = [{}] * 4 + [{"keepdims": True}]


def in_percent(points):
    """The points of the quantile functions for the percentile functions."""
    return [(a, 100.0 * q, *rest) for a, q, *rest in points]


METHODS = [*QUANTILES, (M, np.array([[0.23, 0.9, 0.7]]), 1), (V, 0.3), (V, 0.6), (M, QS, 1), (V, 0.3), (M, QS, 1)]
METHOD_KEYWORDS = [*QUANTILE_KEYWORDS, {}, {}, {}, {"method": "hazen"}, {"method": "interpolated_inverted_cdf"},
                   {"method": "weibull"}, {"method": "inverted_cdf", "weights": np.array([1.0, 2.0, 0.5, 1.0])},
                   {"method": "inverted_cdf", "weights": np.array([1.0, 2.0, 0.7])}]
PAST_NAN = [*QUANTILES, (HOLES, 0.4, 1), (HOLES, QS, 0), (HOLES, 0.4, 1)]
PAST_NAN_KEYWORDS = [*QUANTILE_KEYWORDS, {}, {}, {}, {}, {"method": "hazen"}]


def _declare(function, scale, past_nan, points, keywords):
    """The rules of one function: of its elements, of `q` (in units of `scale`), and of weights, on which steps depend."""
    def positions(a, axis, q, method):
        fraction = np.true_divide(q, scale)
        return positions_past_nan(a, axis, fraction, method) if past_nan else sorted_positions(a, axis, fraction, method)

    @adjoint(function, "a", at=points, keywords=keywords)
    def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        return spread(g, a, axis, positions(a, axis, q, method)) if weights is None else weighted(g, out, a, axis, q)

    @adjoint(function, "q")
    def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        if weights is not None:
            return np.zeros(np.shape(q))
        return slope_in_q(g, a, axis, q, method, positions(a, axis, q, method)) / scale

    @adjoint(function, "weights")
    def _(g, out, a, q, axis=None, buffer=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        return np.zeros(np.shape(weights))


_declare(np.quantile, 1.0, False, METHODS, METHOD_KEYWORDS)
_declare(np.percentile, 100.0, False, in_percent(METHODS), METHOD_KEYWORDS)
_declare(np.nanquantile, 1.0, True, PAST_NAN, PAST_NAN_KEYWORDS)
_declare(np.nanpercentile, 100.0, True, in_percent(PAST_NAN), PAST_NAN_KEYWORDS)
