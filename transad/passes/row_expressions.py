"""What an expression over a batch is for one row of it.

Every value is *the same for all rows*, or has *an entry per row* along one axis (`Row`), or is the number of rows
(`COUNT`), the row numbers `0, 1, ...` (`NUMBERS`) or, in a loop over the rows, the number of the row (`NUMBER`).
Axes of length one that the text adds (`v[:, None]`) are left out of the row and put back where a result needs them.
"""
from __future__ import annotations

from typing import Any, NoReturn

from transad.ir import For, Let, Move, Program, Statement, assigned, walk
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.values import Values
from transad.passes.row_calls import COUNT, NUMBER, NUMBERS, Mixed, Row, RowCalls, full, items_of, new_axis, whole_constant
from transad.quote import Node, constant, expr, index, mapped, name, rebuilt, show, slice_


class RowExpressions(RowCalls):
    """Expressions. `env`: what is known of a name; others are the same for all rows."""

    def __init__(self, program: Program, env: dict[str, Any], names: Names) -> None:
        self.program, self.env, self.names = program, env, names
        self.inside = False                     # in a loop over the rows
        self.local: set[str] = set()            # assigned in that loop
        self.zeros: set[str] = set()            # variables of loops with one trip
        self.gone: set[str] = set()             # variables of a row, which mean nothing after its loop
        self.count, self.counted = names.fresh("rows"), False
        self.statement_now: Statement | None = None
        self.turned = _turned(program)
        self.values = Values(program, Regions(), Scopes(Scope([])), Names())

    def refuse(self, reason: str) -> NoReturn:
        problem = Mixed(reason)
        problem.line = self.statement_now.line if self.statement_now is not None else 0
        problem.filename = self.program.filename
        raise problem

    def use(self, v: str) -> None:
        if v in self.gone:
            self.refuse(f"{v} is the value of the last row")

    def rank(self, e: Node) -> int:
        try:
            kind = self.values.kind(e)
        except (AssertionError, AttributeError, IndexError) as problem:
            raise Mixed(f"`{show(e)}` is not known by rows") from problem
        return kind.ndim if isinstance(kind, Array) else 0

    # -- the number of rows ------------------------------------------------------------------------------------------
    def length(self, e: Node) -> Any:
        """COUNT, or the length of an axis of a row, for `len(a)`, `a.shape[k]` and `a.size`; None for anything else."""
        array: Any = None
        k: int | None = -1
        if isinstance(e, gast.Call) and show(e.func) == "len" and len(e.args) == 1:
            array, k = e.args[0], 0
        elif isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute) and e.value.attr == "shape":
            array, k = e.value.value, whole_constant(e.slice)
        elif isinstance(e, gast.Attribute) and e.attr == "size":
            array, k = e.value, None
        if not isinstance(array, gast.Name):
            return None
        row = self.env.get(array.id)
        if row == NUMBERS:
            return COUNT
        if not isinstance(row, Row):
            return None
        rank = self.rank(array)
        if k is None:
            return COUNT if isinstance(e, gast.Attribute) and rank == 1 + len(row.ones) else None
        k %= rank
        if k == row.axis:
            return COUNT
        if k in row.ones:
            return constant(1)
        kept = sum(j != row.axis and j not in row.ones for j in range(k))
        return expr(f"a.shape[{kept}]", a=array)

    def is_count(self, e: Node) -> bool:
        """Whether a number is that of the rows."""
        if isinstance(e, gast.Name):
            return self.env.get(e.id) == COUNT
        if isinstance(e, gast.Call) and show(e.func) in ("min", "max") and e.args:
            return all(self.is_count(a) for a in e.args)
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult | gast.FloorDiv):
            one = whole_constant(e.right) == 1 and self.is_count(e.left)
            return one or (isinstance(e.op, gast.Mult) and whole_constant(e.left) == 1 and self.is_count(e.right))
        return self.length(e) == COUNT

    def counting(self, e: Node) -> Node:
        """The number of rows as a number."""
        self.counted = True
        return name(self.count)

    def share_of_size(self, e: Node) -> Node | None:
        """`a.size // rows` -> the size of a row."""
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.FloorDiv) and isinstance(e.left, gast.Attribute) and (
                e.left.attr == "size" and isinstance(e.left.value, gast.Name) and self.is_count(e.right)):
            row = self.env.get(e.left.value.id)
            if isinstance(row, Row):
                return e.left if self.rank(e.left.value) > 1 + len(row.ones) else constant(1)
        return None

    # -- outside of loops over the rows -----------------------------------------------------------------------------
    def whole(self, e: Node) -> tuple[Node, Any]:
        """(the expression for one row, what is known of it)"""
        if self.is_count(e):
            return name(self.count), COUNT
        size = self.share_of_size(e) or self.length(e)
        if size is not None:
            return size, None
        if isinstance(e, gast.Constant):
            return e, None
        if isinstance(e, gast.Name):
            if "." not in e.id:
                self.use(e.id)
            return e, self.env.get(e.id)
        if isinstance(e, gast.Subscript):
            return self.part(e)
        if isinstance(e, gast.Attribute):
            return self.attribute(e)
        if isinstance(e, gast.Call):
            return self.call(e)
        if isinstance(e, gast.BinOp):
            return self.together(e, ["left", "right"], [e.left, e.right])
        if isinstance(e, gast.UnaryOp):
            made, align = self.together(e, ["operand"], [e.operand])
            if isinstance(e.op, gast.Invert) and isinstance(align, Row) and self.rank(e) == 1 + len(align.ones):
                made = expr("not a", a=made.operand)
            return made, align
        if isinstance(e, gast.Compare) and len(e.ops) == 1:
            if self.is_count(e.left) and self.is_count(e.comparators[0]):
                return constant(isinstance(e.ops[0], gast.Eq | gast.LtE | gast.GtE)), None
            return self.together(e, ["left", "comparators"], [e.left, e.comparators[0]])
        return mapped(e, self.same), None

    def same(self, e: Node) -> Node:
        """A part of an expression that has to be the same for all rows."""
        if not isinstance(e, gast.expr) or isinstance(e, gast.Slice):
            return mapped(e, self.same)
        node, align = self.whole(e)
        if isinstance(align, Row) or align == NUMBERS:
            self.refuse(f"`{show(e)}` depends on all rows")
        return self.counting(e) if align == COUNT else node

    def attribute(self, e: Node) -> tuple[Node, Any]:
        row = self.env.get(e.value.id) if isinstance(e.value, gast.Name) else None
        if not isinstance(row, Row):
            return mapped(e, self.same), None
        self.use(e.value.id)
        if e.attr != "T":
            self.refuse(f"`{show(e)}` depends on all rows")
        rank = self.rank(e.value)
        turned = Row(rank - 1 - row.axis, frozenset(rank - 1 - k for k in row.ones))
        return (e.value if rank - 1 - len(row.ones) < 2 else e), turned

    def part(self, e: Node) -> tuple[Node, Any]:
        """A part of an array: the axis of the rows stays whole."""
        row = self.env.get(e.value.id) if isinstance(e.value, gast.Name) else None
        if row == NUMBERS:
            self.refuse(f"`{show(e)}` takes rows by their number")
        if not isinstance(row, Row):
            return rebuilt(e, {"value": self.same(e.value), "slice": self.same_index(e.slice)}), None
        self.use(e.value.id)
        given = items_of(e)
        used = sum(not new_axis(i) for i in given)
        given += [slice_(None, None)] * (self.rank(e.value) - used)
        kept, axes, at = [], [], 0              # axes: of the result
        for i in given:
            if new_axis(i):
                axes.append("one")
                continue
            if at == row.axis:
                if not full(i):
                    self.refuse(f"`{show(e)}` takes rows by their number")
                axes.append("row")
            elif at in row.ones:
                if full(i):
                    axes.append("one")
                elif whole_constant(i) not in (0, -1):
                    self.refuse(f"`{show(e)}` takes a part of an axis of length one")
            else:
                if isinstance(i, gast.Slice):
                    axes.append("kept")
                kept.append(self.same_index(i))
            at += 1
        while kept and full(kept[-1]):
            kept.pop()
        align = Row(axes.index("row"), frozenset(k for k, a in enumerate(axes) if a == "one"))
        return (index(e.value, kept) if kept else e.value), align

    def same_index(self, i: Node) -> Node:
        if isinstance(i, gast.Tuple):
            return mapped(i, self.same_index)
        return i if new_axis(i) else self.same(i)

    # -- elementwise -------------------------------------------------------------------------------------------------
    def together(self, e: Node, fields: list[str], operands: list[Node]) -> tuple[Node, Any]:
        """An elementwise expression of operands that are broadcast."""
        parts = [self.whole(x) for x in operands]
        rows = [p[1] for p in parts if isinstance(p[1], Row)]
        if not rows:
            return _with(e, fields, [self.same(x) for x in operands]), None
        ranks = [self.rank(x) for x in operands]
        ends = {r - p[1].axis for r, p in zip(ranks, parts, strict=True) if isinstance(p[1], Row)}
        if len(ends) > 1:
            self.refuse(f"`{show(e)}` combines rows with other rows")
        end, rank = ends.pop(), max(ranks)
        out = Row(rank - end, frozenset(k for k in range(rank) if k != rank - end and all(
            self.is_one(x, p[1], r - rank + k) for x, p, r in zip(operands, parts, ranks, strict=True))))
        new = [self.operand(x, p, r, end, out, rank) for x, p, r in zip(operands, parts, ranks, strict=True)]
        return _with(e, fields, new), out

    def is_one(self, e: Node, align: Any, axis: int) -> bool:
        """Whether an operand has length one along an axis, or has no such axis."""
        if axis < 0:
            return True
        return isinstance(align, Row) and axis in align.ones

    def operand(self, e: Node, part: tuple[Node, Any], rank: int, end: int, out: Row, rank_out: int) -> Node:
        """An operand of one row, with axes of length one where the result has longer ones."""
        node, align = part
        if isinstance(node, gast.IfExp):
            self.refuse(f"`{show(e)}` is a choice inside an expression")
        if not isinstance(align, Row):
            if align == NUMBERS:
                self.refuse(f"`{show(e)}` is the number of the row")
            if rank >= end:
                return self.without_axis(e, rank - end, rank)
            if any(k - rank_out + rank >= 0 for k in out.ones):
                self.refuse(f"`{show(e)}` is as long as an axis of length one")
            return self.same(e)
        kept = [k - rank_out + rank for k in range(rank_out) if k != out.axis and k not in out.ones]
        have = [k >= 0 and k not in align.ones for k in kept]
        have = have[have.index(True):] if True in have else []
        if all(have):
            return node
        if not isinstance(node, gast.Name):
            self.refuse(f"`{show(e)}` is stretched along an axis of length one")
        return index(node, [slice_(None, None) if h else constant(None) for h in have])

    def without_axis(self, e: Node, axis: int, rank: int) -> Node:
        """A value that is the same for all rows, and of length one where they have the axis of the rows."""
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name):
            items, at = items_of(e), -1
            for k, i in enumerate(items):
                at += new_axis(i) or isinstance(i, gast.Slice)
                if at == axis and new_axis(i) and rank == self.rank(e):
                    rest = items[:k] + items[k + 1:]
                    while rest and full(rest[-1]):
                        rest.pop()
                    return index(e.value, [self.same_index(x) for x in rest]) if rest else self.same(e.value)
        self.refuse(f"`{show(e)}` may be as long as the batch")

    # -- inside a loop over the rows ---------------------------------------------------------------------------------
    def is_number(self, e: Node) -> bool:
        """Whether a number is that of the row."""
        if isinstance(e, gast.Name):
            return self.env.get(e.id) == NUMBER
        return (isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and self.env.get(e.value.id) == NUMBERS
                and self.is_number(e.slice))

    def item(self, e: Node) -> Node:
        """An expression of the trip of one row."""
        if not isinstance(e, gast.expr) or new_axis(e):
            return e
        if self.is_count(e):
            return self.counting(e)
        size = self.share_of_size(e) or self.length(e)
        if size is not None:
            return size
        if self.is_number(e):
            self.refuse("the number of a row is used as a number")
        if isinstance(e, gast.Name):
            if "." not in e.id:
                self.use(e.id)
                if e.id in self.env:
                    self.refuse(f"{e.id} holds all rows")
            return e
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and isinstance(self.env.get(e.value.id), Row):
            return self.place_inside(e.value.id, items_of(e))
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name):
            return rebuilt(e, {"args": [self.item(a) for a in e.args]})
        return mapped(e, self.item)

    def place_inside(self, array: str, given: list[Node]) -> Node:
        """`a[i, j]` -> `a[j]` for row `i`."""
        self.use(array)
        row, at, kept = self.env[array], 0, []
        given = [*given, *[slice_(None, None)] * (self.rank(name(array)) - sum(not new_axis(i) for i in given))]
        for i in given:
            if new_axis(i):
                kept.append(i)
                continue
            if at == row.axis:
                if not self.is_number(i):
                    self.refuse(f"a row reads or writes another row of {array}")
            elif at in row.ones:
                if whole_constant(i) not in (0, -1) and not (isinstance(i, gast.Name) and i.id in self.zeros):
                    self.refuse(f"an axis of length one of {array}")
            else:
                kept.append(self.item(i))
            at += 1
        while kept and full(kept[-1]):
            kept.pop()
        if any(new_axis(i) for i in kept) and self.rank(name(array)) == 1 + len(row.ones):
            self.refuse(f"an axis is added to the number {array}")
        return index(name(array), kept) if kept else name(array)


def _turned(program: Program) -> dict[str, str]:
    """The names that stand for the transpose of a matrix from first to last."""
    counts: dict[str, int] = {}
    found: dict[str, str] = {}
    for s in walk(program.body):
        for v in assigned([s]) if isinstance(s, Let | Move | For) else ():
            counts[v] = counts.get(v, 0) + 1
        e: Any = s.value if isinstance(s, Let) else None
        if isinstance(e, gast.Attribute) and e.attr == "T" and isinstance(e.value, gast.Name):
            found[s.name] = e.value.id      # type: ignore[union-attr]
    return {t: w for t, w in found.items() if counts[t] == 1 and w not in counts}


def _with(e: Node, fields: list[str], new: list[Node]) -> Node:
    """An expression with its operands replaced."""
    changed: dict[str, Any] = {}
    for f, v in zip(fields, new, strict=True):
        if f in ("args", "comparators"):
            changed.setdefault(f, []).append(v)
        else:
            changed[f] = v
    return rebuilt(e, changed)


__all__ = ["COUNT", "NUMBER", "NUMBERS", "Mixed", "Row", "RowExpressions"]
