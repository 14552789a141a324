"""Derivatives of the incomplete gamma and beta functions in their parameters, of every order.

With `P` the regularised integral from 0 to x and `t = x exp(-u)`, the derivative in the exponent `a` of t is

    dP/da = P (log x - E log t) - P <u>,        <.> the mean over the part of the density below x,

and the same with the part above x for the complement. One of the two has both terms of one sign (below the geometric
mean of the density the first, above it the second), so nothing cancels. The means are quotients of two integrals by the
double exponential rule in `u = exp(t - exp(-t))`, whose nodes are spread evenly over all scales; against 40 digits the
derivatives are right to 1e-12 or better (DLMF 8.2, 8.17; Takahasi & Mori 1974).
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from transad.rules.registry import partials

__all__ = ["beta_slope", "beta_slope_b", "gamma_slope", "student_slope"]

_STEP, _FIRST, _BLOCK = 1.0 / 24.0, -4.3, 4096


def _mean(weight: Callable, width: Any, reach: Any, *parameters: Any) -> Any:
    """The mean of a function of u > 0: `weight(u, *parameters)` is (the logarithm of the density, the function).

    `width` is the smallest scale of u on which something happens, `reach` where the density has vanished.
    """
    last = float(np.max(np.log(reach / width)))
    t = np.arange(_FIRST, max(last, 0.0) + 1.0, _STEP)[:, np.newaxis]
    fall = np.exp(-t)
    nodes, lengths = np.exp(t - fall), np.exp(t - fall) * (1.0 + fall)
    density, value = weight(width * nodes, *parameters)
    each = lengths * np.exp(density)
    return np.sum(each * value, axis=0) / np.sum(each, axis=0)


def _blockwise(function: Callable, *arguments: Any) -> Any:
    """`function` of arrays of rank 1, applied to arguments that broadcast; NaN where an argument is NaN or below 0."""
    spread = np.broadcast_arrays(*[np.asarray(a, float) for a in arguments])
    usable = np.all([(a >= 0) & (a < np.inf) for a in spread], axis=0).ravel()
    flat = [a.ravel()[usable] for a in spread]
    out = np.full(usable.shape, np.nan)
    if flat[0].size:
        out[usable] = np.concatenate([function(*(a[k:k + _BLOCK] for a in flat)) for k in range(0, flat[0].size, _BLOCK)])
    return out.reshape(spread[0].shape)[()]


# ------------------------------------------------------------------------------------------------------ gamma

def gamma_below(n, a, x):
    """1 / Gamma(a) times the integral over (0, x) of log(x / t)^n t^(a - 1) exp(-t), for n > 0."""
    def weight(u, a, x):
        return -a * u - x * np.expm1(-u), u ** n

    def mean(a, x):
        return _mean(weight, 1.0 / (np.maximum(a - x, 0.0) + np.sqrt(x)), 12.0 / np.sqrt(a) + 110.0 / a, a, x)
    return sp.gammainc(a, x) * _blockwise(mean, a, x)


def gamma_above(n, a, x):
    """1 / Gamma(a) times the integral over (x, inf) of log(t / x)^n t^(a - 1) exp(-t), for n > 0."""
    def weight(s, a, x):
        ratio = np.log1p(s / x)
        return (a - 1.0) * ratio - s, ratio ** n

    def mean(a, x):
        return _mean(weight, x / (np.abs(x - a + 1.0) + np.sqrt(a)), 90.0 + 15.0 * np.sqrt(a), a, x)
    return sp.gammaincc(a, x) * _blockwise(mean, a, x)


_GAMMA = [(1, 1.5, 0.7), (2, 0.4, 0.1)]


@partials(gamma_below, singular=True, at=_GAMMA)
def _(n, a, x, *, out):
    return (None, out * (np.log(x) - sp.psi(a)) - gamma_below(n + 1, a, x),
            n / x * (gamma_below(n - 1, a, x) if n > 1 else sp.gammainc(a, x)))


@partials(gamma_above, singular=True, at=[(1, 1.5, 2.7), (2, 0.4, 0.9)])
def _(n, a, x, *, out):
    return (None, out * (np.log(x) - sp.psi(a)) + gamma_above(n + 1, a, x),
            -n / x * (gamma_above(n - 1, a, x) if n > 1 else sp.gammaincc(a, x)))


def gamma_slope(a, x):
    """d gammainc(a, x) / da; 0 at x = 0 and x = inf."""
    inside = (x > 0) & (x < np.inf) & (a > 0)
    low = inside & (np.log(np.where(inside, x, 1.0)) <= sp.psi(np.where(inside, a, 1.0)))
    high = inside & ~low
    a_low, x_low = np.where(low, a, 1.0), np.where(low, x, 0.5)
    a_high, x_high = np.where(high, a, 1.0), np.where(high, x, 1.0)
    below = sp.gammainc(a_low, x_low) * (np.log(x_low) - sp.psi(a_low)) - gamma_below(1, a_low, x_low)
    above = sp.gammaincc(a_high, x_high) * (np.log(x_high) - sp.psi(a_high)) + gamma_above(1, a_high, x_high)
    return np.where(low, below, np.where(high, -above, np.where((x == 0) | (x == np.inf), 0.0, np.nan)))


# ------------------------------------------------------------------------------------------------------- beta

def beta_below(m, n, a, b, odds):
    """1 / B(a, b) times the integral over (0, x) of log(x / t)^m log((1 - t) / (1 - x))^n t^(a - 1) (1 - t)^(b - 1).

    Given as the odds x / (1 - x), which keep both x and 1 - x to all digits.
    """
    def weight(u, a, b, odds):
        ratio = np.log1p(odds * -np.expm1(-u))
        return (b - 1.0) * ratio - a * u, u ** m * ratio ** n

    def mean(a, b, odds):
        rate = np.abs(a - (b - 1.0) * odds) + np.sqrt(np.abs(b - 1.0) * odds * (1.0 + odds)) + odds
        return _mean(weight, 1.0 / rate, 12.0 / np.sqrt(a) + 110.0 / a, a, b, odds)
    whole = np.where(odds < 1, sp.betainc(a, b, odds / (1.0 + odds)), sp.betaincc(b, a, 1.0 / (1.0 + odds)))
    return whole * (_blockwise(mean, a, b, odds) if m or n else 1.0)


@partials(beta_below, singular=True, at=[(1, 0, 1.5, 2.5, 0.5), (0, 1, 0.7, 1.4, 0.2), (1, 2, 1.3, 0.6, 0.7)])
def _(m, n, a, b, odds, *, out):
    both, rest = sp.psi(a + b), 1.0 / (1.0 + odds)
    return (None, None,
            out * (both - sp.psi(a) - np.log1p(1.0 / odds)) - beta_below(m + 1, n, a, b, odds),
            out * (both - sp.psi(b) - np.log1p(odds)) + beta_below(m, n + 1, a, b, odds),
            rest * ((m / odds * beta_below(m - 1, n, a, b, odds) if m else 0.0)
                    + (n * beta_below(m, n - 1, a, b, odds) if n else 0.0)
                    + (0.0 if m or n else np.exp((a - 1.0) * np.log(odds) + (a + b - 1.0) * np.log(rest) - sp.betaln(a, b)))))


def _beta_side(x, mark):
    """Whether x lies inside (0, 1), and below the geometric mean whose logarithm is `mark`."""
    inside = (x > 0) & (x < 1)
    return inside, inside & (np.log(np.where(inside, x, 0.5)) <= mark)


def beta_slope(a, b, x):
    """d betainc(a, b, x) / da; 0 at x = 0 and x = 1."""
    inside, low = _beta_side(x, sp.psi(a) - sp.psi(a + b))
    high = inside & ~low
    al, bl, xl = np.where(low, a, 1.0), np.where(low, b, 1.0), np.where(low, x, 0.3)
    ah, bh, xh = np.where(high, a, 1.0), np.where(high, b, 1.0), np.where(high, x, 0.7)
    below = (sp.betainc(al, bl, xl) * (np.log(xl) + sp.psi(al + bl) - sp.psi(al))
             - beta_below(1, 0, al, bl, xl / (1.0 - xl)))
    above = (sp.betaincc(ah, bh, xh) * (np.log(xh) + sp.psi(ah + bh) - sp.psi(ah))
             + beta_below(0, 1, bh, ah, (1.0 - xh) / xh))
    return np.where(low, below, np.where(high, -above, np.where((x == 0) | (x == 1), 0.0, np.nan)))


def beta_slope_b(a, b, x):
    """d betainc(a, b, x) / db, as the complement's slope with the parts exchanged (1 - x is never rounded to 1)."""
    inside = (x > 0) & (x < 1)
    low = inside & (np.log1p(-np.where(inside, x, 0.5)) > sp.psi(b) - sp.psi(a + b))
    high = inside & ~low
    al, bl, xl = np.where(low, a, 1.0), np.where(low, b, 1.0), np.where(low, x, 0.3)
    ah, bh, xh = np.where(high, a, 1.0), np.where(high, b, 1.0), np.where(high, x, 0.7)
    below = (sp.betainc(al, bl, xl) * (np.log1p(-xl) + sp.psi(al + bl) - sp.psi(bl))
             + beta_below(0, 1, al, bl, xl / (1.0 - xl)))
    above = (sp.betaincc(ah, bh, xh) * (np.log1p(-xh) + sp.psi(ah + bh) - sp.psi(bh))
             - beta_below(1, 0, bh, ah, (1.0 - xh) / xh))
    return np.where(low, below, np.where(high, -above, np.where((x == 0) | (x == 1), 0.0, np.nan)))


def student_slope(df, t):
    """d stdtr(df, t) / d df: half an incomplete beta function of y = df / (df + t^2), on either side of 0."""
    z = np.where(t == 0, 1.0, t)
    y = df / (df + z * z)
    density = np.exp(0.5 * (df + 1.0) * np.log(y) - sp.betaln(0.5 * df, 0.5)) / np.sqrt(df)
    slope = -np.sign(z) * (0.25 * beta_slope(0.5 * df, 0.5, y) + 0.5 * np.abs(z) * density / df)
    near = 0.5 * (sp.psi(0.5 * df + 0.5) - sp.psi(0.5 * df) - 1.0 / df) * np.exp(-sp.betaln(0.5 * df, 0.5)) / np.sqrt(df)
    return np.where(t == 0, near * t, slope)
