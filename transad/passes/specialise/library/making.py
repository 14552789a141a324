"""Making arrays: constants, ranges, patterns."""
from __future__ import annotations

from typing import Any

import numpy as np


def eye(N: int, M: Any = None, k: int = 0, dtype: Any = np.float64) -> Any:
    m = N if M is None else M
    out = np.zeros((N, m), dtype)
    for i in range(max(-k, 0), min(N, m - k)):
        out[i, i + k] = 1
    return out


def identity(n: int, dtype: Any = np.float64) -> Any:
    return eye(n, None, 0, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = np.float64) -> Any:
    out = np.empty(shape, dtype)
    out[...] = fill_value
    return out


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    out = np.empty(a.shape, a.dtype if dtype is None else dtype)
    out[...] = fill_value
    return out


def zeros_like(a: Any, dtype: Any = None) -> Any:
    return np.zeros(a.shape, a.dtype if dtype is None else dtype)


def ones_like(a: Any, dtype: Any = None) -> Any:
    return np.ones(a.shape, a.dtype if dtype is None else dtype)


def empty_like(a: Any, dtype: Any = None) -> Any:
    return np.empty(a.shape, a.dtype if dtype is None else dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    out = np.empty(num)
    parts = max(num - 1 if endpoint else num, 1)
    step = (stop - start) / parts
    for i in range(num):
        out[i] = start + i * step
    if endpoint and num > 1:
        out[num - 1] = stop
    return out


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    made = np.arange(start) if stop is None else np.arange(start, stop, step)
    return made if dtype is None else made.astype(dtype)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    n = x.shape[0] if N is None else N
    out = np.ones((x.shape[0], n))
    for i in range(x.shape[0]):
        p = 1.0
        for k in range(1, n):
            p = p * x[i]
            out[i, k if increasing else n - 1 - k] = p
    return out


def tri(N: int, M: Any = None, k: int = 0) -> Any:
    out = np.zeros((N, N if M is None else M))
    for i in range(out.shape[0]):
        for j in range(min(max(i + k + 1, 0), out.shape[1])):
            out[i, j] = 1.0
    return out


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0) -> Any:
    return np.exp(np.log(base) * np.linspace(start, stop, num, endpoint))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    return start * np.exp(np.linspace(0.0, 1.0, num, endpoint) * np.log(stop / start))
