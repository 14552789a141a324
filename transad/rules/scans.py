"""Derivatives of running sums and products, differences, np.gradient and the trapezoid rule."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import mask_of, slice_axis
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1, 0.4])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
HOLES = np.array([[0.5, np.nan, 2.0], [1.7, 0.3, np.nan]])
ZEROS = np.array([[2.0, 0.0, 3.0, 4.0], [0.0, 0.0, 5.0, 1.0]])


# Running sums

def from_the_right(g, axis):
    """The sums over each position and all behind it."""
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def cumsum_of(g, a, axis):
    """The cotangent of a running sum; without an axis it runs over the flattened array."""
    return np.reshape(from_the_right(g, 0), np.shape(a)) if axis is None else from_the_right(g, axis)


@adjoint(np.cumsum, "a", at=[(V,), (M,), (M, 0), (T, -2), (M + 1j, 1), (np.zeros((2, 0)), 1)])
def _(g, out, a, axis=None, dtype=None, buffer=None):
    return cumsum_of(g, a, axis)


@adjoint(np.nancumsum, "a", at=[(V,), (HOLES,), (HOLES, 0)])
def _(g, out, a, axis=None, dtype=None, buffer=None):
    return np.where(mask_of(a, True), cumsum_of(g, a, axis), 0.0)


# Running products: the cotangent of factor j is (product of those before j) times s_j, where
# s_j = g_j + a_{j+1} s_{j+1} runs from the right. No division, so zeros are harmless, to any order.

def cumprod_along(g, a, axis):
    """The cotangent of a running product along `axis`."""
    factors, seeds = np.moveaxis(a, axis, 0), np.moveaxis(g, axis, 0)
    if len(factors) == 0:
        return g
    running = seeds[-1]
    sums = [running]
    for j in range(len(factors) - 2, -1, -1):
        running = seeds[j] + factors[j + 1] * running
        sums.append(running)
    sums.reverse()
    before = np.concatenate([np.ones_like(factors[:1]), np.cumprod(factors[:-1], axis=0)])
    return np.moveaxis(before * np.stack(sums), 0, axis)


def cumprod_of(g, a, axis):
    """The cotangent of a running product; without an axis it runs over the flattened array."""
    if axis is None:
        return np.reshape(cumprod_along(g, np.ravel(a), 0), np.shape(a))
    return cumprod_along(g, a, axis)


@adjoint(np.cumprod, "a", at=[(V,), (M,), (M, 0), (T, -2), (M + 1j, 1), (ZEROS, 1), (ZEROS,),
                              (np.zeros((2, 0)), 1)])
def _(g, out, a, axis=None, dtype=None, buffer=None):
    return cumprod_of(g, a, axis)


@adjoint(np.nancumprod, "a", at=[(V,), (HOLES,), (HOLES, 0)])
def _(g, out, a, axis=None, dtype=None, buffer=None):
    numbers = mask_of(a, True)
    return np.where(numbers, cumprod_of(g, np.where(numbers, a, 1.0), axis), 0.0)


CUMULATIVE = [(V,), (T,), (M,)]
CUMULATIVE_KEYWORDS = [{}, {"axis": -2}, {"axis": 1, "include_initial": True}]


@adjoint(np.cumulative_sum, "x", at=CUMULATIVE, keywords=CUMULATIVE_KEYWORDS)
def _(g, out, x, *, axis=None, dtype=None, include_initial=False):
    along = 0 if axis is None else axis
    return from_the_right(slice_axis(g, along, 1, None) if include_initial else g, along)


@adjoint(np.cumulative_prod, "x", at=CUMULATIVE, keywords=CUMULATIVE_KEYWORDS)
def _(g, out, x, *, axis=None, dtype=None, include_initial=False):
    along = 0 if axis is None else axis
    return cumprod_along(slice_axis(g, along, 1, None) if include_initial else g, x, along)


# Differences

def shifted_pair(low, high, axis):
    """The adjoint of x -> (x[:-1], x[1:]) along `axis`."""
    gap = np.zeros_like(np.sum(low, axis, keepdims=True))
    return np.concatenate([low, gap], axis=axis) + np.concatenate([gap, high], axis=axis)


def edge_length(edge, axis):
    """How many entries `prepend` or `append` adds (a scalar adds one)."""
    return 0 if edge is None else 1 if np.ndim(edge) == 0 else np.shape(edge)[axis]


def diff_whole(g, a, n, axis, prepend, append):
    """The cotangent of (prepend, a, append) put together, the length of the first and of the first two."""
    first = edge_length(prepend, axis)
    until = first + np.shape(a)[axis]
    for _ in range(min(n, until + edge_length(append, axis))):
        g = shifted_pair(-g, g, axis)
    return g, first, until


DIFFS = [(V,), (V, 3), (M, 1, 0), (T, 2, 1), (V, 0), (M,), (M, 1, 1, 0.5, 2.0)]
DIFF_KEYWORDS = [{}, {}, {}, {}, {}, {"prepend": M[:, :2] * 0.5, "append": 0.3}]


@adjoint(np.diff, "a", at=DIFFS, keywords=DIFF_KEYWORDS)
def _(g, out, a, n=1, axis=-1, prepend=None, append=None):
    if n == 0:
        return g
    whole, first, until = diff_whole(g, a, n, axis, prepend, append)
    return slice_axis(whole, axis, first, until)


@adjoint(np.diff, "prepend")
def _(g, out, a, n=1, axis=-1, prepend=None, append=None):
    whole, first, _ = diff_whole(g, a, n, axis, prepend, append)
    return unbroadcast(slice_axis(whole, axis, 0, first), prepend)


@adjoint(np.diff, "append")
def _(g, out, a, n=1, axis=-1, prepend=None, append=None):
    whole, _, until = diff_whole(g, a, n, axis, prepend, append)
    return unbroadcast(slice_axis(whole, axis, until, None), append)


@adjoint(np.ediff1d, "ary", "to_end", "to_begin", at=[(V,), (M,), (V, 0.5, V[:2])])
def _(g, out, ary, to_end=None, to_begin=None):
    first, size = (0 if to_begin is None else np.size(to_begin)), np.size(ary)
    until = first + max(size - 1, 0)
    core = g[first:until]
    whole = shifted_pair(-core, core, 0) if size else core
    return (np.reshape(whole, np.shape(ary)),
            None if to_end is None else np.reshape(g[until:], np.shape(to_end)),
            None if to_begin is None else np.reshape(g[:first], np.shape(to_begin)))


# The trapezoid rule

def steps_of(y, x, dx, axis):
    """The step widths, in a shape that broadcasts against the panels of `y` along `axis`."""
    if x is None:
        return dx
    if np.ndim(x) == 1:
        return np.reshape(np.diff(x), (-1,) + (1,) * (np.ndim(y) - axis % np.ndim(y) - 1))
    return np.diff(x, axis=axis)


def panels_of(g, y, axis):
    """`g` repeated for each panel, and the heights of the panels."""
    heights = slice_axis(y, axis, 1, None) + slice_axis(y, axis, None, -1)
    return np.broadcast_to(np.expand_dims(g, axis), np.shape(heights)), heights


UNEVEN = np.array([0.0, 0.5, 1.7, 2.0])
TRAPEZOIDS = [(V,), (V, UNEVEN), (V, None, 0.5), (M, V[:3]), (M, None, 2.0, 0), (M, np.cumsum(M, axis=1))]


@adjoint(np.trapezoid, "y", at=TRAPEZOIDS)
def _(g, out, y, x=None, dx=1.0, axis=-1):
    repeated, _ = panels_of(g, y, axis)
    half = 0.5 * repeated * steps_of(y, x, dx, axis)
    return shifted_pair(half, half, axis)


@adjoint(np.trapezoid, "x")
def _(g, out, y, x=None, dx=1.0, axis=-1):
    repeated, heights = panels_of(g, y, axis)
    half = 0.5 * repeated * heights
    whole = shifted_pair(-half, half, axis)
    if np.ndim(x) == np.ndim(y) or np.ndim(x) != 1:
        return unbroadcast(whole, x)
    return np.sum(whole, axis=tuple(i for i in range(np.ndim(y)) if i != axis % np.ndim(y)))


@adjoint(np.trapezoid, "dx")
def _(g, out, y, x=None, dx=1.0, axis=-1):
    if x is not None:
        return 0.0
    repeated, heights = panels_of(g, y, axis)
    return unbroadcast(0.5 * repeated * heights, dx)
