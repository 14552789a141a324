"""The catalogue: every function with a rule, the form of the rule, its modes and whether it compiles.

`python -m transad.rules.catalogue` writes docs/catalogue.md to standard output.
"""
from __future__ import annotations

import fnmatch
import functools
import importlib
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.rules import load
from transad.rules.registry import Rule, registered

__all__ = ["Entry", "entries", "markdown", "matching", "names_of"]

_NAMESPACES = (("math", "math"), ("np", "numpy"), ("np.linalg", "numpy.linalg"), ("np.fft", "numpy.fft"),
               ("operator", "operator"), ("scipy.special", "scipy.special"), ("scipy.linalg", "scipy.linalg"),
               ("scipy.fft", "scipy.fft"), ("scipy.signal", "scipy.signal"), ("scipy.integrate", "scipy.integrate"),
               ("scipy.stats", "scipy.stats"), ("scipy.interpolate", "scipy.interpolate"),
               ("scipy.optimize", "scipy.optimize"), ("scipy.sparse.linalg", "scipy.sparse.linalg"),
               ("scipy.sparse", "scipy.sparse"), ("builtins", "builtins"),
               ("np.random", "numpy.random"), ("np.lib.stride_tricks", "numpy.lib.stride_tricks"),
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
    module = (getattr(function, "__module__", "") or "").replace("numpy", "np")
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


def entries() -> list[Entry]:
    """The whole catalogue, sorted by name; SciPy's part where SciPy is installed."""
    _importable()
    load()
    from transad.passes.specialise.numpy_table import NAMES
    out = []
    for rule in registered():
        name, *aliases = names_of(rule.function)
        if not name.startswith(_SHOWN) and "." in name:      # helpers of the rules themselves, and rules of users
            continue
        modes = "zero" if rule.nondiff else "reverse, forward, second order"
        out.append(Entry(name, _form(rule), modes, rule.function in NAMES if _hashable(rule.function) else False,
                         _notes(rule, aliases), tuple(aliases)))
    return sorted(out, key=lambda e: (e.name.lower(), e.name))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def matching(pattern: str | None) -> list[Entry]:
    """The entries whose name contains the pattern, or matches it if it has wildcards."""
    everything = entries()
    if not pattern:
        return everything
    wanted = pattern.replace("numpy.", "np.")
    spellings = {e.name: [s for n in (e.name, *e.aliases) for s in (n, _last(n))] for e in everything}
    if any(c in wanted for c in "*?["):
        return [e for e in everything if any(fnmatch.fnmatchcase(s, wanted) for s in spellings[e.name])]
    exact = [e for e in everything if wanted in spellings[e.name]]
    return exact + [e for e in everything if any(wanted in s for s in spellings[e.name]) and e not in exact]


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
           "*Rule*: `partials` are elementwise, `adjoint of` names the arguments that receive a derivative. *Modes*: "
           "rules are source, so the forward mode and the second order are derived from the one declaration. "
           "*Compiled*: the function may occur in a function compiled with `jit=True`; the others run on the recorded "
           "path. Operators, indexing, methods of arrays (`x.sum()` for `np.sum(x)`), and the builtins `abs`, `sum`, "
           "`min`, `max`, `pow`, `round`, `divmod`, `sorted`, `map`, `filter`, `zip`, `enumerate` follow these rules "
           "without an entry of their own.", ""]
    for head in sorted(groups, key=lambda h: (h.startswith("scipy"), h != "np", h)):
        out += [f"## {head}", "", *_rows(groups[head]), ""]
    return "\n".join(out)


if __name__ == "__main__":
    # This file runs under the name __main__; the registry it reads is the package's.
    print(markdown(), end="")
