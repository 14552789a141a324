"""Which arrays may hold an infinity or a NaN that a mask keeps out of the result.

In `np.where(x > 0, x * np.log(x), 0.0)` the cotangent of the product is 0 where the logarithm is infinite, and 0 has to win
over it. Every product would be guarded for that; only programs that mask something pay, and only for factors that come
from a function or quotient without bounds.

>>> from transad.quote import expr
>>> from transad.ir import Let
>>> log = Let("a@1", expr("np.log(x)"))
>>> sorted(unbounded(Program("f", ["x"], [log, Let("b@1", expr("2.0 * a@1".replace("@", "_")))], [], {})))
[]
>>> sorted(unbounded(Program("f", ["x"], [log, Let("c@1", expr("np.where(x > 0.0, x, 0.0)"))], [], {})))
['a']
"""
from __future__ import annotations

from transad.ir import Let, Move, Program, Store, expressions, walk
from transad.nodes import gast
from transad.passes.versions import base
from transad.quote import Node, show

__all__ = ["may_be_infinite", "unbounded"]

_MASKS = {"np.where", "np.select", "np.choose", "np.compress", "np.extract", "gather", "np.nan_to_num", "np.nansum"}
_BOUNDED = {"np.sin", "np.cos", "np.tanh", "np.arctan", "np.sign", "np.abs", "np.absolute", "np.fabs", "np.maximum",
            "np.minimum", "np.copy", "np.zeros", "np.ones", "np.empty", "np.zeros_like", "np.ones_like", "np.where",
            "np.sum", "np.mean", "np.dot", "np.matmul", "np.clip", "np.floor", "np.ceil", "np.transpose", "np.arange"}


def may_be_infinite(e: Node, known: set[str]) -> bool:
    """Whether the value comes from a function or quotient without bounds, or from a name that does."""
    for n in gast.walk(e):
        if isinstance(n, gast.Name) and base(n.id) in known:
            return True
        if isinstance(n, gast.BinOp) and isinstance(n.op, gast.Div | gast.Pow) and not isinstance(n.right, gast.Constant):
            return True
        if isinstance(n, gast.Call) and show(n.func).startswith(("np.", "math.")) and show(n.func) not in _BOUNDED:
            return True
    return False


def unbounded(program: Program) -> set[str]:
    """The names of what may be infinite; none in a program without masks."""
    statements = list(walk(program.body))
    if not any(isinstance(n, gast.Call) and show(n.func) in _MASKS for s in statements for e in expressions(s)
               for n in gast.walk(e)):
        return set()
    found: set[str] = set()
    while True:
        before = len(found)
        for s in statements:
            if isinstance(s, Let | Store) and may_be_infinite(s.value, found):
                found.add(base(s.name if isinstance(s, Let) else s.array))
            elif isinstance(s, Move):
                found |= {base(t) for t, v in zip(s.targets, s.sources, strict=True) if base(v) in found}
        if len(found) == before:
            return found
