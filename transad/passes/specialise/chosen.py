"""Comprehensions with conditions and with several `for`s as maps: which items there are is found out first.

The tuples of indices that the `for`s and `if`s let through are kept as arrays of integers, level by level: the tests of a
level leave the positions where they hold, and the next `for` repeats each of them by its length. The values are then a map
over the tuples that are left.

    [f(x, y) for x in xs if x > 0 for y in rows(x)]

    keep = zeros(len(xs)); for p: keep[p] = x > 0
    chosen = flatnonzero(keep)
    lengths = empty(len(chosen)); for p: lengths[p] = len(rows(x))
    owner, within = ...
    for p in range(len(owner)): items[p] = f(x at chosen[owner[p]], y at within[p])
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transad import ir
from transad.kinds import INT, Array
from transad.nodes import gast
from transad.passes.fresh import private
from transad.passes.specialise.values import Frame, Iter, NotTyped, Part, Val
from transad.quote import Node, call, constant, expr, index, name, show

Place = Callable[[Node], Node]


class Chosen(Part):
    """The part of the specialiser that lists what a comprehension or a filter lets through."""

    def chosen_items(self, node: Node, source: Any, frame: Frame) -> Iter:
        """The items of a comprehension, by their number."""
        known = set(self.kinds)
        first = self.once(source, node)
        tuples = _Tuples(first.length(), [lambda p: p])
        for depth in range(len(node.generators)):
            tuples = self.next_level(node, depth, first, frame, tuples, known)

        def element(p: Node) -> Any:
            self.bind_levels(node, first, tuples.places, len(node.generators) - 1, p)
            self.names_of(node.generators[-1])
            return self.eval(node.elt)
        return Iter(lambda: tuples.length, lambda p: self.inside(frame, lambda: element(p)), calls=True, apart=known)

    def next_level(self, node: Node, depth: int, first: Iter, frame: Frame, tuples: _Tuples, known: set[str]) -> _Tuples:
        """The tuples that pass the tests of a level, with every index of the next one."""
        generators = node.generators

        def test(p: Node, places: list[Place], then: Callable[[], None]) -> None:
            self.bind_levels(node, first, places, depth, p)
            self.conditions(generators[depth].ifs, then)

        def length(p: Node, places: list[Place]) -> Node:
            self.bind_levels(node, first, places, depth, p)
            self.names_of(generators[depth])
            return self.by_index(self.eval(generators[depth + 1].iter), node).length()

        if generators[depth].ifs:
            tuples = self.tested(tuples, lambda p, places, then: self.inside(frame, lambda: test(p, places, then)), known, node)
        if depth + 1 < len(generators):
            tuples = self.repeated(tuples, lambda p, places: self.inside(frame, lambda: length(p, places)), known, node)
        return tuples

    def filtered(self, inner: Iter, test: Callable[[Any], Val], node: Node) -> Iter:
        """The items of an iterator for which a test holds, by their number."""
        known = set(self.kinds)
        inner = self.once(inner, node)
        tuples = self.tested(_Tuples(inner.length(), [lambda p: p]), lambda p, _, then: self.branch(
            test(inner.item(p)), then, lambda: None), known, node)
        return Iter(lambda: tuples.length, lambda p: inner.item(tuples.places[0](p)), calls=True, apart=known)

    def by_index(self, source: Any, node: Node) -> Iter:
        """An iterator with a length and items by number."""
        it = self.iter_of(source, node)
        if it.item is None and it.chosen is not None:
            it = it.chosen()
        if it.item is None:
            raise NotTyped("a generator whose items have no number", node)
        return it

    def once(self, source: Any, node: Node) -> Iter:
        """An iterator by index that is read several times: the results of calls are kept, where they can be."""
        it = self.by_index(source, node)
        if not it.calls:
            return it
        try:
            return self.iter_of(self.listed(it, node), node)
        except NotTyped:
            return it

    def bind_levels(self, node: Node, first: Iter, places: list[Place], last: int, p: Node) -> None:
        """The targets of the `for`s up to `last` as the tuple `p` has them."""
        for depth, generator in enumerate(node.generators[:last + 1]):
            it = first if depth == 0 else self.by_index(self.eval(generator.iter), node)
            self.bind(generator.target, it.item(places[depth](p)))
            if depth < last:
                self.names_of(generator)

    def names_of(self, generator: Node) -> None:
        """What the tests of a level name by `:=`; they are known to hold."""
        for test in generator.ifs:
            if any(isinstance(n, gast.NamedExpr) for n in gast.walk(test)):
                self.eval(test)

    def tested(self, tuples: _Tuples, test: Callable[[Node, list[Place], Callable[[], None]], Any],
               known: set[str], node: Node) -> _Tuples:
        """The tuples that pass a test."""
        n = self.let("n", Val(_natural(tuples.length), INT))
        keep = self.let("keep", self.empty([n.expr], "bool", "np.zeros"))

        def body(p: Node) -> None:
            test(p, tuples.places, lambda: self.emit(ir.Store(show(keep.expr), [p], constant(True))))
        self.apart_pass(n.expr, body, {*known, show(keep.expr)}, show(keep.expr), node)
        chosen = self.let("chosen", Val(call("np.flatnonzero", keep.expr), Array("int64", 1)))
        return _Tuples(call("len", chosen.expr), [lambda p, f=f: f(index(chosen.expr, [p])) for f in tuples.places])

    def repeated(self, tuples: _Tuples, length: Callable[[Node, list[Place]], Node], known: set[str],
                 node: Node) -> _Tuples:
        """Each tuple with every index of the next `for`."""
        n = self.let("n", Val(_natural(tuples.length), INT))
        lengths = self.let("lengths", self.empty([n.expr], "int64"))

        def body(p: Node) -> None:
            self.emit(ir.Store(show(lengths.expr), [p], _natural(length(p, tuples.places))))
        self.apart_pass(n.expr, body, {*known, show(lengths.expr)}, show(lengths.expr), node)
        kind = Array("int64", 1)
        owner = self.let("owner", Val(expr("repeat(arange(n), m)", repeat=name("np.repeat"), arange=name("np.arange"),
                                           n=n.expr, m=lengths.expr), kind))
        begin = self.let("begin", Val(expr("cumsum(m) - m", cumsum=name("np.cumsum"), m=lengths.expr), kind))
        return _Tuples(call("len", owner.expr), [
            *[lambda p, f=f: f(index(owner.expr, [p])) for f in tuples.places],
            lambda p: expr("p - b[o[p]]", p=p, b=begin.expr, o=owner.expr)])

    def apart_pass(self, n: Node, body: Callable[[Node], None], known: set[str], own: str, node: Node) -> None:
        """A loop that runs before the items are computed, where Python would run its trips between them."""
        self.emit_for(constant(0), n, 1, body, "")
        self.mark_map()
        self.check_apart(self.buffer[-1], known, {own}, node)
        self.buffer[-1].source = ""         # no map of the user's

    def check_apart(self, loop: ir.Statement, known: set[str], own: set[str], node: Node) -> None:
        """Refuse a loop that does more than compute: its trips may run before or after others."""
        assert isinstance(loop, ir.For)
        fresh = private(loop.body) | own
        for s in ir.walk(loop.body):
            if isinstance(s, ir.Do) or (isinstance(s, ir.Store) and s.array not in fresh):
                raise NotTyped("a comprehension whose conditions or items do more than compute", node)
        if ir.assigned(loop.body) & known:
            raise NotTyped("a comprehension whose conditions or items assign other variables", node)


class _Tuples:
    """Tuples of indices by number: how many there are, and the index of each level at a number."""

    def __init__(self, length: Node, places: list[Place]) -> None:
        self.length, self.places = length, places


def _natural(n: Node) -> Node:
    """A length: a range may end before it starts."""
    plain = isinstance(n, gast.Name) or (isinstance(n, gast.Call) and show(n.func) in ("len", "max"))
    return n if plain and not isinstance(n, gast.Name) else call("max", n, constant(0))


__all__ = ["Chosen"]
