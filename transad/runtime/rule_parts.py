"""What a rule needs: its partial derivatives one by one, and which arguments each of them reads.

`partials` rules return all partials at once. To compute (and keep) only those asked for, the rule's source is split:

    def _(x, y, *, out):                       def _(x, y, *, out):
        return 1.0 / y, -out / y      ->           return 1.0 / y        (and the same for the second)
"""
from __future__ import annotations

import ast
import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import TransadError
from ..rules.registry import Rule, _Component
from ..source import get_source
from .records import store
from .sweep import Sweep

__all__ = ["AdjointParts", "PartialParts", "adjoint_parts", "constant_parts", "names_read", "partial_parts"]


@dataclass(frozen=True)
class Part:
    """One partial derivative: `function(*args[, out=])`."""

    function: Callable
    takes_out: bool
    read: frozenset[int] | None

    def reads(self, position: int) -> bool:
        return self.read is None or position in self.read


class PartialParts:
    """The partial derivatives of an elementwise rule."""

    def __init__(self, rule: Rule) -> None:
        assert rule.partials is not None
        self._function = rule.partials
        self._takes_out = "out" in inspect.signature(rule.partials).parameters
        self._split = _split(rule.partials)
        self._parts: dict[int, Part | None] = {}

    def part(self, position: int) -> Part | None:
        """The partial with respect to one positional argument; None when there is none."""
        if position not in self._parts:
            self._parts[position] = self._make(position)
        return self._parts[position]

    def _make(self, position: int) -> Part | None:
        if self._split is not None:
            if position >= len(self._split):
                return None
            function = self._split[position]
            code = function.__code__
            names = list(code.co_varnames[:code.co_argcount])
            if code.co_flags & inspect.CO_VARARGS:
                return Part(function, self._takes_out, None)
            read = names_read(code)
            return Part(function, self._takes_out, frozenset(k for k, n in enumerate(names) if n in read))
        whole = self._function
        return Part(functools.partial(_component, whole, position), self._takes_out, None)


def _component(whole: Callable, position: int, *args: Any, **kwargs: Any) -> Any:
    result = whole(*args, **kwargs)
    if isinstance(result, tuple):
        return result[position]
    return result


def names_read(code: types.CodeType) -> set[str]:
    """The variables that a function reads."""
    import dis
    names = {i.argval for i in dis.get_instructions(code) if i.opname.startswith(("LOAD_FAST", "LOAD_DEREF",
                                                                                  "LOAD_CLOSURE"))}
    flat: set[str] = set()
    for name in names:
        flat.update(name if isinstance(name, tuple) else (name,))
    return flat


def _split(function: Callable) -> list[Any] | None:
    """One function per entry of the returned tuple; None when the body is not straight-line."""
    try:
        source = get_source(function)
    except TransadError:
        return None
    node = source.node
    if not isinstance(node, ast.FunctionDef):
        return None
    *body, last = node.body
    if not isinstance(last, ast.Return) or last.value is None or any(
            not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name) for s in body):
        return None
    values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    return [_with_result(function, source, value) for value in values]


def _with_result(function: Any, source: Any, value: ast.expr) -> Any:
    """The rule with `return value` alone and the assignments that it needs; registered so that it has a source."""
    from .twin import make_function
    node = copy.deepcopy(source.node)
    node.decorator_list = []
    needed = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    body: list[ast.stmt] = [ast.copy_location(ast.Return(copy.deepcopy(value)), node.body[-1])]
    for statement in reversed(node.body[:-1]):
        if statement.targets[0].id in needed:
            needed |= {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
            body.insert(0, statement)
    node.body = body
    return make_function(function, node, source)


@functools.cache
def _cached_partials(rule_id: int, function: Callable) -> PartialParts:
    return PartialParts(_BY_ID[rule_id])


_BY_ID: dict[int, Rule] = {}


def partial_parts(rule: Rule) -> PartialParts:
    """The parts of an elementwise rule, made once."""
    _BY_ID[id(rule)] = rule
    return _cached_partials(id(rule), rule.partials)  # type: ignore[arg-type]


@functools.cache
def _cached_constant(function: Callable) -> PartialParts:
    return PartialParts(Rule(function, function))


def constant_parts(rule: Rule) -> PartialParts:
    """The short form of a rule for a second argument that is one constant number."""
    return _cached_constant(rule.constant)  # type: ignore[arg-type]


class AdjointParts:
    """The adjoints of a rule by argument name, and how a call binds to these names."""

    def __init__(self, rule: Rule) -> None:
        self.adjoints: dict[str, tuple[Callable, int | None]] = {}
        functions = []
        for name, adjoint in rule.adjoints.items():
            if isinstance(adjoint, _Component):
                self.adjoints[name] = (adjoint.function, adjoint.position)
            else:
                self.adjoints[name] = (adjoint, None)
            functions.append(self.adjoints[name][0])
        parameters = list(inspect.signature(functions[0]).parameters.values())[2:]
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.overwrites = [k for k, name in enumerate(self.names) if name.startswith("overwrite_")]
        self.rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self.out_position = self.names.index("buffer") if "buffer" in self.names else (
            len(self.names) if self.rest is None else None)
        read = [names_read(f.__code__) if isinstance(f, types.FunctionType) else None for f in functions]
        self._read = None if None in read else set().union(*read)  # type: ignore[arg-type]
        self.reads_out = self._read is None or "out" in self._read
        self.ours = all((getattr(f, "__module__", None) or "").startswith("transad.rules.") for f in functions)

    def bind(self, args: tuple, kwargs: dict) -> Iterator[tuple[str, Any]]:
        """(name, value) of every argument given; the variadic ones as one tuple."""
        count = len(self.names)
        yield from zip(self.names, args, strict=False)
        if len(args) > count:
            yield self.rest or f"number {count}", tuple(args[count:])
        yield from kwargs.items()

    def kept_args(self, sweep: Sweep, args: tuple) -> tuple:
        """The arguments saved for the reverse sweep."""
        return tuple(store(sweep, value) for value in args)

    def kept_kwargs(self, sweep: Sweep, kwargs: dict) -> dict:
        """The keyword arguments saved for the reverse sweep."""
        return {k: store(sweep, v) for k, v in kwargs.items()}


_ADJOINTS: dict[int, tuple[Rule, int, AdjointParts]] = {}


def adjoint_parts(rule: Rule) -> AdjointParts:
    """The parts of a rule with adjoints (made again when an adjoint was added since)."""
    found = _ADJOINTS.get(id(rule))
    if found is None or found[1] != len(rule.adjoints):
        found = _ADJOINTS[id(rule)] = (rule, len(rule.adjoints), AdjointParts(rule))
    return found[2]
