"""Calls of functions marked `fwddiff` (see `transad.passes.duals`).

A call takes the forward form where it goes from numbers and arrays to numbers and arrays of its own and leaves nothing
behind: what its body reads are its inputs, captured variables among them, and it writes only into arrays that it made.
Any other marked call is inlined like an unmarked one; its derivative is the same, in reverse.
"""
from __future__ import annotations

import functools
from typing import Any

from transad.ir import Block, Do, For, If, Let, Store, While, assigned, walk
from transad.kinds import FLOAT, Array
from transad.nodes import gast
from transad.passes.duals import Dual, by_dual
from transad.passes.fresh import private
from transad.passes.map_items import copied
from transad.passes.regions import view_of
from transad.passes.specialise.values import Closure, Marked, NotTyped, Obj, Part, Record, Tup, Val
from transad.passes.versions import live_before
from transad.quote import Node, constant, names_in, show
from transad.verbs import ForwardDiff, fwddiff


class MarkedCalls(Part):
    """The part of the specialiser that handles marked functions."""

    def mark(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """`fwddiff(f)`, `fwddiff(f, store=True)` or `fwddiff(store=True)` in the text of a typed function."""
        store = keywords.get("store", Val(constant(False), FLOAT, False))
        if len(args) > 1 or set(keywords) - {"store"} or not isinstance(store, Val) or not isinstance(store.const, bool):
            raise NotTyped("these arguments of fwddiff", node)
        if not args:
            return Obj(functools.partial(fwddiff, store=store.const))
        if isinstance(args[0], Closure | Marked):
            return Marked(getattr(args[0], "function", args[0]), store.const)
        if isinstance(args[0], Obj) and callable(args[0].value):
            return Marked(args[0], store.const)
        raise NotTyped("fwddiff of something that is not a function", node)

    def marked_object(self, f: Any) -> Marked | None:
        """A function that was marked outside."""
        return Marked(Obj(f.__wrapped__), f.store) if isinstance(f, ForwardDiff) else None

    def decorated(self, made: Closure, s: Node) -> Any:
        """A nested function under decorators: only `fwddiff` has a typed meaning."""
        function: Any = made
        for d in reversed(s.decorator_list):
            maker = self.eval(d)
            inner = getattr(maker, "value", None)
            if inner is not fwddiff and getattr(inner, "func", None) is not fwddiff:
                raise NotTyped("a nested function with decorators", s)
            function = self.call_value(maker, [function], {}, d)
        return function

    def call_marked(self, f: Marked, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """The result of a marked call, its body emitted in place."""
        if not self.marked:                            # inside another marked call, or where all is forward mode
            return self.call_value(f.function, args, keywords, node)
        args = [self.settled_argument(a, "a") for a in args]
        keywords = {k: self.settled_argument(v, k) for k, v in keywords.items()}
        known, outer = set(self.kinds), self.buffer
        self.marked, self.buffer = False, []
        try:
            result = self.call_value(f.function, args, keywords, node)
        finally:
            body, self.buffer, self.marked = self.buffer, outer, True
        leaves: list[Val] = []
        self.collect_results(result, leaves)
        inputs = self.read_by_marked(body, leaves, known)
        if inputs is None:
            self.buffer += body
            return result
        return self.with_results(result, iter(self.in_place(f, body, leaves, inputs)))

    def settled_argument(self, value: Any, label: str) -> Any:
        """An argument computed before the body: names and literals."""
        if isinstance(value, Record):
            return Record(value.cls, {k: self.settled_argument(v, k) for k, v in value.fields.items()})
        if isinstance(value, Tup):
            return Tup([self.settled_argument(v, label) for v in value.items], value.cls)
        return self.atom(value, label) if isinstance(value, Val) else value

    def read_by_marked(self, body: Block, leaves: list[Val], known: set[str]) -> list[str] | None:
        """What a body reads; None where the call is not from numbers to numbers."""
        changed, fresh = assigned(body), private(body)
        for s in walk(body):
            if isinstance(s, Do) or (isinstance(s, Store) and s.array not in fresh):
                return None
            if not isinstance(s, Let | Store | If | For | While) and type(s).__name__ not in ("Move", "Exit"):
                return None
        if changed & known or not all(v.kind == FLOAT or not v.kind.real or self.made_by(v, fresh) for v in leaves):
            return None
        named = [show(v.expr) for v in leaves if isinstance(v.kind, Array)]
        if len(set(named)) < len(named):                # one array under two names
            return None
        live = {n for v in leaves for n in names_in(v.expr)}
        for s in reversed(body):
            live = live_before(s, live)
        read = [n for n in self.kinds if n in live and n not in changed]
        numbers = [self.kinds[n] for n in read if not isinstance(self.kinds[n], Array)]
        return read if all(k == FLOAT or not k.real for k in numbers) else None

    def made_by(self, v: Val, fresh: set[str]) -> bool:
        """Whether a result is an array that nobody else holds."""
        if not isinstance(v.kind, Array) or v.kind.dtype != "float64":
            return False
        return v.expr.id in fresh if isinstance(v.expr, gast.Name) else view_of(v.expr) is None

    def dual_of_body(self, f: Marked, body: Block, leaves: list[Val], inputs: list[str]) -> Dual:
        ends: Block = []
        for v in leaves:
            y = self.names.fresh("y")
            self.kinds[y] = v.kind
            ends.append(Let(y, v.expr, line=self.line))
        return Dual(f.label, inputs, copied(body) + ends, [s.name for s in ends if isinstance(s, Let)])

    def in_place(self, f: Marked, body: Block, leaves: list[Val], inputs: list[str]) -> list[Node]:
        """The body in place. The reverse sweep runs it again, forwards; with `store`, its slopes are computed beside it,
        once it is known what is differentiated (`passes.forward.stored`)."""
        dual = self.dual_of_body(f, body, leaves, inputs)
        if f.store:
            dual.statements = list(body)
        self.buffer += body
        return [by_dual(v.expr, dual, k) if _flows(v) else v.expr for k, v in enumerate(leaves)]

    def with_results(self, result: Any, values: Any) -> Any:
        """The result with other expressions for its numbers, each under a name."""
        if isinstance(result, Val):
            e = next(values)
            return self.let("y", Val(e, result.kind)) if _flows(result) else Val(e, result.kind, result.const)
        if isinstance(result, Tup):
            return Tup([self.with_results(v, values) for v in result.items], result.cls)
        if isinstance(result, Record):
            return Record(result.cls, {k: self.with_results(v, values) for k, v in result.fields.items()})
        return result


def _flows(v: Val) -> bool:
    """Whether a result carries a derivative."""
    return v.kind == FLOAT or (isinstance(v.kind, Array) and v.kind.real)
