"""Rules of the zeta functions, and of the digamma function of complex numbers, by the Euler-Maclaurin formula (DLMF 25.2.9,
25.11.43, 5.15.1): the sum of n terms, the integral of the rest, and corrections whose coefficients are Bernoulli numbers.
It holds on either side of the pole at 1 and for complex arguments, and its derivative in s is taken term by term.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from transad.rules.registry import partials

__all__ = ["hurwitz", "hurwitz_slope", "trigamma"]

_TERMS, _ORDER = 24, 14
_WEIGHTS = (np.array(sp.bernoulli(2 * _ORDER)[2::2]) / sp.factorial(np.arange(2, 2 * _ORDER + 1, 2))).tolist()


def _start(q: Any) -> tuple[Any, int]:
    """Where the sum starts (with an axis for its terms), and after how many terms the rest is summed by the formula."""
    lowest = float(np.min(np.real(q), initial=0.0))
    count = _TERMS + int(np.ceil(max(-lowest, 0.0)))
    return np.expand_dims(q, -1) + np.arange(float(count)), count


def hurwitz(s: Any, q: Any) -> Any:
    """The sum over k of (q + k)^-s, continued in s; s and q broadcast."""
    terms, count = _start(q)
    w = q + count
    total = np.sum(terms ** np.expand_dims(-s, -1), axis=-1) + w ** (1.0 - s) / (s - 1.0) + 0.5 * w ** -s
    rising, power = s, w ** (-s - 1.0)
    for k in range(_ORDER):
        total = total + _WEIGHTS[k] * rising * power
        rising = rising * (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0)
        power = power / (w * w)
    return total


def hurwitz_slope(s: Any, q: Any) -> Any:
    """The derivative of `hurwitz` in s."""
    terms, count = _start(q)
    w = q + count
    log_w = np.log(w)
    usable = terms != 0                     # a term 0^-s is left out of zeta at q = 0, -1, ...
    safe = np.where(usable, terms, 1.0)
    total = -np.sum(np.where(usable, np.log(safe) * safe ** np.expand_dims(-s, -1), 0.0), axis=-1)
    total = total - w ** (1.0 - s) * (log_w / (s - 1.0) + 1.0 / (s - 1.0) ** 2) - 0.5 * log_w * w ** -s
    rising, moved, power = s, 1.0, w ** (-s - 1.0)
    for k in range(_ORDER):
        total = total + _WEIGHTS[k] * power * (moved - log_w * rising)
        factor = (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0)
        moved = moved * factor + rising * (2.0 * s + 4.0 * k + 3.0)
        rising = rising * factor
        power = power / (w * w)
    return total


def _riemann_slope(s: Any) -> Any:
    """d zeta(s) / ds; far to the left of 0 by the functional equation."""
    left = np.real(s) < -2.0
    right_s = np.where(left, 2.0, s)
    left_s = np.where(left, s, -2.5)
    half = 0.5 * np.pi * left_s
    front = 2.0 * (2.0 * np.pi) ** (left_s - 1.0) * sp.gamma(1.0 - left_s)
    mirrored, slope = hurwitz(1.0 - left_s, 1.0), hurwitz_slope(1.0 - left_s, 1.0)
    turned = front * (np.sin(half) * ((np.log(2.0 * np.pi) - sp.psi(1.0 - left_s)) * mirrored - slope)
                      + 0.5 * np.pi * np.cos(half) * mirrored)
    return np.where(left, turned, hurwitz_slope(right_s, 1.0))


@partials(sp.zeta, singular=True, at=[(2.5, 1.5), (3.0, 0.7), (2.5, None), (0.3, None), (-3.2, None)])
def _(x, q=None):
    return _riemann_slope(x) if q is None else hurwitz_slope(x, q), None if q is None else -x * sp.zeta(x + 1.0, q)


@partials(sp.zetac, singular=True, at=[(2.5,), (0.3,), (-3.2,)])
def _(x):
    return _riemann_slope(x)


def trigamma(z: Any) -> Any:
    """The derivative of the digamma function, of complex numbers too."""
    return sp.polygamma(1, z) if np.isrealobj(z) else hurwitz(2.0, z)
