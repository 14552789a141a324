"""Calls of library functions: which expression they become, and of which kind the result is."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad import ir
from transad.kinds import BOOL, FLOAT, INT, Array, Kind, Scalar, divided, join, result_kind, with_dtype
from transad.nodes import gast
from transad.passes.specialise import numpy_table as table
from transad.passes.specialise.array_methods import ArrayMethods
from transad.passes.specialise.library import LIBRARY, SEQUENCES
from transad.passes.specialise.ruled_calls import RuledCalls
from transad.passes.specialise.values import (
    UNKNOWN,
    Iter,
    Lst,
    NotTyped,
    Obj,
    Table,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.quote import Node, call, constant, expr, index, name, show, slice_

_UNARY = {f"np.{n}" for n in table.UNARY} | {f"math.{n}" for n in table.MATH_UNARY} | {"abs"}
_BINARY = {f"np.{n}" for n in table.BINARY} | {f"math.{n}" for n in table.MATH_BINARY}
_INTEGERS = {"math.floor", "math.ceil", "math.trunc"}
_NOT_IN_NUMBA = {f"math.{n}": f"np.{n}" for n in ("fmod", "exp2", "cbrt")}


class NumpyCalls(ArrayMethods, RuledCalls):
    """The part of the specialiser that knows NumPy and math."""

    def call_numpy(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """A call as the typed path writes it; in compiled code the library's function where it cannot."""
        if f not in LIBRARY or not self.compiled or "out" in keywords:
            return self.call_written(f, args, keywords, node)
        length = len(self.buffer)
        try:
            return self.call_written(f, args, keywords, node)
        except NotTyped:
            del self.buffer[length:]
        return self.call_library(f, args, keywords, node)

    def call_written(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        short = f.split(".")[-1]
        args = [self.as_array(a, node) if isinstance(a, Tup | Lst | Table | Iter) and short not in (
            "array", "asarray", "fromiter", "stack", "zeros", "ones", "empty", "full", "reshape", "shape", "size",
            "transpose") and f not in SEQUENCES else a
            for a in args]
        if "out" in keywords:
            return self.call_out(f, args, keywords, node)
        if f in _UNARY or f in _BINARY or (f.split(".")[-1] in table.OPERATORS and f.startswith("np.")):
            if keywords:
                raise NotTyped(f"{f} with keywords", node)
            return self.elementwise(f, args, node)
        method: Any = getattr(self, f"np_{short}", None)
        if short in table.TESTS:
            return self.np_tests(f, args, node)
        if method is None:
            if f in _INTEGERS:
                return self.elementwise(f, args, node)
            raise NotTyped(f"{f} has no typed rule", node)
        return method(args, keywords, node)

    def elementwise(self, f: str, args: list[Any], node: Node) -> Val:
        short = f.split(".")[-1]
        if not all(isinstance(a, Val) for a in args) or len(args) not in (1, 2):
            raise NotTyped(f"{f} of these arguments", node)
        if f == "math.log" and len(args) == 2:
            top, base = (self.elementwise(f, [a], node) for a in args)
            return self.binary(expr("a / b").op, top, base, node)
        if f in _UNARY and len(args) == 2:
            raise NotTyped(f"{f} with its result as a positional argument", node)
        if any(a.kind.dtype.startswith("complex") for a in args) and short not in table.OPERATORS:
            raise NotTyped(f"{f} of complex numbers", node)
        if short in table.OPERATORS and len(args) == 2 and f.startswith("np."):
            op = expr(table.OPERATORS[short]).op
            if short == "power" and args[0].kind.dtype == "int64" and is_array(args[0]):
                raise NotTyped("an integer power of an array", node)
            return self.binary(op, args[0], args[1], node)
        if short in ("square", "negative"):
            a = self.atom(args[0])
            return Val(expr("a * a" if short == "square" else "-a", a=a.expr), a.kind)
        if f.startswith("math.") and any(is_array(a) for a in args):
            raise NotTyped(f"{f} of an array", node)
        kind: Kind = args[0].kind
        for a in args[1:]:
            kind = result_kind(kind, a.kind)
        if f in _INTEGERS:
            kind = INT
        elif f.startswith("math."):
            kind = FLOAT
        elif short not in ("abs", "absolute", "sign", "maximum", "minimum", "fmod"):
            kind = divided(kind)
        elif kind.dtype == "bool":
            kind = with_dtype(kind, "int64")
        if self.compiled:
            f = _NOT_IN_NUMBA.get(f, f)
        return Val(call(f, *(a.expr for a in args)), kind)

    def np_tests(self, f: str, args: list[Any], node: Node) -> Val:
        a = args[0]
        return Val(call(f, a.expr), Array("bool", a.kind.ndim) if is_array(a) else BOOL)

    def call_out(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        keywords = dict(keywords)
        out = keywords.pop("out")
        if isinstance(out, Tup) and len(out.items) == 1:
            out = out.items[0]
        value = self.call_numpy(f, args, keywords, node)
        if not is_array(out) or not isinstance(value, Val):
            raise NotTyped("this use of out=", node)
        value = self.let("t", value) if is_array(value) else value
        if isinstance(out.expr, gast.Subscript) and isinstance(out.expr.value, gast.Name):
            items = out.expr.slice.elts if isinstance(out.expr.slice, gast.Tuple) else [out.expr.slice]
            self.emit(ir.Store(show(out.expr.value), list(items), value.expr))
        else:
            out = self.atom(out, "out")         # an array made in the call itself: it is made once
            self.emit(ir.Store(show(out.expr), [slice_(None, None)] * out.kind.ndim, value.expr))
        return out

    # -- making arrays --------------------------------------------------------------------------------------------
    def as_array(self, v: Any, node: Node) -> Val:
        """A tuple, list or iterator of numbers as a new array."""
        if isinstance(v, Val):
            return v
        if isinstance(v, Lst | Table):
            return self.joined(v, node)
        if isinstance(v, Iter):
            return self.collected(v, node)
        if not isinstance(v, Tup) or not v.items:
            raise NotTyped("an array of these values", node)
        if all(is_scalar(x) for x in v.items):
            kind = v.items[0].kind
            for x in v.items[1:]:
                kind = join(kind, x.kind) or kind
            items = [self.atom(x) for x in v.items]
            made = call("np.empty", constant(len(items)))
            if kind.dtype != "float64":
                made = call("np.empty", constant(len(items)), name(f"np.{_np(kind.dtype)}"))
            out = self.let("a", Val(made, Array(kind.dtype, 1)))
            for k, x in enumerate(items):
                self.emit(ir.Store(show(out.expr), [constant(k)], x.expr))
            return out
        rows = [self.as_array(x, node) for x in v.items]
        if all(is_array(r) and r.kind == rows[0].kind for r in rows):
            return self.stacked(rows, node)
        raise NotTyped("an array of these values", node)

    def stacked(self, rows: list[Val], node: Node) -> Val:
        kind = rows[0].kind
        rows = [self.atom(r, "row") for r in rows]
        shape = [constant(len(rows)), *(expr(f"a.shape[{k}]", a=rows[0].expr) for k in range(kind.ndim))]
        out = self.let("a", self.empty(shape, kind.dtype))
        for k, r in enumerate(rows):
            self.emit(ir.Store(show(out.expr), [constant(k)], r.expr))
        return out

    def empty(self, shape: list[Node], dtype: str, f: str = "np.empty") -> Val:
        size = shape[0] if len(shape) == 1 else expr(
            "(" + ", ".join(f"s{k}" for k in range(len(shape))) + ")", **{f"s{k}": x for k, x in enumerate(shape)})
        made = call(f, size) if dtype == "float64" else call(f, size, name(f"np.{_np(dtype)}"))
        return Val(made, Array(dtype, len(shape)))

    def np_array(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        dtype = self.dtype_of(args[1:], keywords, node)
        if is_array(args[0]) or isinstance(args[0], Lst):
            v = args[0].array if isinstance(args[0], Lst) else args[0]
            made = self.let("a", Val(call("np.copy", self.atom(v).expr), v.kind))
        elif is_scalar(args[0]):
            raise NotTyped("a zero-dimensional array", node)
        else:
            made = self.as_array(args[0], node)
        if dtype and dtype != made.kind.dtype:
            return self.cast(made, dtype, node)
        return made

    def cast(self, v: Val, dtype: str, node: Node) -> Val:
        return self.let("a", Val(expr("a.astype(d)", a=self.atom(v).expr, d=name(f"np.{_np(dtype)}")),
                                 with_dtype(v.kind, dtype)))

    def np_asarray(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        dtype = self.dtype_of(args[1:], keywords, node)
        if is_array(args[0]) and dtype in (None, args[0].kind.dtype):
            return args[0]
        if is_scalar(args[0]) and self.compiled and dtype in (None, args[0].kind.dtype):
            return args[0]                      # a number does what an array without axes would
        return self.np_array(args, keywords, node)

    def dtype_of(self, args: list[Any], keywords: dict[str, Any], node: Node) -> str | None:
        given = args[0] if args else keywords.get("dtype")
        extra = set(keywords) - {"dtype"}
        if extra:
            raise NotTyped(f"the keyword {sorted(extra)[0]}", node)
        if given is None or (isinstance(given, Obj) and given.value is None):
            return None
        if not isinstance(given, Obj):
            raise NotTyped("a computed dtype", node)
        try:
            dtype = np.dtype(given.value)
        except TypeError:
            raise NotTyped("what is given as a dtype is none", node) from None
        if dtype.kind not in "biufc":
            raise NotTyped(f"arrays of {dtype}", node)
        return dtype.name

    def shape_of(self, v: Any, node: Node) -> list[Node]:
        items = v.items if isinstance(v, Tup) else [v]
        if not all(is_scalar(x) and x.kind.integer for x in items):
            raise NotTyped("a shape that is not made of integers", node)
        if not items:
            raise NotTyped("a zero-dimensional array", node)
        return [x.expr for x in items]

    def allocated(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        dtype = self.dtype_of(args[1:], keywords, node) or "float64"
        return self.empty(self.shape_of(args[0], node), dtype, f)

    def np_zeros(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.allocated("np.zeros", args, keywords, node)

    def np_empty(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.allocated("np.empty", args, keywords, node)

    def np_ones(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.allocated("np.ones", args, keywords, node)

    def np_full(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        value = args[1]
        if not is_scalar(value):
            raise NotTyped("np.full with an array", node)
        dtype = self.dtype_of(args[2:], keywords, node) or value.kind.dtype
        out = self.let("a", self.empty(self.shape_of(args[0], node), dtype))
        self.emit(ir.Store(show(out.expr), [slice_(None, None)] * out.kind.ndim, value.expr))
        return out

    def like(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        dtype = self.dtype_of(args[1:], keywords, node)
        a = args[0]
        if not is_array(a):
            raise NotTyped(f"{f} of something that is no array", node)
        if dtype in (None, a.kind.dtype):
            return Val(call(f, self.atom(a).expr), a.kind)
        raise NotTyped(f"{f} with another dtype", node)

    def np_zeros_like(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.like("np.zeros_like", args, keywords, node)

    def np_empty_like(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.like("np.empty_like", args, keywords, node)

    def np_ones_like(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.like("np.ones_like", args, keywords, node)

    def np_copy(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if not is_array(args[0]) or keywords:
            raise NotTyped("np.copy of something that is no array", node)
        return Val(expr("a.copy()", a=self.atom(args[0]).expr), args[0].kind)

    def np_arange(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if keywords or not all(is_scalar(a) for a in args):
            raise NotTyped("np.arange with keywords", node)
        kind: Any = args[0].kind
        for a in args[1:]:
            kind = result_kind(kind, a.kind)
        made = call("np.arange", *(a.expr for a in args))
        if kind.integer or len(args) < 2 or all(isinstance(a.expr, gast.Constant) for a in args):
            return Val(made, Array(kind.dtype, 1))
        first, *rest = [self.atom(a, "start") for a in (args[0], *args[2:])]
        count = self.let("n", Val(call("len", call("np.arange", first.expr, args[1].expr, *(a.expr for a in rest))), INT))
        steps = call("np.arange", count.expr)
        if rest:                # NumPy's own step, to the bit
            steps = expr("i * (a + s - a)", i=steps, a=first.expr, s=rest[0].expr)
        return Val(expr("a + i", a=first.expr, i=steps), Array(kind.dtype, 1))

    def np_linspace(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if keywords or len(args) != 3 or not all(is_scalar(a) for a in args):
            raise NotTyped("np.linspace with these arguments", node)
        return Val(call("np.linspace", *(a.expr for a in args)), Array("float64", 1))

    def np_eye(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if keywords or len(args) != 1:
            raise NotTyped("np.eye with these arguments", node)
        return Val(call("np.eye", args[0].expr), Array("float64", 2))

    np_identity = np_eye

    # -- reductions and products ----------------------------------------------------------------------------------
    def reduced(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        a = args[0]
        if len(args) > 1 or keywords or not is_array(a):
            raise NotTyped(f"{f} with an axis", node)
        if f == "np.mean":
            array = self.atom(a)
            total = self.reduced("np.sum", [array], {}, node)
            return Val(expr("s / a.size", s=total.expr, a=array.expr), divided(total.kind))
        kind = a.kind.element
        if kind.dtype == "bool":
            kind = INT
        array = self.atom(a, "t")
        return self.let("t", Val(call(f, array.expr), kind))

    def np_sum(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.reduced("np.sum", args, keywords, node)

    def np_mean(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.reduced("np.mean", args, keywords, node)

    def np_max(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.reduced("np.max", args, keywords, node)

    def np_min(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.reduced("np.min", args, keywords, node)

    np_amax, np_amin = np_max, np_min

    def np_argmax(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) > 1 or keywords or not is_array(args[0]):
            raise NotTyped("np.argmax with an axis", node)
        return self.let("k", Val(call("np.argmax", self.atom(args[0]).expr), INT))

    def np_argmin(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) > 1 or keywords or not is_array(args[0]):
            raise NotTyped("np.argmin with an axis", node)
        return self.let("k", Val(call("np.argmin", self.atom(args[0]).expr), INT))

    def np_any(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) > 1 or keywords or not is_array(args[0]):
            raise NotTyped("np.any with an axis", node)
        return Val(call("np.any", args[0].expr), BOOL)

    def np_all(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) > 1 or keywords or not is_array(args[0]):
            raise NotTyped("np.all with an axis", node)
        return Val(call("np.all", args[0].expr), BOOL)

    def np_dot(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) != 2 or keywords or not all(isinstance(a, Val) for a in args):
            raise NotTyped("np.dot with these arguments", node)
        ranks = self.ranks(*args)
        if 0 in ranks:
            return self.binary(expr("a * b").op, args[0], args[1], node)
        if max(ranks) > 2 or any(not a.kind.real for a in args):
            raise NotTyped("a product of arrays of this rank or dtype", node)
        a, b = self.atom(args[0], "a"), self.atom(args[1], "b")
        dtype = result_kind(a.kind, b.kind).dtype
        ndim = sum(ranks) - 2
        kind: Kind = Array(dtype, ndim) if ndim else Scalar(dtype)
        return self.let("t", Val(call("np.dot", a.expr, b.expr), kind))

    np_matmul = np_dot

    def np_outer(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) != 2 or keywords or self.ranks(*args) != (1, 1):
            raise NotTyped("np.outer with these arguments", node)
        a, b = self.atom(args[0], "a"), self.atom(args[1], "b")
        column = index(a.expr, [slice_(None, None), constant(None)])
        return self.binary(expr("a * b").op, Val(column, Array(a.kind.dtype, 2)), b, node)

    def np_where(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        if len(args) != 3 or keywords or not all(isinstance(a, Val) for a in args):
            raise NotTyped("np.where with these arguments", node)
        if not any(is_array(a) for a in args):
            raise NotTyped("np.where of numbers", node)
        test, a, b = (self.atom(v) if not is_scalar(v) else v for v in args)
        kind = result_kind(a.kind, b.kind)
        ndim = max(self.ranks(test, a, b))
        return self.let("t", Val(call("np.where", test.expr, a.expr, b.expr), Array(kind.dtype, ndim)))

    def np_shape(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if not is_array(args[0]):
            raise NotTyped("np.shape of something that is no array", node)
        return self.array_attribute(args[0], "shape", node)

    def np_size(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if not is_array(args[0]) or len(args) > 1:
            raise NotTyped("np.size of something that is no array", node)
        return self.array_attribute(args[0], "size", node)

    def np_float64(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if len(args) == 1 and is_scalar(args[0]) and not args[0].kind.dtype.startswith("complex"):
            return Val(call("np.float64", args[0].expr), FLOAT) if args[0].kind != FLOAT else args[0]
        raise NotTyped("np.float64 of this value", node)

    def np_int64(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if len(args) == 1 and is_scalar(args[0]):
            return Val(call("np.int64", args[0].expr), INT)
        raise NotTyped("np.int64 of this value", node)


def _np(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


__all__ = ["UNKNOWN", "NumpyCalls"]
