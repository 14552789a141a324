"""Derivatives of the `math` module: scalars in, scalars out.

Python's own division, powers and functions raise where NumPy returns an infinity, hence the conditional
expressions: the slope of `math.sqrt` at 0 is `inf`.
"""
from __future__ import annotations

import math

from transad.rules.elementwise import DEGREE, LN2, LN10
from transad.rules.registry import adjoint, partials

REALS = [(0.7,), (-1.3,)]
TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


@partials(math.sqrt, singular=True, at=[(0.7,), (2.5,)])
def _(x, *, out):
    return 0.5 / out if out else math.inf


@partials(math.cbrt, singular=True, at=REALS)
def _(x, *, out):
    return 1.0 / (3.0 * out * out) if out else math.inf


@partials(math.exp, at=REALS)
def _(x, *, out):
    return out


@partials(math.exp2, at=REALS)
def _(x, *, out):
    return out * LN2


@partials(math.expm1, at=REALS)
def _(x, *, out):
    return out + 1.0


# One argument: front ends turn log(x, base) into log(x) / log(base).
@partials(math.log, singular=True, at=[(0.7,), (2.5,)])
def _(x):
    return 1.0 / x


@partials(math.log2, singular=True, at=[(0.7,), (2.5,)])
def _(x):
    return 1.0 / (x * LN2)


@partials(math.log10, singular=True, at=[(0.7,), (2.5,)])
def _(x):
    return 1.0 / (x * LN10)


@partials(math.log1p, singular=True, at=[(0.7,), (-0.5,)])
def _(x):
    return 1.0 / (1.0 + x)


@partials(math.sin, at=REALS)
def _(x):
    return math.cos(x)


@partials(math.cos, at=REALS)
def _(x):
    return -math.sin(x)


@partials(math.tan, at=REALS)
def _(x, *, out):
    return 1.0 + out * out


@partials(math.asin, singular=True, at=[(0.7,), (-0.3,)])
def _(x):
    return 1.0 / math.sqrt(1.0 - x * x) if abs(x) < 1.0 else math.inf


@partials(math.acos, singular=True, at=[(0.7,), (-0.3,)])
def _(x):
    return -1.0 / math.sqrt(1.0 - x * x) if abs(x) < 1.0 else -math.inf


@partials(math.atan, at=REALS)
def _(x):
    return 1.0 / (1.0 + x * x)


@partials(math.atan2, singular=True, at=[(0.7, 1.9), (-1.2, 0.4), (-0.5, -0.8), (0.0, 2.0)])
def _(y, x):
    radius = math.hypot(y, x)
    return x / radius / radius if radius else 0.0, -y / radius / radius if radius else 0.0


@adjoint(math.hypot, "coordinates", at=[(0.7, 1.9), (-1.2, 0.4, 2.0), (-3.0,)])
def _(g, out, *coordinates):
    return [g * x / out if out else 0.0 * g for x in coordinates]


@adjoint(math.dist, "p", "q", at=[([0.7, 1.9], [0.2, -0.4]), ([1.5], [-0.5])])
def _(g, out, p, q):
    pull = [g * (x - y) / out if out else 0.0 * g for x, y in zip(p, q, strict=True)]
    return pull, [-each for each in pull]


@partials(math.sinh, at=REALS)
def _(x):
    return math.cosh(x)


@partials(math.cosh, at=REALS)
def _(x):
    return math.sinh(x)


@partials(math.tanh, at=REALS)
def _(x, *, out):
    return 1.0 - out * out


@partials(math.asinh, at=REALS)
def _(x):
    return 1.0 / math.sqrt(1.0 + x * x)


@partials(math.acosh, singular=True, at=[(1.4,), (3.0,)])
def _(x):
    return 1.0 / (math.sqrt(x - 1.0) * math.sqrt(x + 1.0)) if x > 1.0 else math.inf


@partials(math.atanh, singular=True, at=[(0.7,), (-0.3,)])
def _(x):
    return 1.0 / (1.0 - x * x)


@partials(math.radians, at=REALS)
def _(x):
    return DEGREE


@partials(math.degrees, at=REALS)
def _(x):
    return 1.0 / DEGREE


@partials(math.erf, at=REALS)
def _(x):
    return TWO_OVER_ROOT_PI * math.exp(-x * x)


@partials(math.erfc, at=REALS)
def _(x):
    return -TWO_OVER_ROOT_PI * math.exp(-x * x)


@partials(math.gamma, at=[(0.7,), (3.2,), (-1.3,)])
def _(x, *, out):
    return out * digamma(x)


@partials(math.lgamma, at=[(0.7,), (3.2,), (25.0,), (-1.3,)])
def _(x):
    return digamma(x)


def digamma(x):
    """The logarithmic derivative of the gamma function, by recurrence and Stirling's series.

    >>> digamma(1.0) + 0.57721566490153286 < 1e-15
    True
    """
    reflected = 0.0
    if x < 0.5:
        reflected = -math.pi / math.tan(math.pi * x)
        x = 1.0 - x
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    w = 1.0 / (x * x)
    series = w * (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w * (1.0 / 240 - w * (
        1.0 / 132 - w * (691.0 / 32760 - w * (1.0 / 12)))))))
    return reflected + shift + math.log(x) - 0.5 / x - series


@partials(math.fabs, at=REALS)
def _(x):
    return math.copysign(1.0, x) if x else 0.0


@partials(math.copysign, at=[(0.7, -2.0), (-0.7, -2.0)])
def _(x, y):
    return (math.copysign(1.0, x) * math.copysign(1.0, y) if x else 0.0), None


@partials(math.fmod, at=[(7.3, 2.0), (-7.3, 2.0), (7.3, -2.1)])
def _(x, y, *, out):
    return 1.0, -round((x - out) / y)


@partials(math.remainder, at=[(7.3, 2.0), (-7.3, 2.0), (7.3, -2.1)])
def _(x, y, *, out):
    return 1.0, -round((x - out) / y)


@adjoint(math.modf, "x", at=[(2.3,), (-1.6,)])
def _(g, out, x):
    return g[0]


@adjoint(math.frexp, "x", at=[(2.3,), (-1.6,)])
def _(g, out, x):
    return g[0] * math.ldexp(1.0, -out[1])


@partials(math.ldexp, at=[(1.3, 3), (-0.4, -2)])
def _(x, exponent):
    return math.ldexp(1.0, exponent), None


@partials(math.nextafter, at=[(0.7, 2.0)])
def _(x, y):
    return 1.0, None


@adjoint(math.fsum, "seq", at=[([0.7, 1.9, -0.4],)])
def _(g, out, seq):
    return [g for _ in seq]


# Without division, so that a zero among the factors does no harm.
@adjoint(math.prod, "iterable", "start", at=[([0.7, 1.9, -0.4],), ([0.0, 1.9, 3.0],), ([0.0, 2.0, 0.0],)],
         keywords=[{}, {"start": 2.5}])
def _(g, out, iterable, *, start=1):
    factors = [start, *iterable]
    before, left = [], g
    for factor in factors:
        before.append(left)
        left = left * factor
    cotangents, right = [], 1.0
    for factor, rest in zip(reversed(factors), reversed(before), strict=True):
        cotangents.append(rest * right)
        right = right * factor
    cotangents.reverse()
    return cotangents[1:], cotangents[0]
