"""The catalogue of derivative rules, loaded when first needed.

`load()` imports the modules over NumPy and `math`; those over SciPy follow when SciPy is imported already (and again,
through `load_late`, when a SciPy function is met later).
"""
from __future__ import annotations

import importlib
import pkgutil
import sys

__all__ = ["load", "load_late"]

_loaded: set[str] = set()
_HELPERS = frozenset({"registry", "algebra", "linear"})


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
    """Import the rules of SciPy if it was imported since `load`; whether that was so."""
    if "scipy" in _loaded or "scipy" not in sys.modules:
        return False
    load()
    return True
