"""The adjoint of what arrays do: loads, fresh arrays, stores.

Every store is taken, cleared and added on, so it is right whatever shares memory with whatever.
"""
from __future__ import annotations

from typing import Any

from transad.ir import Block, Let, Statement, Store
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.duals import is_marked
from transad.passes.regions import view_of
from transad.passes.reverse.array_calls import ARRAY_CALLS
from transad.passes.reverse.recursive_calls import recursive_call
from transad.passes.reverse.ruled_calls import ruled_call
from transad.passes.reverse.terms import Term, total
from transad.passes.ruled import is_ruled
from transad.passes.specialise.values import NotTyped, Part
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, rebuilt, slice_


class ArrayAdjoint(Part):
    """The part of the adjoint that handles arrays."""

    def shadow_place(self, leaf: Node, s: Statement) -> Node:
        """`a[i]` -> the same place of the shadow."""
        d_a = self.shadows.of(leaf.value.id)
        return rebuilt(leaf, {"value": name(d_a), "slice": self.values.index(leaf.slice, s)})

    def add_load(self, leaf: Node, value: Node, s: Statement) -> Block:
        place = self.shadow_place(leaf, s)
        if isinstance(self.values.kind(leaf), Array):
            view = self.temp("d_view")
            self.shadows.variables[view] = getattr(self.values.kind(leaf), "ndim", 0)
            return [Let(view, place), Store(view, [], call("unbroadcast", value, name(view))
                                            if self.is_array_node(value) else value, "+")]
        items = place.slice.elts if isinstance(place.slice, gast.Tuple) else [place.slice]
        return [Store(place.value.id, list(items), value, "+")]

    def add_array(self, version: str, terms: list[Term], s: Statement) -> Block:
        d_a = self.shadows.of(version)
        value = total(terms)
        if self.needs_unbroadcast(value, version):
            value = call("unbroadcast", value, name(d_a))
        return [Store(d_a, [], value, "+")]

    def needs_unbroadcast(self, value: Node, version: str) -> bool:
        """Whether a contribution may have another shape: it mentions an array of unknown extent."""
        if not self.is_array_node(value):
            return False
        shape = self.shadows.shape_class(version)
        return any(self.shadows.shape_class(n.id) != shape for n in gast.walk(value)
                   if isinstance(n, gast.Name) and ("@" in n.id or n.id in self.shadows.variables)
                   and self.rank(n)) or any(isinstance(n, gast.Subscript) for n in gast.walk(value))

    def array_let(self, s: Let) -> Block:
        if view_of(s.value) is not None:
            return []
        d = self.shadows.of(s.name)
        if is_marked(s.value):
            return self.marked(s, d, "set")
        made = self.array_call(s, Term(1.0, (name(d),)))
        if made is not None:
            return made
        found = self.differentiate(s.value, Term(1.0, (name(d),)), s)
        return self.added(found, s, d)

    def array_call(self, s: Let, cot: Term) -> Block | None:
        """Whole-array functions have adjoints of their own."""
        e = s.value
        whole: Any = self
        if not (isinstance(e, gast.Call) and isinstance(e.func, gast.Name)):
            return None
        if e.func.id in self.program.recursive:
            return recursive_call(whole, s, e, self.program.recursive[e.func.id], cot)
        if is_ruled(e):
            return ruled_call(whole, s, e, cot)
        if e.func.id not in ARRAY_CALLS:
            return None
        return ARRAY_CALLS[e.func.id](whole, s, e, cot)

    def store(self, s: Store) -> Block:
        if s.array not in self.active:
            return []
        d_a = self.shadows.of(s.array)
        kind = self.program.kinds[base(s.array)]
        assert isinstance(kind, Array)
        items = [self.values.index(i, s) for i in s.index]
        fancy = [i for i in s.index if isinstance(i, gast.Name) and isinstance(
            self.program.kinds.get(base(i.id)), Array)]
        if fancy:
            return self.store_fancy(s, d_a, items)
        ints = sum(not isinstance(i, gast.Slice) and not (isinstance(i, gast.Constant) and i.value is None)
                   for i in items)
        if ints == kind.ndim:
            return self.store_element(s, d_a, items)
        return self.store_slice(s, d_a, items)

    def store_element(self, s: Store, d_a: str, items: list[Node]) -> Block:
        place = index(name(d_a), items)
        uses = self.uses(s.value, s)
        if s.op in ("+", "-"):        # what the target had before has the same cotangent: it stays where it is
            if not uses:
                return []
            g = self.temp("d_v") if uses > 1 or self.reads_target(s) else ""
            cot = Term(1.0 if s.op == "+" else -1.0, (name(g) if g else place,))
            found = self.differentiate(s.value, cot, s)
            return ([Let(g, place)] if g else []) + self.apply(found, s, g, "maybe" if g else "set") \
                if g or not found.singular else self.store_guarded(s, place, cot.number)
        if s.op == "*" and not uses:
            return [Store(d_a, items, Term(1.0, (place,)).times(self.values.of(s.value, s)).node())]
        old = index(name(s.array), s.index)
        value = s.value if not s.op else expr(f"a {s.op} b", a=old, b=s.value)
        g = self.temp("d_v")
        found = self.differentiate(value, Term(1.0, (name(g),)), s)
        if found.empty:
            return [Store(d_a, items, constant(0.0))]
        return [Let(g, place), Store(d_a, items, constant(0.0)), *self.apply(found, s, g, "maybe")]

    def store_guarded(self, s: Store, place: Node, sign: float) -> Block:
        g = self.temp("d_v")
        found = self.differentiate(s.value, Term(sign, (name(g),)), s)
        return [Let(g, place), *self.apply(found, s, g, "maybe")]

    def reads_target(self, s: Store) -> bool:
        return any(isinstance(n, gast.Name) and "@" in n.id and n.id in self.regions.parent
                   and self.regions.same(n.id, s.array) for n in gast.walk(s.value))

    def store_slice(self, s: Store, d_a: str, items: list[Node]) -> Block:
        kind = self.program.kinds[base(s.array)]
        whole = not s.index
        self.refuse_crossing(s)
        region = name(d_a) if whole else index(name(d_a), items)
        g = self.temp("d_v")
        rank = self.values.subscript_kind(index(name(s.array), s.index)) if not whole else kind
        self.shadows.variables[g] = rank.ndim if isinstance(rank, Array) else 0
        if whole:
            self.shadows.shapes[g] = s.array
        out: Block = [Let(g, expr("a.copy()", a=region))]
        if s.op in ("", "*", "/"):
            full = [slice_(None, None)] * kind.ndim if whole else items
            if s.op == "":
                out.append(Store(d_a, full, constant(0.0)))
        if s.op in ("*", "/"):
            other = self.values.of(s.value, s)
            slope = expr("g * v" if s.op == "*" else "g / v", g=name(g), v=other)
            out.append(Store(d_a, [slice_(None, None)] * kind.ndim if whole else items, slope))
            if not self.uses(s.value, s):
                return out
            old = self.values.pseudo(expr("a.copy()", a=name(s.array) if whole else index(name(s.array), s.index)), s,
                                     replaced="")
            partial = Term(1.0, (name(g), old))
            if s.op == "/":
                partial = Term(-1.0, (name(g), old), (other, other))
            return out + self.added(self.differentiate(s.value, partial, s), s, "")
        sign = -1.0 if s.op == "-" else 1.0
        found = self.differentiate(s.value, Term(sign, (name(g),)), s)
        if found.empty:
            return out[1:]
        return out + self.added(found, s, "")

    def refuse_crossing(self, s: Store) -> None:
        """A copy of a part of an array onto another part is as if through a temporary only where both run over memory
        with the same strides (`a[1:] = a[:-1]`, `m[i] = m[j]`); `m[2] = m[:, 0]` NumPy copies in an order of its own."""
        source = view_of(s.value)
        if s.op or source is None or source not in self.regions.parent or not self.regions.same(source, s.array):
            return
        items = [] if isinstance(s.value, gast.Name) else _items(s.value)
        if items is not None and source == s.array and None not in _pattern([*items, *s.index]) and (
                not items or _pattern(items) == _pattern(s.index)):
            return
        if items is None or not _straight(items) or not _straight(s.index) or not self.regular(s.array):
            raise NotTyped("a part of an array is copied onto another part of it")

    def regular(self, version: str) -> bool:
        """Whether all names of a region run over its memory with the same strides: rows and parts without a step."""
        for v in self.regions.members(version):
            found = self.scopes.defined.get(v)
            if found is None or found.how != "let" or not isinstance(found.statement, Let):
                continue
            value = found.statement.value
            if view_of(value) is not None and not isinstance(value, gast.Name):
                items = _items(value)
                if items is None or not _straight(items):
                    return False
        return True

    def store_fancy(self, s: Store, d_a: str, items: list[Node]) -> Block:
        arrays = [self.program.kinds.get(base(i.id)) for i in s.index if isinstance(i, gast.Name)]
        ranks = [k.ndim for k in arrays if isinstance(k, Array) and k.dtype != "bool"]
        source = view_of(s.value)
        if s.op or (len(items) > 1 and len(ranks) != sum(isinstance(k, Array) for k in arrays)) or (
                source in self.regions.parent and self.regions.same(str(source), s.array)):
            raise NotTyped("a store of this kind with a fancy index")
        g = self.temp("d_v")
        owner, value_kind = self.program.kinds[base(s.array)], self.values.kind(s.value)
        assert isinstance(owner, Array)
        if len(items) == 1:
            self.shadows.variables[g] = value_kind.ndim if isinstance(value_kind, Array) else 1
            place = items[0]
        else:
            kept = sum(isinstance(i, gast.Slice) for i in items) + owner.ndim - len(items)
            self.shadows.variables[g] = kept + max(ranks)
            place = index(name("np.s_"), items)
        out: Block = [Let(g, call("take_scattered", name(d_a), place))]
        return out + self.added(self.differentiate(s.value, Term(1.0, (name(g),)), s), s, "")


def _items(view: Node) -> list[Node] | None:
    """The indices of a view `a[...]`; None for another view (`a.T`)."""
    if not isinstance(view, gast.Subscript) or not isinstance(view.value, gast.Name):
        return None
    return view.slice.elts if isinstance(view.slice, gast.Tuple) else [view.slice]


def _straight(items: list[Node]) -> bool:
    """Whether an index takes leading axes away and parts without a step of the others."""
    pattern = _pattern(items)
    none = any(isinstance(i, gast.Constant) and i.value is None for i in items)
    return None not in pattern and not none and pattern == sorted(pattern, key=lambda p: p == ":")


def _pattern(items: list[Node]) -> list[str | None]:
    """Which axes an index keeps; None for a step."""
    return [("i" if not isinstance(i, gast.Slice) else ":" if i.step is None else None) for i in items]
