"""Elementwise functions that LLVM may run on several numbers at a time, by glibc's libmvec.

Numba as it is published calls libm once for each number. Here a call says which function of libmvec does the same for
two, four or eight numbers, and the loop vectoriser takes it. Results differ from NumPy's by a few units in the last
place, and are its own at infinities and NaN. `available()` is empty where there is no libmvec (another processor or C
library), or with TRANSAD_VECTOR_MATH=0.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

__all__ = ["available"]

_NAMES = ("exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
          "cbrt").split()
_LANES = (("b", 2, "sse2"), ("d", 4, "avx2"), ("e", 8, "avx512f"))      # libmvec's letter, doubles, what the processor needs


@functools.lru_cache(maxsize=1)
def available() -> frozenset[str]:
    """The functions of NumPy, by name, that have such a form here."""
    import ctypes
    import platform
    if os.environ.get("TRANSAD_VECTOR_MATH") == "0" or platform.machine() != "x86_64":
        return frozenset()
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return frozenset()
    return frozenset(n for n in _NAMES if all(hasattr(library, f"_ZGV{isa}N{lanes}v_{_c_name(n)}") for isa, lanes, _ in _LANES))


@functools.lru_cache(maxsize=1)
def _runnable() -> list[tuple[str, int]]:
    """The forms that the processor runs for which Numba compiles: a wider one would end the process."""
    import llvmlite.binding as binding
    from numba.core import config
    told = any(getattr(config, n, None) is not None for n in ("CPU_NAME", "CPU_FEATURES"))
    features = {} if told else binding.get_host_cpu_features()
    return [(isa, lanes) for isa, lanes, needs in _LANES if needs == "sse2" or features.get(needs)]


def _c_name(name: str) -> str:
    return name.replace("arc", "a")


@functools.cache
def vector_function(name: str) -> Callable[..., Any]:
    """The function, for Numba's compiled code: of one float64."""
    import llvmlite.binding as binding
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic
    binding.load_library_permanently("libmvec.so.1")
    symbol = _c_name(name)

    def call(typing_context: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            double, module = ir.DoubleType(), builder.module
            scalar = _declared(module, symbol, ir.FunctionType(double, [double]))
            twins = []
            for isa, lanes in _runnable():
                lane = ir.VectorType(double, lanes)
                twins.append(_declared(module, f"_ZGV{isa}N{lanes}v_{symbol}", ir.FunctionType(lane, [lane])))
            _keep(module, twins)
            result = builder.call(scalar, args)
            variants = ",".join(f"{t.name}({t.name})" for t in twins)
            set.add(result.attributes,      # llvmlite's own `add` knows none of these
                    f'memory(none) nounwind willreturn "vector-function-abi-variant"="{variants}"')
            return result
        return types.float64(types.float64), codegen
    return intrinsic(call)


def _declared(module: Any, symbol: str, kind: Any) -> Any:
    from llvmlite import ir
    return module.globals.get(symbol) or ir.Function(module, kind, symbol)


def _keep(module: Any, functions: list[Any]) -> None:
    """Declarations that nothing calls are dropped before the vectoriser looks for them, but for those listed here."""
    from llvmlite import ir
    byte = ir.IntType(8).as_pointer()
    old = module.globals.get("llvm.compiler.used")
    kept = list(old.initializer.constant) if old else []
    if old:
        del module.globals["llvm.compiler.used"]
        module.scope._useset.discard("llvm.compiler.used")
    have = {str(k) for k in kept}
    kept += [c for c in (f.bitcast(byte) for f in functions) if str(c) not in have]
    used = ir.GlobalVariable(module, ir.ArrayType(byte, len(kept)), "llvm.compiler.used")
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(used.value_type, kept)       # type: ignore[assignment]
