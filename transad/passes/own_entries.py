"""What a trip writes under its own index, as a variable of the trip.

>>> from transad.quote import expr, name
>>> loop = [Store("out", [name("i"), constant(0)], expr("a * x[i]")), Let("s", expr("out[i, 0] + 1.0"))]
>>> print(dump(localised("out", "row", loop, "i", 2)))
row[0] = a * x[i]
s = row[0] + 1.0
"""
from __future__ import annotations

from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Store, While, dump, expressions, walk
from transad.kinds import Array, Kind
from transad.nodes import gast
from transad.quote import Node, call, constant, expr, index, name, rebuilt, slice_, tuple_

_ZERO = {"float64": 0.0, "int64": 0, "bool": False}


def owned(a: str, body: Block, i: str) -> bool:
    """Whether all that a loop body does with an array is under the index of the trip."""
    for s in walk(body):
        if isinstance(s, Store) and s.array == a and not (s.index and _is(s.index[0], i)):
            return False
        if isinstance(s, Move) and (a in s.sources or a in s.targets):
            return False
        if not all(_only_own(e, a, i) for e in expressions(s)):
            return False
    return True


def _is(e: Node, i: str) -> bool:
    return isinstance(e, gast.Name) and e.id == i


def _items(e: Node) -> list[Node]:
    return list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]


def _only_own(e: Node, a: str, i: str) -> bool:
    if isinstance(e, gast.Name):
        return e.id != a
    if isinstance(e, gast.Subscript) and _is(e.value, a):
        first, *rest = _items(e)
        return _is(first, i) and all(_only_own(x, a, i) for x in rest)
    return all(_only_own(c, a, i) for c in gast.iter_child_nodes(e))


def localised(a: str, local: str, body: Block, i: str, rank: int) -> Block:
    """The body with `local` in the place of `a[i]`: a number where `a` has one axis, else an array."""
    def inside(e: Node) -> Node:
        return _replaced(e, a, local)

    out: Block = []
    for s in body:
        place: dict[str, Any] = {"line": s.line, "source": s.source}
        if isinstance(s, Store):
            items, value = [inside(x) for x in s.index], inside(s.value)
            if s.array != a:
                out.append(Store(s.array, items, value, s.op, **place))
            elif rank == 1:
                out.append(Let(local, expr(f"x {s.op} v", x=name(local), v=value) if s.op else value, **place))
            else:
                out.append(Store(local, items[1:] or [slice_(None, None)] * (rank - 1), value, s.op, **place))
        elif isinstance(s, Let):
            out.append(Let(s.name, inside(s.value), **place))
        elif isinstance(s, For):
            out.append(For(s.var, inside(s.start), inside(s.stop), s.step, localised(a, local, s.body, i, rank), **place))
        elif isinstance(s, While):
            out.append(While(inside(s.test), localised(a, local, s.body, i, rank), **place))
        elif isinstance(s, If):
            out.append(If(inside(s.test), localised(a, local, s.then, i, rank), localised(a, local, s.orelse, i, rank),
                          **place))
        elif isinstance(s, Exit):
            out.append(Exit(s.how, None if s.value is None else inside(s.value), **place))
        else:
            assert isinstance(s, Move | Do)
            out.append(s)
    return out


def _replaced(e: Node, a: str, local: str) -> Node:
    if isinstance(e, gast.Subscript) and _is(e.value, a):
        rest = [_replaced(x, a, local) for x in _items(e)[1:]]
        return index(name(local), rest) if rest else name(local)
    changed: dict[str, Any] = {}
    for field in e._fields:
        value = getattr(e, field, None)
        if isinstance(value, gast.AST):
            changed[field] = _replaced(value, a, local)
        elif isinstance(value, list):
            changed[field] = [_replaced(v, a, local) if isinstance(v, gast.AST) else v for v in value]
    return rebuilt(e, changed) if changed and not isinstance(e, gast.Name) else e


def beginning(made: Node, kind: Array) -> tuple[Node, Kind] | None:
    """What an entry of an array that `made` allocates starts as, and its kind; None where that is not known."""
    if kind.ndim == 1:
        zero = _ZERO.get(kind.dtype)
        return None if zero is None else (constant(zero), kind.element)
    if not isinstance(made.args[0], gast.Tuple):
        return None
    sizes = list(made.args[0].elts[1:])
    shape = sizes[0] if len(sizes) == 1 else tuple_(sizes)
    return call(made.func.id, shape, *made.args[1:]), Array(kind.dtype, kind.ndim - 1)


__all__ = ["beginning", "dump", "localised", "owned"]
