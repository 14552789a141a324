"""Questions about arrays and numbers that carry no derivative; always run natively."""
from __future__ import annotations

from typing import Any

import numpy as np

from .var import COMPLEX, KIND, PLAIN_OF, VARS

__all__ = ["all_finite", "clear_overlap", "is_array", "is_complex", "is_complex_var", "is_var", "number_type",
           "repeated_axes", "tracked"]


def tracked(g: Any) -> bool:
    """Whether a cotangent is itself active in an outer sweep: its zero is then not a constant zero."""
    return type(g) in VARS


def is_complex(x: Any) -> bool:
    """Whether a number or array is of a complex type."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "c"
    return isinstance(x, (complex, np.complexfloating))


def is_complex_var(var: Any) -> bool:
    """Whether an active scalar is complex."""
    return type(var) in COMPLEX


def is_var(value: Any) -> bool:
    """Whether a value is an active scalar (of any sweep, ended or not)."""
    return type(value) in VARS


def is_array(value: Any) -> bool:
    """Whether a value is a NumPy array."""
    return KIND[type(value)] == 2


def all_finite(x: Any) -> bool:
    """Whether neither infinities nor NaNs are in a number or array; False too where its sum overflows."""
    return bool(np.isfinite(np.add.reduce(x, axis=None)))


def clear_overlap(array: np.ndarray) -> bool:
    """Whether two elements of `array` may share memory (False means surely not).

    >>> clear_overlap(np.ones((3, 4))[::2]), clear_overlap(np.broadcast_to(1.0, (2, 2)))
    (False, True)
    """
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return False
    reach = array.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach = stride * (size - 1) + reach
    return False


def number_type(var: Any) -> Any:
    """The type of the gradient of an active scalar: its own, float for integers."""
    base = PLAIN_OF[type(var)]
    if issubclass(base, int):
        return float
    return np.float64 if issubclass(base, np.integer) else base


def repeated_axes(array: np.ndarray) -> tuple[int, ...]:
    """The axes along which every step stays at the same element."""
    return tuple(k for k, (s, n) in enumerate(zip(array.strides, array.shape, strict=True)) if s == 0 and n > 1)
