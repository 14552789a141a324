"""Which arrays a block makes for itself."""
from __future__ import annotations

import functools

from transad.ir import Block, Let, Move, walk
from transad.nodes import gast
from transad.quote import Node, name


@functools.lru_cache(maxsize=1)
def _new() -> frozenset[str]:
    """The functions whose result is a new array."""
    from transad.passes.specialise.numpy_table import BINARY, UNARY
    made = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "copy", "arange",
            "linspace", "dot", "where")
    return frozenset(f"np.{n}" for n in (*made, *UNARY, *BINARY))


def private(body: Block) -> set[str]:
    """The arrays that a trip makes for itself, whatever path it takes."""
    values: dict[str, list[Node]] = {}
    for s in walk(body):
        if isinstance(s, Let):
            values.setdefault(s.name, []).append(s.value)
        elif isinstance(s, Move):
            for t, v in zip(s.targets, s.sources, strict=True):
                values.setdefault(t, []).append(name(v))
    fresh = set(values)
    while True:
        kept = {v for v in fresh if all(_is_fresh(e, fresh) for e in values[v])}
        if kept == fresh:
            return fresh
        fresh = kept


def _is_fresh(e: Node, fresh: set[str]) -> bool:
    if isinstance(e, gast.Name):
        return e.id in fresh
    if isinstance(e, gast.BinOp | gast.UnaryOp | gast.Constant | gast.Compare | gast.BoolOp):
        return True
    if isinstance(e, gast.Subscript | gast.Attribute):
        return _is_fresh(e.value, fresh)
    if isinstance(e, gast.Call):
        label = e.func.id if isinstance(e.func, gast.Name) else ""
        return label in _new() or (isinstance(e.func, gast.Attribute) and e.func.attr in ("copy", "astype"))
    return False


def fresh_value(e: Node, block: Block) -> bool:
    """Whether an array is made by a block, whatever path it takes."""
    return _is_fresh(e, private(block))
