"""Python's builtins on abstract values."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from transad import ir
from transad.kinds import BOOL, FLOAT, INT, Array, Scalar
from transad.maps.map import map as transad_map
from transad.passes.specialise.iterated_calls import ITERATED
from transad.passes.specialise.values import (
    UNKNOWN,
    Closure,
    Iter,
    Lazy,
    Lst,
    NotTyped,
    Obj,
    Partial,
    Record,
    Table,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.quote import Node, call, constant, expr

if TYPE_CHECKING:
    from transad.passes.specialise.program import Specialiser


def _len(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    v = args[0]
    if isinstance(v, Lazy):
        raise NotTyped("len of an iterator", node)
    if isinstance(v, Tup):
        return Val(constant(len(v.items)), INT, len(v.items))
    if isinstance(v, Table):
        return Val(v.length, INT)
    if isinstance(v, Lst):
        v = v.array
    if is_array(v):
        return Val(call("len", s.atom(v, "a").expr), INT)
    if isinstance(v, Iter) and v.span is not None:
        return Val(v.length(), INT)
    if isinstance(v, Obj) and hasattr(v.value, "__len__"):
        return Val(constant(len(v.value)), INT, len(v.value))
    raise NotTyped("len of this value", node)


def _range(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if not 1 <= len(args) <= 3 or not all(is_scalar(a) and a.kind.integer for a in args):
        raise NotTyped("range of something that is not an integer", node)
    zero = Val(constant(0), INT, 0)
    start, stop = (zero, args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2].const if len(args) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise NotTyped("a range whose step is not known", node)
    start, stop = s.held(start, "start"), stop
    return s.range_iter(start.expr, stop.expr, step)


def _enumerate(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    first = args[1] if len(args) > 1 else keywords.get("start", Val(constant(0), INT, 0))
    if isinstance(args[0], Tup):
        return Lazy([Tup([s.binary(expr("a + b").op, first, Val(constant(k), INT, k), node) if first.const != 0
                         else Val(constant(k), INT, k), v]) for k, v in enumerate(args[0].items)], list, _late(args))
    inner = s.iter_of(args[0], node)
    if inner.item is None:
        raise NotTyped("enumerate of a generator", node)
    begin = [s.held(first, "first")]

    def item(i: Node) -> Any:
        count = Val(i, INT) if first.const == 0 else Val(expr("i + s", i=i, s=begin[0].expr), INT)
        return Tup([count, inner.item(i)])
    return Iter(inner.length, item, name=inner.name, over=[*inner.over, begin], calls=inner.calls)


def _late(args: list[Any]) -> bool:
    return any(isinstance(a, Lazy) and a.late for a in args)


def _zip(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if any(k != "strict" or getattr(v, "const", UNKNOWN) is not False for k, v in keywords.items()):
        raise NotTyped("zip with strict=True", node)
    if all(isinstance(a, Tup) for a in args):
        return Lazy([Tup(list(items)) for items in zip(*(a.items for a in args), strict=False)], list, _late(args))
    iters = [s.iter_of(a, node) for a in args]
    if any(i.item is None for i in iters):
        raise NotTyped("zip of a generator", node)

    def length() -> Node:
        lengths = [i.length() for i in iters]
        return lengths[0] if len(lengths) == 1 else s.let("n", Val(call("min", *lengths), INT)).expr
    return Iter(length, lambda i: Tup([it.item(i) for it in iters]), over=[x for it in iters for x in it.over],
                calls=any(it.calls for it in iters))


def _reversed(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if isinstance(args[0], Tup):
        return Lazy(args[0].items[::-1], list, _late(args))
    it = s.iter_of(args[0], node)
    if it.item is None:
        raise NotTyped("reversed of a generator", node)
    n = s.let("n", Val(it.length(), INT)).expr
    return Iter(lambda: n, lambda i: it.item(expr("n - 1 - i", n=n, i=i)), over=it.over)


def _map(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    function, iterables = args[0], args[1:]
    if all(isinstance(a, Tup) for a in iterables):
        return Lazy([s.call_value(function, list(items), {}, node)
                    for items in zip(*(a.items for a in iterables), strict=False)], list, late=True)
    if len(iterables) == 1:
        inner = s.iter_of(iterables[0], node)
        if inner.drive is not None:
            return Iter(drive=lambda k: inner.drive(lambda v: k(s.call_value(function, [v], {}, node))),
                        over=inner.over, chosen=lambda: _mapped(s, function, s.by_index(inner, node), node))
    zipped = _zip(s, iterables, {}, node)
    return Iter(zipped.length, lambda i: s.call_value(function, zipped.item(i).items, {}, node), over=zipped.over,
                calls=True)


def _mapped(s: Specialiser, function: Any, inner: Iter, node: Node) -> Iter:
    return Iter(inner.length, lambda i: s.call_value(function, [inner.item(i)], {}, node), calls=True, apart=inner.apart)


def _transad_map(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    """`transad.map` inside a function: the items in an array."""
    mapped = _map(s, args, {}, node)
    if not isinstance(mapped, Iter) or set(keywords) - {"threads", "store"}:
        raise NotTyped("transad.map over these values", node)
    store = getattr(keywords.get("store"), "const", False)
    if store is not True and store is not False:
        raise NotTyped("transad.map with a store that is not True or False", node)
    made = s.listed(mapped, node)
    last = s.buffer[-1]
    if isinstance(last, ir.For):
        last.store = store

    def arrays(v: Any) -> Any:
        return Tup([arrays(c) for c in v.items], v.cls) if isinstance(v, Tup) else v.array
    return arrays(made.columns) if isinstance(made, Table) else made.array


def _partial(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    """`functools.partial(f, ...)`: its arguments are those of now."""
    return Partial(args[0], [s.parameter(a, "fixed", keeps=True) for a in args[1:]],
                   {k: s.parameter(v, k, keeps=True) for k, v in keywords.items()})


def _filter(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    inner = s.iter_of(args[1], node)

    def test(v: Any) -> Val:
        return s.truth(v if isinstance(args[0], Obj) and args[0].value is None else s.call_value(args[0], [v], {}, node), node)

    def drive(k: Any) -> None:
        s.iterate(inner, lambda v: s.branch(test(v), lambda: k(v), lambda: None), node)
    return Iter(drive=drive, over=inner.over, chosen=lambda: s.filtered(inner, test, node))


def _abs(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if not isinstance(args[0], Val):
        raise NotTyped("abs of something that is not a number", node)
    return s.call_numpy("abs" if is_scalar(args[0]) else "np.abs", args, keywords, node)


def _float(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if not args:
        return Val(constant(0.0), FLOAT)
    v = args[0]
    if is_array(v) and v.kind.ndim == 0:
        raise NotTyped("float of a zero-dimensional array", node)
    if not is_scalar(v) or v.kind.dtype.startswith("complex"):
        raise NotTyped("float of something that is not a number", node)
    return v if v.kind == FLOAT else Val(call("float", v.expr), FLOAT)


def _int(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    v = args[0]
    if not is_scalar(v) or len(args) > 1:
        raise NotTyped("int of something that is not a number", node)
    return v if v.kind == INT else Val(call("int", v.expr), INT, int(v.const) if isinstance(v.const, bool) else UNKNOWN)


def _bool(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    t = s.truth(args[0], node)
    return t if t.kind == BOOL else Val(call("bool", t.expr), BOOL)


def _pow(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if len(args) != 2:
        raise NotTyped("pow with a modulus", node)
    return s.binary(expr("a ** b").op, args[0], args[1], node)


def _round(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    if len(args) == 1 and is_scalar(args[0]):
        return Val(call("round", args[0].expr), INT)
    raise NotTyped("round to digits", node)


def _print(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    shown = []
    for a in args:
        if isinstance(a, Val):
            shown.append(a.expr)
        elif isinstance(a, Obj) and isinstance(a.value, str):
            shown.append(constant(a.value))
        else:
            raise NotTyped("print of this value", node)
    if keywords:
        raise NotTyped("print with keywords", node)
    s.emit(ir.Do(call("print", *shown)))
    return Obj(None)


def _isinstance(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    v, cls = args
    classes: list[Any] = [c.value for c in cls.items] if isinstance(cls, Tup) else [getattr(cls, "value", None)]
    import numpy as np
    if is_array(v):
        known = np.ndarray
    elif isinstance(v, Tup | Record):
        known = v.cls
    elif isinstance(v, Obj):
        return _known(isinstance(v.value, tuple(classes)))
    elif isinstance(v, Closure):
        return _known(any(c in (object,) for c in classes))
    else:
        raise NotTyped("isinstance of a number", node)
    if not all(isinstance(c, type) for c in classes):
        raise NotTyped("isinstance with these classes", node)
    return _known(issubclass(known, tuple(classes)))


def _sequence(cls: type) -> Any:
    def handler(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if not args:
            return Tup([], cls)
        if isinstance(args[0], Tup):
            return Tup(list(args[0].items), cls)
        if isinstance(args[0], Lst | Table):
            return args[0]
        return s.listed(s.iter_of(args[0], node), node)
    return handler


def _hasattr(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    raise NotTyped("hasattr and getattr", node)


def _known(value: bool) -> Val:
    return Val(constant(bool(value)), BOOL, bool(value))


BUILTINS: dict[Any, Any] = {
    len: _len, range: _range, enumerate: _enumerate, zip: _zip, reversed: _reversed, map: _map, filter: _filter,
    abs: _abs, float: _float, int: _int,
    bool: _bool, pow: _pow, round: _round, print: _print, isinstance: _isinstance, list: _sequence(list),
    tuple: _sequence(tuple), functools.partial: _partial, transad_map: _transad_map, **ITERATED}

__all__ = ["BUILTINS", "Array", "Scalar"]
