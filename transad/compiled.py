"""Compile an emitted module with Numba: the same text, each function in nopython mode, cached on disk.

Numba is imported here, when first needed.
"""
from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transad.emit import HELPERS
from transad.errors import CannotCompile, Place
from transad.options import Options

if TYPE_CHECKING:
    from transad.pipeline import Built

FAST = {"reassoc", "contract", "arcp", "nsz"}          # NaN and infinity survive


@functools.lru_cache(maxsize=8)
def flags(strict: bool) -> dict[str, Any]:
    """Numba's options for emitted code."""
    return {"error_model": "numpy", "fastmath": set() if strict else set(FAST), "nogil": True}


def switched_off() -> bool:
    """Whether NUMBA_DISABLE_JIT is set: what would be compiled is then run by Python, from the same text."""
    import numba
    return bool(numba.config.DISABLE_JIT)      # type: ignore[attr-defined]


def compiled_module(code: types.CodeType, built: Built, options: Options, path: str) -> dict[str, Any]:
    """The namespace of the module of a pair with its functions compiled on their first call."""
    parts = (*built.recursive, *(f"{built.pair.name}_{part}" for part in ("fwd", "rev", "joint")))
    # Recursive functions that Numba reads back from its cache can crash the process: they are compiled in each process.
    return module_of(code, built.pair.constants, options, path, parts, on_disk=not built.recursive)


def module_of(code: types.CodeType, constants: dict[str, Any], options: Options, path: str,
              functions: Sequence[str], on_disk: bool = True) -> dict[str, Any]:
    """The namespace of a module with these of its functions compiled on their first call."""
    import numba

    from transad.runtime import typed, typed_numba
    off = switched_off()
    # A registered module: Numba's cache finds the constants of a function through the module it belongs to.
    label = "transad_generated_" + "".join(c if c.isalnum() else "_" for c in Path(path).stem)
    module = sys.modules[label] = types.ModuleType(label)
    module.__file__ = path
    space = module.__dict__
    space.update({"np": np, "math": math, **{h: getattr(m, h) for m in (typed if off else typed_numba,) for h in HELPERS
                                                 if hasattr(m, h)}, **constants})
    exec(code, space)
    if off:
        return space
    on_disk = on_disk and not path.startswith("<")
    for label in functions:
        space[label] = numba.njit(space[label], cache=on_disk, **flags(options.strict))
    return space


def ready(dispatcher: Any, args: tuple, built: Built) -> None:
    """Compile for the types of `args` (or load from the cache); a damaged cache is thrown away, not trusted. (A plain
    function, where Numba's compiler is switched off, is ready as it is.)

    What Numba refuses becomes a `CannotCompile` at the user's function, with Numba's reason."""
    import numba
    from numba.core.errors import NumbaError
    dispatcher = getattr(dispatcher, "dispatcher", dispatcher)
    if isinstance(dispatcher, types.FunctionType):
        return
    signature = tuple(numba.typeof(a) for a in args)
    if signature in dispatcher.overloads:
        return
    try:
        dispatcher.compile(signature)
    except NumbaError as problem:
        raise refused(problem, built) from problem
    except Exception:
        source = Path(dispatcher.py_func.__code__.co_filename)
        for stale in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb*"):
            stale.unlink(missing_ok=True)
        try:
            dispatcher.compile(signature)
        except Exception as problem:
            raise refused(problem, built) from problem


def refused(problem: Exception, built: Built) -> CannotCompile:
    """Numba's complaint as an error at the user's line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed in nopython", "During:", "File "))), "")
    reason = reason or f"Numba fails with {type(problem).__name__}"
    return CannotCompile(f"Numba cannot compile the derivative of {built.pair.name}: {reason}",
                         place=Place(built.filename, built.line) if built.filename else None,
                         instead="leave out jit=True, or write this part with what Numba supports")
