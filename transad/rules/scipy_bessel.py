"""Rules of `scipy.special`: Bessel functions, integrals, hypergeometric functions.

Formulas: DLMF (https://dlmf.nist.gov) chapters 6, 10, 13, 15, 19, 25.
"""
from __future__ import annotations

import numpy as np
import scipy.special as sp

from transad.rules.algebra import unknown
from transad.rules.registry import adjoint, partials

_ROOT_2PI = np.sqrt(2 * np.pi)


# ----------------------------------------------------------------------------------------------------- Bessel

@partials(sp.j0, singular=True, at=[(0.7,), (0.0,), (5.0,)])
def _(x):
    return -sp.j1(x)


@partials(sp.j1, singular=True, at=[(0.7,), (0.0,), (5.0,)])
def _(x):
    return 0.5 * (sp.j0(x) - sp.jv(2, x))


@partials(sp.y0, singular=True, at=[(0.7,), (5.0,)])
def _(x):
    return -sp.y1(x)


@partials(sp.y1, singular=True, at=[(0.7,), (5.0,)])
def _(x):
    return 0.5 * (sp.y0(x) - sp.yv(2, x))


@partials(sp.jv, singular=True, at=[(2, 0.7), (1.5, 3.0), (0, 1.0)])
def _(v, z):
    return unknown("jv", "v"), 0.5 * (sp.jv(v - 1, z) - sp.jv(v + 1, z))


@partials(sp.yn, singular=True, at=[(2, 0.7), (0, 3.0)])
def _(n, x):
    return unknown("yn", "n"), 0.5 * (sp.yv(n - 1, x) - sp.yv(n + 1, x))


@partials(sp.yv, singular=True, at=[(2, 0.7), (1.5, 3.0)])
def _(v, z):
    return unknown("yv", "v"), 0.5 * (sp.yv(v - 1, z) - sp.yv(v + 1, z))


@partials(sp.i0, singular=True, at=[(0.7,), (-1.0,)])
def _(x):
    return sp.i1(x)


@partials(sp.i1, singular=True, at=[(0.7,), (0.0,)])
def _(x):
    return 0.5 * (sp.i0(x) + sp.iv(2, x))


@partials(sp.iv, singular=True, at=[(2, 0.7), (1.5, 3.0)])
def _(v, z):
    return unknown("iv", "v"), 0.5 * (sp.iv(v - 1, z) + sp.iv(v + 1, z))


@partials(sp.k0, singular=True, at=[(0.7,), (3.0,)])
def _(x):
    return -sp.k1(x)


@partials(sp.k1, singular=True, at=[(0.7,), (3.0,)])
def _(x):
    return -0.5 * (sp.k0(x) + sp.kv(2, x))


@partials(sp.kn, singular=True, at=[(2, 0.7), (0, 3.0)])
def _(n, x):
    return unknown("kn", "n"), -0.5 * (sp.kv(n - 1, x) + sp.kv(n + 1, x))


@partials(sp.kv, singular=True, at=[(2, 0.7), (1.5, 3.0)])
def _(v, z):
    return unknown("kv", "v"), -0.5 * (sp.kv(v - 1, z) + sp.kv(v + 1, z))


@partials(sp.i0e, singular=True, at=[(0.7,), (-1.0,)])
def _(x, *, out):
    return sp.i1e(x) - np.sign(x) * out


@partials(sp.i1e, singular=True, at=[(0.7,), (-1.0,)])
def _(x, *, out):
    return 0.5 * (sp.i0e(x) + sp.ive(2, x)) - np.sign(x) * out


@partials(sp.ive, singular=True, at=[(2, 0.7), (1.5, 3.0), (1, -0.7)])
def _(v, z, *, out):
    return unknown("ive", "v"), 0.5 * (sp.ive(v - 1, z) + sp.ive(v + 1, z)) - np.sign(z) * out


@partials(sp.k0e, singular=True, at=[(0.7,), (3.0,)])
def _(x, *, out):
    return out - sp.k1e(x)


@partials(sp.k1e, singular=True, at=[(0.7,), (3.0,)])
def _(x, *, out):
    return out - 0.5 * (sp.k0e(x) + sp.kve(2, x))


@partials(sp.kve, singular=True, at=[(2, 0.7), (1.5, 3.0)])
def _(v, z, *, out):
    return unknown("kve", "v"), out - 0.5 * (sp.kve(v - 1, z) + sp.kve(v + 1, z))


@partials(sp.hankel1, singular=True, at=[(2, 0.7 + 0.1j)])
def _(v, z):
    return unknown("hankel1", "v"), 0.5 * (sp.hankel1(v - 1, z) - sp.hankel1(v + 1, z))


@partials(sp.hankel2, singular=True, at=[(2, 0.7 + 0.1j)])
def _(v, z):
    return unknown("hankel2", "v"), 0.5 * (sp.hankel2(v - 1, z) - sp.hankel2(v + 1, z))


# ---------------------------------------------------------------------- integrals, zeta, hypergeometric, cdfs

@partials(sp.exp1, singular=True, at=[(0.7,), (3.0,)])
def _(z):
    return -np.exp(-z) / z


@partials(sp.expi, singular=True, at=[(0.7,), (-3.0,)])
def _(x):
    return np.exp(x) / x


@partials(sp.expn, singular=True, at=[(2, 0.7), (3, 1.5)])
def _(n, x):
    return unknown("expn", "n"), -sp.expn(n - 1, x)


@partials(sp.spence, singular=True, at=[(0.7,), (2.0,), (1.0,)])
def _(z):
    near = np.abs(z - 1) < 1e-2
    safe = np.where(near, 2.0, z)
    w = np.where(near, z - 1, 0.0)
    series = 1 - w * (1 / 2 - w * (1 / 3 - w * (1 / 4 - w * (1 / 5 - w * (1 / 6 - w * (1 / 7 - w / 8))))))
    return np.where(near, -series, np.log(safe) / (1 - safe))


@partials(sp.lambertw, singular=True, at=[(0.7 + 0.0j,), (3.0 - 1.0j, 1)])
def _(z, k=0, tol=1e-8, *, out):
    return np.exp(-out) / (1 + out), None, None


@partials(sp.wrightomega, singular=True, at=[(0.7,), (-2.0,)])
def _(z, *, out):
    return out / (1 + out)


_ELLIPTIC = [sp.binom(2 * k, k) ** 2 / 16.0 ** k for k in range(10)]          # K(m) = pi/2 sum c_k m^k


def _polynomial(x, coefficients):
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


@partials(sp.ellipk, singular=True, at=[(0.3,), (-1.5,), (0.0,)])
def _(m):
    near = np.abs(m) < 1e-2
    safe = np.where(near, 0.5, m)
    w = np.where(near, m, 0.0)
    series = np.pi / 2 * _polynomial(w, [k * c for k, c in enumerate(_ELLIPTIC)][1:])
    return np.where(near, series, (sp.ellipe(safe) - (1 - safe) * sp.ellipk(safe)) / (2 * safe * (1 - safe)))


@partials(sp.ellipe, singular=True, at=[(0.3,), (-1.5,), (0.0,)])
def _(m):
    near = np.abs(m) < 1e-2
    safe = np.where(near, 0.5, m)
    w = np.where(near, m, 0.0)
    series = -np.pi / 2 * _polynomial(w, [k * c / (2 * k - 1) for k, c in enumerate(_ELLIPTIC)][1:])
    return np.where(near, series, (sp.ellipe(safe) - sp.ellipk(safe)) / (2 * safe))


@partials(sp.ellipkm1, singular=True, at=[(0.3,), (0.8,)])
def _(p):
    return ((p * sp.ellipkm1(p)) - sp.ellipe(1 - p)) / (2 * p * (1 - p))


@partials(sp.owens_t, singular=True, at=[(0.7, 0.4), (-1.2, 2.0), (0.0, 1.0)])
def _(h, a):
    return (-np.exp(-0.5 * h * h) * sp.erf(a * h / np.sqrt(2.0)) / (2 * _ROOT_2PI),
            np.exp(-0.5 * h * h * (1 + a * a)) / (2 * np.pi * (1 + a * a)))


@partials(sp.eval_legendre, singular=True, at=[(3, 0.4), (1, -0.2), (0, 0.3)])
def _(n, x):
    slope = n * (x * sp.eval_legendre(n, x) - sp.eval_legendre(n - 1, x)) / (x * x - 1)
    return unknown("eval_legendre", "n"), slope


@adjoint(sp.spherical_jn, "z", at=[(1, 0.7), (2, np.array([1.5, 3.0])), (1, 0.7, True)])
def _(g, out, n, z, derivative=False):
    first = sp.spherical_jn(n, z, True)
    return g * (_spherical_curvature(n, z, sp.spherical_jn(n, z), first) if derivative else first)


@adjoint(sp.spherical_yn, "z", at=[(1, 0.7), (2, np.array([1.5, 3.0])), (1, 0.7, True)])
def _(g, out, n, z, derivative=False):
    first = sp.spherical_yn(n, z, True)
    return g * (_spherical_curvature(n, z, sp.spherical_yn(n, z), first) if derivative else first)


def _spherical_curvature(n, z, value, first):
    """From the differential equation of spherical Bessel functions."""
    return -2 / z * first - (1 - n * (n + 1) / (z * z)) * value


@adjoint(sp.factorial, "n", at=[(np.array([2.5, 0.3]),)], keywords=[{"extend": "zero"}])
def _(g, out, n, exact=False, extend="zero"):
    return g * sp.gamma(np.asarray(n) + 1) * sp.psi(np.asarray(n) + 1)


@partials(sp.hyp0f1, singular=True, at=[(1.5, 0.7)])
def _(v, z):
    return unknown("hyp0f1", "v"), sp.hyp0f1(v + 1, z) / v


@partials(sp.hyp1f1, singular=True, at=[(0.7, 1.5, 0.4)])
def _(a, b, x):
    return unknown("hyp1f1", "a"), unknown("hyp1f1", "b"), a / b * sp.hyp1f1(a + 1, b + 1, x)


@partials(sp.hyp2f1, singular=True, at=[(0.7, 1.2, 2.5, 0.4)])
def _(a, b, c, z):
    slope = a * b / c * sp.hyp2f1(a + 1, b + 1, c + 1, z)
    return unknown("hyp2f1", "a"), unknown("hyp2f1", "b"), unknown("hyp2f1", "c"), slope


@partials(sp.hyperu, singular=True, at=[(0.7, 1.2, 2.5)])
def _(a, b, x):
    return unknown("hyperu", "a"), unknown("hyperu", "b"), -a * sp.hyperu(a + 1, b + 1, x)
