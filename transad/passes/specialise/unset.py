"""Names that a path reads before anything has set them.

    for i in range(n):
        if i > 0:
            s += q
        q = x[i]
    return s + q

Python keeps such a name undefined until it is set. The residual program has a flag for it that says whether it has been
set, where that is not plain; where the name is read, the flag is checked, and `UnboundLocalError` is raised as Python
would. A name that one trip reads and an earlier one sets gets a typed first value as well.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transad import ir
from transad.kinds import BOOL, INT, Array, Scalar
from transad.nodes import gast
from transad.passes.specialise.values import Frame, NotTyped, Part, Undefined, Val
from transad.quote import Node, call, constant, expr, name, tuple_

_FLAG = "_is_set\0"
_KINDS = (INT, Array("float64", 1), Array("float64", 2), Array("int64", 1))


class Unset(Part):
    """The part of the specialiser that gives names a first value before the loop that sets them."""

    def loop(self, s: Node, run: Callable[[Node], None]) -> None:
        """Emit a loop. What it leaves undefined at first is set before the outermost loop of the function."""
        around: list[Frame] = self.__dict__.setdefault("looping", [])
        if any(f is self.frame for f in around):
            run(s)
            return
        around.append(self.frame)
        try:
            self.attempt(s, run, self.frame)
        finally:
            around.pop()

    def attempt(self, s: Node, run: Callable[[Node], None], frame: Frame) -> None:
        put_back = self.checkpoint()
        try:
            run(s)
            return
        except Undefined as found:
            problem = found
        if problem.frame is not frame or problem.identifier not in _set_in(s):
            raise problem
        for kind in _KINDS:
            put_back()
            self.preset(frame, problem.identifier, kind)
            try:
                self.attempt(s, run, frame)
            except NotTyped:
                continue
            if _alike(frame.vars.get(problem.identifier), kind):
                return
        raise problem

    def checkpoint(self) -> Callable[[], None]:
        """How to put the specialiser back to where it is now."""
        taken, own, kinds = set(self.names.taken), set(self.own), dict(self.kinds)
        slots, state = [(f, dict(f.slots)) for f in self.frames], self.snapshot()
        buffer, length, count, frame = self.buffer, len(self.buffer), len(self.frames), self.frame
        lowered, constants, place = dict(self.lowered), dict(self.constants), (self.line, self.source)
        rebound, loops, calls = set(self.rebound), list(self.loops), list(self.calls)

        def put_back() -> None:
            self.names.taken, self.own, self.kinds = set(taken), set(own), dict(kinds)
            self.buffer, self.frame = buffer, frame
            del self.buffer[length:]
            del self.frames[count:]
            for f, known in slots:
                f.slots = dict(known)
            self.restore(state)
            self.lowered, self.constants = dict(lowered), dict(constants)
            self.line, self.source = place
            self.rebound, self.loops[:], self.calls[:] = set(rebound), loops, calls
        return put_back

    def preset(self, frame: Frame, identifier: str, kind: Scalar | Array) -> None:
        flag = flag_of(identifier)
        frame.vars[flag] = self.assign(frame, flag, Val(constant(False), BOOL, False))
        zero: Node = constant(0)
        if isinstance(kind, Array):
            size = constant(0) if kind.ndim == 1 else tuple_([constant(0)] * kind.ndim)
            zero = call("np.empty", size, name(f"np.{kind.dtype}"))
        frame.vars[identifier] = self.assign(frame, identifier, Val(zero, kind))

    def begin(self, frame: Frame, unsure: set[str]) -> None:
        """Flag the names of a function that some path reads before anything has set them."""
        for identifier in sorted(unsure - set(frame.vars)):
            frame.vars[flag_of(identifier)] = Val(constant(False), BOOL, False)

    def mark_set(self, frame: Frame, identifier: str, value: bool = True) -> None:
        """A name that was perhaps undefined has been assigned, or deleted."""
        flag = flag_of(identifier)
        if flag not in frame.vars:
            return
        known = Val(constant(value), BOOL, value)
        if isinstance(frame.vars[flag].expr, gast.Constant):
            frame.vars[flag] = known
            return
        source, self.source = self.source, ""
        frame.vars[flag] = self.assign(frame, flag, known)
        self.source = source

    def set_by_each_trip(self, key: str, old: Any, new: Any) -> bool:
        """Whether a loop that starts without a name has it at the end of every trip: it is set if there was a trip."""
        return key.endswith(_FLAG) and all(isinstance(v, Val) and isinstance(v.expr, gast.Constant) for v in (old, new)) and (
            old.const is False and new.const is True)

    def flag_trips(self, head: list[tuple[Frame, dict[str, Any]]], loop: ir.For) -> None:
        """Before a loop: the flags of what each of its trips sets say whether there is a trip."""
        for frame, variables in head:
            for key, old in variables.items():
                if not self.set_by_each_trip(key, old, frame.vars.get(key)):
                    continue
                first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
                trips = expr("b > a", a=first, b=last)
                frame.vars[key] = self.assign(frame, key, Val(trips, BOOL))

    def check_set(self, frame: Frame, identifier: str) -> None:
        """Raise at run time, as Python does, if a name that is read has not been set yet."""
        flag = frame.vars.get(flag_of(identifier))
        if flag is None or flag.const is True:
            return
        message = f"cannot access local variable '{identifier}' where it is not associated with a value"
        self.emit(ir.If(expr("not f", f=flag.expr), [ir.Exit("raise", self.raised(UnboundLocalError, [constant(message)]),
                                                             line=self.line)], []))
        frame.vars[flag_of(identifier)] = Val(flag.expr, BOOL, True)


def flag_of(identifier: str) -> str:
    """The variable, of a name that no user can have, that says whether a name has been set."""
    return f"{identifier}{_FLAG}"


def own_names(function: Node) -> frozenset[str]:
    """The local names of a function: those that its text assigns, but for what is global or nonlocal there."""
    found = {a.id for a in gast.walk(function.args) if isinstance(a, gast.Name) and not isinstance(a.ctx, gast.Load)}
    outer: set[str] = set()
    pending = list(function.body) if isinstance(function.body, list) else []
    while pending:
        n = pending.pop()
        if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load):
            found.add(n.id)
        elif isinstance(n, gast.Global | gast.Nonlocal):
            outer |= set(n.names)
        if isinstance(n, gast.FunctionDef | gast.ClassDef):
            found.add(n.name)
        elif not isinstance(n, gast.Lambda | gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp):
            pending += gast.iter_child_nodes(n)
    return frozenset(found - outer)


def _set_in(s: Node) -> set[str]:
    """The names that the statements of a loop assign (not the targets of loops)."""
    found: set[str] = set()
    for n in gast.walk(s):
        targets = n.targets if isinstance(n, gast.Assign) else [n.target] if isinstance(
            n, gast.AugAssign | gast.AnnAssign | gast.NamedExpr) else []
        for t in targets:
            found |= {x.id for x in gast.walk(t) if isinstance(x, gast.Name)}
    return found


def _alike(value: Any, kind: Scalar | Array) -> bool:
    """Whether a name ends up with a value of the guessed kind; a number may have widened."""
    if not isinstance(value, Val):
        return False
    return value.kind == kind or (isinstance(kind, Scalar) and isinstance(value.kind, Scalar))
