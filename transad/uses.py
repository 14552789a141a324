"""How a function's text uses its parameters: with how many indices, as a count, as an index.

    x[i, j], m, n = x.shape        rank 2
    len(x), for v in x             rank 1
    range(n), x[n]                 an integer
    x[k[i]]                        k holds integers
    x.name, x["key"], x(...)       something else

What is found for `v` after `v = x`, `v = x.copy()` or `v = x[i]` counts for x, and so does what a called
function of the user does with x. The findings are guesses for printing; a derivative is always built from the values
of a call.
"""
from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transad.errors import NoSource
from transad.source import get_source

__all__ = ["Use", "uses"]

_ARRAY_ATTRIBUTES = {"size", "ndim", "dtype", "flat", "real", "imag", "strides", "nbytes", "itemsize", "base", "flags"}
_REDUCTIONS = {"sum", "mean", "prod", "max", "min", "std", "var", "median", "cumsum", "sort", "argmax", "argmin",
               "norm", "average"}
_ELEMENTWISE = {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} | {"where", "clip"}
_SAME = {"copy", "asarray", "array", "ascontiguousarray", "zeros_like", "empty_like", "ones_like", "atleast_1d"}
_DEPTH = 4


@dataclass
class Use:
    """What the text says about one name."""

    rank: int = 0
    integer: bool = False
    holds_indices: bool = False
    other: str = ""
    evidence: bool = False

    def at_least(self, rank: int) -> None:
        self.rank, self.evidence = max(self.rank, rank), True

    def take(self, more: Use) -> None:
        self.rank = max(self.rank, more.rank)
        self.integer |= more.integer
        self.holds_indices |= more.holds_indices
        self.other = self.other or more.other
        self.evidence |= more.evidence


def uses(function: types.FunctionType, depth: int = 0) -> dict[str, Use]:
    """The use of each parameter."""
    try:
        node = get_source(function).node
    except NoSource:
        return {}
    found = _Finder(function, depth)
    found.visit(node)
    found.settle()
    code = function.__code__
    slots = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return {n: found.of(n) for n in slots}


class _Finder(ast.NodeVisitor):
    def __init__(self, function: types.FunctionType, depth: int) -> None:
        self.function, self.depth = function, depth
        self.table: dict[str, Use] = {}
        self.links: list[tuple[str, str, int]] = []        # (variable, what it is or is a part of, by how many indices)
        self.mixed: list[tuple[str, list[str]]] = []       # (variable, what it was computed from, element by element)
        self.reduced: list[str] = []

    def of(self, name: str) -> Use:
        return self.table.setdefault(name, Use())

    def settle(self) -> None:
        """Let variables speak for what they were made from; what is summed is an array."""
        self.follow()
        if self.reduced and not any(self.of(n).rank for n in self.reduced):
            for n in self.reduced:
                if not self.of(n).integer:
                    self.of(n).at_least(1)
        for variable, names in self.mixed:
            rank = self.of(variable).rank
            free = [n for n in names if not self.of(n).integer and n != variable]
            if rank and free and not any(self.of(n).rank for n in names if n != variable):
                self.of(free[0]).at_least(rank)          # which of them is the array is anybody's guess: the first
        self.follow()

    def follow(self) -> None:
        for _ in range(3):
            for variable, origin, indices in self.links:
                use = self.of(variable)
                if not indices:
                    self.of(origin).take(use)
                elif use.rank:
                    self.of(origin).at_least(indices + use.rank)

    def made(self, target: ast.expr, value: ast.expr) -> None:
        """`target = value`"""
        if not isinstance(target, ast.Name):
            return
        origin, indices = _origin(value)
        if origin is not None and origin != target.id:
            self.links.append((target.id, origin, indices))
        elif origin is None:
            names = [n.id for n in _arithmetic(value)]
            if names:
                self.mixed.append((target.id, names))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        base, count = node.value, _indices(node.slice)
        while isinstance(base, ast.Subscript):
            base, count = base.value, count + _indices(base.slice)
        if isinstance(base, ast.Name):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                self.of(base.id).other = "it is indexed by text"
            self.of(base.id).at_least(count)
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            self.index(part)
        self.generic_visit(node)

    def index(self, node: ast.expr) -> None:
        """Names that stand in an index."""
        for inner in _index_parts(node):
            if isinstance(inner, ast.Name):
                self.of(inner.id).integer = self.of(inner.id).evidence = True
            elif isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
                self.of(inner.value.id).holds_indices = True

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            use = self.of(node.value.id)
            if node.attr == "T":
                use.at_least(2)
            elif node.attr in _ARRAY_ATTRIBUTES or node.attr == "shape" or hasattr(np.ndarray, node.attr):
                use.at_least(1)
            elif not isinstance(self.function.__globals__.get(node.value.id), types.ModuleType):
                use.other = use.other or f"its attribute {node.attr} is used"
        elif isinstance(node.value, ast.Name):
            self.of(node.value.id).other = f"its attribute {node.attr} is assigned"
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Attribute) and value.attr == "shape" and isinstance(value.value, ast.Name):
            if isinstance(target, ast.Tuple):
                self.of(value.value.id).at_least(len(target.elts))
        elif isinstance(value, ast.Name) and isinstance(target, ast.Tuple):
            self.of(value.id).at_least(1)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for t, v in zip(target.elts, value.elts, strict=True):
                self.made(t, v)
        else:
            self.made(target, value)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self.iterated(node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.iterated(node.iter)
        self.generic_visit(node)

    def iterated(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            self.of(node.id).at_least(1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (
                "enumerate", "zip", "reversed"):
            for a in node.args:
                self.iterated(a)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                if isinstance(side, ast.Name):
                    self.of(side.id).at_least(2 if side.id[0].isupper() else 1)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        label = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        plain = [a for a in node.args if isinstance(a, ast.Name)]
        if label == "range" or (label in ("zeros", "ones", "empty", "full", "eye", "prange") and node.args):
            first = node.args if label in ("range", "prange") else _elements(node.args[0])
            for a in first:
                self.index(a)
        elif label == "len":
            for a in plain:
                self.of(a.id).at_least(1)
        elif (label in _REDUCTIONS and isinstance(node.func, ast.Attribute)) or label == "sum":
            self.reduced += [n.id for a in node.args[:1] for n in _arithmetic(a)]
        elif isinstance(node.func, ast.Name):
            self.called(node, label)
        self.generic_visit(node)

    def called(self, node: ast.Call, label: str) -> None:
        """What a function of the user does with what it is given."""
        code = self.function.__code__
        if label in code.co_varnames[:code.co_argcount]:
            self.of(label).other = "it is called"
            return
        function = self.function.__globals__.get(label)
        function = getattr(function, "py_func", getattr(function, "__wrapped__", function))
        if not isinstance(function, types.FunctionType) or self.depth >= _DEPTH or function is self.function:
            return
        inner = uses(function, self.depth + 1)
        pairs = [(a, inner[n]) for a, n in zip(node.args, inner, strict=False)]
        pairs += [(k.value, inner[k.arg]) for k in node.keywords if k.arg in inner]
        for value, use in pairs:
            origin, indices = _origin(value)
            if origin is not None and not indices:
                self.of(origin).take(use)
            elif origin is not None and use.rank:
                self.of(origin).at_least(indices + use.rank)


def _indices(node: ast.expr) -> int:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return sum(1 for p in parts if not (isinstance(p, ast.Constant) and (p.value is None or p.value is ...))
               and not (isinstance(p, ast.Attribute) and p.attr == "newaxis"))


def _index_parts(node: ast.expr) -> Iterator[ast.expr]:
    """The names and elements that an index is computed from by + - * // %."""
    if isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                yield from _index_parts(bound)
    elif isinstance(node, ast.BinOp):
        yield from _index_parts(node.left)
        yield from _index_parts(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _index_parts(node.operand)
    else:
        yield node


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _origin(value: ast.expr) -> tuple[str | None, int]:
    """The name that a value is, copies, or has the shape of; or of which it is a part, and by how many indices."""
    if isinstance(value, ast.Name):
        return value.id, 0
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        return value.value.id, sum(not isinstance(p, ast.Slice) for p in parts)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME:
        of = value.args[0] if value.args else value.func.value
        return (of.id, 0) if isinstance(of, ast.Name) else (None, 0)
    return None, 0


def _arithmetic(node: ast.expr) -> Iterator[ast.Name]:
    """The names that an elementwise expression combines."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        yield from _arithmetic(node.left)
        if not isinstance(node.op, ast.Pow):
            yield from _arithmetic(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _arithmetic(node.operand)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ELEMENTWISE:
        for a in node.args:
            yield from _arithmetic(a)
