"""Both sweeps put together: what is saved, under which names, and the typed first values of what a path leaves unset."""
from __future__ import annotations

from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Store, While, expressions, walk
from transad.kinds import Array, Kind
from transad.names import Names
from transad.passes.reverse.availability import Availability, Tape
from transad.passes.reverse.pair import Pair
from transad.passes.reverse.recording import Recording, numpy_name
from transad.passes.reverse.values import Pseudo, Values
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, name, names_in, substitute, tuple_


class Assembly(Recording):
    """Turns a program, its adjoint and its tapes into a pair of sweeps with plain names."""

    def __init__(self, program: Program, values: Values, available: Availability, position: dict[int, int],
                 names: Names) -> None:
        self.program, self.values, self.available, self.names = program, values, available, names
        self.position = position
        self.used_tapes = available.tapes
        self.saved_names: dict[str, str] = {}
        self.before: dict[int, list[Pseudo]] = {}
        self.outer: dict[int, list[Tape]] = {}
        self.at_end: dict[str, str] = {}
        self.times: dict[str, list[tuple[float, str]]] = {}

    def pair(self, seeds: list[str], body: Block, cotangents: list[Node], wanted: list[str]) -> Pair:
        self.collect()
        forward = self.block(self.program.body)
        saved = self.saved_list(body)
        reverse_body, outs = self.reversed(body, cotangents)
        fillers = self.fillers(forward, saved)
        results = [self.plain(self.replace(e, self.at_end)) for e in self.program.results]
        parameters = [base(p) for p in self.program.parameters]
        return Pair(self.program.name, parameters, fillers + forward, results, saved, seeds, reverse_body, outs,
                    self.program.kinds | self.tape_kinds(), self.program.constants, wanted)

    def tape_kinds(self) -> dict[str, Kind]:
        """The kinds of the variables that hold tapes."""
        kinds: dict[str, Kind] = {}
        for t in self.available.tapes.values():
            rank = 1 if t.is_list else len(t.loops) + (t.kind.ndim if isinstance(t.kind, Array) else 0)
            kinds |= {t.variable: Array(t.kind.dtype, rank), **({t.dims: Array("int64", 1)} if t.flat else {})}
        return kinds

    def collect(self) -> None:
        needed = set(self.available.saved) | set(self.available.tapes)
        for p in self.values.pseudos.values():
            if p.version in needed:
                self.before.setdefault(id(p.before), []).append(p)
        for tape in dict.fromkeys(self.available.tapes.values()):
            self.outer.setdefault(id(tape.outermost), []).append(tape)
        ends: dict[int, int] = {}
        for s in walk(self.program.body):
            ends[id(s)] = max([self.position.get(id(x), 0) for x in walk([s])])
        for v, d in self.values.scopes.defined.items():
            at = -1.0
            if d.statement is not None:
                at = float(self.position.get(id(d.statement), 0))
                at += {"head": 0.1, "var": 0.1, "pseudo": -0.2}.get(d.how, 0.0)
                if d.how in ("out", "branch", "count"):
                    at = ends[id(d.statement)] + 0.5
            self.times.setdefault(base(v), []).append((at, v))

    def overwritten(self, v: str) -> bool:
        """Whether the variable of a saved version holds something else later: in a loop any other version may."""
        if self.values.scopes.defined[v].scope.in_loop:
            return len(self.times[base(v)]) > 1
        at = next(t for t, u in self.times[base(v)] if u == v)
        return any(t > at for t, u in self.times[base(v)] if u != v)

    def kept(self, v: str) -> Block:
        """Keep a saved version whose variable is assigned again."""
        if v not in self.available.saved:
            return []
        if not self.overwritten(v):
            self.saved_names[v] = base(v)
            return []
        self.saved_names[v] = self.names.fresh(base(v))
        self.program.kinds[self.saved_names[v]] = self.program.kinds[base(v)]
        return [Let(self.saved_names[v], name(base(v)))]

    def saved_list(self, body: Block) -> list[str]:
        names_ = []
        for v in sorted(self.available.saved, key=self.when):
            if v not in self.saved_names:
                self.saved_names[v] = base(v)
            if base(v) not in self.program.constants:
                names_.append(self.saved_names[v])
        names_ += [v for t in dict.fromkeys(self.available.tapes.values()) for v in t.variables]
        return list(dict.fromkeys(names_))

    def when(self, v: str) -> tuple[float, int, str]:
        """Saved values in the order in which the user's function makes them."""
        at = next((t for t, u in self.times.get(base(v), []) if u == v), 0.0)
        return at, self.program.parameters.index(v) if v in self.program.parameters else 0, v

    def reversed(self, body: Block, cotangents: list[Node]) -> tuple[Block, list[Node]]:
        """The reverse sweep with printable names: one name per version."""
        renamed = dict(self.saved_names)
        fixed = set(self.saved_names.values())
        used = Names(fixed | {n for s in walk(body) for e in expressions(s) for n in names_in(e) if "@" not in n}
                     | {s.name for s in walk(body) if isinstance(s, Let) and "@" not in s.name})

        placed: dict[str, list[str]] = {}
        defined = self.values.scopes.defined

        def clash(a: str, b: str) -> bool:
            first, second = defined.get(a), defined.get(b)
            return first is None or second is None or first.scope.within(second.scope) or second.scope.within(
                first.scope)

        def rename(v: str) -> str:
            """One name per version; versions of one variable in separate loops share it."""
            if "@" not in v:
                return v
            if v not in renamed:
                free = [n for n, owners in placed.items() if n.rstrip("0123456789").rstrip("_") == base(v)
                        or n == base(v)]
                shared = next((n for n in free if not any(clash(v, o) for o in placed[n])
                               and all(base(o) == base(v) for o in placed[n])), None)
                renamed[v] = shared or used.fresh(base(v))
                placed.setdefault(renamed[v], []).append(v)
            return renamed[v]

        def use(e: Node) -> Node:
            return substitute(e, lambda n: name(rename(n.id)) if "@" in n.id else None)
        starts: Block = [Let(t.position, _record_count(t))
                         for t in dict.fromkeys(self.available.tapes.values()) if t.is_list]
        return starts + _renamed(body, rename, use), [use(c) for c in cotangents]

    def fillers(self, forward: Block, saved: list[str]) -> Block:
        """A typed first value for what one path leaves unset, so that `saved` has the same slots on every path."""
        certain = {base(p) for p in self.program.parameters} | definite(forward)
        out: Block = []
        tapes, kinds = {t.variable: t for t in self.available.tapes.values()}, self.tape_kinds()
        dims = {t.dims for t in self.available.tapes.values() if t.flat}
        for v in saved:
            if v in certain:
                continue
            if v in dims:
                out.append(Let(v, call("np.empty", constant(0), name("np.int64"))))
                continue
            if v in tapes:
                t = tapes[v]
                rank = kinds[v].ndim      # type: ignore[union-attr]
                args = [] if t.kind.dtype == "float64" else [name(f"np.{numpy_name(t.kind.dtype)}")]
                shape = constant(0) if rank == 1 else tuple_([constant(0)] * rank)
                out.append(Let(v, call("np.empty", shape, *args)))
                continue
            kind = self.program.kinds[v]
            if isinstance(kind, Array):
                shape = constant(0) if kind.ndim == 1 else tuple_([constant(0)] * kind.ndim)
                args = [] if kind.dtype == "float64" else [name(f"np.{numpy_name(kind.dtype)}")]
                out.append(Let(v, call("np.empty", shape, *args)))
            else:
                zero = False if kind.dtype == "bool" else 0 if kind.integer else 0.0
                out.append(Let(v, constant(zero)))
        return out


def _record_count(tape: Tape) -> Node:
    if tape.flat:
        assert isinstance(tape.kind, Array)
        return expr("len(d) // k", d=name(tape.dims), k=constant(tape.kind.ndim + 1))
    return call("len", name(tape.variable))


def definite(block: Block) -> set[str]:
    """The names assigned on every path through a block."""
    found: set[str] = set()
    for s in block:
        if isinstance(s, Let):
            found.add(s.name)
        elif isinstance(s, Move):
            found.update(s.targets)
        elif isinstance(s, If):
            a, b = definite(s.then), definite(s.orelse)
            found |= b if _raises(s.then) else a if _raises(s.orelse) else a & b
        elif isinstance(s, Exit):
            break
    return found


def _raises(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Exit) and block[-1].how == "raise"


def _renamed(block: Block, rename: Any, use: Any) -> Block:
    out: Block = []
    for s in block:
        place = {"line": s.line, "source": s.source}
        if isinstance(s, Let):
            out.append(Let(rename(s.name), use(s.value), **place))
        elif isinstance(s, Move):
            out.append(Move([rename(t) for t in s.targets], [rename(v) for v in s.sources], **place))
        elif isinstance(s, Store):
            out.append(Store(rename(s.array), [use(i) for i in s.index], use(s.value), s.op, **place))
        elif isinstance(s, Do):
            out.append(Do(use(s.value), **place))
        elif isinstance(s, If):
            out.append(If(use(s.test), _renamed(s.then, rename, use), _renamed(s.orelse, rename, use), **place))
        elif isinstance(s, For):
            out.append(For(rename(s.var), use(s.start), use(s.stop), s.step, _renamed(s.body, rename, use), **place))
        elif isinstance(s, While):
            out.append(While(use(s.test), _renamed(s.body, rename, use), **place))
        elif isinstance(s, Exit) and s.value is not None:
            out.append(Exit(s.how, use(s.value), **place))
        else:
            out.append(s)
    return out


