"""Jacobians assembled from pullbacks (rows) and pushforwards (columns)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InvalidArgument, Unsupported
from ..tree import children, is_number, leaves_of, map_tree, rebuilt
from .calls import call
from .var import KIND, plain

__all__ = ["by_result", "from_columns", "from_rows", "numbers"]


def _is_real_leaf(leaf: Any) -> bool:
    return (KIND[type(leaf)] == 2 and leaf.dtype.kind in "fciu") or is_number(plain(leaf))


def _units(leaf: Any) -> list[Any]:
    """The unit vectors of a number or array."""
    if KIND[type(leaf)] != 2:
        return [type(plain(leaf))(1) if isinstance(plain(leaf), complex | np.inexact) else 1.0]
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
    rows = _at_once(y, back) or {path: [_row(y, back, path, unit) for unit in _units(leaf)] for path, leaf in _places(y)}

    def block(argument: int, tree: Any, path: tuple) -> Any:
        kids = children(tree)
        if kids is not None:
            return rebuilt(tree, [block(argument, child, (*path, key)) for key, child in kids])
        if path not in rows:
            return None
        shape = np.shape(plain(tree))
        if isinstance(rows[path], _Rows):
            return map_tree(lambda g: None if g is None else np.reshape(g, (*shape, *g.shape[1:])), rows[path].grads[argument])
        found = rows[path] or [back(_with(y, path, np.zeros(shape)))]       # no rows: what they would look like
        return _stacked([row[argument] for row in found], shape, 0)
    return [block(k, y, ()) for k in order]


_BLOCK = 256            # rows at a time


def _row(y: Any, back: Callable, path: tuple, unit: Any) -> Any:
    """The gradients of one number of the result. Of a complex one, the real part and the imaginary part have one each; it
    depends on complex arguments as a holomorphic function does, or is refused."""
    row = back(_with(y, path, unit))
    if not np.iscomplexobj(unit):
        return row
    return [_joined(a, b, 1j, 1j) for a, b in zip(row, back(_with(y, path, -1j * unit)), strict=True)]


def _joined(a: Any, b: Any, real: complex, turned: complex) -> Any:
    """`a + real * b` where both are real; `a` where b is `-turned * a`, as of a holomorphic function."""
    kids = children(a)
    if kids is not None:
        other = dict(children(b) or [])
        return rebuilt(a, [_joined(part, other.get(key), real, turned) for key, part in kids])
    if a is None or b is None:
        return a
    if not np.iscomplexobj(a):
        return call(np.add, a, call(np.multiply, real, b))
    off = np.abs(plain(b) + turned * plain(a))
    if np.any(off > 1e3 * np.finfo(np.asarray(a).dtype).eps * (np.max(np.abs(a), initial=0.0) + np.max(np.abs(b), initial=0.0))):
        raise Unsupported("the Jacobian of a complex result that is no holomorphic function of a complex argument",
                          instead="give the real and the imaginary parts as separate arguments or results")
    return a


class _Rows:
    """The gradients of one part of a result, with a leading axis."""

    def __init__(self, grads: list[Any]) -> None:
        self.grads = grads


def _at_once(y: Any, back: Callable) -> dict[tuple, Any] | None:
    """The rows of every part of the result by one run of the reverse sweep, where it has a leading axis."""
    places = _places(y)
    sizes = [int(np.size(leaf)) for _, leaf in places]
    run = getattr(back, "at_once", None)
    if run is None or sum(sizes) < 3 or any(isinstance(leaf, np.ndarray) and leaf.dtype.kind != "f" for _, leaf in places):
        return None
    total, spans = sum(sizes), np.cumsum([0, *sizes])
    whole: list[np.ndarray] = []
    grads = None
    for first in range(0, total, _BLOCK):
        last = min(first + _BLOCK, total)
        grads = run([_seed(leaf, at, first, last) for (_, leaf), at in zip(places, spans, strict=False)])
        if grads is None:
            return None
        parts = [v for v in leaves_of(grads) if v is not None]
        whole = whole or [np.empty((total, *v.shape[1:]), v.dtype) for v in parts]
        for v, part in zip(whole, parts, strict=True):
            v[first:last] = part
    rest = iter(whole)
    grads = [map_tree(lambda v: None if v is None else next(rest), g) for g in grads or []]
    return {path: _Rows([map_tree(lambda v: None if v is None else v[a:b], g) for g in grads])      # noqa: B023
            for (path, _), a, b in zip(places, spans[:-1], spans[1:], strict=True)}


def _seed(leaf: Any, at: int, first: int, last: int) -> np.ndarray:
    """The cotangents of one part of the result, whose numbers are counted from `at`, for the rows from `first` to `last`."""
    size = int(np.size(leaf))
    seed = np.zeros((last - first, size), leaf.dtype if isinstance(leaf, np.ndarray) else np.float64)
    own = np.arange(max(first, at), min(last, at + size))
    seed[own - first, own - at] = 1.0
    return seed.reshape(last - first, *np.shape(leaf))


def _stacked(items: list[Any], shape: tuple, side: int) -> Any:
    """Trees of arrays stacked leaf by leaf; `shape` in front (side 0) or behind (side 1). Where `shape` has no places, the
    one item only shows what the trees look like."""
    kids = children(items[0])
    if kids is not None:
        columns = [[dict(children(item) or [])[key] for item in items] for key, _ in kids]
        return rebuilt(items[0], [_stacked(column, shape, side) for column in columns])
    if items[0] is None:
        return None
    if shape == () and KIND[type(items[0])] != 2:
        return items[0]
    inner = np.shape(plain(items[0]))
    if 0 in shape:
        return np.zeros((*shape, *inner) if side == 0 else (*inner, *shape), getattr(items[0], "dtype", np.float64))
    axis = 0 if side == 0 else len(inner)
    stacked = call(np.stack, [call(np.asarray, item) for item in items], axis=axis)
    return call(np.reshape, stacked, (*shape, *inner) if side == 0 else (*inner, *shape))


def from_columns(push: Callable, values: list[Any], which: int, y: Any) -> Any:
    """The block of one argument: the structure of y, in it the structure of the argument."""
    value = values[which]
    shown = map_tree(lambda leaf: np.zeros(np.shape(plain(leaf))) if _is_real_leaf(leaf) else None, y)
    columns = {}
    for path, leaf in _places(value):
        tangents = [None] * len(values)
        columns[path] = []
        for unit in _units(leaf):
            tangents[which] = _with(value, path, unit)
            column = push(tuple(tangents))
            if np.iscomplexobj(unit):                # df/da - i df/db of real results, as in the gradient
                tangents[which] = _with(value, path, 1j * unit)
                column = _joined(column, push(tuple(tangents)), -1j, -1j)
            columns[path].append(column)
        columns[path] = columns[path] or [shown]
    if list(columns) == [()]:
        return _stacked(columns[()], np.shape(plain(value)), 1)

    def outer(tree: Any, path: tuple) -> Any:
        kids = children(tree)
        if kids is not None:
            return rebuilt(tree, [outer(child, (*path, key)) for key, child in kids])
        return map_paths(value, lambda inner, leaf: _stacked(
            [_at(column, path) for column in columns[inner]], np.shape(plain(leaf)), 1) if inner in columns else None)
    return outer(shown, ())


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


