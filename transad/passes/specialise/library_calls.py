"""Calls that compiled code takes from the library of NumPy functions written in the typed path's own language.

In CPython a whole-array function is NumPy's own, which the recorded path calls; a loop in its place would be slow. Compiled
code has no other path, and a loop is what Numba compiles best: the library's function is inlined like a user's.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad import ir
from transad.kinds import INT, Array, Kind, Scalar
from transad.passes.specialise.library import LIBRARY, OWN, SEQUENCES
from transad.passes.specialise.values import NotTyped, Obj, Part, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, expr, slice_, tuple_

_PACKAGE = "transad.passes.specialise.library"
_EACH_AXIS = {"np.sum", "np.mean", "np.max", "np.min", "np.amax", "np.amin", "np.prod", "np.any", "np.all"}


def _stay(node: Node) -> None:
    """In place of `at`: what the library emits belongs to the user's line."""


def _refuse(node: Node) -> None:
    """In place of `run_Raise`: a form that a function of the library does not take is refused."""
    raise NotTyped(node.exc.args[0].value)


class LibraryCalls(Part):
    """The part of the specialiser that inlines the library."""

    @property
    def compiled(self) -> bool:
        """Whether the program is to be compiled: then recursion has a form of its own, too."""
        return self.recursive is not None

    def is_library(self, f: Any) -> bool:
        """Whether a function is a part of the library that one of its functions calls."""
        return (getattr(f, "__module__", None) or "").startswith(_PACKAGE) and self.compiled

    def call_library(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """The result of a library function, or a refusal that names it."""
        if f in _EACH_AXIS:
            axes = keywords.get("axis", args[1] if len(args) > 1 else None)
            if isinstance(axes, Tup):
                return self.over_axes(f, args, keywords, axes, node)
        if f not in SEQUENCES and args and not isinstance(args[0], Val | Obj):
            args = [self.as_array(args[0], node), *args[1:]]
        args = [self.as_array(a, node) if k and isinstance(a, Tup) and a.cls is list and f not in SEQUENCES else a
                for k, a in enumerate(args)]
        before = {k: vars(self)[k] for k in ("frame", "line", "source")}
        held, depth = "at" in vars(self), len(self.calls)
        self.at, self.run_Raise = _stay, _refuse
        start = len(self.buffer)
        try:
            result = self.inline_source(LIBRARY.get(f) or OWN[f], args, keywords, node)
            for s in ir.walk(self.buffer[start:]):
                if isinstance(s, ir.For):
                    s.library = True
            return result
        except (NotTyped, TypeError) as problem:
            vars(self).update(before)
            del self.calls[depth:]
            raise NotTyped(f"{f} in this form ({_reason(problem)})", node) from problem
        finally:
            if not held:
                del self.at, self.run_Raise

    def over_axes(self, f: str, args: list[Any], keywords: dict[str, Any], axes: Tup, node: Node) -> Any:
        """A reduction over several axes, one after the other, the last one first."""
        rest = {k: v for k, v in keywords.items() if k != "axis"}
        value = args[0]
        if not is_array(value) or any(not isinstance(a, Val) or not isinstance(a.const, int) for a in axes.items):
            raise NotTyped(f"{f} over axes that are not known", node)
        numbers = sorted({a.const % value.kind.ndim for a in axes.items}, reverse=True)
        if len(numbers) == value.kind.ndim and not rest:
            return self.call_numpy(f, [value], {}, node)
        for k in numbers:
            value = self.call_numpy(f, [value, Val(constant(k), INT, k)], rest, node)
        return value

    # -- what the library itself is written with ------------------------------------------------------------------
    def np_ndim(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if len(args) != 1 or not isinstance(args[0], Val):
            raise NotTyped("np.ndim of this value", node)
        n = self.ranks(args[0])[0]
        return Val(constant(n), INT, n)

    def np_argsort(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if len(args) != 1 or keywords or not is_array(args[0]) or args[0].kind.ndim != 1:
            raise NotTyped("np.argsort with an axis or kind", node)
        return self.let("order", Val(call("np.argsort", self.atom(args[0], "a").expr), Array("int64", 1)))

    def np_reshape(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """A view in compiled code, where an array that lies otherwise does not compile; elsewhere it might be a copy,
        and the call stays one."""
        if keywords or not is_array(args[0]) or len(args) < 2:
            raise NotTyped("np.reshape with these arguments", node)
        array = self.atom(args[0], "a")
        items = args[1:] if len(args) > 2 or not isinstance(args[1], Tup) else args[1].items
        if not items or not all(is_scalar(v) and v.kind.integer for v in items):
            raise NotTyped("a shape that is not made of integers", node)
        if not self.compiled:
            return self.ruled_view(np.reshape, array, [v.expr for v in items])
        shape = [v.expr if v.const != -1 else self.left_over(array, items, k) for k, v in enumerate(items)]
        if len(shape) == 1 == array.kind.ndim:
            return array
        return self.let("a", Val(call("reshaped", array.expr, tuple_(shape)), Array(array.kind.dtype, len(shape))))

    def left_over(self, array: Val, items: list[Any], k: int) -> Node:
        """The length that is left for an axis given as -1."""
        size = expr("a.size", a=array.expr)
        others = [v for j, v in enumerate(items) if j != k]
        if not others:
            return size
        product = others[0].expr
        for v in others[1:]:
            product = expr("a * b", a=product, b=v.expr)
        return expr("a // b", a=size, b=product)

    def np_ravel(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        return self.np_reshape([*args, Val(constant(-1), INT, -1)], keywords, node)

    def np_flatten(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        if len(args) != 1 or keywords or not is_array(args[0]):
            raise NotTyped("flatten with an order", node)
        array = self.atom(args[0], "a")
        if array.kind.ndim == 1:
            return self.let("a", Val(expr("a.copy()", a=array.expr), array.kind))
        flat = self.let("a", self.empty([expr("a.size", a=array.expr)], array.kind.dtype))
        shape = tuple_([expr(f"a.shape[{k}]", a=array.expr) for k in range(array.kind.ndim)])
        view = self.let("a", Val(call("reshaped", flat.expr, shape), array.kind))
        self.emit(ir.Store(view.expr.id, [slice_(None, None)] * array.kind.ndim, array.expr))
        return flat

    # -- LAPACK ---------------------------------------------------------------------------------------------------
    def lapack(self, f: str, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        """A call that stays one, with floating-point matrices as arguments."""
        if keywords or not all(is_array(a) for a in args) or args[0].kind.ndim != 2 or not self.compiled:
            raise NotTyped(f"{f} of these arguments", node)
        if len({a.kind.dtype for a in args}) > 1 or not args[0].kind.real:
            raise NotTyped(f"{f} of arrays that are not floating point of one precision", node)
        dtype = args[0].kind.dtype
        kind: Kind = args[-1].kind if f.startswith("np.") else Scalar(dtype)
        if f == "np.linalg.eigvalsh":
            kind = Array(dtype, 1)
        return self.let("t", Val(call(f, *(self.atom(a, "a").expr for a in args)), kind))

    def np_inv(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("np.linalg.inv", args, keywords, node)

    def np_solve(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("np.linalg.solve", args, keywords, node)

    def np_cholesky(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("np.linalg.cholesky", args, keywords, node)

    def np_eigvalsh(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("np.linalg.eigvalsh", args, keywords, node)

    def np_det_of(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("det_of", args, keywords, node)

    def np_log_det(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("log_det", args, keywords, node)

    def np_sign_of_det(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        return self.lapack("sign_of_det", args, keywords, node)


def _reason(problem: Exception) -> str:
    return problem.reason if isinstance(problem, NotTyped) else str(problem)


__all__ = ["LibraryCalls"]
