"""The specialiser: entry, variables, control-flow merges, and the state that the other modules of the pass share."""
from __future__ import annotations

import builtins
import enum
import types
from typing import Any

import numpy as np

from transad import ir
from transad.kinds import Array, Kind, Scalar, join, kind_of
from transad.names import Names
from transad.passes.duals import hidden
from transad.passes.specialise.calls import Calls
from transad.passes.specialise.derivatives import Derivatives
from transad.passes.specialise.expressions import Expressions
from transad.passes.specialise.indexing import Indexing
from transad.passes.specialise.loops import Loops
from transad.passes.specialise.marked import MarkedCalls
from transad.passes.specialise.numpy_calls import NumpyCalls
from transad.passes.specialise.recursion import Recursion, Registry
from transad.passes.specialise.statements import Statements
from transad.passes.specialise.values import UNKNOWN, Closure, Frame, NotTyped, Obj, Record, Tup, Undefined, Val
from transad.passes.specialise.vectorised import VectorisedCalls
from transad.quote import Node, constant, name, names_in, show
from transad.source import get_source

_PLAIN = (str, bytes, type(None), type(Ellipsis), types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
          types.MethodType, type, np.ufunc, np.dtype, enum.Enum)


class Specialiser(Statements, Expressions, Indexing, Calls, NumpyCalls, Loops, Recursion, MarkedCalls,
                  VectorisedCalls, Derivatives):
    """Runs the function on abstract values and emits the residual program as it goes."""

    def __init__(self, label: str) -> None:
        self.names = Names({"np", "math", label, *_helpers()})
        self.kinds: dict[str, Kind] = {}
        self.buffer: ir.Block = []
        self.frames: list[Frame] = []
        self.frame = Frame("", {})
        self.constants: dict[str, Any] = {}
        self.captures: dict[str, Any] = {}
        self.dependencies: list[tuple[Any, str, Any]] = []
        self.stopped: set[str] = set()
        self.calls: list[Any] = []
        self.line, self.source = 0, ""
        self.lines: dict[str, list[str]] = {}
        self.lowered: dict[int, tuple[Node, Node, frozenset[str], set[str]]] = {}
        self.own: set[str] = set()
        self.temporaries = 0
        self.rebound: set[str] = set()          # what the loop whose iterable is being evaluated assigns
        self.loops: list[object] = [object()]       # those that are being built, innermost last
        self.rebinds = False        # nested functions may assign the variables of their callers
        self.parameter_of: dict[str, str] = {}
        self.sources: dict[Any, Any] = {}
        self.widened = 0            # variables that hold an integer on one path and a float on another, so far
        self.gives_up = ""          # why the program may leave a call to the recorded path while it runs
        self.marked = False         # whether calls of functions marked `fwddiff` take their form of their own
        self.recursive: Registry | None = None          # the recursive functions of the program; None refuses them

    def again(self, label: str, caller: Specialiser) -> Specialiser:
        """A specialiser with the same parameters that starts anew, for a function that `caller` calls by name."""
        new = Specialiser(label)
        new.names = Names({*self.names.taken, "np", "math", label})
        new.kinds = dict(self.kinds)
        new.recursive, new.lines, new.sources = caller.recursive, caller.lines, caller.sources
        return new

    # -- the residual program -------------------------------------------------------------------------------------
    def emit(self, statement: ir.Statement) -> None:
        statement.line, statement.source = self.line, self.source
        self.buffer.append(statement)

    def let(self, wanted: str, value: Val) -> Val:
        """Name a value: `wanted = value` under a fresh name."""
        fresh = self.names.fresh(wanted)
        self.kinds[fresh] = value.kind
        self.emit(ir.Let(fresh, value.expr))
        return Val(name(fresh), value.kind, value.const)

    def atom(self, value: Val, wanted: str = "t") -> Val:
        """The value as a name or a literal."""
        return value if _is_atom(value.expr) else self.let(wanted, value)

    # -- variables ------------------------------------------------------------------------------------------------
    def residual(self, frame: Frame, path: str, kind: Kind) -> str:
        """The residual variable for a user's variable of a kind: the user's own name where it is free."""
        key = (path, kind.ndim if isinstance(kind, Array) else -1, kind.dtype if isinstance(kind, Array) else "")
        if key not in frame.slots:
            mine = not frame.inlined and path in self.own
            frame.slots[key] = path if mine else self.names.fresh(path.split("\0")[0])
            self.own.discard(path)
        slot = frame.slots[key]
        known = self.kinds.get(slot)
        self.widened += known not in (None, kind)
        self.kinds[slot] = kind if known is None else (join(known, kind) or kind)
        return slot

    def temporary(self, wanted: str) -> str:
        """A variable of the pass itself, by a path that no variable of the user can have."""
        self.temporaries += 1
        return f"{wanted}\0{self.temporaries}"

    def assign(self, frame: Frame, path: str, value: Any) -> Any:
        """Bind a value to a variable; numbers and arrays go through a residual assignment."""
        if isinstance(value, Val):
            slot = self.residual(frame, path, value.kind)
            if show(value.expr) != slot:
                self.emit(ir.Let(slot, value.expr))
            return Val(name(slot), self.kinds[slot] if isinstance(value.kind, Scalar) else value.kind, value.const)
        if isinstance(value, Tup):
            items = self.detach(self.retained(value).items, frame, path)
            return Tup([self.assign(frame, f"{path}_{k}", v) for k, v in enumerate(items)], value.cls)
        if isinstance(value, Record):
            if value.home is not None:
                value.home.bound += 1
            return Record(value.cls, {f: self.assign(frame, f"{path}_{f}", v) for f, v in value.fields.items()}, value.home)
        return self.retained(value)

    def detach(self, items: list[Any], frame: Frame, path: str) -> list[Any]:
        """Name the items that read a variable which an earlier item of the same tuple is about to overwrite."""
        slots = {s for (p, *_), s in frame.slots.items() if p.startswith(f"{path}_")}
        return [self.let("t", v) if k and isinstance(v, Val) and slots & set(_names(v.expr)) else v
                for k, v in enumerate(items)]

    def lookup(self, identifier: str, node: Node) -> Any:
        frame: Frame | None = self.frame
        if identifier in self.frame.outer_names:
            frame = self.frame.outer_names[identifier]
        while frame is not None:
            if identifier in frame.vars:
                self.check_set(frame, identifier)
                return self.taken(frame.vars[identifier], (id(frame), identifier), node)
            if identifier in frame.own:
                raise Undefined(identifier, frame, node)
            frame = frame.parent
        return self.lookup_global(identifier, node)

    def lookup_global(self, identifier: str, node: Node) -> Any:
        space = self.frame.globals
        if identifier in space:
            value = space[identifier]
            self.dependencies.append((space, identifier, value))
            return self.lift(value, identifier, node)
        if hasattr(builtins, identifier):
            return Obj(getattr(builtins, identifier))
        raise Undefined(identifier, self.frame, node)

    def lift(self, value: Any, wanted: str, node: Node | None) -> Any:
        """A run-time object as an abstract value that never changes."""
        kind = kind_of(value)
        if isinstance(kind, Scalar):
            plain = value.item() if isinstance(value, np.generic) and kind.dtype in ("float64", "int64") else value
            if isinstance(plain, np.generic):
                return self.constant_object(value, wanted, kind)
            if plain != plain or plain in (float("inf"), float("-inf")):
                return Val(constant(plain), kind)
            return Val(constant(plain), kind, plain)
        if isinstance(kind, Array):
            return self.constant_object(value, wanted, kind)
        if type(value) in (tuple,) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            return Tup([self.lift(v, f"{wanted}_{k}", node) for k, v in enumerate(value)], type(value))
        if isinstance(value, _PLAIN) or callable(value):
            return Obj(value)
        raise NotTyped(f"{wanted} is a {type(value).__name__}, which the typed path cannot follow", node)

    def constant_object(self, value: Any, wanted: str, kind: Kind) -> Val:
        for known, held in self.constants.items():
            if held is value:
                return Val(name(known), kind)
        fresh = self.names.fresh(wanted)
        self.constants[fresh], self.kinds[fresh] = value, kind
        return Val(name(fresh), kind)

    # -- merges ---------------------------------------------------------------------------------------------------
    def snapshot(self) -> list[tuple[Frame, dict[str, Any]]]:
        return [(f, dict(f.vars)) for f in self.frames]

    def restore(self, saved: list[tuple[Frame, dict[str, Any]]]) -> None:
        for frame, variables in saved:
            frame.vars = dict(variables)

    def branch(self, test: Val, then: Any, orelse: Any) -> None:
        """Emit `if test`, run both arms, and bring the variables together."""
        before, outer = self.snapshot(), self.buffer
        arms = []
        for run in (then, orelse):
            self.restore(before)
            self.buffer = []
            run()
            arms.append((self.buffer, self.snapshot()))
        self.buffer = outer
        (block_a, after_a), (block_b, after_b) = arms
        if _raises(block_a) or _raises(block_b):
            self.restore(after_b if _raises(block_a) else after_a)
        else:
            for (frame, vars_a), (_, vars_b) in zip(after_a, after_b, strict=False):
                frame.vars = {}
                for key in [*vars_a, *(k for k in vars_b if k not in vars_a)]:
                    frame.vars[key] = self.merge(frame, key, vars_a.get(key), vars_b.get(key), block_a, block_b)
        self.emit(ir.If(test.expr, block_a, block_b))

    def merge(self, frame: Frame, path: str, a: Any, b: Any, block_a: ir.Block, block_b: ir.Block) -> Any:
        """The value of a variable after both arms; a variable that one arm lacks keeps the other's."""
        if a is None or b is None:
            return a if b is None else b
        if isinstance(a, Val) and isinstance(b, Val):
            return self.merge_values(frame, path, a, b, block_a, block_b)
        if isinstance(a, Tup) and isinstance(b, Tup) and len(a.items) == len(b.items) and a.cls is b.cls:
            return Tup([self.merge(frame, f"{path}_{k}", x, y, block_a, block_b)
                        for k, (x, y) in enumerate(zip(a.items, b.items, strict=True))], a.cls)
        if isinstance(a, Record) and isinstance(b, Record) and a.fields.keys() == b.fields.keys():
            return Record(a.cls, {f: self.merge(frame, f"{path}_{f}", a.fields[f], b.fields[f], block_a, block_b)
                                  for f in a.fields})
        if a is b or (isinstance(a, Obj) and isinstance(b, Obj) and a.value is b.value):
            return a
        if isinstance(a, Closure) and isinstance(b, Closure) and a.node is b.node and a.frame is b.frame:
            return a
        return _Conflict(path)

    def merge_values(self, frame: Frame, path: str, a: Val, b: Val, block_a: ir.Block, block_b: ir.Block) -> Any:
        same = show(a.expr) == show(b.expr)
        kind = join(a.kind, b.kind)
        if kind is None:
            return _Conflict(path)
        self.widened += a.kind != b.kind
        const = a.const if a.const is not UNKNOWN and a.const == b.const and type(a.const) is type(b.const) else UNKNOWN
        if same:
            return Val(a.expr, kind, const)
        slot = self.residual(frame, path, kind)
        for value, block in ((a, block_a), (b, block_b)):
            if show(value.expr) != slot:
                _before_exit(block, ir.Let(slot, value.expr, line=self.line, source=""))
        return Val(name(slot), kind, const)


class _Conflict:
    """A variable that holds things of different sorts on different paths; reading it is refused."""

    def __init__(self, path: str) -> None:
        self.path = path


def _helpers() -> frozenset[str]:
    """The names of the functions that emitted code calls: no variable may hide them."""
    from transad.emit import HELPERS
    from transad.runtime.kernels import HELPERS as OF_KERNELS
    return frozenset({*HELPERS, *OF_KERNELS})


def _before_exit(block: ir.Block, statement: ir.Statement) -> None:
    """Append at the tail, but before a marker; in every arm of a tail branch that holds markers."""
    last = block[-1] if block else None
    if isinstance(last, ir.Exit):
        block.insert(len(block) - 1, statement)
    elif isinstance(last, ir.If) and any(isinstance(s, ir.Exit) for s in ir.walk(last.then + last.orelse)):
        for arm in (last.then, last.orelse):
            _before_exit(arm, type(statement)(**vars(statement)))
    else:
        block.append(statement)


def _raises(block: ir.Block) -> bool:
    """Whether every path ends in a raise."""
    last = block[-1] if block else None
    if isinstance(last, ir.Exit):
        return last.how == "raise"
    return isinstance(last, ir.If) and _raises(last.then) and _raises(last.orelse)


def _is_atom(node: Node) -> bool:
    return type(node).__name__ in ("Name", "Constant")


def _names(node: Node) -> list[str]:
    return list(names_in(node))


def specialise(function: types.FunctionType, arguments: dict[str, Any],
               captured: dict[str, Any], label: str, recursion: bool = False,
               marked: bool = False) -> tuple[ir.Program, Specialiser, Any]:
    """The program of `function` for abstract `arguments` (name -> builder of its value, see `transad.typed`).
    `recursion`: recursive calls become calls by name, else they are refused; `marked`: calls of functions marked
    `fwddiff` take their form of their own, else they are inlined like any call.

    Returns the program, the specialiser (its dependencies and constants), and the abstract result."""
    source = get_source(function)
    s = Specialiser(label)
    s.recursive = Registry(label) if recursion else None
    s.marked = marked
    s.lines[source.filename] = source.lines
    frame = Frame(function.__name__, function.__globals__, filename=source.filename)
    outer = Frame("captured", function.__globals__)
    s.frames += [outer, frame]
    for key, build in captured.items():
        outer.vars[key] = build(s, key)
    frame.parent = outer
    parameters: list[str] = []
    for key, build in arguments.items():
        frame.vars[key] = build(s, key)
    parameters = list(s.kinds)
    for key, value in frame.vars.items():
        if isinstance(value, Val):
            kind = value.kind
            frame.slots[(key, kind.ndim if isinstance(kind, Array) else -1,
                         kind.dtype if isinstance(kind, Array) else "")] = show(value.expr)
    s.frame = frame
    s.calls.append(function.__code__)
    try:
        result = s.run_function(source.tree, frame)
    except NotTyped as problem:
        problem.filename = problem.filename or s.frame.filename
        problem.line = problem.line or s.line
        problem.dependencies = s.dependencies
        raise
    s.stopped |= hidden(s.buffer)
    leaves: list[Val] = []
    s.collect_results(result, leaves)
    held = {k: v for k, v in s.constants.items() if k in s.kinds}
    parameters += held
    s.constants = {k: v for k, v in s.constants.items() if k not in held}
    s.captures = held
    program = ir.Program(label, parameters, s.buffer, [v.expr for v in leaves], s.kinds, s.constants, source.filename)
    return program, s, result
