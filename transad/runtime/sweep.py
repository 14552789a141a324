"""The live sweeps of a thread, and what one sweep records.

A sweep is one forward run whose derivative will be asked for. Sweeps nest (`grad` inside a differentiated function);
those alive form a stack per thread, outermost first. One operation is computed once on plain values and recorded in
every live sweep in which an argument is active, outermost first. A sweep leaves the stack before its reverse runs, so
its own values then count as what the outer sweeps see: no confusion of perturbations is possible.

The tape is a list; entry i belongs to slot i:

    (ia, pa)              d[ia] += g * pa                          scalars, one operand
    (ia, pa, ib, pb)      and d[ib] += g * pb                      scalars, two operands
    (x, y, function)      function(context, i, entry)              everything else
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Sweep", "live", "pop", "push", "suspended"]


class Sweep:
    """Tape, active memory and saved arrays of one forward run.

    roots    id -> owner of memory that may carry derivative (keeps it alive, so that the id stays its own)
    handles  id of an owner -> saved references into it, to be copied before it is written
    made     ids of owners that operations of this sweep allocated
    texts    what active numbers were printed as
    guarded  ids of owners that must not be written, with the reason
    fast     on the stack and the outermost: its Vars' outer values are plain numbers
    """

    __slots__ = ("depth", "fast", "guarded", "handles", "made", "parent", "roots", "tape", "texts", "written")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.tape: list[tuple] = []
        self.roots: dict[int, Any] = {}
        self.handles: dict[int, list] = {}
        self.made: set[int] = set()
        self.written: set[int] = set()
        self.guarded: dict[int, str] = {}
        self.parent: Any = None
        self.fast = False
        self.texts: set[str] = set()

    @property
    def keeps(self) -> bool:
        """Whether it keeps what is recorded, for a run backwards; a forward sweep does not."""
        return type(self.tape) is list

    def forget(self) -> None:
        """Let go of the tape and the memory, when nobody will run it backwards any more."""
        self.tape.clear()
        self.roots.clear()
        self.handles.clear()


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[Sweep] = []


_local = _Local()


def live() -> list[Sweep]:
    """The live sweeps of this thread, outermost first (the list itself: do not change it)."""
    return _local.stack


def push() -> Sweep:
    """Start a sweep inside those that are live."""
    stack = _local.stack
    if not stack:
        _deeper(+1)
    sweep = Sweep(len(stack))
    sweep.fast = not stack
    _local.stack = [*stack, sweep]
    return sweep


def pop(sweep: Sweep) -> None:
    """End a sweep (and whatever an exception left above it)."""
    stack = _local.stack
    for inner in stack[sweep.depth:]:
        inner.fast = False
    _local.stack = stack[:sweep.depth]
    if sweep.depth == 0 and stack:
        _deeper(-1)


_FRAMES = 4                     # frames of the runtime and of the function itself for each call of a user's function
_lock = threading.Lock()
_running = 0
_limit = 0


def _deeper(step: int) -> None:
    """Let a function recurse as deep as it does without derivatives, while any thread records."""
    global _running, _limit
    with _lock:
        if _running == 0:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(min(_limit * _FRAMES, max(_limit, 20000)))
        _running += step
        if _running == 0:
            sys.setrecursionlimit(_limit)


@contextmanager
def suspended(depth: int) -> Iterator[None]:
    """Run with only the first `depth` sweeps alive; the others see nothing of it."""
    stack = _local.stack
    flags = [s.fast for s in stack]
    for s in stack[depth:]:
        s.fast = False
    _local.stack = stack[:depth]
    try:
        yield
    finally:
        _local.stack = stack
        for s, flag in zip(stack, flags, strict=True):
            s.fast = flag


def is_live(sweep: Sweep) -> bool:
    """Whether a sweep is on this thread's stack."""
    stack = _local.stack
    return sweep.depth < len(stack) and stack[sweep.depth] is sweep
