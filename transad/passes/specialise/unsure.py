"""Local names that a path through a function may read before anything has set them.

>>> from transad.nodes import gast
>>> tree = gast.parse('''
... def f(x, n):
...     s = 0.0
...     for i in range(n):
...         y = x[i]
...         s += y
...     return s + y
... ''').body[0]
>>> unsure_names(tree, {"x", "n", "s", "i", "y"})
{'y'}
"""
from __future__ import annotations

from collections.abc import Iterable, Set

from transad.nodes import gast
from transad.quote import Node

__all__ = ["unsure_names"]

State = frozenset[str] | None         # the names that are set for certain; None where no path arrives


def unsure_names(function: Node, own: Set[str]) -> set[str]:
    """Those of the local names `own`."""
    walk = _Walk(own)
    given = {n.id for n in gast.walk(function.args) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    walk.block(function.body, frozenset(given))
    return walk.unsure


def _meet(*states: State) -> State:
    there = [s for s in states if s is not None]
    return frozenset.intersection(*there) if there else None


class _Walk:
    def __init__(self, own: Set[str]) -> None:
        self.own = own
        self.unsure: set[str] = set()
        self.breaks: list[list[State]] = []
        self.continues: list[list[State]] = []

    def block(self, statements: Iterable[Node], state: State) -> State:
        for s in statements:
            state = self.statement(s, state)
        return state

    def statement(self, s: Node, state: State) -> State:
        if state is None:
            return None
        if isinstance(s, gast.If):
            state = self.read(s.test, state)
            return _meet(self.block(s.body, state), self.block(s.orelse, state))
        if isinstance(s, gast.For | gast.While):
            return self.loop(s, state)
        if isinstance(s, gast.Break | gast.Continue):
            (self.breaks if isinstance(s, gast.Break) else self.continues)[-1].append(state)
            return None
        if isinstance(s, gast.Return | gast.Raise):
            self.parts(s, state)
            return None
        if isinstance(s, gast.FunctionDef | gast.ClassDef):
            self.later(s, state)
            return state | {s.name}
        if isinstance(s, gast.Delete):
            return state - {t.id for t in s.targets if isinstance(t, gast.Name)}
        if isinstance(s, gast.Import | gast.ImportFrom):
            return state | {(a.asname or a.name).split(".")[0] for a in s.names}
        if isinstance(s, gast.AugAssign) and isinstance(s.target, gast.Name):
            self.name(s.target.id, state)
        if isinstance(s, gast.Try | gast.With | gast.Match):         # not typed
            self.parts(s, state)
            return state
        value = getattr(s, "value", None)
        state = self.read(value, state) if value is not None else state
        targets = getattr(s, "targets", None) or [t for t in [getattr(s, "target", None)] if t is not None]
        for t in targets:
            state = self.bound(t, state) if value is not None else state
        return self.parts(s, state) if isinstance(s, gast.Assert) else state

    def loop(self, s: Node, state: frozenset[str]) -> State:
        endless = isinstance(s, gast.While) and isinstance(s.test, gast.Constant) and bool(s.test.value)
        head = self.read(s.iter, state) if isinstance(s, gast.For) else state
        at = head
        for _ in range(2):          # what a trip deletes is not there in the next
            at = head if isinstance(s, gast.For) else self.read(s.test, head)
            self.breaks.append([])
            self.continues.append([])
            end = self.block(s.body, self.bound(s.target, at) if isinstance(s, gast.For) else at)
            broke, end = self.breaks.pop(), _meet(end, *self.continues.pop())
            head = head if end is None else head & end
        return _meet(None if endless else self.block(s.orelse, at & head), *broke)

    # Expressions

    def read(self, e: Node, state: frozenset[str]) -> frozenset[str]:
        """What is set after an expression has been evaluated."""
        if isinstance(e, gast.Name):
            if isinstance(e.ctx, gast.Load):
                self.name(e.id, state)
            return state
        if isinstance(e, gast.NamedExpr):
            return self.read(e.value, state) | {e.target.id}
        if isinstance(e, gast.BoolOp | gast.Compare):
            first, *rest = e.values if isinstance(e, gast.BoolOp) else [e.left, *e.comparators]
            state = self.read(first, state)
            if isinstance(e, gast.Compare):
                state = self.read(rest.pop(0), state)
            after = state
            for part in rest:
                after = self.read(part, after)
            return state
        if isinstance(e, gast.IfExp):
            state = self.read(e.test, state)
            return self.read(e.body, state) & self.read(e.orelse, state)
        if isinstance(e, gast.Lambda | gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp):
            self.later(e, state)
            return state
        return self.parts(e, state)

    def parts(self, node: Node, state: frozenset[str]) -> frozenset[str]:
        for child in gast.iter_child_nodes(node):
            state = self.read(child, state)
        return state

    def later(self, node: Node, state: frozenset[str]) -> None:
        """A function or comprehension: its body may run when the names have been set, or not."""
        inside = {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
        for n in gast.walk(node):
            if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load):
                self.name(n.id, state | inside)

    def bound(self, target: Node, state: frozenset[str]) -> frozenset[str]:
        if isinstance(target, gast.Name):
            return state | {target.id}
        if isinstance(target, gast.Tuple | gast.List):
            for t in target.elts:
                state = self.bound(t, state)
            return state
        return self.bound(target.value, state) if isinstance(target, gast.Starred) else self.parts(target, state)

    def name(self, identifier: str, state: frozenset[str]) -> None:
        if identifier in self.own and identifier not in state:
            self.unsure.add(identifier)
