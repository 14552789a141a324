"""The adjoint of each statement, and of each block, branch and loop, in reverse order.

There is one cotangent per variable of the user. `self.live` holds the cotangents that may be non-zero at the current
place ("set" on every path, "maybe" on some); what is not in it is zero and costs nothing. A cotangent is set to zero
in the text only where paths meet.
"""
from __future__ import annotations

from collections.abc import Callable

from transad.ir import Block, Do, Exit, For, If, Let, Move, Phi, Program, Statement, Store, While, walk
from transad.kinds import Array, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions, view_of
from transad.passes.reverse.array_calls import ARRAY_CALLS
from transad.passes.reverse.partials import Contributions, Differentiate
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.shadows import Shadows
from transad.passes.reverse.terms import Term, total
from transad.passes.reverse.values import Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, rebuilt, show, slice_

# How sure a cotangent is to be non-zero: on every path; but for a factor that may be zero; on some path it is zero.
_SURE = ["set", "product", "maybe"]
Live = dict[str, str]


class Adjoint:
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
        return _plus(summed, total(numbers)) if numbers else summed

    def through(self, terms: list[Term], state: str) -> str:
        """How sure a contribution is to be non-zero: a product may be zero by its other factors."""
        if state == "set" and any(len(t.factors) <= 1 for t in terms):
            return "set"
        return "maybe" if state == "maybe" else "product"

    def add_scalar(self, d: str, value: Node, state: str = "product") -> Statement:
        if d in self.live:
            self.live[d] = min(self.live[d], state, key=_SURE.index)
            return Let(d, _plus(name(d), value))
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
        if e.func.id in ("np.sum", "summed", "np.max", "np.min", "len", "np.any", "np.all"):
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
        made = self.array_call(s, Term(1.0, (name(d),)))
        if made is not None:
            return made
        found = self.differentiate(s.value, Term(1.0, (name(d),)), s)
        return self.added(found, s, d)

    def array_call(self, s: Let, cot: Term) -> Block | None:
        """Whole-array functions have adjoints of their own."""
        e = s.value
        if not (isinstance(e, gast.Call) and isinstance(e.func, gast.Name)) or e.func.id not in ARRAY_CALLS:
            return None
        return ARRAY_CALLS[e.func.id](self, s, e, cot)

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
        if s.op in ("+", "-") and not self.reads_target(s):
            if not uses:
                return []
            g = self.temp("d_v") if uses > 1 else ""
            cot = Term(1.0 if s.op == "+" else -1.0, (name(g) if g else place,))
            found = self.differentiate(s.value, cot, s)
            return ([Let(g, place)] if g else []) + self.apply(found, s, g, "maybe" if g else "set") \
                if g or not found.singular else self.store_guarded(s, place, cot.number)
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
        region = name(d_a) if whole else index(name(d_a), items)
        value_kind = self.values.kind(s.value)
        g = self.temp("d_v")
        rank = self.values.subscript_kind(index(name(s.array), s.index)) if not whole else kind
        self.shadows.variables[g] = rank.ndim if isinstance(rank, Array) else 0
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
        del value_kind
        return out + self.added(found, s, "")

    def store_fancy(self, s: Store, d_a: str, items: list[Node]) -> Block:
        if s.op or len(items) != 1:
            raise NotTyped("an augmented assignment with a fancy index")
        g = self.temp("d_v")
        value_kind = self.values.kind(s.value)
        rank = value_kind.ndim if isinstance(value_kind, Array) else 1
        self.shadows.variables[g] = rank
        index_array = self.values.of(s.index[0], s)
        out: Block = [Let(g, call("take_scattered", name(d_a), index_array))]
        return out + self.added(self.differentiate(s.value, Term(1.0, (name(g),)), s), s, "")

    # -- control flow ---------------------------------------------------------------------------------------------
    def branch(self, s: If) -> Block:
        before = dict(self.live)
        arms: list[Block] = []
        lives: list[Live] = []
        for arm in (s.then, s.orelse):
            self.live = dict(before)
            arms.append(self.block(self.scopes.of_block[id(arm)]))
            lives.append(self.live)
        a, b = lives
        raised = _raised(s.then), _raised(s.orelse)
        if raised[0] or raised[1]:
            self.live = b if raised[0] else a
            arms = [[] if raised[0] else arms[0], [] if raised[1] else arms[1]]
            return arms[0] or arms[1] if not all(raised) else []
        self.live = {}
        for d in sorted({*a, *b}):
            if d in a and d in b:
                self.live[d] = max(a[d], b[d], key=_SURE.index)
                continue
            arms[0 if d not in a else 1].append(Let(d, constant(0.0)))
            self.live[d] = "maybe"
        if not arms[0] and not arms[1]:
            return []
        return [If(self.values.test(s.test, s), arms[0], arms[1])]

    def loop(self, s: For | While, scope: Scope) -> Block:
        entry, head = dict(self.live), dict(self.live)
        inner = self.scopes.of_block[id(s.body)]
        made = len(self.temporaries)
        while True:
            self.live = dict(head)
            self.names.taken -= set(self.temporaries[made:])
            for t in self.temporaries[made:]:
                self.shadows.variables.pop(t, None)
            del self.temporaries[made:]
            body = self.plain_block(inner)
            joined = {d: max(entry.get(d, "maybe"), self.live.get(d, "maybe"), key=_SURE.index)
                      for d in {*entry, *self.live}}
            if joined == head:
                break
            head = joined
        stale = sorted(d for d in head if d not in self.live)
        body += [Let(d, constant(0.0)) for d in stale]
        body = self.resolve(inner, body)
        before: Block = [Let(d, constant(0.0)) for d in sorted(head) if d not in entry]
        self.live = head
        if not body:
            return before
        return [*before, self.turned(s, body), *self.shadows.after_reversed(s)]

    def turned(self, s: For | While, body: Block) -> Statement:
        """The loop that runs the trips backwards."""
        if isinstance(s, While):
            count = self.values.count(s)
            var = self.temp("trip")
            return For(var, constant(0), count, 1, body)
        start, stop = self.values.of(s.start, s), self.values.of(s.stop, s)
        if leaves_early(s) or s.step not in (1, -1):
            return self.turned_counted(s, body, start, stop)
        if s.step == 1:
            return For(s.var, _less_one(stop), _less_one(start), -1, body)
        return For(s.var, _plus_one(stop), _plus_one(start), 1, body)

    def turned_counted(self, s: For, body: Block, start: Node, stop: Node) -> Statement:
        if leaves_early(s):
            count = self.values.count(s)
            if s.step == 1:
                first = count if show(start) == "0" else expr("a + n", a=start, n=count)
                return For(s.var, _less_one(first), _less_one(start), -1, body)
        else:
            count = call("len", call("range", start, stop, constant(s.step)))
        trip = self.temp("trip")
        position = name(trip) if s.step == 1 else expr("k * t", k=constant(s.step), t=name(trip))
        where = position if show(start) == "0" else expr("a + t", a=start, t=position)
        return For(trip, _less_one(count), constant(-1), -1, [Let(s.var, where), *body])


def leaves_early(s: For) -> bool:
    """Whether a `break` belongs to this loop."""
    def has(block: Block) -> bool:
        return any((isinstance(x, Exit) and x.how == "break") or (
            isinstance(x, If) and (has(x.then) or has(x.orelse))) for x in block)
    return has(s.body)


def _raised(block: Block) -> bool:
    last = block[-1] if block else None
    if isinstance(last, Exit):
        return last.how == "raise"
    return isinstance(last, If) and _raised(last.then) and _raised(last.orelse)


def _plus(a: Node, b: Node) -> Node:
    """`a + b`, as a subtraction where `b` is negated."""
    if isinstance(b, gast.UnaryOp) and isinstance(b.op, gast.USub):
        return expr("a - b", a=a, b=b.operand)
    if _leading_minus(b):
        return expr("a - b", a=a, b=_negated(b))
    return expr("a + b", a=a, b=b)


def _leading_minus(e: Node) -> bool:
    while isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult | gast.Div):
        e = e.left
    return isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub)


def _negated(e: Node) -> Node:
    if isinstance(e, gast.UnaryOp):
        return e.operand
    return rebuilt(e, {"left": _negated(e.left)})


def _less_one(e: Node) -> Node:
    if isinstance(e, gast.Constant):
        return constant(e.value - 1)
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Sub | gast.Add) and isinstance(e.right, gast.Constant):
        k = e.right.value if isinstance(e.op, gast.Add) else -e.right.value
        return _shifted(e.left, k - 1)
    return expr("a - 1", a=e)


def _plus_one(e: Node) -> Node:
    if isinstance(e, gast.Constant):
        return constant(e.value + 1)
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Sub | gast.Add) and isinstance(e.right, gast.Constant):
        k = e.right.value if isinstance(e.op, gast.Add) else -e.right.value
        return _shifted(e.left, k + 1)
    return expr("a + 1", a=e)


def _shifted(e: Node, k: int) -> Node:
    if k == 0:
        return e
    return expr("a + k" if k > 0 else "a - k", a=e, k=constant(abs(k)))


__all__ = ["Adjoint", "Phi", "walk"]
