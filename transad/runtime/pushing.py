"""A forward sweep: tangents are pushed while the function runs, and nothing is kept.

It is a sweep like the others (`sweep.py`); only its tape does not keep what is noted on it. Each record is pushed at
once, and the tangent of a number is kept with the number: its `index` is the tangent itself. The registry of active
memory holds weak references, and a shadow goes when its memory does. So memory does not grow with the steps taken.

A record is pushed with only the outer sweeps live, on numbers and arrays as these see them: what the tangents are
computed from is thereby recorded outside, and no level sees the perturbation of another.
"""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .adjoints import unary
from .calls import call_rewritten
from .memory import Shadows, blank, gradient_dtype, root_of, same_view
from .sweep import Sweep, push, suspended
from .tangents import PUSHES, Tangents

__all__ = ["KeptShadows", "forward_sweep"]


_FLOAT = {float}


class _Reference(weakref.ref):
    __slots__ = ("key",)


class _Roots(dict):
    """id -> weak reference to an owner of active memory; gone with it, and so is its shadow."""

    def __init__(self, buffers: dict[int, Any]) -> None:
        super().__init__()

        def gone(reference: Any) -> None:
            self.pop(reference.key, None)
            buffers.pop(reference.key, None)
        self._gone = gone

    def __setitem__(self, key: int, root: np.ndarray) -> None:
        if key not in self:
            reference = _Reference(root, self._gone)
            reference.key = key
            super().__setitem__(key, reference)

    def setdefault(self, key: int, root: Any = None) -> Any:
        """As of a dict."""
        self[key] = root
        return root


class _Itself:
    """Slots of a forward sweep: a number's index is its tangent."""

    def __getitem__(self, index: Any) -> Any:
        return index


class KeptShadows(Shadows):
    """The tangents of memory along a tape."""

    __slots__ = ()

    def adopt(self, array: np.ndarray, t: Any) -> bool:
        """Let `t`, which nobody else refers to, be the tangent of an array that comes into being here."""
        if (type(t) is not np.ndarray or t.base is not None or array.base is not None or t.dtype != gradient_dtype(array.dtype)
                or t.shape != array.shape or not (t.flags.c_contiguous and array.flags.c_contiguous and t.flags.writeable)):
            return False
        self.buffers[id(array)] = (t.reshape(-1), t)
        return True

    def place(self, slots: Any, var: Any, t: Any) -> None:
        """Make `t` the tangent of a number."""
        slots[var.index] = t


class _Living(KeptShadows):
    """Shadows that are not remembered beyond the memory that they belong to."""

    __slots__ = ()

    def of(self, array: np.ndarray) -> np.ndarray:
        """The shadow of `array`: writable, aliased exactly as `array` is."""
        root = root_of(array)
        pair = self.buffers.get(id(root))
        if pair is None:
            pair = self.buffers[id(root)] = blank(root, np.zeros)
        return pair[1] if root is array else same_view(array, root, pair[0])

    def place(self, slots: Any, var: Any, t: Any) -> None:
        """Make `t` the tangent of a number."""
        var.index = t


class _Pushed:
    """The tape of a forward sweep. Has the part of a list's interface that recording uses."""

    __slots__ = ("context", "latest", "sweep")

    def __init__(self, sweep: Sweep, context: Tangents) -> None:
        self.sweep, self.context, self.latest = sweep, context, 0.0

    def __len__(self) -> int:
        return 0

    def clear(self) -> None:
        """Nothing is kept."""

    def append(self, entry: tuple) -> Any:
        """Push a record; the tangent, where it makes a number."""
        if len(entry) == 3:
            t = self._push(entry)
        elif {*map(type, entry)} == _FLOAT:
            t = _sum_of_products(entry)
        else:
            with np.errstate(all="ignore"):
                t = _sum_of_products(entry)
        self.latest = t
        return t

    def _push(self, entry: tuple) -> Any:
        sweep, kind = self.sweep, entry[2]
        depth = sweep.depth
        push_it = PUSHES[kind]
        if kind is unary and type(entry[1][2]) is float:          # a function of math: no warnings of NumPy
            return push_it(self.context, entry)
        with np.errstate(all="ignore"):
            if kind is unary:
                return push_it(self.context, entry)
            with suspended(depth):
                t = call_rewritten(push_it, self.context, entry) if depth else push_it(self.context, entry)
        if sweep.handles:
            sweep.handles.clear()
        return 0.0 if t is None else t


def _sum_of_products(entry: tuple) -> Any:
    """The tangent of a number from those of one or two others and the partial derivatives; zero wins."""
    t = entry[0]
    t = t * entry[1] if t and entry[1] else 0.0
    if len(entry) == 4:
        u = entry[2]
        if u and entry[3]:
            t = t + u * entry[3]
    return t


def forward_sweep() -> tuple[Sweep, Tangents]:
    """Start a forward sweep inside the sweeps that are live."""
    sweep = push()
    shadows = _Living()
    context = Tangents(sweep, _Itself(), shadows)
    sweep.roots = _Roots(shadows.buffers)
    sweep.tape = _Pushed(sweep, context)       # type: ignore[assignment]
    return sweep, context
