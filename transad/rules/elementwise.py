"""Derivatives of NumPy's elementwise functions and of Python's arithmetic operators.

Each partial derivative is finite wherever the function has a slope, also at the zeros of its subexpressions;
where it has a kink (ties, 0 of `abs`) the value is the mean of both sides. The partials are differentiated
again, so where a mask replaces a formula at a point, the masked text has the right slope there too.
Partials may overflow or divide by zero on the way to a masked value: evaluate them with NumPy's warnings off.
"""
from __future__ import annotations

import math
import operator

import numpy as np

from transad.pool import multiply
from transad.rules.registry import adjoint, partials

LN2, LN10 = math.log(2.0), math.log(10.0)
DEGREE = math.pi / 180.0

REALS = [(0.7,), (-1.3,)]
COMPLEX = [(0.6 - 0.8j,), (-0.4 + 0.3j,)]
PAIRS = [(0.7, 1.9), (-1.2, 0.4)]


# Arithmetic

@partials(np.add, operator.add, at=[*PAIRS, (0.3 + 1j, -2.0)])
def _(x, y):
    return 1.0, 1.0


@partials(np.subtract, operator.sub, at=[*PAIRS, (0.3 + 1j, -2.0)])
def _(x, y):
    return 1.0, -1.0


@partials(np.multiply, operator.mul, multiply, at=[*PAIRS, (0.0, 3.0), (0.3 + 1j, -2.0)])
def _(x, y):
    return y, x


@partials(np.divide, operator.truediv, singular=True, at=[*PAIRS, (0.0, 3.0), (0.3 + 1j, 1.5 - 0.5j)])
def _(x, y, *, out):
    return 1.0 / y, -out / y


@partials(np.negative, operator.neg, at=REALS + COMPLEX)
def _(x):
    return -1.0


@partials(np.positive, operator.pos, at=REALS + COMPLEX)
def _(x):
    return 1.0


@partials(np.reciprocal, singular=True, at=REALS + COMPLEX)
def _(x, *, out):
    return -out * out


@partials(np.square, at=[*REALS, (0.0,), *COMPLEX])
def _(x):
    return 2.0 * x


def constant_power(x, exponent):
    """d/dx x**exponent for one constant number `exponent`: without the masks of the general rule.

    >>> constant_power(3.0, 2), constant_power(0.0, 0)
    (6.0, 0.0)
    """
    if exponent == 2:
        return 2.0 * x
    if exponent == 3:
        return 3.0 * x * x
    return exponent * np.power(x, exponent - 1.0) if exponent != 0 else 0.0


# The exponent y - 1 is replaced by 1 where x = y = 0, so that 0 * 0**-1 does not arise; the factor y does the
# rest. For d/dy, 0**y is 0 to the right of y = 0: log(0) is replaced by log(1).
@partials(np.power, np.float_power, operator.pow, pow, math.pow, singular=True, constant=constant_power,
          at=[(0.7, 1.9), (2.0, -1.5), (1.4, 0.0)])
def _(x, y, *, out):
    return (y * np.power(x, np.where((x == 0) & (y == 0), 1.0, y - 1.0)),
            out * np.log(np.where(x == 0, 1.0, x)))


@partials(np.remainder, operator.mod, at=[(7.3, 2.0), (-7.3, 2.0), (7.3, -2.1)])
def _(x, y):
    return 1.0, -np.floor_divide(x, y)


@partials(np.fmod, at=[(7.3, 2.0), (-7.3, 2.0), (7.3, -2.1)])
def _(x, y, *, out):
    return 1.0, -np.rint((x - out) / y)


@adjoint(np.divmod, "x", "y", at=[(7.3, 2.0), (-7.3, 2.0)])
def _(g, out, x, y):
    return g[1], -out[0] * g[1]


@adjoint(np.modf, "x", at=[(2.3,), (-1.6,)])
def _(g, out, x):
    return g[0]


@adjoint(np.frexp, "x", at=[(2.3,), (-1.6,)])
def _(g, out, x):
    return g[0] * np.ldexp(1.0, -out[1])


@partials(np.ldexp, at=[(1.3, 3), (-0.4, -2)])
def _(x, exponent):
    return np.power(2.0, exponent), None


# Roots, exponentials, logarithms

@partials(np.sqrt, singular=True, at=[(0.7,), (2.5,), (0.6 - 0.8j,)])
def _(x, *, out):
    return np.divide(0.5, out)


@partials(np.cbrt, singular=True, at=REALS)
def _(x, *, out):
    return np.divide(1.0, 3.0 * out * out)


@partials(np.exp, singular=True, at=[*REALS, (-np.inf,), *COMPLEX])
def _(x, *, out):
    return out


@partials(np.exp2, singular=True, at=REALS + COMPLEX)
def _(x, *, out):
    return out * LN2


@partials(np.expm1, singular=True, at=REALS + COMPLEX)
def _(x, *, out):
    return out + 1.0


@partials(np.log, singular=True, at=[(0.7,), (2.5,), (0.6 - 0.8j,)])
def _(x):
    return np.divide(1.0, x)


@partials(np.log2, singular=True, at=[(0.7,), (2.5,), (0.6 - 0.8j,)])
def _(x):
    return np.divide(1.0 / LN2, x)


@partials(np.log10, singular=True, at=[(0.7,), (2.5,), (0.6 - 0.8j,)])
def _(x):
    return np.divide(1.0 / LN10, x)


@partials(np.log1p, singular=True, at=[(0.7,), (-0.5,), (0.6 - 0.8j,)])
def _(x):
    return np.divide(1.0, 1.0 + x)


# With d = x - y, the share of x in log(e**x + e**y) is 1 / (1 + e**-d) where d >= 0, else e**d / (1 + e**d).
# Nothing overflows, also on the way to second derivatives. Two equal infinities share evenly.
@partials(np.logaddexp, at=[*PAIRS, (1.5, 1.5), (-np.inf, 0.3)])
def _(x, y):
    gap = np.where(np.isinf(x) & (x == y), 0.0, x - y)
    small = np.exp(np.where(gap >= 0, -gap, gap))
    more = 1.0 / (1.0 + small)
    less = small / (1.0 + small)
    return np.where(gap >= 0, more, less), np.where(gap >= 0, less, more)


@partials(np.logaddexp2, at=[*PAIRS, (1.5, 1.5), (-np.inf, 0.3)])
def _(x, y):
    gap = np.where(np.isinf(x) & (x == y), 0.0, x - y)
    small = np.exp2(np.where(gap >= 0, -gap, gap))
    more = 1.0 / (1.0 + small)
    less = small / (1.0 + small)
    return np.where(gap >= 0, more, less), np.where(gap >= 0, less, more)


# Trigonometric and hyperbolic

@partials(np.sin, at=REALS + COMPLEX)
def _(x):
    return np.cos(x)


@partials(np.cos, at=REALS + COMPLEX)
def _(x):
    return -np.sin(x)


@partials(np.tan, at=REALS + COMPLEX)
def _(x, *, out):
    return 1.0 + out * out


@partials(np.arcsin, singular=True, at=[(0.7,), (-0.3,), *COMPLEX])
def _(x):
    return np.divide(1.0, np.sqrt(1.0 - x * x))


@partials(np.arccos, singular=True, at=[(0.7,), (-0.3,), *COMPLEX])
def _(x):
    return np.divide(-1.0, np.sqrt(1.0 - x * x))


@partials(np.arctan, at=REALS + COMPLEX)
def _(x):
    return 1.0 / (1.0 + x * x)


# With hypot, neither overflow nor underflow of the squares. 0 at the origin.
@partials(np.arctan2, singular=True, at=[*PAIRS, (-0.5, -0.8)])
def _(y, x):
    length = np.hypot(y, x)
    radius = np.where(length == 0, 1.0, length)
    return np.divide(x, radius) / radius, np.divide(-y, radius) / radius


@partials(np.hypot, at=[*PAIRS, (0.0, -2.0)])
def _(x, y, *, out):
    radius = np.where(out == 0, 1.0, out)
    return x / radius, y / radius


@partials(np.sinh, singular=True, at=REALS + COMPLEX)
def _(x):
    return np.cosh(x)


@partials(np.cosh, singular=True, at=REALS + COMPLEX)
def _(x):
    return np.sinh(x)


@partials(np.tanh, at=REALS + COMPLEX)
def _(x, *, out):
    return 1.0 - out * out


@partials(np.arcsinh, at=REALS + COMPLEX)
def _(x):
    return 1.0 / np.sqrt(1.0 + x * x)


# Two roots: the root of the product has another branch in the left half plane.
@partials(np.arccosh, singular=True, at=[(1.4,), (3.0,), (0.6 - 0.8j,), (-0.4 + 0.3j,)])
def _(x):
    return np.divide(1.0, np.sqrt(x - 1.0) * np.sqrt(x + 1.0))


@partials(np.arctanh, singular=True, at=[(0.7,), (-0.3,), *COMPLEX])
def _(x):
    return np.divide(1.0, 1.0 - x * x)


@partials(np.deg2rad, np.radians, at=REALS)
def _(x):
    return DEGREE


@partials(np.rad2deg, np.degrees, at=REALS)
def _(x):
    return 1.0 / DEGREE


# (t cos t - sin t) / t**2 cancels near 0, where its Taylor series stands in (t**2 < 1/4: error below 1e-14).
@partials(np.sinc, at=[(0.7,), (-1.3,), (0.0,), (0.1,), (1e-5,), (0.7 + 0.9j,), (0.02 - 0.1j,)])
def _(x):
    angle = math.pi * x
    square = angle * angle
    near = np.absolute(square) < 0.25
    far = np.where(near, 1.0, angle)
    series = angle * (-1.0 / 3.0 + square * (1.0 / 30.0 + square * (-1.0 / 840.0 + square * (
        1.0 / 45360.0 + square * (-1.0 / 3991680.0 + square * (1.0 / 518918400.0))))))
    return math.pi * np.where(near, series, (np.cos(far) - np.sin(far) / far) / far)


# I_1, the derivative of I_0, by the trapezoid rule over a period, which converges geometrically.
@adjoint(np.i0, "x", at=[(0.7,), (np.array([-3.0, 0.0, 25.0]),)])
def _(g, out, x):
    cosines = np.cos(np.arange(256) * (2.0 * math.pi / 256))
    return g * np.mean(np.exp(np.expand_dims(x, -1) * cosines) * cosines, axis=-1)


# Piecewise linear: ties, and comparisons with NaN, are shared evenly

@partials(np.absolute, operator.abs, abs, at=REALS + COMPLEX)
def _(x):
    return np.conj(np.sign(x))


@partials(np.fabs, at=REALS)
def _(x):
    return np.sign(x)


@partials(np.maximum, at=PAIRS)
def _(x, y):
    return (np.where(x > y, 1.0, np.where(x < y, 0.0, 0.5)),
            np.where(x > y, 0.0, np.where(x < y, 1.0, 0.5)))


@partials(np.minimum, at=PAIRS)
def _(x, y):
    return (np.where(x < y, 1.0, np.where(x > y, 0.0, 0.5)),
            np.where(x < y, 0.0, np.where(x > y, 1.0, 0.5)))


# fmax and fmin pass over a NaN. The arguments are compared, not the result: float32 arrays and numbers compare in float32.
@partials(np.fmax, at=[*PAIRS, (np.nan, 0.5), (0.5, np.nan)])
def _(x, y):
    return (np.where((x > y) | (y != y), 1.0, np.where(x == y, 0.5, 0.0)),
            np.where((x < y) | (x != x), 1.0, np.where(x == y, 0.5, 0.0)))


@partials(np.fmin, at=[*PAIRS, (np.nan, 0.5), (0.5, np.nan)])
def _(x, y):
    return (np.where((x < y) | (y != y), 1.0, np.where(x == y, 0.5, 0.0)),
            np.where((x > y) | (x != x), 1.0, np.where(x == y, 0.5, 0.0)))


@partials(np.copysign, at=[(0.7, -2.0), (-0.7, -2.0), (0.7, 0.1)])
def _(x, y):
    return np.sign(x) * np.copysign(1.0, y), None


@partials(np.heaviside, at=[(0.7, 0.5), (-0.2, 0.5)])
def _(x, middle):
    return None, np.where(x == 0, 1.0, 0.0)


@partials(np.nextafter, at=[(0.7, 2.0)])
def _(x, y):
    return 1.0, None


# Complex parts, in the convention dL = Re(cotangent * dz)

@adjoint(np.conjugate, "x", at=REALS + COMPLEX)
def _(g, out, x):
    return np.conjugate(g)


@adjoint(np.real, "val", at=REALS + COMPLEX)
def _(g, out, val):
    return g


@adjoint(np.imag, "val", at=REALS + COMPLEX)
def _(g, out, val):
    return -1j * g if np.iscomplexobj(val) else 0.0 * g


@adjoint(np.real_if_close, "a", at=REALS + COMPLEX)
def _(g, out, a, tol=100):
    return g


@adjoint(np.angle, "z", at=[(0.7,), (0.6 - 0.8j,), (-0.4 + 0.3j, True)])
def _(g, out, z, deg=False):
    if not np.iscomplexobj(z):
        return 0.0 * g
    turn = np.divide(-1j, z) * g
    return turn / DEGREE if deg else turn


# z / |z|: the part of the change along z drops out; a real number has no other part.
@adjoint(np.sign, "x", at=REALS + COMPLEX)
def _(g, out, x):
    if not np.iscomplexobj(x):
        return 0.0 * g
    size = np.where(x == 0, 1.0, np.absolute(x))
    return np.where(x == 0, 0.0, (g - np.real(g * out) * np.conjugate(out)) / size)
