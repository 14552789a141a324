"""Signs in sums and products, moved to where a person would write them."""
from __future__ import annotations

from transad.nodes import gast
from transad.quote import Node, expr, rebuilt


def plus(a: Node, b: Node) -> Node:
    """`a + b`, as a subtraction where `b` is negated."""
    if isinstance(b, gast.UnaryOp) and isinstance(b.op, gast.USub):
        return expr("a - b", a=a, b=b.operand)
    if leading_minus(b):
        return expr("a - b", a=a, b=negated(b))
    return expr("a + b", a=a, b=b)


def leading_minus(e: Node) -> bool:
    while isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult | gast.Div):
        e = e.left
    return isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub)


def negated(e: Node) -> Node:
    if isinstance(e, gast.UnaryOp):
        return e.operand
    return rebuilt(e, {"left": negated(e.left)})
