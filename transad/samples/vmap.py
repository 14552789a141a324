"""`vmap`: a function of one item applied to many.

>>> import numpy as np
>>> import transad
>>> def affine(w, x):
...     return w * x + 1.0
>>> transad.vmap(affine, in_axes=(None, 0))(2.0, np.array([1.0, 2.0]))
array([3., 5.])
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.tree import children, rebuilt

__all__ = ["stacked_items", "vmap"]


def vmap(function: Callable, in_axes: Any = 0, out_axes: Any = 0) -> Callable:
    """The function applied to every item of its arguments, the results stacked.

    in_axes   the axis of the items: one int for all arguments, or a tuple with an entry per argument: an int, None for
              an argument that all items share, or a structure of ints and None that matches a prefix of the argument
    out_axes  where the new axis of the results goes: an int, or a structure of ints that matches a prefix of the result

    `vmap(f)(*args)` takes positional arguments (keyword arguments are shared by all items). Items of an array are numbers
    or arrays; results are numbers, arrays and structures of them, of one shape for all items. It is one call of NumPy's
    functions where the text of the function allows it, and else a loop over the items; large maps of numbers run compiled and
    in threads where `transad.map` can do that. It is differentiated by every verb.

    Raises InvalidArgument where the arguments have different numbers of items, or none has an axis of items.
    """
    if not callable(function):
        raise InvalidArgument(f"vmap takes a function, not a {type(function).__name__}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        found = _compiled(function, args, kwargs, in_axes, out_axes) or _in_one_call(function, args, kwargs, in_axes, out_axes)
        return stacked_items(function, args, in_axes, out_axes, kwargs) if found is None else found[0]
    label = getattr(function, "__name__", type(function).__name__)
    mapped.__name__ = mapped.__qualname__ = f"vmap_{label}"
    mapped.__doc__ = f"vmap of {label}.\n\n{getattr(function, '__doc__', '') or ''}"
    return mapped


def stacked_items(function: Callable, args: tuple, in_axes: Any = 0, out_axes: Any = 0,
                  kwargs: dict | None = None) -> Any:
    """The results of all items, one after the other, stacked; recorded where a function is being differentiated."""
    from transad.runtime.calls import call
    axes = _per_argument(in_axes, args)
    n = _count(args, axes)
    results = [call(function, *(_item(a, axis, i) for a, axis in zip(args, axes, strict=True)), **(kwargs or {}))
               for i in range(n)]
    if not results:
        raise InvalidArgument("vmap over no items", instead="the shape of a result is not known without one")
    return _stacked(results, out_axes)


def _in_one_call(function: Callable, args: tuple, kwargs: dict, in_axes: Any, out_axes: Any) -> tuple[Any] | None:
    """The same by one call with an axis for the items, where the function is one that this can be done with."""
    from transad.passes.specialise.values import NotTyped
    from transad.samples.one_call import all_items
    axes = _per_argument(in_axes, args)
    n = _count(args, axes)
    if kwargs or n < 2:
        return None
    try:
        results = all_items(function, args, axes, n)
    except NotTyped:
        return None
    return (_placed(results, out_axes),)


def _placed(tree: Any, axes: Any) -> Any:
    """Results with the axis of the items in front, with that axis where it is wanted."""
    from transad.runtime.calls import call
    kids = children(tree)
    if kids is not None:
        return rebuilt(tree, [_placed(child, axis) for (_, child), axis in zip(kids, _below(axes, kids), strict=True)])
    if tree is None:
        return None
    if axes is None:
        raise InvalidArgument("out_axes=None", instead="give the place of the new axis, an int")
    return tree if axes == 0 else call(np.moveaxis, tree, 0, axes)


def _compiled(function: Callable, args: tuple, kwargs: dict, in_axes: Any, out_axes: Any) -> tuple[Any] | None:
    """The same by `transad.map`, where every argument is an array of items along the first axis."""
    from transad.errors import TransadError
    from transad.maps.map import map as compiled_map
    from transad.runtime.sweep import live
    if live() or kwargs or in_axes != 0 or out_axes != 0 or not args or not all(
            type(a) is np.ndarray and a.ndim and a.dtype == np.float64 for a in args):
        return None
    if len({len(a) for a in args}) != 1 or len(args[0]) < _WORTH_COMPILING or getattr(
            function, "__closure__", None) or getattr(function, "_verb", None):
        return None
    try:
        return (compiled_map(function, *args),)
    except TransadError:
        return None


_WORTH_COMPILING = 10_000       # items


def _per_argument(in_axes: Any, args: tuple) -> Sequence[Any]:
    if in_axes is None or isinstance(in_axes, int):
        return [in_axes] * len(args)
    if not isinstance(in_axes, tuple | list) or len(in_axes) != len(args):
        raise InvalidArgument(f"in_axes={in_axes!r} for {len(args)} arguments",
                              instead="give an int, or a tuple with one entry per argument")
    return in_axes


def _pairs(tree: Any, axes: Any) -> list[tuple[Any, Any]]:
    """(leaf, axis) for all leaves; `axes` is a prefix of the tree."""
    kids = children(tree)
    if kids is None:
        return [(tree, axes)]
    return [p for (key, child), axis in zip(kids, _below(axes, kids), strict=True) for p in _pairs(child, axis)]


def _below(axes: Any, kids: list[tuple[Any, Any]]) -> list[Any]:
    """The axes of the parts of a structure."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(kids)
    found = dict(children(axes) or [])
    if len(found) != len(kids) or any(key not in found for key, _ in kids):
        raise InvalidArgument(f"axes {axes!r} do not match a structure with {len(kids)} parts")
    return [found[key] for key, _ in kids]


def _count(args: tuple, axes: Sequence[Any]) -> int:
    lengths = set()
    for a, axis in zip(args, axes, strict=True):
        for leaf, k in _pairs(a, axis):
            if k is not None and leaf is not None:
                shape = np.shape(leaf)
                if not -len(shape) <= k < len(shape):
                    raise InvalidArgument(f"in_axes asks for axis {k} of an argument of shape {shape}")
                lengths.add(shape[k])
    if len(lengths) != 1:
        raise InvalidArgument("no argument has an axis of items" if not lengths else
                              f"the arguments have different numbers of items: {sorted(lengths)}")
    return lengths.pop()


def _item(tree: Any, axes: Any, i: int) -> Any:
    from transad.runtime.indexing import getitem
    kids = children(tree)
    if kids is not None:
        return rebuilt(tree, [_item(child, axis, i) for (_, child), axis in zip(kids, _below(axes, kids), strict=True)])
    if axes is None or tree is None:
        return tree
    axis = axes % np.ndim(tree)
    return getitem(tree, (slice(None),) * axis + (i,) if axis else i)


def _stacked(results: list[Any], axes: Any) -> Any:
    from transad.runtime.calls import call
    kids = children(results[0])
    if kids is not None:
        parts = [dict(children(r) or []) for r in results]
        below = _below(axes, kids)
        return rebuilt(results[0], [_stacked([p[key] for p in parts], axis)
                                    for (key, _), axis in zip(kids, below, strict=True)])
    if results[0] is None:
        return None
    if axes is None:
        raise InvalidArgument("out_axes=None", instead="give the place of the new axis, an int")
    return call(np.stack, [call(np.asarray, r) for r in results], axis=axes)
