"""Lists made at run time: the items of a map or comprehension in arrays.

Numbers go into an array; arrays of one shape, and lists of one length, into its rows; tuples into an array for each of
their parts. The arrays are new, so they may stand for the items as long as each item was made for its own trip.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transad import ir
from transad.kinds import INT, Array, Scalar
from transad.passes.fresh import fresh_value
from transad.passes.specialise.extents import Extents
from transad.passes.specialise.values import Iter, Lst, NotTyped, Part, Table, Tup, Val, is_array, is_scalar
from transad.quote import Node, call, constant, expr, name, show
from transad.runtime.kernels import ItemFailed

_JOINS = (np.concatenate, np.hstack, np.vstack, np.column_stack)


class Lists(Part):
    """The part of the specialiser that makes and reads lists."""

    def listed(self, it: Iter, node: Node) -> Lst | Table:
        """The items in new arrays."""
        if it.item is None:
            it = self.by_index(it, node)
        n = self.let("n", Val(it.length(), INT))
        item, block = self.probed(it)
        stores: list[tuple[Callable[[Any], Any], Lst]] = []
        made = self.columns(item, block, n, stores, lambda v: v, node)

        def body(i: Node) -> None:
            value = it.item(i)
            for part, column in stores:
                v = part(value)
                if isinstance(v, Tup):
                    for k, x in enumerate(v.items):
                        self.emit(ir.Store(show(column.array.expr), [i, constant(k)], x.expr))
                    continue
                self.emit(ir.Store(show(column.array.expr), [i], v.array.expr if isinstance(v, Lst) else v.expr))
        self.emit_for(constant(0), n.expr, 1, body, "")
        self.mark_map()
        if it.apart is not None:
            self.check_apart(self.buffer[-1], it.apart, {show(column.array.expr) for _, column in stores}, node)
        return made if isinstance(made, Lst) else Table(made, n.expr)

    def first_total(self, it: Iter, node: Node) -> Val | None:
        """What the sum of new arrays of one shape starts from; None for other items. The sum of none is the number 0, which
        the recorded path gives."""
        if it.item is None or it.span is not None:
            return None
        item, block = self.probed(it)
        if not is_array(item):
            return None
        shape = self.shape_before(item, block)
        if shape is None or item.kind.dtype != "float64":
            raise NotTyped("a sum of arrays whose shape is not known", node)
        self.give_up_if(expr("n < 1", n=it.length()), "the sum of no arrays is the number 0")
        return self.let("total", self.empty(shape, "float64", "np.zeros"))

    def shape_before(self, v: Val, block: ir.Block) -> list[Node] | None:
        """The shape of an array that a block makes; what it depends on is tested when the program runs."""
        extents = Extents(block, self.probe_kinds)
        shape = extents.shape(v.expr)
        for test in extents.tests() if shape is not None else ():
            self.give_up_if(test, "arrays of different shapes may meet")
        return shape

    def give_up_if(self, test: Node, why: str) -> None:
        """Leave a call to the recorded path where a test holds: the function is run once more."""
        self.gives_up = why
        self.emit(ir.If(test, [ir.Exit("raise", self.raised(ItemFailed, [constant(why)]), line=self.line)], []))

    def probed(self, it: Iter) -> tuple[Any, ir.Block]:
        """An item, and the statements that make it; the program is left as it was."""
        taken, kinds, buffer = set(self.names.taken), dict(self.kinds), self.buffer
        before, slots = self.snapshot(), [(f, dict(f.slots)) for f in self.frames]
        self.buffer = block = []
        item = it.item(constant(0))
        self.probe_kinds = self.kinds
        self.buffer, self.names.taken, self.kinds = buffer, taken, kinds
        for frame, known in slots:
            frame.slots = known
        self.restore(before)
        return item, block

    def columns(self, item: Any, block: ir.Block, n: Val, stores: list[tuple[Callable[[Any], Any], Lst]],
                part: Callable[[Any], Any], node: Node) -> Any:
        """An array for every number and array of an item."""
        if isinstance(item, Tup) and item.items and item.cls is not list:
            return Tup([self.columns(v, block, n, stores, lambda w, k=k: part(w).items[k], node)
                        for k, v in enumerate(item.items)], item.cls)
        value: Any = item.array if isinstance(item, Lst) else item
        shape: list[Node] | None = []
        if isinstance(value, Tup):
            kind = _number_kind(value.items)
            if kind is None:
                raise NotTyped("a list of lists of things that are not numbers of one kind", node)
            column = Lst(self.let("items", self.empty([n.expr, constant(len(value.items))], kind.dtype)), 2)
            stores.append((part, column))
            return column
        if is_array(value):
            shape = self.shape_before(value, block) if fresh_value(value.expr, block) else None
        elif not is_scalar(value):
            shape = None
        if shape is None:
            raise NotTyped("a list of things that are neither numbers nor new arrays of one shape", node)
        dtype = value.kind.dtype
        out = self.let("items", self.empty([n.expr, *shape], dtype))
        column = Lst(out, 1 + (item.depth if isinstance(item, Lst) else 0))
        stores.append((part, column))
        return column

    def collected(self, it: Iter, node: Node) -> Val:
        """The items in one new array."""
        return self.joined(self.listed(it, node), node)

    def joined(self, v: Lst | Table, node: Node) -> Val:
        """A list as an array: one of tuples has a column for each of their parts."""
        if isinstance(v, Lst):
            return v.array
        parts: list[Any] = v.columns.items
        arrays = [p.array for p in parts if isinstance(p, Lst) and isinstance(parts[0], Lst) and
                  p.array.kind == Array(parts[0].array.kind.dtype, 1)]
        if len(arrays) < len(parts):
            raise NotTyped("an array of tuples of different things", node)
        out = self.let("items", self.empty([v.length, constant(len(parts))], arrays[0].kind.dtype))

        def body(i: Node) -> None:
            for k, p in enumerate(arrays):
                self.emit(ir.Store(show(out.expr), [i, constant(k)], self.load(p, [Val(i, INT)], node).expr))
        self.emit_for(constant(0), v.length, 1, body, "")
        return out

    def list_item(self, v: Lst | Table, i: Val, node: Node) -> Any:
        """One item of a list."""
        if isinstance(v, Table):
            return _mapped(v.columns, lambda column: self.list_item(column, i, node))
        row = self.load(v.array, [i], node)
        return Lst(row, v.depth - 1) if v.depth > 1 else row

    def list_part(self, v: Lst | Table, node: Node) -> Any:
        """`v[k]` and `v[a:b]`."""
        items = self.index_items(node.slice, node)
        if len(items) == 1 and is_scalar(items[0]) and self.is_int(items[0]):
            index = self.let("k", items[0]) if isinstance(v, Table) and not isinstance(items[0].const, int) else items[0]
            return self.list_item(v, index, node)
        if isinstance(v, Lst) and len(items) == 1 and not isinstance(items[0], Val):
            return Lst(self.let("items", self.load(v.array, items, node)), v.depth)
        raise NotTyped("this part of a list", node)

    def transposed(self, v: Iter | Table, node: Node) -> Tup:
        """`zip(*v)` of tuples, for unpacking: there is nothing to unpack in an empty list."""
        table: Any = self.listed(v, node) if isinstance(v, Iter) else v
        if not isinstance(table, Table):
            raise NotTyped("zip(*v) of things that are not tuples", node)
        self.emit(ir.If(expr("n == 0", n=table.length), [ir.Exit("raise", self.raised(
            ValueError, [constant(f"not enough values to unpack (expected {len(table.columns.items)}, got 0)")]),
            line=self.line)], []))
        return Tup([Table(c, table.length) if isinstance(c, Tup) else c for c in table.columns.items], list)

    def np_fromiter(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        """All items of an iterator; a count has to be that of the items."""
        given = dict(zip(("iterable", "dtype", "count"), args, strict=False)) | keywords
        it, count = given.pop("iterable"), given.pop("count", None)
        it = it if isinstance(it, Iter) else self.iter_of(it, node)
        if it.length is None or (count is not None and show(count.expr) != show(it.length())):
            raise NotTyped("np.fromiter of so many items of an iterator", node)
        return self.np_array([self.collected(it, node)], given, node)

    def np_stack(self, args: list[Any], keywords: dict[str, Any], node: Node) -> Val:
        """A list of arrays as rows of a new one."""
        axis = args[1] if len(args) > 1 else keywords.get("axis")
        if (axis is not None and getattr(axis, "const", None) != 0) or set(keywords) - {"axis"} or not isinstance(
                args[0], Lst):
            raise NotTyped("np.stack of anything but a list made at run time, along the first axis", node)
        rows = args[0].array
        self.emit(ir.If(expr("len(a) == 0", a=rows.expr), [ir.Exit("raise", self.raised(
            ValueError, [constant("need at least one array to stack")]), line=self.line)], []))
        return self.let("a", Val(call("np.copy", rows.expr), rows.kind))

    def join_rows(self, f: Any, args: list[Any], keywords: dict[str, Any], node: Node) -> Val | None:
        """`np.concatenate`, `np.vstack` and the like of a list of arrays with one axis; None for other calls."""
        axis = args[1] if len(args) > 1 else keywords.get("axis")
        if f not in _JOINS or len(args) > 2 or set(keywords) - {"axis"} or (axis is not None and (
                getattr(axis, "const", None) != 0 or f is not np.concatenate)) or args[0].array.kind.ndim != 2:
            return None
        rows = args[0].array
        self.emit(ir.If(expr("len(a) == 0", a=rows.expr), [ir.Exit("raise", self.raised(
            ValueError, [constant("need at least one array to concatenate")]), line=self.line)], []))
        if f in (np.concatenate, np.hstack):
            return self.call_written("np.ravel", [rows], {}, node)
        whole = rows if f is np.vstack else self.array_attribute(rows, "T", node)
        return self.let("a", Val(call("np.copy", self.atom(whole, "a").expr), whole.kind))

    def best_item(self, v: Any, sign: str, node: Node, key: Any = None, default: Any = None) -> Any:
        """`min` and `max` of an iterable: the first of the items that are best, or whose keys are."""
        items, keys = self.with_keys(v, key, node)
        n = call("len", keys.expr)
        if default is None:
            which = "min" if sign == "<" else "max"
            self.emit(ir.If(expr("n == 0", n=n), [ir.Exit("raise", self.raised(
                ValueError, [constant(f"{which}() arg is an empty sequence")]), line=self.line)], []))
            return items(self.best_index(keys, sign, n, node))
        frame, slot = self.frame, self.temporary("best")

        def put(value: Any) -> None:
            frame.vars[slot] = self.assign(frame, slot, value)
        self.branch(Val(expr("n == 0", n=n), Scalar("bool")), lambda: put(default),
                    lambda: put(items(self.best_index(keys, sign, n, node))))
        result = frame.vars.pop(slot)
        if not isinstance(result, Val | Tup):
            raise NotTyped("min or max with a default of another kind", node)
        return result

    def with_keys(self, v: Any, key: Any, node: Node) -> tuple[Callable[[Val], Any], Val]:
        """How to get an item, and the numbers by which items are compared, in an array."""
        made: Any = v if is_array(v) or isinstance(v, Lst | Table) else self.listed(v if isinstance(v, Iter) else self.iter_of(
            v, node), node)

        def item(i: Val) -> Any:
            return self.load(made, [i], node) if is_array(made) else self.list_item(made, i, node)
        it = self.iter_of(made, node)
        keys = made.array if isinstance(made, Lst) else made
        if key is not None:
            keys = self.collected(Iter(it.length, lambda i: self.call_value(key, [it.item(i)], {}, node), calls=True), node)
        if not is_array(keys) or keys.kind.ndim != 1:
            raise NotTyped("min or max of things that are not numbers", node)
        return item, self.atom(keys, "a")

    def best_index(self, keys: Val, sign: str, n: Node, node: Node) -> Val:
        """The index of the first of the best numbers of an array."""
        frame, slot = self.frame, self.temporary("best")
        frame.vars[slot] = Val(name(self.residual(frame, slot, INT)), INT)
        self.emit(ir.Let(show(frame.vars[slot].expr), constant(0)))

        def body(i: Node) -> None:
            best = frame.vars[slot]
            test = Val(expr(f"a {sign} b", a=self.load(keys, [Val(i, INT)], node).expr,
                            b=self.load(keys, [best], node).expr), Scalar("bool"))

            def take() -> None:
                frame.vars[slot] = self.assign(frame, slot, Val(i, INT))
            self.branch(test, take, lambda: None)
        self.emit_for(constant(1), n, 1, body, "")
        return frame.vars.pop(slot)


def _number_kind(items: list[Any]) -> Scalar | None:
    """The kind of numbers in a list of a fixed length; whole literals count as what the others are."""
    kinds = {v.kind if is_scalar(v) else None for v in items if not (is_scalar(v) and type(v.const) is int)}
    only = kinds.pop() if len(kinds) == 1 else INT if not kinds and items else None
    return only if isinstance(only, Scalar) and not only.dtype.startswith("complex") else None


def _mapped(v: Any, f: Callable[[Any], Any]) -> Any:
    return Tup([_mapped(x, f) for x in v.items], v.cls) if isinstance(v, Tup) else f(v)


__all__ = ["Lists"]
