"""`np.vectorize(f)` and its calls: a loop over the elements of the arguments, which NumPy's rules bring to one shape."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from transad import ir
from transad.kinds import FLOAT, INT
from transad.passes.fresh import private
from transad.passes.specialise.values import Closure, Iter, Marked, NotTyped, Obj, Part, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, expr, show, slice_


@dataclass(eq=False)
class Vectorised:
    """A function under `np.vectorize`; `floats`: its `otypes` say that it gives floats."""

    function: Any
    floats: bool = False


class VectorisedCalls(Part):
    """The part of the specialiser that handles `np.vectorize`."""

    def vectorise(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Vectorised:
        """`np.vectorize(f)` in the text of a typed function."""
        otypes = keywords.get("otypes")
        given = otypes.items if isinstance(otypes, Tup) else None
        floats = given is not None and all(isinstance(t, Obj) and t.value in (float, np.float64) for t in given)
        if len(args) != 1 or set(keywords) - {"otypes"} or (otypes is not None and not floats) or not (
                isinstance(args[0], Closure | Marked) or (isinstance(args[0], Obj) and callable(args[0].value))):
            raise NotTyped("these arguments of np.vectorize", node)
        return Vectorised(args[0], floats)

    def vectorised_object(self, f: np.vectorize, node: Node) -> Vectorised:
        """One that was made outside."""
        otypes = [np.dtype(t) for t in f.otypes or ()]      # type: ignore[attr-defined]
        if f.excluded or f.signature is not None or any(t != np.float64 for t in otypes):      # type: ignore[attr-defined]
            raise NotTyped("np.vectorize with excluded arguments, a signature or other otypes than float", node)
        self.dependencies.append((f, "pyfunc", f.pyfunc))
        return Vectorised(Obj(f.pyfunc), bool(otypes))

    def call_vectorised(self, f: Vectorised, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """The results for all elements, in one array, or in a tuple of them."""
        given = [self.as_array(a, node) if isinstance(a, Tup) else a for a in args]
        if keywords or not all(is_array(a) or is_scalar(a) for a in given):
            raise NotTyped("a call of np.vectorize with these arguments", node)
        ndim = max((a.kind.ndim for a in given if is_array(a)), default=0)
        if not 0 < ndim < 3:
            raise NotTyped("a call of np.vectorize with numbers alone, or arrays of more than two axes", node)
        given = [self.held(self.atom(a, "a"), "a") for a in given]
        given, shape = self.fitted(given, ndim, node)
        if not f.floats:
            self.emit(ir.If(_any_zero(shape), [ir.Exit("raise", self.raised(ValueError, [constant(
                "cannot call `vectorize` on size 0 inputs unless `otypes` is set")]), line=self.line)], []))

        def item(at: list[Node]) -> Any:
            items = [self.number(self.load(a, [Val(i, INT) for i in at], node)) if is_array(a) else a for a in given]
            return self.call_value(f.function, items, {}, node)
        outs = self.outputs(f, item, shape, node)

        def body(at: list[Node]) -> None:
            value = item(at)
            for out, v in zip(outs, value.items if isinstance(value, Tup) else [value], strict=True):
                self.emit(ir.Store(show(out.expr), at, v.expr))
        if ndim == 1:
            self.emit_for(constant(0), shape[0], 1, lambda i: body([i]), "")
        else:
            self.emit_for(constant(0), shape[0], 1, lambda i: self.emit_for(
                constant(0), shape[1], 1, lambda j: body([i, j]), ""), "")
        self.mark_map()
        return outs[0] if len(outs) == 1 else Tup(list(outs))

    def number(self, v: Val) -> Val:
        """An element as NumPy passes it on: a number of Python."""
        return Val(call("float", v.expr), FLOAT) if v.kind.real else v

    def outputs(self, f: Vectorised, item: Any, shape: list[Node], node: Node) -> list[Val]:
        """An array for each result. NumPy calls the function once more to see the dtype, which is that of the first
        result, whatever the others are."""
        known, widened = set(self.kinds), self.widened
        value, block = self.probed(Iter(item=lambda i: item([i] * len(shape))))
        results = value.items if isinstance(value, Tup) else [value]
        if not results or not all(is_scalar(v) and not v.kind.dtype.startswith("complex") for v in results):
            raise NotTyped("np.vectorize of a function that does not give real numbers", node)
        if not f.floats and self.widened > widened:
            raise NotTyped("np.vectorize of a function that gives an integer or a float: otypes=[float] says which", node)
        made = private(block)
        if ir.assigned(block) & known or any(isinstance(s, ir.Do) or (isinstance(s, ir.Store) and s.array not in made)
                                             for s in ir.walk(block)):
            raise NotTyped("np.vectorize of a function that changes something outside, which it is called once more for", node)
        return [self.let("items", self.empty(shape, FLOAT.dtype if f.floats else v.kind.dtype)) for v in results]

    def fitted(self, given: list[Any], ndim: int, node: Node) -> tuple[list[Any], list[Node]]:
        """The arguments with all arrays of one shape, and the shape; a single array stays as it is."""
        arrays = [a for a in given if is_array(a)]
        shape: list[Node] = []
        for k in range(ndim):
            having = [expr(f"a.shape[{k - ndim + a.kind.ndim}]", a=a.expr) for a in arrays if k >= ndim - a.kind.ndim]
            n = self.let("n", Val(having[0] if ndim > 1 else call("len", arrays[0].expr), INT))
            for other in having[1:]:
                self.emit(ir.If(expr("n == 1", n=n.expr), [ir.Let(n.expr.id, other, line=self.line)], []))
            shape.append(n.expr)
        if len(arrays) == 1:
            return given, shape
        out = []
        for a in given:
            if is_array(a):
                stretched = self.let("a", self.empty(shape, a.kind.dtype))
                self.emit(ir.Store(stretched.expr.id, [slice_(None, None)] * ndim, a.expr))
                a = stretched
            out.append(a)
        return out, shape


def _any_zero(shape: list[Node]) -> Node:
    tests = [expr("n == 0", n=n) for n in shape]
    return tests[0] if len(tests) == 1 else expr("a or b", a=tests[0], b=tests[1])
