"""Calls of a batch, new arrays among them, for one row of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transad.ir import Let
from transad.kinds import Array, Scalar
from transad.nodes import gast
from transad.passes.ruled import is_ruled
from transad.passes.shapes import ELEMENTWISE
from transad.passes.specialise.values import NotTyped, Part
from transad.quote import Node, call, constant, expr, index, mapped, name, names_in, rebuilt, show, tuple_

COUNT, NUMBERS, NUMBER = "count", "numbers", "number"


class Mixed(NotTyped):
    """A row of the result may depend on other rows, or the analysis cannot tell."""


@dataclass(frozen=True)
class Row:
    """An entry per row along `axis`; `ones`: axes of length one."""

    axis: int
    ones: frozenset[int] = frozenset()


def full(i: Node) -> bool:
    """Whether an index is `:`."""
    return isinstance(i, gast.Slice) and i.lower is None and i.upper is None and i.step is None


def new_axis(i: Node) -> bool:
    return isinstance(i, gast.Constant) and i.value is None


def items_of(e: Node) -> list[Node]:
    return list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]


def whole_constant(e: Node) -> int | None:
    """The integer that a literal is."""
    if isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub) and isinstance(e.operand, gast.Constant):
        return -e.operand.value if isinstance(e.operand.value, int) else None
    return e.value if isinstance(e, gast.Constant) and type(e.value) is int else None


_FILLED = {"np.zeros": 0.0, "np.empty": 0.0, "np.ones": 1.0, "np.zeros_like": 0.0, "np.empty_like": 0.0, "np.ones_like": 1.0}
_TESTS = {"np.isnan", "np.isinf", "np.isfinite", "np.logical_not", "np.logical_and", "np.logical_or", "np.logical_xor"}


_REDUCED = frozenset("sum max min amax amin mean prod std var any all argmax argmin median logsumexp norm".split())
_KEPT = frozenset("cumsum cumprod sort argsort softmax log_softmax".split())       # of the same shape


class RowCalls(Part):
    """The part of the analysis that knows functions."""

    def call(self, e: Node) -> tuple[Node, Any]:
        if isinstance(e.func, gast.Attribute):
            if e.func.attr == "copy" and not e.args and not e.keywords:
                return self.call(expr("copy_(a)", copy_=name("np.copy"), a=e.func.value))
            if e.func.attr == "astype" and not e.keywords:
                return self.converted(e)
            self.refuse(f"{e.func.attr} is not known by rows")
        label = show(e.func)
        if label in ("np.dot", "gather", "reshaped") and not is_ruled(e):
            return getattr(self, label.removeprefix("np."))(e)
        if is_ruled(e):
            return self.einsum(e) if label == "np.einsum" and not e.keywords else self.along(e)
        if label in ELEMENTWISE or label in _TESTS:
            made, align = self.together(e, ["args"] * len(e.args), list(e.args))
            number = isinstance(align, Row) and max(self.rank(a) for a in e.args) == 1 + len(align.ones)
            if number and label == "np.copy":
                made = made.args[0]
            elif number and label == "np.where":
                made = expr("a if c else b", c=made.args[0], a=made.args[1], b=made.args[2])
            return made, align
        for a in e.args:
            parts = a.elts if isinstance(a, gast.Tuple | gast.List) else [a]
            if any(isinstance(self.whole(p)[1], Row) or self.whole(p)[1] == NUMBERS for p in parts):
                self.refuse(f"`{show(e)}` takes all rows")
        return rebuilt(e, {"args": [self.same(a) for a in e.args]}), None

    def along(self, e: Node) -> tuple[Node, Any]:
        """A function of the library along axes that are not that of the rows."""
        parts = [self.whole(a) for a in e.args] if not any(isinstance(a, gast.Tuple | gast.List) for a in e.args) else []
        short = show(e.func).rpartition(".")[2]
        words = {k.arg: k.value for k in e.keywords}
        row = parts[0][1] if parts else None
        if not isinstance(row, Row) or len(parts) > 1 or row.ones or short not in _REDUCED | _KEPT or (
                set(words) - {"axis", "keepdims"}):
            if any(n in self.env for n in names_in(e)):
                self.refuse(f"`{show(e)}` takes all rows")
            return e, None
        rank = self.rank(e.args[0])
        axis = words.get("axis", constant(None))
        axes = [whole_constant(x) for x in (axis.elts if isinstance(axis, gast.Tuple) else [axis])]
        keep = isinstance(k := words.get("keepdims", constant(False)), gast.Constant) and k.value
        if None in axes or row.axis in [k % rank for k in axes if k is not None]:
            self.refuse(f"`{show(e)}` goes along the rows")
        old = [k % rank for k in axes if k is not None]
        new = [k - (k > row.axis) for k in old]
        if short in ("sum", "max", "min", "amax", "amin") and len(new) == rank - 1:
            made = call(f"np.{short.removeprefix('a')}", parts[0][0])
        else:
            made = expr("f(a, axis=k)", f=e.func, a=parts[0][0], k=constant(new[0]) if len(new) == 1 else tuple_(
                [constant(k) for k in new]))
        if short in _KEPT:
            return made, row
        if not keep:
            return made, Row(row.axis - sum(k < row.axis for k in old))
        if len(new) < rank - 1:
            self.refuse(f"`{show(e)}` keeps axes beside others")
        return made, Row(row.axis, frozenset(old))

    def converted(self, e: Node) -> tuple[Node, Any]:
        """`a.astype(dtype)`"""
        a, row = self.whole(e.func.value)
        if not isinstance(row, Row):
            return rebuilt(e, {"func": rebuilt(e.func, {"value": self.same(e.func.value)})}), None
        if self.rank(e.func.value) > 1 + len(row.ones):
            return rebuilt(e, {"func": rebuilt(e.func, {"value": a})}), row
        to = {"np.int64": "int", "np.float64": "float"}.get(show(e.args[0]))
        if to is None:
            self.refuse(f"`{show(e)}` is not known by rows")
        return expr("to(a)", to=name(to), a=a), row

    def dot(self, e: Node) -> tuple[Node, Any]:
        (a, row_a), (b, row_b) = (self.whole(x) for x in e.args)
        ranks = [self.rank(x) for x in e.args]
        summed = [ranks[0] - 1, max(ranks[1] - 2, 0)]
        rows = [r for r in (row_a, row_b) if isinstance(r, Row)]
        if not rows:
            return rebuilt(e, {"args": [self.same(x) for x in e.args]}), None
        row = rows[0]
        if len(rows) == 2 or row.ones or row.axis == summed[0 if row_a is row else 1]:
            self.refuse(f"`{show(e)}` multiplies rows with rows")
        if row_a is row and ranks == [2, 2] and isinstance(b, gast.Name) and b.id in self.turned:
            a, b = name(self.turned[b.id]), a           # x @ w.T goes along the rows of w
        made = rebuilt(e, {"args": [a, b]})
        return made, Row(row.axis if row_a is row else ranks[0] - 1 + (row.axis - (row.axis > summed[1])))

    def gather(self, e: Node) -> tuple[Node, Any]:
        """`a[i]` for an array of indices."""
        if isinstance(e.args[1], gast.Tuple):
            return self.picked(e)
        (a, row_a), (i, row_i) = (self.whole(x) for x in e.args)
        rank_a, kind_i = self.rank(e.args[0]), self.values.kind(e.args[1])
        rank_i = kind_i.ndim if isinstance(kind_i, Array) else 0
        if isinstance(row_a, Row) and row_i == NUMBERS and row_a.axis == 0:
            return (a if rank_a == 1 + len(row_a.ones) else expr("copy_(a)", copy_=name("np.copy"), a=a)), row_a
        if row_i == NUMBERS or (kind_i.dtype == "bool" and isinstance(row_i, Row)):
            self.refuse(f"`{show(e)}` takes entries by the number of their row")
        if isinstance(row_i, Row) and not isinstance(row_a, Row) and not row_i.ones:
            if rank_i > 1:
                return rebuilt(e, {"args": [self.same(e.args[0]), i]}), row_i
            entry = index(self.same(e.args[0]), [i])
            return (entry if rank_a == 1 else expr("copy_(a)", copy_=name("np.copy"), a=entry)), Row(0)
        if isinstance(row_a, Row) and not isinstance(row_i, Row):
            if row_a.axis == 0 or row_a.ones or kind_i.dtype == "bool":
                self.refuse(f"`{show(e)}` takes rows by their number")
            return rebuilt(e, {"args": [a, self.same(e.args[1])]}), Row(row_a.axis - 1 + rank_i)
        if isinstance(row_a, Row) or isinstance(row_i, Row):
            self.refuse(f"`{show(e)}` takes rows by their number")
        return rebuilt(e, {"args": [self.same(x) for x in e.args]}), None

    def picked(self, e: Node) -> tuple[Node, Any]:
        """`a[i, j]` for arrays of indices: an entry of each row, or of an array that all share."""
        a, row = self.whole(e.args[0])
        items = list(e.args[1].elts)
        if any(isinstance(i, gast.Slice) or new_axis(i) for i in items):
            self.refuse(f"`{show(e)}` takes parts of rows")
        parts = [self.whole(i) for i in items]
        ranks = [self.rank(i) for i in items]
        if not isinstance(row, Row) and not any(p[1] is not None for p in parts):
            return rebuilt(e, {"args": [self.same(e.args[0]), mapped(e.args[1], self.same)]}), None
        if isinstance(row, Row) and not (row.axis == 0 and not row.ones and parts[0][1] == NUMBERS):
            self.refuse(f"`{show(e)}` takes rows by their number")
        rest = list(zip(parts, ranks, items, strict=True))[1 if isinstance(row, Row) else 0:]
        if any((isinstance(p[1], Row) and (p[1].ones or r != 1)) or p[1] == NUMBERS or (p[1] is None and r) for p, r, _ in rest):
            self.refuse(f"`{show(e)}` takes entries by the number of their row")
        left = self.rank(e.args[0]) - len(items)
        entry = index(a, [p[0] if isinstance(p[1], Row) else self.same(i) for p, _, i in rest])
        return (expr("copy_(a)", copy_=name("np.copy"), a=entry) if left else entry), Row(0)

    def einsum(self, e: Node) -> tuple[Node, Any]:
        """A product of rows, without the letter of the rows; one of a vector and a matrix is `np.dot`."""
        text = e.args[0].value if isinstance(e.args[0], gast.Constant) else ""
        inputs, arrow, output = str(text).replace(" ", "").partition("->")
        letters = inputs.split(",")
        parts = [self.whole(a) for a in e.args[1:]]
        rows = {t[p[1].axis] for t, p in zip(letters, parts, strict=False) if isinstance(p[1], Row) and not p[1].ones}
        if not rows:
            if any(n in self.env for n in names_in(e)):
                self.refuse(f"`{show(e)}` takes all rows")
            return e, None
        letter = rows.pop()
        alone = [(t.count(letter) == 1) == isinstance(p[1], Row) and t.count(letter) < 2
                 for t, p in zip(letters, parts, strict=False)]
        if rows or "." in text or not arrow or len(letters) != len(parts) or not all(alone) or output.count(letter) != 1:
            self.refuse(f"`{show(e)}` mixes rows")
        letters, left = [t.replace(letter, "") for t in letters], output.replace(letter, "")
        nodes = [p[0] if isinstance(p[1], Row) else self.same(a) for a, p in zip(e.args[1:], parts, strict=True)]
        row = Row(output.index(letter))
        order = sorted(range(len(letters)), key=lambda k: -len(letters[k]))
        if sorted(map(len, letters)) in ([1, 2], [1, 1]) and len(letters) == 2 and len(left) == sum(map(len, letters)) - 2:
            (m, v), (a, b) = [letters[k] for k in order], [nodes[k] for k in order]
            if len(set(m)) == len(m) and v in m and v not in left:
                dot = name("np.dot")
                return expr("dot_(a, b)" if m[-1] == v else "dot_(b, a)", dot_=dot, a=a, b=b), row
        if not left:
            self.refuse(f"`{show(e)}` gives a number for each row")
        return rebuilt(e, {"args": [constant(f"{','.join(letters)}->{left}"), *nodes]}), row

    def reshaped(self, e: Node) -> tuple[Node, Any]:
        a, row = self.whole(e.args[0])
        dims = list(e.args[1].elts)
        if not isinstance(row, Row):
            return rebuilt(e, {"args": [self.same(e.args[0]), mapped(e.args[1], self.same)]}), None
        rest = dims[1:]
        if row.axis or not dims or not self.is_count(dims[0]):
            self.refuse(f"`{show(e)}` may mix rows")
        if self.rank(e.args[0]) == 1 + len(row.ones):
            if not all(whole_constant(d) == 1 for d in rest):
                self.refuse(f"`{show(e)}` may mix rows")
            return a, Row(0, frozenset(range(1, len(dims))))
        if not rest:
            self.refuse(f"`{show(e)}` may mix rows")
        return rebuilt(e, {"args": [a, tuple_([self.same(d) for d in rest])]}), Row(0)

    def made(self, s: Let) -> tuple[Node, Any] | None:
        """A new array: with an entry per row where a length is the number of rows."""
        e = s.value
        label = show(e.func) if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) else ""
        if label == "np.arange" and len(e.args) == 1 and self.is_count(e.args[0]):
            return e, NUMBERS
        if label not in _FILLED and label != "np.full":
            return None
        kind: Any = self.program.kinds[s.name]
        if label.endswith("_like"):
            row = self.env.get(e.args[0].id) if isinstance(e.args[0], gast.Name) else None
            if not isinstance(row, Row):
                return None
            return (e if kind.ndim > 1 + len(row.ones) else _number(_FILLED[label], kind)), row
        dims = list(e.args[0].elts) if isinstance(e.args[0], gast.Tuple) else [e.args[0]]
        counts = [k for k, d in enumerate(dims) if self.is_count(d)]
        if not counts:
            return None
        if len(counts) > 1:
            self.refuse("an array has the number of rows along two axes")
        rest = {k: self.same(d) for k, d in enumerate(dims) if k != counts[0]}
        row = Row(counts[0], frozenset(k for k, d in rest.items() if whole_constant(d) == 1))
        rest = [d for k, d in rest.items() if k not in row.ones]
        if not rest:
            value = self.same(e.args[1]) if label == "np.full" else _number(_FILLED[label], kind)
            return value, row
        shape = rest[0] if len(rest) == 1 else tuple_(rest)
        return rebuilt(e, {"args": [shape, *e.args[1:]]}), row


def _number(value: float, kind: Any) -> Node:
    dtype = Scalar(kind.dtype)
    return constant(bool(value) if dtype.dtype == "bool" else int(value) if dtype.integer else value)


__all__ = ["COUNT", "NUMBER", "NUMBERS", "Mixed", "Row", "RowCalls", "full", "items_of", "new_axis", "whole_constant"]
