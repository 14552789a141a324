"""Expressions: operators, comparisons, indexing, attributes."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transad.kinds import BOOL, Array, Kind, Scalar, divided, result_kind, with_dtype
from transad.nodes import gast
from transad.passes.specialise.order import Order
from transad.passes.specialise.values import (
    UNKNOWN,
    Closure,
    Method,
    NotTyped,
    Obj,
    Record,
    Span,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.quote import Node, constant, expr, rebuilt

_BINARY = {"Add": ("a + b", operator.add), "Sub": ("a - b", operator.sub), "Mult": ("a * b", operator.mul),
           "Div": ("a / b", operator.truediv), "FloorDiv": ("a // b", operator.floordiv),
           "Mod": ("a % b", operator.mod), "Pow": ("a ** b", operator.pow), "BitAnd": ("a & b", operator.and_),
           "BitOr": ("a | b", operator.or_), "BitXor": ("a ^ b", operator.xor),
           "LShift": ("a << b", operator.lshift), "RShift": ("a >> b", operator.rshift)}
_COMPARE = {"Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
            "GtE": operator.ge}


class Expressions(Order):
    """The part of the specialiser that evaluates expressions."""

    def eval(self, node: Node, hint: str = "") -> Any:
        method = getattr(self, f"eval_{type(node).__name__}", None)
        if method is None:
            raise NotTyped(f"{type(node).__name__} expressions are not typed", node)
        if isinstance(node, gast.IfExp | gast.BoolOp | gast.Call):
            return method(node, hint)
        return method(node)

    def eval_Constant(self, node: Node) -> Any:
        return self.lift(node.value, "constant", node)

    def eval_Name(self, node: Node) -> Any:
        value = self.lookup(node.id, node)
        if type(value).__name__ == "_Conflict":
            raise NotTyped(f"{node.id} holds different kinds of things on different paths", node)
        return value

    def eval_Tuple(self, node: Node) -> Any:
        return Tup(self.starred(node.elts), tuple)

    def eval_List(self, node: Node) -> Any:
        return Tup(self.starred(node.elts), list)

    def starred(self, nodes: list[Node]) -> list[Any]:
        return self.spread(nodes, self.eval_all([n.value if isinstance(n, gast.Starred) else n for n in nodes]))

    def spread(self, nodes: list[Node], values: list[Any]) -> list[Any]:
        """The values of a display or of arguments, with the starred ones as their items."""
        out: list[Any] = []
        for n, v in zip(nodes, values, strict=True):
            out += self.items_of(v, n) if isinstance(n, gast.Starred) else [v]
        return out

    def eval_Lambda(self, node: Node) -> Any:
        return Closure(node, self.frame, self.defaults(node.args), "<lambda>", key=id(node))

    def eval_NamedExpr(self, node: Node) -> Any:
        return self.bind(node.target, self.eval(node.value))

    def eval_Slice(self, node: Node) -> Any:
        parts = [None if p is None else self.eval(p) for p in (node.lower, node.upper, node.step)]
        return Span(*(None if isinstance(p, Obj) and p.value is None else p for p in parts))

    # -- operators ------------------------------------------------------------------------------------------------
    def eval_BinOp(self, node: Node) -> Any:
        left, right = self.eval_all([node.left, node.right])
        return self.binary(node.op, left, right, node)

    def binary(self, op: Node, a: Any, b: Any, node: Node) -> Any:
        kind_name = type(op).__name__
        if isinstance(a, Tup) or isinstance(b, Tup):
            return self.binary_tuple(kind_name, a, b, node)
        if kind_name == "MatMult":
            return self.call_known(np.matmul, "np.dot" if self.ranks(a, b) == (1, 1) else "np.matmul", [a, b], {}, node)
        if not (isinstance(a, Val) and isinstance(b, Val)):
            raise NotTyped("an operator on values that are not numbers", node)
        template, fold = _BINARY[kind_name]
        const = UNKNOWN
        if isinstance(a.const, int) and isinstance(b.const, int) and abs(a.const) < 2**31 and abs(b.const) < 64:
            try:
                const = fold(a.const, b.const)
            except ArithmeticError:
                const = UNKNOWN
        return Val(expr(template, a=a.expr, b=b.expr), self.binary_kind(kind_name, a, b, node), const)

    def binary_kind(self, op: str, a: Val, b: Val, node: Node) -> Kind:
        kind = result_kind(a.kind, b.kind)
        if op == "Div":
            return divided(kind)
        if kind.dtype == "bool" and op in ("Add", "Sub", "Mult", "FloorDiv", "Mod", "Pow"):
            if isinstance(kind, Array):
                raise NotTyped("arithmetic on boolean arrays", node)
            return with_dtype(kind, "int64")
        if op == "Pow" and kind.dtype == "int64" and isinstance(kind, Scalar):
            if not isinstance(b.const, int):
                raise NotTyped("an integer power with an unknown exponent", node)
            return kind if b.const >= 0 else Scalar("float64")
        if op in ("FloorDiv", "Mod") and kind.dtype.startswith("complex"):
            raise NotTyped("this operator on complex numbers", node)
        return kind

    def binary_tuple(self, op: str, a: Any, b: Any, node: Node) -> Any:
        if op == "Add" and isinstance(a, Tup) and isinstance(b, Tup) and a.cls is b.cls and a.cls in (tuple, list):
            return Tup([*a.items, *b.items], a.cls)
        if op == "Mult" and isinstance(a, Tup) and isinstance(b, Val) and isinstance(b.const, int) and a.cls is tuple:
            return Tup(a.items * b.const, a.cls)
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Tup) and is_array(y) and x.cls in (list, tuple):
                array = self.as_array(x, node)
                return self.binary(_operator(op), *((array, y) if x is a else (y, array)), node)
        raise NotTyped("this operator on a tuple or list", node)

    def ranks(self, *values: Any) -> tuple[int, ...]:
        return tuple(v.kind.ndim if is_array(v) else 0 for v in values)

    def eval_UnaryOp(self, node: Node) -> Any:
        v = self.eval(node.operand)
        if isinstance(node.op, gast.Not):
            t = self.truth(v, node)
            return Val(expr("not a", a=t.expr), BOOL, UNKNOWN if t.const is UNKNOWN else not t.const)
        if not isinstance(v, Val):
            raise NotTyped("an operator on something that is not a number", node)
        if isinstance(node.op, gast.Invert):
            if v.kind.dtype.startswith(("float", "complex")):
                raise NotTyped("~ on floating point", node)
            kind = Scalar("int64") if isinstance(v.kind, Scalar) and v.kind == BOOL else v.kind
            return Val(expr("~a", a=v.expr), kind)
        kind = Scalar("int64") if v.kind == BOOL else v.kind
        if isinstance(node.op, gast.UAdd):
            return Val(expr("+a", a=v.expr), kind)
        const = -v.const if isinstance(v.const, int | float) else UNKNOWN
        return Val(expr("-a", a=v.expr), kind, const)

    def eval_Compare(self, node: Node) -> Any:
        values = self.eval_all([node.left, *node.comparators])
        if any(not isinstance(v, Val) for v in values) or isinstance(node.ops[0], gast.In | gast.NotIn | gast.Is |
                                                                      gast.IsNot):
            return self.compare_static(node, values)
        kinds = [v.kind for v in values]
        ndim = max(k.ndim if isinstance(k, Array) else 0 for k in kinds)
        if ndim and len(values) > 2:
            raise NotTyped("a chained comparison of arrays", node)
        consts = [v.const for v in values]
        const = UNKNOWN
        if all(c is not UNKNOWN for c in consts) and not ndim:
            const = all(_COMPARE[type(op).__name__](x, y)
                        for op, x, y in zip(node.ops, consts, consts[1:], strict=False))
        tree = rebuilt(node, {"left": values[0].expr, "comparators": [v.expr for v in values[1:]]})
        return Val(tree, Array("bool", ndim) if ndim else BOOL, const)

    def compare_static(self, node: Node, values: list[Any]) -> Any:
        if len(values) != 2:
            raise NotTyped("this chained comparison", node)
        a, b = values
        op = type(node.ops[0]).__name__
        if op in ("Is", "IsNot"):
            if isinstance(a, Obj) and isinstance(b, Obj):
                return _bool((a.value is b.value) == (op == "Is"))
            if any(isinstance(v, Obj) and v.value is None for v in values):
                return _bool(op == "IsNot")
            raise NotTyped("`is` on numbers", node)
        if op in ("In", "NotIn") and isinstance(b, Tup) and isinstance(a, Val) and is_scalar(a) and b.items:
            a = self.atom(a)
            if all(is_scalar(v) for v in b.items):
                tests = [expr("a == b", a=a.expr, b=v.expr) for v in b.items]
                out = tests[0]
                for t in tests[1:]:
                    out = expr("a or b", a=out, b=t)
                return Val(expr("not (a)", a=out) if op == "NotIn" else out, BOOL)
        if isinstance(a, Obj) and isinstance(b, Obj) and op in ("Eq", "NotEq"):
            return _bool((a.value == b.value) == (op == "Eq"))
        if isinstance(a, Obj) and isinstance(b, Tup) and op in ("In", "NotIn") and all(
                isinstance(v, Obj) for v in b.items):
            return _bool((a.value in [v.value for v in b.items]) == (op == "In"))
        if isinstance(a, Tup) and isinstance(b, Tup) and op in ("Eq", "NotEq") and len(a.items) == len(b.items):
            if all(is_scalar(v) for v in [*a.items, *b.items]):
                out = Val(constant(True), BOOL, True)
                for x, y in zip(a.items, b.items, strict=True):
                    out = Val(expr("a and b", a=out.expr, b=expr("a == b", a=x.expr, b=y.expr)), BOOL)
                return out if op == "Eq" else Val(expr("not (a)", a=out.expr), BOOL)
        raise NotTyped("this comparison", node)

    def truth(self, value: Any, node: Node) -> Val:
        """The value as a condition."""
        if isinstance(value, Obj):
            return _bool(bool(value.value))
        if isinstance(value, Tup):
            return _bool(bool(value.items))
        if is_scalar(value):
            if value.const is not UNKNOWN:
                return Val(value.expr, BOOL, bool(value.const))
            return value if value.kind == BOOL else Val(expr("a != 0", a=value.expr), BOOL)
        if isinstance(value, Closure | Record | Method):
            return _bool(True)
        raise NotTyped("the truth of an array or object", node)

    def eval_BoolOp(self, node: Node, hint: str = "") -> Any:
        is_and = isinstance(node.op, gast.And)
        value = self.eval(node.values[0])
        for following in node.values[1:]:
            test = self.truth(value, node)
            if test.const is not UNKNOWN:
                if bool(test.const) == is_and:
                    value = self.eval(following)
                continue
            value = self.bool_step(value, following, is_and, hint or "t")
        return value

    def bool_step(self, value: Any, following: Node, is_and: bool, hint: str) -> Any:
        outer, self.buffer = self.buffer, []
        before = self.snapshot()
        right = self.eval(following)
        emitted, self.buffer = self.buffer, outer
        if not emitted and is_scalar(value) and is_scalar(right) and value.kind == BOOL and right.kind == BOOL:
            return Val(expr("a and b" if is_and else "a or b", a=value.expr, b=right.expr), BOOL)
        self.restore(before)
        slot = self.temporary(hint)
        self.frame.vars[slot] = self.assign(self.frame, slot, value)
        test = self.truth(self.frame.vars[slot], following)

        def second() -> None:
            self.frame.vars[slot] = self.assign(self.frame, slot, self.eval(following))
        self.branch(test, *((second, _nothing) if is_and else (_nothing, second)))
        return self.frame.vars.pop(slot)

    def eval_IfExp(self, node: Node, hint: str = "") -> Any:
        test = self.truth(self.eval(node.test), node)
        if test.const is not UNKNOWN:
            return self.eval(node.body if test.const else node.orelse, hint)
        slot = hint if hint and hint not in self.frame.outer_names else self.temporary("t")
        before = self.frame.vars.get(slot)

        def arm(value: Node) -> Any:
            def run() -> None:
                self.frame.vars[slot] = self.assign(self.frame, slot, self.eval(value))
            return run
        self.branch(test, arm(node.body), arm(node.orelse))
        result = self.frame.vars.pop(slot)
        if before is not None:
            self.frame.vars[slot] = before
        if type(result).__name__ == "_Conflict":
            raise NotTyped("the two values of a conditional expression are of different kinds", node)
        return result


def _bool(value: bool) -> Val:
    return Val(constant(bool(value)), BOOL, bool(value))


def _nothing() -> None:
    pass


def _operator(kind_name: str) -> Node:
    return next(expr(f"a {s} b").op for k, s in (("Add", "+"), ("Sub", "-"), ("Mult", "*"), ("Div", "/"), ("Pow", "**"),
                                                 ("FloorDiv", "//"), ("Mod", "%")) if k == kind_name)
