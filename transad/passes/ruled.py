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
('max_adjoint', ['a', 'axis', 'keepdims', 'out', 'where'])
>>> x = np.array([[1.0, 3.0]])
>>> helper(adjoint)(np.array([2.0]), out=np.array([3.0]), a=x, axis=1)
array([[0., 2.]])
"""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import CodeType
from typing import Any

from transad.ir import Block, expressions, walk
from transad.nodes import gast
from transad.printer import RULED
from transad.quote import Node, names_in, tuple_
from transad.rules.registry import Rule, find
from transad.runtime.rule_parts import adjoint_parts, names_read
from transad.runtime.typed_rules import adjoint_of

_PREFIX = RULED
_FUNCTIONS: dict[str, Any] = {}
_HELPERS: dict[str, Callable[..., Any]] = {}


def ruled_name(function: Any) -> str | None:
    """The name in the program of a public function of NumPy or SciPy; none for random numbers, which have a state."""
    parts = (getattr(function, "__module__", None) or "numpy").split(".")
    public = [p for p in parts if not p.startswith("_")]
    if public[0] not in ("numpy", "scipy") or "random" in public:
        return None
    path = ".".join([*public[1:], function.__name__])
    try:
        known = attrgetter(path)(import_module(public[0]))
    except AttributeError:
        return None
    label = f"{'np' if public[0] == 'numpy' else 'scipy'}.{path}"
    _FUNCTIONS[label] = function
    return _PREFIX + label if known is function else None


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
    parts = adjoint_parts(rule)
    given = dict(zip(parts.names, e.args, strict=False))
    if parts.rest and len(e.args) > len(parts.names):
        given[parts.rest] = tuple_(list(e.args[len(parts.names):]))
    return given | {k.arg: k.value for k in e.keywords}


def reads(e: Node, argument: str) -> set[str]:
    """What the adjoint of one argument reads, by name."""
    function, _ = adjoint_parts(rule_of(e)).adjoints[argument]
    return names_read(function.__code__) - {"g"}


def adjoint_name(e: Node, argument: str) -> str:
    """The name in the text of the adjoint of one argument."""
    rule, path = rule_of(e), e.func.id.split(".", 2)[2].replace(".", "_")
    label = f"{path}_adjoint" if argument == next(iter(rule.adjoints)) else f"{path}_adjoint_of_{argument}"
    if label not in _HELPERS:
        _HELPERS[label] = adjoint_of(rule, argument)
    return label


def is_adjoint(label: str) -> bool:
    """Whether emitted text calls the adjoint of a rule by this name."""
    return label in _HELPERS


def helper(label: str) -> Callable[..., Any]:
    """The adjoint of that name."""
    return _HELPERS[label]


def helpers(code: CodeType) -> dict[str, Any]:
    """What a compiled text reads of this kind: adjoints, and SciPy."""
    names = {n for part in [code, *code.co_consts] if isinstance(part, CodeType) for n in part.co_names}
    found: dict[str, Any] = {n: _HELPERS[n] for n in names if n in _HELPERS}
    return found | ({"scipy": import_module("scipy")} if "scipy" in names else {})
