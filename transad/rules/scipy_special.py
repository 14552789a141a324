"""Rules of `scipy.special`. An order or a parameter without a known derivative is refused (`unknown`).

Formulas: DLMF (https://dlmf.nist.gov) chapters 5 to 8, 10, 15, 19, written so that they neither overflow nor
cancel where the function itself does not.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from transad.rules.algebra import unbroadcast, unknown
from transad.rules.registry import adjoint, nondiff, partials
from transad.rules.scipy_incomplete import beta_slope, beta_slope_b, gamma_slope
from transad.rules.scipy_zeta import trigamma

_ROOT_PI = np.sqrt(np.pi)
_ROOT_2PI = np.sqrt(2 * np.pi)

nondiff(sp.gammasgn)


# --------------------------------------------------------------------------------------- gamma and its family

@partials(sp.gamma, singular=True, at=[(1.5,), (-2.3,), (4.0,), (0.2,)])
def _(z, *, out):
    return out * sp.psi(z)


@partials(sp.gammaln, singular=True, at=[(1.5,), (-2.3,), (40.0,)])
def _(x):
    return sp.psi(x)


@partials(sp.loggamma, singular=True, at=[(1.5,), (4.0 + 1.0j,)])
def _(z):
    return sp.psi(z)


@partials(sp.rgamma, singular=True, at=[(1.5,), (-2.3,), (4.0,), (0.0,), (-1.0,), (-2.0,)])
def _(z, *, out):
    pole = (np.real(z) <= 0) & (np.floor(np.real(z)) == z)
    n = np.where(pole, -np.real(z), 0.0)
    return np.where(pole, (-1.0) ** n * sp.gamma(n + 1), -out * sp.psi(np.where(pole, 1.0, z)))


@partials(sp.psi, singular=True, at=[(1.5,), (-2.3,), (40.0,), (1.5 + 0.7j,), (-1.3 + 0.4j,)])
def _(z):
    return trigamma(z)


@partials(sp.polygamma, singular=True, at=[(1, 1.5), (2, 0.7), (0, 3.0)])
def _(n, x):
    return unknown("polygamma", "n"), sp.polygamma(n + 1, x)


@partials(sp.beta, singular=True, at=[(1.5, 2.5), (0.3, 4.0)])
def _(a, b, *, out):
    return out * (sp.psi(a) - sp.psi(a + b)), out * (sp.psi(b) - sp.psi(a + b))


@partials(sp.betaln, singular=True, at=[(1.5, 2.5), (0.3, 40.0)])
def _(a, b):
    return sp.psi(a) - sp.psi(a + b), sp.psi(b) - sp.psi(a + b)


@partials(sp.binom, singular=True, at=[(5.3, 2.2), (4.0, 2.0)])
def _(x, y, *, out):
    return out * (sp.psi(x + 1) - sp.psi(x - y + 1)), out * (sp.psi(x - y + 1) - sp.psi(y + 1))


@partials(sp.poch, singular=True, at=[(2.3, 1.7), (0.5, 3.0)])
def _(z, m, *, out):
    return out * (sp.psi(z + m) - sp.psi(z)), out * sp.psi(z + m)


@partials(sp.gammainc, singular=True, at=[(1.5, 2.0), (3.0, 0.4), (0.3, 0.01)])
def _(a, x):
    return gamma_slope(a, x), np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


@partials(sp.gammaincc, singular=True, at=[(1.5, 2.0), (3.0, 0.4)])
def _(a, x):
    return -gamma_slope(a, x), -np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


# An inverse x moves by minus the function's derivative in the parameter over that in x.

@partials(sp.gammaincinv, singular=True, at=[(1.5, 0.3), (3.0, 0.9)])
def _(a, y, *, out):
    over = np.exp(out + sp.gammaln(a) - sp.xlogy(a - 1, out))
    return -gamma_slope(a, out) * over, over


@partials(sp.gammainccinv, singular=True, at=[(1.5, 0.3), (3.0, 0.9)])
def _(a, y, *, out):
    over = np.exp(out + sp.gammaln(a) - sp.xlogy(a - 1, out))
    return -gamma_slope(a, out) * over, -over


def _beta_density(a, b, x):
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


@partials(sp.betainc, singular=True, at=[(1.5, 2.5, 0.3), (3.0, 0.7, 0.8)])
def _(a, b, x):
    return beta_slope(a, b, x), beta_slope_b(a, b, x), _beta_density(a, b, x)


@partials(sp.betaincc, singular=True, at=[(1.5, 2.5, 0.3), (3.0, 0.7, 0.8)])
def _(a, b, x):
    return -beta_slope(a, b, x), -beta_slope_b(a, b, x), -_beta_density(a, b, x)


@partials(sp.betaincinv, singular=True, at=[(1.5, 2.5, 0.3), (3.0, 0.7, 0.8)])
def _(a, b, y, *, out):
    over = 1 / _beta_density(a, b, out)
    return -beta_slope(a, b, out) * over, -beta_slope_b(a, b, out) * over, over


@partials(sp.betainccinv, singular=True, at=[(1.5, 2.5, 0.3), (3.0, 0.7, 0.8)])
def _(a, b, y, *, out):
    over = 1 / _beta_density(a, b, out)
    return -beta_slope(a, b, out) * over, -beta_slope_b(a, b, out) * over, -over


@adjoint(sp.multigammaln, "a", at=[(5.5, 3), (np.array([4.0, 6.5]), 2)])  # pyright: ignore
def _(g, out, a, d):
    return g * sum(sp.psi(np.asarray(a) - 0.5 * k) for k in range(int(d)))


# -------------------------------------------------------------------------------- error function and logistic

@partials(sp.erf, singular=True, at=[(0.3,), (-1.2,), (0.5 + 0.2j,)])
def _(z):
    return 2 / _ROOT_PI * np.exp(-z * z)


@partials(sp.erfc, singular=True, at=[(0.3,), (-1.2,), (3.0,)])
def _(x):
    return -2 / _ROOT_PI * np.exp(-x * x)


@partials(sp.erfcx, singular=True, at=[(0.3,), (-1.2,), (8.0,)])
def _(x, *, out):
    return 2 * x * out - 2 / _ROOT_PI


@partials(sp.erfi, singular=True, at=[(0.3,), (-1.2,)])
def _(z):
    return 2 / _ROOT_PI * np.exp(z * z)


@partials(sp.dawsn, singular=True, at=[(0.3,), (-1.2,)])
def _(x, *, out):
    return 1 - 2 * x * out


@partials(sp.wofz, singular=True, at=[(0.3 + 0.4j,)])
def _(z, *, out):
    return 2j / _ROOT_PI - 2 * z * out


@partials(sp.erfinv, singular=True, at=[(0.3,), (-0.8,), (0.0,)])
def _(y, *, out):
    return 0.5 * _ROOT_PI * np.exp(out * out)


@partials(sp.erfcinv, singular=True, at=[(0.3,), (1.6,)])
def _(y, *, out):
    return -0.5 * _ROOT_PI * np.exp(out * out)


@partials(sp.ndtr, singular=True, at=[(0.3,), (-2.2,)])
def _(x):
    return np.exp(-0.5 * x * x) / _ROOT_2PI


@partials(sp.log_ndtr, singular=True, at=[(0.3,), (-2.2,), (-40.0,), (3.0,), (0.0,)])
def _(x, *, out):
    left = x < 0
    low = np.where(left, x, -1.0)
    high = np.where(left, 1.0, x)
    return np.where(left, np.sqrt(2 / np.pi) / sp.erfcx(-low / np.sqrt(2.0)),
                    np.exp(-0.5 * high * high) / (_ROOT_2PI * sp.ndtr(high)))


@partials(sp.ndtri, singular=True, at=[(0.3,), (0.9,)])
def _(y, *, out):
    return _ROOT_2PI * np.exp(0.5 * out * out)


@partials(sp.ndtri_exp, singular=True, at=[(-0.3,), (-5.0,)])
def _(y, *, out):
    return _ROOT_2PI * np.exp(0.5 * out * out + y)


@partials(sp.expit, singular=True, at=[(0.3,), (-4.0,)])
def _(x, *, out):
    return out * sp.expit(-x)


@partials(sp.log_expit, singular=True, at=[(0.3,), (-4.0,)])
def _(x):
    return sp.expit(-x)


@partials(sp.logit, singular=True, at=[(0.3,), (0.9,)])
def _(x):
    return 1 / (x * (1 - x))


if hasattr(sp, "softplus"):
    @partials(sp.softplus, singular=True, at=[(0.3,), (-4.0,)])
    def _(x):
        return sp.expit(x)


# ------------------------------------------------------------------------------------- entropy and elementary

def _ratio(x, y):
    """x / y, and 0 where both are 0."""
    both = (x == 0) & (y == 0)
    return np.where(both, 0.0, x / np.where(both, 1.0, y))


@partials(sp.xlogy, singular=True, at=[(1.5, 0.3), (-0.7, 2.0), (0.0, 2.0)])
def _(x, y):
    return np.log(y), _ratio(x, y)


@partials(sp.xlog1py, singular=True, at=[(1.5, 0.3), (-0.7, 2.0), (0.0, -0.5)])
def _(x, y):
    return np.log1p(y), _ratio(x, 1 + y)


@partials(sp.entr, singular=True, at=[(1.5,), (0.2,)])
def _(x):
    return -np.log(x) - 1


@partials(sp.rel_entr, singular=True, at=[(1.5, 0.3), (0.2, 2.0)])
def _(x, y):
    return np.log(x / y) + 1, -_ratio(x, y)


@partials(sp.kl_div, singular=True, at=[(1.5, 0.3), (0.2, 2.0)])
def _(x, y):
    return np.log(x / y), 1 - _ratio(x, y)


@partials(sp.huber, singular=True, at=[(1.0, 0.3), (1.0, -2.5), (0.5, 4.0)])
def _(delta, r):
    return np.where(np.abs(r) > delta, np.abs(r) - delta, 0.0), np.minimum(np.maximum(r, -delta), delta)


@partials(sp.pseudo_huber, singular=True, at=[(1.0, 0.3), (0.5, -2.5)])
def _(delta, r):
    root = np.sqrt(1 + (r / delta) ** 2)
    return 2 * delta * (root - 1) - r * r / (delta * root), r / root


@partials(sp.exprel, singular=True, at=[(0.7,), (-2.0,), (0.0,), (1e-4,)])
def _(x):
    return _second_exprel(x)


@partials(sp.expm1, singular=True, at=[(0.7,), (-2.0,)])
def _(x, *, out):
    return out + 1


@partials(sp.log1p, singular=True, at=[(0.7,), (-0.5,)])
def _(x):
    return 1 / (1 + x)


@partials(sp.exp2, singular=True, at=[(0.7,), (-2.0,)])
def _(x, *, out):
    return np.log(2.0) * out


@partials(sp.exp10, singular=True, at=[(0.7,), (-1.0,)])
def _(x, *, out):
    return np.log(10.0) * out


@partials(sp.cbrt, singular=True, at=[(0.7,), (-2.0,)])
def _(x, *, out):
    return 1 / (3 * out * out)


@partials(sp.cosm1, singular=True, at=[(0.7,)])
def _(x):
    return -np.sin(x)


@partials(sp.boxcox, singular=True, at=[(1.7, 0.4), (0.6, -1.2), (1.7, 0.0), (1.7, 1e-6)])
def _(x, lmbda):
    return x ** (lmbda - 1), np.log(x) ** 2 * _second_exprel(lmbda * np.log(x))


@partials(sp.boxcox1p, singular=True, at=[(0.7, 0.4), (0.7, 0.0)])
def _(x, lmbda):
    return np.exp((lmbda - 1) * np.log1p(x)), np.log1p(x) ** 2 * _second_exprel(lmbda * np.log1p(x))


@partials(sp.inv_boxcox, singular=True, at=[(0.7, 0.4), (0.7, -0.3), (0.7, 0.0), (0.7, 1e-4)])
def _(x, lmbda, *, out):
    return out / (1 + lmbda * x), out * x * x * box_cox_slope(lmbda * x)


def box_cox_slope(z):
    """(z / (1 + z) - log(1 + z)) / z^2: the derivative of log(1 + l x) / l in l, over x^2, at z = l x."""
    small = np.abs(z) < 0.05
    far, y = np.where(small, 1.0, z), np.where(small, z, 0.0)
    series, power = -0.5, 1.0
    for k in range(1, 14):
        power = -power * y
        series = series - (k + 1) / (k + 2) * power
    return np.where(small, series, (far / (1 + far) - np.log1p(far)) / (far * far))


@partials(sp.sindg, singular=True, at=[(30.0,)])
def _(x):
    return np.pi / 180 * sp.cosdg(x)


@partials(sp.cosdg, singular=True, at=[(30.0,)])
def _(x):
    return -np.pi / 180 * sp.sindg(x)


def _second_exprel(x):
    """The derivative of (exp(x) - 1) / x."""
    small = np.abs(x) < 1e-2
    z = np.where(small, 1.0, x)
    y = np.where(small, x, 0.0)
    series = 0.5 + y * (1 / 3 + y * (1 / 8 + y * (1 / 30 + y * (1 / 144 + y / 840))))
    return np.where(small, series, (np.exp(z) * (z - 1) + 1) / (z * z))


# --------------------------------------------------------------------------------------- sums of exponentials

_V, _M = np.array([0.5, -1.5, 2.0]), np.array([[1.0, -2.0, 0.4], [0.5, 1.5, -0.3]])
_W = np.array([0.3, 1.2, 0.7])


def _widened(g, axis, rank, keepdims):
    if axis is None:
        return np.reshape(g, (1,) * rank)
    return g if keepdims else np.expand_dims(g, axis)


@adjoint(sp.logsumexp, "a", at=[(_V,), (_M,), (_M, 1), (_M, (0, 1)), (_M, 0, _W), (_M, 1, -_W, True),
                                (_M, 1, None, True), (0.7,)],
         keywords=[{}, {}, {}, {}, {}, {"return_sign": True}])
def _(g, out, a, axis=None, b=None, keepdims=False, return_sign=False):
    if return_sign:
        g, out = g[0] * out[1], out[0]
    rank = max(np.ndim(a), np.ndim(b) if b is not None else 0)
    total = _widened(out, axis, rank, keepdims)
    part = np.exp(a - np.where(total == -np.inf, 0.0, total)) * _widened(g, axis, rank, keepdims)
    return unbroadcast(part if b is None else b * part, a)


@adjoint(sp.logsumexp, "b")
def _(g, out, a, axis=None, b: Any = None, keepdims=False, return_sign=False):
    if return_sign:
        g, out = g[0] * out[1], out[0]
    rank = max(np.ndim(a), np.ndim(b))
    total = _widened(out, axis, rank, keepdims)
    return unbroadcast(np.exp(a - np.where(total == -np.inf, 0.0, total)) * _widened(g, axis, rank, keepdims),
                       b)


@adjoint(sp.softmax, "x", at=[(_V,), (_M,), (_M, 1), (_M, (0, 1))])
def _(g, out, x, axis=None):
    return out * (g - np.sum(g * out, axis=axis, keepdims=True))


@adjoint(sp.log_softmax, "x", at=[(_V,), (_M,), (_M, 1), (_M, (0, 1))])
def _(g, out, x, axis=None):
    return g - np.exp(out) * np.sum(g, axis=axis, keepdims=True)
