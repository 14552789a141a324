"""Compile an emitted module with Numba: the same text, each function in nopython mode, cached on disk.

Numba is imported here, when first needed.
"""
from __future__ import annotations

import functools
import math
import sys
import types
from pathlib import Path
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
    # A registered module: Numba's cache finds the constants of a function through the module it belongs to.
    label = "transad_generated_" + "".join(c if c.isalnum() else "_" for c in Path(path).stem)
    module = sys.modules[label] = types.ModuleType(label)
    module.__file__ = path
    space = module.__dict__
    space.update({"np": np, "math": math, **{h: getattr(typed_numba, h) for h in HELPERS if hasattr(typed_numba, h)},
                  **built.pair.constants})
    exec(code, space)
    on_disk = not path.startswith("<")
    for part in ("fwd", "rev", "joint"):
        label = f"{built.pair.name}_{part}"
        space[label] = numba.njit(space[label], cache=on_disk, **flags(options.strict))
    return space
