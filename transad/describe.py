"""Run-time values as kinds: the signature of a call, its flattened numbers, and structures put together again.

>>> shape, leaves = described((1.5, [2]))
>>> shape is None
True
>>> shape, leaves = described((1.5, 2))
>>> shape.kind, leaves
('tuple', [1.5, 2])
"""
from __future__ import annotations

import dataclasses
import enum
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.kinds import Array, Kind, Scalar, kind_of

_STATIC = (str, bytes, type(None), types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, types.ModuleType,
           enum.Enum)


@dataclass(frozen=True)
class Shape:
    """The shape of a value: `kind` is leaf | static | tuple | record; it is hashable, and part of a signature."""

    kind: str
    leaf: Kind | None = None
    value: Any = None
    cls: type | None = None
    names: tuple[str, ...] = ()
    parts: tuple[Shape, ...] = ()


_PLAIN = (float, int, np.float64, np.float32)      # not their subclasses, which carry derivatives of their own
_FLOAT = Shape("leaf", Scalar("float64"))
_INT = Shape("leaf", Scalar("int64"))


def described(value: Any) -> tuple[Shape | None, list[Any]]:
    """The shape of a value and its numbers and arrays in order; (None, []) for what the typed path cannot take."""
    leaves: list[Any] = []
    return _shape(value, leaves), leaves


def _shape(value: Any, leaves: list[Any]) -> Shape | None:
    kind = type(value)
    if kind is float:
        leaves.append(value)
        return _FLOAT
    if kind is int:
        leaves.append(value)
        return _INT if -2**63 <= value < 2**63 else None
    known = kind_of(value)
    if known is not None:
        leaves.append(value)
        flat = isinstance(known, Array) and known.ndim == 0        # neither a number nor a row of them
        return None if flat else Shape("leaf", known)
    if isinstance(value, _STATIC):
        return Shape("static", value=value)
    wrapped = getattr(value, "__wrapped__", None)
    if kind.__module__ == "transad.function" and isinstance(wrapped, types.FunctionType):
        return Shape("static", value=wrapped)
    if kind.__module__ == "transad.verbs" and hasattr(value, "__transad_function__"):
        return Shape("static", value=value)
    if isinstance(value, tuple) and (kind is tuple or hasattr(value, "_fields")):
        parts = [_shape(v, leaves) for v in value]
        return None if None in parts else Shape("tuple", cls=kind, parts=tuple(parts))     # type: ignore[arg-type]
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and kind.__setattr__ in (
            object.__setattr__,):
        names = tuple(f.name for f in dataclasses.fields(value))
        if set(getattr(value, "__dict__", {})) != set(names):
            return None
        parts = [_shape(getattr(value, n), leaves) for n in names]
        return None if None in parts else Shape("record", cls=kind, names=names, parts=tuple(parts))     # type: ignore
    return None


def rebuilt(shape: Shape, leaves: Any, like: Any) -> Any:
    """A gradient with the structure of an argument: an iterator of leaf gradients put in place."""
    if shape.kind == "leaf":
        g = next(leaves)
        if type(g) not in _PLAIN:
            return g
        return float(g) if isinstance(like, int | np.integer) else type(like)(g)
    if shape.kind == "static":
        return None
    if shape.kind == "tuple":
        parts = [rebuilt(p, leaves, v) for p, v in zip(shape.parts, like, strict=True)]
        assert shape.cls is not None
        return tuple(parts) if shape.cls is tuple else shape.cls(*parts)
    parts = [rebuilt(p, leaves, getattr(like, n)) for n, p in zip(shape.names, shape.parts, strict=True)]
    new = object.__new__(type(like))
    for n, p in zip(shape.names, parts, strict=True):
        object.__setattr__(new, n, p)
    return new


def leaf_kinds(shape: Shape) -> list[Kind]:
    """The kinds of the numbers and arrays, in order."""
    if shape.kind == "leaf":
        assert shape.leaf is not None
        return [shape.leaf]
    return [k for p in shape.parts for k in leaf_kinds(p)]


__all__ = ["Array", "Shape", "described", "leaf_kinds", "rebuilt"]
