"""The adjoint of each kind of record that is not a pair of scalar partials.

A record is a tape entry (x, y, function); function(context, slot, entry) takes the cotangent of what the record made
and adds to the cotangents of what it was made from. The text is differentiated again for higher orders.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..deferred import computed
from ..pool import multiply
from ..tree import children, rebuilt
from .records import check_count, last_writers, repeats, restore, thaw, zero_cotangent
from .reverse import fitted, kept
from .short_arrays import back
from .strided import clear_overlap, is_array, is_complex, is_var, tracked

__all__ = ["adjoint_rule", "boxed", "copied", "element", "gathered", "loaded", "partials_rule", "projected",
           "scattered",
           "stored", "unary"]


def copied(context: Any, slot: int, entry: tuple) -> None:
    """y = x.copy(), also with another dtype."""
    context.accumulate(entry[0], context.cotangent(entry[1]))


def projected(context: Any, slot: int, entry: tuple) -> None:
    """A scalar copied into a slot of its own (complex from real: the real part flows back)."""
    g = context.slots[slot]
    if g or tracked(g):
        context.accumulate(entry[0], g)


def loaded(context: Any, slot: int, entry: tuple) -> None:
    """s = a[i], one element."""
    g = context.slots[slot]
    if g or tracked(g):
        shadow = context.shadow(entry[0])
        if is_complex(g):
            g = np.conj(g) if is_complex(shadow) else g.real
        shadow[entry[1]] += g


def gathered(context: Any, slot: int, entry: tuple) -> None:
    """b = a[i] with arrays or masks in i: a copy."""
    context.masked = True
    source, made, index = entry[0], entry[1][0], thaw(entry[1][1])
    g = context.cotangent(made)
    if g is None:
        return
    shadow = context.shadow(source)
    if is_complex(g):
        g = np.conj(g)
    if repeats(index) or clear_overlap(shadow):
        np.add.at(shadow, index, g)
    else:
        shadow[index] += g


def stored(context: Any, slot: int, entry: tuple) -> None:
    """a[i] = v: take, clear, add."""
    array, index, value = entry[0], thaw(entry[1][0]), entry[1][1]
    if not context.shadows.has(array):
        return
    shadow = context.shadow(array)
    if value is None:
        shadow[index] = 0.0
        return
    g = shadow[index]
    if is_array(g):
        g = np.copy(g)
    shadow[index] = 0.0
    if is_complex(g):
        g = np.conj(g)
    if repeats(index):
        g = g * last_writers(array, index)
    context.accumulate(value, g)


def scattered(context: Any, slot: int, entry: tuple) -> None:
    """np.add.at(a, i, v): a keeps its cotangent, v gathers from it."""
    array, (index, value, sign) = entry[0], entry[1]
    if context.shadows.has(array):
        g = sign * context.shadow(array)[thaw(index)]
        context.accumulate(value, np.conj(g) if is_complex(g) else g)


def partials_rule(context: Any, slot: int, entry: tuple) -> None:
    """An elementwise function: cotangent times partial derivative."""
    record = entry[0]
    if record.short and back(context, record):
        return
    g = context.cotangent(record.out, False, True)
    if g is None:
        return
    args, out = restore(record.args), restore(record.saved_out)
    for part, takes_out, target in record.targets:
        p = part(*args, out=out) if takes_out else part(*args)
        if type(p) is float and is_array(target):
            summed = fitted(g, target)
            context.accumulate(target, summed if p == 1.0 else multiply(summed, p), p != 1.0)
        elif p is not None:
            g = computed(g)
            context.accumulate(target, kept(g, p) if record.singular or context.masked else multiply(g, p), True)


def element(context: Any, slot: int, entry: tuple) -> None:
    """A scalar elementwise result."""
    g = context.slots[slot]
    if g or tracked(g):
        args, out = entry[1]
        for part, takes_out, target in entry[0]:
            p = part(*args, out=out) if takes_out else part(*args)
            if p is not None:
                context.accumulate(target, g * p)


def unary(context: Any, slot: int, entry: tuple) -> None:
    """A real function of one real number."""
    g = context.slots[slot]
    if g or tracked(g):
        part, takes_out, x, out = entry[1]
        context.slots[entry[0]] += g * (part(x, out=out) if takes_out else part(x))


def adjoint_rule(context: Any, slot: int, entry: tuple) -> None:
    """A function with one adjoint per argument."""
    record = entry[0]
    if record.several:
        g = tuple([context.cotangent(o, not record.ours) for o in record.out])
        if all(c is None for c in g):
            return
        g = tuple([_zero_like(o) if c is None else c for c, o in zip(g, record.out, strict=False)])
    else:
        g = context.cotangent(record.out, not record.ours)
        if g is None or (record.singular and not tracked(g) and not np.any(g)):
            return
    args, kwargs, out = restore(record.args), restore(record.kwargs), restore(record.saved_out)
    if getattr(record.targets[0][0], "masks", False):
        context.masked = True
    shared = {}
    for function, position, target in record.targets:
        if position is None:
            context.accumulate(target, function(g, out, *args, **kwargs), False, record.ours)
        else:
            if function not in shared:
                shared[function] = function(g, out, *args, **kwargs)
            context.accumulate(target, shared[function][position], False, record.ours)


def _zero_like(out: Any) -> Any:
    return zero_cotangent(out)


def boxed(context: Any, slot: int, entry: tuple) -> None:
    """A call recorded as one entry, with its own map from the cotangent of its result."""
    made, (targets, back) = entry[0].out, entry[1]
    cotangent, any_active = _cotangents(context, made)
    if not any_active:
        return
    found = back(cotangent)
    if not isinstance(found, (tuple, list)):
        found = (found,)
    check_count(found, targets)
    for target, g in zip(targets, found, strict=False):
        if target is not None and g is not None:
            context.accumulate(target, g, False, False)


def _cotangents(context: Any, made: Any) -> tuple:
    """The cotangent of a nested result, zeros filled in; and whether any is not zero."""
    if is_var(made) or is_array(made):
        g = context.cotangent(made, True)
        return (_zero_like(made), False) if g is None else (g, True)
    parts = children(made)
    if parts is None:
        return None, False
    pairs = [_cotangents(context, part) for _, part in parts]
    return rebuilt(made, [g for g, _ in pairs]), any(active for _, active in pairs)
