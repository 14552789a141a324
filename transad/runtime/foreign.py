"""Objects of other libraries that need more than a rule: Numba's functions and containers, random generators."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from .activity import lower
from .sweep import live

__all__ = ["drawn", "is_numba", "numba_call"]


def is_numba(function: Any) -> bool:
    """Whether a callable is one of Numba's objects."""
    module = type(function).__module__ if not isinstance(function, type) else function.__module__
    return isinstance(module, str) and module.split(".")[0] == "numba"


def numba_call(function: Any, args: tuple, kwargs: dict) -> Any:
    """Jitted functions run as the Python functions they were made from, typed containers as Python's."""
    from .calls import call, missing, opaque
    from .indexing import iterate
    python = function.__dict__.get("py_func") if hasattr(function, "__dict__") else None
    if (python is None and hasattr(type(function), "py_func")) or type(function).__name__ == "CPUDispatcher":
        python = function.py_func
    if isinstance(python, types.FunctionType):
        return call(python, *args, **kwargs)
    if type(function).__name__ == "DUFunc":
        return call(np.vectorize(function._dispatcher.py_func), *args, **kwargs)
    if isinstance(function, type) and function.__name__ == "prange":
        return call(range, *args, **kwargs)
    if isinstance(function, type) and function.__name__ in ("List", "Dict"):
        return [v for a in args for v in iterate(a)] if function.__name__ == "List" else dict(*args)
    if isinstance(function, type) and type(function).__name__ == "JitClassType":
        raise missing(function)
    return opaque(function, args, kwargs)


_DRAWS = {"normal": ("loc", "scale"), "uniform": ("low", "high"), "exponential": (None, "scale"),
          "laplace": ("loc", "scale"), "logistic": ("loc", "scale"), "gumbel": ("loc", "scale"),
          "rayleigh": (None, "scale")}
_DEFAULTS = {"loc": 0.0, "scale": 1.0, "low": 0.0, "high": 1.0}


def drawn(function: Any, args: tuple, kwargs: dict) -> Any:
    """A draw from a family of location and scale: differentiated through `loc + scale * (draw at 0 and 1)`.

    None for other distributions. The values are exactly those of the generator."""
    name = function.__name__
    names = _DRAWS.get(name)
    if names is None:
        return None
    from .operators import BINARY
    add, sub, mul = BINARY["add"], BINARY["sub"], BINARY["mul"]
    order = [n for n in names if n is not None]
    given = {**dict(zip(order, args, strict=False)), **kwargs}
    stack = live()
    y = function(*lower(args, 0, stack), **lower(kwargs, 0, stack))
    first = given.get(order[0], _DEFAULTS[order[0]]) if names[0] is not None else 0.0
    scale = given.get(order[-1], _DEFAULTS[order[-1]])
    if name == "uniform":
        scale = sub(scale, first)
    noise = (y - lower(first, 0, stack)) / lower(scale, 0, stack)
    moved = add(first, mul(scale, noise))
    return add(y, sub(moved, np.array(lower(moved, 0, stack))[()]))
