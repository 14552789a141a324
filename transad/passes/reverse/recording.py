"""The forward sweep: the user's text plus the lines that record what the reverse sweep reads."""
from __future__ import annotations

from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Statement, Store, While, walk
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.duals import value_of
from transad.passes.reverse.availability import Tape, _offset
from transad.passes.specialise.values import Part
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, index, name, show, substitute, tuple_


class Recording(Part):
    """The part of the assembly that writes the forward sweep."""

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
        return replaced_text(e, replaced)

    def statement(self, s: Statement) -> Block:
        before, replaced = self.pseudo_lines(s)
        place = {"line": s.line, "source": s.source}

        def use(e: Node) -> Node:
            return self.plain(self.replace(value_of(e), replaced))
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
            return [Let(list_name(tape), expr(f"[{zero} for _ in range(0)]")),
                    Let(f"{tape.dims}_list", expr("[0 for _ in range(0)]"))]
        if tape.is_list:
            return [Let(list_name(tape), expr("[]"))]
        counts = [self.plain(self.never_negative(_trips(loop))) for loop in tape.loops if isinstance(loop, For)]
        if tape.shared is not None:
            counts[-1] = _plus_one(counts[-1])
        kind = tape.kind
        if isinstance(kind, Array):
            assert tape.shape_of is not None
            shape = [expr(f"a.shape[{k}]", a=self.plain(tape.shape_of)) for k in range(kind.ndim)]
            counts = counts + shape
        size = counts[0] if len(counts) == 1 else tuple_(counts)
        args = [] if kind.dtype == "float64" else [name(f"np.{numpy_name(kind.dtype)}")]
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
        dtype = [] if tape.kind.dtype == "float64" else [name(f"np.{numpy_name(tape.kind.dtype)}")]
        return [Let(tape.variable, call("np.array", name(list_name(tape)), *dtype)), *more]

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
            return [Do(call("record_array", name(list_name(tape)), name(f"{tape.dims}_list"), source))]
        if tape.is_list:
            return [Do(expr("tape.append(v)", tape=name(list_name(tape)), v=value))]
        items = [_offset_plain(loop) for loop in tape.loops]
        if tape.shared is not None:
            items[-1] = _plus_one(items[-1])
        if isinstance(tape.kind, Array):
            source = _copied(value)
            return [Do(call("copy_to", index(name(tape.variable), items), source))]
        return [Store(tape.variable, items, value)]


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


def replaced_text(e: Node, replaced: dict[str, str]) -> Node:
    """The expression with sub-expressions, found by their text, replaced by names."""
    from transad.quote import rebuilt
    hit = replaced.get(show(e)) if isinstance(e, gast.expr) else None
    if hit is not None:
        return name(hit)
    changed: dict[str, Any] = {}
    for f in e._fields:
        v = getattr(e, f, None)
        if isinstance(v, gast.AST) and f not in ("op", "ctx", "func"):
            new = replaced_text(v, replaced)
            if new is not v:
                changed[f] = new
        elif isinstance(v, list) and f != "ops":
            items = [replaced_text(x, replaced) if isinstance(x, gast.AST) else x for x in v]
            if any(a is not b for a, b in zip(items, v, strict=True)):
                changed[f] = items
    return rebuilt(e, changed) if changed else e


def _copied(e: Any) -> Node:
    """What a copy copies."""
    return e.func.value if _is_copy(e) else e


def _is_copy(e: Node) -> bool:
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Attribute) and e.func.attr == "copy"


def list_name(tape: Tape) -> str:
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


def numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype
