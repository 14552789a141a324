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
_HELPERS = frozenset({"registry", "catalogue", "algebra", "linear"})


def _import(scipy: bool) -> None:
    for module in pkgutil.iter_modules(__path__):
        name = module.name
        if name not in _loaded and name not in _HELPERS and name.startswith("scipy") == scipy:
            _loaded.add(name)
            importlib.import_module(f"{__name__}.{name}")


def load() -> None:
    """Import the rules of everything that is imported now. Cheap when called again."""
    if "numpy" not in _loaded:
        _loaded.add("numpy")
        _import(scipy=False)
    if "scipy" in sys.modules and "scipy" not in _loaded:
        _loaded.add("scipy")
        _import(scipy=True)


def load_late() -> bool:
    """Import the rules of SciPy and of other packages that were imported since; whether there were any."""
    scipy = "scipy" not in _loaded and "scipy" in sys.modules
    if scipy:
        load()
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
