"""Derivatives of functions that put arrays together or take them apart."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import itertools

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import scatter_axis, slice_axis
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
W = np.cos(V)


def cut(g, arrays, axis, widths):
    """The pieces of `g` along `axis`, in the shapes of `arrays`."""
    ends = list(itertools.accumulate(widths, initial=0))
    return [np.reshape(slice_axis(g, axis, start, stop), np.shape(a))
            for a, start, stop in zip(arrays, ends, ends[1:], strict=False)]


@adjoint(np.concatenate, "arrays", at=[
    ([V, W],), ([M, M * 2], 1), ((V[:1], M, 2.5), None), ([T, T], -1), ([V],)])
def _(g, out, arrays, axis=0, buffer=None, *, dtype=None, casting="same_kind"):
    if axis is None:
        return cut(g, arrays, 0, [np.size(a) for a in arrays])
    return cut(g, arrays, axis, [np.shape(a)[axis] for a in arrays])


@adjoint(np.stack, "arrays", at=[([V, W],), ([M, M * 2], 1), ([M, M], -1), ([2.5, 0.5],)])
def _(g, out, arrays, axis=0, buffer=None, *, dtype=None, casting="same_kind"):
    return cut(g, arrays, axis, [1] * len(arrays))


def length(a, axis, rank):
    """The length along `axis` of `a`, which is one-dimensional at most, in a stack of `rank` dimensions."""
    return np.shape(a)[axis] if np.ndim(a) >= rank else 1


@adjoint(np.vstack, "tup", at=[([V, W],), ([V, M],), ((T, T),), ([2.5, 0.5],)])
def _(g, out, tup, *, dtype=None, casting="same_kind"):
    return cut(g, tup, 0, [length(a, 0, 2) for a in tup])


@adjoint(np.hstack, "tup", at=[([V, W],), ([M, M],), ((T, T),), ([2.5, 0.5],)])
def _(g, out, tup, *, dtype=None, casting="same_kind"):
    along = 0 if np.ndim(out) == 1 else 1
    return cut(g, tup, along, [length(a, along, 1) for a in tup])


@adjoint(np.dstack, "tup", at=[([V, W],), ([M, M],), ((T, T),)])
def _(g, out, tup):
    return cut(g, tup, 2, [length(a, 2, 3) for a in tup])


@adjoint(np.column_stack, "tup", at=[([V, W],), ([M, V[:2]],), ((M, M),)])
def _(g, out, tup):
    return cut(g, tup, 1, [length(a, 1, 2) for a in tup])


@adjoint(np.append, "arr", "values", at=[(V, 4.0), (M, V), (M, M, 0), (M, M[:, :1], 1)])
def _(g, out, arr, values, axis=None):
    if axis is None:
        return tuple(cut(g, [arr, values], 0, [np.size(arr), np.size(values)]))
    return tuple(cut(g, [arr, values], axis, [np.shape(arr)[axis], np.shape(values)[axis]]))


# np.block moves the elements as it moves their numbers.

def leaves(arrays):
    """The arrays in nested lists, in order."""
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for part in arrays for leaf in leaves(part)]


def refill(arrays, values):
    """The nested lists of `arrays` with the next of `values` (an iterator) in each place."""
    if not isinstance(arrays, list):
        return next(values)
    return [refill(part, values) for part in arrays]


@adjoint(np.block, "arrays", at=[([[M, M[:, :1]], [V, 2.5]],), ([V, 2.5],), (M,), ([[T, T], [T, T]],)])
def _(g, out, arrays):
    flat = leaves(arrays)
    ends = list(itertools.accumulate([np.size(a) for a in flat], initial=0))
    numbers = iter([np.reshape(np.arange(start, stop), np.shape(a))
                    for a, start, stop in zip(flat, ends, ends[1:], strict=False)])
    origin = np.argsort(np.ravel(np.block(refill(arrays, numbers))))
    return refill(arrays, iter(cut(np.ravel(g)[origin], flat, 0, [np.size(a) for a in flat])))


# Taking apart: the pieces lie end to end, but for boundaries out of order, whose pieces overlap.

def rejoined(g, ary, sections, axis):
    """The cotangent of the array that was cut into the pieces `g`."""
    size = np.shape(ary)[axis]
    origin = np.concatenate(np.array_split(np.arange(size), sections))
    whole = np.concatenate(g, axis=axis)
    if np.array_equal(origin, np.arange(size)):
        return whole
    return scatter_axis(whole, origin, size, axis % np.ndim(ary))


@adjoint(np.split, "ary", at=[(V, 3), (M, [1], 1), (T, [1, 1, 2], 1), (V, [2, 1])])
@adjoint(np.array_split, "ary", at=[(V, 2), (M, [1], 1), (T, 2, 1), (M, [-1], -1)])
def _(g, out, ary, indices_or_sections, axis=0):
    return rejoined(g, ary, indices_or_sections, axis)


@adjoint(np.vsplit, "ary", at=[(M, 2), (T, [1])])
def _(g, out, ary, indices_or_sections):
    return rejoined(g, ary, indices_or_sections, 0)


@adjoint(np.hsplit, "ary", at=[(M, 3), (V, [1]), (T, [1])])
def _(g, out, ary, indices_or_sections):
    return rejoined(g, ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0)


@adjoint(np.dsplit, "ary", at=[(T, 2), (T, [1])])
def _(g, out, ary, indices_or_sections):
    return rejoined(g, ary, indices_or_sections, 2)


@adjoint(np.unstack, "x", at=[(M,), (T,)], keywords=[{}, {"axis": -1}])
def _(g, out, x, *, axis=0):
    return np.stack(g, axis=axis)


# Removing and inserting: by the positions that the same call leaves or fills.

@adjoint(np.delete, "arr", at=[
    (V, 1), (M, [0, 2], 1), (T, slice(0, 2), 1), (M, 3), (V, np.array([True, False, True]))])
def _(g, out, arr, obj, axis=None):
    size = np.size(arr) if axis is None else np.shape(arr)[axis]
    along = 0 if axis is None else axis % np.ndim(arr)
    return np.reshape(scatter_axis(g, np.delete(np.arange(size), obj), size, along), np.shape(arr))


def inserted(g, arr, obj, axis):
    """Positions of the old entries, of the new ones in the order of the inserted values; and the axis."""
    size = np.size(arr) if axis is None else np.shape(arr)[axis]
    along = 0 if axis is None else axis % np.ndim(arr)
    landing = np.insert(np.full(size, -1), obj, np.arange(np.shape(g)[along] - size))
    new = np.flatnonzero(landing >= 0)
    return np.flatnonzero(landing < 0), new[np.argsort(landing[new])], along


INSERTS = [(V, 1, 4.0), (V, [2, 0], [4.0, 5.0]), (M, 1, V, 0), (M, 1, M.T, 1), (M, [0, 2], M[:, :2], 1),
           (M, 2, 0.5), (V, [1, 1], 4.0), (T, -1, 0.3, 1), (V, slice(0, 2), 1.5), (M, [1], M[:, :1], 1)]


@adjoint(np.insert, "arr", at=INSERTS)
def _(g, out, arr, obj, values, axis=None):
    old, _, along = inserted(g, arr, obj, axis)
    return np.reshape(np.take(g, old, along), np.shape(arr))


@adjoint(np.insert, "values")
def _(g, out, arr, obj, values, axis=None):
    _, new, along = inserted(g, arr, obj, axis)
    block = np.take(g, new, along)
    # A single integer puts the axis of insertion first: values of shape (k, ...) become k entries along it.
    single = np.ndim(obj) == 0 and not isinstance(obj, slice)
    return unbroadcast(np.moveaxis(block, along, 0) if single else block, values)
