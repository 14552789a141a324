"""Results of functions marked `fwddiff`, as the normal form holds them.

The body of a marked call stands in the program like any inlined body, but nothing in it carries a derivative. Its
results do, by one of two forms of assignment, which the forward sweep prints as `y = value`:

- `y = dual(value, Dual, k, inputs ...)`: the reverse sweep runs the body forwards, with a tangent for every active
  input, and multiplies (the default);
- `y = slopes(value, Dual, x, slope, ...)`: the slopes were computed beside the body (`store=True`).

>>> from transad.quote import expr, show
>>> e = expr("slopes(a * b, body, a, b, b, a)")
>>> show(value_of(e)), [(show(x), show(slope)) for x, slope in slopes_of(e)]
('a * b', [('a', 'b'), ('b', 'a')])
"""
from __future__ import annotations

from dataclasses import dataclass

from transad.ir import Block, Let, assigned, walk
from transad.nodes import gast
from transad.quote import Node, call, constant, name

DUAL, SLOPES = "dual", "slopes"


@dataclass(eq=False, repr=False)
class Dual:
    """The body of one marked call: plain names, `inputs` free in it, `results` assigned at its end. Of stored slopes it
    is the body with tangents. `statements`: where the slopes are to be stored, the body as it stands in the program."""

    label: str
    inputs: list[str]
    body: Block
    results: list[str]
    statements: Block | None = None

    def __repr__(self) -> str:
        return self.label


def by_dual(value: Node, dual: Dual, k: int) -> Node:
    return call(DUAL, value, constant(dual), constant(k), *[name(v) for v in dual.inputs])


def by_slopes(value: Node, dual: Dual, pairs: list[tuple[Node, Node]]) -> Node:
    return call(SLOPES, value, constant(dual), *[e for pair in pairs for e in pair])


def hidden(block: Block) -> set[str]:
    """The names that the bodies of marked calls assign: no derivative goes through them."""
    return {n for s in walk(block) if isinstance(s, Let) and is_marked(s.value) for n in assigned(s.value.args[1].value.body)}


def _form(e: Node) -> str:
    return e.func.id if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in (DUAL, SLOPES) else ""


def is_marked(e: Node) -> bool:
    """Whether an expression is the result of a marked call."""
    return bool(_form(e))


def value_of(e: Node) -> Node:
    """What the forward sweep computes: the value alone."""
    return e.args[0] if _form(e) else e


def inputs_of(e: Node) -> list[Node]:
    """The expressions through which the result of a marked call carries a derivative."""
    return e.args[3:] if _form(e) == DUAL else e.args[2::2]


def dual_of(e: Node) -> tuple[Dual, int] | None:
    """The body, and which of its results this is; None for stored slopes."""
    return (e.args[1].value, e.args[2].value) if _form(e) == DUAL else None


def slopes_of(e: Node) -> list[tuple[Node, Node]]:
    """Stored slopes: (input, slope) pairs."""
    return list(zip(e.args[2::2], e.args[3::2], strict=True))
