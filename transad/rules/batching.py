"""How a function is called once for many values of its arguments: batching rules, beside the derivative rules.

A rule takes the pass (`transad.passes.batch`) and the call, and gives the call with a leading axis for what varies.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transad.nodes import gast
from transad.passes.shapes import ELEMENTWISE
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, index, name, rebuilt, show, slice_, tuple_

__all__ = ["FILLED", "RULES", "Part", "batching", "stretched"]


@dataclass
class Part:
    """An expression, whether it has the leading axis, and its rank without it (None: not known)."""

    node: Node
    varies: bool
    rank: int | None


RULES: dict[str, Callable[[Any, Node], Part]] = {}
FILLED = frozenset({"np.zeros", "np.empty", "np.ones", "np.full", "np.zeros_like", "np.empty_like", "np.ones_like"})
_SCALARS = {"share_of_larger", "share_of_sum", "quotient", "digamma"}       # these compare: they are for numbers
_OF_MATH = {"atan2": "arctan2", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
            "acosh": "arccosh", "atanh": "arctanh"}


def batching(*functions: str) -> Callable[[Callable[[Any, Node], Part]], Callable[[Any, Node], Part]]:
    """Declare the rule of functions, by the names that the normal form gives them."""
    def declare(rule: Callable[[Any, Node], Part]) -> Callable[[Any, Node], Part]:
        RULES.update(dict.fromkeys(functions, rule))
        return rule
    return declare


def stretched(part: Part, rank: int) -> Node:
    """A value that varies, with axes of length one between the leading one and its own, up to a rank."""
    missing = rank - (part.rank or 0)
    if not part.varies or missing <= 0:
        return part.node
    return index(part.node, [slice_(None, None), *[constant(None)] * missing])


@batching(*(ELEMENTWISE - _SCALARS), "np.isnan", "np.isinf", "np.isfinite", "np.logical_not", "np.logical_and",
          "np.logical_or", "np.logical_xor", "np.floor", "np.ceil", "np.trunc", "np.rint", "np.cbrt", "np.deg2rad",
          "np.rad2deg", "np.arcsinh", "np.arccosh", "np.arctanh", "np.copysign", "np.fmod", "np.clip", "np.mod")
def _(batch: Any, e: Node) -> Part:
    if e.keywords:
        raise NotTyped(f"{show(e.func)} with keywords")
    return batch.elementwise(e, ["args"] * len(e.args), list(e.args))


@batching(*(f"math.{f}" for f in ("exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh "
                                  "acosh atanh fabs hypot pow fmod copysign").split()), "abs", "float")
def _(batch: Any, e: Node) -> Part:
    """Functions of one number become NumPy's; where those give what is not finite, the others may raise."""
    if not any(batch.value(a).varies for a in e.args):
        return batch.each(e)
    label = show(e.func).removeprefix("math.")
    new = name("np." + {"float": "float64"}.get(label, _OF_MATH.get(label, label)))
    made = batch.elementwise(rebuilt(e, {"func": new}), ["args"] * len(e.args), list(e.args))
    if show(e.func).startswith("math."):
        made.node = call("checked_math", new, e.func, *made.node.args)
    return made


@batching("min", "max")
def _(batch: Any, e: Node) -> Part:
    if not any(batch.value(a).varies for a in e.args):
        return batch.each(e)
    if len(e.args) != 2:
        raise NotTyped(f"{show(e.func)} of more than two")
    return batch.elementwise(rebuilt(e, {"func": name(f"np.{show(e.func)}imum")}), ["args"] * 2, list(e.args))


_ALONG = {*(f"np.{f}" for f in "cumsum cumprod sort argsort".split()), "scipy.special.softmax",
          "scipy.special.log_softmax"}        # these keep the axis that they go along


@batching("summed", *(f"np.{f}" for f in "sum max min amax amin mean prod std var any all argmax argmin".split()), *_ALONG,
          "scipy.special.logsumexp")
def _(batch: Any, e: Node) -> Part:
    """A reduction of a whole array leaves the leading axis, one along an axis goes along the next."""
    a = batch.value(e.args[0])
    words = {k.arg: k.value for k in e.keywords}
    axis = words.pop("axis", e.args[1] if len(e.args) > 1 else constant(None))
    keep = words.pop("keepdims", constant(False))
    axes = axis.elts if isinstance(axis, gast.Tuple) else [axis]
    known = [literal(x) for x in axes]
    if a.rank is None or len(e.args) > 2 or None in known or not isinstance(keep, gast.Constant) or (a.varies and words):
        raise NotTyped(f"`{show(e)}`")
    rank = a.rank if show(e.func) in _ALONG or keep.value else 0 if known == [()] else a.rank - len(known)
    if not a.varies:
        return Part(rebuilt(e, {"args": [a.node, *e.args[1:]]}), False, rank)
    if not a.rank:
        return a
    if known == [()] and (show(e.func) in _ALONG or keep.value or show(e.func).startswith("np.arg")) and a.rank > 1:
        raise NotTyped(f"`{show(e)}` of an item")
    new = [k % a.rank + 1 for k in known] if known != [()] else list(range(1, a.rank + 1))      # type: ignore[operator]
    axis = constant(new[0]) if len(new) == 1 else tuple_([constant(k) for k in new])
    label = "np.sum" if show(e.func) == "summed" else show(e.func)
    made = call(label, a.node, axis=axis, keepdims=keep) if keep.value else call(label, a.node, axis=axis)
    return Part(made, True, rank)


def literal(e: Node) -> Any:
    """An axis: an int, () for None, and None for what is not known."""
    if isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub) and isinstance(e.operand, gast.Constant):
        return -e.operand.value
    if not isinstance(e, gast.Constant) or isinstance(e.value, bool | str):
        return None
    return () if e.value is None else e.value


@batching("np.dot")
def _(batch: Any, e: Node) -> Part:
    a, b = (batch.value(x) for x in e.args)
    ranks = (a.rank or 0, b.rank or 0)
    rank = sum(ranks) - 2
    if not (a.varies or b.varies) or not b.varies:
        return Part(call("np.dot", a.node, b.node), a.varies, rank)
    if not a.varies:
        form = {(1, 1): "dot_(b, a)", (2, 1): "dot_(b, a.T)", (1, 2): "dot_(a, b)", (2, 2): "matmul_(a, b)"}
    else:
        form = {(1, 1): "einsum_('ij,ij->i', a, b)", (2, 1): "matmul_(a, b[:, :, None])[:, :, 0]",
                (1, 2): "matmul_(a[:, None, :], b)[:, 0, :]", (2, 2): "matmul_(a, b)"}
    if ranks not in form:
        raise NotTyped(f"`{show(e)}`")
    return Part(expr(form[ranks], a=a.node, b=b.node, dot_=name("np.dot"), matmul_=name("np.matmul"),
                     einsum_=name("np.einsum")), True, rank)


@batching("unbroadcast")
def _(batch: Any, e: Node) -> Part:
    g, like = (batch.value(a) for a in e.args)
    if not (g.varies or like.varies):
        return Part(rebuilt(e, {"args": [g.node, like.node]}), False, like.rank)
    g = g if g.varies else Part(batch.repeated(g), True, g.rank)
    if g.rank is not None and g.rank <= (like.rank or 0) and isinstance(e.args[0], gast.Name) and g.rank == 0:
        return g
    return Part(call("unbroadcast_lanes", g.node, like.node, constant(like.varies)), True,
                None if g.rank is None else min(g.rank, like.rank or 0))


@batching("gather")
def _(batch: Any, e: Node) -> Part:
    if isinstance(e.args[1], gast.Tuple):
        return several(batch, e)
    a, i = (batch.value(x) for x in e.args)
    rank = (a.rank or 0) - 1 + (i.rank or 0)
    if a.varies and i.varies:
        return Part(call("each_lane", name("gather"), expr("(True, True)"), expr("()"), a.node, i.node), True, rank)
    if a.varies:
        return Part(index(a.node, [slice_(None, None), i.node]), True, rank)
    return Part(rebuilt(e, {"args": [a.node, i.node]}), i.varies, rank)


def several(batch: Any, e: Node) -> Part:
    """`a[i, j]` for arrays of indices."""
    a, items = batch.value(e.args[0]), [batch.value(i) if not isinstance(i, gast.Slice) else None for i in e.args[1].elts]
    if any(i is None or i.rank is None for i in items):
        raise NotTyped(f"`{show(e)}`")
    new = [i.node for i in items if i is not None]
    chosen = max((i.rank or 0 for i in items if i is not None), default=0)
    rank = (a.rank or 0) - len(new) + chosen
    if any(i is not None and i.varies for i in items):
        raise NotTyped("entries of an array are chosen by what varies")
    return Part(index(a.node, [slice_(None, None), *new] if a.varies else new), a.varies, rank)


@batching("reshaped")
def _(batch: Any, e: Node) -> Part:
    a = batch.value(e.args[0])
    dims = [batch.same(d) for d in e.args[1].elts]
    if not a.varies:
        return Part(rebuilt(e, {"args": [a.node, tuple_(dims)]}), False, len(dims))
    return Part(call("reshaped", a.node, tuple_([name(batch.lanes), *dims])), True, len(dims))


@batching("stretched", "filled")
def _(batch: Any, e: Node) -> Part:
    g, like = (batch.value(a) for a in e.args)
    if not (g.varies or like.varies):
        return Part(rebuilt(e, {"args": [g.node, like.node]}), False, like.rank)        # fresh, and of the shape of `like`
    shape = expr("a.shape[1:]" if like.varies else "a.shape", a=like.node)
    fresh = isinstance(e.args[0], gast.BinOp | gast.UnaryOp)
    return Part(call("stretched_lanes", batch.repeated(g), shape, *([constant(True)] if fresh else [])), True, like.rank)


@batching("share_of_extreme")
def _(batch: Any, e: Node) -> Part:
    x, out = (batch.value(a) for a in e.args)
    if not (x.varies and out.varies):
        return batch.each(e)
    return Part(call("share_of_extreme_lanes", x.node, out.node), True, x.rank)


@batching("np.linalg.inv", "np.linalg.cholesky", "np.linalg.eigvalsh", "np.linalg.det")
def _(batch: Any, e: Node) -> Part:
    """NumPy's own take any axes in front."""
    a = batch.value(e.args[0])
    rank = {"np.linalg.eigvalsh": 1, "np.linalg.det": 0}.get(show(e.func), 2)
    return Part(rebuilt(e, {"args": [a.node]}), a.varies, rank)


@batching("np.linalg.solve")
def _(batch: Any, e: Node) -> Part:
    a, b = (batch.value(x) for x in e.args)
    if b.rank == 2 or not (b.varies or a.varies):
        return Part(rebuilt(e, {"args": [a.node, b.node]}), a.varies or b.varies, b.rank)
    right = b.node if b.varies else batch.repeated(b)
    return Part(expr("solve_(a, b[:, :, None])[:, :, 0]", solve_=name("np.linalg.solve"), a=a.node, b=right), True, 1)
