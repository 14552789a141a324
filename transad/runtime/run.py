"""The recorded path: run a function once while recording, and hand out its pullback."""
from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import pool
from ..rules import load
from .calls import call, call_rewritten
from .inputs import Tracked, refuse_shared_writes, returned, track
from .leaks import held_by_others, references
from .memory import materialise
from .sweep import Sweep, live, pop, push

__all__ = ["Back", "pullback", "settled"]


class Back:
    """The pullback of one run: cotangent of the result -> gradients of the chosen arguments, in their order.

    May be called many times and from several threads; it changes neither its input nor earlier results. With `once`, one
    call uses the tape up, so that its memory is free for what the call allocates.
    """

    __slots__ = ("_once", "_y", "places", "sweep")

    def __init__(self, sweep: Sweep, y: Any, places: list[Any], once: bool = False) -> None:
        self.sweep, self._y, self.places, self._once = sweep, y, places, once

    def __del__(self) -> None:
        self.sweep.forget()       # Vars and tape refer to each other: the memory would wait for the garbage collector

    @property
    def length(self) -> int:
        """How many operations were noted."""
        return len(self.sweep.tape)

    def __call__(self, cotangent: Any) -> list[Any]:
        from .backward import gradients
        if live():
            return call_rewritten(gradients, self.sweep, self._y, cotangent, self.places)
        pool.enter()
        try:
            with np.errstate(all="ignore"):
                return gradients(self.sweep, self._y, cotangent, self.places, self._once, strict=True)
        finally:
            pool.leave()


def pullback(function: Any, args: tuple, kwargs: dict, positions: Sequence[int], names: Sequence[str] = (),
             captured: Any = None, once: bool = False) -> tuple[Any, Back, Any]:
    """Run `function` and return (result, Back, raw result with its Vars).

    positions, names   the arguments to differentiate, positional and by keyword
    captured           a `Captured` to enter as well (its gradients come last), or None
    once               the pullback is applied before anything else can write into memory (`grad`)
    """
    load()
    sweep = push()
    try:
        tracked: list[Tracked] = []
        back: dict = {}
        args_in, kwargs_in = list(args), dict(kwargs)
        for k in positions:
            tracked.append(track(sweep, args[k], f"argument {k}", back))
            args_in[k] = tracked[-1].value
        for name in names:
            tracked.append(track(sweep, kwargs[name], f"argument {name!r}", back))
            kwargs_in[name] = tracked[-1].value
        places = [t.places for t in tracked]
        if captured is not None:
            function, more = captured.enter(sweep)
            places += more
        before = references(sweep)
        y = call(function, *args_in, **kwargs_in)
        if isinstance(y, types.GeneratorType):
            y = list(y)
    except BaseException:
        pop(sweep)
        settled()
        raise
    pop(sweep)
    if sweep.written:
        others = [a for k, a in enumerate(args) if k not in positions]
        others += [v for k, v in kwargs.items() if k not in names]
        refuse_shared_writes(tracked, others)
    for each in tracked:
        each.carry_over()
    if not once:
        settled()
        _keep_what_others_may_write(sweep, before)
    result = returned(sweep, y)
    return result, Back(sweep, y, places, once), y


def settled() -> None:
    """What is left of an outermost call belongs to others from now on."""
    if not live():
        pool.settle()


def _keep_what_others_may_write(sweep: Sweep, before: dict[int, int]) -> None:
    """Copy saved values out of memory that was not made in this run (captured arrays, globals), or that it has left behind."""
    left = [] if live() else held_by_others(sweep, before)
    for key in [*(k for k in sweep.handles if k not in sweep.made), *left]:
        materialise(sweep.handles.pop(key), sweep.depth)
