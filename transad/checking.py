"""`transad check`: the derivative of each argument along a random line, beside differences."""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.api import pullback
from transad.command.targets import Usage
from transad.describe import described
from transad.signatures import spelled
from transad.testing import _difference, _paired, _random_like, check_grads
from transad.tree import leaves_of, map_tree

__all__ = ["Row", "arguments", "checked", "failures", "table"]


@dataclass(frozen=True)
class Row:
    """One argument: its derivative and the difference quotient along the same random line."""

    name: str
    kind: str
    derivative: float
    differences: float
    agrees: bool

    @property
    def error(self) -> float:
        return abs(self.derivative - self.differences) / max(1.0, abs(self.differences))


def arguments(text: str, function: Any) -> tuple[Any, ...]:
    """The values of comma-separated expressions, with `np`, `math` and the names of the function's module."""
    space = {"np": np, "numpy": np, "math": math, "__builtins__": builtins,
             **getattr(function, "__globals__", {})}
    try:
        return tuple(eval(compile(f"({text},)" if text.strip() else "()", "--args", "eval"), space))
    except Exception as problem:
        raise Usage(f"--args {text!r}: {type(problem).__name__}: {problem}\n"
                    "  Write Python expressions separated by commas: --args 'np.ones(3), 0.5'") from None


def failures(function: Callable, args: tuple[Any, ...], order: int, rtol: float, atol: float) -> list[str]:
    """Which of the modes and orders disagree with differences (`transad.check_grads`)."""
    out = []
    for mode, what in (("rev", "reverse"), ("fwd", "forward")):
        for n in range(1, order + 1):
            try:
                check_grads(function, args, (mode,), n, rtol=rtol, atol=atol)
            except AssertionError:
                out.append(f"{what} mode" + (" of second order" if n > 1 else ""))
                break
    return out


def checked(function: Callable, args: tuple[Any, ...], names: list[str], rtol: float = 1e-5,
            atol: float = 1e-6) -> list[Row]:
    """One row per argument that holds real or complex numbers."""
    rng = np.random.default_rng(0)
    rows = []
    y, back = pullback(function, *args)
    weights = map_tree(lambda leaf: _random_like(leaf, rng), y)
    grads = back(weights)
    for k, value in enumerate(args):
        direction = map_tree(lambda leaf: _random_like(leaf, rng), value)
        if all(d is None for d in leaves_of(direction)):
            continue

        def alone(x: Any, k: int = k) -> Any:
            return function(*args[:k], x, *args[k + 1:])
        slope = _difference(alone, (value,), (direction,), 1e-3)
        derivative, differences = float(_paired(grads[k], direction)), float(_paired(weights, slope))
        close = bool(np.isclose(derivative, differences, rtol=rtol, atol=atol))
        shape, _ = described(value)
        rows.append(Row(names[k], spelled(shape) if shape else type(value).__name__, derivative, differences, close))
    return rows


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    head = ("argument", "kind", "derivative", "differences", "error", "")
    cells = [head, *((r.name, r.kind, f"{r.derivative:.10g}", f"{r.differences:.10g}", f"{r.error:.1e}",
                      "ok" if r.agrees else "DIFFERS") for r in rows)]
    wide = [max(len(row[c]) for row in cells) for c in range(len(head))]
    return "\n".join("  ".join(f"{cell:<{w}}" if c < 2 else f"{cell:>{w}}" for c, (cell, w) in enumerate(
        zip(row, wide, strict=True))).rstrip() for row in cells)
