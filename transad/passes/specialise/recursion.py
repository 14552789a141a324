"""Recursion in compiled code: a function that calls itself is specialised on its own and called by name.

Everything else is inlined; a recursive call cannot be. The call becomes an opaque one, `t = power_call(x, k, False)`,
over numbers and arrays only: what the function captures is passed as arguments, functions and texts that it is given
are part of what it is specialised for. `emit_recursion` prints what the call runs.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad import ir
from transad.kinds import FLOAT, Array, Scalar
from transad.nodes import gast
from transad.passes.specialise.values import Closure, Frame, NotTyped, Obj, Part, Record, Tup, Val
from transad.quote import Node, call, constant, index, name

_MOST = 12          # specialisations of recursive functions in one program
_ROUNDS = 4         # guesses of the kinds that one returns


@dataclass(eq=False)
class Recursive:
    """One recursive function for arguments of known kinds. `structure`: its abstract result; `results`: the kinds in it."""

    name: str
    structure: Any
    node: Node
    program: ir.Program | None = None
    specialiser: Any = None
    primal: Any = None
    pair: Any = None
    counted: set[int] = field(default_factory=set)          # the positions of integers that only count

    @property
    def label(self) -> str:
        return getattr(self.node, "name", "a lambda")

    @property
    def results(self) -> list[Any]:
        return [v.kind for v in _leaves(self.structure)]

    @property
    def packed(self) -> bool:
        """Several numbers are returned in one array."""
        return len(self.results) > 1

    @property
    def kind(self) -> Any:
        return Array("float64", 1) if self.packed else self.results[0]


@dataclass
class Registry:
    """The recursive functions of one program, by what they are specialised for."""

    label: str
    known: dict[Any, Recursive] = field(default_factory=dict)

    def fresh(self, wanted: str) -> str:
        taken = {self.label, *(r.name for r in self.known.values())}
        return next(n for n in (wanted, *(f"{wanted}_{k}" for k in range(1, _MOST + 2))) if n not in taken)

    def by_name(self) -> dict[str, Recursive]:
        return {r.name: r for r in self.known.values()}


class Recursion(Part):
    """The part of the specialiser that handles calls of functions that are already being specialised."""

    def call_recursive(self, f: Closure, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """The result of a recursive call: numbers that an opaque call returns."""
        if self.recursive is None:
            raise NotTyped(f"{f.name} is recursive", node)
        bound = self.bound(f, args, keywords, node)
        anew: Any = type(self)
        opened = _Opened(anew(f.name), self.frame_leaf)
        inner = opened.value(f, f.name)
        arguments = {k: opened.value(v, k) for k, v in bound.items()}
        key = (opened.seen[id(f)][0], tuple(opened.described))
        entry = self.recursive.known.get(key)
        if entry is None:
            if len(self.recursive.known) >= _MOST:
                raise NotTyped(f"{f.name} is recursive and is given a new function or text at every level", node)
            entry = self.specialised(key, f, inner, arguments, opened, node)
        atoms = [self.atom(v, "t").expr for v in opened.leaves]
        value = self.let("t", Val(call(entry.name, *atoms, constant(False)), entry.kind))
        parts = [Val(index(value.expr, [constant(k)]), kind) for k, kind in enumerate(entry.results)]
        return _filled(entry.structure, iter(parts if entry.packed else [value]))

    def frame_leaf(self, identifier: str, frame: Frame | None) -> Any:
        """What a free name of a function means in the frame around it; None for a global."""
        while frame is not None:
            if identifier in frame.vars:
                return frame.vars[identifier]
            frame = frame.parent
        return None

    def specialised(self, key: Any, f: Closure, inner: Closure, arguments: dict[str, Any], opened: _Opened,
                    node: Node) -> Recursive:
        """The function for these arguments. What a call of it returns is needed while it is specialised: guessed, and
        done again with what came out until both agree."""
        before = dict(self.recursive.known)
        entry = Recursive(self.recursive.fresh(f"{f.name.strip('<>')}_call"), _guess(f.node), f.node)
        for _ in range(_ROUNDS):
            self.recursive.known = {**before, key: entry}
            found = self.run_recursive(entry, f, inner, arguments, opened)
            if _shape(found) == _shape(entry.structure):
                return entry
            entry.structure = found
        raise NotTyped(f"{f.name} is recursive and does not always return numbers of the same kinds", node)

    def run_recursive(self, entry: Recursive, f: Closure, inner: Closure, arguments: dict[str, Any],
                      opened: _Opened) -> Any:
        s = opened.specialiser.again(entry.name, self)
        frame = Frame(f.name, inner.frame.globals, inner.frame, vars=dict(arguments),
                      filename=f.frame.filename or self.frame.filename)
        s.frames += [inner.frame, frame]
        s.frame = frame
        for label, value in arguments.items():
            if isinstance(value, Val):
                frame.slots[_slot(label, value.kind)] = value.expr.id
        s.calls.append(f.key)
        parameters = list(s.kinds)
        try:
            result = s.run_function(f.node, frame)
        except NotTyped as problem:
            if _shape(entry.structure) == _shape(_guess(f.node)):          # perhaps because it does not return numbers
                problem = NotTyped(f"{f.name} is recursive and must return numbers to be compiled ({problem.reason})", f.node)
            problem.filename = problem.filename or s.frame.filename
            problem.line = problem.line or s.line
            raise problem from None
        leaves: list[Val] = []
        s.collect_results(result, leaves)
        _check(f, s, leaves)
        self.dependencies += s.dependencies
        entry.specialiser = s
        entry.program = ir.Program(entry.name, parameters, s.buffer, [v.expr for v in leaves], s.kinds, s.constants,
                                   frame.filename)
        return result


class _Opened:
    """Values of the caller as a function of its own sees them: every number and array is a parameter."""

    def __init__(self, specialiser: Any, look_up: Any) -> None:
        self.specialiser, self.look_up = specialiser, look_up
        self.leaves: list[Val] = []
        self.described: list[Any] = []
        self.seen: dict[int, tuple[Any, Closure]] = {}

    def value(self, v: Any, label: str) -> Any:
        if isinstance(v, Val):
            new = self.specialiser.names.fresh(label)
            self.specialiser.kinds[new] = v.kind
            self.leaves.append(v)
            self.described.append(str(v.kind))
            return Val(name(new), v.kind)
        if isinstance(v, Tup):
            self.described.append((v.cls, len(v.items)))
            return Tup([self.value(x, f"{label}_{k}") for k, x in enumerate(v.items)], v.cls)
        if isinstance(v, Record):
            self.described.append((v.cls, *v.fields))
            return Record(v.cls, {k: self.value(x, f"{label}_{k}") for k, x in v.fields.items()})
        if isinstance(v, Obj):
            self.described.append((type(v.value), v.value if isinstance(v.value, str | bytes) else id(v.value)))
            return v
        if isinstance(v, Closure):
            return self.closure(v)
        raise NotTyped(f"{label}, which a recursive function uses, is not made of numbers and arrays")

    def closure(self, f: Closure) -> Closure:
        if id(f) in self.seen:
            self.described.append(self.seen[id(f)][0])
            return self.seen[id(f)][1]
        bound = {n.id for n in gast.walk(f.node.args) if isinstance(n, gast.Name)}
        if any(isinstance(n, gast.Nonlocal) for n in gast.walk(f.node)):
            raise NotTyped(f"{f.name} is recursive and assigns variables of the function around it", f.node)
        inner: set[str] = bound | {n.id for n in gast.walk(f.node) if isinstance(n, gast.Name)
                                   and not isinstance(n.ctx, gast.Load)}
        free = sorted({n.id for n in gast.walk(f.node) if isinstance(n, gast.Name)} - inner)
        frame = Frame(f.frame.name, f.frame.globals, filename=f.frame.filename)
        new = Closure(f.node, frame, {}, f.name, f.key)
        self.seen[id(f)] = (f.key, new)
        self.described.append(f.key)
        new.defaults = {k: self.value(v, k) for k, v in f.defaults.items()}
        for label in free:
            found = self.look_up(label, f.frame)
            if found is not None:
                self.described.append(label)
                frame.vars[label] = self.value(found, label)
        return new


def _guess(tree: Node) -> Any:
    """A number, or as many as a `return a, b` has."""
    for n in gast.walk(tree):
        if isinstance(n, gast.Return) and isinstance(n.value, gast.Tuple):
            return Tup([Val(constant(0.0), FLOAT) for _ in n.value.elts])
    return Val(constant(0.0), FLOAT)


def _leaves(structure: Any) -> list[Val]:
    if isinstance(structure, Val):
        return [structure]
    parts = structure.items if isinstance(structure, Tup) else list(structure.fields.values()) if isinstance(
        structure, Record) else []
    return [v for p in parts for v in _leaves(p)]


def _shape(structure: Any) -> Any:
    if isinstance(structure, Val):
        return str(structure.kind)
    if isinstance(structure, Tup):
        return (structure.cls, *map(_shape, structure.items))
    if isinstance(structure, Record):
        return (structure.cls, *((k, _shape(v)) for k, v in structure.fields.items()))
    return id(structure.value)


def _filled(structure: Any, values: Any) -> Any:
    if isinstance(structure, Val):
        return next(values)
    if isinstance(structure, Tup):
        return Tup([_filled(v, values) for v in structure.items], structure.cls)
    if isinstance(structure, Record):
        return Record(structure.cls, {k: _filled(v, values) for k, v in structure.fields.items()})
    return structure


def _slot(label: str, kind: Any) -> tuple[str, int, str]:
    return (label, kind.ndim if isinstance(kind, Array) else -1, kind.dtype if isinstance(kind, Array) else "")


def _check(f: Closure, s: Any, leaves: list[Val]) -> None:
    """What an opaque call can return and read."""
    kinds = [v.kind for v in leaves]
    if not kinds:
        raise NotTyped(f"{f.name} is recursive and returns no number", f.node)
    if any(isinstance(k, Array) for k in kinds):
        raise NotTyped(f"{f.name} is recursive and returns an array", f.node)
    if len(kinds) > 1 and any(not isinstance(k, Scalar) or k.dtype != "float64" for k in kinds):
        raise NotTyped(f"{f.name} is recursive and returns several numbers that are not all floats", f.node)
    held = [k for k in s.constants if k in s.kinds]
    if held:
        raise NotTyped(f"{f.name} is recursive and reads the array {held[0]} of its module: pass it as an argument",
                       f.node)
