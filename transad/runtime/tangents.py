"""What each record of a tape does to tangents: the forward counterpart of `adjoints.py`.

The same records serve both directions. Forwards they are met one after the other while the function runs
(`pushing.py`), or along a tape that was kept (`forward`). Plain Python over plain values; when other sweeps are live
the same text runs through the recorded path, as that of the reverse sweep does.

The tangent of memory is a shadow with its layout, so views and aliases need nothing. None stands for a zero tangent.
As a zero cotangent does in the reverse sweep, a zero wins over what is not finite: a zero tangent over the slope of a rule
that is declared singular, a zero slope over any tangent.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..deferred import computed
from ..pool import multiply
from ..tree import children, rebuilt
from .adjoints import (
    adjoint_rule,
    boxed,
    copied,
    element,
    gathered,
    loaded,
    partials_rule,
    scattered,
    stored,
    unary,
)
from .apply import filler
from .black_box import plain_back
from .multilinear import is_linear, linear_calls
from .records import restore, thaw, zero_cotangent
from .reverse import fitted
from .strided import all_finite, is_array, is_complex, is_complex_var, is_var, number_type, tracked
from .transposed import transposed

__all__ = ["PUSHES", "Tangents", "collected", "forward", "seed"]


class Tangents:
    """The tangents of one forward sweep: `slots` of numbers, `shadows` of memory."""

    def __init__(self, sweep: Any, slots: Any, shadows: Any) -> None:
        self.sweep, self.slots, self.shadows = sweep, slots, shadows
        self.refused: list[Any] = []            # errors of rules that have no derivative here; the tangent is NaN there

    def of(self, target: Any) -> Any:
        """The tangent of a number, an array or a nesting of them; None for zero. It is not to be written to."""
        if is_var(target):
            if target.sweep is not self.sweep:
                return None
            t = self.slots[target.index]
            return t if t or tracked(t) else None
        if is_array(target):
            return self.shadows.of(target) if self.shadows.has(target) else None
        if isinstance(target, (list, tuple)):
            parts = [self.of(v) for v in target]
            return None if all(p is None for p in parts) else parts
        if isinstance(target, dict):
            found = {k: self.of(v) for k, v in target.items()}
            return None if all(p is None for p in found.values()) else found
        return None

    def give(self, made: Any, t: Any, fresh: bool = False) -> None:
        """Make `t` the tangent of a result. `fresh`: nobody else refers to the array `t`."""
        if t is None:
            return
        if is_var(made):
            if is_array(t):
                t = t[()]
            self.shadows.place(self.slots, made, t.real if is_complex(t) and not is_complex_var(made) else t)
        elif is_array(made):
            if is_complex(t) and not is_complex(made):
                t = np.real(t)
            if not (fresh and self.shadows.adopt(made, t)):
                shadow = self.shadows.of(made)
                shadow[...] = t
        elif isinstance(made, (list, tuple)):
            for k in range(len(made)):
                self.give(made[k], t[k])
        else:
            other = dict(children(t) or [])
            for key, part in children(made) or []:
                self.give(part, other.get(key))


def _filled(parts: Any, like: Any) -> Any:
    """Nested tangents with zeros for None."""
    if parts is None:
        return np.zeros(np.shape(like))
    return [_filled(p, v) for p, v in zip(parts, like, strict=True)] if isinstance(parts, list) else parts


def _copied(context: Tangents, entry: tuple) -> None:
    context.give(entry[1], context.of(entry[0]))


def _loaded(context: Tangents, entry: tuple) -> Any:
    t = context.of(entry[0])
    return 0.0 if t is None else t[entry[1]]


def _gathered(context: Tangents, entry: tuple) -> None:
    t = context.of(entry[0])
    if t is not None:
        context.give(entry[1][0], t[thaw(entry[1][1])], True)


def _stored(context: Tangents, entry: tuple) -> None:
    array, index, value = entry[0], thaw(entry[1][0]), entry[1][1]
    t = None if value is None else context.of(value)
    if t is None:
        if context.shadows.has(array):
            shadow = context.shadows.of(array)
            shadow[index] = 0.0
        return
    if isinstance(t, list):
        t = _filled(t, value)
    elif is_complex(t) and not is_complex(array):
        t = np.real(t)
    shadow = context.shadows.of(array)
    shadow[index] = t


def _scattered(context: Tangents, entry: tuple) -> None:
    array, (index, value, sign) = entry[0], entry[1]
    t = context.of(value)
    if t is not None:
        np.add.at(context.shadows.of(array), thaw(index), sign * np.asarray(_filled(t, value)))


def _partials_rule(context: Tangents, entry: tuple) -> None:
    record = entry[0]
    args, out = restore(record.args), restore(record.saved_out)
    total, fresh = None, False
    for part, takes_out, target in record.targets:
        t = context.of(target)
        if t is None:
            continue
        if isinstance(t, list):
            t = np.asarray(_filled(t, target))
        p = part(*args, out=out) if takes_out else part(*args)
        if p is None or (type(p) is float and p == 0.0):
            continue
        one = type(p) is float and p == 1.0
        term = t if one else _times(t, p, record.singular)
        total, fresh = (term, not one) if total is None else (total + term, True)
    context.give(record.out, total, fresh)


def _times(t: Any, p: Any, singular: bool) -> Any:
    """t * p where a zero wins."""
    product = multiply(t, p)
    if all_finite(product):
        return product
    gone = (np.asarray(p) == 0) & ~np.isfinite(t)
    if singular:
        gone = gone | ((np.asarray(t) == 0) & ~np.isfinite(p))
    return np.where(gone, 0.0, t) * np.where(gone, 0.0, p)


def _element(context: Tangents, entry: tuple) -> Any:
    args, out = entry[1]
    total = 0.0
    for part, takes_out, target in entry[0]:
        t = context.of(target)
        if t is not None:
            p = part(*args, out=out) if takes_out else part(*args)
            if p is not None and (p or tracked(p)):
                total = total + t * p
    return total.real if is_complex(total) and not is_complex(out) else total


def _unary(context: Tangents, entry: tuple) -> Any:
    t = context.slots[entry[0]]
    if t or tracked(t):
        part, takes_out, x, out = entry[1]
        p = part(x, out=out) if takes_out else part(x)
        return t * p if p or tracked(p) else 0.0
    return 0.0


def _filler(context: Tangents, entry: tuple) -> None:
    """The slot is filled by the record that follows, or was with the argument."""


def _adjoint_rule(context: Tangents, entry: tuple) -> None:
    record = entry[0]
    seeds = [context.of(target) for _, _, target in record.targets]
    if all(t is None for t in seeds):
        return
    t = _linear(record, seeds) if is_linear(record) else transposed(context, _pulled, record, seeds)
    context.give(record.out, t, True)


def _linear(record: Any, seeds: list[Any]) -> Any:
    """The tangent where the function itself maps tangents."""
    function = record.call[0]
    total = None
    for args, kwargs in linear_calls(record, restore(record.args), restore(record.kwargs), seeds):
        t = function(*args, **kwargs)
        total = t if total is None else total + t
    return total


def _pulled(record: Any, g: Any) -> list[Any]:
    """The cotangents of the arguments for one of the result, as `adjoint_rule` has them."""
    args, kwargs, out = restore(record.args), restore(record.kwargs), restore(record.saved_out)
    if record.several:
        g = tuple([zero_cotangent(o) if c is None else c for c, o in zip(g, record.out, strict=True)])
    shared = {}
    found = []
    for function, position, target in record.targets:
        if position is None:
            c = function(g, out, *args, **kwargs)
        else:
            if function not in shared:
                shared[function] = function(g, out, *args, **kwargs)
            c = shared[function][position]
        found.append(_fitted(c, target))
    return found


def _fitted(c: Any, target: Any) -> Any:
    """A cotangent in the form of what it belongs to."""
    if c is None:
        return None
    if is_var(target):
        c = np.sum(c) if is_array(c) else c
        return c.real if is_complex(c) and not is_complex_var(target) else c
    if is_array(target):
        c = fitted(computed(c), target)
        return c if np.shape(c) == target.shape else np.broadcast_to(c, target.shape)
    if isinstance(target, (list, tuple)):
        return [_fitted(c[k], target[k]) for k in range(len(target))]
    if isinstance(target, dict):
        return {k: _fitted(c[k], v) for k, v in target.items()}
    return None


def _boxed(context: Tangents, entry: tuple) -> None:
    made, (targets, back) = entry[0].out, entry[1]
    seeds = [context.of(target) for target in targets]
    if all(t is None for t in seeds):
        return
    context.give(made, transposed(context, _pulled_box, entry[0], seeds, targets, back), True)


def _pulled_box(record: Any, g: Any, targets: tuple, back: Any) -> list[Any]:
    found = plain_back(back, g, targets)
    return [_fitted(c, target) for c, target in zip(found, targets, strict=True)]


PUSHES = {copied: _copied, loaded: _loaded, gathered: _gathered, stored: _stored, scattered: _scattered,
          partials_rule: _partials_rule, element: _element, unary: _unary, filler: _filler, adjoint_rule: _adjoint_rule,
          boxed: _boxed}


def forward(context: Tangents, tape: list[tuple]) -> None:
    """Run along a tape that was kept."""
    slots = context.slots
    for i in range(len(tape)):
        entry = tape[i]
        size = len(entry)
        if size == 3:
            t = PUSHES[entry[2]](context, entry)
            if t is not None:
                slots[i] = t
            continue
        t = slots[entry[0]]
        t = t * entry[1] if entry[1] and (t or tracked(t)) else 0.0
        if size == 4:
            u = slots[entry[2]]
            if entry[3] and (u or tracked(u)):
                t = t + u * entry[3]
        slots[i] = t


def seed(context: Tangents, place: Any, tangent: Any) -> None:
    """Give an argument its tangent (which `pushing.checked` found to fit)."""
    if tangent is None or place is None:
        return
    if is_var(place):
        context.give(place, number_type(place)(tangent) if is_complex_var(place) or not is_complex(tangent) else tangent)
    elif is_array(place):
        context.give(place, tangent)
    else:
        other = dict(children(tangent) or [])
        for key, part in children(place) or []:
            seed(context, part, other.get(key))


def collected(context: Tangents, y: Any) -> Any:
    """The tangent of a result, with its structure: fresh memory, the dtypes of the result, zeros; None for what is no
    number."""
    if is_array(y):
        t = context.of(y)
        if t is not None:
            return np.copy(t)
        return zero_cotangent(y) if y.dtype.kind in "fciu" else None
    if is_var(y):
        t = context.of(y)
        return zero_cotangent(y) if t is None else number_type(y)(t)
    parts = children(y)
    if parts is None:
        return zero_cotangent(y) if isinstance(y, (int, float, complex, np.number)) and not isinstance(y, bool) else None
    return rebuilt(y, [collected(context, part) for _, part in parts])
