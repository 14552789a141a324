"""Tangents of array statements: views, fresh arrays and stores; and which arrays hold the tangents of all lanes in one."""
from __future__ import annotations

from transad.ir import Block, Let, Move, Program, Store, expressions, walk
from transad.kinds import Array, Kind
from transad.nodes import gast
from transad.passes.forward.linear import array_sources, seen_through
from transad.passes.regions import view_of
from transad.passes.specialise.values import NotTyped, Part
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, slice_, tuple_


class ArrayTangents(Part):
    """The part of forward mode that handles array statements."""

    def array_let(self, s: Let) -> Block:
        lanes = [k for k, a in enumerate(self.active) if s.name in a]
        if not lanes:
            return [self.primal(s)]
        if view_of(s.value) is not None:
            views: Block = [Let(self.t(s.name, k), seen_through(s.value, lambda v, k=k: self.tangent(v, k)))
                            for k in lanes]
            return self.around(s, [], views)
        if isinstance(s.value, gast.Call) and getattr(s.value.func, "id", "") in ("np.empty", "np.zeros"):
            if base(s.name) in self.rows:
                size = s.value.args[0]
                dims = [*(size.elts if isinstance(size, gast.Tuple) else [size]), constant(len(self.slots(base(s.name))))]
                row = self.row(base(s.name))
                return self.around(s, [], [Let(row, call(s.value.func.id, tuple_(dims), *s.value.args[1:]))])
            zeros = call("np.zeros", *s.value.args)
            return self.around(s, [], [Let(self.t(s.name, k), zeros) for k in lanes])
        before, tangents = self.flow(s.value, s, lanes)
        out: Block = []
        for k in lanes:
            value = tangents.get(k)
            fresh = call("np.zeros_like", name(s.name)) if value is None else self.fitted(value, s)
            out.append(Let(self.t(s.name, k), fresh))
        return self.around(s, before, out)

    def fitted(self, value: Node, s: Let) -> Node:
        """A tangent in memory of its own, with the shape of the array."""
        wanted = array_sources(s.value, self.values, self.known)
        if isinstance(s.value, gast.Call) and getattr(s.value.func, "id", "") in ("np.dot", "gather", "unbroadcast"):
            return value
        bare = isinstance(value, gast.Name | gast.Subscript | gast.Attribute)
        if wanted <= array_sources(value, self.values, self.known):
            return expr("t.copy()", t=value) if bare else value
        return call("stretched", value, name(s.name))

    def store(self, s: Store) -> Block:
        lanes = [k for k, a in enumerate(self.active) if s.array in a]
        if not lanes:
            return [self.primal(s)]
        value, op = s.value, s.op
        if op in ("*", "/") or op not in ("", "+", "-"):
            if any(isinstance(self.values.kind(i), Array) for i in s.index if not isinstance(i, gast.Slice)
                   and not (isinstance(i, gast.Constant) and i.value is None)):
                raise NotTyped("an augmented assignment with a fancy index")
            old = index(name(s.array), s.index) if s.index else name(s.array)
            value, op = expr(f"a {op} b", a=old, b=value), ""
        before, tangents = self.flow(value, s, lanes)
        out: Block = []
        whole = [slice_(None, None)] * self.program.kinds[base(s.array)].ndim
        for k in lanes:
            t = tangents.get(k)
            held = self.element(s.array, s.index, k)
            if held is not None and (t is not None or not op):
                out.append(Store(held[0], held[1], constant(0.0) if t is None else t, op))
            elif t is not None or not op:
                out.append(Store(self.t(s.array, k), s.index or ([] if op else whole),
                                 constant(0.0) if t is None else t, op))
        return [*self.plain_all(self.values.lines), *self.plain_all([*before, *out]), self.primal(s)]


def items_of(leaf: Node) -> list[Node]:
    return list(leaf.slice.elts) if isinstance(leaf.slice, gast.Tuple) else [leaf.slice]


def element_arrays(program: Program) -> dict[str, int]:
    """Local arrays made in one place and only read and written element by element, with their ranks.

    Their tangents lie side by side in one array: as many arrays as lanes would contend for the same cache lines."""
    made: dict[str, int] = {}
    refused = {base(p) for p in [*program.parameters, *program.constants]}
    kinds = program.kinds

    def whole(e: Node) -> None:
        if isinstance(e, gast.Name):
            refused.add(base(e.id))
        elif isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and _elementwise(
                e.value.id, items_of(e), kinds):
            for i in items_of(e):
                whole(i)
        else:
            for child in gast.iter_child_nodes(e):
                if isinstance(child, gast.expr):
                    whole(child)
    for s in walk(program.body):
        if isinstance(s, Let) and isinstance(kinds.get(base(s.name)), Array):
            fresh = isinstance(s.value, gast.Call) and getattr(s.value.func, "id", "") in ("np.empty", "np.zeros")
            if base(s.name) in made or not fresh:
                refused.add(base(s.name))
            made[base(s.name)] = 1
        if isinstance(s, Move):
            refused.update(base(v) for v in [*s.targets, *s.sources])
        if isinstance(s, Store) and not _elementwise(s.array, s.index, kinds):
            refused.add(base(s.array))
        for e in expressions(s):
            whole(e)
    for e in program.results:
        whole(e)
    return {a: n for a, n in made.items() if a not in refused}


def _elementwise(array: str, items: list[Node], kinds: dict[str, Kind]) -> bool:
    """Whether an index names one element."""
    kind = kinds.get(base(array))
    return isinstance(kind, Array) and len(items) == kind.ndim and not any(
        isinstance(i, gast.Slice) or (isinstance(i, gast.Constant) and i.value is None)
        or (isinstance(i, gast.Name) and isinstance(kinds.get(base(i.id)), Array)) for i in items)
