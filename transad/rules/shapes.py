"""Derivatives of functions that move the elements of one array: shapes, axes, tiles, padding, diagonals."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import place_diagonal, scatter_axis
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
T = np.sin(np.arange(12.0)).reshape(2, 3, 2)
Z = M + 1j * np.flip(M)


# Same elements in the same order

@adjoint(np.reshape, "a", at=[(M, (3, 2)), (M, -1), (2.5, (1, 1)), (T, (4, 3), "F"), (Z, 6)])
def _(g, out, a, shape, order="C", *, copy=None):
    return reordered(g, a, order)


def reordered(g, a, order):
    """`g` in the shape of `a`, read and written in `order` (A: as `a` lies in memory)."""
    if order == "A":
        order = "F" if np.ndim(a) > 1 and np.isfortran(a) else "C"
    return np.reshape(g, np.shape(a), order=order)


@adjoint(np.ravel, "a", at=[(M,), (T, "F"), (np.asfortranarray(M), "A"), (2.5,), (M, "K"),
                            (np.transpose(T, (1, 0, 2)), "K")])
def _(g, out, a, order="C"):
    if order != "K":
        return reordered(g, a, order)
    axes = sorted(range(np.ndim(a)), key=lambda i: (-abs(np.asarray(a).strides[i]), i))
    moved = np.reshape(g, tuple(np.shape(a)[i] for i in axes))
    return np.transpose(moved, [axes.index(i) for i in range(np.ndim(a))])


@adjoint(np.squeeze, "a", at=[(M[None],), (M[:, None], 1), (T[None, None], (0, 1))])
def _(g, out, a, axis=None):
    return np.reshape(g, np.shape(a))


@adjoint(np.expand_dims, "a", at=[(M, 0), (M, (1, -1)), (2.5, 0)])
def _(g, out, a, axis):
    return np.reshape(g, np.shape(a))


@adjoint(np.atleast_1d, "arys", at=[(2.5,), (V,), (M, 2.5)])
@adjoint(np.atleast_2d, "arys", at=[(2.5,), (V,), (T,), (V, 2.5)])
@adjoint(np.atleast_3d, "arys", at=[(2.5,), (V,), (M,), (M, T)])
def _(g, out, *arys):
    return [np.reshape(part, np.shape(a)) for part, a in zip([g] if len(arys) == 1 else g, arys, strict=True)]


@adjoint(np.broadcast_to, "array", at=[(V, (2, 3)), (2.5, (2,)), (M[:, None], (2, 4, 3)), (2.5, ())])
def _(g, out, array, shape, subok=False):
    return unbroadcast(g, array)


@adjoint(np.broadcast_arrays, "args", at=[(V, M), (2.5, V[:, None], V), (V,)])
def _(g, out, *args, subok=False):
    return [unbroadcast(part, a) for part, a in zip(g, args, strict=True)]


# Axes

@adjoint(np.transpose, "a", at=[(M,), (T, (2, 0, 1)), (T, (-1, 0, 1)), (V,)])
def _(g, out, a, axes=None):
    if axes is None:
        return np.transpose(g)
    forward = [int(each) % np.ndim(a) for each in axes]
    return np.transpose(g, [forward.index(i) for i in range(len(forward))])


@adjoint(np.matrix_transpose, "x", at=[(T,), (M,)])
@adjoint(np.linalg.matrix_transpose, "x", at=[(T,)])
def _(g, out, x):
    return np.swapaxes(g, -1, -2)


@adjoint(np.swapaxes, "a", at=[(T, 0, -1), (M, 1, 1)])
def _(g, out, a, axis1, axis2):
    return np.swapaxes(g, axis1, axis2)


@adjoint(np.moveaxis, "a", at=[(T, 0, -1), (T, (0, 2), (1, 0))])
def _(g, out, a, source, destination):
    return np.moveaxis(g, destination, source)


@adjoint(np.rollaxis, "a", at=[(T, 2), (T, 0, 3), (T, -1, 1), (T, 1, -1), (T, 2, 2)])
def _(g, out, a, axis, start=0):
    ndim = np.ndim(a)
    axis, start = axis % ndim, start + ndim if start < 0 else start
    return np.moveaxis(g, start - 1 if start > axis else start, axis)


@adjoint(np.flip, "m", at=[(T,), (T, 1), (T, (0, -1))])
def _(g, out, m, axis=None):
    return np.flip(g, axis)


@adjoint(np.fliplr, "m", at=[(M,)])
def _(g, out, m):
    return np.fliplr(g)


@adjoint(np.flipud, "m", at=[(M,)])
def _(g, out, m):
    return np.flipud(g)


@adjoint(np.rot90, "m", at=[(M,), (M, 2), (T, -1, (0, 2))])
def _(g, out, m, k=1, axes=(0, 1)):
    return np.rot90(g, -k, axes)


@adjoint(np.roll, "a", at=[(M, 1), (M, -2, 1), (T, (1, 2), (0, 1)), (T, 1, (0, 1))])
def _(g, out, a, shift, axis=None):
    return np.roll(g, tuple(-each for each in shift) if isinstance(shift, (tuple, list)) else -shift, axis)


# Copies of elements

@adjoint(np.repeat, "a", at=[(V, 2), (M, 3, 1), (M, [1, 0, 2], 1), (M, 2), (2.5, 3), (M, [2], 0)])
def _(g, out, a, repeats, axis=None):
    shape = np.shape(a) if axis is not None else (np.size(a),)
    along = axis % len(shape) if axis is not None else 0
    if np.ndim(repeats) == 0:
        parts = np.reshape(g, shape[:along + 1] + (int(repeats),) + shape[along + 1:])
        return np.reshape(np.sum(parts, axis=along + 1), np.shape(a))
    origin = np.repeat(np.arange(shape[along]), repeats)
    return np.reshape(scatter_axis(g, origin, shape[along], along), np.shape(a))


@adjoint(np.tile, "A", at=[(V, 2), (M, (2, 3)), (M, (2, 1, 2)), (T, 2), (2.5, 3), (V, (0, 2))])
def _(g, out, A, reps):
    reps = tuple(reps) if np.ndim(reps) else (reps,)
    ndim = max(len(reps), np.ndim(A))
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - np.ndim(A)) + np.shape(A)
    parts = np.reshape(g, tuple(n for pair in zip(reps, shape, strict=True) for n in pair))
    return np.reshape(np.sum(parts, axis=tuple(range(0, 2 * ndim, 2))), np.shape(A))


@adjoint(np.resize, "a", at=[(V, 7), (M, (2, 2)), (M, (4, 5))])
def _(g, out, a, new_shape):
    origin = np.arange(np.size(g)) % max(np.size(a), 1)
    return np.reshape(scatter_axis(np.ravel(g), origin, np.size(a), 0), np.shape(a))


# Triangles and diagonals

@adjoint(np.tril, "m", at=[(M,), (T, 1), (M, -1), (V,)])
def _(g, out, m, k=0):
    return unbroadcast(np.tril(g, k), m)


@adjoint(np.triu, "m", at=[(M,), (T, 1), (M, -1), (V,)])
def _(g, out, m, k=0):
    return unbroadcast(np.triu(g, k), m)


@adjoint(np.diag, "v", at=[(V,), (V, 2), (V, -1), (M,), (M, 1), (M, -1), (M.T, 1), (M, 5)])
def _(g, out, v, k=0):
    return np.diagonal(g, k) if np.ndim(v) == 1 else place_diagonal(g, k, *np.shape(v))


@adjoint(np.diagflat, "v", at=[(V,), (M, 1), (2.5,)])
def _(g, out, v, k=0):
    return np.reshape(np.diagonal(g, k), np.shape(v))


def diagonal_of(g, shape, offset, axis1, axis2):
    """The cotangent of an array of `shape` whose diagonals (last axis of `g`) were taken."""
    return np.moveaxis(place_diagonal(g, offset, shape[axis1], shape[axis2]), (-2, -1), (axis1, axis2))


DIAGONALS = [(M,), (M, 1), (T, 0, 1, 2), (T, -1, 0, 1), (T, 1, 2, 0)]


@adjoint(np.diagonal, "a", at=DIAGONALS)
def _(g, out, a, offset=0, axis1=0, axis2=1):
    return diagonal_of(g, np.shape(a), offset, axis1, axis2)


@adjoint(np.linalg.diagonal, "x", at=[(T,), (M,)], keywords=[{}, {"offset": 1}])
def _(g, out, x, *, offset=0):
    return place_diagonal(g, offset, *np.shape(x)[-2:])


def repeated_diagonal(g, rows, columns, offset):
    """`g` repeated along the diagonal that a trace summed over."""
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    return np.broadcast_to(np.expand_dims(g, -1), np.shape(g) + (length,))


@adjoint(np.trace, "a", at=DIAGONALS)
def _(g, out, a, offset=0, axis1=0, axis2=1, dtype=None, buffer=None):
    shape = np.shape(a)
    return diagonal_of(repeated_diagonal(g, shape[axis1], shape[axis2], offset), shape, offset, axis1, axis2)


@adjoint(np.linalg.trace, "x", at=[(T,), (M,)], keywords=[{}, {"offset": 1}])
def _(g, out, x, *, offset=0, dtype=None):
    rows, columns = np.shape(x)[-2:]
    return place_diagonal(repeated_diagonal(g, rows, columns, offset), offset, rows, columns)


@adjoint(np.lib.stride_tricks.sliding_window_view, "x", at=[(V, 2), (M, (2, 2)), (T, 2, 1)])
def _(g, out, x, window_shape, axis=None, *, subok=False, writeable=False):
    numbers = np.reshape(np.arange(np.size(x)), np.shape(x))
    windows = np.lib.stride_tricks.sliding_window_view(numbers, window_shape, axis)
    return np.reshape(scatter_axis(np.ravel(g), np.ravel(windows), np.size(x), 0), np.shape(x))
