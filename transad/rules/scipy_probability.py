"""Rules of the distribution functions of `scipy.special` (`chdtr`, `fdtr`, `stdtr`, ...): incomplete gamma and beta
functions of other arguments. Counts (`pdtr` in k, `bdtr` in k and n) enter as steps and have no derivative."""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from transad.rules.algebra import unknown
from transad.rules.registry import composite, partials
from transad.rules.scipy_incomplete import beta_slope, beta_slope_b, gamma_slope, student_slope

_ROOT_2PI = np.sqrt(2 * np.pi)


@partials(sp.pdtr, singular=True, at=[(2.0, 1.3), (4.0, 0.6)])
def _(k, m):
    return None, -np.exp(sp.xlogy(np.floor(k), m) - m - sp.gammaln(np.floor(k) + 1))


@partials(sp.pdtrc, singular=True, at=[(2.0, 1.3)])
def _(k, m):
    return None, np.exp(sp.xlogy(np.floor(k), m) - m - sp.gammaln(np.floor(k) + 1))


def _chi2_density(v: Any, x: Any) -> Any:
    return 0.5 * np.exp(sp.xlogy(0.5 * v - 1, 0.5 * x) - 0.5 * x - sp.gammaln(0.5 * v))


@partials(sp.chdtr, singular=True, at=[(3.0, 1.3)])
def _(v, x):
    return 0.5 * gamma_slope(0.5 * v, 0.5 * x), _chi2_density(v, x)


@partials(sp.chdtrc, singular=True, at=[(3.0, 1.3)])
def _(v, x):
    return -0.5 * gamma_slope(0.5 * v, 0.5 * x), -_chi2_density(v, x)


@partials(sp.chdtri, singular=True, at=[(3.0, 0.3)])
def _(v, p, *, out):
    over = 1.0 / _chi2_density(v, out)
    return -0.5 * gamma_slope(0.5 * v, 0.5 * out) * over, -over


def _log_student(df: Any, t: Any) -> Any:
    return -0.5 * (df + 1) * np.log1p(t * t / df) - sp.betaln(0.5 * df, 0.5) - 0.5 * np.log(df)


@partials(sp.stdtr, singular=True, at=[(3.0, 1.3), (2.5, -0.4), (2.5, 0.0)])
def _(df, t):
    return student_slope(df, t), np.exp(_log_student(df, t))


@partials(sp.stdtrit, singular=True, at=[(3.0, 0.3)])
def _(df, p, *, out):
    over = np.exp(-_log_student(df, out))
    return -student_slope(df, out) * over, over


@composite(sp.gdtr)
def _(a, b, x):
    return sp.gammainc(b, a * x)


@composite(sp.gdtrc)
def _(a, b, x):
    return sp.gammaincc(b, a * x)


def _share(dfn: Any, dfd: Any, x: Any) -> Any:
    return dfn * x / (dfd + dfn * x)


@composite(sp.fdtr)
def _(dfn, dfd, x):
    return sp.betainc(0.5 * dfn, 0.5 * dfd, _share(dfn, dfd, x))


@composite(sp.fdtrc)
def _(dfn, dfd, x):
    return sp.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


@partials(sp.fdtri, singular=True, at=[(3.0, 5.0, 0.3)])
def _(dfn, dfd, p, *, out):
    a, b, x = 0.5 * dfn, 0.5 * dfd, _share(dfn, dfd, out)
    density = np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))
    wide = dfd + dfn * out
    over = wide * wide / (dfn * dfd * density)
    on_a = 0.5 * beta_slope(a, b, x) + density * out * dfd / (wide * wide)
    on_b = 0.5 * beta_slope_b(a, b, x) - density * out * dfn / (wide * wide)
    return -on_a * over, -on_b * over, over


@partials(sp.bdtr, singular=True, at=[(2.0, 5, 0.4), (0.0, 3, 0.7)])
def _(k, n, p):
    j = np.floor(k)
    return unknown("bdtr", "k"), None, -(n - j) * sp.binom(n, j) * p ** j * (1 - p) ** (n - j - 1)


@composite(sp.voigt_profile)
def _(x, sigma, gamma):
    normal = sigma > 0
    width = np.where(normal, sigma, 1.0)
    z = (x + 1j * gamma) / (width * np.sqrt(2.0))
    profile = np.real(sp.wofz(z)) / (width * _ROOT_2PI)
    wide = x * x + gamma * gamma
    return np.where(normal, profile, gamma / (np.pi * np.where(wide > 0, wide, 1.0)))[()]
