"""Whole-array statements as loops over memory that the caller gives.

Afterwards an array that is assigned once, in a straight line, whose shape follows from the shapes of the parameters, is
a buffer (listed in `Buffered.buffers`) that loops fill; a shadow given by the caller is assigned where it is first
touched, not cleared and added to. Everything else stays as it was. The loops hold where `equal` holds: pairs of lengths,
as text over the parameters, that the program needs to be the same (else it broadcasts or raises).

>>> from transad.ir import Let, dump
>>> from transad.kinds import Array
>>> from transad.quote import expr, name
>>> row = Array("float64", 1)
>>> loops = Buffers({"x": row, "w": row, "t": row}, {"x": ("x.shape[0]",), "w": ("w.shape[0]",)}, {"t"}, Names())
>>> print(dump(loops.block([Let("t", expr("tanh_(x) * w", tanh_=name("np.tanh")))])))
for i in range(0, x.shape[0]):
    t[i] = np.tanh(x[i]) * w[i]
>>> loops.buffers, loops.equal
({'t': (('x.shape[0]',), 'float64')}, [('x.shape[0]', 'w.shape[0]')])
"""
from __future__ import annotations

from typing import Any

from transad.ir import Block, For, If, Let, Statement, Store, While, expressions, walk
from transad.kinds import Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.buffer_names import mentioned, only_as_shape
from transad.passes.shapes import Shapes
from transad.quote import Node, call, constant, expr, index, name, names_in, rebuilt, show

_REDUCED = ("np.sum", "summed")
ONE = "1"


class Leave(Exception):
    """A statement that is not a loop."""


class Buffers(Shapes):
    """Rewrites blocks, in the order in which they run. `once`: names that may become buffers; `given`: shadows in the
    caller's memory."""

    def __init__(self, kinds: dict[str, Kind], shapes: dict[str, tuple[str, ...]], once: set[str], names: Names,
                 given: dict[str, str] | None = None) -> None:
        super().__init__(kinds, shapes)
        self.once, self.names, self.given = once, names, given or {}
        self.buffers: dict[str, tuple[tuple[str, ...], str]] = {}
        self.whole = 0                  # array statements that stay, and may raise
        self.vector: frozenset[str] = frozenset()      # functions with a form for several numbers at a time
        self.used: set[str] = set()
        self.filled_axes: set[str] = set()      # lengths that must not be zero

    def block(self, block: Block) -> Block:
        """The block with loops."""
        untouched = self.first_touched(block)
        out: Block = []
        for k, s in enumerate(block):
            made = self.statement(s, k in untouched)
            for x in made:
                x.line, x.source = s.line, s.source
            out += made
        return out

    def first_touched(self, block: Block) -> set[int]:
        """The positions of additions that come first after the birth of a shadow in the same block."""
        found: set[int] = set()
        for k, s in enumerate(block):
            if not (isinstance(s, Let) and self.is_birth(s)):
                continue
            for at in range(k + 1, len(block)):
                met = any(s.name in mentioned(x) for x in walk([block[at]]))
                if met:
                    t = block[at]
                    if isinstance(t, Store) and t.array == s.name and not t.index and t.op == "+" and not any(
                            s.name in names_in(e) and not only_as_shape(e, s.name) for e in expressions(t)):
                        found |= {k, at}
                    break
        return found

    def is_birth(self, s: Let) -> bool:
        e = s.value
        return (isinstance(e, gast.Call) and show(e.func) == "np.zeros_like" and len(e.args) == 1
                and isinstance(e.args[0], gast.Name) and not e.keywords)

    def statement(self, s: Statement, first: bool) -> Block:
        if isinstance(s, For):
            self.scalars.add(s.var)
            return [For(s.var, s.start, s.stop, s.step, self.block(s.body))]
        if isinstance(s, While):
            return [While(s.test, self.block(s.body))]
        if isinstance(s, If):
            return [If(s.test, self.block(s.then), self.block(s.orelse))]
        try:
            if isinstance(s, Let):
                return self.let(s, first)
            if isinstance(s, Store) and not s.index:
                return self.store(s, first)
            if isinstance(s, Store):
                before: Block = []
                value = self.scalar(s.value, before)
                return [*before, Store(s.array, s.index, value, s.op)]
        except Leave:
            if first and isinstance(s, Store):
                s = Store(s.array, [], s.value)             # its shadow was not cleared
        if isinstance(s, Let) or (isinstance(s, Store) and self.shape(s.value) != ()):
            self.whole += 1
        return [s]

    # -- statements ------------------------------------------------------------------------------------------------
    def let(self, s: Let, first: bool) -> Block:
        shape = self.shape(s.value)
        if shape is None:
            raise Leave
        if shape == ():
            before: Block = []
            value = self.scalar(s.value, before)
            if s.name not in self.kinds or isinstance(self.kinds[s.name], Scalar):
                self.scalars.add(s.name)
            return [*before, Let(s.name, value)]
        if s.name not in self.once and s.name not in self.given:
            raise Leave
        if isinstance(s.value, gast.Name | gast.Attribute | gast.Subscript):        # an alias or a view
            self.shapes[s.name] = shape
            self.roots[s.name] = next(names_in(s.value))
            return [s]
        if self.is_birth(s):
            return self.birth(s, shape, first)
        before = []
        made = self.filled(s.name, shape, s.value, "", before)
        self.buffers[s.name] = (shape, self.dtype(s))
        self.shapes[s.name] = shape
        return [*before, *made]

    def dtype(self, s: Let) -> str:
        kind = self.kinds.get(s.name)
        if isinstance(kind, Array):
            return kind.dtype
        if any(isinstance(n, gast.Compare | gast.BoolOp) or (isinstance(n, gast.Call) and show(n.func).startswith(
                "np.logical")) for n in gast.walk(s.value)) and not isinstance(s.value, gast.BinOp):
            raise Leave
        return "float64"

    def birth(self, s: Let, shape: tuple[str, ...], first: bool) -> Block:
        self.shapes[s.name] = shape
        if s.name not in self.given:
            like = self.kinds.get(s.value.args[0].id)
            self.buffers[s.name] = (shape, like.dtype if isinstance(like, Array) and like.real else "float64")
        if first:
            return []
        return self.nest(shape, lambda idx: [Store(s.name, idx, constant(0.0))])

    def store(self, s: Store, first: bool) -> Block:
        shape = self.shapes.get(s.array)
        if shape is None or s.op not in ("", "+", "-"):
            raise Leave
        op = "" if first else s.op
        value = s.value
        before: Block = []
        if isinstance(value, gast.Call) and show(value.func) == "unbroadcast":
            inner = self.shape(value.args[0])
            if inner is None:
                raise Leave
            value = value.args[0]
            if inner != () and not self.fits(inner, shape):
                return self.spread_in(s.array, shape, inner, value, first, before)
        if any(self.same_memory(n, s.array) for n in names_in(value)) and not self.plain_use(value, s.array, shape):
            raise Leave
        made = self.filled(s.array, shape, value, op, before)
        return [*before, *made]

    def spread_in(self, target: str, shape: tuple[str, ...], inner: tuple[str, ...], value: Node, first: bool,
                  before: Block) -> Block:
        """A cotangent summed over the axes along which its primal was stretched."""
        if len(inner) < len(shape) or any(self.same_memory(n, target) for n in names_in(value)):
            raise Leave
        cut = len(inner) - len(shape)
        pairs = list(zip(inner[cut:], shape, strict=True))
        if any(a != b and b != ONE and not self.join(a, b) for a, b in pairs):
            raise Leave
        clear = self.nest(shape, lambda idx: [Store(target, idx, constant(0.0))]) if first else []

        def body(idx: list[Node]) -> Block:
            at = [constant(0) if b == ONE and a != ONE else i for i, (a, b) in zip(idx[cut:], pairs, strict=True)]
            return [Store(target, at, self.element(value, idx, before), "+")]
        made = self.nest(inner, body)
        return [*clear, *before, *made]

    def filled(self, target: str, shape: tuple[str, ...], value: Node, op: str, before: Block) -> Block:
        """`target op= value` for a value of that shape, or one that is stretched to it."""
        if isinstance(value, gast.Call) and show(value.func) == "np.dot":
            return self.product(target, shape, value, op)
        made = self.nest(shape, lambda idx: [Store(target, idx, self.element(value, idx, before), op)])
        return made

    # -- products --------------------------------------------------------------------------------------------------
    def product(self, target: str, shape: tuple[str, ...], e: Node, op: str) -> Block:
        """A product with a row as a factor, by loops along the rows of the matrix."""
        (a, turned_a), (b, turned_b) = (self.matrix(x) for x in e.args)
        if self.same_memory(a, target) or self.same_memory(b, target):
            raise Leave
        ranks = len(self.shapes[a]), len(self.shapes[b])
        if ranks == (2, 1):
            return self.matrix_row(target, op, [], a, turned_a, b, [])
        if ranks == (1, 2):
            return self.matrix_row(target, op, [], b, not turned_b, a, [])
        shapes = [self.shapes[x][::-1] if t else self.shapes[x] for x, t in ((a, turned_a), (b, turned_b))]
        if ranks == (2, 2) and shapes[0][0] == ONE and not turned_a:
            return self.matrix_row(target, op, [constant(0)], b, not turned_b, a, [constant(0)])
        if ranks == (2, 2) and shapes[0][1] == ONE == shapes[1][0]:
            left = self.part(a, turned_a)
            right = self.part(b, turned_b)
            return self.nest(shape, lambda idx: [Store(target, idx, expr(
                "x * y", x=left(idx[0], constant(0)), y=right(constant(0), idx[1])), op)])
        raise Leave

    def part(self, a: str, turned: bool) -> Any:
        return lambda i, j: index(name(a), [j, i] if turned else [i, j])

    def matrix(self, e: Node) -> tuple[str, bool]:
        """(array, transposed)"""
        turned = isinstance(e, gast.Attribute) and e.attr == "T"
        inner = e.value if turned else e
        if not isinstance(inner, gast.Name) or inner.id not in self.shapes or self.shape(e) is None:
            raise Leave
        return inner.id, turned and len(self.shapes[inner.id]) == 2

    def matrix_row(self, target: str, op: str, at: list[Node], m: str, turned: bool, v: str, of: list[Node]) -> Block:
        """`target op= m @ v` (`m.T @ v` where turned), going along the rows of `m`."""
        rows, columns = self.shapes[m]
        i, k = self.names.fresh("i"), self.names.fresh("k")
        entry = index(name(m), [name(i), name(k)])
        if not turned:
            s = self.names.fresh("s")
            self.scalars.add(s)
            inner: Statement = Let(s, expr("s + m * v", s=name(s), m=entry, v=index(name(v), [*of, name(k)])))
            return [For(i, constant(0), _length(rows), 1, [
                Let(s, constant(0.0)), For(k, constant(0), _length(columns), 1, [inner]),
                Store(target, [*at, name(i)], name(s), op)])]
        w = self.names.fresh("w")
        self.scalars.add(w)
        sign = "-" if op == "-" else "+"
        clear = [] if op else [For(k, constant(0), _length(columns), 1, [Store(target, [*at, name(k)], constant(0.0))])]
        return [*clear, For(i, constant(0), _length(rows), 1, [
            Let(w, index(name(v), [*of, name(i)])),
            For(k, constant(0), _length(columns), 1, [Store(target, [*at, name(k)], expr("m * w", m=entry, w=name(w)),
                                                            sign)])])]

    # -- elements --------------------------------------------------------------------------------------------------
    def nest(self, shape: tuple[str, ...], body: Any) -> Block:
        """Loops over a shape; what does not change in the innermost is computed outside it."""
        free = [None if d == ONE else self.names.fresh("ijkl"[min(k, 3)]) for k, d in enumerate(shape)]
        idx = [constant(0) if v is None else name(v) for v in free]
        made: Block = body(idx)
        loops = [(v, d) for v, d in zip(free, shape, strict=True) if v is not None]
        if len(loops) > 1:
            outer: Block = []
            for s in made:
                if isinstance(s, Store):
                    s.value = self.hoisted(s.value, str(loops[-1][0]), outer)
            made = [*outer, For(str(loops[-1][0]), constant(0), _length(loops[-1][1]), 1, made)]
            loops = loops[:-1]
        for v, d in reversed(loops):
            made = [For(str(v), constant(0), _length(d), 1, made)]
        return made

    def hoisted(self, e: Node, var: str, outer: Block) -> Node:
        """The expression with its parts that do not depend on the innermost index named outside its loop."""
        if isinstance(e, gast.Name | gast.Constant | gast.IfExp | gast.Call):
            return e
        if var not in names_in(e):
            t = self.names.fresh("w")
            self.scalars.add(t)
            outer.append(Let(t, e))
            return name(t)
        if isinstance(e, gast.BinOp):
            return rebuilt(e, {"left": self.hoisted(e.left, var, outer), "right": self.hoisted(e.right, var, outer)})
        return e

    def element(self, e: Node, idx: list[Node], before: Block) -> Node:
        """The entry of an expression at an index, which may be longer than its rank."""
        shape = self.shape(e)
        if shape is None:
            raise Leave
        if shape == ():
            return self.scalar(e, before)
        at = [constant(0) if d == ONE else i for d, i in zip(shape, idx[len(idx) - len(shape):], strict=True)]
        if isinstance(e, gast.Name):
            return index(name(e.id), at)
        if isinstance(e, gast.Attribute):
            return self.element(e.value, at[::-1], before)
        if isinstance(e, gast.Subscript):
            return self.subscript(e, at)
        if isinstance(e, gast.BinOp):
            return rebuilt(e, {"left": self.element(e.left, idx, before), "right": self.element(e.right, idx, before)})
        if isinstance(e, gast.UnaryOp):
            return rebuilt(e, {"operand": self.element(e.operand, idx, before)})
        if isinstance(e, gast.Compare):
            rest = [self.element(x, idx, before) for x in e.comparators]
            return rebuilt(e, {"left": self.element(e.left, idx, before), "comparators": rest})
        if isinstance(e, gast.Call):
            return self.call_element(e, idx, before)
        raise Leave

    def subscript(self, e: Node, at: list[Node]) -> Node:
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        rest, out = list(at), []
        for i in items:
            if isinstance(i, gast.Constant) and i.value is None:
                rest.pop(0)
            elif isinstance(i, gast.Slice):
                out.append(rest.pop(0))
            else:
                out.append(i)
        return index(e.value, [*out, *rest])

    def call_element(self, e: Node, idx: list[Node], before: Block) -> Node:
        label = show(e.func)
        if label == "share_of_extreme":
            return self.share(e, idx, before)
        if label == "np.dot":
            raise Leave
        parts = [self.element(a, idx, before) for a in e.args]
        if label in ("np.copy", "unbroadcast", "stop_gradient"):
            return parts[0]
        if label == "np.where":
            return expr("a if c else b", c=parts[0], a=parts[1], b=parts[2])
        if label == "keep_zero" and isinstance(parts[0], gast.Name | gast.Subscript):
            return expr("0.0 if d == 0.0 else d * p", d=parts[0], p=parts[1])
        short = label.removeprefix("np.")
        if short in self.vector and label != short:
            self.used.add(short)
            return call(f"vector_{short}", *parts)
        return rebuilt(e, {"args": parts})

    def share(self, e: Node, idx: list[Node], before: Block) -> Node:
        """The shares of the entries that equal the extreme: they are counted first."""
        x, extreme = e.args[0], self.scalar(e.args[1], before)
        n = self.names.fresh("ties")
        self.scalars.add(n)
        shape = self.shape(x) or ()
        before.append(Let(n, constant(0.0)))
        before += self.nest(shape, lambda at: [If(expr("x == m", x=self.element(x, at, before), m=extreme), [
            Let(n, expr("n + 1.0", n=name(n)))], [])])
        return expr("1.0 / n if x == m else 0.0", n=name(n), x=self.element(x, idx, before), m=extreme)

    def scalar(self, e: Node, before: Block) -> Node:
        """A number, with the sums over arrays in it made by loops."""
        if isinstance(e, gast.IfExp | gast.BoolOp):
            return e
        if isinstance(e, gast.Call) and show(e.func) in _REDUCED and len(e.args) == 1 and not e.keywords:
            return self.total(e.args[0], before)
        if isinstance(e, gast.Call) and show(e.func) in ("np.max", "np.min") and len(e.args) == 1 and not e.keywords:
            return self.extreme(e, before)
        if isinstance(e, gast.Call) and show(e.func) == "np.dot" and all(len(self.shape(a) or ()) == 1 for a in e.args):
            return self.total(expr("a * b", a=e.args[0], b=e.args[1]), before)
        if isinstance(e, gast.BinOp):
            return rebuilt(e, {"left": self.scalar(e.left, before), "right": self.scalar(e.right, before)})
        if isinstance(e, gast.UnaryOp):
            return rebuilt(e, {"operand": self.scalar(e.operand, before)})
        if isinstance(e, gast.Call) and all(self.shape(a) == () for a in e.args):
            return rebuilt(e, {"args": [self.scalar(a, before) for a in e.args]})
        return e

    def extreme(self, e: Node, before: Block) -> Node:
        """The largest entry, or the smallest; NaN where there is one."""
        shape = self.shape(e.args[0])
        if not shape:
            raise Leave
        m, v = self.names.fresh("m"), self.names.fresh("v")
        self.scalars |= {m, v}
        self.filled_axes |= {d for d in shape if d != ONE}
        first = self.element(e.args[0], [constant(0)] * len(shape), before)
        better = expr("v > m or v != v" if show(e.func) == "np.max" else "v < m or v != v", v=name(v), m=name(m))
        loops = self.nest(shape, lambda idx: [Let(v, self.element(e.args[0], idx, before)), If(better, [Let(m, name(v))], [])])
        before += [Let(m, first), *loops]
        return name(m)

    def total(self, e: Node, before: Block) -> Node:
        shape = self.shape(e)
        if shape is None:
            raise Leave
        if shape == ():
            return self.scalar(e, before)
        s = self.names.fresh("s")
        self.scalars.add(s)
        inner: Block = []
        loops = self.nest(shape, lambda idx: [Let(s, expr("s + e", s=name(s), e=self.element(e, idx, inner)))])
        before += [*inner, Let(s, constant(0.0)), *loops]
        return name(s)


def _length(dim: str) -> Node:
    return expr(dim)


__all__ = ["Buffers", "Leave"]
