"""Directional derivatives on the recorded path.

`jvp` pushes the tangents while the function runs and keeps nothing. `pushforward` keeps a tape, so that the function
runs once whatever the number of directions, and each direction is a run along the tape.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..function import unwrapped
from ..rules import load
from ..tree import children, leaves_of, paired
from .calls import call, call_rewritten
from .inputs import Tracked, is_differentiable, refuse_shared_writes, returned, track
from .run import pullback, settled
from .sweep import live, pop, suspended
from .var import KIND

__all__ = ["jvp", "pushforward"]


def jvp(function: Any, args: tuple, tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, Any]:
    """`(y, tangent of y)`, of its first entry with has_aux. A tangent of None is zero."""
    from .pushing import forward_sweep
    load()
    sweep, context = forward_sweep()
    try:
        entered: list[Tracked] = []
        back: dict = {}
        inside = list(args)
        for k, (value, tangent) in enumerate(zip(args, tangents, strict=True)):
            objects = isinstance(value, np.ndarray) and value.dtype.kind == "O"          # refused by `track`
            if tangent is not None and (objects or is_differentiable(value)):
                entered.append(track(sweep, value, f"argument {k}", back))
                checked(tangent, entered[-1].places, f"argument {k}")
                inside[k] = entered[-1].value
                with suspended(sweep.depth):
                    _seeded(context, entered[-1].places, tangent)
        y = call(unwrapped(function), *inside)
        if isinstance(y, types.GeneratorType):
            y = list(y)
    except BaseException:
        pop(sweep)
        settled()
        raise
    pop(sweep)
    if sweep.written and entered:
        constant = [a for a, v in zip(args, inside, strict=True) if a is v]
        refuse_shared_writes(entered, constant)
    for each in entered:
        each.carry_over()
    pushed = _tangent(context, y, has_aux)
    result = returned(sweep, y)
    sweep.forget()
    context.shadows.buffers.clear()
    settled()
    return result, pushed


def pushforward(function: Any, args: tuple, kwargs: dict, chosen: list[int | str] | None,
                has_aux: bool) -> tuple[Any, Callable]:
    """`(y, push)`; push(tangents of the chosen arguments) is the tangent of y. chosen None: all arguments."""
    which: list[Any] = list(range(len(args))) if chosen is None else list(chosen)
    values = [args[c] if isinstance(c, int) else kwargs[c] for c in which]
    numbers = [c for c, v in zip(which, values, strict=True) if is_differentiable(v)]
    positions, names = [c for c in numbers if isinstance(c, int)], [c for c in numbers if isinstance(c, str)]
    y, kept, raw = pullback(unwrapped(function), args, kwargs, positions, names)
    order = [which.index(c) for c in (*positions, *names)]

    def push(tangents: Sequence[Any]) -> Any:
        from .pushing import KeptShadows
        from .tangents import Tangents, forward
        context = Tangents(kept.sweep, [0.0] * kept.length, KeptShadows())
        for k, place in zip(order, kept.places, strict=True):
            checked(tangents[k], place, f"argument {which[k]!r}")
            _seeded(context, place, tangents[k])
        if live():
            call_rewritten(forward, context, kept.sweep.tape)
        else:
            with np.errstate(all="ignore"):
                forward(context, kept.sweep.tape)
        return _tangent(context, raw, has_aux)
    return y, push


def _seeded(context: Any, place: Any, tangent: Any) -> None:
    from .tangents import seed
    if live():
        call_rewritten(seed, context, place, tangent)
    else:
        seed(context, place, tangent)


def _tangent(context: Any, y: Any, has_aux: bool) -> Any:
    from .tangents import collected
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            return None
        y = y[0]
    t = call_rewritten(collected, context, y) if live() else collected(context, y)
    if context.refused and any(np.any(np.isnan(leaf)) for leaf in leaves_of(t) if leaf is not None):
        raise context.refused[0]
    return t


def checked(tangent: Any, place: Any, where: str) -> None:
    """Refuse a tangent without the structure and shapes of an argument as it was entered (None: zero, no number)."""
    if tangent is None or place is None:
        return
    if KIND[type(place)] == 2:
        if np.shape(tangent) != place.shape:
            raise InvalidArgument(f"the tangent of {where} has shape {np.shape(tangent)}, the argument {place.shape}")
        return
    parts = children(place)
    if parts is None:
        if np.shape(tangent) != ():
            raise InvalidArgument(f"the tangent of {where} has shape {np.shape(tangent)}, the argument is a number")
        return
    for key, part, given in paired(parts, tangent, f"the tangent of {where}"):
        checked(given, part, f"{where}[{key!r}]")
