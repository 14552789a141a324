"""What records keep: saved arguments, frozen indices, and questions about them. Always run natively."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidArgument
from .memory import Handle, gradient_dtype, save
from .sweep import Sweep
from .var import KIND, plain

__all__ = ["Record", "check_count", "freeze", "last_writers", "repeats", "restore", "snapshot", "store", "thaw",
           "zero_cotangent"]


class Record:
    """One application of a rule: `targets` of the cotangents, saved `args`, `kwargs` and result.

    `call`: the function, the names of the targets and the rule's parts. `short`: made by `short_arrays`. `ours`: the rule is
    one of the package, which neither write to the cotangent nor keep what they return.
    """

    __slots__ = ("args", "call", "kwargs", "ours", "out", "saved_out", "several", "short", "singular", "targets")

    def __init__(self, targets: list, args: Any, kwargs: Any, out: Any, saved_out: Any, singular: bool,
                 several: bool = False, ours: bool = True) -> None:
        self.targets, self.args, self.kwargs = targets, args, kwargs
        self.out, self.saved_out, self.singular, self.several = out, saved_out, singular, several
        self.ours, self.short = ours, False
        self.call: Any = None


def store(sweep: Sweep, value: Any) -> Any:
    """A value kept for the reverse sweep: arrays as copy-on-write handles, containers rebuilt."""
    kind = type(value)
    if kind is int or kind is str:
        return value
    if KIND[kind] == 2:
        return save(sweep, value)
    if kind is list or kind is tuple:
        return kind([store(sweep, v) for v in value])
    if kind is dict:
        return {k: store(sweep, v) for k, v in value.items()}
    return value


def snapshot(value: Any) -> Any:
    """The lists and dicts of an argument as they are now; the numbers and arrays in them stay themselves."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([snapshot(v) for v in value])
    if kind is dict:
        return {k: snapshot(v) for k, v in value.items()}
    return value


def restore(value: Any) -> Any:
    """What `store` kept."""
    kind = type(value)
    if kind is Handle:
        return value.value
    if kind is list or kind is tuple:
        return kind([restore(v) for v in value])
    if kind is dict:
        return {k: restore(v) for k, v in value.items()}
    return value


class Frozen:
    """An index that holds arrays, as it was when used."""

    __slots__ = ("parts", "single")

    def __init__(self, index: Any) -> None:
        self.single = not isinstance(index, tuple)
        parts = (index,) if self.single else index
        self.parts = tuple(np.array(p) if isinstance(p, (np.ndarray, list)) else p for p in parts)


def freeze(index: Any) -> Any:
    """An index that later changes of its arrays and lists cannot reach."""
    if isinstance(index, (np.ndarray, list)):
        return Frozen(index)
    if type(index) is tuple and any(isinstance(p, (np.ndarray, list)) for p in index):
        return Frozen(index)
    return index


def thaw(index: Any) -> Any:
    """The index that `freeze` kept."""
    if type(index) is Frozen:
        return index.parts[0] if index.single else index.parts
    return index


def repeats(index: Any) -> bool:
    """Whether an index may select an element twice (it holds an integer array of several entries).

    >>> repeats(np.array([0, 0])), repeats(np.array([True, False])), repeats((1, slice(None)))
    (True, False, False)
    """
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(p, (np.ndarray, list)) and np.asarray(p).dtype.kind != "b" and np.size(p) > 1 for p in parts)


def last_writers(array: np.ndarray, index: Any) -> Any:
    """1.0 where an element of `array[index] = v` is the last one written to its place, else 0.0."""
    order = np.full(array.shape, -1)
    size = order[index].size
    numbers = np.arange(size).reshape(order[index].shape)
    order[index] = numbers
    return (order[index] == numbers).astype(np.float64)


def zero_cotangent(out: Any) -> Any:
    """The zero cotangent of a number or array."""
    if KIND[type(out)] == 2:
        return np.zeros(out.shape, gradient_dtype(out.dtype))
    number = plain(out)
    return type(number)(0) if isinstance(number, (float, complex, np.inexact)) else 0.0


def check_count(found: Any, targets: Any) -> None:
    """Refuse a rule that returns another number of cotangents than there are arguments."""
    if len(found) != len(targets):
        raise InvalidArgument(f"the back function of a custom rule returned {len(found)} cotangents for "
                              f"{len(targets)} arguments", instead="return one per argument (None for zero)")
