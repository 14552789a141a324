"""Shadows of arrays: they alias exactly as the arrays do, and are made by the reverse sweep only.

At the start of a reversed block its reference statements run forward on shadows: an allocation gives zeros, a view
the same view, an alias the same variable, a choice by `if` the same choice. A loop that rebinds arrays turns its
renaming back on every reversed trip; it is refused here when that is not exact (the recorded path takes over).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from transad.ir import Block, For, If, Let, Move, Phi, Program, Statement, Store, While
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions, view_of
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.shapes import ZEROS, Shapes
from transad.passes.reverse.values import Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, list_, name, rebuilt, substitute, tuple_

if TYPE_CHECKING:
    from transad.passes.reverse.references import Table


class Shadows(Shapes):
    """The shadow variable of each active array version, and the statements that set them up."""

    def __init__(self, program: Program, values: Values, active: set[str], names: Names) -> None:
        self.program, self.values, self.active, self.names = program, values, active, names
        self.regions: Regions = values.regions
        self.scopes: Scopes = values.scopes
        self.variable: dict[str, str] = {}
        self.variables: dict[str, int] = {}
        self.born: set[str] = set()
        self.done: set[int] = set()
        self.shapes: dict[str, str] = {}
        self.resolve: Callable[[Scope, Block], Block] = lambda _scope, stmts: stmts
        self.tables: list[Table] = []
        self.numbered: dict[str, Table] = {}

    def use_tables(self, tables: list[Table]) -> None:
        """Take the shadows of numbered arrays from lists (see `references`)."""
        self.tables = tables
        self.numbered = {v: t for t in tables for v in t.numbered if v not in t.entries}

    def replayed(self, s: For | While) -> bool:
        """Whether the arrays that a loop rebinds are numbered."""
        return any(p.out in self.numbered for p in self.moving(s))

    def looked_up(self, version: str) -> Let:
        """The shadow of a numbered array."""
        return Let(self.of(version), self.numbered[version].place(version))

    def is_active_array(self, version: str) -> bool:
        return version in self.active and isinstance(self.program.kinds.get(base(version)), Array)

    def of(self, version: str) -> str:
        """The shadow variable of an array version."""
        if version not in self.variable:
            self.variable[version] = self.fresh(version)
        return self.variable[version]

    def fresh(self, version: str) -> str:
        new = self.names.fresh(f"d_{base(version)}")
        kind = self.program.kinds[base(version)]
        assert isinstance(kind, Array)
        self.variables[new] = kind.ndim
        self.shapes[new] = version
        return new

    # -- births ---------------------------------------------------------------------------------------------------
    def births(self, scope: Scope, early: bool = False) -> Block:
        """What runs at the start of a reversed block, in the order of the forward sweep.

        `early`: for an arm whose arrays are seen outside it; its own block then has nothing left to do."""
        if not early and id(scope.block) in self.done:
            return []
        out: Block = []
        for s in scope.block:
            if isinstance(s, For | While):
                self.take_over(s)
        for s in scope.block:
            if isinstance(s, Let):
                out += self.birth(s)
            elif isinstance(s, Move):
                pairs = [(t, v) for t, v in zip(s.targets, s.sources, strict=True) if self.is_active_array(t)]
                for t, v in pairs:
                    self.variable[t] = self.of(v)
            elif isinstance(s, If):
                out += self.branch(s)
            elif isinstance(s, For | While):
                out += self.after_loop(s)
        return out

    def birth(self, s: Let) -> Block:
        if not self.is_active_array(s.name):
            return []
        source = view_of(s.value)
        if isinstance(s.value, gast.Name) and source is not None:
            self.variable[s.name] = self.of(source)
            return []
        if s.name in self.born:
            return []
        if s.name not in self.variable:
            self.variable[s.name] = self.fresh(s.name)
        d = self.variable[s.name]
        table = self.numbered.get(s.name)
        if table is not None and s.name in table.made:
            return [self.looked_up(s.name)]
        if source is not None:
            read = rebuilt(s.value, {"slice": self.values.index(s.value.slice, s)}) if isinstance(
                s.value, gast.Subscript) else self.reshaped(s) if isinstance(s.value, gast.Call) else s.value
            return [Let(d, substitute(read, lambda n: name(self.of(source)) if n.id == source else None))]
        return [Let(d, self.zeros(s))]

    def reshaped(self, s: Let) -> Node:
        """A view by `reshaped`, its lengths as the reverse sweep reads them."""
        first, *rest = s.value.args
        return rebuilt(s.value, {"args": [first, *(self.values.index(x, s) for x in rest)]})

    def zeros(self, s: Let) -> Node:
        """Zeros of the shape (and dtype) that an allocation gives."""
        e = s.value
        kind = self.program.kinds[base(s.name)]
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in ZEROS:
            return call("np.zeros", *(self.values.index(a, s) for a in e.args))
        like = self.shape_like(e)
        if like is not None and getattr(self.program.kinds.get(base(like)), "dtype", "") == getattr(kind, "dtype", ""):
            return call("np.zeros_like", name(like))
        return call("np.zeros_like", name(s.name))

    def branch(self, s: If) -> Block:
        """An `if` that chooses between arrays: the same choice between their shadows."""
        chosen_here = [p for p in s.phis if self.is_active_array(p.out)]
        phis = [p for p in chosen_here if p.out not in self.numbered]
        found: Block = [self.looked_up(p.out) for p in chosen_here if p.out in self.numbered]
        return self.choice(s, phis) + found if phis else found

    def choice(self, s: If, phis: list[Phi]) -> Block:
        """The arms of an `if` as far as they say which shadow a name has."""
        arms = []
        for arm in (s.then, s.orelse):
            inner = self.scopes.of_block[id(arm)]
            made = self.births(inner, early=True)
            arms.append(self.resolve(inner, made) if made else made)
            self.done.add(id(arm))
        chosen = False
        for p in phis:
            a, b = self.of(p.then), self.of(p.orelse)
            if a == b:
                self.variable[p.out] = a
                continue
            d = self.of(p.out)
            arms[0].append(Let(d, name(a)))
            arms[1].append(Let(d, name(b)))
            chosen = True
        if not chosen and not arms[0] and not arms[1]:
            return []
        return [If(self.values.test(s.test, s), arms[0], arms[1])]

    # -- loops that rebind arrays -----------------------------------------------------------------------------------
    def after_loop(self, s: For | While) -> Block:
        """The shadows of what the carried names hold after the loop."""
        out: Block = [Let(t.variable, self.listed(t)) for t in self.tables if t.loop is s]
        phis = [p for p in s.phis if self.is_active_array(p.out)]
        if not phis:
            return out
        kept = [p for p in phis if self.resolved(p.end) == p.head]
        for p in kept:
            for v in (p.head, p.end, p.out):
                self.variable[v] = self.of(p.entry)
        moving = [p for p in phis if p not in kept]
        if not moving:
            return out
        if self.replayed(s):
            return out + [self.looked_up(p.out) for p in moving]
        self.check_turn_back(s, moving)
        for p in moving:
            d = self.variable[p.head] = self.of(p.out)
            out.append(Let(d, call("np.zeros_like", name(self.like_of(p)))))
        return out

    def listed(self, table: Table) -> Node:
        """The list of shadows when the loop of a table starts: those of the arrays that are there already."""
        none = call("np.zeros", tuple_([constant(0)] * table.kind.ndim), name(f"np.{table.kind.dtype}"))
        return list_([name(self.of(v)) for v in table.entries] or [none])

    def like_of(self, p: Phi) -> str:
        """An array with the shape of what a name holds after a loop, kept anyway if possible."""
        shapes = {self.shape_class(p.entry), self.shape_class(self.resolved(p.end)), self.shape_class(p.head)}
        shapes.discard(p.head)
        heads = [q for q in self.scopes.defined.values() if q.version in shapes and q.how == "head"]
        if not heads and len(shapes) == 1:
            return shapes.pop()
        owner = heads[0].scope.owner if heads else None
        if isinstance(owner, For | While):
            others = {self.shape_class(q.entry) for q in owner.phis if q.head in {h.version for h in heads}}
            others |= {x for x in shapes if x not in {h.version for h in heads}}
            ends = {self.shape_class(self.resolved(q.end)) for q in owner.phis
                    if isinstance(self.program.kinds[base(q.head)], Array)}
            if len(others) == 1 and ends <= {q.head for q in owner.phis}:
                return others.pop()
        return p.out

    def take_over(self, s: For | While) -> None:
        """An array that only its name holds when a loop starts to rebind the name shares its shadow variable."""
        moving = [] if self.replayed(s) else self.moving(s)
        members = {v for p in moving for v in self.regions.members(p.head)}
        here = self.scopes.of_statement[id(s)]
        beside = all(self.scopes.defined[self.resolved(p.entry)].scope is here for p in moving)
        if moving and beside and "take_over" not in self.program.off and self.owned(s, moving, members):
            for p in moving:
                entry = self.resolved(p.entry)
                self.variable[entry] = self.variable[p.entry] = self.of(p.out)
                self.born.add(entry)

    def resolved(self, version: str) -> str:
        """The version whose array a version is, through aliases and moves."""
        while True:
            found = self.scopes.defined.get(version)
            s = found.statement if found is not None else None
            if found is not None and found.how == "move" and isinstance(s, Move):
                version = s.sources[s.targets.index(version)]
            elif found is not None and found.how == "let" and isinstance(s, Let) and isinstance(s.value, gast.Name):
                version = s.value.id
            else:
                return version

    def check_turn_back(self, s: For | While, moving: list[Phi]) -> None:
        """Each name ends a trip with a different array: one that a carried name held, or one made in this trip; and
        nobody else sees the arrays that the names held at entry, or nothing that may overlap them is written."""
        heads = {p.head for p in moving}
        ends = [self.resolved(p.end) for p in moving]
        inner = self.scopes.of_block[id(s.body)]
        for end in ends:
            found = self.scopes.defined.get(end)
            fresh = (found is not None and found.how == "let" and found.scope is inner
                     and isinstance(found.statement, Let) and view_of(found.statement.value) is None)
            if end not in heads and not fresh:
                raise NotTyped("a loop rebinds an array to another in a way that depends on the path")
        if len(set(ends)) != len(ends):
            raise NotTyped("two names hold one array after a trip")
        members = {v for p in moving for v in self.regions.members(p.head)}
        if any(self.regions.written(p.head) for p in moving) and not self.owned(s, moving, members):
            raise NotTyped("a loop rebinds arrays that other names share, and writes to them")

    def owned(self, s: For | While, moving: list[Phi], members: set[str]) -> bool:
        """Whether each entry array is fresh, has no other name, and is not used again after the loop."""
        entries = [self.resolved(p.entry) for p in moving]
        if len(set(entries)) != len(entries):
            return False
        for entry in entries:
            found = self.scopes.defined.get(entry)
            if found is None or found.how != "let" or not isinstance(found.statement, Let) or view_of(
                    found.statement.value) is not None:
                return False
        inner = self.scopes.of_block[id(s.body)]
        allowed = {v for p in moving for v in (p.out, p.head, p.entry)} | set(entries)
        for v in members - allowed:
            found = self.scopes.defined.get(v)
            if found is None or found.how == "pseudo":
                continue
            if found.scope.within(inner):
                if isinstance(found.statement, Let) and view_of(found.statement.value) is not None and (
                        found.how == "let") and self.escapes(v, s):
                    return False
                continue
            if found.how == "let" and isinstance(found.statement, Let) and view_of(found.statement.value) in (
                    {p.out for p in moving}):
                continue
            if self.position_after(found.statement, s):
                continue
            return False
        return True

    def escapes(self, version: str, s: For | While) -> bool:
        """Whether a view made in a trip is carried into the next or out of the loop."""
        return any(self.resolved(p.end) == version for p in s.phis)

    def position_after(self, a: Statement | None, b: Statement) -> bool:
        return a is not None and self.regions.position.get(id(a), -1) > self.regions.position[id(b)]

    def after_reversed(self, s: For | While) -> Block:
        """After a reversed loop: what the carried names held at entry receives what is left."""
        return [Store(self.of(p.entry), [], name(self.of(p.head)), "+") for p in self.moving(s)
                if p.out not in self.numbered
                and self.of(p.entry) != self.of(p.head)]

    def moving(self, s: For | While) -> list[Phi]:
        """The carried array names that a trip binds to another array."""
        return [p for p in s.phis if self.is_active_array(p.out) and self.resolved(p.end) != p.head]

    def trip_start(self, scope: Scope) -> Block:
        """At the start of a reversed trip each carried shadow becomes that of the array which the name's array came
        from; an array made in the trip takes its shadow over, and its name gets a new one."""
        s = scope.owner
        if not isinstance(s, For | While) or scope.block is not s.body:
            return []
        moving = self.moving(s)
        if self.replayed(s):
            return [self.looked_up(p.head) for p in moving]
        by_head = {p.head: p for p in moving}
        targets, sources, zeros = [], [], []
        sourced = set()
        for p in moving:
            end = self.resolved(p.end)
            (sourced if end in by_head else self.born).add(end)
            targets.append(self.of(end))
            sources.append(self.of(p.head))
        for p in moving:
            if p.head not in sourced:
                end = self.resolved(p.end)
                same = end not in by_head and self.shape_class(end) == self.shape_class(p.head)
                zeros.append(Let(self.of(p.head), call("np.zeros_like", name(self.of(end) if same else p.head))))
        pairs = [(t, v) for t, v in zip(targets, sources, strict=True) if t != v]
        out: Block = [Move([t for t, _ in pairs], [v for _, v in pairs])] if pairs else []
        return out + zeros


__all__ = ["Shadows", "expr"]
