"""Joining: arrays are copied into a new one."""
from __future__ import annotations

from typing import Any

import numpy as np


def common(arrays: Any) -> Any:
    """The dtype of the result: that of the first floating-point array, else of the first."""
    dtype = arrays[0].dtype
    for a in arrays:
        if a.dtype == np.float64:
            dtype = a.dtype
    return dtype


def concatenate(arrays: Any, axis: Any = 0) -> Any:
    if axis is None:
        return concatenate_first([np.ravel(a) for a in arrays])
    if axis % arrays[0].ndim == 0:
        return concatenate_first(arrays)
    return concatenate_second(arrays)


def concatenate_first(arrays: Any) -> Any:
    n = 0
    for a in arrays:
        n += a.shape[0]
    out = np.empty((n,) + arrays[0].shape[1:], common(arrays))
    at = 0
    for a in arrays:
        out[at:at + a.shape[0]] = a
        at += a.shape[0]
    return out


def concatenate_second(arrays: Any) -> Any:
    n = 0
    for a in arrays:
        n += a.shape[1]
    out = np.empty((arrays[0].shape[0], n) + arrays[0].shape[2:], common(arrays))
    at = 0
    for a in arrays:
        out[:, at:at + a.shape[1]] = a
        at += a.shape[1]
    return out


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if np.ndim(values) == 0:
        n = arr.size
        out = np.empty(n + 1, arr.dtype)
        out[:n] = arr if arr.ndim == 1 else arr.flatten()
        out[n] = values
        return out
    if axis is None:
        return concatenate_first((arr if arr.ndim == 1 else arr.flatten(),
                                  values if values.ndim == 1 else values.flatten()))
    return concatenate_first((arr, values)) if axis % arr.ndim == 0 else concatenate_second((arr, values))


def hstack(tup: Any) -> Any:
    if np.ndim(tup[0]) == 0:
        return np.array(tup)
    return concatenate_first(tup) if tup[0].ndim == 1 else concatenate_second(tup)


def vstack(tup: Any) -> Any:
    return concatenate_first([a[None, :] if a.ndim == 1 else a for a in tup])


def stack(arrays: Any, axis: int = 0) -> Any:
    a = arrays[0]
    if axis % (a.ndim + 1) == 0:
        out = np.empty((len(arrays),) + a.shape, common(arrays))
        for k, x in enumerate(arrays):
            out[k] = x
        return out
    if axis % (a.ndim + 1) == 1:
        out = np.empty((a.shape[0], len(arrays)) + a.shape[1:], common(arrays))
        for k, x in enumerate(arrays):
            out[:, k] = x
        return out
    out = np.empty((a.shape[0], a.shape[1], len(arrays)), common(arrays))
    for k, x in enumerate(arrays):
        out[:, :, k] = x
    return out


def column_stack(tup: Any) -> Any:
    return concatenate_second([a[:, None] if a.ndim == 1 else a for a in tup])


def dstack(tup: Any) -> Any:
    return stack(tup, 2) if tup[0].ndim == 2 else stack([a[None, :] for a in tup], 2)


def repeat(a: Any, repeats: int) -> Any:
    v = a if a.ndim == 1 else a.flatten()
    out = np.empty(v.shape[0] * repeats, a.dtype)
    for i in range(v.shape[0]):
        for k in range(repeats):
            out[i * repeats + k] = v[i]
    return out


def tile(A: Any, reps: int) -> Any:
    out = np.empty(A.shape[0] * reps, A.dtype)
    for k in range(reps):
        for i in range(A.shape[0]):
            out[k * A.shape[0] + i] = A[i]
    return out


def split(ary: Any, indices_or_sections: int) -> Any:
    n = ary.shape[0] // indices_or_sections
    assert n * indices_or_sections == ary.shape[0], "array split does not result in an equal division"
    return [ary[k * n:(k + 1) * n] for k, _ in enumerate((0,) * indices_or_sections)]


def array_split(ary: Any, indices_or_sections: int) -> Any:
    n, more = ary.shape[0] // indices_or_sections, ary.shape[0] % indices_or_sections
    return [ary[k * n + min(k, more):(k + 1) * n + min(k + 1, more)] for k, _ in enumerate((0,) * indices_or_sections)]


def delete(arr: Any, obj: int) -> Any:
    n = arr.shape[0]
    at = obj if obj >= 0 else obj + n
    out = np.empty((n - 1,) + arr.shape[1:], arr.dtype)
    out[:at] = arr[:at]
    out[at:] = arr[at + 1:]
    return out


def meshgrid(x: Any, y: Any, indexing: str = "xy") -> Any:
    if indexing == "xy":
        return [x[None, :] + np.zeros((y.shape[0], 1)), y[:, None] + np.zeros((1, x.shape[0]))]
    return [x[:, None] + np.zeros((1, y.shape[0])), y[None, :] + np.zeros((x.shape[0], 1))]
