"""The catalogue: every function with a rule, the form of the rule, its modes and whether it compiles.

`python -m transad.rules.catalogue` writes docs/catalogue.md to standard output.
"""
from __future__ import annotations

import builtins
import cmath
import fnmatch
import functools
import importlib
import linecache
import math
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.rules import load
from transad.rules.registry import _COMPOSITES, Rule, find, registered

__all__ = ["Entry", "entries", "every_name", "markdown", "matching", "names_of"]

_NAMESPACES = (("math", "math"), ("cmath", "cmath"), ("np", "numpy"), ("np.linalg", "numpy.linalg"), ("np.fft", "numpy.fft"),
               ("operator", "operator"), ("scipy.special", "scipy.special"), ("scipy.linalg", "scipy.linalg"),
               ("scipy.fft", "scipy.fft"), ("scipy.signal", "scipy.signal"), ("scipy.integrate", "scipy.integrate"),
               ("scipy.stats", "scipy.stats"), ("scipy.interpolate", "scipy.interpolate"),
               ("scipy.optimize", "scipy.optimize"), ("scipy.sparse.linalg", "scipy.sparse.linalg"),
               ("scipy.sparse", "scipy.sparse"), ("builtins", "builtins"),
               ("np.random", "numpy.random"), ("functools", "functools"), ("copy", "copy"),
               ("np.lib.stride_tricks", "numpy.lib.stride_tricks"),
               ("np.polynomial.polynomial", "numpy.polynomial.polynomial"))
_SHOWN = tuple(f"{short}." for short, _ in _NAMESPACES)


@dataclass(frozen=True)
class Entry:
    """One function of the catalogue."""

    name: str
    form: str
    modes: str
    compiled: bool
    notes: str
    aliases: tuple[str, ...] = ()


def _importable() -> dict[str, Any]:
    found = {}
    for short, full in _NAMESPACES:
        try:
            found[short] = importlib.import_module(full)
        except ImportError:
            continue
    return found


@functools.lru_cache(maxsize=1)
def _public() -> dict[int, list[str]]:
    """The public names of each function, by its identity: its own name first, then its aliases."""
    names: dict[int, list[str]] = {}
    for short, module in _importable().items():
        for label, value in vars(module).items():
            if callable(value) and not label.startswith("_") and not isinstance(value, type | types.ModuleType):
                whole = label if short == "builtins" else f"{short}.{label}"
                known = names.setdefault(id(value), [])
                own = label == getattr(value, "__name__", "") and (not known or _last(known[0]) != label)
                known.insert(0 if own else len(known), whole)
    return names


def names_of(function: Any) -> list[str]:
    """The names under which people call a function, the first one its own."""
    known = _public().get(id(function))
    if known is not None:
        return known
    if isinstance(function, types.MethodType | types.BuiltinMethodType) and function.__self__ is not None:
        owner = function.__self__
        if isinstance(owner, np.random.RandomState):
            return [f"np.random.{function.__name__}"]
        if not isinstance(owner, types.ModuleType):
            first = _public().get(id(owner), [getattr(owner, "name", type(owner).__name__)])[0]
            return [f"{first}.{function.__name__}"]
    label = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    parts = (getattr(function, "__module__", "") or "").replace("numpy", "np").split(".")
    module = ".".join(p for p in parts if not p.startswith("_"))          # scipy.interpolate._interpolate
    label = label.replace("_PPolyBase", "PPoly")
    return [label if module in ("", "builtins") else f"{module}.{label}"]


def _form(rule: Rule) -> str:
    if rule.nondiff:
        return "no derivative"
    return "partials" if rule.partials else "adjoint of " + ", ".join(rule.adjoints)


def _notes(rule: Rule, aliases: list[str]) -> str:
    parts = [f"also {', '.join(aliases)}"] if aliases else []
    if rule.singular:
        parts.append("a zero cotangent wins where the derivative is infinite")
    return "; ".join(parts)


def entries(pattern: str | None = None) -> list[Entry]:
    """The catalogue (or the part that matches), sorted by name; SciPy's where SciPy is installed."""
    _importable()
    load()
    out = []
    for rule in registered():
        modes = "zero" if rule.nondiff else _ALL
        out += _entry(rule.function, pattern, _form(rule), modes, compiles, rule)
    seen = {e.name for e in out}
    for function, form in _others():
        out += [e for e in _entry(function, pattern, form, _ALL, None, None) if e.name not in seen]
    return sorted(out, key=lambda e: (e.name.lower(), e.name))


_ALL = "reverse, forward, second order"
_NUMERIC = ("sum", "min", "max", "sorted", "divmod", "round", "functools.", "copy.", "np.")


def _entry(function: Any, pattern: str | None, form: str, modes: str, tried: Any, rule: Any) -> list[Entry]:
    """The entry of a function that people can name and that fits the pattern."""
    name, *aliases = names_of(function)
    known = name.startswith(_SHOWN) or hasattr(builtins, name)
    private = "<" in name or any(p.startswith("_") and p != "__call__" for p in name.split("."))
    if not known or private or (pattern and not any(_fits(n, pattern) for n in (name, *aliases))):
        return []          # helpers of the rules, and rules of users, are not part of the catalogue
    notes = _notes(rule, aliases) if rule is not None else f"also {', '.join(aliases)}" if aliases else ""
    compiled = tried(rule) if tried else name in _BUILTINS and _accepted(f"{name}({_BUILTINS[name]})", name, [1.0, 2.0])
    return [Entry(name, form, modes, compiled, notes, tuple(aliases))]


_BUILTINS = {"sum": "(a0, a1)", "min": "a0, a1", "max": "a0, a1", "divmod": "a0, a1", "round": "a0",
             "sorted": "(a0, a1)"}


def _others() -> Iterator[tuple[Any, str]]:
    """Functions that are followed without a rule of their own: written out in others, or run by the runtime."""
    from transad.runtime import helpers  # noqa: F401  (its import declares the handlers)
    from transad.runtime.calls import HANDLERS
    yield from ((function, "written out") for function, _ in _COMPOSITES.values())
    for function, _ in HANDLERS.values():
        if callable(function) and find(function) is None and names_of(function)[0].startswith(_NUMERIC):
            yield function, "followed"


def compiles(rule: Rule) -> bool:
    """Whether the function may occur in compiled text: tried on the points of its rule, with numbers and arrays as
    arguments and the rest spelled out."""
    from transad.passes.specialise.numpy_table import NAMES
    label = NAMES.get(rule.function) if _hashable(rule.function) else None
    if label is None or rule.nondiff:
        return label is not None
    keywords = rule.keywords or [{}] * len(rule.points)
    return any(_typed(label, point, words) for point, words in zip(rule.points, keywords, strict=False))


def _typed(label: str, point: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    values: list[Any] = []

    def spelled(v: Any) -> str:
        if isinstance(v, float | np.ndarray):
            values.append(v)
            return f"a{len(values) - 1}"
        if isinstance(v, list | tuple):
            return f"({''.join(spelled(x) + ', ' for x in v)})"
        return repr(v)
    inner = ", ".join([*map(spelled, point), *(f"{k}={v!r}" for k, v in keywords.items())])
    return _accepted(f"{label}({inner})", label, values)


def _accepted(call: str, label: str, values: list[Any]) -> bool:
    """Whether the typed path takes a function of `a0, a1, ...` that returns the call."""
    from transad.command.plan import planned
    from transad.errors import TransadError
    text = f"def f({', '.join(f'a{k}' for k in range(len(values)))}):\n    return {call}\n"
    file = f"<{label} of the catalogue>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "math": math, "cmath": cmath}
    try:
        exec(compile(text, file, "exec"), space)
        return planned(space["f"], tuple(values), options={"jit": True}).path == "typed"
    except (SyntaxError, TransadError):
        return False


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _fits(name: str, pattern: str) -> bool:
    wanted = pattern.replace("numpy.", "np.")
    if any(c in wanted for c in "*?["):
        return fnmatch.fnmatchcase(name, wanted) or fnmatch.fnmatchcase(_last(name), wanted)
    return wanted in name


def matching(pattern: str | None) -> list[Entry]:
    """The entries whose name contains the pattern, or matches it if it has wildcards; whole names first."""
    found = entries(pattern)
    wanted = (pattern or "").replace("numpy.", "np.")
    return sorted(found, key=lambda e: not any(wanted in (n, _last(n)) for n in (e.name, *e.aliases)))


def every_name() -> list[str]:
    """The names of all functions with a rule."""
    return [n for e in entries() for n in (e.name, *e.aliases)]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _rows(found: Iterable[Entry]) -> list[str]:
    rows = ["| Function | Rule | Modes | Compiled | Notes |", "|---|---|---|---|---|"]
    return rows + [f"| `{e.name}` | {e.form} | {e.modes} | {'yes' if e.compiled else 'no'} | "
                   f"{e.notes.replace('|', chr(92) + '|')} |" for e in found]


def _versions() -> str:
    """NumPy and SciPy as major.minor: their names and aliases differ."""
    found = []
    for package in ("numpy", "scipy"):
        try:
            found.append(f"{package} {'.'.join(importlib.import_module(package).__version__.split('.')[:2])}")
        except ImportError:
            found.append(f"{package} -")
    return ", ".join(found)


def markdown() -> str:
    """The catalogue page."""
    found = entries()
    differentiable = sum(e.modes != "zero" for e in found)
    groups: dict[str, list[Entry]] = {}
    for e in found:
        head = e.name.rpartition(".")[0]
        head = ".".join(head.split(".")[:2]) if head.startswith("scipy") else head
        groups.setdefault(head or "builtins", []).append(e)
    out = ["# Catalogue", "",
           "<!-- Written by `python -m transad.rules.catalogue`; a test compares it with the registry. -->",
           f"<!-- {_versions()} -->", "",
           f"Functions with a derivative rule: {differentiable}, and {len(found) - differentiable} whose result "
           "carries no derivative. `transad rules PATTERN` prints the same from the command line.", "",
           "*Rule*: `partials` are elementwise; `adjoint of` names the arguments that receive a derivative; `written "
           "out` stands for text in other functions; `followed` functions are run by transad itself. *Modes*: "
           "rules are source, so the forward mode and the second order are derived from the one declaration. "
           "*Compiled*: the function may occur in a function compiled with `jit=True`; the others run on the recorded "
           "path. Operators, indexing, methods of arrays (`x.sum()` for `np.sum(x)`), methods of ufuncs (`np.add.at`), "
           "products, sums and conversions of sparse matrices, `map`, `filter`, `zip`, `enumerate`, `itertools` and "
           "`np.vectorize` need no entry of their own.", ""]
    for head in sorted(groups, key=lambda h: (h.startswith("scipy"), h != "np", h)):
        out += [f"## {head}", "", *_rows(groups[head]), ""]
    return "\n".join(out)


if __name__ == "__main__":
    # This file runs under the name __main__; the registry it reads is the package's.
    print(markdown(), end="")
