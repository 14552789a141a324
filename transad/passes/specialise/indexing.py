"""Indexing and attributes: elements, views, gathers, shapes."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from transad import ir
from transad.kinds import BOOL, INT, Array
from transad.nodes import gast
from transad.passes.specialise.values import (
    UNKNOWN,
    Iter,
    Lst,
    Method,
    NotTyped,
    Obj,
    Part,
    Record,
    Span,
    Table,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.quote import Node, call, constant, expr, index, slice_, tuple_


class Indexing(Part):
    """The part of the specialiser that reads elements, views and attributes."""

    def eval_Subscript(self, node: Node) -> Any:
        owner = self.eval(node.value)
        if isinstance(owner, Tup):
            return self.tuple_item(owner, node)
        if isinstance(owner, Iter):
            return self.iter_item(owner, node)
        if isinstance(owner, Lst | Table):
            return self.list_part(owner, node)
        if isinstance(owner, Record) and owner.cls is dict:
            key = self.eval(node.slice)
            known = key.value if isinstance(key, Obj) else key.const if isinstance(key, Val) else UNKNOWN
            if type(known) in (str, int) and known in owner.fields:
                return owner.fields[known]
            raise NotTyped("a key of a dict that is not known", node)
        if not is_array(owner):
            raise NotTyped("indexing of something that is no array", node)
        owner, items = self.in_order([lambda: owner, lambda: self.index_items(node.slice, node)])
        return self.load(owner, items, node)

    def tuple_item(self, owner: Tup, node: Node) -> Any:
        k = self.eval(node.slice)
        if isinstance(k, Val) and isinstance(k.const, int):
            if not -len(owner.items) <= k.const < len(owner.items):
                raise NotTyped("a tuple index out of range", node)
            return owner.items[k.const]
        if isinstance(k, Span):
            parts = [None if p is None else p.const for p in (k.lower, k.upper, k.step)]
            if all(p is None or isinstance(p, int) for p in parts):
                return Tup(owner.items[slice(*parts)], owner.cls)
        if owner.items and all(is_scalar(v) for v in owner.items) and isinstance(k, Val):
            return self.load(self.as_array(owner, node), [k], node)
        raise NotTyped("a tuple index that is not known", node)

    def index_items(self, node: Node, whole: Node) -> list[Any]:
        value = self.eval_all(node.elts) if isinstance(node, gast.Tuple) else [self.eval(node)]
        if len(value) == 1 and isinstance(value[0], Tup) and value[0].cls is tuple:
            value = value[0].items
        return [self.as_array(v, whole) if isinstance(v, Tup) else v for v in value]

    def is_int(self, v: Any) -> bool:
        return is_scalar(v) and v.kind.integer and v.kind != BOOL

    def index_node(self, v: Any) -> Node:
        if isinstance(v, Span):
            return slice_(*(None if p is None else self.index_node(p) for p in (v.lower, v.upper, v.step)))
        if isinstance(v, Obj):
            return constant(v.value)
        if isinstance(v, Val):
            if isinstance(v.kind, Array):
                return self.atom(v, "idx").expr
            return v.expr
        raise NotTyped("this index")

    def load(self, owner: Val, items: list[Any], node: Node) -> Val:
        """`owner[items]`: an element, a view or a gather, by the kinds of the items."""
        ndim = owner.kind.ndim
        items = self.without_ellipsis(items, ndim, node)
        if not items:
            raise NotTyped("an index into an array of no dimension", node)
        ints = [self.is_int(i) for i in items]
        fancy = [i for i in items if is_array(i)]
        used = sum(1 for i in items if not (isinstance(i, Obj) and i.value is None))
        masks = sum(i.kind.ndim - 1 for i in fancy if i.kind.dtype == "bool")
        if used + masks > ndim:
            raise NotTyped("too many indices", node)
        if fancy:
            return self.gather(owner, items, node)
        if not all(i or isinstance(x, Span) or (isinstance(x, Obj) and x.value is None)
                   for i, x in zip(ints, items, strict=True)):
            raise NotTyped("this index", node)
        left = ndim - sum(ints) + sum(isinstance(x, Obj) for x in items)
        base, first = owner.expr, []
        if all(ints) and isinstance(owner.expr, gast.Subscript):
            split = self.split_view(owner.expr)
            base, first = split if split[0] is not None else (owner.expr, [])
        if not first:
            base = self.atom(owner, "a").expr
        tree = index(base, [*first, *(self.index_node(i) for i in items)])
        return Val(tree, Array(owner.kind.dtype, left) if left else owner.kind.element)

    def split_view(self, view: Node) -> tuple[Node | None, list[Node]]:
        """`a[i]` with integers only -> (a, [i]), so that `a[i][j]` becomes `a[i, j]`."""
        items = view.slice.elts if isinstance(view.slice, gast.Tuple) else [view.slice]
        if isinstance(view.value, gast.Name) and not any(
                isinstance(i, gast.Slice) or (isinstance(i, gast.Constant) and i.value is None) for i in items):
            return view.value, list(items)
        return None, []

    def without_ellipsis(self, items: list[Any], ndim: int, node: Node) -> list[Any]:
        at = [k for k, i in enumerate(items) if isinstance(i, Obj) and i.value is Ellipsis]
        if not at:
            return items
        used = sum(1 for i in items if not isinstance(i, Obj))
        fill = [Span(None, None, None)] * (ndim - used)
        return [*items[:at[0]], *fill, *items[at[0] + 1:]]

    def gather(self, owner: Val, items: list[Any], node: Node) -> Val:
        if len(items) != 1:
            return self.gather_by_several(owner, items, node)
        i = items[0]
        left = owner.kind.ndim - (i.kind.ndim if i.kind.dtype == "bool" else 1) + (
            1 if i.kind.dtype == "bool" else i.kind.ndim)
        if i.kind.dtype.startswith("float"):
            raise NotTyped("a floating-point index", node)
        value = Val(index(self.atom(owner, "a").expr, [self.atom(i, "idx").expr]), Array(owner.kind.dtype, left))
        return self.let("t", Val(call("gather", value.expr.value, value.expr.slice), value.kind))

    def gather_by_several(self, owner: Val, items: list[Any], node: Node) -> Val:
        """`a[i, j]` for arrays of indices, and `a[:, i]`; in compiled code loops."""
        ranks = [i.kind.ndim if is_array(i) and i.kind.dtype.startswith(("int", "uint")) else 0 if self.is_int(i) else -1
                 for i in items]
        if self.compiled and len(items) == 2 and -1 not in ranks and max(ranks) == 1:
            if min(ranks) == 1:
                items = [self.atom(i, "idx") for i in items]
                lengths = expr("i.shape[0] != j.shape[0]", i=items[0].expr, j=items[1].expr)
                self.emit(ir.If(lengths, [ir.Exit("raise", call("IndexError", constant(
                    "two arrays of indices have different lengths")))], []))
            return self.call_library("picked", [owner, *items], {}, node)
        if not self.compiled and -1 not in ranks:
            left = owner.kind.ndim - len(items) + max(ranks)
            parts = tuple_([self.atom(i, "idx").expr if is_array(i) else i.expr for i in items])
            return self.let("t", Val(call("gather", self.atom(owner, "a").expr, parts), Array(owner.kind.dtype, left)))
        whole = isinstance(items[0], Span) and items[0].lower is items[0].upper is items[0].step is None
        if self.compiled and len(items) == 2 and whole and ranks[1] == 1 and owner.kind.ndim == 2:
            return self.call_library("np.take", [owner, items[1], Val(constant(1), INT, 1)], {}, node)
        raise NotTyped("several fancy indices", node)

    def eval_Attribute(self, node: Node) -> Any:
        owner = self.eval(node.value)
        if isinstance(owner, Record) and node.attr in owner.fields:
            return owner.fields[node.attr]
        if isinstance(owner, Tup) and hasattr(owner.cls, "_fields") and node.attr in owner.cls._fields:
            return owner.items[owner.cls._fields.index(node.attr)]
        if is_array(owner):
            return self.array_attribute(owner, node.attr, node)
        if isinstance(owner, Obj) and isinstance(owner.value, types.ModuleType | type):
            value = getattr(owner.value, node.attr, UNKNOWN)
            if value is UNKNOWN:
                raise NotTyped(f"{show_name(owner.value)} has no {node.attr}", node)
            if not isinstance(value, type(np.sum) | np.ufunc) or owner.value is not np:
                self.dependencies.append((owner.value, node.attr, value))
            if type(value).__mro__[-2].__name__ == "Enum" or hasattr(type(value), "__members__"):
                if not isinstance(value, int | float):
                    return Obj(value)
                return self.lift(getattr(value, "value", value), node.attr, node)
            return self.lift(value, node.attr, node)
        if isinstance(owner, Obj) and node.attr in ("value", "name") and hasattr(type(owner.value), "__members__"):
            return self.lift(getattr(owner.value, node.attr), node.attr, node)
        if is_scalar(owner) and node.attr == "real" and owner.kind.real:
            return owner
        return Method(owner, node.attr)

    def array_attribute(self, owner: Val, attr: str, node: Node) -> Any:
        if attr == "shape":
            a = self.atom(owner, "a")
            return Tup([Val(expr(f"a.shape[{k}]", a=a.expr), INT) for k in range(owner.kind.ndim)])
        if attr == "size":
            return Val(expr("a.size", a=self.atom(owner, "a").expr), INT)
        if attr == "ndim":
            return Val(constant(owner.kind.ndim), INT, owner.kind.ndim)
        if attr == "dtype":
            return Obj(np.dtype(owner.kind.dtype))
        if attr == "T":
            if owner.kind.ndim < 2:
                return owner
            return self.let("t", Val(expr("a.T", a=self.atom(owner, "a").expr), owner.kind))
        if attr in ("real", "imag", "flat", "base", "data", "flags", "strides"):
            raise NotTyped(f"the attribute {attr} of an array", node)
        return Method(owner, attr)


def show_name(value: Any) -> str:
    return getattr(value, "__name__", repr(value))
