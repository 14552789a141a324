"""The methods of ufuncs: reduce, accumulate, outer, at, reduceat."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..rules.registry import find
from .activity import active_in, deepest, lower
from .adjoints import scattered
from .calls import call, missing, opaque
from .indexing import getitem, load, setitem
from .memory import before_write, root_of
from .records import freeze
from .sweep import live

__all__ = ["ufunc_method"]

_REDUCE = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min}
_ACCUMULATE = {np.add: np.cumsum, np.multiply: np.cumprod}


def ufunc_method(ufunc: np.ufunc, name: str, args: tuple, kwargs: dict) -> Any:
    """`ufunc.name(*args, **kwargs)`"""
    function = getattr(ufunc, name)
    stack = live()
    if deepest((args, list(kwargs.values())), stack, len(stack)) < 0:
        if name == "at":
            before_write(args[0])
        elif kwargs.get("out") is not None:
            return opaque(function, args, kwargs)
        return function(*lower(args, 0, stack), **lower(kwargs, 0, stack))
    rule = find(ufunc)
    if rule is not None and rule.nondiff:
        return function(*lower(args, 0, stack), **lower(kwargs, 0, stack))
    implementation = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "at": _at,
                      "reduceat": _reduceat}.get(name)
    if implementation is None or kwargs.get("out") is not None:
        raise missing(function)
    return implementation(ufunc, *args, **kwargs)


def _reduce(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
            initial: Any = None, where: Any = True) -> Any:
    options: dict[str, Any] = {"keepdims": keepdims} if keepdims else {}
    if ufunc in _REDUCE:
        if dtype is not None:
            options["dtype"] = dtype
        if initial is not None:
            options["initial"] = initial
        if where is not True:
            options["where"] = where
        return call(_REDUCE[ufunc], array, axis, **options)
    if dtype is not None or ufunc in (np.power, np.float_power):     # NumPy's own order of powers changes with the layout
        raise missing(ufunc.reduce)
    array = call(np.asarray, array)
    if where is not True:
        array = call(np.where, where, array, _neutral(ufunc, initial))
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    order = sorted([a % array.ndim for a in axes], reverse=True)
    for a in order:
        moved = call(np.moveaxis, array, a, 0)
        array = initial if a == order[-1] else None
        for k in range(len(moved)):
            item = load(moved, k)
            array = item if array is None else call(ufunc, array, item)
        if array is None:
            raise missing(ufunc.reduce)             # nothing to start from
    return call(np.expand_dims, array, tuple(order)) if keepdims else array


def _neutral(ufunc: np.ufunc, initial: Any) -> Any:
    """What stands for the elements that `where` leaves out."""
    if ufunc.identity is not None:
        return ufunc.identity
    if initial is None or ufunc not in (np.fmax, np.fmin):
        raise missing(ufunc.reduce)
    return initial


def _reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    if dtype is not None:
        raise missing(ufunc.reduceat)
    moved = call(np.moveaxis, call(np.asarray, array), axis, 0)
    starts = [int(i) for i in indices]
    parts = []
    for k, start in enumerate(starts):
        stop = starts[k + 1] if k + 1 < len(starts) else len(moved)
        parts.append(_reduce(ufunc, getitem(moved, slice(start, stop))) if start < stop else load(moved, start))
    return call(np.stack, parts, axis=axis)


def _accumulate(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    if ufunc in _ACCUMULATE and dtype is None:
        return call(_ACCUMULATE[ufunc], array, axis)
    moved = call(np.moveaxis, call(np.asarray, array), axis, 0)
    items: list[Any] = []
    for k in range(len(moved)):
        item = load(moved, k)
        items.append(item if k == 0 else call(ufunc, items[-1], item))
    return call(np.stack, items, axis=axis) if items else call(np.copy, array)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    a, b = call(np.asarray, a), call(np.asarray, b)
    return call(ufunc, call(np.reshape, a, a.shape + (1,) * b.ndim), b, **kwargs)


def _add_at(ufunc: np.ufunc, array: Any, index: Any, operand: Any) -> None:
    stack = live()
    before_write(array)
    depth = deepest(operand, stack, len(stack))
    ufunc.at(array, index, lower(operand, 0, stack))
    root = root_of(array)
    for sweep in stack[:depth + 1]:
        target = lower(operand, sweep.depth + 1, stack)
        if active_in(target, sweep):
            sweep.roots.setdefault(id(root), root)
            sweep.tape.append((array, (freeze(index), target, 1.0 if ufunc is np.add else -1.0), scattered))


def _at(ufunc: np.ufunc, array: Any, index: Any, *operand: Any) -> None:
    """Element after element; sums in one record (the cotangent of the operand is gathered)."""
    if (ufunc is np.add or ufunc is np.subtract) and array.dtype.kind in "fc":
        _add_at(ufunc, array, index, operand[0])
        return
    positions = np.arange(array.size).reshape(array.shape)[index]
    places = np.unravel_index(positions.ravel(), array.shape)
    if not operand:
        for k in range(positions.size):
            place = tuple(int(p[k]) for p in places)
            setitem(call(ufunc, load(array, place)), array, place)
        return
    if np.unique(positions).size == positions.size:
        setitem(call(ufunc, getitem(array, index), operand[0]), array, index)
        return
    spread = call(np.ravel, call(np.broadcast_to, call(np.asarray, operand[0]), positions.shape))
    for k in range(positions.size):
        place = tuple(int(p[k]) for p in places)
        setitem(call(ufunc, load(array, place), load(spread, k)), array, place)
