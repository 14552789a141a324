"""The corpus: small programs, one file for each feature of the language.

`@program(*args, value=..., gradient=[...])` says at which arguments a function is checked, and what a person finds there:
the value, and one gradient for each float or array among the arguments. `typed=False` marks programs that are
recorded; `jit=True` those that are compiled too.
"""
from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Program:
    name: str
    function: Callable
    args: tuple
    value: Any
    gradient: list | None
    typed: bool
    jit: bool


def program(*args: Any, value: Any = None, gradient: list | None = None, typed: bool = True, jit: bool = False):
    """Check the function at these arguments; several points may be given, one above the other."""
    if value is None and gradient is None:
        raise ValueError("a program of the corpus says what a person expects")

    def mark(f):
        points = f.__dict__.setdefault("points", [])
        label = f"{f.__module__.rpartition('.')[2]}-{f.__name__}" + (f"-{len(points) + 1}" if points else "")
        points.append(Program(label, f, args, value, gradient, typed, jit))
        return f
    return mark


def corpus() -> Iterator[Program]:
    """All programs, in order of the files."""
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for f in vars(module).values():
            if getattr(f, "__module__", None) == module.__name__:
                yield from getattr(f, "points", [])
