"""The adjoint of each statement, and of each block, branch and loop, in reverse order.

There is one cotangent per variable of the user. `self.live` holds the cotangents that may be non-zero at the current
place ("set" on every path, "maybe" on some); what is not in it is zero and costs nothing. A cotangent is set to zero
in the text only where paths meet.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While
from transad.kinds import Array, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.duals import is_marked
from transad.passes.regions import Regions
from transad.passes.reverse.adjoint_arrays import ArrayAdjoint
from transad.passes.reverse.adjoint_flow import SURE, FlowAdjoint
from transad.passes.reverse.adjoint_marked import MarkedAdjoint
from transad.passes.reverse.partials import Contributions, Differentiate
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.shadows import Shadows
from transad.passes.reverse.signs import plus
from transad.passes.reverse.terms import Term, total
from transad.passes.reverse.values import Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, name, show

Live = dict[str, str]


class Adjoint(ArrayAdjoint, FlowAdjoint, MarkedAdjoint):
    """Emits the reverse sweep of a program, block by block."""

    def __init__(self, program: Program, values: Values, active: set[str], shadows: Shadows, names: Names,
                 resolve: Callable[[Scope, Block], Block]) -> None:
        self.program, self.values, self.active = program, values, active
        self.regions: Regions = values.regions
        self.scopes: Scopes = values.scopes
        self.shadows, self.names, self.resolve = shadows, names, resolve
        self.live: Live = {}
        self.cotangents: dict[str, str] = {}
        self.temporaries: list[str] = []
        self.swept: dict[Any, Any] = {}          # marked calls with several results, run forwards in this block

    def temp(self, wanted: str) -> str:
        """A fresh name that is given back when a loop body is emitted again."""
        self.temporaries.append(self.names.fresh(wanted))
        return self.temporaries[-1]

    def d(self, version: str) -> str:
        """The cotangent variable of a number."""
        variable = base(version)
        if variable not in self.cotangents:
            self.cotangents[variable] = self.names.fresh(f"d_{variable}")
        return self.cotangents[variable]

    # -- blocks ---------------------------------------------------------------------------------------------------
    def block(self, scope: Scope) -> Block:
        """The adjoint of a block, with the values and shadows it needs set up at its start."""
        return self.resolve(scope, self.plain_block(scope))

    def plain_block(self, scope: Scope) -> Block:
        births = self.shadows.trip_start(scope) + self.shadows.births(scope)
        self.swept.clear()
        out: Block = []
        for s in reversed(scope.block):
            try:
                made = self.statement(s, scope)
            except NotTyped as problem:
                problem.line = problem.line or s.line
                problem.filename = problem.filename or self.program.filename
                raise
            if made:
                for m in made:
                    m.line = m.line or s.line
                made[0].source = made[0].source or (s.source if not isinstance(s, If | For | While) else "")
            out += made
        return births + out

    def statement(self, s: Statement, scope: Scope) -> Block:
        if isinstance(s, Let):
            return self.let(s)
        if isinstance(s, Move):
            return self.move(s)
        if isinstance(s, Store):
            return self.store(s)
        if isinstance(s, If):
            return self.branch(s)
        if isinstance(s, For | While):
            return self.loop(s, scope)
        assert isinstance(s, Do | Exit)
        return []

    # -- numbers --------------------------------------------------------------------------------------------------
    def let(self, s: Let) -> Block:
        if isinstance(self.program.kinds[base(s.name)], Array):
            return self.array_let(s) if s.name in self.active else []
        d = self.d(s.name)
        state = self.live.pop(d, "")
        if not state or s.name not in self.active:
            return []
        if is_marked(s.value):
            return self.marked(s, d, state)
        reduction = self.array_call(s, Term(1.0, (name(d),)))
        if reduction is not None:
            return reduction
        found = self.differentiate(s.value, Term(1.0, (name(d),)), s)
        return self.apply(found, s, d, state)

    def uses(self, e: Node, s: Statement) -> int:
        """How many active leaves an expression has."""
        return self.work(s).uses(e)

    def work(self, s: Statement) -> Differentiate:
        return Differentiate(self.values, self.active, self.names, s, self.know_shape, self.temp,
                             self.rank)

    def differentiate(self, e: Node, cot: Term, s: Statement) -> Contributions:
        work = self.work(s)
        work.given = {show(f) for f in cot.factors}
        work.run(e, cot)
        return work.out

    def know_shape(self, temp: str, cot: Term) -> None:
        """Register an array-valued cotangent of a sub-expression: it has the shape of the one it comes from, which
        is that of the whole statement's result."""
        self.shadows.variables[temp] = self.rank(cot.node())
        for f in cot.factors:
            if isinstance(f, gast.Name) and f.id in self.shadows.variables:
                self.shadows.shapes[temp] = self.shadows.shapes.get(f.id) or f.id
                return

    def apply(self, found: Contributions, s: Statement, d: str = "", state: str = "set") -> Block:
        """The statements that add the contributions; `d` is the cotangent that they consume."""
        guarded = found.singular >= (1 if state == "maybe" else 2 if state == "product" else 3)
        if guarded:
            before = dict(self.live)
            work = self.added(found, s, d, state)
            missing = [v for v in self.live if v not in before and v != d]
            for v in self.live:
                if v not in before:
                    self.live[v] = "maybe"
            zeros: Block = [Let(v, constant(0.0)) for v in missing]
            return [*zeros, If(expr("d != 0.0", d=name(d)), work, [])]
        return self.added(found, s, d, state)

    def added(self, found: Contributions, s: Statement, d: str, state: str = "product") -> Block:
        out: Block = list(found.before)
        own: list[Term] = []
        for version, terms in found.scalars.items():
            if self.d(version) == d:
                own += terms
            else:
                out.append(self.add_scalar(self.d(version), self.number(terms), self.through(terms, state)))
        for leaf, terms in found.loads:
            whole = isinstance(self.values.kind(leaf), Array)
            out += self.add_load(leaf, total(terms) if whole else self.number(terms), s)
        for version, terms in found.arrays.items():
            out += self.add_array(version, terms, s)
        if own:
            value = self.number(own)
            self.live[d] = self.through(own, state)
            if show(value) != d:
                out.append(Let(d, value))
        return out

    def number(self, terms: list[Term]) -> Node:
        """The contribution to a number; what comes from arrays that it was broadcast to is summed."""
        arrays = [t for t in terms if self.rank(t.node())]
        numbers = [t for t in terms if not self.rank(t.node())]
        if not arrays:
            return total(numbers)
        summed = call("summed", total(arrays))
        return plus(summed, total(numbers)) if numbers else summed

    def through(self, terms: list[Term], state: str) -> str:
        """How sure a contribution is to be non-zero: a product may be zero by its other factors."""
        if state == "set" and any(len(t.factors) <= 1 for t in terms):
            return "set"
        return "maybe" if state == "maybe" else "product"

    def add_scalar(self, d: str, value: Node, state: str = "product") -> Statement:
        if d in self.live:
            self.live[d] = min(self.live[d], state, key=SURE.index)
            return Let(d, plus(name(d), value))
        self.live[d] = state
        return Let(d, value)

    def is_array_node(self, e: Node) -> bool:
        """Whether a cotangent expression is array-valued."""
        return self.rank(e) > 0

    def rank(self, e: Node) -> int:
        """The rank of an expression over values and cotangents."""
        if isinstance(e, gast.Name):
            kind = self.program.kinds.get(base(e.id)) if "@" in e.id else None
            return kind.ndim if isinstance(kind, Array) else self.shadows.variables.get(e.id, 0)
        if isinstance(e, gast.Subscript):
            if isinstance(e.value, gast.Attribute) and e.value.attr == "shape":
                return 0
            items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
            new = sum(isinstance(i, gast.Constant) and i.value is None for i in items)
            return self.rank(e.value) + 2 * new - sum(not isinstance(i, gast.Slice) for i in items)
        if isinstance(e, gast.Attribute):
            return self.rank(e.value) if e.attr == "T" else 0
        if isinstance(e, gast.Call):
            return self.call_rank(e)
        return max((self.rank(c) for c in gast.iter_child_nodes(e) if isinstance(c, gast.expr)), default=0)

    def call_rank(self, e: Node) -> int:
        if isinstance(e.func, gast.Attribute):
            return self.rank(e.func.value)
        ranks = [self.rank(a) for a in e.args]
        if e.func.id in ("np.sum", "summed", "ramp", "np.max", "np.min", "len", "np.any", "np.all"):
            return 0
        if e.func.id == "np.dot":
            return sum(ranks) - 2
        if e.func.id in ("unbroadcast", "gather"):
            return ranks[-1]
        return max(ranks, default=0)

    def move(self, s: Move) -> Block:
        pairs = [(t, v) for t, v in zip(s.targets, s.sources, strict=True)
                 if isinstance(self.program.kinds[base(t)], Scalar)]
        targets = [self.d(t) for t, _ in pairs]
        states = [self.live.pop(d, "") if t in self.active else (self.live.pop(d, ""), "")[1]
                  for d, (t, _) in zip(targets, pairs, strict=True)]
        flows = [(self.d(v), d, st) for d, (_, v), st in zip(targets, pairs, states, strict=True) if st]
        flows = [f for f in flows if f[0] != ""]
        if not flows:
            return []
        out: Block = []
        fresh = [f for f in flows if f[0] not in self.live]
        if len({f[0] for f in flows}) == len(flows) == len(fresh):
            for to, _, st in flows:
                self.live[to] = st
            return [Move([f[0] for f in flows], [f[1] for f in flows])]
        temps = [(to, self.temp("d_t"), frm, st) for to, frm, st in flows]
        out += [Let(t, name(frm)) for _, t, frm, _ in temps]
        for to, t, _, _ in temps:
            out.append(self.add_scalar(to, name(t)))
        return out

    # -- arrays ---------------------------------------------------------------------------------------------------


    # -- control flow ---------------------------------------------------------------------------------------------
