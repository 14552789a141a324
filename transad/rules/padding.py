"""`np.pad` in every mode, written out: each axis in turn gets a piece in front and one behind, as NumPy does it.

The modes that move elements (edge, reflect, symmetric, wrap) take them from where the same mode puts the numbers 0, 1, 2, ...
"""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules.linear import refuse, slice_axis
from transad.rules.registry import composite

_STATISTICS = {"mean": np.mean, "maximum": np.max, "minimum": np.min, "median": np.median}
_MOVING = ("edge", "reflect", "symmetric", "wrap")
_MODES = (*_MOVING, *_STATISTICS, "constant", "empty", "linear_ramp")


def widths_of(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """A pair (before, after) for each axis."""
    if isinstance(pad_width, dict):
        pairs = [pad_width.get(i, pad_width.get(i - ndim, 0)) for i in range(ndim)]
        return [tuple(np.broadcast_to(pair, (2,)).tolist()) for pair in pairs]
    return [tuple(pair) for pair in np.broadcast_to(np.asarray(pad_width).astype(int), (ndim, 2)).tolist()]


def _pairs(values: Any, ndim: int) -> Any:
    """What is given for each end of each axis."""
    return np.broadcast_to(np.asarray(values), (ndim, 2))


def _filled(a: Any, value: Any, width: int, axis: int) -> Any:
    """`width` slices of `a`'s other lengths that hold one number."""
    shape = list(np.shape(a))
    shape[axis] = width
    return np.broadcast_to(np.asarray(value).astype(a.dtype), tuple(shape))


def _constant(a: Any, axis: int, width: tuple[int, int], values: Any) -> Any:
    return np.concatenate([_filled(a, values[0], width[0], axis), a, _filled(a, values[1], width[1], axis)], axis=axis)


def _statistic(a: Any, axis: int, width: tuple[int, int], function: Any, lengths: Any) -> Any:
    """Means, extrema or medians of the slices nearest to each end, along the axis."""
    size = np.shape(a)[axis]
    front, back = [size if n is None else min(int(n), size) for n in lengths]
    left = function(slice_axis(a, axis, 0, front), axis=axis, keepdims=True)
    right = function(slice_axis(a, axis, size - back, size), axis=axis, keepdims=True)
    return np.concatenate([np.repeat(left, width[0], axis), a, np.repeat(right, width[1], axis)], axis=axis)


def _ramp(a: Any, axis: int, width: tuple[int, int], ends: Any) -> Any:
    """Even steps from the end values to the edges."""
    size, edges = np.shape(a)[axis], []
    for number, edge in ((0, slice_axis(a, axis, 0, 1)), (1, slice_axis(a, axis, size - 1, size))):
        n = width[number]
        shape = [1] * np.ndim(a)
        shape[axis] = n
        far = np.reshape(np.arange(n) / max(n, 1), shape).astype(a.dtype)
        ramp = np.asarray(ends[number]).astype(a.dtype) * (1 - far) + edge * far
        edges.append(ramp if number == 0 else np.flip(ramp, axis))
    return np.concatenate([edges[0], a, edges[1]], axis=axis)


def _moved(a: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    return np.take(a, np.pad(np.arange(np.shape(a)[axis]), width, mode=mode), axis=axis)


def _odd(a: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    """Reflection through the edge's value: what it does to the unit vectors is the matrix of the whole."""
    matrix = np.pad(np.eye(np.shape(a)[axis]), (width, (0, 0)), mode=mode, reflect_type="odd").astype(a.dtype)
    return np.moveaxis(np.tensordot(matrix, a, axes=(1, axis)), 0, axis)


@composite(np.pad)
def _(array, pad_width, mode="constant", *, constant_values=0, reflect_type="even", stat_length=None, end_values=0):
    if mode not in _MODES:
        refuse("np.pad", "a function as mode", "write into a larger array")
    a = np.asarray(array)
    ndim = np.ndim(a)
    lengths = [(None, None)] * ndim if stat_length is None else widths_of(stat_length, ndim)
    values = _pairs(end_values if mode == "linear_ramp" else constant_values, ndim)
    for axis, width in enumerate(widths_of(pad_width, ndim)):
        if width == (0, 0):
            continue
        if mode in _STATISTICS:
            a = _statistic(a, axis, width, _STATISTICS[mode], lengths[axis])
        elif mode == "linear_ramp":
            a = _ramp(a, axis, width, values[axis])
        elif mode in _MOVING:
            odd = mode in ("reflect", "symmetric") and reflect_type == "odd"
            a = _odd(a, axis, width, mode) if odd else _moved(a, axis, width, mode)
        else:
            a = _constant(a, axis, width, values[axis])
    return a
