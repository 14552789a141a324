"""Loops and comprehensions."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transad import ir
from transad.kinds import INT, Scalar, join
from transad.nodes import gast
from transad.passes.specialise.chosen import Chosen
from transad.passes.specialise.iterators import Iterators
from transad.passes.specialise.lists import Lists
from transad.passes.specialise.values import (
    UNKNOWN,
    Frame,
    Iter,
    Lazy,
    Lst,
    NotTyped,
    Obj,
    Record,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.quote import Node, constant, expr, name, names_in, show

_UNROLLED = 64


class Loops(Iterators, Lists, Chosen):
    """The part of the specialiser that handles loops."""

    def iterate(self, v: Any, body: Callable[[Any], None], node: Node, wanted: str = "") -> None:
        """Emit the loop that runs `body` on every item."""
        if isinstance(v, Tup):
            if len(v.items) > _UNROLLED:
                raise NotTyped("a long tuple is iterated", node)
            items, start = list(v.items), len(self.buffer)
            for k in range(len(items)):
                before = len(self.buffer)
                body(items[k])
                self.pin(items, k + 1, start, self.buffer[before:])
                if any(isinstance(s, ir.Exit) and s.how != "raise" for s in ir.walk(self.buffer[before:])):
                    raise NotTyped("break or continue in a loop over a tuple", node)
            return
        it = self.iter_of(v, node)
        if it.drive is not None:
            it.drive(body)
            return
        if it.span is not None:
            start, stop, step = it.span
            self.emit_for(start, stop, step, lambda i: body(Val(i, INT)), wanted)
            return
        self.emit_for(constant(0), it.length(), 1, lambda i: body(it.item(i)), wanted)

    def pin(self, items: list[Any], first: int, place: int, emitted: ir.Block) -> None:
        """Name at `place`, before the loop, what later items read and a trip has changed."""
        changed = ir.assigned(emitted)
        stores = any(isinstance(s, ir.Store) for s in ir.walk(emitted))

        def pinned(v: Any) -> Any:
            if isinstance(v, Tup):
                return Tup([pinned(x) for x in v.items], v.cls)
            if isinstance(v, Record):
                return Record(v.cls, {f: pinned(x) for f, x in v.fields.items()})
            if not isinstance(v, Val) or not (changed & set(names_in(v.expr)) or (
                    stores and not isinstance(v.expr, gast.Name | gast.Constant))):
                return v
            fresh = self.names.fresh("item")
            self.kinds[fresh] = v.kind
            self.buffer.insert(place, ir.Let(fresh, v.expr, line=self.line))
            return Val(name(fresh), v.kind, v.const)
        for k in range(first, len(items)):
            items[k] = pinned(items[k])

    def emit_for(self, start: Node, stop: Node, step: int, body: Callable[[Node], None],
                 wanted: str) -> None:
        line, source = self.line, self.source

        def make() -> ir.Statement:
            var = self.residual(self.frame, wanted, INT) if wanted else self.names.fresh("i")
            self.kinds[var] = INT
            outer, self.buffer, known = self.buffer, [], len(self.frames)
            body(name(var))
            inner, self.buffer = self.buffer, outer
            own = frozenset(slot for f in self.frames[known:] for slot in f.slots.values())
            return ir.For(var, start, stop, step, inner, line=line, source=source, own=own)
        self.settle(make)

    def settle(self, make: Callable[[], ir.Statement]) -> None:
        """Build a loop until the kinds of the variables it carries are stable."""
        self.loops.append(object())
        try:
            self.settled(make)
        finally:
            self.loops.pop()

    def settled(self, make: Callable[[], ir.Statement]) -> None:
        for _ in range(12):
            start_names, start_own = set(self.names.taken), set(self.own)
            kinds, slots = dict(self.kinds), [(f, dict(f.slots)) for f in self.frames]
            head, length, count = self.snapshot(), len(self.buffer), len(self.frames)
            lowered, constants = dict(self.lowered), dict(self.constants)
            statement = make()
            changes = self.carried(head, statement)
            if not changes:
                if isinstance(statement, ir.For):
                    self.flag_trips(head, statement)
                self.emit_loop(statement)
                self.close(head)
                return
            self.names.taken, self.own, self.kinds = start_names, start_own, kinds
            del self.buffer[length:]
            self.lowered, self.constants = lowered, constants
            del self.frames[count:]
            for frame, known in slots:
                frame.slots = known
            self.restore(head)
            for frame, key, value in changes:
                frame.vars[key] = self.canonical(frame, key, frame.vars[key], value)
        raise NotTyped("the kinds of the variables of this loop do not settle")

    def emit_loop(self, statement: ir.Statement) -> None:
        line, source = statement.line, statement.source
        self.buffer.append(statement)
        statement.line, statement.source = line, source

    def close(self, head: list[tuple[Frame, dict[str, Any]]]) -> None:
        """After the loop: variables that existed before keep their residual name, without a known value."""
        for frame, variables in head:
            for key, old in variables.items():
                if key in frame.vars and frame.vars[key] is not old:
                    frame.vars[key] = _same(old, frame.vars[key])

    def carried(self, head: list[tuple[Frame, dict[str, Any]]],
                loop: ir.Statement) -> list[tuple[Frame, str, Any]]:
        """The variables whose state at the end of a trip does not fit their state at its start."""
        changes = []
        written = ir.assigned(loop.body)         # type: ignore[attr-defined]
        for frame, variables in head:
            for key, old in variables.items():
                new = frame.vars.get(key)
                if isinstance(loop, ir.For) and self.set_by_each_trip(key, old, new):
                    continue
                if not self.fits(old, new, written):
                    changes.append((frame, key, new))
        return changes

    def fits(self, old: Any, new: Any, written: set[str]) -> bool:
        if isinstance(old, Val) and isinstance(new, Val):
            same = show(old.expr) == show(new.expr)
            if isinstance(old.expr, gast.Name) and old.expr.id in written and old.const is not UNKNOWN:
                return False
            return same and self.kinds.get(show(old.expr), old.kind) == old.kind and join(
                old.kind, new.kind) == old.kind
        if isinstance(old, Tup) and isinstance(new, Tup) and len(old.items) == len(new.items):
            return all(self.fits(a, b, written) for a, b in zip(old.items, new.items, strict=True))
        if isinstance(old, Record) and isinstance(new, Record) and old.fields.keys() == new.fields.keys():
            return all(self.fits(old.fields[k], new.fields[k], written) for k in old.fields)
        if isinstance(old, Obj) and isinstance(new, Obj):
            return old.value is new.value
        return old is new or type(old).__name__ == "_Conflict" or (
            type(old) is type(new) and getattr(old, "node", old) is getattr(new, "node", new))

    def canonical(self, frame: Frame, path: str, old: Any, new: Any) -> Any:
        """The variable moved into a residual variable of its own, wide enough for what a trip leaves in it."""
        if isinstance(old, Val) and isinstance(new, Val):
            kind = join(old.kind, new.kind)
            if kind is None:
                return _conflict(path)
            self.widened += old.kind != new.kind
            slot = self.residual(frame, path, kind)
            value = old.expr
            if kind == Scalar("float64") and isinstance(value, gast.Constant) and type(value.value) is int:
                value = constant(float(value.value))
            if show(value) != slot:
                self.emit(ir.Let(slot, value))
            return Val(name(slot), self.kinds[slot] if isinstance(kind, Scalar) else kind)
        if isinstance(old, Tup) and isinstance(new, Tup) and len(old.items) == len(new.items):
            return Tup([self.canonical(frame, f"{path}_{k}", a, b) if not self.fits(a, b, set()) else a
                        for k, (a, b) in enumerate(zip(old.items, new.items, strict=True))], old.cls)
        if isinstance(old, Record) and isinstance(new, Record):
            return Record(old.cls, {f: self.canonical(frame, f"{path}_{f}", old.fields[f], new.fields[f])
                                    for f in old.fields})
        if isinstance(new, type(None)):
            return old
        return _conflict(path)

    def for_loop(self, s: Node) -> None:
        target_names = {t.id for t in gast.walk(s.target) if isinstance(t, gast.Name)}
        outer, assigned = self.rebound, target_names | _stored(s.body)
        self.rebound = outer | {slot for (path, *_), slot in self.frame.slots.items() if path in assigned}
        iterable = self.eval(s.iter)
        if is_array(iterable):
            iterable = self.iter_of(iterable, s)
        if isinstance(iterable, Lazy) and iterable.late:
            raise NotTyped("a loop over the results of calls for the items of a tuple", s)
        self.rebound = outer
        wanted = s.target.id if isinstance(s.target, gast.Name) and isinstance(iterable, Iter) and (
            iterable.span is not None) and not (target_names & _stored(s.body)) else ""
        if wanted == "_":
            wanted = self.temporary("trip")

        def body(item: Any) -> None:
            if wanted and wanted == getattr(s.target, "id", "") and isinstance(item, Val):
                self.frame.vars[wanted] = item
                self.mark_set(self.frame, wanted)
            elif isinstance(s.target, gast.Name) and s.target.id == "_":
                self.frame.vars["_"] = item
                self.mark_set(self.frame, "_")
            else:
                self.at(s)
                self.bind(s.target, item)
            self.run(s.body)
        if isinstance(iterable, Iter) and iterable.drive is not None and any(
                isinstance(n, gast.Break | gast.Continue) for b in s.body for n in gast.walk(b)):
            raise NotTyped("break or continue in a loop over a generator", s)
        self.iterate(iterable, body, s, wanted)
        if (isinstance(s.iter, gast.Call) and show(s.iter.func).rpartition(".")[2] == "prange") or (
                isinstance(iterable, Iter) and iterable.calls):
            self.mark_map()

    def while_loop(self, s: Node) -> None:
        line, source = self.line, self.source

        def make() -> ir.Statement:
            outer, self.buffer = self.buffer, []
            test = self.truth(self.eval(s.test), s)
            if self.buffer or test.const is not UNKNOWN:
                prelude = self.buffer
                if test.const is UNKNOWN:
                    arms: ir.Block = []
                    self.buffer = arms
                    before = self.snapshot()
                    self.run(s.body)
                    inner: ir.Block = [*prelude, ir.If(expr("not t", t=test.expr),
                                             [ir.Exit("break", line=line)], arms, line=line)]
                    self.join_after_break(before, inner)
                elif test.const:
                    self.run(s.body)
                    inner = self.buffer
                else:
                    inner = [ir.Exit("break", line=line)]
                self.buffer = outer
                return ir.While(constant(True), inner, line=line, source=source)
            self.run(s.body)
            inner, self.buffer = self.buffer, outer
            return ir.While(test.expr, inner, line=line, source=source)
        self.settle(make)

    def join_after_break(self, before: list[tuple[Frame, dict[str, Any]]], inner: ir.Block) -> None:
        """Merge the state of `if not test: break` with that of the body."""
        arm = inner[-1]
        assert isinstance(arm, ir.If)
        after = self.snapshot()
        for (frame, at_break), (_, at_end) in zip(before, after, strict=False):
            for key in at_break:
                if key in at_end and at_break[key] is not at_end[key]:
                    frame.vars[key] = self.merge(frame, key, at_break[key], at_end[key], arm.then, arm.orelse)

    # -- folds and comprehensions -----------------------------------------------------------------------------------
    def fold(self, iterable: Any, start: Any, step: Callable[[Any, Any], Any], node: Node,
             wanted: str) -> Any:
        """The running combination of all items, from `start`."""
        frame, slot = self.frame, self.temporary(wanted)
        if isinstance(iterable, Tup):
            for v in iterable.items:
                start = step(start, v) if not (isinstance(start, Val) and start.const == 0 and wanted == "total"
                                               and is_scalar(v)) else v
            return start
        frame.vars[slot] = self.assign(frame, slot, start)

        def body(v: Any) -> None:
            v = self.atom(v, "item") if is_array(v) or (isinstance(v, Val) and wanted != "total") else v
            frame.vars[slot] = self.assign(frame, slot, step(frame.vars[slot], v))
        self.iterate(iterable, body, node)
        self.mark_map()
        return frame.vars.pop(slot)

    def mark_map(self) -> None:
        """Say of the loop just emitted that its trips are the items of a map."""
        if self.buffer and isinstance(self.buffer[-1], ir.For):
            self.buffer[-1].mapped = True

    def eval_GeneratorExp(self, node: Node) -> Any:
        return self.comprehension(node)

    def eval_ListComp(self, node: Node) -> Any:
        it = self.comprehension(node)
        if isinstance(it, Tup):
            return Tup(it.items, list)
        return self.listed(it, node)

    def comprehension(self, node: Node) -> Any:
        frame = Frame(self.frame.name, self.frame.globals, self.frame, inlined=True, filename=self.frame.filename)
        self.frames.append(frame)
        first = node.generators[0]
        source = self.eval(first.iter)
        if len(node.generators) == 1 and not first.ifs:
            if isinstance(source, Tup):
                return Lazy(self.in_order([functools.partial(self.element, node, first, v, frame)
                                           for v in source.items]), list, late=True)
            inner = self.iter_of(source, node)
            if inner.item is not None:
                return Iter(inner.length, lambda i: self.element(node, first, inner.item(i), frame), over=inner.over,
                            calls=True)
        source = self.iter_of(source, node) if is_array(source) or isinstance(source, Lst) else source
        return Iter(drive=lambda k: self.driven(node, 0, source, frame, k), over=getattr(source, "over", []),
                    chosen=lambda: self.chosen_items(node, source, frame),
                    levels=int(len(node.generators) == 1 and getattr(source, "drive", None) is None))

    def element(self, node: Node, generator: Node, item: Any, frame: Frame) -> Any:
        return self.inside(frame, lambda: (self.bind(generator.target, item), self.eval(node.elt))[1])

    def inside(self, frame: Frame, run: Callable[[], Any]) -> Any:
        outer, self.frame = self.frame, frame
        try:
            return run()
        finally:
            self.frame = outer

    def driven(self, node: Node, depth: int, source: Any, frame: Frame, k: Callable[[Any], None]) -> None:
        generator = node.generators[depth]

        def one(item: Any) -> None:
            def run() -> None:
                self.bind(generator.target, item)
                self.conditions(generator.ifs, lambda: self.deeper(node, depth, frame, k))
            self.inside(frame, run)
        self.iterate(source, one, node)

    def conditions(self, tests: list[Node], then: Callable[[], None]) -> None:
        if not tests:
            then()
            return
        test = self.truth(self.eval(tests[0]), tests[0])
        if test.const is not UNKNOWN:
            if test.const:
                self.conditions(tests[1:], then)
            return
        self.branch(test, lambda: self.conditions(tests[1:], then), lambda: None)

    def deeper(self, node: Node, depth: int, frame: Frame, k: Callable[[Any], None]) -> None:
        if depth + 1 < len(node.generators):
            self.driven(node, depth + 1, self.eval(node.generators[depth + 1].iter), frame, k)
            return
        value = self.eval(node.elt)
        assert frame.parent is not None
        self.inside(frame.parent, lambda: k(value))


def _stored(stmts: list[Node]) -> set[str]:
    return {n.id for s in stmts for n in gast.walk(s) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}


def _same(old: Any, new: Any) -> Any:
    if isinstance(old, Val) and isinstance(new, Val):
        return Val(new.expr, new.kind, old.const if old.const is new.const else UNKNOWN)
    return new


def _conflict(path: str) -> Any:
    from transad.passes.specialise.program import _Conflict
    return _Conflict(path)
