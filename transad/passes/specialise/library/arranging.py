"""Arranging: views where NumPy gives views, gathers and copies where it copies."""
from __future__ import annotations

from typing import Any

import numpy as np


def flip(m: Any, axis: Any = None) -> Any:
    if m.ndim == 1:
        return m[::-1]
    if axis is None:
        return m[::-1, ::-1]
    return m[::-1] if axis % m.ndim == 0 else m[:, ::-1]


def flipud(m: Any) -> Any:
    return m[::-1]


def fliplr(m: Any) -> Any:
    return m[:, ::-1]


def rot90(m: Any, k: int = 1) -> Any:
    if k % 4 == 0:
        return m[:, :]
    if k % 4 == 1:
        return m[:, ::-1].T
    return m[::-1, ::-1] if k % 4 == 2 else m[::-1].T


def rolled(a: Any, shift: Any, out: Any) -> Any:
    n = a.shape[0]
    for i in range(n):
        out[(i + shift) % n] = a[i]
    return out


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    out = np.empty(a.shape, a.dtype)
    if a.ndim == 1 or (axis is not None and axis % a.ndim == 0):
        return rolled(a, shift, out)
    if axis is None:
        v = a.flatten()
        return np.reshape(rolled(v, shift, np.empty(v.shape[0], a.dtype)), a.shape)
    for i in range(a.shape[0]):
        rolled(a[i], shift, out[i])
    return out


def squeeze(a: Any, axis: int) -> Any:
    return a[0] if axis % a.ndim == 0 else a[:, 0] if axis % a.ndim == 1 else a[:, :, 0]


def expand_dims(a: Any, axis: int) -> Any:
    k = axis % (a.ndim + 1)
    return a[None] if k == 0 else a[:, None] if k == 1 else a[:, :, None]


def atleast_1d(x: Any) -> Any:
    if np.ndim(x) > 0:
        return x
    out = np.empty(1)
    out[0] = x
    return out


def atleast_2d(x: Any) -> Any:
    if np.ndim(x) == 0:
        out = np.empty((1, 1))
        out[0, 0] = x
        return out
    return x[None, :] if x.ndim == 1 else x


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    if a.ndim == 2:
        return a if axis1 % 2 == axis2 % 2 else a.T
    raise TypeError("swapaxes of more than two axes")


def moveaxis(a: Any, source: int, destination: int) -> Any:
    if a.ndim == 2:
        return a if source % 2 == destination % 2 else a.T
    raise TypeError("moveaxis of more than two axes")


def transpose(a: Any, axes: Any) -> Any:
    if a.ndim == 2:
        return a.T if axes[0] % 2 == 1 else a
    raise TypeError("transpose with axes of more than two axes")


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    if axis is None:
        return (a if a.ndim == 1 else a.flatten())[indices]
    if axis % a.ndim == 0:
        return a[indices]
    out = np.empty((a.shape[0], indices.shape[0]), a.dtype)
    for j in range(indices.shape[0]):
        out[:, j] = a[:, indices[j]]
    return out


def picked(a: Any, i: Any, j: Any) -> Any:
    """`a[i, j]` where at least one of the two is an array of rank 1 and the other one too, or a number."""
    n = i.shape[0] if np.ndim(i) == 1 else j.shape[0]
    out = np.empty((n, *a.shape[2:]), a.dtype) if a.ndim > 2 else np.empty(n, a.dtype)
    if np.ndim(i) == 1 and np.ndim(j) == 1:
        for k in range(n):
            out[k] = a[i[k], j[k]]
    elif np.ndim(i) == 1:
        for k in range(n):
            out[k] = a[i[k], j]
    else:
        for k in range(n):
            out[k] = a[i, j[k]]
    return out


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    out = np.empty(indices.shape, arr.dtype)
    if arr.ndim == 1:
        for i in range(indices.shape[0]):
            out[i] = arr[indices[i]]
    elif axis % arr.ndim == 0:
        for i in range(indices.shape[0]):
            for j in range(indices.shape[1]):
                out[i, j] = arr[indices[i, j], j]
    else:
        for i in range(indices.shape[0]):
            for j in range(indices.shape[1]):
                out[i, j] = arr[i, indices[i, j]]
    return out


def diagonal_of(a: Any, k: int) -> Any:
    first, second = max(-k, 0), max(k, 0)
    out = np.empty(max(min(a.shape[0] - first, a.shape[1] - second), 0), a.dtype)
    for i in range(out.shape[0]):
        out[i] = a[first + i, second + i]
    return out


def matrix_of(v: Any, k: int) -> Any:
    n = v.shape[0] + abs(k)
    out = np.zeros((n, n), v.dtype)
    for i in range(v.shape[0]):
        out[i + max(-k, 0), i + max(k, 0)] = v[i]
    return out


def diag(v: Any, k: int = 0) -> Any:
    return matrix_of(v, k) if v.ndim == 1 else diagonal_of(v, k)


def diagflat(v: Any, k: int = 0) -> Any:
    return matrix_of(v if v.ndim == 1 else v.flatten(), k)


def tril(m: Any, k: int = 0) -> Any:
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(min(max(i + k + 1, 0), m.shape[1])):
            out[i, j] = m[i, j]
    return out


def triu(m: Any, k: int = 0) -> Any:
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(min(max(i + k, 0), m.shape[1]), m.shape[1]):
            out[i, j] = m[i, j]
    return out
