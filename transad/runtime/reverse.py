"""The reverse sweep: from the cotangent of the result back along the tape.

Plain Python over plain values. When other sweeps are live (a derivative of a derivative) the same text runs through
the recorded path, so this module and `adjoints.py` write derivative arithmetic in operators and NumPy functions that
have rules, and put what only finds memory into `memory.py`.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .memory import Shadows
from .strided import clear_overlap, is_array, is_complex, is_complex_var, is_var, repeated_axes, tracked

__all__ = ["Context", "backward", "fitted"]


class Context:
    """The cotangents of one reverse sweep: `slots` of scalars, `shadows` of memory.

    A cotangent g of a complex value pairs with a tangent t as Re(g t). The shadows of complex memory hold the
    conjugates, so that the shadow of `z.imag` is the `.imag` of the shadow of `z`, as it is for the primal memory.
    """

    def __init__(self, size: int) -> None:
        self.slots: list[Any] = [0.0] * size
        self.shadows = Shadows()

    def cotangent(self, out: Any) -> Any:
        """The cotangent of a result that comes into being here, or None for zero."""
        if is_var(out):
            g = self.slots[out.index]
            return g if g or tracked(g) else None
        if is_array(out):
            g = self.shadows.take(out)
            return np.conj(g) if g is not None and is_complex(g) else g
        return None

    def accumulate(self, target: Any, c: Any) -> None:
        """Add `c`, summed to the target's shape, to the cotangent of a Var, an array or a nesting of them."""
        if c is None:
            return
        if is_var(target):
            if is_array(c):
                c = np.sum(c)
            if is_complex(c) and not is_complex_var(target):
                c = c.real
            self.slots[target.index] = self.slots[target.index] + c
        elif is_array(target):
            shadow = self.shadows.of(target)
            c = fitted(c, shadow)
            if is_complex(c):
                c = np.conj(c)
            if clear_overlap(shadow):
                _add_overlapping(shadow, c)
            else:
                shadow += c
        elif isinstance(target, (list, tuple)):
            for k in range(len(target)):
                self.accumulate(target[k], c[k])
        elif isinstance(target, dict):
            for k in target:
                self.accumulate(target[k], c[k])


def fitted(c: Any, shadow: Any) -> Any:
    """A cotangent summed over the axes that were broadcast, and its real part where the target is real."""
    extra = np.ndim(c) - shadow.ndim
    if extra > 0:
        c = np.sum(c, axis=tuple(range(extra)))
    if np.ndim(c):
        axes = tuple(k for k in range(-np.ndim(c), 0) if shadow.shape[k] == 1 and c.shape[k] != 1)
        if axes:
            c = np.sum(c, axis=axes, keepdims=True)
    if is_complex(c) and not is_complex(shadow):
        c = np.real(c)
    return c


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


def backward(context: Context, tape: list[tuple], stop: int = 0) -> None:
    """Run the tape backwards; scalar entries inline, the others through their function."""
    slots = context.slots
    for i in range(len(tape) - 1, stop - 1, -1):
        entry = tape[i]
        size = len(entry)
        if size == 3:
            entry[2](context, i, entry)
            continue
        g = slots[i]
        if g or tracked(g):
            slots[entry[0]] += g * entry[1]
            if size == 4:
                slots[entry[2]] += g * entry[3]
