"""Calls recorded as one entry: functions with a rule of their own, and checkpointed functions.

Both run without the sweep that records them, so that only their result is kept.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import TransadError, Unsupported
from ..tree import map_tree
from .activity import active_in, deepest, lower, reaches_active
from .adjoints import boxed
from .apply import filler
from .calls import call, user_place
from .memory import copy_below, root_of
from .records import Record, check_count, snapshot, store
from .sweep import Sweep, live, suspended
from .var import KIND, VARS, make_var, plain

__all__ = ["by_rule", "checkpointed"]


def by_rule(function: Any, rule: Callable, args: tuple, kwargs: dict) -> Any:
    """`function(*args)` with the derivative that `rule(*args) -> (y, back)` gives."""
    stack = live()
    depth = deepest(args, stack, len(stack))
    if reaches_active(kwargs, stack):
        raise Unsupported("an active keyword argument of a function with custom_rule",
                          instead="pass it as a positional argument", place=user_place())
    _refuse_captured((function, rule), stack, "custom_rule")
    if depth < 0:
        if reaches_active(args, stack):
            raise Unsupported("an object with active attributes as argument of a function with custom_rule",
                              instead="pass numbers, arrays, lists, tuples or dicts of them", place=user_place())
        return call(function, *args, **kwargs)
    sweep = stack[depth]
    inner = lower(args, depth, stack)
    with suspended(depth), _no_writes(sweep, args):
        y, back = call(rule, *inner, **kwargs)
    return _record(sweep, lower(args, depth + 1, stack), y, back)


def _refuse_captured(functions: tuple, stack: list[Sweep], verb: str) -> None:
    if reaches_active(functions, stack):
        raise Unsupported(f"a function given to {verb} captures an active value, whose derivative would be lost",
                          instead="pass it as an argument", place=user_place())


class _no_writes:
    """While this is entered, a write into active memory or into the arguments is refused."""

    def __init__(self, sweep: Sweep, args: Any) -> None:
        self.sweep, self.args = sweep, args

    def __enter__(self) -> None:
        self.probe = Sweep(len(live()))
        self.probe.parent = self.sweep
        reason = "a function with custom_rule or checkpoint writes into its argument or into an active array"
        self.probe.guarded = _Guard(self.sweep.roots, reason)
        for array in _arrays(self.args):
            self.probe.guarded[id(root_of(array))] = reason
        from . import sweep as module
        self.before = live()
        module._local.stack = [*self.before, self.probe]

    def __exit__(self, *_: Any) -> None:
        from . import sweep as module
        module._local.stack = self.before


class _Guard(dict):
    """The reason why memory may not be written, for memory of one's own and all that a sweep tracks."""

    def __init__(self, roots: dict[int, Any], reason: str) -> None:
        super().__init__()
        self._roots, self._reason = roots, reason

    def __bool__(self) -> bool:
        return True

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._roots

    def __missing__(self, key: int) -> str:
        return self._reason


def _arrays(value: Any) -> list[np.ndarray]:
    if KIND[type(value)] == 2:
        return [value]
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in _arrays(v)]
    if isinstance(value, dict):
        return [a for v in value.values() for a in _arrays(v)]
    return []


def _record(sweep: Sweep, targets: tuple, y: Any, back: Callable) -> Any:
    """Make the numbers and arrays of `y` active; one entry calls `back`."""
    owners = [root_of(a) for a in _arrays(targets)]

    def enter(leaf: Any) -> Any:
        if KIND[type(leaf)] == 2 and leaf.dtype.kind in "fc":
            root = root_of(leaf)
            if any(root is o for o in owners) or leaf is not root or id(root) in sweep.roots:
                leaf = copy_below(leaf, sweep.depth)
            sweep.roots[id(leaf)] = leaf
            sweep.made.add(id(leaf))
            return leaf
        if type(leaf) in VARS or isinstance(leaf, (float, complex, np.inexact)):
            sweep.tape.append((None, None, filler))
            return make_var(sweep, len(sweep.tape) - 1, leaf)
        return leaf
    made = map_tree(enter, y)
    wanted = tuple(snapshot(t) if active_in(t, sweep) else None for t in targets)
    sweep.tape.append((Record([], None, {}, made, None, False), (wanted, back), boxed))
    return made


def plain_back(back: Callable, cotangent: Any, targets: tuple) -> list[Any]:
    """What `back` gives for a cotangent, one entry per target."""
    found = call(back, cotangent)
    if not isinstance(found, (tuple, list)):
        found = (found,)
    check_count(found, targets)
    return list(found)


def checkpointed(function: Any, args: tuple, kwargs: dict) -> Any:
    """`function(*args, **kwargs)`, run without recording and again in the reverse sweep."""
    stack = live()
    depth = deepest((args, kwargs), stack, len(stack))
    function, captured = _lifted(function, stack)
    depth = deepest(captured, stack, len(stack), depth)
    if depth < 0:
        return call(function, *captured, *args, **kwargs)
    sweep = stack[depth]
    if not sweep.keeps:                              # forwards nothing is kept anyway
        return call(function, *captured, *args, **kwargs)
    names = tuple(kwargs)
    everything = (*captured, *args, *kwargs.values())
    body = _Body(function, names)
    inner = lower(everything, depth, stack)
    with suspended(depth), _no_writes(sweep, everything):
        y = call(body, *inner)
    saved = store(sweep, inner)
    made = _record(sweep, lower(everything, depth + 1, stack), y, _Again(body, saved, map_tree(_value, y)))
    return made


def _value(leaf: Any) -> Any:
    return np.array(leaf) if KIND[type(leaf)] == 2 else plain(leaf)


class _Body:
    """A function whose keyword arguments (and lifted captured values) are positional."""

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        self._function, self._names = function, names

    def __call__(self, *args: Any) -> Any:
        count = len(args) - len(self._names)
        return call(self._function, *args[:count], **dict(zip(self._names, args[count:], strict=True)))


class _Again:
    """The pullback of a checkpointed call: run again, recording this time."""

    def __init__(self, body: _Body, saved: Any, value: Any) -> None:
        self._body, self._saved, self._value = body, saved, value

    def __call__(self, cotangent: Any) -> tuple:
        from ..api import pullback
        from .records import restore
        y, back = pullback(self._body, *restore(self._saved))
        if not _same(map_tree(_value, y), self._value):
            raise TransadError("a checkpointed function gave another result when it ran again, so its gradient would "
                               "be that of another value", code="TA204",
                               instead="draw random numbers outside and pass them in; keep state out of it")
        return back(cotangent)


def _same(a: Any, b: Any) -> bool:
    from ..tree import leaves_of
    return all(np.array_equal(x, y, equal_nan=True) if KIND[type(x)] == 2 or isinstance(x, (float, complex))
               else True for x, y in zip(leaves_of(a), leaves_of(b), strict=True))


def _lifted(function: Any, stack: list[Sweep]) -> tuple[Any, tuple]:
    """The function with the active values of its closure as leading arguments."""
    if not reaches_active(function, stack):
        return function, ()
    if not isinstance(function, types.FunctionType):
        _refuse_captured((function,), stack, "checkpoint")
    from .twin import rewritten
    twin = rewritten(function)
    names, values, cells = [], [], []
    for name, cell in zip(twin.__code__.co_freevars, twin.__closure__ or (), strict=True):
        value = _content(cell)
        if deepest(value, stack, len(stack)) >= 0:
            names.append(len(cells))
            values.append(value)
        elif name in function.__code__.co_freevars and reaches_active(value, stack):
            _refuse_captured((value,), stack, "checkpoint")
        cells.append(cell)
    _refuse_captured(function.__defaults__ or (), stack, "checkpoint")
    return _Lifted(twin, cells, names), tuple(values)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


class _Lifted:
    """A closure with some cells filled from its first arguments."""

    def __init__(self, twin: types.FunctionType, cells: list, numbers: list[int]) -> None:
        self._twin, self._cells, self._numbers = twin, cells, numbers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cells = list(self._cells)
        for number, value in zip(self._numbers, args, strict=False):
            cells[number] = types.CellType(value)
        twin = self._twin
        new = types.FunctionType(twin.__code__, twin.__globals__, twin.__name__, twin.__defaults__, tuple(cells))
        new.__kwdefaults__ = twin.__kwdefaults__
        return new(*args[len(self._numbers):], **kwargs)
