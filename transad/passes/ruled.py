"""Calls that stay calls: a library function with a rule, and its adjoint by name.

In the program such a function goes by `ruled.` and the path that the text shows, so that no pass takes `np.sum` along an
axis for the `np.sum` that it knows. Only code that Python runs has them: Numba compiles none of the adjoints.

>>> import numpy as np
>>> from transad.quote import expr, name, show
>>> e = expr("f(x, axis=1)", f=name(ruled_name(np.max)), x=name("x"))
>>> is_ruled(e), show(e), function_of(e) is np.max
(True, 'np.max(x, axis=1)', True)
>>> adjoint = adjoint_name(e, "a")
>>> adjoint, sorted(reads(e, "a"))
('max_adjoint', ['a', 'axis', 'initial', 'keepdims', 'out', 'where'])
>>> x = np.array([[1.0, 3.0]])
>>> helper(adjoint)(np.array([2.0]), out=np.array([3.0]), a=x, axis=1)
array([[0., 2.]])
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import CodeType
from typing import Any

import numpy as np

from transad.ir import Block, expressions, walk
from transad.nodes import gast
from transad.printer import RULED
from transad.quote import Node, names_in, tuple_
from transad.rules.registry import Rule, find
from transad.runtime.rule_parts import adjoint_parts, names_read, partial_parts
from transad.runtime.typed_rules import adjoint_of, partial_of

_PREFIX = RULED
_FUNCTIONS: dict[str, Any] = {}
_HELPERS: dict[str, Callable[..., Any]] = {}
_SHARING: set[str] = set()


def ruled_name(function: Any) -> str | None:
    """The name in the program of a public function of NumPy or SciPy; none for random numbers, which have a state."""
    for package, path in _places(function):
        try:
            known = attrgetter(path)(import_module(package))
        except AttributeError:
            continue
        label = f"{'np' if package == 'numpy' else package}.{path}"
        if known is function:
            _FUNCTIONS[label] = function
            return _PREFIX + label
    return None


def _places(function: Any) -> list[tuple[str, str]]:
    """Where a function may be found: a package, and the path in it."""
    label, module = getattr(function, "__name__", ""), getattr(function, "__module__", None)
    if isinstance(function, np.ufunc) or module is None:
        return [(m, label) for m in ("numpy", "scipy.special") if m in sys.modules]
    public = [p for p in module.split(".") if not p.startswith("_")]
    known = public[:1] in (["numpy"], ["scipy"]) and "random" not in public
    return [(public[0], ".".join([*public[1:], label]))] if known else []


def is_ruled(e: Node) -> bool:
    """Whether an expression is a call of that kind."""
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id.startswith(_PREFIX)


def has_ruled(block: Block) -> bool:
    """Whether a block makes such a call."""
    return any(n.startswith(_PREFIX) for s in walk(block) for e in expressions(s) for n in names_in(e))


def function_of(e: Node) -> Any:
    """What a call calls."""
    return _FUNCTIONS[e.func.id.removeprefix(_PREFIX)]


def rule_of(e: Node) -> Rule:
    """The rule of what a call calls."""
    rule = find(function_of(e))
    assert rule is not None
    return rule


def arguments(e: Node) -> dict[str, Node]:
    """The arguments of a call by the names that its rule has for them; the variadic ones are a tuple."""
    rule = rule_of(e)
    if rule.nondiff:
        return {}
    names, rest = _parameters(rule)
    given = dict(zip(names, e.args, strict=False))
    if rest and len(e.args) > len(names):
        given[rest] = tuple_(list(e.args[len(names):]))
    return given | {k.arg: k.value for k in e.keywords}


def _parameters(rule: Rule) -> tuple[list[str], str | None]:
    """The positional parameters of a rule, and the variadic one."""
    if rule.partials is not None:
        return [n for n in inspect.signature(rule.partials).parameters if n != "out"], None
    parts = adjoint_parts(rule)
    return parts.names, parts.rest


def fits(rule: Rule, args: list[Any], keywords: dict[str, Any]) -> bool:
    """Whether a call has a form that its rule is told of."""
    if rule.partials is None:
        place = adjoint_parts(rule).out_position if rule.adjoints else None
        return "out" not in keywords and (place is None or len(args) <= place)
    names = inspect.signature(rule.partials).parameters.values()
    plain = not any(p.kind is p.VAR_POSITIONAL for p in names)
    return plain and not keywords and len(args) == sum(p.name != "out" for p in names)


def has_rule(e: Node, argument: str) -> bool:
    """Whether there is a derivative with respect to an argument."""
    rule = rule_of(e)
    if rule.partials is None:
        return argument in rule.adjoints
    return partial_parts(rule).part(_parameters(rule)[0].index(argument)) is not None


def reads(e: Node, argument: str) -> set[str]:
    """What the adjoint of one argument reads, by name."""
    rule = rule_of(e)
    if rule.partials is None:
        return names_read(adjoint_parts(rule).adjoints[argument][0].__code__) - {"g"}
    names = _parameters(rule)[0]
    part = partial_parts(rule).part(names.index(argument))
    assert part is not None
    return {n for k, n in enumerate(names) if part.reads(k)} | ({"out"} if part.takes_out else set())


def adjoint_name(e: Node, argument: str) -> str:
    """The name in the text of the adjoint of one argument."""
    rule, path = rule_of(e), e.func.id.split(".", 2)[2].replace(".", "_")
    first = next(iter(rule.adjoints)) if rule.partials is None else _parameters(rule)[0][0]
    label = f"{path}_adjoint" if argument == first else f"{path}_adjoint_of_{argument}"
    if label not in _HELPERS:
        _HELPERS[label] = adjoint_of(rule, argument) if rule.partials is None else partial_of(
            rule, argument, _parameters(rule)[0])
    return label


def is_adjoint(label: str) -> bool:
    """Whether emitted text calls the adjoint of a rule by this name."""
    return label in _HELPERS


def note_sharing(label: str) -> None:
    """Say of a function that its result may share memory with an argument."""
    _SHARING.add(label)


def shares(e: Node) -> bool:
    """Whether the result of a call may share memory with an argument."""
    return e.func.id in _SHARING


def helper(label: str) -> Callable[..., Any]:
    """The adjoint of that name."""
    return _HELPERS[label]


def helpers(code: CodeType) -> dict[str, Any]:
    """What a compiled text reads of this kind: adjoints, and SciPy."""
    names = {n for part in [code, *code.co_consts] if isinstance(part, CodeType) for n in part.co_names}
    found: dict[str, Any] = {n: _HELPERS[n] for n in names if n in _HELPERS}
    return found | ({"scipy": import_module("scipy")} if "scipy" in names else {})
