"""The library functions that the typed path knows, by object, with the name that the emitted text uses."""
from __future__ import annotations

import builtins
import math
from operator import attrgetter
from typing import Any

import numpy as np

from transad.passes.specialise.library import LIBRARY
from transad.runtime import typed

# Real in, real out, one argument, elementwise.
UNARY = ("exp expm1 exp2 log log1p log2 log10 sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
         "arctanh fabs deg2rad rad2deg degrees radians abs absolute sign floor ceil trunc rint square negative "
         "reciprocal").split()
MATH_UNARY = ("exp expm1 exp2 log log1p log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
              "atanh fabs degrees radians erf erfc gamma lgamma").split()
BINARY = "maximum minimum arctan2 hypot power fmod logaddexp copysign".split()
MATH_BINARY = "atan2 hypot pow fmod copysign".split()
OPERATORS = {"add": "a + b", "subtract": "a - b", "multiply": "a * b", "divide": "a / b", "true_divide": "a / b",
             "power": "a ** b", "floor_divide": "a // b", "mod": "a % b", "remainder": "a % b"}
TESTS = "isnan isinf isfinite logical_not".split()
OTHERS = ("zeros empty ones full zeros_like empty_like ones_like full_like copy array asarray ascontiguousarray arange "
          "linspace sum mean prod max min amax amin dot matmul outer vdot where shape size transpose ravel reshape "
          "eye identity cumsum clip argmax argmin argsort any all logical_and logical_or argmin trace diag "
          "fromiter stack searchsorted triu_indices tril_indices concatenate diff float64 float32 int64 int32 std var").split()

NAMES: dict[Any, str] = {builtins.abs: "abs"}
for _n in (*UNARY, *BINARY, *TESTS, *OTHERS, *OPERATORS):
    NAMES[getattr(np, _n)] = f"np.{_n}"
for _n in (*MATH_UNARY, *MATH_BINARY, "floor", "ceil", "trunc", "isnan", "isinf", "isfinite"):
    if hasattr(math, _n):
        NAMES[getattr(math, _n)] = f"math.{_n}"
for _n in LIBRARY:
    NAMES.setdefault(attrgetter(_n.removeprefix("np."))(np), _n)
for _f in (np.ndim, np.reshape, np.ravel, np.argsort):
    NAMES[_f] = f"np.{_f.__name__}"
for _f in (typed.det_of, typed.log_det, typed.sign_of_det):
    NAMES[_f] = _f.__name__

# Elementwise functions whose derivative is zero wherever it exists.
FLAT = {"np.argsort", "sign_of_det", "np.argmax", "np.argmin", "np.sign",
        "np.floor", "np.ceil", "np.trunc", "np.rint", "math.floor", "math.ceil", "math.trunc"}
