"""Arguments on their way in, results on their way out.

A differentiated argument enters as a tracked copy: numbers become Vars, arrays are copied into memory of their own
(so that another name for the same array is not mistaken for the argument), containers are rebuilt around them. What
the function does to its argument is carried over to the caller's object afterwards.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidArgument, Unsupported
from ..tree import children, is_number, leaves_of, rebuilt
from .activity import lower
from .apply import filler
from .indexing import write
from .memory import copy_below, root_of
from .sweep import Sweep, live
from .var import KIND, VARS, make_var

__all__ = ["Tracked", "is_differentiable", "returned", "track"]


class Tracked:
    """One differentiated argument: `value` for the function, `places` to read the gradient from."""

    __slots__ = ("_back", "_own", "places", "sweep", "value")

    def __init__(self, sweep: Sweep, value: Any, places: Any, own: list[tuple[Any, Any, Any]],
                 back: dict[int, tuple[Any, Any, Any]]) -> None:
        self.sweep, self.value, self.places, self._own, self._back = sweep, value, places, own, back

    def carry_over(self) -> None:
        """Do to the caller's objects what the function did to their tracked copies."""
        for original, tracked, before in self._own:
            if isinstance(tracked, np.ndarray):
                if id(root_of(tracked)) in self.sweep.written:
                    write(tracked, original, Ellipsis)
            else:
                self._carry_container(original, tracked, before)

    def _carry_container(self, original: Any, tracked: Any, before: list) -> None:
        now = children(tracked) or []
        if len(now) == len(before) and all(k == p and c is q for (k, c), (p, q) in zip(now, before, strict=True)):
            return
        if isinstance(original, list):
            original[:] = [self._outside(c) for c in tracked]
        elif isinstance(original, dict):
            new = {k: self._outside(c) for k, c in tracked.items()}
            original.clear()
            original.update(new)
        elif not isinstance(original, tuple):
            for name, child in now:
                object.__setattr__(original, name, self._outside(child))

    def _outside(self, value: Any) -> Any:
        """What the caller's container holds in the place of a value of the run."""
        found = self._back.get(id(value))
        if found is not None and found[1] is value:
            return found[0]
        return returned(self.sweep, value)


def refuse_shared_writes(tracked: list[Tracked], others: Any) -> None:
    """Arguments enter as copies; that is not what the program does where one is written that another one sees."""
    arrays = [(own[0], own[1]) for t in tracked for own in t._own if isinstance(own[1], np.ndarray)]
    for original, copy in arrays:
        if id(root_of(copy)) not in tracked[0].sweep.written:
            continue
        seen = [o for o, c in arrays if c is not copy] + [o for o in leaves_of(others) if isinstance(o, np.ndarray)]
        if any(np.shares_memory(original, o) for o in seen):
            raise Unsupported("the function writes into an argument that shares memory with another argument",
                              instead="pass a copy as one of them")


def is_differentiable(value: Any) -> bool:
    """Whether an argument holds any number that can be differentiated."""
    return any(_is_active_leaf(v, True) for v in leaves_of(value))


def _is_active_leaf(leaf: Any, integers: bool) -> bool:
    if KIND[type(leaf)] == 2:
        return leaf.dtype.kind in ("fciu" if integers else "fc") or (
            leaf.dtype.names is not None and any(leaf.dtype[n].kind in "fc" for n in leaf.dtype.names))
    if not is_number(leaf):
        return False
    return integers or not isinstance(leaf, (int, np.integer))


def track(sweep: Sweep, value: Any, what: str, back: dict[int, tuple[Any, Any, Any]] | None = None) -> Tracked:
    """Enter an argument into a sweep. Integers count as real where the argument holds no other numbers.

    back: what the tracked copies of all arguments of the call stand for, shared among them."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        raise InvalidArgument(f"{what} is an array of objects", instead="give an array of floats")
    if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap, np.recarray):
        raise InvalidArgument(f"{what} is a {type(value).__name__}", instead="give an ordinary array (np.asarray)")
    integers = not any(_is_active_leaf(v, False) for v in leaves_of(value))
    back = {} if back is None else back
    own: list[tuple[Any, Any, Any]] = []
    memo: dict[int, tuple[Any, Any]] = {}

    def remember(original: Any, tracked: Any, before: Any) -> None:
        own.append((original, tracked, before))
        back[id(tracked)] = own[-1]

    def enter(part: Any) -> tuple[Any, Any]:
        if id(part) in memo and not is_number(part):
            return memo[id(part)]
        kids = children(part)
        if kids is None:
            new = _enter_leaf(sweep, part, integers)
            if isinstance(new[1], np.ndarray):
                remember(part, new[0], None)
            return new
        memo[id(part)] = (part, None)
        pairs = [enter(child) for _, child in kids]
        if all(place is None for _, place in pairs):
            pairs = [(child, place) for (_, child), (_, place) in zip(kids, pairs, strict=True)]
        tracked = rebuilt(part, [p[0] for p in pairs])
        memo[id(part)] = (tracked, rebuilt(part, [p[1] for p in pairs]))
        remember(part, tracked, children(tracked))
        return memo[id(part)]

    tracked, places = enter(value)
    enter = None       # type: ignore[assignment]  # it refers to itself: what it saw would wait for the garbage collector
    return Tracked(sweep, tracked, places, own, back)


def _enter_leaf(sweep: Sweep, leaf: Any, integers: bool) -> tuple[Any, Any]:
    if not _is_active_leaf(leaf, integers):
        return leaf, None
    if KIND[type(leaf)] == 2:
        copy = copy_below(leaf, sweep.depth, True)
        memory = root_of(copy)
        if not leaf.flags.writeable:
            copy.flags.writeable = False
        sweep.roots[id(memory)] = memory
        sweep.made.add(id(memory))
        return copy, copy
    sweep.tape.append((None, None, filler))
    var = make_var(sweep, len(sweep.tape) - 1, leaf)
    return var, var


def returned(sweep: Sweep, value: Any) -> Any:
    """A result as the caller sees it: without the Vars of this sweep, arrays of the sweep as copies."""
    memo: dict[int, Any] = {}

    def leave(part: Any) -> Any:
        if type(part) in VARS:
            return lower(part, sweep.depth, live())
        if KIND[type(part)] == 2:
            if id(part) not in memo:
                inside = id(root_of(part)) in sweep.roots
                memo[id(part)] = copy_below(part, sweep.depth) if inside else part
            return memo[id(part)]
        kids = children(part)
        if kids is None or type(part).__module__.split(".")[0] in ("transad", "numpy"):
            return part
        if id(part) in memo:
            return memo[id(part)]
        memo[id(part)] = part
        new = [leave(child) for _, child in kids]
        if any(n is not child for n, (_, child) in zip(new, kids, strict=True)):
            memo[id(part)] = rebuilt(part, new)
        return memo[id(part)]

    result = leave(value)
    leave = None       # type: ignore[assignment]  # as above
    return result
