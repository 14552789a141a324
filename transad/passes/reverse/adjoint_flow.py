"""The adjoint of branches and loops: both arms under the saved condition, the trips backwards."""
from __future__ import annotations

from transad.ir import Block, Exit, For, If, Let, Statement, While
from transad.nodes import gast
from transad.passes.reverse.scopes import Scope
from transad.passes.specialise.values import Part
from transad.quote import Node, call, constant, expr, name, show

# How sure a cotangent is to be non-zero: on every path; but for a factor that may be zero; on some path it is zero.
SURE = ["set", "product", "maybe"]


Live = dict[str, str]


class FlowAdjoint(Part):
    """The part of the adjoint that handles control flow."""

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
                self.live[d] = max(a[d], b[d], key=SURE.index)
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
            joined = {d: max(entry.get(d, "maybe"), self.live.get(d, "maybe"), key=SURE.index)
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
            return For(s.var, less_one(stop), less_one(start), -1, body)
        return For(s.var, plus_one(stop), plus_one(start), 1, body)

    def turned_counted(self, s: For, body: Block, start: Node, stop: Node) -> Statement:
        if leaves_early(s):
            count = self.values.count(s)
            if s.step == 1:
                first = count if show(start) == "0" else expr("a + n", a=start, n=count)
                return For(s.var, less_one(first), less_one(start), -1, body)
        else:
            count = call("len", call("range", start, stop, constant(s.step)))
        trip = self.temp("trip")
        position = name(trip) if s.step == 1 else expr("k * t", k=constant(s.step), t=name(trip))
        where = position if show(start) == "0" else expr("a + t", a=start, t=position)
        return For(trip, less_one(count), constant(-1), -1, [Let(s.var, where), *body])


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


def less_one(e: Node) -> Node:
    if isinstance(e, gast.Constant):
        return constant(e.value - 1)
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Sub | gast.Add) and isinstance(e.right, gast.Constant):
        k = e.right.value if isinstance(e.op, gast.Add) else -e.right.value
        return _shifted(e.left, k - 1)
    return expr("a - 1", a=e)


def plus_one(e: Node) -> Node:
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
