"""What loops go over: ranges, arrays, and iterators that are made of them.

An iterator is known by its length and its item at an index. Python goes through it once, when it is asked for items, over
what it was made from; so an iterator that a variable holds has names of its own for that, and is read once.
"""
from __future__ import annotations

from typing import Any

from transad.kinds import INT
from transad.nodes import gast
from transad.passes.specialise.values import Iter, Lazy, Lst, NotTyped, Part, Table, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, expr, names_in, show


class Iterators(Part):
    """The part of the specialiser that makes and reads iterators."""

    def range_iter(self, start: Node, stop: Node, step: int) -> Iter:
        span = [start, stop, step]

        def length() -> Node:
            start, stop, step = span
            if step == 1 and show(start) == "0":
                return stop
            if step == 1:
                return expr("max(b - a, 0)", a=start, b=stop)
            return call("len", call("range", start, stop, constant(step)))

        def item(i: Node) -> Val:
            start, _, step = span
            if show(start) == "0" and step == 1:
                return Val(i, INT)
            offset = i if step == 1 else expr("k * i", k=constant(step), i=i)
            return Val(offset if show(start) == "0" else expr("a + i", a=start, i=offset), INT)
        return Iter(length, item, span, over=[span], once=False)

    def iter_of(self, v: Any, node: Node) -> Iter:
        if isinstance(v, Iter):
            return v
        if isinstance(v, Table) or (isinstance(v, Lst) and v.depth > 1):
            n = v.length if isinstance(v, Table) else call("len", v.array.expr)
            return Iter(lambda: n, lambda i: self.list_item(v, Val(i, INT), node))
        if isinstance(v, Lst):
            v = v.array
        if is_array(v) and v.kind.ndim:
            a = [self.held(self.atom(v, "a"), "a")]
            return Iter(lambda: call("len", a[0].expr), lambda i: self.load(a[0], [Val(i, INT)], node), over=[a])
        if isinstance(v, Tup) and v.items and all(is_scalar(x) for x in v.items):
            return self.iter_of(self.as_array(v, node), node)
        raise NotTyped("this value is iterated", node)

    def held(self, v: Val, wanted: str) -> Val:
        """What an iterator goes over, under a name of its own where the loop assigns the user's name again."""
        return self.let(wanted, v) if self.rebinds or self.rebound & set(names_in(v.expr)) else v

    def retained(self, v: Any) -> Any:
        """A value that a variable is to hold: what an iterator goes over gets names that nobody assigns again."""
        if isinstance(v, Lazy):
            raise NotTyped("an iterator over a tuple is held by a variable")
        if isinstance(v, Iter) and v.loop is None:
            for values in v.over:
                for k, e in enumerate(values):
                    if isinstance(e, Val):
                        values[k] = e if isinstance(e.expr, gast.Constant) else self.let("items", e)
                    elif not isinstance(e, int | gast.Constant):
                        values[k] = self.let("end", Val(e, INT)).expr
            v.loop = self.loops[-1]
        return v

    def taken(self, v: Any, place: tuple[int, str], node: Node) -> Any:
        """A value as it is read from a variable: an iterator can be read once, and not in a loop that began later."""
        if isinstance(v, Iter) and v.once:
            if place in v.read or v.loop not in (None, self.loops[-1]):
                raise NotTyped("an iterator is used twice", node)
            v.read.add(place)
        elif isinstance(v, Tup):
            for x in v.items:
                self.taken(x, place, node)
        return v

    def iter_item(self, it: Iter, node: Node) -> Any:
        k = self.eval(node.slice)
        if it.item is None or it.span is None or not is_scalar(k):
            raise NotTyped("an item of a generator", node)
        if isinstance(k.const, int) and k.const < 0:
            return it.item(expr("n + k", n=it.length(), k=k.expr))
        if isinstance(k.const, int):
            return it.item(k.expr)
        raise NotTyped("an item of an iterator at a computed index", node)
