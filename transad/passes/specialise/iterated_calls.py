"""Functions that go through an iterator: sums, products, `any`, `all`, `min`, `max`, `reduce` and `starmap`."""
from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transad import ir
from transad.kinds import BOOL, FLOAT, INT, join
from transad.passes.specialise.values import UNKNOWN, Iter, Lazy, Lst, NotTyped, Obj, Table, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, expr

if TYPE_CHECKING:
    from transad.passes.specialise.program import Specialiser

_EMPTY = "reduce() of empty iterable with no initial value"


def _reduce(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    function, iterable = args[0], args[1]

    def step(a: Any, v: Any) -> Any:
        return s.call_value(function, [a, v], {}, node)
    if len(args) > 2:
        return s.fold(iterable, args[2], step, node, "folded")
    if isinstance(iterable, Tup):
        if not iterable.items:
            raise NotTyped("reduce of nothing", node)
        return s.fold(Tup(iterable.items[1:], list), iterable.items[0], step, node, "folded")
    it = s.by_index(iterable, node)
    n = s.let("n", Val(it.length(), INT)).expr
    s.emit(ir.If(expr("n == 0", n=n), [ir.Exit("raise", s.raised(TypeError, [constant(_EMPTY)]), line=s.line)], []))
    rest = Iter(lambda: expr("n - 1", n=n), lambda i: it.item(expr("i + 1", i=i)))
    return s.fold(rest, it.item(constant(0)), step, node, "folded")


def _sum(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    iterable, start = args[0], args[1] if len(args) > 1 else keywords.get("start", Val(constant(0), INT, 0))
    if isinstance(iterable, Iter | Lst | Table) or is_array(iterable):
        iterable = s.iter_of(iterable, node)
        zeros = s.first_total(iterable, node) if is_scalar(start) and type(start.const) is int and start.const == 0 else None
        start = start if zeros is None else zeros
        if is_array(start) and zeros is None:
            start = s.let("total", Val(call("np.copy", s.atom(start, "a").expr), start.kind))
    return s.fold(iterable, start, lambda total, v: s.binary(expr("a + b").op, total, v, node), node, "total")


def _prod(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    start = keywords.get("start", Val(constant(1), INT, 1))
    return s.fold(args[0], start, lambda total, v: s.binary(expr("a * b").op, total, v, node), node, "product")


def _starmap(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
    function, iterable = args

    def one(v: Any) -> Any:
        return s.call_value(function, s.items_of(v, node), {}, node)
    if isinstance(iterable, Tup):
        return Lazy([one(v) for v in iterable.items], list, late=True)
    it = s.iter_of(iterable, node)
    if it.item is None:
        return Iter(drive=lambda k: it.drive(lambda v: k(one(v))), over=it.over, chosen=lambda: _each(s.by_index(it, node), one))
    return _each(it, one)


def _each(it: Iter, one: Callable[[Any], Any]) -> Iter:
    return Iter(it.length, lambda i: one(it.item(i)), over=it.over, calls=True, apart=it.apart)


def _extreme(sign: str) -> Any:
    def handler(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if set(keywords) - {"key", "default"}:
            raise NotTyped("min or max with these arguments", node)
        key = keywords.get("key")
        if isinstance(key, Obj) and key.value is None:
            key = None
        if len(args) == 1 and not isinstance(args[0], Tup):
            return s.best_item(args[0], sign, node, key, keywords.get("default"))
        values = args[0].items if len(args) == 1 else args
        if not values or not all(is_scalar(v) for v in values) or key is not None:
            raise NotTyped("min or max of these values", node)
        if all(v.kind.integer for v in values):
            known = [v.const for v in values]
            const = (min if sign == "<" else max)(known) if all(isinstance(k, int) for k in known) else UNKNOWN
            return Val(call("min" if sign == "<" else "max", *(v.expr for v in values)), INT, const)
        return _better_of(s, values, sign)
    return handler


def _better_of(s: Specialiser, values: list[Any], sign: str) -> Any:
    frame, slot = s.frame, s.temporary("best")
    values = [s.atom(v, "t") for v in values]
    frame.vars[slot] = s.assign(frame, slot, values[0])
    for v in values[1:]:
        current = frame.vars[slot]
        kind = join(current.kind, v.kind) or FLOAT
        test = Val(expr(f"a {sign} b", a=v.expr, b=current.expr), BOOL)

        def take(v: Any = v, kind: Any = kind) -> None:
            frame.vars[slot] = s.assign(frame, slot, Val(v.expr, kind))
        s.branch(test, take, lambda: None)
    return frame.vars.pop(slot)


def _any_all(wanted: bool) -> Any:
    """`any` (`wanted` is True) and `all`: the loop ends at the first item that decides."""
    def handler(s: Specialiser, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if isinstance(args[0], Tup):
            out = Val(constant(not wanted), BOOL, not wanted)
            for item in args[0].items:
                t = s.truth(item, node)
                out = Val(expr("a or b" if wanted else "a and b", a=out.expr, b=t.expr), BOOL)
            return out
        it = s.by_index(args[0], node) if is_array(args[0]) or isinstance(args[0], Lst | Table) else s.iter_of(args[0], node)
        if it.item is None and it.levels != 1:
            raise NotTyped("any or all of a generator with several fors", node)
        frame, slot = s.frame, s.temporary("found")
        frame.vars[slot] = s.assign(frame, slot, Val(constant(not wanted), BOOL))

        def decided() -> None:
            frame.vars[slot] = s.assign(frame, slot, Val(constant(wanted), BOOL))
            s.emit(ir.Exit("break"))

        def body(v: Any) -> None:
            test = s.truth(v, node)
            if test.const is UNKNOWN:
                s.branch(Val(test.expr if wanted else expr("not a", a=test.expr), BOOL), decided, lambda: None)
            elif bool(test.const) == wanted:
                decided()
        s.iterate(it, body, node)
        return frame.vars.pop(slot)
    return handler


ITERATED: dict[Any, Any] = {
    sum: _sum, builtins.min: _extreme("<"), builtins.max: _extreme(">"), any: _any_all(True), all: _any_all(False),
    functools.reduce: _reduce, math.prod: _prod, itertools.starmap: _starmap}

__all__ = ["ITERATED"]
