"""Products as the reverse sweep builds them: a number, factors above and factors below the line.

>>> from transad.quote import expr, show
>>> t = Term(1.0, (expr("d_y"),)).times(expr("2.0 * x")).over(expr("s"))
>>> show(t.node())
'2.0 * d_y * x / s'
>>> show(total([Term(1.0, (expr("d"), expr("x"))), Term(1.0, (expr("x"), expr("d"))), Term(-1.0, (expr("d"),))]))
'd * (2.0 * x - 1.0)'
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from transad.nodes import gast
from transad.quote import Node, constant, expr, show


@dataclass(frozen=True)
class Term:
    """`number * factors / divisors`."""

    number: float = 1.0
    factors: tuple[Node, ...] = ()
    divisors: tuple[Node, ...] = ()

    def times(self, e: Node) -> Term:
        """The product with an expression, taken apart into its factors."""
        other = factored(e)
        return Term(self.number * other.number, (*self.factors, *other.factors), (*self.divisors, *other.divisors))

    def over(self, e: Node) -> Term:
        """The quotient by an expression."""
        other = factored(e)
        if other.number in (1.0, -1.0):
            return Term(self.number * other.number, (*self.factors, *other.divisors),
                        (*self.divisors, *other.factors))
        return Term(self.number, self.factors, (*self.divisors, e))

    def scaled(self, number: float) -> Term:
        return Term(self.number * number, self.factors, self.divisors)

    @property
    def simple(self) -> bool:
        """One factor at most, perhaps negated: naming it would save nothing."""
        return abs(self.number) == 1.0 and len(self.factors) <= 1 and not self.divisors

    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(sorted(show(f) for f in self.factors)), tuple(sorted(show(f) for f in self.divisors))

    def node(self) -> Node:
        """The product as an expression; its number leads, a division comes last."""
        number, negative = abs(self.number), self.number < 0
        parts = list(self.factors)
        if number != 1.0 or not parts:
            parts.insert(0, constant(number))
        out = parts[0]
        if negative:
            out = expr("-a", a=out)
        for p in parts[1:]:
            out = expr("a * b", a=out, b=p)
        if self.divisors:
            below = self.divisors[0]
            for p in self.divisors[1:]:
                below = expr("a * b", a=below, b=p)
            out = expr("a / b", a=out, b=below)
        return out


def factored(e: Node) -> Term:
    """An expression as a product of factors."""
    if isinstance(e, gast.Constant) and type(e.value) in (int, float) and e.value == e.value and abs(e.value) < 1e300:
        return Term(float(e.value))
    if isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub):
        return factored(e.operand).scaled(-1.0)
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult):
        left, right = factored(e.left), factored(e.right)
        return Term(left.number * right.number, left.factors + right.factors, left.divisors + right.divisors)
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Div):
        return factored(e.left).over(e.right)
    return Term(1.0, (e,))


def merged(terms: list[Term]) -> list[Term]:
    """Like terms added up; the order of first appearance is kept."""
    out: dict[tuple[tuple[str, ...], tuple[str, ...]], Term] = {}
    for t in terms:
        k = t.key()
        out[k] = Term(out[k].number + t.number, out[k].factors, out[k].divisors) if k in out else t
    return [t for t in out.values() if t.number != 0.0 or any(not isinstance(f, gast.Name) for f in t.factors)]


def total(terms: list[Term]) -> Node:
    """The sum of the terms, with what is common to all of them taken out."""
    terms = merged(terms)
    if not terms:
        return constant(0.0)
    if len(terms) == 1:
        return terms[0].node()
    common = _common([t.factors for t in terms])
    if not common:
        return added(terms)
    rest = [Term(t.number, _without(t.factors, common), t.divisors) for t in terms]
    out = common[0]
    for f in common[1:]:
        out = expr("a * b", a=out, b=f)
    return expr("a * b", a=out, b=added(rest))


def added(terms: list[Term]) -> Node:
    """`a - b + c`: signs become operators."""
    first = next((k for k, t in enumerate(terms) if t.number > 0), 0)
    ordered = [terms[first], *terms[:first], *terms[first + 1:]]
    out = ordered[0].node()
    for t in ordered[1:]:
        if t.number < 0:
            out = expr("a - b", a=out, b=t.scaled(-1.0).node())
        else:
            out = expr("a + b", a=out, b=t.node())
    return out


def _common(factors: list[tuple[Node, ...]]) -> list[Node]:
    shared = Counter(show(f) for f in factors[0])
    for fs in factors[1:]:
        shared &= Counter(show(f) for f in fs)
    out = []
    for f in factors[0]:
        if shared[show(f)] > 0:
            shared[show(f)] -= 1
            out.append(f)
    return out


def _without(factors: tuple[Node, ...], taken: list[Node]) -> tuple[Node, ...]:
    left = Counter(show(f) for f in taken)
    out = []
    for f in factors:
        if left[show(f)] > 0:
            left[show(f)] -= 1
        else:
            out.append(f)
    return tuple(out)
