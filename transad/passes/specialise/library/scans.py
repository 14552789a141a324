"""Scans and neighbours: running sums and products, differences, interpolation."""
from __future__ import annotations

from typing import Any

import numpy as np


def flat(a: Any) -> Any:
    return a if a.ndim == 1 else a.flatten()


def scan_dtype(a: Any) -> Any:
    return np.int64 if a.dtype in (np.bool_, np.int32) else a.dtype


def running_sum(a: Any, out: Any) -> Any:
    s = 0.0 if a.dtype in (np.float32, np.float64) else 0
    for i in range(a.shape[0]):
        s += a[i]
        out[i] = s
    return out


def running_product(a: Any, out: Any) -> Any:
    s = 1.0 if a.dtype in (np.float32, np.float64) else 1
    for i in range(a.shape[0]):
        s = s * a[i]
        out[i] = s
    return out


def scanned(f: Any, a: Any, axis: Any) -> Any:
    if axis is None or a.ndim == 1:
        v = flat(a)
        return f(v, np.empty(v.shape[0], scan_dtype(a)))
    out = np.empty(a.shape, scan_dtype(a))
    if axis % a.ndim == 0:
        for j in range(a.shape[1]):
            f(a[:, j], out[:, j])
    else:
        for i in range(a.shape[0]):
            f(a[i], out[i])
    return out


def cumsum(a: Any, axis: Any = None) -> Any:
    return scanned(running_sum, a, axis)


def cumprod(a: Any, axis: Any = None) -> Any:
    return scanned(running_product, a, axis)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    d = a
    for _ in (0,) * n:
        d = d[1:] - d[:-1] if axis % a.ndim == 0 else d[:, 1:] - d[:, :-1]
    return d


def ediff1d(ary: Any) -> Any:
    v = flat(ary)
    return v[1:] - v[:-1]


def area(y: Any, x: Any, dx: Any) -> Any:
    s = 0.0
    for i in range(1, y.shape[0]):
        s += 0.5 * (y[i] + y[i - 1]) * (dx if x is None else x[i] - x[i - 1])
    return s


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if y.ndim == 1:
        return area(y, x, dx)
    out = np.empty(y.shape[1] if axis % 2 == 0 else y.shape[0])
    for i in range(out.shape[0]):
        out[i] = area(y[:, i] if axis % 2 == 0 else y[i], x, dx)
    return out


def point(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = xp.shape[0]
    if x < xp[0]:
        y = fp[0] if left is None else left
    elif x > xp[n - 1]:
        y = fp[n - 1] if right is None else right
    elif n == 1:
        y = fp[0]
    else:
        lo, hi = 0, n - 1
        while hi - lo > 1:
            half = (lo + hi) // 2
            if xp[half] <= x:
                lo = half
            else:
                hi = half
        y = fp[lo] + (fp[lo + 1] - fp[lo]) * ((x - xp[lo]) / (xp[lo + 1] - xp[lo]))
    return y


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    if np.ndim(x) == 0:
        return point(x, xp, fp, left, right)
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = point(x[i], xp, fp, left, right)
    return out


def whole(a: Any, v: Any) -> Any:
    out = np.zeros(a.shape[0] + v.shape[0] - 1)
    for i in range(a.shape[0]):
        for j in range(v.shape[0]):
            out[i + j] += a[i] * v[j]
    return out


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    full = whole(a, v)
    n, m = a.shape[0], v.shape[0]
    if mode == "full":
        return full
    if mode == "same":
        return full[(min(n, m) - 1) // 2:(min(n, m) - 1) // 2 + max(n, m)]
    return full[min(n, m) - 1:max(n, m)]


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    return np.convolve(a, v[::-1], mode)


def nan_to_num(x: Any, nan: Any = 0.0) -> Any:
    out = flat(x).copy()
    for i in range(out.shape[0]):
        if np.isnan(out[i]):
            out[i] = nan
        elif np.isinf(out[i]):
            out[i] = 1.7976931348623157e308 if out[i] > 0 else -1.7976931348623157e308
    return out if x.ndim == 1 else np.reshape(out, x.shape)
