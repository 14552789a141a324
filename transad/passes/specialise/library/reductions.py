"""Reductions: a whole array is NumPy's own call where the typed path has it, else a loop; an axis is a loop of lines."""
from __future__ import annotations

from typing import Any

import numpy as np


def lines_of(a: Any, axis: int) -> Any:
    """The empty result of a reduction along an axis: the shape without it."""
    return a.shape[:axis] + a.shape[axis + 1:]


def fill_lines(f: Any, a: Any, axis: int, out: Any) -> Any:
    """`out[...] = f(line)` for every line of `a` along an axis."""
    if a.ndim == 2 and axis == 0:
        for j in range(a.shape[1]):
            out[j] = f(a[:, j])
    elif a.ndim == 2:
        for i in range(a.shape[0]):
            out[i] = f(a[i])
    elif axis == 0:
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                out[j, k] = f(a[:, j, k])
    elif axis == 1:
        for i in range(a.shape[0]):
            for k in range(a.shape[2]):
                out[i, k] = f(a[i, :, k])
    else:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                out[i, j] = f(a[i, j])
    return out


def kept(out: Any, axis: int, keepdims: bool) -> Any:
    """The result with the axis of length one back where it was."""
    if not keepdims:
        return out
    if axis == 0:
        return out[None]
    if axis == 1:
        return out[:, None]
    return out[:, :, None]


def over(f: Any, a: Any, axis: int, keepdims: bool, dtype: Any) -> Any:
    """A reduction of lines along one axis of an array of rank 1 to 3."""
    if a.ndim == 1:
        if keepdims:
            one = np.empty(1, dtype)
            one[0] = f(a)
            return one
        return f(a)
    k = axis % a.ndim
    return kept(fill_lines(f, a, k, np.empty(lines_of(a, k), dtype)), k, keepdims)


def add_up(a: Any, k: int) -> Any:
    """The sum along one axis, in the order in which the array lies."""
    out = np.zeros(lines_of(a, k), summed_dtype(a))
    if k == 0:
        for i in range(a.shape[0]):
            out += a[i]
    elif a.ndim == 3 and k == 1:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                out[i] += a[i, j]
    else:
        fill_lines(np.sum, a, k, out)
    return out


def summed_dtype(a: Any) -> Any:
    return np.int64 if a.dtype in (np.bool_, np.int32) else a.dtype


def quotient_dtype(a: Any) -> Any:
    return a.dtype if a.dtype in (np.float32, np.float64) else np.float64


def selected(a: Any, where: Any, neutral: Any) -> Any:
    """`a` with what a mask leaves out replaced by what does not count."""
    return np.where(where, a, neutral)


def sum(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    if np.ndim(a) == 0:
        return a
    if where is not None:
        a = selected(a, where, 0)
    return total(a, axis, keepdims) if initial is None else total(a, axis, keepdims) + initial


def total(a: Any, axis: Any, keepdims: bool) -> Any:
    if axis is None or a.ndim == 1:
        return over(np.sum, a, 0, keepdims, summed_dtype(a)) if a.ndim == 1 else np.sum(a)
    return kept(add_up(a, axis % a.ndim), axis % a.ndim, keepdims)


def mean(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    if np.ndim(a) == 0:
        return a
    if where is not None:
        counted = np.where(where, np.ones(a.shape), 0.0)
        return np.sum(np.where(where, a, 0.0), axis, keepdims=keepdims) / np.sum(counted, axis, keepdims=keepdims)
    if axis is None or a.ndim == 1:
        return over(np.mean, a, 0, keepdims, quotient_dtype(a)) if a.ndim == 1 else np.mean(a)
    k = axis % a.ndim
    return kept(add_up(a, k) / a.shape[k], k, keepdims)


def max(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    if np.ndim(a) == 0:
        return a
    if where is not None:
        a = selected(a, where, initial)
    if initial is not None:
        return np.maximum(extreme(np.max, started(a, initial), axis, keepdims), initial)
    return extreme(np.max, a, axis, keepdims)


def min(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    if np.ndim(a) == 0:
        return a
    if where is not None:
        a = selected(a, where, initial)
    if initial is not None:
        return np.minimum(extreme(np.min, started(a, initial), axis, keepdims), initial)
    return extreme(np.min, a, axis, keepdims)


def extreme(f: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    return f(a) if axis is None else over(f, a, axis, keepdims, a.dtype)


def started(a: Any, initial: Any) -> Any:
    """The elements of what may be empty, with `initial` before them."""
    if a.ndim > 1:
        return a
    out = np.empty(a.shape[0] + 1)
    out[0] = initial
    out[1:] = a
    return out


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


def product(a: Any) -> Any:
    p = 1.0 if a.dtype in (np.float32, np.float64) else 1
    for i in range(a.shape[0]):
        p = p * a[i]
    return p


def prod(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    if where is not None:
        a = selected(a, where, 1)
    if initial is not None:
        return whole_product(a, axis, keepdims) * initial
    return whole_product(a, axis, keepdims)


def whole_product(a: Any, axis: Any, keepdims: bool) -> Any:
    return product(flat(a)) if axis is None else over(product, a, axis, keepdims, summed_dtype(a))


def flat(a: Any) -> Any:
    """All elements, in order, in an array of their own (or the array itself if that is what it is)."""
    return a if a.ndim == 1 else a.flatten()


def any(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.any(a) if axis is None else over(np.any, a, axis, keepdims, np.bool_)


def all(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.all(a) if axis is None else over(np.all, a, axis, keepdims, np.bool_)


def argmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmax(flat(a)) if axis is None else over(np.argmax, a, axis, keepdims, np.int64)


def argmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmin(flat(a)) if axis is None else over(np.argmin, a, axis, keepdims, np.int64)


def non_zero(a: Any) -> Any:
    n = 0
    for i in range(a.shape[0]):
        if a[i] != 0:
            n += 1
    return n


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return non_zero(flat(a)) if axis is None else over(non_zero, a, axis, keepdims, np.int64)


def deviation(a: Any, ddof: Any) -> Any:
    m = np.sum(a) / a.shape[0]
    s = 0.0
    for i in range(a.shape[0]):
        s += (a[i] - m) ** 2
    return s / (a.shape[0] - ddof)


def var(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    if axis is None:
        return deviation(flat(a), ddof)
    return over(lambda v: deviation(v, ddof), a, axis, keepdims, quotient_dtype(a))


def std(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    return np.sqrt(np.var(a, axis, ddof=ddof, keepdims=keepdims))


def middle(a: Any) -> Any:
    order = np.argsort(a)
    n = a.shape[0]
    return 0.5 * (a[order[(n - 1) // 2]] + a[order[n // 2]])


def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return middle(flat(a)) if axis is None else over(middle, a, axis, keepdims, quotient_dtype(a))


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return np.mean(a, axis)
    if axis is None or a.ndim == 1:
        return np.sum(a * weights) / np.sum(weights)
    if weights.ndim == 1 and axis % a.ndim == 0:
        return np.sum(a * (weights[:, None] if a.ndim == 2 else weights[:, None, None]), 0) / np.sum(weights)
    return np.sum(a * weights, axis) / np.sum(weights, axis if weights.ndim == a.ndim else None)
