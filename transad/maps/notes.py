"""What becomes of the maps of a function, one by one: threaded kernel or ordinary Python, why, and what to change.

>>> import math
>>> from transad.command.plan import planned
>>> def f(xs, a):
...     level = 0.0
...     ys = [math.sin(a * x) * math.exp(x) for x in xs]
...     def follow(y):
...         nonlocal level
...         level = 0.5 * level + y
...         return level
...     return sum(map(follow, ys))
>>> for note in noted(planned(f, signature="float64[:], float64")):
...     print(note.line, note.kernel, note.why or "-")
3 True -
8 False `level` goes from one item to the next, and not as a sum
"""
from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Any

from transad.errors import TransadError, TransadPerformanceWarning
from transad.names import Names

__all__ = ["LONG", "MapNote", "noted", "warn", "written"]

LONG = 20_000           # operations on a tape, or elements of an array, from which a map by Python is worth a warning
_WARNED: set[Any] = set()

_REDUCED = ("map", "prange", "vectorize")
_IMPURE = {"print": "it prints", "input": "it reads input", "open": "it opens files", "append": "it changes a list",
           "extend": "it changes a list", "add": "it changes a set", "update": "it changes a container",
           "random": "it draws random numbers", "normal": "it draws random numbers", "uniform": "it draws random numbers",
           "standard_normal": "it draws random numbers", "rand": "it draws random numbers",
           "randn": "it draws random numbers", "gauss": "it draws random numbers", "integers": "it draws random numbers",
           "randint": "it draws random numbers", "choice": "it draws random numbers"}
_CHANGES = {"it draws random numbers": "draw the numbers before, and map over them too",
            "it prints": "print after the map, from its results",
            "it changes a list": "return what the item adds, and collect it from the results"}


@dataclass(frozen=True)
class MapNote:
    """One map of the user's text: its line and text, whether it is a kernel, else why not and what to change."""

    line: int
    text: str
    kernel: bool
    why: str = ""
    change: str = ""

    def __str__(self) -> str:
        what = "threaded kernel" if self.kernel else f"ordinary Python: {self.why}" + (
            f" ({self.change})" if self.change else "")
        return f"line {self.line}  {self.text}: {what}"


def noted(plan: Any) -> list[MapNote]:
    """The maps of a plan's function, in order."""
    return _recorded(plan) if plan.refused else _typed(plan)


def _typed(plan: Any) -> list[MapNote]:
    from transad.maps.kernels import parts_of
    from transad.pipeline import PASSES, State
    state = plan.state
    fresh = State(plan.function, state.arguments, state.captured, state.wanted, options=state.options)
    PASSES[0][1](fresh)
    found: list[tuple[Any, str]] = []
    names = Names(fresh.specialiser.names.taken)
    jit = state.options.jit
    parts_of(fresh.program, names, jit, found)
    out = []
    for loop, why in (x for x in found if x[0].source):
        why = why or ("" if state.chain is not None else "parallel=False" if not state.options.parallel else
                      "its items are not differentiated apart from the rest of the function")
        change = _change(why, jit)
        if why == "small":
            why = "an item is only a few operations"
        out.append(MapNote(loop.line, f"`{_short(loop.source)}`", not why, why, change))
    return out


def _change(why: str, jit: bool) -> str:
    if why == "small":
        return "jit=True compiles it with the rest" if not jit else ""
    if "item to the next" in why or "last item" in why:
        return "only sums may go on from item to item; return the rest from each item"
    if "printed" in why:
        return "print after the map, from its results"
    if "writes into an array" in why:
        return "fill a new array, each item its own entry"
    return ""


def _recorded(plan: Any) -> list[MapNote]:
    """The function runs on a tape; its maps are found in its text."""
    from transad.command.explain import advice
    out = []
    for node in written(plan.source.node):
        line = node.lineno if node.lineno >= plan.source.first_line else plan.source.first_line + node.lineno - 1
        impure = impurity(node, plan.source.node)
        why = impure or plan.refused.reason
        change = _CHANGES.get(impure, "") if impure else advice(plan.refused.reason)
        out.append(MapNote(line, f"`{_short(ast.unparse(node))}`", False, why, change))
    return out


def written(tree: ast.AST) -> list[Any]:
    """The maps and comprehensions in a text, outermost ones, in order."""
    found: list[Any] = []

    def visit(node: ast.AST) -> None:
        name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
        if isinstance(node, ast.ListComp | ast.GeneratorExp) or (isinstance(node, ast.Call) and name in _REDUCED):
            found.append(node)
            return
        for child in ast.iter_child_nodes(node):
            visit(child)
    visit(tree)
    return found


def impurity(node: ast.AST, whole: ast.AST) -> str:
    """Why items must run in order, as far as the text tells; the functions that a map names are looked at too."""
    mentioned = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    bodies = [node, *(f for f in ast.walk(whole) if isinstance(f, ast.FunctionDef) and f.name in mentioned and f is not whole)]
    for body in bodies:
        for n in ast.walk(body):
            if isinstance(n, ast.Nonlocal | ast.Global):
                return f"it assigns {n.names[0]}, which other items see"
            if isinstance(n, ast.Call):
                name = getattr(n.func, "id", getattr(n.func, "attr", ""))
                if name in _IMPURE:
                    return _IMPURE[name]
    return ""


def warn(function: Any, args: tuple, options: dict[str, Any]) -> None:
    """One warning for each map of a function that is run item after item, the first time that its work is large."""
    code = getattr(function, "__code__", None)
    if code is None or code in _WARNED:
        return
    _WARNED.add(code)
    from transad.command.plan import planned
    try:
        plan = planned(function, args, options=options)
        notes = [n for n in noted(plan) if not n.kernel and n.why and "few operations" not in n.why]
    except TransadError:
        return
    for n in notes:
        change = f"; instead: {n.change}" if n.change else ""
        warnings.warn(f"the map in line {n.line} of {plan.source.filename}, {n.text}, is run by Python, one item after the "
                      f"other, because {n.why}{change}", TransadPerformanceWarning, stacklevel=2)


def _short(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "map"
    return line if len(line) <= 60 else line[:57] + "..."
