"""Linear maps that the rules are built from, with their own rules, so that rules can be differentiated again.

All take and return whole arrays and write into nothing that they were given.
"""
from __future__ import annotations

import math

import numpy as np

from transad.errors import Unsupported
from transad.rules.registry import adjoint

__all__ = ["along", "as_axes", "count", "expand", "mask_of", "place_diagonal", "refuse", "scatter_along",
           "scatter_axis", "slice_axis", "stretched", "summed"]


def refuse(function, what, instead):
    """Raise the error for an option of `function` that has no rule."""
    raise Unsupported(f"{function} has no derivative rule for {what}", instead=instead)


def as_axes(axis, ndim):
    """The reduced axes as a sorted tuple of non-negative integers.

    >>> as_axes(None, 2), as_axes(-1, 3), as_axes((2, 0), 3)
    ((0, 1), (2,), (0, 2))
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(int(each) % ndim if ndim else 0 for each in axes))


def expand(g, shape, axis, keepdims):
    """The adjoint of a sum over `axis` of an array of `shape`: `g` repeated (a read-only view).

    >>> expand(np.array([1.0, 2.0]), (2, 3), -1, False)
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    if axis is not None and not keepdims and len(shape) > 0:
        g = np.expand_dims(g, as_axes(axis, len(shape)))
    return stretched(g, shape)


def stretched(array, shape):
    """`np.broadcast_to(array, shape)` in a fifth of its time for arrays in C order.

    >>> stretched(np.array([[1.0], [2.0]]), (2, 2))
    array([[1., 1.],
           [2., 2.]])
    """
    a = np.asarray(array)
    lead = len(shape) - a.ndim
    if type(a) is not np.ndarray or not a.flags.c_contiguous or lead < 0 or a.dtype.hasobject or a.size == 0:
        return np.broadcast_to(array, shape)
    strides = [0] * lead
    for have, want, stride in zip(a.shape, shape[lead:], a.strides, strict=True):
        if have != want and have != 1:
            return np.broadcast_to(array, shape)                # raises
        strides.append(0 if have == 1 else stride)
    view = np.ndarray(shape, a.dtype, a, 0, strides)
    view.flags.writeable = False
    return view


@adjoint(stretched, "array", at=[(np.ones(3), (2, 3)), (2.5, (2,)), (np.ones((2, 1)), (2, 4)), (np.ones((3, 1, 2)), (3, 2, 2))])
def _(g, out, array, shape):
    lead = np.ndim(g) - np.ndim(array)
    g = np.sum(g, axis=tuple(range(lead)))
    return np.sum(g, axis=tuple(k for k in range(np.ndim(g)) if np.shape(array)[k] == 1), keepdims=True)


def summed(a, axes):
    """`a` summed over axes (non-negative, in order), which stay with length 1.

    >>> summed(np.ones((2, 3)), (0,))
    array([[2., 2., 2.]])
    """
    if a.nbytes > 1 << 15 and a.dtype.kind == "f":
        inner, last, turn = 1, a.ndim - 1 in axes, False
        for axis in range(a.ndim - 1, -1, -1):
            turn = turn or (axis in axes) != last
            inner *= 1 if turn else a.shape[axis]
        if inner < 64:              # `reduce` pays for each start of its innermost loop
            kept = [axis for axis in range(a.ndim) if axis not in axes]
            return np.expand_dims(np.einsum(a, list(range(a.ndim)), kept), axes)
    return np.add.reduce(a, axis=axes, keepdims=True)


@adjoint(summed, "a", at=[(np.ones((2, 3)), (0,)), (np.ones((2, 3, 2)), (0, 2)), (np.ones((300, 3, 8)), (1,))])
def _(g, out, a, axes):
    return np.broadcast_to(g, np.shape(a))


def count(shape, axis):
    """How many elements a reduction takes in, as a Python number (which keeps the dtype of arrays)."""
    return math.prod(shape[each] for each in as_axes(axis, len(shape))) if shape else 1


def mask_of(x, where):
    """True where `x` is a number that the reduction takes in (not NaN, and selected)."""
    return ~np.isnan(x) & where


def slice_axis(x, axis, start, stop):
    """`x` from `start` to `stop` along `axis`."""
    return x[(slice(None),) * (axis % np.ndim(x)) + (slice(start, stop),)]


def scatter_axis(values, indices, size, axis):
    """The adjoint of `np.take(x, indices, axis)` for x of length `size`: what fell on one index is added up.

    >>> scatter_axis(np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), 3, 0)
    array([2., 0., 5.])
    """
    lead = np.shape(values)[:axis]
    total = np.zeros(lead + (size,) + np.shape(values)[axis + np.ndim(indices):], np.asarray(values).dtype)
    np.add.at(total, (slice(None),) * axis + (indices,), values)
    return total


@adjoint(scatter_axis, "values", at=[(np.array([1.0, 2.0, 4.0]), np.array([2, 0, -1]), 3, 0),
                                (np.ones((2, 2, 2)), np.array([[1, 1], [0, 1]]), 4, 0),
                                (np.ones((2, 2)), np.array(1), 3, 1)])
def _(g, out, values, indices, size, axis):
    return np.take(g, indices, axis)


def along(indices, shape, axis):
    """The index that `np.take_along_axis` stands for."""
    ndim = len(shape)
    grids = [np.arange(n).reshape((1,) * i + (n,) + (1,) * (ndim - i - 1)) for i, n in enumerate(shape)]
    grids[axis] = indices
    return tuple(grids)


def scatter_along(values, indices, shape, axis):
    """The adjoint of `np.take_along_axis(x, indices, axis)` for x of `shape`."""
    total = np.zeros(shape, np.asarray(values).dtype)
    np.add.at(total, along(indices, shape, axis), values)
    return total


@adjoint(scatter_along, "values", at=[(np.ones((2, 3)), np.array([[0, 1, 1], [3, 0, 3]]), (2, 4), 1),
                                 (np.ones((2, 3)), np.array([[0, 1, 1], [0, 1, 0]]), (2, 3), 0)])
def _(g, out, values, indices, shape, axis):
    return np.take_along_axis(g, indices, axis)


def place_diagonal(g, offset, rows, columns):
    """Matrices that hold the vectors `g` (last axis) on a diagonal and zeros elsewhere.

    >>> place_diagonal(np.array([1.0, 2.0]), 1, 2, 4)
    array([[0., 1., 0., 0.],
           [0., 0., 2., 0.]])
    """
    above = min(max(-offset, 0), rows)
    below = max(rows - above - np.shape(g)[-1], 0)
    lead = np.shape(g)[:-1]
    column = np.concatenate([np.zeros(lead + (above,)), g, np.zeros(lead + (below,))], axis=-1)
    return np.where(np.eye(rows, columns, offset, dtype=bool), np.expand_dims(column, -1), 0.0)
