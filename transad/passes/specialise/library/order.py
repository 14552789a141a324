"""Order: sorting as a gather, searching, clipping, rounding."""
from __future__ import annotations

from typing import Any

import numpy as np


def sorted_line(a: Any) -> Any:
    return a[np.argsort(a)]


def sort(a: Any, axis: Any = -1) -> Any:
    if a.ndim == 1 or axis is None:
        return sorted_line(a if a.ndim == 1 else a.flatten())
    out = np.empty(a.shape, a.dtype)
    if axis % a.ndim == 0:
        for j in range(a.shape[1]):
            out[:, j] = sorted_line(a[:, j])
    else:
        for i in range(a.shape[0]):
            out[i] = sorted_line(a[i])
    return out


def partition(a: Any, kth: int) -> Any:
    return sorted_line(a)


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    if a.ndim == 1:
        return np.argsort(a)
    out = np.empty(a.shape, np.int64)
    if axis % a.ndim == 0:
        for j in range(a.shape[1]):
            out[:, j] = np.argsort(a[:, j])
    else:
        for i in range(a.shape[0]):
            out[i] = np.argsort(a[i])
    return out


def place_left(a: Any, x: Any) -> Any:
    lo, hi = 0, a.shape[0]
    while lo < hi:
        half = (lo + hi) // 2
        if a[half] < x:
            lo = half + 1
        else:
            hi = half
    return lo


def place_right(a: Any, x: Any) -> Any:
    lo, hi = 0, a.shape[0]
    while lo < hi:
        half = (lo + hi) // 2
        if a[half] <= x:
            lo = half + 1
        else:
            hi = half
    return lo


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if np.ndim(v) == 0:
        return place_left(a, v) if side == "left" else place_right(a, v)
    out = np.empty(v.shape[0], np.int64)
    for i in range(v.shape[0]):
        out[i] = place_left(a, v[i]) if side == "left" else place_right(a, v[i])
    return out


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return np.searchsorted(bins, x, "left" if right else "right")


def bounded(a: Any, low: Any, high: Any) -> Any:
    if low is None:
        return a.copy() if high is None else np.minimum(a, high)
    return np.maximum(a, low) if high is None else np.minimum(np.maximum(a, low), high)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return bounded(a, a_min if min is None else min, a_max if max is None else max)


def round(a: Any, decimals: int = 0) -> Any:
    return np.rint(a) if decimals == 0 else np.rint(a * 10.0 ** decimals) / 10.0 ** decimals


around = round
