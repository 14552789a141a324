"""Arrays that a run has made and that somebody else still holds when it has ended: he may write into them later.

An object keeps a state, a list is appended to, a cache is filled. What the tape saved out of such memory has to be copied
before the user gets the pullback. Nobody tells who holds an array, but the references to it can be counted: those of the
tape, its records and its views are known, and every other one is somebody else's. One that is not known costs a needless
copy; each is therefore counted once, and only where it is seen.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .memory import Handle, root_of
from .records import Frozen, Record
from .sweep import Sweep

__all__ = ["held_by_others", "references"]


_COUNTED = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


def references(sweep: Sweep) -> dict[int, int]:
    """The number of references to each owner of the sweep."""
    roots = sweep.roots
    return {key: sys.getrefcount(roots[key]) for key in roots}


def held_by_others(sweep: Sweep, before: dict[int, int]) -> list[int]:
    """The ids of the owners with saved values, made in this run, to which anything outside refers. `before`: the references
    to the arguments before the function was called."""
    roots = sweep.roots
    wanted = [key for key in sweep.handles if key in sweep.made and key in roots]
    if not wanted or not _COUNTED:
        return wanted
    count = _Count()
    for entry in sweep.tape:
        if len(entry) == 3:
            count.entry(entry)
    for handles in sweep.handles.values():
        for handle in handles:
            count.of(handle)
    of_views: dict[int, int] = {}
    held: set[int] = set()
    views = count.views
    for k in range(len(views)):             # no other name for a view: it would be counted
        key = id(root_of(views[k]))
        of_views[key] = of_views.get(key, 0) + 1
        if sys.getrefcount(views[k]) > 2 + count.times[id(views[k])]:         # `views`, the argument
            held.add(key)
    alone = 2           # `roots`, the argument
    return [key for key in wanted if key in held or sys.getrefcount(roots[key]) > (
        before.get(key, alone) + count.times.get(key, 0) + of_views.get(key, 0))]


class _Count:
    """How often arrays are referred to from entries, lists, tuples, records and handles, each of which is looked at once."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}
        self.views: list[np.ndarray] = []
        self.seen: set[int] = set()

    def entry(self, entry: tuple) -> None:
        for part in entry[:2]:
            if type(part) is Record and type(part.out) is np.ndarray:
                self.array(part.out)                     # args and saved_out are handles
                for target in part.targets:
                    self.of(target[-1])
                if part.short:
                    self.of(part.args)
            else:
                self.of(part)

    def array(self, array: np.ndarray) -> None:
        key = id(array)
        times = self.times
        if key in times:
            times[key] += 1
        else:
            times[key] = 1
            if array.base is not None:
                self.views.append(array)

    def of(self, value: Any) -> None:
        kind = type(value)
        if kind is np.ndarray:
            self.array(value)
            return
        if kind is Handle:
            parts: Any = (value.value,)
        elif kind is tuple or kind is list:
            parts = value
        elif kind is dict:
            parts = value.values()
        elif kind is Record:
            parts = [getattr(value, slot) for slot in Record.__slots__]
        elif kind is Frozen:
            parts = value.parts
        else:
            return
        if id(value) not in self.seen:
            self.seen.add(id(value))
            for part in parts:
                self.of(part)
