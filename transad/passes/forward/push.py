"""Tangents beside the primals, statement by statement; control flow is the primal's.

The input has versions, so activity is known for each assignment and each lane; the output has the user's plain names.
The invariant: wherever a variable that is active in a lane is assigned, its tangent is assigned with it, before the
primal where the partial derivatives read what it overwrites, after it where they read its result. Array tangents
alias exactly as the arrays do: a view has the same view, a store the same store.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, expressions, reads, walk
from transad.kinds import Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import activity, carriers
from transad.passes.forward.array_calls import LINEAR_CALLS
from transad.passes.forward.linear import Linear, Present, array_sources, seen_through
from transad.passes.forward.push_arrays import ArrayTangents, element_arrays, items_of
from transad.passes.forward.tidy import onto, tidy
from transad.passes.prune import _live_block
from transad.passes.regions import Regions, regions
from transad.passes.reverse.partials import Contributions
from transad.passes.reverse.recording import replaced_text
from transad.passes.reverse.terms import Term, total
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, names_in, substitute

Seeds = list[dict[str, float | str]]


@dataclass
class Push:
    """A program with tangents, in plain names. `tangents[lane][k]` is the tangent of result k."""

    name: str
    parameters: list[str]
    body: Block
    results: list[Node]
    tangents: list[list[Node]]
    seeds: list[list[str]]
    kinds: dict[str, Kind]
    constants: dict[str, Any] = field(default_factory=dict)
    writes: bool = False


def push(program: Program, lanes: list[list[str]], names: Names, stopped: Iterable[str] = (), *,
         unit: bool = False, skip: int = -1, of: int | None = None) -> Push:
    """The program with one tangent per lane.

    lanes  the parameters (plain names) that have a tangent, for each lane
    skip   of lane k, the tangents of the first `skip + k` results are not wanted (-1: all are)
    of     the one result whose tangents are wanted (None: all)
    unit   every lane has one parameter, a number, whose tangent is one; else the tangents are parameters
    """
    found = regions(program)
    active = [activity(program, found, {f"{w}@0" for w in lane}, stopped) for lane in lanes]
    work = _Pusher(program, found, active, names)
    body = work.start(lanes, unit) + work.block(program.body)
    results = [work.plain(e) for e in program.results]
    tangents = [[work.result(e, k) if (j >= skip + k or skip < 0) and of in (None, j) else constant(0.0)
                 for j, e in enumerate(program.results)] for k in range(len(lanes))]
    ends: Block = work.ends
    wanted = {n for e in [*results, *(t for row in tangents for t in row)] for n in names_in(e)}
    body, _ = _live_block(body + ends, wanted, keep_user=True)
    given = [*(base(p) for p in program.parameters), *(t for lane in work.seed_names for t in lane)]
    body, outs = tidy(body, [*results, *(t for row in tangents for t in row)], given)
    n = len(results)
    results, tangents = outs[:n], [outs[n * (k + 1):n * (k + 2)] for k in range(len(lanes))]
    written = any(found.written(p) for p in program.parameters if p in found.parent)
    return Push(program.name, [base(p) for p in program.parameters], body, results, tangents,
                work.seed_names, program.kinds, program.constants, written)


class _Pusher(ArrayTangents):
    def __init__(self, program: Program, found: Regions, active: list[set[str]], names: Names) -> None:
        self.program, self.regions, self.active, self.names = program, found, active, names
        self.bases = [{base(v) for v in a} for a in active]
        self.any = set().union(*active)
        self.values = Present(program, self.fresh)
        self.known: dict[str, set[str]] = {}           # temporaries and tangents -> the arrays they have the shape of
        self.tangent_names: dict[tuple[str, int], str] = {}
        self.fixed: dict[tuple[str, int], float] = {}
        self.seed_names: list[list[str]] = [[] for _ in active]
        self.ends: Block = []
        self.rows = element_arrays(program) if len(active) > 1 else {}
        self.assignments = Counter(base(p) for p in program.parameters)
        for s in walk(program.body):
            self.assignments.update([base(s.name)] if isinstance(s, Let) else
                                    [base(t) for t in s.targets] if isinstance(s, Move) else [])

    # -- names ----------------------------------------------------------------------------------------------------
    def fresh(self, wanted: str) -> str:
        return self.names.fresh(wanted)

    def t(self, version: str, lane: int) -> str:
        """The tangent variable of a variable."""
        key = (base(version), lane)
        if key not in self.tangent_names:
            wanted = f"t_{key[0]}" if len(self.active) == 1 else f"t_{key[0]}_{lane}"
            new = self.tangent_names[key] = self.fresh(wanted)
            self.program.kinds[new] = self.program.kinds[key[0]]
        return self.tangent_names[key]

    def tangent(self, version: str, lane: int) -> Node:
        known = self.fixed.get((base(version), lane))
        if known is not None:
            return constant(known)
        new = self.t(version, lane)
        if isinstance(self.program.kinds[base(version)], Array):
            self.known[new] = {version}
        return name(new)

    def slots(self, variable: str) -> list[int]:
        """The lanes in which an array has a tangent, in the order in which one array holds them."""
        return [k for k, b in enumerate(self.bases) if variable in b]

    def element(self, array: str, items: list[Node], lane: int) -> tuple[str, list[Node]] | None:
        """The place of an element's tangent where one array holds the tangents of all lanes."""
        variable = base(array)
        if variable not in self.rows:
            return None
        return self.row(variable), [*items, constant(self.slots(variable).index(lane))]

    def row(self, variable: str) -> str:
        if (variable, -1) not in self.tangent_names:
            new = self.tangent_names[(variable, -1)] = self.fresh(f"t_{variable}")
            kind = self.program.kinds[variable]
            self.program.kinds[new] = Array(kind.dtype, kind.ndim + 1)
        return self.tangent_names[(variable, -1)]

    def plain(self, e: Node) -> Node:
        return substitute(e, lambda n: name(base(n.id)) if "@" in n.id else None)

    def plain_all(self, block: Block) -> Block:
        for s in block:
            if isinstance(s, Let):
                s.name, s.value = base(s.name), self.plain(s.value)
            elif isinstance(s, Store):
                s.array, s.index, s.value = base(s.array), [self.plain(i) for i in s.index], self.plain(s.value)
        return block

    # -- the start and the results --------------------------------------------------------------------------------
    def start(self, lanes: list[list[str]], unit: bool) -> Block:
        out: Block = []
        for k, lane in enumerate(lanes):
            for p in lane:
                if not unit:
                    self.seed_names[k].append(self.t(p, k))
                elif self.assignments[p] == 1:
                    self.fixed[(p, k)] = 1.0
                else:
                    out.append(Let(self.t(p, k), constant(1.0)))
            for v in self.program.parameters:
                out += self.parameter(v, k, lane)
        return out

    def parameter(self, v: str, lane: int, seeded: list[str]) -> Block:
        p = base(v)
        is_array = isinstance(self.program.kinds[p], Array)
        if p in seeded:
            if is_array and self.regions.written(v):
                return [Let(self.t(p, lane), expr("t.copy()", t=name(self.t(p, lane))))]
            return []
        if p not in self.bases[lane] or (is_array and v not in self.active[lane]):
            return []
        return [Let(self.t(p, lane), call("np.zeros_like", name(p)) if is_array else constant(0.0))]

    def result(self, e: Node, lane: int) -> Node:
        if not isinstance(e, gast.Name):
            return constant(0.0)
        kind = self.program.kinds[base(e.id)]
        if not kind.real:
            raise NotTyped("a result that is not a real number")
        if e.id in self.active[lane]:
            return self.tangent(e.id, lane)
        return call("np.zeros_like", name(base(e.id))) if isinstance(kind, Array) else constant(0.0)

    # -- statements -----------------------------------------------------------------------------------------------
    def block(self, block: Block) -> Block:
        out: Block = []
        for s in block:
            made = self.statement(s)
            for m in made:
                m.line = m.line or s.line
            out += made
        return out

    def statement(self, s: Statement) -> Block:
        place = {"line": s.line, "source": s.source}
        self.values.begin()
        if isinstance(s, Let):
            return self.array_let(s) if isinstance(self.program.kinds[base(s.name)], Array) else self.let(s)
        if isinstance(s, Move):
            return self.move(s)
        if isinstance(s, Store):
            return self.store(s)
        if isinstance(s, Do):
            if s.value is not None and any(n in ("copy_to", "scatter_add", "take_scattered") for n in names_in(s.value)):
                raise NotTyped("a helper that writes into its argument")
            return [Do(self.plain(s.value), **place)]
        if isinstance(s, Exit):
            return [Exit(s.how, None if s.value is None else self.plain(s.value), **place)]
        if isinstance(s, If):
            return [If(self.plain(s.test), self.block(s.then), self.block(s.orelse), **place)]
        if isinstance(s, For):
            return [For(base(s.var), self.plain(s.start), self.plain(s.stop), s.step, self.block(s.body), **place)]
        assert isinstance(s, While)
        return [While(self.plain(s.test), self.block(s.body), **place)]

    def primal(self, s: Let | Store) -> Statement:
        """The user's statement, with the sub-expressions that got names replaced by them."""
        place = {"line": s.line, "source": s.source}

        def use(e: Node) -> Node:
            return self.plain(replaced_text(e, self.values.named) if self.values.named else e)
        if isinstance(s, Let):
            return Let(base(s.name), use(s.value), **place)
        return Store(base(s.array), [use(i) for i in s.index], use(s.value), s.op, **place)

    def around(self, s: Let, before: Block, tangents: Block) -> Block:
        """The tangents of an assignment at the side of it where what they read is there."""
        lines = before + tangents
        seen = {n for x in lines for n in reads(x)}
        after = s.name in seen
        if after and any(n != s.name and "@" in n and base(n) == base(s.name) for n in seen):
            held = self.fresh(base(s.name))                    # both the old and the new value are read
            self.program.kinds[held] = self.program.kinds[base(s.name)]
            made = self.primal(s)
            assert isinstance(made, Let)
            first = Let(held, made.value, line=s.line)
            _rename(lines, s.name, held)
            return [*self.plain_all(self.values.lines), first, *self.plain_all(lines),
                    Let(base(s.name), name(held), line=s.line, source=s.source)]
        named, made, lines = self.plain_all(self.values.lines), self.primal(s), self.plain_all(lines)
        return [*named, made, *lines] if after else [*named, *lines, made]

    # -- numbers --------------------------------------------------------------------------------------------------
    def let(self, s: Let) -> Block:
        variable = base(s.name)
        lanes = [k for k, b in enumerate(self.bases) if variable in b]
        if not lanes:
            return [self.primal(s)]
        moving = [k for k in lanes if s.name in self.active[k]]
        before, tangents = self.flow(s.value, s, moving)
        out: Block = []
        for k in lanes:
            value = onto(self.t(variable, k), tangents.get(k, constant(0.0)))
            if isinstance(value, gast.UnaryOp) and isinstance(value.operand, gast.Constant):
                value = constant(-value.operand.value)
            if isinstance(value, gast.Constant) and self.assignments[variable] == 1:
                self.fixed[(variable, k)] = float(value.value)
            else:
                out.append(Let(self.t(variable, k), value))
        return self.around(s, before, out)

    def flow(self, e: Node, s: Statement, lanes: list[int]) -> tuple[Block, dict[int, Node]]:
        """The tangent of an expression in each lane (absent where it is zero), and what is computed first."""
        if not lanes:
            return [], {}
        rule = LINEAR_CALLS.get(e.func.id) if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) else None
        if rule is not None:
            return self.by_rule(rule, e, s, lanes)
        work = Linear(self.values, self.any, s, self.fresh)
        work.run(e, Term(1.0))
        found = work.out
        leaves = self.leaves(found)
        before = list(found.before)
        self.remember(before)
        steep = {id(leaf) for leaf, partials in leaves if any(work.may_be_infinite(p) for p in partials)}
        shared = self.shared(leaves, lanes, before)
        tangents = {}
        for k in lanes:
            terms = [t for leaf, partials in leaves if self.moves(leaf, k)
                     for t in self.times(leaf, shared.get(id(leaf), partials), k, id(leaf) in steep)]
            if terms:
                tangents[k] = total(terms)
        return before, tangents

    def leaves(self, found: Contributions) -> list[tuple[Node, list[Term]]]:
        """What an expression reads that is active, with its partial derivatives."""
        return [*((name(v), t) for v, t in found.scalars.items()), *((name(v), t) for v, t in found.arrays.items()),
                *found.loads]

    def moves(self, leaf: Node, lane: int) -> bool:
        return any(v in self.active[lane] for v in carriers(leaf))

    def remember(self, before: Block) -> None:
        for x in before:
            if isinstance(x, Let):
                self.known[x.name] = array_sources(x.value, self.values, self.known)

    def shared(self, leaves: list[tuple[Node, list[Term]]], lanes: list[int],
               before: Block) -> dict[int, list[Term]]:
        """A partial derivative that several lanes multiply gets a name."""
        out = {}
        for leaf, partials in leaves:
            users = [k for k in lanes if self.moves(leaf, k) and not isinstance(
                self.fixed.get((base(carriers(leaf)[0]), k)), float)]
            partial = total(partials)
            inner = partial.operand if isinstance(partial, gast.UnaryOp) else partial
            if len(users) > 1 and not isinstance(inner, gast.Name | gast.Constant):
                temp = self.fresh("d")
                sources = array_sources(partial, self.values, self.known)
                self.program.kinds[temp] = self.values.kind(leaf) if not sources else Array("float64", 1)
                self.known[temp] = sources
                before.append(Let(temp, partial))
                out[id(leaf)] = [Term(1.0, (name(temp),))]
        return out

    def times(self, leaf: Node, partials: list[Term], lane: int, guarded: bool) -> list[Term]:
        """Partial derivative times tangent; a tangent of zero wins over an infinite slope."""
        held = self.element(leaf.value.id, items_of(leaf), lane) if isinstance(leaf, gast.Subscript) and isinstance(
            leaf.value, gast.Name) else None
        t = seen_through(leaf, lambda v: self.tangent(v, lane)) if held is None else index(name(held[0]), held[1])
        if isinstance(t, gast.Constant):
            return [p.scaled(t.value) for p in partials] if t.value else []
        if guarded and any(p.factors or p.divisors for p in partials):
            return [Term(1.0, (call("keep_zero", t, total(partials)),))]
        return [Term(p.number, (*p.factors, t), p.divisors) for p in partials]

    def by_rule(self, rule: Any, e: Node, s: Statement, lanes: list[int]) -> tuple[Block, dict[int, Node]]:
        """A whole-array function: linear in the tangents of its arguments."""
        parts = []
        before: Block = []
        for a in e.args:
            lines, tangents = self.flow(a, s, lanes)
            before += lines
            parts.append(tangents)
        made = rule(self, e, s, before)
        out = {}
        for k in lanes:
            given = [p.get(k) for p in parts]
            if any(g is not None for g in given):
                value = made(given)
                if value is not None:
                    out[k] = value
        return before, out

    def move(self, s: Move) -> Block:
        out: Block = [Move([base(t) for t in s.targets], [base(v) for v in s.sources], line=s.line, source=s.source)]
        for k in range(len(self.active)):
            pairs = [(t, v) for t, v in zip(s.targets, s.sources, strict=True) if base(t) in self.bases[k]]
            moving = [(t, v) for t, v in pairs if t in self.active[k] and v in self.active[k]]
            held = [(t, v) for t, v in moving if (base(v), k) not in self.fixed]
            if held:
                out.append(Move([self.t(t, k) for t, _ in held], [self.t(v, k) for _, v in held]))
            for t, v in pairs:
                if (t, v) in held or isinstance(self.program.kinds[base(t)], Array):
                    continue
                value = self.fixed.get((base(v), k), 0.0) if (t, v) in moving else 0.0
                out.append(Let(self.t(t, k), constant(value)))
        return out


def _rename(lines: Block, old: str, new: str) -> None:
    for s in lines:
        for f in ("value",):
            e = getattr(s, f, None)
            if e is not None:
                setattr(s, f, substitute(e, lambda n: name(new) if n.id == old else None))


__all__ = ["Push", "Scalar", "expressions", "push"]
