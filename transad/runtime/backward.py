"""One application of a pullback: seed the result, run the tape backwards, read the gradients.

Like `reverse.py`, this text is run through the recorded path when a derivative of a derivative is asked for.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..tree import children, paired, rebuilt
from .reverse import Context, backward
from .strided import is_array, is_complex, is_complex_var, is_var, number_type

__all__ = ["gradients", "seed"]


def gradients(sweep: Any, y: Any, cotangent: Any, places: list[Any], once: bool = False,
              strict: bool = False) -> list[Any]:
    """The gradients at `places` for a cotangent of the result `y`; `once`: the tape is used up; `strict`: the
    cotangent comes from a user."""
    context = Context(sweep)
    seed(context, y, cotangent, "result", strict)
    if once:
        sweep.handles.clear()
        sweep.roots.clear()
    backward(context, sweep.tape, once)
    return [collected(context, place) for place in places]


def seed(context: Any, y: Any, cotangent: Any, where: str, strict: bool = False) -> None:
    """Add the cotangent of the result, which has the result's structure (None: zero)."""
    if cotangent is None:
        return
    if is_var(y):
        if np.ndim(cotangent) != 0:
            raise InvalidArgument(f"the cotangent of {where} has shape {np.shape(cotangent)}, the result is a number")
        if strict:
            _same_sort(cotangent, is_complex_var(y), where)
        context.accumulate(y, cotangent)
        return
    if is_array(y):
        if np.shape(cotangent) != np.shape(y):
            raise InvalidArgument(f"the cotangent of {where} has shape {np.shape(cotangent)}, the result "
                                  f"{np.shape(y)}")
        if strict:
            _same_sort(cotangent, y.dtype.kind not in "fiu", where)
        if y.dtype.kind in "fciuV":
            context.accumulate(y, np.asarray(cotangent), False, False)
        return
    parts = children(y)
    if parts is None:
        return
    for key, part, given in paired(parts, cotangent, f"the cotangent of {where}"):
        seed(context, part, given, f"{where}[{key!r}]", strict)


def _same_sort(cotangent: Any, complex_result: bool, where: str) -> None:
    if np.asarray(cotangent).dtype.kind not in ("biufc" if complex_result else "biuf"):
        raise InvalidArgument(f"the cotangent of {where} holds other things than {'' if complex_result else 'real '}numbers")


def collected(context: Any, place: Any) -> Any:
    """The gradient with the structure of an argument: fresh memory, the argument's dtype."""
    if place is None:
        return None
    if is_var(place):
        g = context.slots[place.index]
        if is_complex(g) and not is_complex_var(place):
            g = g.real
        return number_type(place)(g)
    if is_array(place):
        shadow = context.shadow(place)
        if is_complex(shadow):
            return np.conj(shadow)
        return shadow if place.base is None else np.copy(shadow)
    return rebuilt(place, [collected(context, part) for _, part in children(place) or []])
