"""Derivative rules: each is declared once, as plain Python source, beside the points it is tested at.

Four forms:

>>> @partials(_double, at=[(1.5,)])
... def _(x):
...     return 2.0
>>> find(_double).partials(3.0)
2.0

`partials`   elementwise: the partial derivatives, one per positional argument, as scalars would have them.
             Broadcasting, masks and dtypes are the caller's business. The body is inlined as source.
`adjoint`    everything else: one function per differentiable argument that maps the cotangent of the
             result to the cotangent of that argument.
`nondiff`    functions whose result carries no derivative (integer, boolean, piecewise constant).
`composite`  functions that call functions (solvers, integrators) or methods of classes: text of the same value, whose
             own operations are differentiated. What a callback captures is thereby differentiated too.

A rule reads what it needs by name: what it names is what is kept for the reverse sweep.
"""
from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

__all__ = ["Rule", "adjoint", "composite", "find", "find_composite", "nearest", "nondiff", "partials", "registered"]


@dataclass
class Rule:
    """The rule of one function: elementwise `partials`, or `adjoints` by argument name, or neither
    (nondiff)."""

    function: Callable[..., Any]
    partials: Callable[..., Any] | None = None
    constant: Callable[..., Any] | None = None
    adjoints: dict[str, Callable[..., Any]] = field(default_factory=dict)
    singular: bool = False
    captures: bool = False
    points: list[tuple[Any, ...]] = field(default_factory=list)
    keywords: list[dict[str, Any]] = field(default_factory=list)

    @property
    def nondiff(self) -> bool:
        return self.partials is None and not self.adjoints


_RULES: dict[Any, Rule] = {}


def _key(function: Any) -> Any:
    """Identity; a bound method, made anew at each access, goes by its object and its name."""
    if isinstance(function, MethodType):
        return id(function.__self__), function.__name__
    return id(function)


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, MethodType) and isinstance(other, MethodType) and one == other)


def _entry(function: Callable[..., Any]) -> Rule:
    rule = _RULES.get(_key(function))
    if rule is None or not _same(rule.function, function):
        rule = _RULES[_key(function)] = Rule(function)
    return rule


def partials(*functions: Callable[..., Any], singular: bool = False,
             at: Iterable[tuple[Any, ...]] = (),
             constant: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the partial derivatives of elementwise functions of scalars.

    The decorated function takes the arguments of the function, and optionally the keyword `out` (its
    result), and returns one partial derivative per argument (a bare value for one argument; None where there
    is no derivative). `singular`: a partial may be infinite or NaN inside the domain, so a zero cotangent
    has to win over it.
    `at`: argument tuples that the generic rule test uses.
    `constant`: a shorter form of the first partial for a second argument that is one constant number.
    """
    def declare(rule_function: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            rule = _entry(function)
            if rule.adjoints or rule.partials:
                raise ValueError(f"{function!r} already has a rule")
            rule.partials, rule.singular, rule.points = rule_function, singular, list(at)
            rule.constant = constant
        return rule_function
    return declare


def adjoint(function: Callable[..., Any], *arguments: str, at: Iterable[tuple[Any, ...]] = (),
            keywords: Iterable[dict[str, Any]] = (), singular: bool = False,
            captures: bool = False, masks: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the cotangent of one argument (or of several that share a formula's shape) of `function`.

    The decorated function is called as `rule(g, out, *args, **kwargs)` with the cotangent of the result, the
    result and the arguments as the user gave them; its own parameters after `g, out` name and default them.
    With several names it returns a tuple of cotangents in that order. A sequence argument, and `*operands`,
    receive a list.
    `at`: argument tuples that the rule tests use; `keywords`: the keyword arguments of each, in the same
    order. `captures`: the rule itself accounts for active values inside the functions and objects among the arguments;
    without it a call with such an argument is refused. `masks`: the function leaves elements out, whose cotangents of 0 win
    over what is infinite there.
    """
    def declare(rule_function: Callable[..., Any]) -> Callable[..., Any]:
        rule = _entry(function)
        rule.captures = rule.captures or captures
        if rule.partials:
            raise ValueError(f"{function!r} already has elementwise partials")
        names = list(inspect.signature(rule_function).parameters)
        if names[:2] != ["g", "out"] or not set(arguments) <= set(names[2:]) or not arguments:
            raise TypeError(f"a rule of {function!r} takes (g, out, ...) and names its own parameters; "
                            f"got {names} for {arguments}")
        for name in arguments:
            if name in rule.adjoints:
                raise ValueError(f"{function!r} already has a rule for {name}")
            rule.adjoints[name] = rule_function if len(arguments) == 1 else _Component(
                rule_function, arguments.index(name))
        rule.singular = rule.singular or singular
        if masks:
            rule_function.masks = True  # type: ignore[attr-defined]
        new_points, new_keywords = list(at), list(keywords)
        rule.points += new_points
        rule.keywords += new_keywords + [{}] * (len(new_points) - len(new_keywords))
        return rule_function
    return declare


@dataclass(frozen=True)
class _Component:
    """One entry of a rule that returns several cotangents together."""

    function: Callable[..., Any]
    position: int

    def __call__(self, g: Any, out: Any, *args: Any, **kwargs: Any) -> Any:
        return self.function(g, out, *args, **kwargs)[self.position]


def nondiff(*functions: Callable[..., Any]) -> None:
    """Declare functions whose result carries no derivative."""
    for function in functions:
        _entry(function)


_COMPOSITES: dict[Any, tuple[Any, Callable[..., Any]]] = {}


def composite(*functions: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare text that stands for functions when an active value reaches their arguments.

    The decorated function has the parameters of the functions and returns what they return. Its operations, calls of
    the arguments included, are differentiated as a user's would be.
    """
    def declare(text: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            _COMPOSITES[_key(function)] = (function, text)
        return text
    return declare


def find_composite(function: Any) -> Callable[..., Any] | None:
    """The text declared for `function`, or None."""
    found = _COMPOSITES.get(_key(function))
    return found[1] if found is not None and _same(found[0], function) else None


def nearest(name: str, count: int = 3) -> list[str]:
    """The names of functions with a rule that look most like `name`.

    >>> nearest("numpy.no_such_name")
    []
    """
    names: dict[str, str] = {}
    functions = [rule.function for rule in _RULES.values()] + [function for function, _ in _COMPOSITES.values()]
    for function in functions:
        short = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None) or "numpy"
        names.setdefault(short, f"{module}.{short}" if module != "builtins" else short)
    return [names[n] for n in difflib.get_close_matches(name.rsplit(".", 1)[-1], list(names), count, 0.7)]


def find(function: Any) -> Rule | None:
    """The rule of `function`, or None. Bound methods of one object (`scipy.stats.norm.logpdf`) are found
    too."""
    rule = _RULES.get(_key(function))
    return rule if rule is not None and _same(rule.function, function) else None


def registered() -> list[Rule]:
    """All rules, in the order of their declaration."""
    return list(_RULES.values())


def _double(x: float) -> float:
    return 2.0 * x
