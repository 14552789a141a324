"""Derivatives of the `cmath` module: one real or complex number in, a complex number out.

Where the result tells more than the argument about the branch that was taken (the inverse functions, `sqrt`), the slope
is written with the result.
"""
from __future__ import annotations

import cmath

import numpy as np

from transad.rules.elementwise import LN10
from transad.rules.registry import adjoint, nondiff, partials

NUMBERS = [(0.6 - 0.8j,), (-0.4 + 0.3j,), (0.7,), (-0.4,)]


@partials(cmath.exp, at=NUMBERS)
def _(z, *, out):
    return out


# One argument: front ends turn log(z, base) into log(z) / log(base).
@partials(cmath.log, singular=True, at=NUMBERS)
def _(z):
    return np.divide(1.0, z)


@partials(cmath.log10, singular=True, at=NUMBERS)
def _(z):
    return np.divide(1.0 / LN10, z)


@partials(cmath.sqrt, singular=True, at=NUMBERS)
def _(z, *, out):
    return np.divide(0.5, out)


@partials(cmath.sin, at=NUMBERS)
def _(z):
    return np.cos(z)


@partials(cmath.cos, at=NUMBERS)
def _(z):
    return -np.sin(z)


@partials(cmath.tan, at=NUMBERS)
def _(z, *, out):
    return 1.0 + out * out


@partials(cmath.sinh, at=NUMBERS)
def _(z):
    return np.cosh(z)


@partials(cmath.cosh, at=NUMBERS)
def _(z):
    return np.sinh(z)


@partials(cmath.tanh, at=NUMBERS)
def _(z, *, out):
    return 1.0 - out * out


@partials(cmath.asin, singular=True, at=[*NUMBERS, (1.7,)])
def _(z, *, out):
    return np.divide(1.0, np.cos(out))


@partials(cmath.acos, singular=True, at=[*NUMBERS, (1.7,)])
def _(z, *, out):
    return np.divide(-1.0, np.sin(out))


@partials(cmath.atan, singular=True, at=NUMBERS)
def _(z):
    return np.divide(1.0, 1.0 + z * z)


@partials(cmath.asinh, singular=True, at=NUMBERS)
def _(z, *, out):
    return np.divide(1.0, np.cosh(out))


@partials(cmath.acosh, singular=True, at=[*NUMBERS, (1.7,)])
def _(z, *, out):
    return np.divide(1.0, np.sinh(out))


@partials(cmath.atanh, singular=True, at=NUMBERS)
def _(z):
    return np.divide(1.0, 1.0 - z * z)


@partials(cmath.rect, at=[(1.3, 0.4), (-0.7, 2.0)])
def _(r, phi, *, out):
    return np.exp(1j * phi), 1j * out


@adjoint(cmath.phase, "z", at=NUMBERS)
def _(g, out, z):
    return np.divide(-1j, z) * g if np.iscomplexobj(z) else 0.0 * g


nondiff(cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose)
