"""Which sweeps a value is active in, and the value as an outer sweep sees it."""
from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .memory import root_of, supported
from .sweep import Sweep
from .var import KIND, VARS

__all__ = ["active_in", "deepest", "lower", "reaches_active"]


def deepest(value: Any, stack: list[Sweep], limit: int, best: int = -1) -> int:
    """The depth of the innermost of the outer `limit` sweeps in which a number, array or nesting of lists and tuples
    is active; `best` when it is not deeper than that."""
    kind = type(value)
    if kind in VARS:
        while type(value) in VARS:
            depth = value.sweep.depth
            if depth < limit and depth < len(stack) and stack[depth] is value.sweep:
                return max(best, depth)
            value = value.outer
        return best
    if kind is float or kind is int:
        return best
    if KIND[kind] == 2:
        root = id(root_of(value))
        for depth in range(limit - 1, best, -1):
            if root in stack[depth].roots:
                supported(value)
                return depth
        return best
    if isinstance(value, (list, tuple)):
        for item in value:
            best = deepest(item, stack, limit, best)
            if best == limit - 1:
                break
    elif kind is dict:
        for item in value.values():
            best = deepest(item, stack, limit, best)
    return best


def active_in(value: Any, sweep: Sweep) -> bool:
    """Whether a value lowered to the level of `sweep` is active there."""
    kind = type(value)
    if kind in VARS:
        return value.sweep is sweep
    if kind is float or kind is int:
        return False
    if KIND[kind] == 2:
        return id(root_of(value)) in sweep.roots and supported(value)
    if isinstance(value, (list, tuple)):
        return any(active_in(item, sweep) for item in value)
    return kind is dict and any(active_in(item, sweep) for item in value.values())


def lower(value: Any, depth: int, stack: list[Sweep]) -> Any:
    """The value as seen with only the outer `depth` sweeps alive (0: plain numbers). Arrays stay what they are."""
    kind = type(value)
    if kind in VARS:
        while type(value) in VARS:
            sweep = value.sweep
            if sweep.depth < depth and sweep.depth < len(stack) and stack[sweep.depth] is sweep:
                break
            value = value.outer
        return value
    if kind is list or kind is tuple:
        for k, item in enumerate(value):
            low = lower(item, depth, stack)
            if low is not item:
                return kind([*value[:k], low, *(lower(v, depth, stack) for v in value[k + 1:])])
    elif kind is dict:
        return {k: lower(v, depth, stack) for k, v in value.items()}
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(lower(v, depth, stack) for v in value))
    return value


_LEAVES = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, type, np.dtype, np.ufunc, range)


def reaches_active(value: Any, stack: list[Sweep], seen: set[int] | None = None, level: int = 0) -> bool:
    """Whether an active value can be reached from `value` through containers, attributes, closures and partials."""
    kind = type(value)
    if kind in VARS or KIND[kind] == 2:
        if KIND[kind] == 2 and value.dtype.kind == "O":
            return any(reaches_active(v, stack, seen, level + 1) for v in value.flat)
        return deepest(value, stack, len(stack)) >= 0
    if isinstance(value, _LEAVES) or level > 20:
        return False
    seen = set() if seen is None else seen
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(reaches_active(part, stack, seen, level + 1) for part in _parts(value))


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        return _cells(value) + list(value.__defaults__ or ())
    if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        return [value.__self__]
    if isinstance(value, types.GeneratorType):
        return list(value.gi_frame.f_locals.values()) if value.gi_frame is not None else []
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
        return _iterated(value)
    if isinstance(value, (np.flatiter, memoryview)):
        return [value.base if isinstance(value, np.flatiter) else value.obj]
    parts = list(getattr(value, "__dict__", {}).values())
    for cls in type(value).__mro__:
        for name in cls.__dict__.get("__slots__", ()):
            if isinstance(name, str) and hasattr(value, name):
                parts.append(getattr(value, name))
    return parts


def _iterated(iterator: Any) -> list[Any]:
    """What a builtin iterator runs over, from how it would be pickled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(iterator.__reduce__()[1:])
        except TypeError:
            return []


def _cells(function: types.FunctionType) -> list[Any]:
    out = []
    for cell in function.__closure__ or ():
        try:
            out.append(cell.cell_contents)
        except ValueError:
            continue
    return out
