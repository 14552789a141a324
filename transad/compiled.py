"""Compile an emitted module with Numba: the same text, each function in nopython mode, cached on disk.

Numba is imported here, when first needed.
"""
from __future__ import annotations

import functools
import math
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from transad.emit import HELPERS
from transad.options import Options

if TYPE_CHECKING:
    from transad.pipeline import Built

FAST = {"reassoc", "contract", "arcp", "nsz"}          # NaN and infinity survive


@functools.lru_cache(maxsize=8)
def flags(strict: bool) -> dict[str, Any]:
    """Numba's options for emitted code."""
    return {"error_model": "numpy", "fastmath": set() if strict else set(FAST), "nogil": True}


def compiled_module(code: types.CodeType, built: Built, options: Options, path: str) -> dict[str, Any]:
    """The namespace of the module with its functions compiled on their first call."""
    import numba

    from transad.runtime import typed_numba
    space: dict[str, Any] = {"np": np, "math": math, "__name__": f"transad_generated_{built.pair.name}",
                             "__file__": path, **{h: getattr(typed_numba, h) for h in HELPERS
                                                  if hasattr(typed_numba, h)}, **built.pair.constants}
    exec(code, space)
    on_disk = not path.startswith("<")
    for part in ("fwd", "rev", "joint"):
        label = f"{built.pair.name}_{part}"
        space[label] = numba.njit(space[label], cache=on_disk, **flags(options.strict))
    return space
