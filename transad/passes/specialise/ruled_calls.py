"""Calls of library functions that stay calls, in code that Python runs: any function with a rule that gives one value.

What a call returns is found by calling: of which dtype and rank the result is follows from those of the arguments and from
the numbers, strings and tuples among them.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.kinds import FLOAT, INT, Array, Kind, Scalar
from transad.passes.ruled import fits, note_sharing, ruled_name
from transad.passes.specialise.library import SEQUENCES
from transad.passes.specialise.values import UNKNOWN, Iter, Lst, NotTyped, Obj, Part, Table, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, index, tuple_
from transad.rules import load
from transad.rules.registry import find

_NONE = object()
_JOINS = {n.removeprefix("np.") for n in SEQUENCES} | {"block", "append"}          # where a list is several arrays
_FOUND: dict[Any, Kind | None] = {}


class RuledCalls(Part):
    """The part of the specialiser that leaves calls to the library."""

    def call_known(self, f: Any, label: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """A call of a function that the typed path has a form of; where that does not fit, the call."""
        length = len(self.buffer)
        try:
            return self.call_numpy(label, args, keywords, node)
        except NotTyped:
            del self.buffer[length:]
            made = self.call_ruled(f, args, keywords, node)
            if made is None:
                raise
            return made

    def call_ruled(self, f: Any, args: list[Any], keywords: dict[str, Any], node: Node) -> Val | None:
        """The call, if the function has a rule and what it is given is arrays and constants; else None."""
        load()
        rule = find(f)
        if self.compiled or rule is None or not fits(rule, args, keywords):
            return None
        args = [v.array if isinstance(v, Lst) and getattr(f, "__name__", "") not in _JOINS else v for v in args]
        label, values = ruled_name(f), [*args, *keywords.values()]
        if label is None or any(_given(v) is _NONE for v in values):
            return None
        if any(_given(v) in ("A", "K") for v in values):      # an order of memory, which copies that are kept do not have
            return None
        kind = _result_kind(f, label, [_given(v) for v in args], {k: _given(v) for k, v in keywords.items()})
        if kind is None or (rule.nondiff and kind.real):
            return None
        nodes = [self.ruled_argument(v) for v in values]
        words = dict(zip(keywords, nodes[len(args):], strict=True))
        return self.let("t", Val(call(label, *nodes[:len(args)], **words), kind))

    def ruled_view(self, f: Any, array: Val, shape: list[Node]) -> Val:
        """`f(array, shape)`, which may share the array's memory."""
        label = ruled_name(f)
        assert label is not None
        note_sharing(label)
        return self.let("t", Val(call(label, array.expr, tuple_(shape)), Array(array.kind.dtype, len(shape))))

    def ruled_argument(self, v: Any) -> Node:
        """An array, a constant or a tuple of them as the call gets it."""
        if isinstance(v, Val):
            return self.atom(v, "a").expr
        return tuple_([self.ruled_argument(x) for x in v.items]) if isinstance(v, Tup) else constant(_constant(v))

    def np_transpose(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        args = [self.as_array(args[0], node) if isinstance(args[0], Tup | Lst | Table | Iter) else args[0], *args[1:]]
        if not is_array(args[0]) or keywords:
            raise NotTyped("np.transpose with these arguments", node)
        if len(args) == 1:
            return self.array_attribute(args[0], "T", node)
        axes = [getattr(v, "const", None) for v in (args[1].items if isinstance(args[1], Tup) else args[1:])]
        rank = args[0].kind.ndim
        if self.compiled or any(type(k) is not int for k in axes) or sorted(k % rank for k in axes) != list(range(rank)):
            raise NotTyped("np.transpose with axes", node)
        turned = call("np.transpose", self.atom(args[0], "a").expr, tuple_([constant(k % rank) for k in axes]))
        return self.let("t", Val(turned, args[0].kind))

    def np_triu_indices(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        return self.triangle("np.triu_indices", args, keywords, node)

    def np_tril_indices(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        return self.triangle("np.tril_indices", args, keywords, node)

    def triangle(self, label: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Tup:
        """The rows and the columns of the elements of a triangle."""
        if self.compiled or keywords or not all(is_scalar(v) and v.kind.integer for v in args):
            raise NotTyped(f"{label} with these arguments", node)
        both = self.let("places", Val(call("np.array", call(label, *(v.expr for v in args))), Array("int64", 2)))
        return Tup([self.let(n, Val(index(both.expr, [constant(k)]), Array("int64", 1)))
                    for k, n in enumerate(("rows", "columns"))])


def _constant(v: Any) -> Any:
    """A constant argument: a number, a string or None."""
    value = v.const if isinstance(v, Val) else v.value if isinstance(v, Obj) else _NONE
    return value if (value is None and isinstance(v, Obj)) or isinstance(value, bool | int | float | str) else _NONE


def _given(v: Any) -> Any:
    """What is known of an argument: the kind of an array, the value of a constant, a tuple of them."""
    if is_array(v):
        return v.kind
    if is_scalar(v) and v.const is UNKNOWN:
        return v.kind if v.kind in (FLOAT, INT) else _NONE
    if not isinstance(v, Tup):
        return _constant(v)
    parts = tuple(_given(x) for x in v.items)
    return _NONE if any(p is _NONE for p in parts) else parts


def _result_kind(f: Any, label: str, args: list[Any], words: dict[str, Any]) -> Kind | None:
    """The kind of the result, if calls agree on it."""
    key = (label, repr(args), repr(words))
    if key not in _FOUND:
        tried = {_tried(f, label, args, words, order, length) for order in "CF" for length in (1, 3, 4)}
        kinds = tried - {_NONE}
        _FOUND[key] = kinds.pop() if len(kinds) == 1 else None
    return _FOUND[key]


def _tried(f: Any, label: str, args: list[Any], words: dict[str, Any], order: Any, length: int) -> Any:
    """What a call returns for arrays of one length along each axis; None if it writes to an argument, `_NONE` if it does
    not take them."""
    given = [_samples(v, order, length) for v in [*args, *words.values()]]
    arrays = [(v, v.copy()) for g in given for v in (g if isinstance(g, tuple) else [g]) if isinstance(v, np.ndarray)]
    try:
        with np.errstate(all="ignore"):
            out = f(*given[:len(args)], **dict(zip(words, given[len(args):], strict=True)))
    except Exception:       # no call will do: the recorded path makes it, and the error is the user's
        return _NONE
    if not isinstance(out, np.ndarray | np.generic) or out.dtype.kind not in "fib" or any(
            not np.array_equal(a, before) for a, before in arrays):
        return None
    if any(np.shares_memory(out, a) for a, _ in arrays):
        note_sharing(label)
    return Array(out.dtype.name, out.ndim) if isinstance(out, np.ndarray) else Scalar(out.dtype.name)


def _samples(given: Any, order: Any, length: int) -> Any:
    if isinstance(given, tuple):
        return tuple(_samples(v, order, length) for v in given)
    if isinstance(given, Scalar):
        return 0.25 if given == FLOAT else 1
    return _sample(given, order, length) if isinstance(given, Array) else given


def _sample(kind: Array, order: Any, length: int) -> np.ndarray:
    """A small array; a matrix has complex eigenvalues, and a Cholesky factor by its lower triangle."""
    shape = (length,) * kind.ndim
    if not kind.real:
        return np.zeros(shape, kind.dtype, order=order)
    values = np.full(shape, 0.5, kind.dtype, order=order)
    if kind.ndim >= 2:
        upper = np.triu_indices(length, 1)
        values[..., upper[0], upper[1]] = -0.5
        values[..., range(length), range(length)] = 0.75
    return values


__all__ = ["RuledCalls"]
