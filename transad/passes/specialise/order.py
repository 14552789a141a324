"""The order of evaluation: what an expression read stays what it was when its turn was over.

Expressions are put together unevaluated, so a call that comes later in Python's order could change what an earlier
operand reads: by assigning a variable, or by writing into an array. Such an operand gets a name first.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transad import ir
from transad.kinds import Array, Kind
from transad.nodes import gast
from transad.passes.specialise.values import Method, Part, Partial, Record, Span, Tup, Val, is_array
from transad.quote import Node, names_in


class Order(Part):
    """The part of the specialiser that keeps Python's order of evaluation."""

    def eval_all(self, nodes: list[Node]) -> list[Any]:
        """Operands from left to right; what a later one emits must not change what an earlier one read."""
        return self.in_order([functools.partial(self.eval, node) for node in nodes])

    def in_order(self, runs: list[Callable[[], Any]]) -> list[Any]:
        """The values of several evaluations, each as it was when its turn was over."""
        values: list[Any] = []
        for run in runs:
            before = len(self.buffer)
            value = run()
            emitted = self.buffer[before:]
            if emitted and values:
                touched = ir.assigned(emitted)
                stores = any(isinstance(s, ir.Store) for s in ir.walk(emitted))
                del self.buffer[before:]
                values = [self.kept(v, touched, stores) for v in values]
                self.buffer += emitted
            values.append(value)
        return values

    def kept(self, value: Any, touched: set[str], stores: bool) -> Any:
        """The value, named first if the statements that follow could change it: they assign the variables `touched`,
        and, with `stores`, elements of some array."""
        def again(v: Any) -> Any:
            return self.kept(v, touched, stores)
        if isinstance(value, list):
            return [again(v) for v in value]
        if isinstance(value, Tup):
            return type(value)(**{**vars(value), "items": again(value.items)})
        if isinstance(value, Span):
            return Span(again(value.lower), again(value.upper), again(value.step))
        if isinstance(value, Method):
            return Method(again(value.owner), value.name)
        if isinstance(value, Partial):
            return Partial(value.function, again(value.args), {k: again(v) for k, v in value.keywords.items()})
        if isinstance(value, Record):
            return Record(value.cls, {k: again(v) for k, v in value.fields.items()}, value.home)
        if isinstance(value, Val) and (touched & set(names_in(value.expr)) or (stores and self.reads_elements(value))):
            return self.let("t", value)
        return value

    def reads_elements(self, value: Val) -> bool:
        """Whether the expression, evaluated later, would see what is written into arrays until then. A name of an array
        and a slice of it would not: they are references in Python too."""
        return _reads(value.expr, is_array(value), self.kinds)


def _reads(node: Node, reference: bool, kinds: dict[str, Kind]) -> bool:
    if isinstance(node, gast.Name):
        return not reference and isinstance(kinds.get(node.id), Array)
    if isinstance(node, gast.Attribute) and node.attr in ("shape", "size", "ndim"):
        return _reads(node.value, True, kinds)
    if isinstance(node, gast.Call) and getattr(node.func, "id", "") == "len":
        return _reads(node.args[0], True, kinds)
    if isinstance(node, gast.Subscript):
        return _reads(node.value, reference or isinstance(node.value, gast.Attribute), kinds) or _reads(
            node.slice, False, kinds)
    return any(_reads(n, False, kinds) for n in gast.iter_child_nodes(node))


__all__ = ["Order"]
