"""How the reverse sweep of an item uses the cotangent of an array: what is touched under the item's own index alone
needs no copy for each chunk."""
from __future__ import annotations

from transad.ir import Block, Move, Store, expressions, reads, walk
from transad.nodes import gast
from transad.quote import Node, show


def only_own(block: Block, shadow: str, index: set[str]) -> bool:
    """Whether a shadow is touched only under the item's own index, by any of its names."""
    for s in walk(block):
        if not all(_only_own(e, shadow, index) for e in expressions(s)):
            return False
        if isinstance(s, Store) and s.array == shadow and (not s.index or show(s.index[0]) not in index):
            return False
        if isinstance(s, Move) and shadow in reads(s):
            return False
    return True


def _only_own(e: Node, shadow: str, index: set[str]) -> bool:
    if isinstance(e, gast.Name):
        return e.id != shadow
    if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) and e.value.id == shadow:
        first = e.slice.elts[0] if isinstance(e.slice, gast.Tuple) else e.slice
        return isinstance(first, gast.Name) and first.id in index
    return all(_only_own(c, shadow, index) for c in gast.iter_child_nodes(e))


def stored_once(block: Block, shadow: str, index: set[str]) -> bool:
    """Turn the only addition into a shadow's own entry into a plain store; whether that was so."""
    found = [s for s in walk(block) if shadow in reads(s)]
    if len(found) != 1 or not isinstance(found[0], Store) or not any(s is found[0] for s in block):
        return False
    s = found[0]
    if s.array != shadow or s.op != "+" or len(s.index) != 1 or show(s.index[0]) not in index:
        return False
    if shadow in {n for e in expressions(s) for n in _names(e)}:
        return False
    s.op = ""
    return True


def _names(e: Node) -> list[str]:
    return [x.id for x in gast.walk(e) if isinstance(x, gast.Name)]
