"""Walking the structures that arguments and results may have.

Numbers and arrays sit in any nesting of lists, tuples, dicts, namedtuples, dataclasses and objects with attributes.
A gradient has the structure of its argument, with None where there is no number.

>>> leaves_of({"a": (1.5, "text"), "b": [2.0]})
[1.5, 'text', 2.0]
>>> map_tree(lambda v: v * 2 if isinstance(v, float) else None, {"a": (1.5, "text"), "b": [2.0]})
{'a': (3.0, None), 'b': [4.0]}
"""
from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import numbers
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from transad.errors import InvalidArgument

__all__ = ["children", "is_number", "leaves_of", "map_tree", "rebuilt"]

_LEAVES = (np.ndarray, np.generic, str, bytes, bytearray, int, float, complex, range, slice, types.FunctionType,
           types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, np.ufunc, np.dtype,
           np.random.Generator, functools.partial, enum.Enum, numbers.Number, types.GeneratorType, type(None), type(Ellipsis))


def is_number(value: Any) -> bool:
    """A real or complex number (booleans are flags, not numbers)."""
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def children(value: Any) -> list[tuple[Any, Any]] | None:
    """(key, child) pairs of a container or object; None for a leaf."""
    kind = type(value)
    if kind is dict or isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple, collections.deque)):
        return list(enumerate(value))
    if isinstance(value, _LEAVES) or kind.__module__.split(".")[0] in ("transad", "numba"):
        return None
    if dataclasses.is_dataclass(value):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    attributes = getattr(value, "__dict__", None)
    if attributes is None or isinstance(value, BaseException):
        return _slots(value)
    return list(attributes.items()) + (_slots(value) or [])


def paired(parts: list[tuple[Any, Any]], given: Any, what: str) -> list[tuple[Any, Any, Any]]:
    """(key, part, what stands in its place) for the parts of a container; `what` is given, and named where it does not fit.

    >>> paired([("a", 1.0), ("b", 2.0)], {"b": 4.0, "a": 3.0}, "the tangent")
    [('a', 1.0, 3.0), ('b', 2.0, 4.0)]
    """
    others = children(given)
    if others is None or len(others) != len(parts):
        raise InvalidArgument(f"{what} does not have its structure")
    found = dict(others)
    for key, _ in parts:
        if key not in found:
            raise InvalidArgument(f"{what} lacks the entry {key!r}")
    return [(key, part, found[key]) for key, part in parts]


def _slots(value: Any) -> list[tuple[Any, Any]] | None:
    names = [n for c in type(value).__mro__ for n in _names(c.__dict__.get("__slots__", ())) if hasattr(value, n)
             and n not in ("__dict__", "__weakref__")]
    return [(n, getattr(value, n)) for n in names] or None


def _names(slots: Any) -> tuple:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def rebuilt(value: Any, parts: list[Any]) -> Any:
    """A container like `value` with other children, in the order of `children`."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(parts)
    if isinstance(value, dict):
        new = copy.copy(value) if kind is not dict else {}
        new.update(zip(value, parts, strict=True))
        return new
    if isinstance(value, tuple):
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if isinstance(value, (list, collections.deque)):
        new = copy.copy(value)
        new.clear()
        new.extend(parts)
        return new
    new = copy.copy(value)
    for (name, _), part in zip(children(value) or [], parts, strict=True):
        object.__setattr__(new, name, part)
    return new


def map_tree(function: Callable[[Any], Any], value: Any, memo: dict[int, Any] | None = None) -> Any:
    """Apply a function to every leaf and rebuild; what is shared stays shared."""
    parts = children(value)
    if parts is None:
        return function(value)
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)][1]
    memo[id(value)] = (value, value)          # a cycle sees the original
    new = rebuilt(value, [map_tree(function, child, memo) for _, child in parts])
    memo[id(value)] = (value, new)
    return new


def leaves_of(value: Any, seen: set[int] | None = None) -> list[Any]:
    """All leaves, depth first."""
    parts = children(value)
    if parts is None:
        return [value]
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    return [leaf for _, child in parts for leaf in leaves_of(child, seen)]
