"""Jacobians assembled from pullbacks (rows) and pushforwards (columns)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..tree import children, is_number, rebuilt
from .calls import call
from .var import KIND, plain

__all__ = ["by_result", "from_columns", "from_rows", "numbers"]


def _is_real_leaf(leaf: Any) -> bool:
    return (KIND[type(leaf)] == 2 and leaf.dtype.kind in "fciu") or is_number(plain(leaf))


def _units(leaf: Any) -> list[Any]:
    """The unit vectors of a number or array."""
    if KIND[type(leaf)] != 2:
        return [type(plain(leaf))(1) if isinstance(plain(leaf), np.inexact) else 1.0]
    out = []
    for index in np.ndindex(leaf.shape):
        unit = np.zeros(leaf.shape, leaf.dtype if leaf.dtype.kind in "fc" else np.float64)
        unit[index] = 1.0
        out.append(unit)
    return out


def _with(tree: Any, path: tuple, value: Any) -> Any:
    """A tree of zeros (None) with `value` at one place."""
    if not path:
        return value
    parts = [None if key != path[0] else _with(child, path[1:], value) for key, child in children(tree) or []]
    return rebuilt(tree, parts)


def _places(tree: Any, path: tuple = ()) -> list[tuple[tuple, Any]]:
    kids = children(tree)
    if kids is None:
        return [(path, tree)] if _is_real_leaf(tree) else []
    return [p for key, child in kids for p in _places(child, (*path, key))]


def numbers(tree: Any) -> int:
    """How many numbers a value holds."""
    return sum(int(np.size(plain(leaf))) for _, leaf in _places(tree))


def by_result(y: Any, blocks: list[Any]) -> Any:
    """Blocks of several arguments (each with the structure of y) as JAX nests them: the structure of y, in it a tuple
    over the arguments."""
    kids = children(y)
    if kids is None:
        return tuple(blocks)
    parts = [None if b is None else dict(children(b) or []) for b in blocks]
    return rebuilt(y, [by_result(child, [None if p is None else p.get(key) for p in parts]) for key, child in kids])


def from_rows(y: Any, back: Callable, order: list[int]) -> list[Any]:
    """One block per argument: the structure of y, in it that of the argument, leaves of shape y.shape + x.shape."""
    if not _places(y):
        raise InvalidArgument(f"the Jacobian of a result without numbers ({type(y).__name__})",
                              instead="return an array or a number")
    rows = {path: [back(_with(y, path, unit)) for unit in _units(leaf)] for path, leaf in _places(y)}

    def block(argument: int, tree: Any, path: tuple) -> Any:
        kids = children(tree)
        if kids is not None:
            return rebuilt(tree, [block(argument, child, (*path, key)) for key, child in kids])
        if path not in rows:
            return None
        shape = np.shape(plain(tree))
        return _stacked([row[argument] for row in rows[path]], shape, 0)
    return [block(k, y, ()) for k in order]


def _stacked(items: list[Any], shape: tuple, side: int) -> Any:
    """Trees of arrays stacked leaf by leaf; `shape` in front (side 0) or behind (side 1)."""
    if not items:
        return np.zeros(shape)
    kids = children(items[0])
    if kids is not None:
        columns = [[dict(children(item) or [])[key] for item in items] for key, _ in kids]
        return rebuilt(items[0], [_stacked(column, shape, side) for column in columns])
    if items[0] is None:
        return None
    if shape == () and KIND[type(items[0])] != 2:
        return items[0]
    inner = np.shape(plain(items[0]))
    axis = 0 if side == 0 else len(inner)
    stacked = call(np.stack, [call(np.asarray, item) for item in items], axis=axis)
    return call(np.reshape, stacked, (*shape, *inner) if side == 0 else (*inner, *shape))


def from_columns(push: Callable, values: list[Any], which: int) -> Any:
    """The block of one argument: the structure of y, in it the structure of the argument."""
    value = values[which]
    columns = {}
    for path, leaf in _places(value):
        tangents = [None] * len(values)
        columns[path] = []
        for unit in _units(leaf):
            tangents[which] = _with(value, path, unit)
            columns[path].append(push(tuple(tangents)))
    if list(columns) == [()]:
        return _stacked(columns[()], np.shape(plain(value)), 1)
    first = next(iter(columns.values()))[0]

    def outer(tree: Any, path: tuple) -> Any:
        kids = children(tree)
        if kids is not None:
            return rebuilt(tree, [outer(child, (*path, key)) for key, child in kids])
        return map_paths(value, lambda inner, leaf: _stacked(
            [_at(column, path) for column in columns[inner]], np.shape(plain(leaf)), 1) if inner in columns else None)
    return outer(first, ())


def _at(tree: Any, path: tuple) -> Any:
    for key in path:
        tree = dict(children(tree) or [])[key]
    return tree


def map_paths(tree: Any, function: Callable, path: tuple = ()) -> Any:
    """Apply function(path, leaf) to every leaf."""
    kids = children(tree)
    if kids is None:
        return function(path, tree)
    return rebuilt(tree, [map_paths(child, function, (*path, key)) for key, child in kids])


