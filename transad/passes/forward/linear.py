"""The linear part of one statement: its partial derivatives with respect to what is active in it.

The same collection as in the reverse sweep, read the other way round: the tangent of the result is the sum of partial
derivative times tangent. In a forward sweep every value is still there, so nothing is recorded; the result of a
library call inside a longer expression gets a name, because its derivative reads it.
"""
from __future__ import annotations

from collections.abc import Callable

from transad.ir import Block, Let, Program, Statement
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions
from transad.passes.reverse.partials import Differentiate
from transad.passes.reverse.partials import _plain as _dotted
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.terms import Term, factored
from transad.passes.reverse.values import ALLOCATIONS, Values
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, expr, name, show, substitute

# Slopes that emitted reverse sweeps use: steps, and what has a slope of its own (of `x`, `y` and `out`).
STEPS = {"share_of_larger", "share_of_extreme"}
SLOPES: dict[str, tuple[str | None, str | None]] = {
    "power_x": ("y * power_x(x, y - 1.0)", None), "power_y": ("y / x", "np.log(x)"),
    "quotient": ("quotient(1.0, y)", "-quotient(out, y)"),
    "share_of_sum": ("out * (1.0 - out)", "-out * (1.0 - out)")}


class Present(Values):
    """Values at the place where they are computed. `named` holds the sub-expressions of the current statement that got
    names, by their text."""

    def __init__(self, program: Program, fresh: Callable[[str], str]) -> None:
        super().__init__(program, Regions(), Scopes(Scope([])), Names())
        self.fresh = fresh
        self.named: dict[str, str] = {}
        self.lines: Block = []

    def begin(self) -> None:
        self.named, self.lines = {}, []

    def of(self, e: Node, s: Statement) -> Node:
        if isinstance(e, gast.Constant | gast.Name | gast.Subscript | gast.Attribute):
            return e
        if isinstance(e, gast.Call) and getattr(e.func, "id", "") in ALLOCATIONS:
            return e
        if isinstance(e, gast.Call) and not self.cheap_call(e):
            return self.pseudo(e, s)
        return self.inside(e, s)

    def pseudo(self, e: Node, s: Statement, replaced: str | None = None) -> Node:
        """The name of a value: of the statement's result, or of a temporary computed just before."""
        if isinstance(s, Let) and show(s.value) == show(e):
            return name(s.name)
        text = show(e)
        if text not in self.named:
            self.named[text] = self.fresh("v")
            self.program.kinds[self.named[text]] = self.kind(e)
            self.lines.append(Let(self.named[text], self.inside(e, s)))
        return name(self.named[text])


class Linear(Differentiate):
    """Collects the partial derivatives of an expression: its contributions for a cotangent of one."""

    def __init__(self, values: Present, active: set[str], s: Statement, fresh: Callable[[str], str]) -> None:
        super().__init__(values, active, Names(), s, lambda temp, cot: None, fresh, lambda e: 0)
        self.steep: set[str] = set()

    def may_be_infinite(self, term: Term) -> bool:
        """Whether a slope that may be infinite is among the factors of a partial derivative."""
        return any(show(n) in self.steep for n in (*term.factors, *term.divisors))

    def run(self, e: Node, cot: Term) -> None:
        if _is_view(e):
            if self.uses(e):
                self.out.add_load(e, cot)
            return
        super().run(e, cot)

    def call(self, e: Node, cot: Term) -> None:
        f = e.func.id if isinstance(e.func, gast.Name) else ""
        if f in STEPS:
            return
        if f not in SLOPES:
            super().call(e, cot)
            return
        names = {"x": e.args[0], "y": e.args[1]}
        for a, template in zip(e.args, SLOPES[f], strict=True):
            if self.uses(a):
                if template is None:
                    raise NotTyped(f"no second derivative of {f}")
                holes = {k: self.read(v) for k, v in names.items()}
                holes["out"] = self.values.pseudo(e, self.s)
                slope = factored(substitute(_dotted(expr(template)), lambda n, holes=holes: holes.get(n.id)))
                self.run(a, self.through(e, cot, slope, 2))

    def named(self, cot: Term, e: Node) -> Term:
        if not cot.factors and not cot.divisors:
            return cot
        new = super().named(cot, e)
        self.values.program.kinds[new.factors[0].id] = self.values.kind(e)
        if self.may_be_infinite(cot):
            self.steep.add(show(new.factors[0]))
        return new

    def through(self, e: Node, cot: Term, slope: Term, level: int) -> Term:
        """A slope that may be infinite: the statement's tangents are guarded where the tangent of a leaf is zero."""
        self.out.singular = max(self.out.singular, level)
        self.steep |= {show(n) for n in (*slope.factors, *slope.divisors)}
        if level > 1 and self.may_vanish(cot):
            kept = call("keep_zero", cot.node(), slope.node())
            self.steep.add(show(kept))
            return Term(1.0, (kept,))
        return Term(cot.number * slope.number, cot.factors + slope.factors, cot.divisors + slope.divisors)


def _is_view(e: Node) -> bool:
    """An array seen in another form, with a tangent that is seen in the same form."""
    if isinstance(e, gast.Attribute):
        return e.attr == "T"
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Attribute) and e.func.attr == "astype"


def seen_through(e: Node, tangent: Callable[[str], Node]) -> Node:
    """An element, view or conversion of an array applied to the array's tangent."""
    from transad.quote import rebuilt
    if isinstance(e, gast.Name):
        return tangent(e.id)
    if isinstance(e, gast.Subscript | gast.Attribute):
        return rebuilt(e, {"value": seen_through(e.value, tangent)})
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Attribute) and e.func.attr in ("astype", "copy"):
        return rebuilt(e, {"func": rebuilt(e.func, {"value": seen_through(e.func.value, tangent)})})
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in (
            "np.transpose", "np.ravel", "np.reshape"):
        return rebuilt(e, {"args": [seen_through(e.args[0], tangent), *e.args[1:]]})
    raise NotTyped(f"no typed derivative of {show(e)}")


def array_sources(e: Node, values: Values, known: dict[str, set[str]]) -> set[str]:
    """The arrays, by their text, from whose shapes the shape of an expression comes."""
    if isinstance(e, gast.Name) and e.id in known:
        return known[e.id]
    if isinstance(e, gast.Name | gast.Subscript | gast.Attribute):
        try:
            return {show(e)} if isinstance(values.kind(e), Array) else set()
        except NotTyped:
            return set()
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Attribute):
        return array_sources(e.func.value, values, known)
    out: set[str] = set()
    for child in gast.iter_child_nodes(e):
        if isinstance(child, gast.expr) and not (isinstance(e, gast.Call) and child is e.func):
            out |= array_sources(child, values, known)
    return out
