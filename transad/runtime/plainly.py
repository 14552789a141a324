"""Runs beside the derivative: what a composite rule computes on plain values, with no sweep alive."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..errors import MissingRule
from .activity import _parts, lower
from .calls import HANDLERS, call_rewritten, missing
from .memory import before_write, root_of
from .sweep import live, suspended
from .var import KIND, plain

__all__ = ["as_written", "orders", "plainly"]


def plainly(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)` as it is without transad: nothing is recorded, the result has no derivative.

    The functions among the arguments may write into arrays of theirs; what was saved from those is copied first.
    """
    stack = live()
    for array in _arrays_in((function, args, kwargs)):
        before_write(array)
    with suspended(0):
        return _fresh(function(*lower(args, 0, stack), **lower(kwargs, 0, stack)))


def orders() -> int:
    """How many derivatives may be taken of what runs now: the number of live sweeps."""
    return len(live())


def as_written(function: types.FunctionType, /, *args: Any, **kwargs: Any) -> Any:
    """A library's function recorded through its own text, although it has a rule; named if that fails."""
    try:
        return call_rewritten(function, *args, **kwargs)
    except MissingRule as error:
        raise missing(function) from error


def _fresh(value: Any) -> Any:
    """Copies of the arrays of a result (they may be memory that is tracked), and plain numbers."""
    if KIND[type(value)] == 2:
        return np.array(value, subok=True)
    if isinstance(value, list) or type(value) is tuple:
        return type(value)([_fresh(v) for v in value])
    if type(value) is dict:
        return {k: _fresh(v) for k, v in value.items()}
    if isinstance(value, dict):                              # scipy.optimize.OptimizeResult
        for key, item in value.items():
            value[key] = _fresh(item)
    return plain(value)


def _arrays_in(value: Any) -> list[np.ndarray]:
    """The tracked arrays that a value, and the functions in it, reach."""
    stack = live()
    found: list[np.ndarray] = []
    seen: set[int] = set()
    todo = [value]
    while todo and len(seen) < 10000:
        item = todo.pop()
        if KIND[type(item)] == 2:
            if item.flags.writeable and any(id(root_of(item)) in sweep.handles for sweep in stack):
                found.append(item)
        elif id(item) not in seen and not isinstance(item, (str, bytes, int, float, complex, type, types.ModuleType)):
            seen.add(id(item))
            todo += _parts(item)
    return found


for _native in (plainly, orders, as_written):
    HANDLERS[id(_native)] = (_native, _native)
