"""Partial derivatives of one statement with respect to everything active that it reads.

The unit is the user's whole statement: one contribution per variable, like terms merged, and a temporary only where
the cotangent of a sub-expression is used more than once.
"""
from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transad.ir import Let, Statement
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import carriers
from transad.passes.reverse.masks import may_be_infinite, unbounded
from transad.passes.reverse.terms import Term, factored
from transad.passes.reverse.values import Values
from transad.passes.ruled import arguments, is_ruled
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, name, show, substitute
from transad.rules import elementwise, scalars
from transad.rules.registry import find

# Where the general rule covers cases that a real scalar does not have, or serves arrays by masks.
_SCALAR: dict[str, tuple[str, ...]] = {
    "abs": ("np.sign(x)",), "np.abs": ("np.sign(x)",), "np.absolute": ("np.sign(x)",),
    "np.fabs": ("np.sign(x)",), "math.fabs": ("np.sign(x)",), "float": ("1.0",), "np.float64": ("1.0",),
    "np.maximum": ("share_of_larger(x, y)", "share_of_larger(y, x)"),
    "np.minimum": ("share_of_larger(y, x)", "share_of_larger(x, y)"),
    "np.power": ("power_x(x, y)", "power_y(x, out)"), "math.pow": ("power_x(x, y)", "power_y(x, out)"),
    "math.hypot": ("quotient(x, out)", "quotient(y, out)"), "np.hypot": ("quotient(x, out)", "quotient(y, out)"),
    "math.atan2": ("quotient(y, x * x + y * y)", "quotient(-x, x * x + y * y)"),
    "np.arctan2": ("quotient(y, x * x + y * y)", "quotient(-x, x * x + y * y)"),
    "np.logaddexp": ("share_of_sum(x, y)", "share_of_sum(y, x)"),
    "np.fmod": ("1.0", "-np.trunc(x / y)"), "math.fmod": ("1.0", "-np.trunc(x / y)")}
_ARRAY: dict[str, tuple[str, ...]] = {"np.abs": ("np.sign(x)",), "np.absolute": ("np.sign(x)",),
                                      "np.fabs": ("np.sign(x)",),
                                      "np.logaddexp": ("np.where(x == y, 0.5, 1.0 / (1.0 + np.exp(y - x)))",
                                                       "np.where(x == y, 0.5, 1.0 / (1.0 + np.exp(x - y)))")}
assert elementwise and scalars      # imported for the rules that they register: those of the functions emitted here
SINGULAR = {"np.power", "math.pow", "math.atan2", "np.arctan2"}


@dataclass
class Contributions:
    """What a statement adds to the cotangent of each variable and array element that it reads."""

    scalars: dict[str, list[Term]] = field(default_factory=dict)
    loads: list[tuple[Node, list[Term]]] = field(default_factory=list)
    arrays: dict[str, list[Term]] = field(default_factory=dict)
    before: list[Statement] = field(default_factory=list)
    singular: int = 0

    def add_load(self, leaf: Node, term: Term) -> None:
        for known, terms in self.loads:
            if show(known) == show(leaf):
                terms.append(term)
                return
        self.loads.append((leaf, [term]))

    @property
    def empty(self) -> bool:
        return not (self.scalars or self.loads or self.arrays)


class Differentiate:
    """Collects the contributions of one expression."""

    def __init__(self, values: Values, active: set[str], names: Names, s: Statement,
                 register: Callable[[str, Term], None], fresh: Callable[[str], str],
                 rank: Callable[[Node], int]) -> None:
        """`register`, `fresh`, `rank`: how the adjoint keeps array-valued temporaries, makes names, and tells ranks."""
        self.values, self.active, self.names, self.s, self.register = values, active, names, s, register
        self.fresh, self.rank = fresh, rank
        self.out = Contributions()
        self.given: set[str] = set()        # the cotangent of the statement

    def uses(self, e: Node) -> int:
        """How many different active leaves an expression has: variables, and elements by their index."""
        return len(set(self.leaves(e)))

    def leaves(self, e: Node) -> list[str]:
        if isinstance(e, gast.Subscript):
            return [show(e)] if any(v in self.active for v in carriers(e)) else []
        if isinstance(e, gast.Name):
            return [e.id] if e.id in self.active else []
        if isinstance(e, gast.BinOp) and not isinstance(e.op, gast.FloorDiv):
            return self.leaves(e.left) + self.leaves(e.right)
        if isinstance(e, gast.UnaryOp):
            return self.leaves(e.operand) if not isinstance(e.op, gast.Not | gast.Invert) else []
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and not any(
                v in self.active for v in carriers(e)):
            return []
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name):
            return [x for a in (arguments(e).values() if is_ruled(e) else e.args) for x in self.leaves(a)]
        return [v for v in carriers(e) if v in self.active]

    def run(self, e: Node, cot: Term) -> None:
        count = self.uses(e)
        if not count:
            if any(v in self.active for v in carriers(e)):
                self.refuse(e, cot)
            return
        if not isinstance(e, gast.Name | gast.Subscript) and not isinstance(self.values.kind(e), Array) and (
                self.rank(cot.node())):
            temp = self.fresh("d_t")        # a number that was broadcast
            self.out.before.append(Let(temp, call("summed", cot.node())))
            cot = Term(1.0, (name(temp),))
        if isinstance(e, gast.Name):
            self.leaf(e, cot)
        elif isinstance(e, gast.Subscript):
            self.out.add_load(e, cot)
        elif isinstance(e, gast.UnaryOp):
            self.run(e.operand, cot.scaled(-1.0) if isinstance(e.op, gast.USub) else cot)
        elif isinstance(e, gast.BinOp):
            if count > 1 and not cot.simple:
                cot = self.named(cot, e)
            getattr(self, f"run_{type(e.op).__name__}", self.refuse)(e, cot)
        elif isinstance(e, gast.Call):
            self.call(e, cot)
        elif isinstance(e, gast.Attribute) and e.attr == "T":
            self.run(e.value, Term(cot.number, tuple(expr("a.T", a=f) for f in (cot.node(),))))
        else:
            self.refuse(e, cot)

    def refuse(self, e: Node, cot: Term) -> None:
        raise NotTyped(f"no typed derivative of {show(e)}")

    def leaf(self, e: Node, cot: Term) -> None:
        kind = self.values.kind(e)
        target = self.out.arrays if isinstance(kind, Array) else self.out.scalars
        target.setdefault(e.id, []).append(cot)

    def named(self, cot: Term, e: Node) -> Term:
        """The cotangent of a sub-expression under a name of its own."""
        temp = self.fresh("d_t")
        if isinstance(self.values.kind(e), Array):
            self.register(temp, cot)
        self.out.before.append(Let(temp, cot.node()))
        return Term(1.0, (name(temp),))

    def shared(self, e: Node, wanted: str) -> Node:
        """A value that several contributions read, under a name of its own."""
        temp = self.fresh(wanted)
        self.out.before.append(Let(temp, e))
        return name(temp)

    def read(self, e: Node) -> Node:
        return self.values.of(e, self.s)

    # -- operators ------------------------------------------------------------------------------------------------
    def run_Add(self, e: Node, cot: Term) -> None:
        self.run(e.left, cot)
        self.run(e.right, cot)

    def run_Sub(self, e: Node, cot: Term) -> None:
        self.run(e.left, cot)
        self.run(e.right, cot.scaled(-1.0))

    def run_Mult(self, e: Node, cot: Term) -> None:
        factors = _factors(e)
        active = [k for k, f in enumerate(factors) if self.uses(f)]
        for k in active:
            slope, guarded = Term(), False
            for j, other in enumerate(factors):
                if j != k:
                    slope = slope.times(self.read(other))
                    guarded = guarded or self.masked(other)
            self.run(factors[k], self.through(e, cot, slope, 1) if guarded else Term(
                cot.number * slope.number, cot.factors + slope.factors, cot.divisors + slope.divisors))

    def masked(self, factor: Node) -> bool:
        """Whether an array that stands beside a factor may be infinite where a mask leaves it out."""
        if not isinstance(self.values.kind(factor), Array):
            return False
        if self.values.unbounded is None:
            self.values.unbounded = unbounded(self.values.program)
        return bool(self.values.unbounded) and may_be_infinite(factor, self.values.unbounded)

    def through(self, e: Node, cot: Term, slope: Term, level: int) -> Term:
        """The cotangent times a slope that may be infinite: level 1 where the value is infinite too, 2 where it is
        finite. For an array each zero of the cotangent stays zero; for a number the whole statement is guarded
        where its cotangent may be zero, and the slope where the rest of the statement may make it zero."""
        self.out.singular = max(self.out.singular, level)
        if not isinstance(self.values.kind(e), Array):
            if level > 1 and self.may_vanish(cot):
                return Term(1.0, (call("keep_zero", cot.node(), slope.node()),))
            return Term(cot.number * slope.number, cot.factors + slope.factors, cot.divisors + slope.divisors)
        temp = self.fresh("d_t")
        self.register(temp, cot)
        self.out.before.append(Let(temp, call("keep_zero", cot.node(), slope.node())))
        return Term(1.0, (name(temp),))

    def may_vanish(self, cot: Term) -> bool:
        """Whether a cotangent inside of the statement may be zero where that of the statement is not."""
        return any(show(f) not in self.given for f in cot.factors)

    def run_Div(self, e: Node, cot: Term) -> None:
        below = self.read(e.right)
        if self.uses(e) > 1 and isinstance(below, gast.BinOp) and self.uses(e.right):
            below = self.shared(below, "v")
        harmless = isinstance(e.right, gast.Constant) and e.right.value
        if self.uses(e.left):
            self.run(e.left, cot.over(below) if harmless else self.through(e, cot, Term().over(below), 1))
        if self.uses(e.right):
            slope = Term(-1.0).times(self.read(e.left)).over(below).over(below)
            self.run(e.right, self.through(e, cot, slope, 1))

    def run_Mod(self, e: Node, cot: Term) -> None:
        self.run(e.left, cot)
        if self.uses(e.right):
            self.run(e.right, cot.scaled(-1.0).times(expr("a // b", a=self.read(e.left), b=self.read(e.right))))

    def run_Pow(self, e: Node, cot: Term) -> None:
        x, n = e.left, e.right
        k = n.value if isinstance(n, gast.Constant) else (
            -n.operand.value if isinstance(n, gast.UnaryOp) and isinstance(n.op, gast.USub)
            and isinstance(n.operand, gast.Constant) else None)
        if self.uses(x):
            if k is not None:
                self.run(x, self.constant_power(x, k, cot))
            else:
                self.run(x, self.through(e, cot, Term(1.0, (call("power_x", self.read(x), self.read(n)),)), 2))
        if self.uses(n):
            out = self.values.pseudo(e, self.s)
            self.run(n, self.through(e, cot, Term(1.0, (call("power_y", self.read(x), out),)), 2))

    def constant_power(self, x: Node, k: Any, cot: Term) -> Term:
        base = self.read(x)
        if k in (0, 1):
            return cot.scaled(float(k))
        if k == 2:
            return cot.scaled(2.0).times(base)
        if isinstance(k, int) and k > 2:
            return cot.scaled(float(k)).times(expr("a ** k", a=base, k=constant(k - 1)))
        level = 2 if 0 < k < 1 else 1 if k < 0 else 0
        return self.through(x, cot, Term(1.0, (call("power_x", base, constant(k)),)), level)

    # -- calls ----------------------------------------------------------------------------------------------------
    def call(self, e: Node, cot: Term) -> None:
        if isinstance(e.func, gast.Attribute):
            if e.func.attr in ("copy", "astype"):        # an array that is differentiated is floating point before and after
                self.run(e.func.value, cot)
                return
            raise NotTyped(f"no typed derivative of the method {e.func.attr}")
        f = e.func.id
        is_array = isinstance(self.values.kind(e), Array)
        templates, singular = partials_of(f, len(e.args), is_array)
        if self.uses(e) > 1 and not cot.simple:
            cot = self.named(cot, e)
        labels = ("x", "y")
        for k, a in enumerate(e.args):
            if not self.uses(a):
                continue
            tree = templates[k]
            if tree is None:
                continue
            holes = {labels[j]: self.read(b) for j, b in enumerate(e.args) if _mentions(tree, labels[j])}
            if _mentions(tree, "out"):
                holes["out"] = self.values.of(e, self.s) if not self.values.cheap_call(e) else e
            slope = factored(substitute(tree, lambda n, holes=holes: holes.get(n.id)))
            level = 1 if "log" in f else 2
            self.run(a, self.through(e, cot, slope, level) if singular else Term(
                cot.number * slope.number, cot.factors + slope.factors, cot.divisors + slope.divisors))


def _factors(e: Node) -> list[Node]:
    """The factors of a chain of products."""
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult):
        return _factors(e.left) + _factors(e.right)
    return [e]


def _mentions(tree: Node, label: str) -> bool:
    return any(isinstance(n, gast.Name) and n.id == label for n in gast.walk(tree))


@functools.lru_cache(maxsize=512)
def partials_of(f: str, count: int, is_array: bool) -> tuple[tuple[Node | None, ...], bool]:
    """The partial derivatives of a library function as expressions of `x`, `y` and `out`, and whether singular."""
    table = _ARRAY if is_array else _SCALAR
    if f in table:
        return tuple(_plain(expr(t)) for t in table[f]), f in SINGULAR
    rule = find(_library(f))
    if rule is None or rule.partials is None:
        raise NotTyped(f"{f} has no typed derivative")
    return _inlined(rule.partials, f), rule.singular


def _library(f: str) -> Any:
    module, _, attr = f.partition(".")
    value: Any = {"np": np, "math": math}.get(module)
    for part in attr.split("."):
        value = getattr(value, part, None)
    return value


def _inlined(rule: Any, f: str) -> tuple[Node | None, ...]:
    """The body of a rule as expressions, if it is a single return of plain arithmetic."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(rule))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise NotTyped(f"the derivative of {f} is not a single expression")
    value = body[0].value
    parameters = [a.arg for a in tree.args.args]
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    out: list[Node | None] = []
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is None:
            out.append(None)
            continue
        node = expr(ast.unparse(part))
        out.append(substitute(_plain(node), lambda n: _meaning(n.id, parameters, rule, f)))
    return tuple(out)


def _plain(node: Node) -> Node:
    """Dotted functions as single names, as everywhere in the normal form."""
    def visit(n: Node) -> Node:
        from transad.quote import rebuilt
        if isinstance(n, gast.Attribute) and isinstance(n.value, gast.Name) and n.value.id in ("np", "math"):
            return name(f"{n.value.id}.{n.attr}")
        changed: dict[str, Any] = {}
        for f in n._fields:
            v = getattr(n, f, None)
            if isinstance(v, gast.AST):
                changed[f] = visit(v)
            elif isinstance(v, list):
                changed[f] = [visit(x) if isinstance(x, gast.AST) else x for x in v]
        return rebuilt(n, changed) if changed else n
    return visit(node)


def _meaning(identifier: str, parameters: list[str], rule: Any, f: str) -> Node | None:
    if identifier in parameters:
        return name("xy"[parameters.index(identifier)])
    if identifier == "out" or "." in identifier:
        return None
    value = rule.__globals__.get(identifier)
    if isinstance(value, int | float):
        return constant(value)
    if identifier in ("digamma", "abs"):
        return None
    raise NotTyped(f"the derivative of {f} uses {identifier}")
