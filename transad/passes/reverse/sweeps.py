"""Put the two sweeps together: `f_fwd`, the user's text plus recording lines, and `f_rev`."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Program, Statement, Store, While, expressions, walk
from transad.kinds import Array, Kind
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import activity
from transad.passes.regions import regions
from transad.passes.reverse.adjoint import Adjoint
from transad.passes.reverse.availability import Availability, Tape, _offset
from transad.passes.reverse.scopes import scopes
from transad.passes.reverse.shadows import Shadows
from transad.passes.reverse.terms import Term
from transad.passes.reverse.values import Pseudo, Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, names_in, show, slice_, substitute


@dataclass
class Pair:
    """The two sweeps in normal form (plain names), ready to print."""

    name: str
    parameters: list[str]
    forward: Block
    results: list[Node]
    saved: list[str]
    seeds: list[str]
    reverse: Block
    cotangents: list[Node]
    kinds: dict[str, Kind]
    constants: dict[str, Any] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    writes: bool = False
    taped: bool = False


def reverse(program: Program, wanted: list[str], names: Names, stopped: Iterable[str] = ()) -> Pair:
    """The pair of sweeps of a program with versions, for the cotangents of the parameters `wanted` (plain names)."""
    end = Do(constant(None))
    program.body.append(end)
    found = regions(program)
    active = activity(program, found, {f"{w}@0" for w in wanted}, stopped)
    for p in program.parameters:
        if p in active and base(p) not in wanted:
            raise NotTyped(f"a value that depends on the arguments is stored into {base(p)}")
    values = Values(program, found, scopes(program), names)
    shadows = Shadows(program, values, active, names)
    available = Availability(program, values, values.scopes, found, names, active)
    shadows.resolve = available.resolve_early
    adjoint = Adjoint(program, values, active, shadows, names, available.resolve)
    root = values.scopes.root
    parameters = [p for p in program.parameters if shadows.is_active_array(p)]
    births: Block = [Let(shadows.of(p), call("np.zeros_like", name(p))) for p in parameters]
    births += shadows.births(root)
    seeds, seeding = _seeds(program, adjoint, names, end)
    shadows.done.add(id(root.block))
    body = births + seeding + adjoint.plain_block(root)
    cotangents = [_result(w, program, adjoint, shadows, active) for w in wanted]
    body.append(Do(_tuple(cotangents)))
    body = available.resolve(root, body)
    body.pop()
    pair = _Assembly(program, values, available, found.position, names).pair(seeds, body, cotangents, wanted)
    pair.taped = bool(available.tapes)
    pair.writes = any(found.written(p) for p in program.parameters if p in found.parent)
    return pair


def _tuple(nodes: list[Node]) -> Node:
    holes = {f"i{k}": n for k, n in enumerate(nodes)}
    return expr("(" + "".join(f"{h}, " for h in holes) + ")", **holes)


def _seeds(program: Program, adjoint: Adjoint, names: Names, end: Statement) -> tuple[list[str], Block]:
    """The cotangents of the results: parameters of `f_rev`, and how they enter."""
    seeds: list[str] = []
    out: Block = []
    sure = "set" if len(program.results) == 1 else "maybe"          # of several, some may be zero
    for k, e in enumerate(program.results):
        plain = isinstance(e, gast.Name) and "@" in e.id
        if plain and e.id in adjoint.active and not isinstance(program.kinds[base(e.id)], Array):
            if base(e.id) not in adjoint.cotangents:
                d = adjoint.d(e.id)
                seeds.append(d)
                adjoint.live[d] = sure
                continue
        wanted = f"d_{base(e.id)}" if plain else "d_y" if len(program.results) == 1 else f"d_y{k}"
        seed = names.fresh(wanted)
        seeds.append(seed)
        if not adjoint.uses(e, end):
            continue
        kind = adjoint.values.kind(e)
        if isinstance(kind, Array):
            adjoint.shadows.variables[seed] = kind.ndim
        work = adjoint.differentiate(e, Term(1.0, (name(seed),)), end)
        out += adjoint.added(work, end, "", sure)
    return seeds, out


def _result(w: str, program: Program, adjoint: Adjoint, shadows: Shadows, active: set[str]) -> Node:
    kind = program.kinds[w]
    v = f"{w}@0"
    if isinstance(kind, Array):
        if v in active:
            return name(shadows.of(v))
        return call("np.zeros", expr("a.shape", a=name(v))) if not kind.real else call("np.zeros_like", name(v))
    d = adjoint.cotangents.get(w)
    return name(d) if d is not None and d in adjoint.live else constant(0.0)


class _Assembly:
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
                    self.program.kinds, self.program.constants, wanted)

    # -- what is recorded -----------------------------------------------------------------------------------------
    def collect(self) -> None:
        needed = set(self.available.saved) | set(self.available.tapes)
        for p in self.values.pseudos.values():
            if p.version in needed:
                self.before.setdefault(id(p.before), []).append(p)
        for tape in dict.fromkeys(self.available.tapes.values()):
            self.outer.setdefault(id(tape.loops[0]), []).append(tape)
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
        """Whether the variable of a saved version holds something else later."""
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

    def recorded(self, v: str, value: Node | None = None) -> Block:
        """The line that records a version on its tape."""
        tape = self.available.tapes.get(v)
        if tape is None:
            return []
        value = name(base(v)) if value is None else value
        if tape.shared is not None and v == tape.shared.head:
            return []
        if tape.flat:
            source = _copied(value)
            return [Do(call("record_array", name(_list_name(tape)), name(f"{tape.dims}_list"), source))]
        if tape.is_list:
            return [Do(expr("tape.append(v)", tape=name(_list_name(tape)), v=value))]
        items = [_offset_plain(loop) for loop in tape.loops]
        if tape.shared is not None:
            items[-1] = _plus_one(items[-1])
        if isinstance(tape.kind, Array):
            source = _copied(value)
            return [Do(call("copy_to", index(name(tape.variable), items), source))]
        return [Store(tape.variable, items, value)]

    # -- the forward sweep ----------------------------------------------------------------------------------------
    def plain(self, e: Node) -> Node:
        """An expression over versions as the forward sweep writes it."""
        return substitute(e, lambda n: name(base(n.id)) if "@" in n.id else None)

    def block(self, block: Block) -> Block:
        out: Block = []
        if block is self.program.body:
            for p in self.program.parameters:
                out += self.kept(p)
        for s in block:
            if isinstance(s, Do) and isinstance(s.value, gast.Constant):
                lines, self.at_end = self.pseudo_lines(s)
                out += lines
                continue
            out += self.statement(s)
        return out

    def pseudo_lines(self, s: Statement, after: bool = False) -> tuple[Block, dict[str, str]]:
        lines: Block = []
        replaced: dict[str, str] = {}
        for p in self.before.get(id(s), []):
            if p.after != after:
                continue
            value = self.replace(p.value, replaced)
            value = self.plain(value)
            tape = self.available.tapes.get(p.version)
            if tape is not None and not p.replaced:
                lines += self.recorded(p.version, value)
                continue
            lines.append(Let(base(p.version), value))
            if p.replaced:
                replaced[p.replaced] = p.version
            lines += self.recorded(p.version) + self.kept(p.version)
        return lines, replaced

    def replace(self, e: Node, replaced: dict[str, str]) -> Node:
        if not replaced:
            return e
        return _replace(e, replaced)

    def statement(self, s: Statement) -> Block:
        before, replaced = self.pseudo_lines(s)
        place = {"line": s.line, "source": s.source}

        def use(e: Node) -> Node:
            return self.plain(self.replace(e, replaced))
        if isinstance(s, Let):
            after = self.pseudo_lines(s, after=True)[0]
            return [*before, Let(base(s.name), use(s.value), **place), *self.recorded(s.name), *self.kept(s.name),
                    *after]
        if isinstance(s, Move):
            out = [*before, Move([base(t) for t in s.targets], [base(v) for v in s.sources], **place)]
            return out + [x for t in s.targets for x in self.recorded(t) + self.kept(t)]
        if isinstance(s, Store):
            return [*before, Store(base(s.array), [use(i) for i in s.index], use(s.value), s.op, **place)]
        if isinstance(s, Do):
            return [*before, Do(use(s.value), **place)]
        if isinstance(s, Exit):
            return [*before, Exit(s.how, None if s.value is None else use(s.value), **place)]
        if isinstance(s, If):
            made = If(use(s.test), self.block(s.then), self.block(s.orelse), **place)
            after = [x for phi in s.phis for x in self.recorded(phi.out) + self.kept(phi.out)]
            if after and any(isinstance(x, Exit) for x in walk([made])):
                for x in after:
                    _at_tails(made, x)
                return [*before, made]
            return [*before, made, *after]
        assert isinstance(s, For | While)
        return [*before, *self.loop(s, use, place)]

    def loop(self, s: For | While, use: Any, place: dict[str, Any]) -> Block:
        before: Block = [x for tape in self.outer.get(id(s), []) for x in self.allocated(tape)]
        body: Block = []
        after: Block = []
        count = self.values.counts.get(id(s))
        if count is not None and (count in self.available.saved or count in self.available.tapes):
            before.append(Let(base(count), constant(0)))
            body.append(Let(base(count), expr("n + 1", n=name(base(count)))))
            after += self.recorded(count) + self.kept(count)
        for phi in s.phis:
            tape = self.available.tapes.get(phi.head)
            if tape is not None and tape.shared is phi:
                items = [_offset_plain(loop) for loop in tape.loops[:-1]]
                before.append(Store(tape.variable, [*items, constant(0)], name(base(phi.head))))
            else:
                body += self.recorded(phi.head)
        if isinstance(s, For):
            body += self.recorded(s.var)
        body += self.block(s.body)
        for phi in s.phis:
            tape = self.available.tapes.get(phi.end)
            if tape is not None and tape.shared is phi and self.values.scopes.defined[phi.end].how == "branch":
                pass
            after += self.recorded(phi.out) + self.kept(phi.out)
        after += [x for tape in self.outer.get(id(s), []) for x in self.closed(tape)]
        if isinstance(s, For):
            made: Statement = For(base(s.var), use(s.start), use(s.stop), s.step, body, **place)
        else:
            made = While(use(s.test), body, **place)
        return [*before, made, *after]

    def allocated(self, tape: Tape) -> Block:
        """A tape before its outermost loop."""
        if tape.flat:
            zero = {"bool": "False", "float64": "0.0"}.get(tape.kind.dtype, f"np.{tape.kind.dtype}(0)")
            return [Let(_list_name(tape), expr(f"[{zero} for _ in range(0)]")),
                    Let(f"{tape.dims}_list", expr("[0 for _ in range(0)]"))]
        if tape.is_list:
            return [Let(_list_name(tape), expr("[]"))]
        counts = [self.plain(self.never_negative(_trips(loop))) for loop in tape.loops if isinstance(loop, For)]
        if tape.shared is not None:
            counts[-1] = _plus_one(counts[-1])
        kind = tape.kind
        if isinstance(kind, Array):
            assert tape.shape_of is not None
            shape = [expr(f"a.shape[{k}]", a=self.plain(tape.shape_of)) for k in range(kind.ndim)]
            counts = counts + shape
        size = counts[0] if len(counts) == 1 else _tuple_node(counts)
        args = [] if kind.dtype == "float64" else [name(f"np.{_np(kind.dtype)}")]
        return [Let(tape.variable, call("np.empty", size, *args))]

    def never_negative(self, count: Node) -> Node:
        """The number of slots for a count that the program's text does not show to be positive."""
        if isinstance(count, gast.Call | gast.Subscript) or (isinstance(count, gast.Constant) and count.value >= 0):
            return count
        if isinstance(count, gast.Name):
            found = self.values.scopes.defined.get(count.id)
            made: Any = found.statement.value if found is not None and found.how == "let" and isinstance(
                found.statement, Let) else None
            if isinstance(made, gast.Subscript | gast.Attribute) or (
                    isinstance(made, gast.Call) and getattr(made.func, "id", "") == "len"):
                return count
        return call("max", count, constant(0))

    def closed(self, tape: Tape) -> Block:
        """A list tape after its outermost loop."""
        if not tape.is_list:
            return []
        more = [Let(tape.dims, call("np.array", name(f"{tape.dims}_list"), name("np.int64")))] if tape.flat else []
        dtype = [] if tape.kind.dtype == "float64" else [name(f"np.{_np(tape.kind.dtype)}")]
        return [Let(tape.variable, call("np.array", name(_list_name(tape)), *dtype)), *more]

    # -- saved and the reverse sweep --------------------------------------------------------------------------------
    def saved_list(self, body: Block) -> list[str]:
        names_ = []
        for v in self.available.saved:
            if v not in self.saved_names:
                self.saved_names[v] = base(v)
            if base(v) not in self.program.constants:
                names_.append(self.saved_names[v])
        names_ += [v for t in dict.fromkeys(self.available.tapes.values()) for v in t.variables]
        return list(dict.fromkeys(names_))

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
        certain = set(base(p) for p in self.program.parameters) | _definite(forward)
        out: Block = []
        tapes = {t.variable: t for t in self.available.tapes.values()}
        dims = {t.dims for t in self.available.tapes.values() if t.flat}
        for v in saved:
            if v in certain:
                continue
            if v in dims:
                out.append(Let(v, call("np.empty", constant(0), name("np.int64"))))
                continue
            if v in tapes:
                t = tapes[v]
                rank = 1 if t.is_list else len(t.loops) + (t.kind.ndim if isinstance(t.kind, Array) else 0)
                args = [] if t.kind.dtype == "float64" else [name(f"np.{_np(t.kind.dtype)}")]
                shape = constant(0) if rank == 1 else _tuple_node([constant(0)] * rank)
                out.append(Let(v, call("np.empty", shape, *args)))
                continue
            kind = self.program.kinds[v]
            if isinstance(kind, Array):
                shape = constant(0) if kind.ndim == 1 else _tuple_node([constant(0)] * kind.ndim)
                args = [] if kind.dtype == "float64" else [name(f"np.{_np(kind.dtype)}")]
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


def _definite(block: Block) -> set[str]:
    """The names assigned on every path through a block."""
    found: set[str] = set()
    for s in block:
        if isinstance(s, Let):
            found.add(s.name)
        elif isinstance(s, Move):
            found.update(s.targets)
        elif isinstance(s, If):
            a, b = _definite(s.then), _definite(s.orelse)
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
        else:
            out.append(s)
    return out


def _at_tails(s: If, statement: Statement) -> None:
    """Put a statement at the end of every path through a branch, before markers."""
    for arm in (s.then, s.orelse):
        last = arm[-1] if arm else None
        if isinstance(last, Exit):
            arm.insert(len(arm) - 1, statement)
        elif isinstance(last, If) and any(isinstance(x, Exit) for x in walk([last])):
            _at_tails(last, statement)
        else:
            arm.append(statement)


def _replace(e: Node, replaced: dict[str, str]) -> Node:
    """The expression with sub-expressions, found by their text, replaced by names."""
    from transad.quote import rebuilt
    hit = replaced.get(show(e)) if isinstance(e, gast.expr) else None
    if hit is not None:
        return name(hit)
    changed: dict[str, Any] = {}
    for f in e._fields:
        v = getattr(e, f, None)
        if isinstance(v, gast.AST) and f not in ("op", "ctx", "func"):
            new = _replace(v, replaced)
            if new is not v:
                changed[f] = new
        elif isinstance(v, list) and f != "ops":
            items = [_replace(x, replaced) if isinstance(x, gast.AST) else x for x in v]
            if any(a is not b for a, b in zip(items, v, strict=True)):
                changed[f] = items
    return rebuilt(e, changed) if changed else e


def _copied(e: Any) -> Node:
    """What a copy copies."""
    return e.func.value if _is_copy(e) else e


def _is_copy(e: Node) -> bool:
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Attribute) and e.func.attr == "copy"


def _list_name(tape: Tape) -> str:
    return tape.variable.replace("_tape", "_list") if "_tape" in tape.variable else tape.variable + "_list"


def _offset_plain(loop: Any) -> Node:
    return substitute(_offset(loop), lambda n: name(base(n.id)) if "@" in n.id else None)


def _trips(loop: For) -> Node:
    """An upper bound of the trips of a loop (below zero where it makes none)."""
    if loop.step == 1:
        count = loop.stop if show(loop.start) == "0" else _difference(loop.stop, loop.start)
    else:
        count = _difference(loop.start, loop.stop)
    return count


def _difference(a: Node, b: Node) -> Node:
    number = _literal(b)
    if isinstance(a, gast.Constant) and number is not None:
        return constant(a.value - number)
    if number == 0:
        return a
    if isinstance(b, gast.Constant) and isinstance(a, gast.BinOp) and isinstance(a.right, gast.Constant) and isinstance(
            a.op, gast.Sub | gast.Add):
        k = (a.right.value if isinstance(a.op, gast.Add) else -a.right.value) - b.value
        return a.left if k == 0 else expr("a + k" if k > 0 else "a - k", a=a.left, k=constant(abs(k)))
    if isinstance(b, gast.UnaryOp) and isinstance(b.op, gast.USub):
        return expr("a + b", a=a, b=b.operand)
    return expr("a - b", a=a, b=b)


def _literal(e: Node) -> int | None:
    if isinstance(e, gast.Constant):
        return e.value
    if isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub) and isinstance(e.operand, gast.Constant):
        return -e.operand.value
    return None


def _plus_one(e: Node) -> Node:
    if isinstance(e, gast.Constant):
        return constant(e.value + 1)
    if isinstance(e, gast.BinOp) and isinstance(e.right, gast.Constant) and isinstance(e.op, gast.Sub):
        k = e.right.value - 1
        return e.left if k == 0 else expr("a - k", a=e.left, k=constant(k))
    return expr("a + 1", a=e)


def _tuple_node(nodes: list[Node]) -> Node:
    return _tuple(nodes)


def _np(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


__all__ = ["Pair", "reverse", "slice_"]
