"""exp, log, sin ... of several items at once: in the loops of compiled maps these are called in the form that LLVM's
vectoriser takes (`vector_math`); where it cannot vectorise a loop, the scalar function runs as before.

Results differ from the scalar ones by at most 4 units in the last place (glibc's bound). Which of the two computes an item
depends on its place in its chunk, never on threads: the bits are the same from run to run and at any number of threads.
Off with `strict=True`, `without="vector_math"` or TRANSAD_VECTOR_MATH=0.
"""
from __future__ import annotations

import ast
import functools
import math
import types as pytypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from transad.options import Options
from transad.runtime.vector_math import available, vector_function

_MATH = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}


def wanted(options: Options) -> bool:
    """Whether compiled maps are to take the vector forms."""
    return "vector_math" not in options.without and not options.strict and bool(available())


@functools.lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """The functions as emitted code writes them, and their names in NumPy."""
    as_math = {f"math.{_MATH.get(f, f)}": f for f in available() if hasattr(math, _MATH.get(f, f))}
    return as_math | {f"np.{f}": f for f in available()}


class _Renamed(ast.NodeTransformer):
    def __init__(self) -> None:
        self.modules: tuple[str, ...] = ()
        self.used: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            found = _names().get(f"{node.value.id}.{node.attr}")
            if found is not None:
                self.used.add(found)
                return ast.copy_location(ast.Name(f"vector_{found}", ast.Load()), node)
        return self.generic_visit(node)


def rewritten(text: str, path: str, numbers: Iterable[str]) -> tuple[pytypes.CodeType, dict[str, Any]]:
    """The code of a module that calls the vector forms, and these by name: for `math.exp` everywhere, for `np.exp` in the
    functions named in `numbers`, which apply it to numbers only."""
    tree, chosen, change = ast.parse(text), set(numbers), _Renamed()
    for part in tree.body:
        change.modules = ("math", "np") if isinstance(part, ast.FunctionDef) and part.name in chosen else ("math",)
        change.visit(part)
    return compile(tree, path, "exec"), {f"vector_{f}": _function(f) for f in sorted(change.used)}


@functools.lru_cache(maxsize=64)
def _function(name: str) -> Callable[..., Any]:
    """The vector form for numbers of double precision, NumPy's function for others."""
    from numba import types
    from numba.extending import overload
    vector, plain = vector_function(name), getattr(np, name)

    def function(x: Any) -> Any:
        return plain(x)

    @overload(function)
    def choice(x):      # type: ignore[no-untyped-def]
        if x == types.float64 or isinstance(x, types.Integer | types.Boolean):
            return lambda x: vector(x)
        return lambda x: plain(x)
    return function
