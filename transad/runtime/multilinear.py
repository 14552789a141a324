"""Functions with adjoints that are linear in their arguments: the pushforward is the function itself, on tangents.

Nothing has to be transposed for them. `JOINT` functions are linear in all their differentiable arguments together
(concatenations, choices); the others are linear in each for itself, so that the tangent is a sum over arguments.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

__all__ = ["is_linear", "linear_calls"]

JOINT = frozenset(map(id, (
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.append, np.where, np.block, np.array,
    np.asarray)))
EACH = frozenset(map(id, (
    np.sum, np.mean, np.cumsum, np.trace, np.diff, np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze,
    np.expand_dims, np.broadcast_to, np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.tile, np.repeat, np.diag,
    np.diagonal, np.tril, np.triu, np.copy, np.take, np.real, np.imag, np.conjugate, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.ascontiguousarray, np.dot, np.matmul, operator.matmul, np.outer, np.inner, np.vdot, np.tensordot,
    np.kron, np.cross, np.convolve, np.correlate, np.einsum, np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)))
KEYWORDS = frozenset({"axis", "axes", "keepdims", "order", "k", "offset", "n", "norm", "mode", "shift", "repeats", "reps",
                      "shape", "axis1", "axis2", "axisa", "axisb", "axisc", "optimize"})
POSITIONAL = 3              # further arguments by position may be dtypes, masks or initial values


def is_linear(record: Any) -> bool:
    """Whether a record is the call of a function that is linear in the arguments that have adjoints."""
    if record.call is None or record.several:
        return False
    key = id(record.call[0])
    if key not in EACH and key not in JOINT:
        return False
    many = record.call[0] is np.einsum
    return record.kwargs.keys() <= KEYWORDS and (many or len(record.args) <= POSITIONAL)


def linear_calls(record: Any, args: tuple, kwargs: dict, seeds: list[Any]) -> list[tuple[tuple, dict]]:
    """The calls whose results add up to the tangent: the arguments replaced by their tangents, one after the other or,
    for a function that is linear in them together, all at once. `seeds` are those of the record's targets (None: zero)."""
    function, names, parts = record.call
    tangents = dict(zip(names, seeds, strict=True))
    if id(function) in JOINT:
        for name in parts.adjoints:
            value = _argument(parts, args, kwargs, name)
            if value is not None:
                args, kwargs = _replaced(parts, args, kwargs, name, _filled(tangents.get(name), value))
        return [(args, kwargs)]
    calls = []
    for name, t in tangents.items():
        value = _argument(parts, args, kwargs, name)
        if name == parts.rest:                           # several operands under one name
            operands, t = value, t or ()
            calls += [_replaced(parts, args, kwargs, name, (*operands[:j], _filled(one, operands[j]), *operands[j + 1:]))
                      for j, one in enumerate(t) if one is not None]
        elif t is not None:
            calls.append(_replaced(parts, args, kwargs, name, _filled(t, value)))
    return calls


def _argument(parts: Any, args: tuple, kwargs: dict, name: str) -> Any:
    if name == parts.rest:
        return args[len(parts.names):]
    if name in parts.names and parts.names.index(name) < len(args):
        return args[parts.names.index(name)]
    return kwargs.get(name)


def _replaced(parts: Any, args: tuple, kwargs: dict, name: str, value: Any) -> tuple[tuple, dict]:
    if name == parts.rest:
        return (*args[:len(parts.names)], *value), kwargs
    at = parts.names.index(name)
    if at < len(args):
        return (*args[:at], value, *args[at + 1:]), kwargs
    return args, {**kwargs, name: value}


def _filled(t: Any, like: Any) -> Any:
    """A tangent, or a nesting of them, with zeros for None."""
    if isinstance(like, (list, tuple)) and (t is None or isinstance(t, list)):
        return [_filled(None if t is None else t[k], v) for k, v in enumerate(like)]
    return np.zeros(np.shape(like)) if t is None else t
