"""Memory of large results, used again when nobody refers to it any more.

The system hands out fresh memory page by page at the first touch, which costs more than the arithmetic on it: the sum of
two arrays of 2 MB takes a tenth of a millisecond, and half a millisecond more if its result is new. A derivative makes
the same arrays at each call, so what a call leaves behind serves the next one.

An array is handed out again only when the reference kept here is the last one: views, memoryviews and users hold references,
so nobody can see it. An array that is still referred to when a call has ended is the user's and forgotten here.

>>> def call():
...     temporary, result = empty((300, 300), np.dtype(float)), empty((300, 300), np.dtype(float))
...     return temporary.__array_interface__["data"], result
>>> for _ in range(3):
...     enter()
...     place, result = call()
...     leave()
>>> enter()
>>> again, other = call()
>>> leave()
>>> again == place, other is result
(True, False)
"""
from __future__ import annotations

import math
import operator
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from transad.runtime.sweep import _local as _sweeps

__all__ = ["compute", "empty", "enter", "leave", "matmul", "multiply", "settle", "zeros"]

SMALLEST = 1 << 16      # bytes; smaller memory the allocator of the C library keeps itself
IDLE = 1 << 26          # bytes that may wait to be used again, per thread
_REPEATED = 3           # so many calls have asked for memory before it is kept between calls
_FORGOTTEN = 16         # so many calls that did not ask for it, and it is given back
_LATEST = 16            # how many of the latest arrays are asked whether they are free when one is needed
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_ENABLED = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


class _Pool(threading.local):
    """`free`, `busy`: arrays that wait, and those handed out in this call; `asked`: shape and dtype -> (number of calls that
    asked for it, the latest of them); `call`: the number of this call; `idle`: the bytes that wait; `inside`: how many calls
    are under way."""

    def __init__(self) -> None:
        self.free: dict[tuple, list[np.ndarray]] = {}
        self.busy: list[np.ndarray] = []
        self.asked: dict[tuple, tuple[int, int]] = {}
        self.idle = self.call = self.inside = 0


_pool = _Pool()


def _references(arrays: list[np.ndarray], k: int) -> int:
    array = arrays[k]
    return sys.getrefcount(array)


_ALONE = _references([np.empty(1)], 0)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array in C order that nobody else refers to, with any contents."""
    if math.prod(shape) * dtype.itemsize < SMALLEST or not _active():
        return np.empty(shape, dtype)
    key = (shape, dtype)
    found = _pool.free.get(key)
    if not found and _pool.busy:
        _reclaim(max(len(_pool.busy) - _LATEST, 0))
        found = _pool.free.get(key)
    times, latest = _pool.asked.get(key, (0, -1))
    if latest != _pool.call:
        _pool.asked[key] = (times + 1, _pool.call)
    if found:
        array = found.pop()
        _pool.idle -= array.nbytes
    else:
        array = np.empty(shape, dtype)
        if array.nbytes > IDLE:
            return array
        _drop(IDLE)
    _pool.busy.append(array)
    return array


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of zeros in C order that nobody else refers to."""
    if math.prod(shape) * dtype.itemsize < SMALLEST or not _active():
        return np.zeros(shape, dtype)
    array = empty(shape, dtype)
    array.fill(0)
    return array


def _active() -> bool:
    """Whether a call is under way that will say when it ends: a sweep is live, or `enter` was called."""
    return _ENABLED and bool(_pool.inside or _sweeps.stack)


def enter() -> None:
    """A call begins."""
    _pool.inside += 1


def leave() -> None:
    """A call ends."""
    _pool.inside -= 1
    if not _pool.inside and not _sweeps.stack:
        settle()


def settle() -> None:
    """After a call: of what is free, what calls ask for again and again waits for the next one; what is not free belongs to
    the user."""
    if not _pool.busy:
        return
    _reclaim(0)
    _pool.busy.clear()
    for key, (times, latest) in list(_pool.asked.items()):
        if times < _REPEATED or latest < _pool.call - _FORGOTTEN:
            _pool.idle -= sum(a.nbytes for a in _pool.free.pop(key, []))
            if latest < _pool.call - _FORGOTTEN:
                del _pool.asked[key]
    _drop(IDLE)
    _pool.call += 1


def _reclaim(first: int) -> None:
    """Take back the arrays from number `first` on that nobody else refers to."""
    busy = _pool.busy
    for k in range(len(busy) - 1, first - 1, -1):
        if _references(busy, k) == _ALONE:
            array = busy.pop(k)
            flags = array.flags
            if flags.c_contiguous and flags.owndata and flags.writeable and not weakref.getweakrefcount(array):
                _pool.free.setdefault((array.shape, array.dtype), []).append(array)
                _pool.idle += array.nbytes


def _drop(limit: int) -> None:
    """Give memory back, that which was not asked for longest first, down to a limit."""
    if _pool.idle > limit:
        for key in sorted(_pool.free, key=lambda k: _pool.asked[k][1]):
            _pool.idle -= sum(a.nbytes for a in _pool.free.pop(key))
            if _pool.idle <= limit:
                break


# -- operations whose results lie in such memory ------------------------------------------------------------------------

_UNARY = (np.negative, np.exp, np.expm1, np.log, np.log1p, np.sqrt, np.square, np.sin, np.cos, np.tan, np.arctan, np.sinh,
          np.cosh, np.tanh, np.abs, np.reciprocal)
_BINARY = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.hypot, np.arctan2, np.logaddexp)
_UFUNCS: dict[Any, np.ufunc] = {
    **{f: f for f in (*_UNARY, *_BINARY)}, operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply,
    operator.truediv: np.divide, operator.neg: np.negative}
_NUMBERS = frozenset({float, int, bool})


def compute(function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function(*args, **kwargs)`: the same values and layout, large results perhaps in memory that was used before."""
    if kwargs or not _ENABLED or len(args) > 2:
        return function(*args, **kwargs)
    if type(function) is np.ufunc or type(function) is _BUILTIN:
        ufunc = _UFUNCS.get(function)
        if ufunc is not None and ufunc.nin == len(args):
            out = _room(args)
            return function(*args) if out is None else ufunc(*args, out=out)
        if function is operator.matmul or function is np.matmul:
            return matmul(*args) if len(args) == 2 else function(*args)
        if function is operator.pow and len(args) == 2 and type(args[1]) in (int, float) and args[1] == 2:
            out = _room(args[:1])
            return function(*args) if out is None else np.square(args[0], out=out)
    return function(*args)


_BUILTIN = type(operator.add)


def multiply(a: Any, b: Any) -> Any:
    """`a * b`"""
    out = _room((a, b))
    return a * b if out is None else np.multiply(a, b, out=out)


def matmul(a: Any, b: Any) -> Any:
    """`a @ b`"""
    if type(a) is np.ndarray and type(b) is np.ndarray and a.ndim >= 2 and b.ndim >= 2 and a.dtype == b.dtype and (
            a.dtype in _FLOATS and a.shape[-1] == b.shape[-2] and _stacked(a) and _stacked(b)):
        stack = a.shape[:-2]
        if b.ndim > 2 and b.shape[:-2] != stack:
            stack = _broadcast(stack, b.shape[:-2])
        if stack is not None and math.prod(stack) * a.shape[-2] * b.shape[-1] * a.itemsize >= SMALLEST:
            return np.matmul(a, b, out=empty((*stack, a.shape[-2], b.shape[-1]), a.dtype))
    return a @ b


def _stacked(a: np.ndarray) -> bool:
    """Whether the matrices of a stack lie one after the other."""
    return a.ndim == 2 or (a.flags.c_contiguous or np.swapaxes(a, -1, -2).flags.c_contiguous)


def _room(args: tuple) -> np.ndarray | None:
    """Memory for the result of an elementwise function; None where it is small, or would not be real in C order."""
    first = args[0]
    if len(args) == 1:
        if type(first) is np.ndarray and first.nbytes >= SMALLEST and first.flags.c_contiguous and first.dtype in _FLOATS:
            return empty(first.shape, first.dtype)
        return None
    second = args[1]
    if type(first) is not np.ndarray:
        first, second = second, first
        if type(first) is not np.ndarray:
            return None
    dtype = first.dtype
    if dtype not in _FLOATS:
        return None
    if type(second) is not np.ndarray:
        if first.nbytes < SMALLEST or not first.flags.c_contiguous or not (
                type(second) in _NUMBERS or (type(second) is np.float64 and dtype is _FLOATS[0])):
            return None
        return empty(first.shape, dtype)
    if second.dtype != dtype or (first.size * second.size * dtype.itemsize < SMALLEST):
        return None
    shape = first.shape if first.shape == second.shape else _broadcast(first.shape, second.shape)
    if shape is None or math.prod(shape) * dtype.itemsize < SMALLEST:
        return None
    orderly = [a.flags.c_contiguous for a in (first, second)]
    if all(orderly) or any(yes and a.shape == shape for yes, a in zip(orderly, (first, second), strict=True)):
        return empty(shape, dtype)
    return None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which two shapes are stretched; None if they do not fit."""
    if len(a) < len(b):
        a, b = b, a
    out = list(a)
    for k in range(-len(b), 0):
        if a[k] != b[k]:
            if a[k] == 1:
                out[k] = b[k]
            elif b[k] != 1:
                return None
    return tuple(out)
