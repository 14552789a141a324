"""The reverse sweep: from the cotangent of the result back along the tape.

Plain Python over plain values. When other sweeps are live (a derivative of a derivative) the same text runs through
the recorded path, so this module and `adjoints.py` write derivative arithmetic in operators and NumPy functions that
have rules, and put what only finds memory into `memory.py`.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..deferred import computed, is_deferred
from ..pool import multiply
from ..rules.linear import summed
from .memory import Shadows
from .strided import all_finite, clear_overlap, is_array, is_complex, is_complex_var, is_var, repeated_axes, tracked

__all__ = ["Context", "backward", "fitted", "kept"]


class Context:
    """The cotangents of one reverse sweep: `slots` of scalars, `shadows` of memory.

    A cotangent g of a complex value pairs with a tangent t as Re(g t). The shadows of complex memory hold the
    conjugates, so that the shadow of `z.imag` is the `.imag` of the shadow of `z`, as it is for the primal memory.
    """

    masked = False          # whether a mask left zeros: from here back they win over infinite factors of products

    def __init__(self, sweep: Any) -> None:
        self.sweep = sweep
        self.slots: list[Any] = [0.0] * len(sweep.tape)
        self.shadows = Shadows()

    def cotangent(self, out: Any, private: bool = False, waiting: bool = False) -> Any:
        """The cotangent of a result that comes into being here, or None for zero. It is not to be written to, unless it
        is asked for as `private`. `waiting`: a product that was not computed yet is welcome."""
        if is_var(out):
            g = self.slots[out.index]
            return g if g or tracked(g) else None
        if not is_array(out):
            return None
        if out.base is not None:
            if not self.shadows.has(out):
                return None
            g = np.copy(self.shadow(out))
        else:
            g, own = self.shadows.take(out)
            if g is None:
                return None
            if not waiting:
                g = computed(g)
            if private and not own:
                g = np.copy(g)
        return np.conj(g) if is_complex(g) else g

    def shadow(self, array: Any) -> Any:
        """The shadow of `array`: writable, aliased exactly as `array` is."""
        if self.shadows.first:
            first = self.shadows.release(array)
            if first is not None:
                whole = self.shadows.of(first[0])
                whole[...] = first[1]
        return self.shadows.of(array)

    def accumulate(self, target: Any, c: Any, fresh: bool = False, lent: bool = True) -> None:
        """Add `c`, summed to the target's shape, to the cotangent of a Var, an array or a nesting of them.

        `fresh`: nobody else refers to the array `c`, which may become the shadow. `lent`: nobody writes to it later, so
        that it may be referred to.
        """
        if c is None:
            return
        if is_var(target):
            if target.sweep is not self.sweep:       # beside active numbers: a constant here, a number of a sweep outside
                return
            if is_array(c):
                c = np.sum(c)
            if is_complex(c) and not is_complex_var(target):
                c = c.real
            self.slots[target.index] = self.slots[target.index] + c
        elif is_array(target):
            if lent and self.shadows.accept(target, c, fresh):
                return
            given = c = computed(c)
            c = fitted(c, target)
            if is_complex(c):
                c = np.conj(c)
            if lent and is_array(c) and self.shadows.vacant(target, c.dtype):
                whole = c if c.shape == target.shape else np.broadcast_to(c, target.shape)
                self.shadows.refer(target, whole, fresh or c is not given)
                return
            shadow = self.shadow(target)
            if clear_overlap(shadow):
                _add_overlapping(shadow, c)
            else:
                shadow += c
        elif isinstance(target, (list, tuple)):
            for k in range(len(target)):
                self.accumulate(target[k], c[k], False, lent)
        elif isinstance(target, dict):
            for k in target:
                self.accumulate(target[k], c[k], False, lent)


def fitted(c: Any, like: Any) -> Any:
    """A cotangent summed over the axes that were broadcast, and its real part where the target is real."""
    if is_deferred(c):
        found = c.summed(like.shape)
        if found is not None:
            return found
        c = computed(c)
    if isinstance(c, (list, tuple)):            # a rule's cotangent of a sequence that was given as an array
        c = np.array(c)
    if np.ndim(c) and c.shape != like.shape:
        extra = np.ndim(c) - like.ndim
        if extra > 0:
            c = np.reshape(summed(c, tuple(range(extra))), c.shape[extra:])
        axes = tuple(k for k in range(np.ndim(c)) if c.shape[k] != 1 and like.shape[k - np.ndim(c)] == 1)
        if axes:
            c = summed(c, axes)
    if is_complex(c) and not is_complex(like):
        c = np.real(c)
    return c


def kept(g: Any, p: Any) -> Any:
    """g * p where a zero cotangent wins over an infinite or undefined partial."""
    product = multiply(g, p)
    if all_finite(product):
        return product
    return g * np.where((np.asarray(g) == 0) & ~np.isfinite(p), 0.0, p)


def _add_overlapping(shadow: Any, c: Any) -> None:
    """Add to a shadow in which several elements share memory (broadcast or sliding views)."""
    c = np.broadcast_to(c, shadow.shape)
    axes = repeated_axes(shadow)
    if axes:
        c = np.sum(c, axis=axes, keepdims=True)
        shadow = shadow[tuple([slice(0, 1) if k in axes else slice(None) for k in range(shadow.ndim)])]
        if not clear_overlap(shadow):
            shadow += c
            return
    for index in np.ndindex(*shadow.shape):
        shadow[index] = shadow[index] + c[index]


def backward(context: Context, tape: list[tuple], once: bool = False) -> None:
    """Run the tape backwards; scalar entries inline, the others through their function. `once`: entries are let go."""
    slots = context.slots
    for i in range(len(tape) - 1, -1, -1):
        entry = tape[i]
        size = len(entry)
        if size == 3:
            if once:
                tape[i] = ()
            entry[2](context, i, entry)
            continue
        g = slots[i]
        if g or tracked(g):
            slots[entry[0]] += g * entry[1]
            if size == 4:
                slots[entry[2]] += g * entry[3]
