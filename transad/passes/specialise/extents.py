"""The shape of an array that a block makes, in what is known before the block.

>>> from transad.quote import expr
>>> from transad.kinds import FLOAT, INT, Array
>>> block = [ir.Let("m", expr("len(w)")), ir.Let("out", expr("np.empty((m, 2))")), ir.Let("y", expr("out * x"))]
>>> kinds = {"w": Array("float64", 1), "m": INT, "out": Array("float64", 2), "y": Array("float64", 2), "x": FLOAT}
>>> [show(e) for e in Extents(block, kinds).shape(expr("y"))]
['w.shape[0]', '2']
"""
from __future__ import annotations

from transad import ir
from transad.kinds import Array, Kind, Scalar
from transad.nodes import gast
from transad.passes.specialise import numpy_table as table
from transad.quote import Node, expr, show

_MADE = ("np.empty", "np.zeros", "np.ones", "np.full")
_LIKE = ("np.empty_like", "np.zeros_like", "np.ones_like", "np.full_like", "np.copy")
_ELEMENTWISE = {*(f"np.{n}" for n in (*table.UNARY, *table.BINARY, *table.TESTS)), "abs", "np.where", "float", "np.float64"}


class Extents:
    """Shapes of the arrays of a block; variables that it assigns several times have none.

    `assumed`: pairs of lengths that have to be equal for a shape to hold, for the caller to test before the block."""

    def __init__(self, block: ir.Block, kinds: dict[str, Kind]) -> None:
        self.assumed: list[tuple[Node, Node]] = []
        self.kinds, self.lets = kinds, dict[str, list[Node | None]]()
        for s in ir.walk(block):
            for v in ir.assigned([s]) if not isinstance(s, ir.For | ir.While | ir.If) else ():
                self.lets.setdefault(v, []).append(s.value if isinstance(s, ir.Let) else None)
            if isinstance(s, ir.For):
                self.lets.setdefault(s.var, []).append(None)

    def shape(self, e: Node) -> list[Node] | None:
        """The lengths of all axes, [] of a number; None where they are not known beforehand."""
        if isinstance(e, gast.Constant):
            return []
        if isinstance(e, gast.Name):
            return self.of_name(e)
        if isinstance(e, gast.Subscript):
            return self.of_view(e)
        if isinstance(e, gast.BinOp):
            return self.together([e.left, e.right])
        if isinstance(e, gast.UnaryOp):
            return self.shape(e.operand)
        if isinstance(e, gast.Compare):
            return self.together([e.left, *e.comparators])
        return self.of_call(e) if isinstance(e, gast.Call) else None

    def of_name(self, e: Node) -> list[Node] | None:
        kind = self.kinds.get(e.id)
        if isinstance(kind, Scalar):
            return []
        if not isinstance(kind, Array):
            return None
        if e.id not in self.lets:
            return [expr(f"a.shape[{k}]", a=e) for k in range(kind.ndim)]
        known = [None if v is None else self.shape(v) for v in self.lets[e.id]]
        return known[0] if known[0] is not None and all(_same(known[0], k) for k in known) else None

    def of_view(self, e: Node) -> list[Node] | None:
        shape = self.shape(e.value)
        items = list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]
        if shape is None or len(items) > len(shape):
            return None
        left = []
        for size, i in zip(shape, items, strict=False):
            if isinstance(i, gast.Slice):
                if any(p is not None for p in (i.lower, i.upper, i.step)):
                    return None
                left.append(size)
            elif self.shape(i) != []:
                return None
        return left + shape[len(items):]

    def together(self, operands: list[Node]) -> list[Node] | None:
        """Broadcast: the operands of the highest rank agree, and the others have its last axes."""
        shapes = [self.shape(o) for o in operands]
        known = [s for s in shapes if s is not None]
        if len(known) < len(shapes):
            return None
        longest = max(known, key=len)
        for s in known:
            for x, y in zip(longest[len(longest) - len(s):], s, strict=True):
                if show(x) == show(y):
                    continue
                if isinstance(x, gast.Constant) or isinstance(y, gast.Constant):
                    return None
                self.assumed.append((x, y))
        return longest

    def tests(self) -> list[Node]:
        """The tests of what has been assumed: each holds where it was wrong."""
        return [expr("a != b", a=a, b=b) for a, b in {(show(a), show(b)): (a, b) for a, b in self.assumed}.values()]

    def of_call(self, e: Node) -> list[Node] | None:
        label = show(e.func)
        if label in _MADE:
            sizes = [self.number(x) for x in (e.args[0].elts if isinstance(e.args[0], gast.Tuple) else [e.args[0]])]
            known = [s for s in sizes if s is not None]
            return known if len(known) == len(sizes) else None
        if label in _LIKE:
            return self.shape(e.args[0])
        if label in _ELEMENTWISE:
            return self.together(list(e.args))
        if label.startswith("math."):
            return []
        if label == "np.dot":
            a, b = self.shape(e.args[0]), self.shape(e.args[1])
            return a[:-1] + b[:-2] + b[-1:] * (len(b) > 1) if a and b and len(b) < 3 else None
        if isinstance(e.func, gast.Attribute) and e.func.attr in ("copy", "astype"):
            return self.shape(e.func.value)
        return None

    def number(self, e: Node) -> Node | None:
        """An integer in terms of what is known before the block."""
        if isinstance(e, gast.Constant):
            return e if type(e.value) is int else None
        if isinstance(e, gast.Name):
            if e.id not in self.lets:
                return e
            values = self.lets[e.id]
            return self.number(values[0]) if len(values) == 1 and values[0] is not None else None
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub | gast.Mult | gast.FloorDiv):
            a, b = self.number(e.left), self.number(e.right)
            sign = {"Add": "+", "Sub": "-", "Mult": "*", "FloorDiv": "//"}[type(e.op).__name__]
            return None if a is None or b is None else expr(f"a {sign} b", a=a, b=b)
        if isinstance(e, gast.Call) and show(e.func) in ("max", "min") and not e.keywords:
            parts = {f"p{k}": self.number(x) for k, x in enumerate(e.args)}
            known = {k: p for k, p in parts.items() if p is not None}
            return expr(f"{show(e.func)}({', '.join(known)})", **known) if len(known) == len(parts) else None
        axis = 0 if isinstance(e, gast.Call) and show(e.func) == "len" else None
        array = e.args[0] if axis == 0 else None
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute) and e.value.attr == "shape" and (
                isinstance(e.slice, gast.Constant)):
            axis, array = e.slice.value, e.value.value
        shape = self.shape(array) if array is not None else None
        return shape[axis] if shape and axis is not None and -len(shape) <= axis < len(shape) else None


def _same(a: list[Node], b: list[Node] | None) -> bool:
    return b is not None and [show(x) for x in a] == [show(x) for x in b]


__all__ = ["Extents"]
