"""Quantiles, covariances, counts, polynomials, choices."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.passes.specialise.library.reductions import flat


def at_level(a: Any, order: Any, q: Any) -> Any:
    n = a.shape[0]
    place = q * (n - 1)
    lo = min(int(place), max(n - 2, 0))
    return a[order[lo]] + (a[order[min(lo + 1, n - 1)]] - a[order[lo]]) * (place - lo)


def quantile(a: Any, q: Any) -> Any:
    v = flat(a)
    order = np.argsort(v)
    if np.ndim(q) == 0:
        return at_level(v, order, q)
    out = np.empty(q.shape[0])
    for i in range(q.shape[0]):
        out[i] = at_level(v, order, q[i])
    return out


def percentile(a: Any, q: Any) -> Any:
    return np.quantile(a, q / 100.0)


def products(rows: Any, ddof: Any) -> Any:
    """The matrix of mean products of centred rows."""
    n = rows.shape[1]
    centred = rows - (np.sum(rows, 1) / n)[:, None]
    return np.dot(centred, centred.T) / (n - ddof)


def cov(m: Any, y: Any = None, ddof: Any = 1) -> Any:
    rows = np.atleast_2d(m)
    return products(rows if y is None else np.vstack((rows, np.atleast_2d(y))), ddof)


def corrcoef(x: Any, y: Any = None) -> Any:
    c = np.cov(x, y)
    out = np.empty(c.shape)
    for i in range(c.shape[0]):
        for j in range(c.shape[0]):
            out[i, j] = c[i, j] / np.sqrt(c[i, i] * c[j, j])
    return out


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    n = max(np.max(x) + 1, minlength)
    if weights is None:
        counts = np.zeros(n, np.int64)
        for i in range(x.shape[0]):
            counts[x[i]] += 1
        return counts
    out = np.zeros(n)
    for i in range(x.shape[0]):
        out[x[i]] += weights[i]
    return out


def horner(p: Any, x: Any) -> Any:
    y = 0.0
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def polyval(p: Any, x: Any) -> Any:
    if np.ndim(x) == 0:
        return horner(p, x)
    v = flat(x)
    out = np.empty(v.shape[0])
    for i in range(v.shape[0]):
        out[i] = horner(p, v[i])
    return out if x.ndim == 1 else np.reshape(out, x.shape)


def wave(x: Any) -> Any:
    y = np.pi * x
    return np.sin(y) / y if x != 0.0 else 1.0 - y * y / 6.0


def sinc(x: Any) -> Any:
    if np.ndim(x) == 0:
        return wave(x)
    v = flat(x)
    out = np.empty(v.shape[0])
    for i in range(v.shape[0]):
        out[i] = wave(v[i])
    return out if x.ndim == 1 else np.reshape(out, x.shape)


def fmax(x1: Any, x2: Any) -> Any:
    if np.ndim(x1) == 0 and np.ndim(x2) == 0:
        return x1 if np.isnan(x2) else x2 if np.isnan(x1) else np.maximum(x1, x2)
    return np.maximum(np.where(np.isnan(x1), x2, x1), np.where(np.isnan(x2), x1, x2))


def fmin(x1: Any, x2: Any) -> Any:
    if np.ndim(x1) == 0 and np.ndim(x2) == 0:
        return x1 if np.isnan(x2) else x2 if np.isnan(x1) else np.minimum(x1, x2)
    return np.minimum(np.where(np.isnan(x1), x2, x1), np.where(np.isnan(x2), x1, x2))


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    if np.ndim(a) == 0 and np.ndim(b) == 0:
        return a == b or (np.isfinite(b) and np.abs(a - b) <= atol + rtol * np.abs(b))
    return (a == b) | (np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b)))


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    close = np.isclose(a, b, rtol, atol)
    return close if np.ndim(close) == 0 else np.all(close)


def places(v: Any) -> Any:
    n = 0
    for i in range(v.shape[0]):
        if v[i] != 0:
            n += 1
    out = np.empty(n, np.int64)
    k = 0
    for i in range(v.shape[0]):
        if v[i] != 0:
            out[k] = i
            k += 1
    return out


def flatnonzero(a: Any) -> Any:
    return places(flat(a))


def nonzero(a: Any) -> Any:
    k = places(flat(a))
    return (k,) if a.ndim == 1 else (k // a.shape[1], k % a.shape[1])


def select(condlist: Any, choicelist: Any, default: Any = 0.0) -> Any:
    out = default
    for test, choice in zip(condlist[::-1], choicelist[::-1]):      # noqa: B905
        out = np.where(test, choice, out)
    return out


def unwrap(p: Any) -> Any:
    out = np.empty(p.shape[0])
    turn = 2.0 * np.pi
    shift = 0.0
    for i in range(p.shape[0]):
        if i > 0:
            d = p[i] - p[i - 1]
            k = np.floor((d + np.pi) / turn)
            if d - turn * k == -np.pi and d > 0.0:
                k = k - 1.0
            shift -= turn * k
        out[i] = p[i] + shift
    return out


def where(condition: Any, x: Any, y: Any) -> Any:
    """Of numbers; arrays are NumPy's own call."""
    if np.ndim(condition) > 0 or np.ndim(x) > 0 or np.ndim(y) > 0:
        raise TypeError("np.where of these arguments")
    if condition:
        return x
    return y
