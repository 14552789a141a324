"""How the reverse sweep gets the values it reads: still there, computed again, or from a tape.

A value of the function body, or one that no loop around it changes, is kept in `saved`. Another value made in a loop is
computed again if that is cheap and needs nothing that is not at hand; otherwise the forward sweep records it, one typed
tape per value:

- an array with one axis per loop that changes the value, where the numbers of trips are known before the outermost loop;
- else a list, turned into an array when the outermost loop ends, read backwards through a position.

What a variable holds at the start of a trip and at its end share one tape of n + 1 slots.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block, For, Let, Phi, Program, While, reads, walk
from transad.kinds import INT, Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions, view_of
from transad.passes.reverse.invariants import Invariants
from transad.passes.reverse.scopes import Definition, Scope, Scopes
from transad.passes.reverse.values import CHEAP, Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, names_in, show

_CHEAP_OPERATORS = (gast.Add, gast.Sub, gast.Mult, gast.Div, gast.FloorDiv, gast.Mod)


@dataclass(eq=False)
class Tape:
    """The record of one value (or of a carried variable at both ends of a trip)."""

    version: str
    variable: str
    kind: Kind
    loops: list[For | While]
    outermost: For | While
    is_list: bool
    position: str = ""
    shared: Phi | None = None
    shape_of: Node | None = None

    @property
    def dims(self) -> str:
        """For arrays in a list: the variable that holds where each record starts, and its shape."""
        return f"{self.variable}_dims"

    @property
    def flat(self) -> bool:
        """Arrays one after the other in one list of numbers."""
        return self.is_list and isinstance(self.kind, Array)

    @property
    def variables(self) -> list[str]:
        return [self.variable, self.dims] if self.flat else [self.variable]


@dataclass
class Availability:
    """Decides, block by block, what stands at the start of a reversed block."""

    program: Program
    values: Values
    scopes: Scopes
    regions: Regions
    names: Names
    active: set[str] = field(default_factory=set)
    tapes: dict[str, Tape] = field(default_factory=dict)
    saved: list[str] = field(default_factory=list)
    invariants: Invariants = field(init=False)

    def __post_init__(self) -> None:
        self.invariants = Invariants(self.program, self.regions, self.scopes)

    def resolve(self, scope: Scope, stmts: Block) -> Block:
        """The statements with the values that they read from this block set up first."""
        wanted = self.free(stmts, scope)
        done: dict[str, Block] = {}
        while wanted - done.keys():
            v = max(wanted - done.keys(), key=lambda u: (self.scopes.defined[u].position, u))
            done[v] = self.provide(v, scope, wanted)
            wanted |= self.free(done[v], scope)
        order = sorted(done, key=lambda u: (self.scopes.defined[u].position, u))
        return [s for v in order for s in done[v]] + stmts

    def resolve_early(self, scope: Scope, stmts: Block) -> Block:
        """The same for statements of a branch that run before its own reversed block: they must not move a
        position in a list."""
        known = set(self.tapes)
        out = self.resolve(scope, stmts)
        if any(t.is_list for v, t in self.tapes.items() if v in self.read_early(out) or v not in known):
            raise NotTyped("an array chosen in a branch of a loop needs a value that only a list can record")
        return out

    def read_early(self, stmts: Block) -> set[str]:
        return {s.name for s in walk(stmts) if isinstance(s, Let)}

    def free(self, stmts: Block, scope: Scope) -> set[str]:
        """The versions that statements read and that this block defines; those of the function body are saved."""
        found: set[str] = set()
        for s in walk(stmts):
            for n in sorted(reads(s)):
                where = self.scopes.defined[n].scope if "@" in n and n in self.scopes.defined else None
                if where is not None and not where.in_loop:
                    if n not in self.saved:
                        self.saved.append(n)
                elif where is scope:
                    found.add(n)
        return found

    # -- one value ------------------------------------------------------------------------------------------------
    def provide(self, v: str, scope: Scope, wanted: set[str]) -> Block:
        found = self.scopes.defined[v]
        if found.how == "var":
            return []
        counter = self.affine(found)
        if counter is not None:
            return [Let(v, counter)]
        if found.how == "let" and isinstance(found.statement, Let):
            s = found.statement
            if isinstance(self.program.kinds[base(v)], Array):
                if view_of(s.value) is not None:
                    return [Let(v, self.reference(s))]
            again = self.again(s, wanted, 0)
            if again is not None:
                return [Let(v, again)]
        return self.from_tape(found)

    def reference(self, s: Let) -> Node:
        """A view or alias made again from what it refers to."""
        if isinstance(s.value, gast.Subscript):
            from transad.quote import rebuilt
            return rebuilt(s.value, {"slice": self.values.index(s.value.slice, s)})
        return s.value

    def again(self, s: Let, wanted: set[str], depth: int) -> Node | None:
        """How to compute a value again from what is at hand, if that is cheap."""
        if isinstance(self.program.kinds[base(s.name)], Array) or depth > 6 or "recompute" in self.program.off:
            return None
        form = self.values.cheap_form(s.value, s, wanted)
        if form is None or not _cheap(form):
            return None
        here = self.scopes.defined[s.name].scope
        at_hand = all(self.at_hand(n, here, wanted, depth) for n in names_in(form) if "@" in n)
        return form if at_hand else None

    def at_hand(self, v: str, here: Scope, wanted: set[str], depth: int) -> bool:
        found = self.scopes.defined.get(v)
        if found is None or v in wanted or found.how == "var" or not found.scope.in_loop:
            return True
        if isinstance(self.program.kinds[base(v)], Array):
            if found.how == "pseudo":
                return len(found.scope.loops) < len(here.loops)
            return found.how == "let" and isinstance(found.statement, Let) and view_of(
                found.statement.value) is not None
        if not here.within(found.scope) or len(found.scope.loops) < len(here.loops):
            return len(found.scope.loops) < len(here.loops)
        return found.how == "let" and isinstance(found.statement, Let) and self.again(
            found.statement, wanted, depth + 1) is not None

    def affine(self, found: Definition) -> Node | None:
        """A counter that each trip moves by a constant, from the loop variable: it needs no tape."""
        if found.how != "head" or not isinstance(found.scope.owner, For) or "counters" in self.program.off:
            return None
        loop = found.scope.owner
        phi = next(p for p in loop.phis if p.head == found.version)
        end = self.scopes.defined.get(phi.end)
        if self.program.kinds[base(found.version)] != INT or loop.step != 1 or end is None or end.how != "let":
            return None
        value: Any = end.statement.value if isinstance(end.statement, Let) else None
        if end.scope is not found.scope or not (
                isinstance(value, gast.BinOp) and isinstance(value.op, gast.Add) and show(value.left) == phi.head
                and isinstance(value.right, gast.Constant)):
            return None
        trip = _offset(loop)
        step = trip if value.right.value == 1 else expr("k * t", k=value.right, t=trip)
        return expr("a + t", a=name(phi.entry), t=step)

    # -- tapes ----------------------------------------------------------------------------------------------------
    def from_tape(self, found: Definition) -> Block:
        v = found.version
        if v in self.saved or (v not in self.tapes and not self.changing(found)):
            self.saved += [v] if v not in self.saved else []
            return []
        tape = self.tapes.get(v) or self.new_tape(found)
        if tape.flat:
            assert isinstance(tape.kind, Array)
            back = call(f"replayed_{tape.kind.ndim}", name(tape.variable), name(tape.dims), name(tape.position))
            return [Let(tape.position, expr("p - 1", p=name(tape.position))), Let(v, back)]
        if tape.is_list:
            return [Let(tape.position, expr("p - 1", p=name(tape.position))),
                    Let(v, expr("tape[p]", tape=name(tape.variable), p=name(tape.position)))]
        items = [_offset(loop) for loop in tape.loops]
        if tape.shared is not None and v == tape.shared.end:
            items[-1] = _next(items[-1])
        return [Let(v, index(name(tape.variable), items))]

    def new_tape(self, found: Definition) -> Tape:
        v, kind = found.version, self.program.kinds[base(found.version)]
        loops, outermost = self.changing(found), found.scope.loops[0]
        known = all(self.known_trips(loop, outermost) for loop in loops)
        shape_of = self.shape_source(v, outermost) if isinstance(kind, Array) and known else None
        is_list = not known or (isinstance(kind, Array) and shape_of is None)
        if isinstance(kind, Array) and not self.is_value(found):
            raise NotTyped("an array that a loop rebinds is read by the reverse sweep")
        phi = self.partner(found)
        if phi is not None and not is_list and isinstance(kind, Scalar) and loops == found.scope.loops:
            other = phi.end if v == phi.head else phi.head
            tape = Tape(v, self.names.fresh(f"{base(v)}_tape"), kind, loops, outermost, False, shared=phi)
            self.tapes[v] = self.tapes[other] = tape
        else:
            tape = Tape(v, self.names.fresh(f"{base(v)}_tape"), kind, loops, outermost, is_list, shape_of=shape_of)
            self.tapes[v] = tape
        if isinstance(kind, Array) and is_list and kind.ndim > 3:
            raise NotTyped("an array of rank 4 or more is kept in a list")
        if is_list:
            tape.position = self.names.fresh(f"{base(v)}_at")
        return tape

    def changing(self, found: Definition) -> list[For | While]:
        """The loops in which a value changes: a tape has an axis for each, and without one it is saved as it is."""
        if "invariants" in self.program.off:
            return found.scope.loops
        pseudo = next((p.value for p in self.values.pseudos.values() if p.version == found.version), None)
        return self.invariants.changing(found.version, pseudo)

    def is_value(self, found: Definition) -> bool:
        """Whether the contents of an array are settled here, so that a copy of them can be kept: it is made by this
        statement, or nothing ever writes to it."""
        if not self.regions.written(found.version) or not self.regions.written_in(found.version, found.scope.loops[0]):
            return True
        return found.how == "pseudo" or (found.how == "let" and isinstance(found.statement, Let)
                                         and view_of(found.statement.value) is None)

    def partner(self, found: Definition) -> Phi | None:
        """The loop phi whose head or end a version is."""
        owner = found.scope.owner
        if not isinstance(owner, For | While) or found.scope.block is not owner.body or (
                "shared_tapes" in self.program.off):
            return None
        for phi in owner.phis:
            if found.version in (phi.head, phi.end) and phi.end in self.scopes.defined and (
                    self.scopes.defined[phi.end].scope is found.scope):
                return phi
        return None

    def known_trips(self, loop: For | While, outermost: For | While) -> bool:
        """Whether the number of trips is known before the outermost loop starts."""
        if not isinstance(loop, For) or loop.step not in (1, -1):
            return False
        inside = self.scopes.of_block[id(outermost.body)]
        for bound in (loop.start, loop.stop):
            if not self.values.plain(bound, loop) or not _cheap(bound):
                return False
            for n in names_in(bound):
                if n in self.scopes.defined and self.scopes.defined[n].scope.within(inside):
                    return False
        return True

    def shape_source(self, v: str, outermost: For | While) -> Node | None:
        """An array that exists before the outermost loop and has the shape of `v`."""
        from transad.passes.reverse.shadows import Shadows
        probe = Shadows(self.program, self.values, set(), self.names)
        found = self.scopes.defined[v]
        at = v
        if found.how == "pseudo":
            pseudo = next(p for p in self.values.pseudos.values() if p.version == v)
            copied: Any = pseudo.value.func.value if isinstance(pseudo.value, gast.Call) and isinstance(
                pseudo.value.func, gast.Attribute) else None
            if not isinstance(copied, gast.Name):
                return None
            at = copied.id
        inside = self.scopes.of_block[id(outermost.body)]
        for _ in range(20):
            at = probe.shape_class(at)
            where = self.scopes.defined.get(at)
            if where is None or not where.scope.within(inside):
                return name(at)
            if where.how != "head":
                return None
            owner = where.scope.owner
            assert isinstance(owner, For | While)
            phi = next(p for p in owner.phis if p.head == at)
            if not probe.keeps_shape(phi):
                return None
            at = phi.entry
        return None


def _offset(loop: For | While) -> Node:
    """The index of a trip, from the loop variable."""
    assert isinstance(loop, For)
    if show(loop.start) == "0" and loop.step == 1:
        return name(loop.var)
    if loop.step == 1:
        return expr("i - a", i=name(loop.var), a=loop.start)
    return expr("a - i", i=name(loop.var), a=loop.start)


def _next(e: Node) -> Node:
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Sub) and isinstance(e.right, gast.Constant):
        k = e.right.value - 1
        return e.left if k == 0 else expr("a - k", a=e.left, k=constant(k))
    return expr("a + 1", a=e)


def _cheap(e: Node) -> bool:
    for n in gast.walk(e):
        if isinstance(n, gast.Call) and not (isinstance(n.func, gast.Name) and n.func.id in CHEAP):
            return False
        if isinstance(n, gast.BinOp) and not isinstance(n.op, _CHEAP_OPERATORS):
            small = isinstance(n.op, gast.Pow) and isinstance(n.right, gast.Constant) and n.right.value in (2, 3)
            if not small and not isinstance(n.op, gast.BitAnd | gast.BitOr | gast.BitXor | gast.RShift | gast.LShift):
                return False
    return True


