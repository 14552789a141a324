"""Rules of `scipy.special`: integrals, elliptic functions, orthogonal polynomials, Bessel functions."""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np
import scipy.special as sp

from transad.rules.registry import adjoint, partials
from transad.rules.scipy_special import box_cox_slope, unknown

DEGREE = np.pi / 180.0


@partials(sp.tandg, singular=True, at=[(30.0,), (-70.0,)])
def _(x, *, out):
    return DEGREE * (1.0 + out * out)


@partials(sp.cotdg, singular=True, at=[(30.0,), (-70.0,)])
def _(x, *, out):
    return -DEGREE * (1.0 + out * out)


@partials(sp.inv_boxcox1p, singular=True, at=[(0.5, 1.3), (0.4, 0.0), (0.4, 1e-4)])
def _(x, lmbda, *, out):
    return (out + 1) / (1.0 + lmbda * x), (out + 1) * x * x * box_cox_slope(lmbda * x)


@partials(sp.ellipkinc, singular=True, at=[(0.7, 0.4), (1.2, 0.3)])
def _(phi, m, *, out):
    delta = np.sqrt(1.0 - m * np.sin(phi) ** 2)
    on_m = sp.ellipeinc(phi, m) / (2 * m * (1 - m)) - out / (2 * m) - np.sin(2 * phi) / (4 * (1 - m) * delta)
    return 1.0 / delta, on_m


@partials(sp.ellipeinc, singular=True, at=[(0.7, 0.4), (1.2, 0.3)])
def _(phi, m, *, out):
    return np.sqrt(1.0 - m * np.sin(phi) ** 2), (out - sp.ellipkinc(phi, m)) / (2 * m)


@partials(sp.agm, singular=True, at=[(1.5, 0.7), (0.4, 2.0)])
def _(a, b, *, out):
    slope = agm_slope(a, b, out)
    return slope, (out - a * slope) / b


def agm_slope(a, b, mean):
    """d agm(a, b) / da, from agm(a, b) = pi (a + b) / (4 K(m)), m = ((a - b) / (a + b))^2."""
    ratio = (a - b) / (a + b)
    m = ratio * ratio
    k = sp.ellipk(m)
    safe = np.where(m == 0, 0.5, m)
    dk = np.where(m == 0, np.pi / 8, (sp.ellipe(m) - (1 - m) * k) / (2 * safe * (1 - m)))
    dm = 2 * ratio * 2 * b / ((a + b) * (a + b))
    return mean * (1.0 / (a + b) - dk * dm / k)


@partials(sp.jve, singular=True, at=[(1.5, 0.7), (2.0, 3.0)])
def _(v, z, *, out):
    return unknown("jve", "v"), 0.5 * (sp.jve(v - 1, z) - sp.jve(v + 1, z))


@partials(sp.yve, singular=True, at=[(1.5, 0.7), (2.0, 3.0)])
def _(v, z, *, out):
    return unknown("yve", "v"), 0.5 * (sp.yve(v - 1, z) - sp.yve(v + 1, z))


def before(n):
    """n - 1, at least 0, as the integer that SciPy wants."""
    return np.maximum(np.asarray(n, dtype=np.int64) - 1, 0)


@partials(sp.eval_hermite, singular=True, at=[(3, 0.7), (0, 0.5), (1, -0.4)])
def _(n, x):
    return None, np.where(n > 0, 2 * n * sp.eval_hermite(before(n), x), 0.0)


@partials(sp.eval_hermitenorm, singular=True, at=[(3, 0.7), (0, 0.5), (1, -0.4)])
def _(n, x):
    return None, np.where(n > 0, n * sp.eval_hermitenorm(before(n), x), 0.0)


@partials(sp.eval_chebyt, singular=True, at=[(3, 0.7), (0, 0.5), (1, -0.4)])
def _(n, x):
    return unknown("eval_chebyt", "n"), np.where(n > 0, n * sp.eval_chebyu(n - 1, x), 0.0)


@partials(sp.eval_chebyu, singular=True, at=[(3, 0.7), (0, 0.5), (1, -0.4)])
def _(n, x):
    return unknown("eval_chebyu", "n"), 2.0 * sp.eval_gegenbauer(n - 1, 2.0, x)


@partials(sp.eval_gegenbauer, singular=True, at=[(3, 1.5, 0.7), (0, 1.5, 0.5), (1, 2.0, -0.4)])
def _(n, alpha, x):
    return unknown("eval_gegenbauer", "n"), unknown("eval_gegenbauer", "alpha"), np.where(
        n > 0, 2 * alpha * sp.eval_gegenbauer(n - 1, alpha + 1, x), 0.0)


@partials(sp.eval_genlaguerre, singular=True, at=[(3, 1.5, 0.7), (0, 1.5, 0.5), (1, 2.0, 0.4)])
def _(n, alpha, x):
    return unknown("eval_genlaguerre", "n"), unknown("eval_genlaguerre", "alpha"), np.where(
        n > 0, -sp.eval_genlaguerre(n - 1, alpha + 1, x), 0.0)


@partials(sp.eval_laguerre, singular=True, at=[(3, 0.7), (0, 0.5), (1, 0.4)])
def _(n, x):
    return unknown("eval_laguerre", "n"), np.where(n > 0, -sp.eval_genlaguerre(n - 1, 1.0, x), 0.0)


# Several results

@adjoint(sp.sici, "x", at=[(0.7,), (np.array([0.3, 2.5]),)])
def _(g, out, x):
    return g[0] * np.sin(x) / x + g[1] * np.cos(x) / x


@adjoint(sp.shichi, "x", at=[(0.7,), (np.array([0.3, 2.5]),)])
def _(g, out, x):
    return g[0] * np.sinh(x) / x + g[1] * np.cosh(x) / x


@adjoint(sp.fresnel, "z", at=[(0.7,), (np.array([0.3, 1.5]),)])
def _(g, out, z):
    return g[0] * np.sin(0.5 * np.pi * z * z) + g[1] * np.cos(0.5 * np.pi * z * z)
