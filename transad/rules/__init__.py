"""The catalogue of derivative rules, loaded when first needed.

`load()` imports the modules over NumPy and `math`; those over SciPy follow when SciPy is imported already (and again,
through `load_late`, when a SciPy function is met later). Other packages bring rules for their own functions in a module
that they name as an entry point of the group `transad.rules`:

    [project.entry-points."transad.rules"]
    mypackage = "mypackage.derivatives"

It is imported when the package itself is (`mypackage`, the name of the entry point).
"""
from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import sys

from .registry import adjoint, composite, nondiff, partials

__all__ = ["adjoint", "composite", "load", "load_late", "nondiff", "partials"]

_loaded: set[str] = set()
_HELPERS = frozenset({"registry", "catalogue", "algebra", "linear", "through"})


# The part of SciPy that a module of rules is about, where its name does not say so.
_PART = {"scipy_matrices": "linalg", "scipy_toeplitz": "linalg", "scipy_distributions": "stats",
         "scipy_multivariate": "stats", "scipy_ode": "integrate",
         **dict.fromkeys(["scipy_bessel", "scipy_special_more", "scipy_incomplete", "scipy_zeta", "scipy_orders",
                          "scipy_probability"], "special")}


@functools.cache
def _modules() -> dict[str, str]:
    """The modules of rules, each with the package whose import makes them useful."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name not in _HELPERS]
    return {n: f"scipy.{_PART.get(n) or n.split('_')[1]}" if n.startswith("scipy") else "numpy" for n in names}


def _import() -> bool:
    """Import the modules whose package is there; whether there were new ones."""
    new = [n for n, package in _modules().items() if n not in _loaded and package in sys.modules]
    for name in new:
        _loaded.add(name)
        importlib.import_module(f"{__name__}.{name}")
    return bool(new)


def load() -> None:
    """Import the rules of everything that is imported now: of SciPy only the parts that are. Cheap when called again."""
    _import()


def load_late() -> bool:
    """Import the rules of SciPy and of other packages that were imported since; whether there were any."""
    scipy = _import()
    return _load_others() or scipy


@functools.cache
def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group="transad.rules")}


def _load_others() -> bool:
    """Import the modules of the entry points whose package is imported now."""
    found = [name for name in _entry_points() if name in sys.modules and name not in _loaded]
    for name in found:
        _loaded.add(name)
        _entry_points()[name].load()
    return bool(found)
