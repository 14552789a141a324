"""What the compiler makes of a function for arguments of given kinds, without running it.

A `Plan` says which path a derivative takes and why, and holds what every pass made. It is what `transad show`,
`transad explain` and `f.source()` print from.

>>> def f(x, y):
...     return x * y
>>> plan = planned(f, signature="float64, float64")
>>> plan.path, plan.wanted
('typed', ['x'])
"""
from __future__ import annotations

import ast
import copy
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from transad.command.targets import near
from transad.describe import Shape, described, leaf_kinds
from transad.errors import InvalidArgument, Place, Unsupported
from transad.function import options_of, unwrapped
from transad.names import Names
from transad.options import Options
from transad.passes.lower_exits import lower_exits
from transad.passes.specialise.values import NotTyped
from transad.pipeline import State, run
from transad.rules import load
from transad.rules.registry import find
from transad.signatures import Assumed, assumed, spelled
from transad.source import Source, get_source
from transad.typed import plain_function

__all__ = ["Plan", "Refused", "planned"]


@dataclass(frozen=True)
class Refused:
    """Why the typed path does not take a function, and where."""

    reason: str
    filename: str = ""
    line: int = 0

    @property
    def place(self) -> Place | None:
        return Place(self.filename, self.line) if self.filename and self.line else None


@dataclass
class Plan:
    """One function, the shapes of its arguments, and what came of it. `state` is None where no pass ran."""

    function: Any                    # a plain Python function
    source: Source
    arguments: list[Assumed]
    wanted: list[str]
    state: State | None = None
    refused: Refused | None = None
    notes: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)          # of the arguments that are known

    @property
    def path(self) -> str:
        return "recorded" if self.refused else "typed"

    @property
    def label(self) -> str:
        return self.state.label if self.state is not None else self.function.__name__

    @property
    def text(self) -> str:
        """The emitted module: of the maps where the function has some, else of the pair."""
        assert self.state is not None
        return self.state.chain.text if self.state.chain is not None else self.state.text

    @property
    def signature(self) -> str:
        return ", ".join(f"{a.name}: {spelled(a.shape)}" for a in self.arguments)

    def after(self) -> dict[str, str]:
        """The program as text after each pass that ran, in order."""
        out = _lowered(self.source)
        if self.state is not None:
            out.update(self.state.after)
        if self.refused:
            out["record"] = ast.unparse(self.recorded())
        return out

    def recorded(self) -> ast.AST:
        """The tree that the recorded path runs; decorators are not part of it."""
        from transad.passes.record import Recorder
        node = copy.deepcopy(self.source.node)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        return ast.fix_missing_locations(Recorder(self.source).visit(node))


def planned(function: Any, args: tuple = (), *, signature: str | None = None, wrt: Any = None,
            options: dict[str, Any] | None = None) -> Plan:
    """The plan for a call with `args`, or for assumed arguments where there are none.

    wrt: names or positions of the arguments to differentiate (a text may hold several, separated by commas);
    default the first, as for `grad`."""
    given = {**options_of(function), **(options or {})}
    f, bound = _plain(unwrapped(function))
    source = get_source(f)
    slots = f.__code__.co_varnames[:f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
    arguments = [_actual(n, v) for n, v in zip(slots, bound, strict=False)]
    if args:
        arguments += [_actual(n, v) for n, v in zip(slots[len(bound):], args, strict=False)]
        arguments += [a for a in assumed(f) if a.name in slots[len(arguments):]]
    else:
        arguments += assumed(f, signature, skip=len(bound))
    wanted, notes = _wanted(wrt, arguments, len(bound))
    plan = Plan(f, source, arguments, wanted, notes=notes, values=dict(zip(slots, (*bound, *args), strict=False)))
    chosen = Options.of(given)
    plan.refused = _beforehand(plan, chosen) or _compiled(plan, chosen)
    return plan


def _plain(function: Any) -> tuple[types.FunctionType, tuple]:
    """The Python function behind a callable; that of `__call__` for an object."""
    load()
    if find(function) is not None:
        raise InvalidArgument(f"{getattr(function, '__name__', function)} is a library function with a derivative rule "
                              "of its own; its text is not differentiated", instead="transad rules shows the rule")
    found = plain_function(function)
    if found is None and not isinstance(function, type):
        method = vars(type(function)).get("__call__")
        found = (method, (function,)) if isinstance(method, types.FunctionType) else None
        inner = getattr(function, "__wrapped__", getattr(function, "func", None))
        if inner is not None and plain_function(unwrapped(inner)) is not None:
            found = plain_function(unwrapped(inner))
    if found is None:
        raise InvalidArgument(f"{function!r} is not a function written in Python",
                              instead="name a function, a method or a callable object")
    return found


def _actual(name: str, value: Any) -> Assumed:
    shape, _ = described(value)
    why = "" if shape is not None else f"it is {_a(type(value).__name__)}"
    return Assumed(name, shape, "argument" if shape is not None else "nothing", why)


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _real(a: Assumed) -> bool:
    return a.shape is None or any(k.real for k in leaf_kinds(a.shape))


def _wanted(wrt: Any, arguments: list[Assumed], bound: int) -> tuple[list[str], list[str]]:
    """The names of the arguments to differentiate, and what there is to say about the choice."""
    free = [a.name for a in arguments[bound:]]
    if wrt is None:
        first = next((a.name for a in arguments[bound:] if _real(a)), None)
        if first is None:
            return free[:1], []
        skipped = f"differentiated with respect to {first}, the first argument that is real"
        return [first], [] if first == free[0] else [skipped]
    items: Sequence[Any] = [p.strip() for p in wrt.split(",") if p.strip()] if isinstance(wrt, str) else \
        [wrt] if isinstance(wrt, int) else list(wrt)
    names = []
    for item in items:
        number = int(item) if isinstance(item, int) or item.lstrip("-").isdigit() else None
        if number is not None and -len(free) <= number < len(free):
            names.append(free[number])
        elif item in free:
            names.append(item)
        else:
            hint = near(str(item), free) or free
            raise InvalidArgument(f"there is no argument {item}", instead=f"the arguments are {', '.join(hint)}")
    return list(dict.fromkeys(names)), []


def _beforehand(plan: Plan, options: Options) -> Refused | None:
    """Reasons that can be seen without running a pass."""
    code, at = plan.function.__code__, (plan.source.filename, plan.source.first_line)
    if options.path == "recorded":
        return Refused("path='recorded' was asked for")
    if code.co_flags & 0x0C:
        return Refused("*args and **kwargs have no kinds that are known beforehand", *at)
    if code.co_flags & 0x20:
        return Refused("it is a generator", *at)
    for a in plan.arguments:
        if a.shape is None:
            return Refused(f"the kind of {a.name} is not known" + (f": {a.why}" if a.why else ""), *at)
    return None


def _compiled(plan: Plan, options: Options) -> Refused | None:
    """Run the passes; the reason if one of them refuses."""
    captured: dict[str, Shape] = {}
    for name, cell in zip(plan.function.__code__.co_freevars, plan.function.__closure__ or (), strict=True):
        try:
            shape, _ = described(cell.cell_contents)
        except ValueError:
            return Refused(f"the captured variable {name} has no value yet")
        if shape is None:
            return Refused(f"the captured variable {name} is {_a(type(cell.cell_contents).__name__)}")
        captured[name] = shape
    shapes = {a.name: a.shape for a in plan.arguments if a.shape is not None}
    for w in plan.wanted:
        for kind in leaf_kinds(shapes[w]):
            if not kind.real:
                return Refused(f"the differentiated argument {w} holds {kind.dtype} values")
    plan.state = State(plan.function, shapes, captured, plan.wanted, watch=True, options=options)
    try:
        run(plan.state)
    except NotTyped as problem:
        return Refused(_worded(problem.reason), problem.filename or plan.source.filename, problem.line)
    return None


_NOUNS = {"Dict": "dicts", "JoinedStr": "f-strings", "Set": "sets", "SetComp": "set comprehensions", "DictComp":
          "dict comprehensions", "Yield": "generators", "YieldFrom": "generators", "Await": "coroutines"}


def _worded(reason: str) -> str:
    """A reason that names a node of the syntax tree, in the words of the language."""
    kind, _, rest = reason.partition(" expressions are not typed")
    return reason if kind == reason or rest else f"{_NOUNS.get(kind, kind)} are not typed"


def _lowered(source: Source) -> dict[str, str]:
    """The function after the first pass, which runs inside `specialise`."""
    if not isinstance(source.node, ast.FunctionDef):
        return {}
    from transad.nodes import gast
    names = {n.id for n in ast.walk(source.node) if isinstance(n, ast.Name)}
    try:
        new = gast.gast_to_ast(lower_exits(source.tree, Names(names)))
        return {"lower_exits": ast.unparse(ast.fix_missing_locations(new))}
    except (NotTyped, Unsupported):
        return {}
