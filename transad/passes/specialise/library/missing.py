"""Reductions that leave out what is not a number."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.passes.specialise.library.reductions import flat, over


def total(a: Any) -> Any:
    s = 0.0
    for i in range(a.shape[0]):
        if not np.isnan(a[i]):
            s += a[i]
    return s


def product(a: Any) -> Any:
    p = 1.0
    for i in range(a.shape[0]):
        if not np.isnan(a[i]):
            p = p * a[i]
    return p


def there(a: Any) -> Any:
    n = 0
    for i in range(a.shape[0]):
        if not np.isnan(a[i]):
            n += 1
    return n


def center(a: Any) -> Any:
    return total(a) / there(a)


def spread(a: Any, ddof: Any) -> Any:
    m = center(a)
    s = 0.0
    for i in range(a.shape[0]):
        if not np.isnan(a[i]):
            s += (a[i] - m) ** 2
    return s / (there(a) - ddof)


def largest(a: Any) -> Any:
    return np.max(np.where(np.isnan(a), -np.inf, a))


def smallest(a: Any) -> Any:
    return np.min(np.where(np.isnan(a), np.inf, a))


def middle(a: Any) -> Any:
    order = np.argsort(a)        # NaN goes last
    n = there(a)
    return 0.5 * (a[order[(n - 1) // 2]] + a[order[n // 2]])


def reduced(f: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    return f(flat(a)) if axis is None else over(f, a, axis, keepdims, np.float64)


def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(total, a, axis, keepdims)


def nanprod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(product, a, axis, keepdims)


def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(center, a, axis, keepdims)


def nanvar(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    return reduced(lambda v: spread(v, ddof), a, axis, keepdims)


def nanstd(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    return np.sqrt(reduced(lambda v: spread(v, ddof), a, axis, keepdims))


def nanmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(largest, a, axis, keepdims)


def nanmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(smallest, a, axis, keepdims)


def nanmedian(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced(middle, a, axis, keepdims)
