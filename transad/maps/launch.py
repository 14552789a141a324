"""Load the module of a chain of maps: compiled whole, or with its maps compiled when they are large."""
from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from transad import cache
from transad.emit import HELPERS
from transad.maps.kernels import Chain
from transad.options import Options
from transad.passes import ruled
from transad.runtime import kernels as map_helpers
from transad.runtime import threads, vector_maps
from transad.runtime import typed as helpers


def load_chain(chain: Chain, options: Options) -> tuple[Callable, Callable, Callable, Callable, str]:
    """The forward, reverse and joint sweeps, the reverse as plain Python, and the path of the file."""
    path = cache.stored(chain.text, chain.name, repr(options))
    code = compile(chain.text, path, "exec")
    plain = _space(chain, code, path, helpers, map_helpers)
    exec(code, plain)
    parts = [f"{chain.name}_{part}" for part in ("fwd", "rev", "joint")]
    if options.jit:
        space = compiled_space(chain, code, path, options)
        calls = [space[p] for p in parts]
        if chain.threaded:
            calls = [threads.guarded(c, options.threads) for c in calls]
    else:
        space = _launched(chain, code, path, options, plain)
        calls = [space[p] for p in parts]
    return calls[0], calls[1], calls[2], plain[parts[1]], path


def _space(chain: Chain, code: types.CodeType, path: str, *modules: Any) -> dict[str, Any]:
    known = {h: getattr(m, h) for m in modules for h in (*HELPERS, *map_helpers.HELPERS) if hasattr(m, h)}
    return {"np": np, "math": math, "__name__": f"transad_generated_{chain.name}", "__file__": path, **known,
            **ruled.helpers(code), **chain.constants}


def compiled_space(chain: Chain, code: types.CodeType, path: str, options: Options) -> dict[str, Any]:
    """The namespace of the module with its functions compiled on their first call."""
    from transad.compiled import flags, switched_off
    if switched_off():
        space = _space(chain, code, path, helpers, map_helpers)
        exec(code, space)
        return space
    threads.prepare()
    import numba

    from transad.runtime import kernels_numba, typed_numba
    label = "transad_generated_" + "".join(c if c.isalnum() else "_" for c in Path(path).stem)
    module = sys.modules[label] = types.ModuleType(label)
    space = module.__dict__
    space.update({**_space(chain, code, path, typed_numba, kernels_numba), "__name__": label})
    if vector_maps.wanted(options):
        code, vector = vector_maps.rewritten(chain.text, path, [f for f, traits in chain.functions if "numbers" in traits])
        space.update(vector)
    exec(code, space)
    on_disk = not path.startswith("<")
    for name, traits in chain.functions:
        more: dict[str, Any] = {"parallel": True} if "threaded" in traits else {}
        if "checked" in traits:
            more["boundscheck"] = True
        space[name] = numba.njit(space[name], cache=on_disk, **{**flags(options.strict), **more})
    return space


def _launched(chain: Chain, code: types.CodeType, path: str, options: Options,
              plain: dict[str, Any]) -> dict[str, Any]:
    """The namespace run by Python, in which the maps decide at each call whether to be compiled."""
    space = _space(chain, code, path, helpers, map_helpers)
    exec(code, space)
    made: dict[str, Any] = {}

    def compiled(entry: str) -> Callable[[], Callable[..., Any]]:
        def make() -> Callable[..., Any]:
            if not made:
                made.update(compiled_space(chain, code, path, options))
            return threads.guarded(made[entry], options.threads)
        return make
    for entry, work, kept in chain.maps:
        count = plain[work].__code__.co_argcount
        space[entry] = map_helpers.Launcher(plain[entry], plain[work], count, compiled(entry), kept)
    return space
