"""Calls of functions marked `fwddiff` on the recorded path: one entry on the tape, taken forwards by emitted code.

That is for functions with loops, where it saves a tape; one without costs less recorded as it is, and so is recorded what
the typed path cannot take, what has an effect, captures an active value, or is differentiated more than once.
"""
from __future__ import annotations

import functools
import math
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..describe import Shape, described, leaf_kinds, rebuilt
from ..forwards.code import Emitted, Signature, build_push, known, signature
from ..forwards.sweeps import _lanes, _swept, _unit
from ..options import Options
from ..verbs import MANY, many_sweeps
from .activity import active_in, lower, reaches_active
from .black_box import _record
from .calls import call, call_rewritten
from .plainly import plainly
from .sweep import live, suspended
from .twin import is_rewritten

__all__ = ["forwards"]

_NEVER = object()
_PLAIN: weakref.WeakKeyDictionary[types.CodeType, set[tuple]] = weakref.WeakKeyDictionary()    # recorded as they are, for
#                                                                                   arguments of these types


def forwards(function: Callable, args: tuple, kwargs: dict, store: bool) -> Any:
    """`function(*args, **kwargs)`, with its derivative in forward mode where that is worth it."""
    stack = live()
    arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray) and any(active_in(a, s) for s in stack)]
    if arrays:
        many_sweeps(getattr(function, "__name__", "the function"), sum(a.size for a in arrays))
    code = getattr(function, "__code__", None)
    kinds = tuple(map(type, args))
    if code is None or kinds in _PLAIN.get(code, ()):
        return call(function, *args, **kwargs)
    mine = is_rewritten(code)                           # made by text that was rewritten, and has no other
    if len(stack) != 1 or mine or not stack[0].keeps or reaches_active((function, kwargs), stack):
        return call(function, *args, **kwargs)
    sweep = stack[0]
    wanted = [k for k, a in enumerate(args) if active_in(a, sweep)]
    still = [a for k, a in enumerate(args) if k not in wanted]
    inner = lower(args, 0, stack)
    with suspended(0):
        dual = None if not wanted or reaches_active(still, stack) else _code(function, inner, kwargs, wanted)
    if not isinstance(dual, tuple):
        if dual is _NEVER:
            _PLAIN.setdefault(code, set()).add(kinds)
        return call(function, *args, **kwargs)
    made, sig, count = dual
    with suspended(0):
        y = function(*inner, **kwargs)
    given = [v for v in sig.inputs if isinstance(v, np.ndarray)]
    shape, leaves = described(y)
    if shape is None or any(isinstance(v, np.ndarray) and any(np.may_share_memory(v, a) for a in given) for v in leaves):
        return call(function, *args, **kwargs)
    back = Back(made, sig, count, [inner[k] for k in wanted], shape)
    if store:
        back.partials = back.swept()
    return _record(sweep, lower(tuple(args[k] for k in wanted), 1, stack), y, back)


def _code(function: Callable, args: tuple, kwargs: dict, wanted: list[int]) -> Any:
    """The dual code for a call, its signature, and the count of its lanes; `_NEVER` where arguments of these types have
    none."""
    sig = signature(function, args, kwargs, wanted)
    if sig is None:
        return _NEVER
    count, lanes = _lanes(sig, None)
    if not 0 < count <= MANY:
        return None
    options = Options()
    made = known(sig, ("push", lanes), options, lambda: build_push(sig, lanes, options))
    return _NEVER if made is None or made.writes or made.effects or not made.loops else (made, sig, count)


class Back:
    """The pullback of a marked call: partial derivatives times cotangent."""

    def __init__(self, made: Emitted, sig: Signature, count: int, args: list[Any], result: Shape) -> None:
        self.made, self.sig, self.count, self.args, self.result = made, sig, count, args, result
        self.sig.cells = [np.array(v) if isinstance(v, np.ndarray) else v for v in sig.cells]
        self.sig.leaves = {k: [np.array(v) if isinstance(v, np.ndarray) else v for v in row] for k, row in sig.leaves.items()}
        self.partials: list[np.ndarray] | None = None

    def swept(self) -> list[np.ndarray]:
        """For each number or array of the result its derivatives, along a first axis."""
        size = len(self.made.kinds)
        rows = [row for _, row, _, _ in _swept(self.made, self.sig, self.count, size, lambda k: _unit(self.sig, k))]
        return [np.array([np.array(row[j]) for row in rows]) for j in range(size)]

    def __call__(self, cotangent: Any) -> tuple:
        partials = self.partials if self.partials is not None else plainly(self.swept)
        sizes = [described(a)[1] for a in self.args]
        apply = functools.partial(call_rewritten, contracted) if live() else contracted
        with np.errstate(all="ignore"):
            parts = iter(apply(partials, _leaves(self.result, cotangent), [np.shape(v) for row in sizes for v in row],
                               self.count))
        return tuple(rebuilt(_shape(a), parts, a) for a in self.args)


def contracted(partials: list[Any], cotangents: list[Any], shapes: list[tuple], count: int) -> list[Any]:
    """Partial derivatives times cotangents, for inputs of these shapes; a cotangent of zero wins over an infinite slope.
    (Recorded where a derivative of the pullback is taken.)"""
    total = np.zeros(count)
    for slopes, ct in zip(partials, cotangents, strict=True):
        if ct is not None:
            terms = np.where(np.asarray(ct) == 0.0, 0.0, slopes * ct)
            total = total + np.sum(np.reshape(terms, (count, -1)), axis=1)
    out, first = [], 0
    for shape in shapes:
        size = math.prod(shape)
        out.append(np.reshape(total[first:first + size], shape) if shape else total[first])
        first += size
    return out


def _leaves(shape: Shape, cotangent: Any) -> list[Any]:
    """The cotangents of the numbers and arrays of a result, in order."""
    if shape.kind == "leaf" or cotangent is None:
        return [cotangent] * len(leaf_kinds(shape))
    if shape.kind == "static":
        return []
    given = [getattr(cotangent, n) for n in shape.names] if shape.kind == "record" else cotangent
    return [leaf for part, ct in zip(shape.parts, given, strict=True) for leaf in _leaves(part, ct)]


def _shape(a: Any) -> Shape:
    found = described(a)[0]
    assert found is not None
    return found
