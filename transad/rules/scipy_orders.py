"""Rules of `scipy.special`: Airy, Kelvin, Struve and modified spherical Bessel functions, Jacobi polynomials, Jacobi elliptic
functions. Formulas: DLMF 9, 10.47 to 10.68, 11.4, 18.9, 22.13."""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from transad.rules.algebra import unbroadcast, unknown
from transad.rules.registry import adjoint, composite, partials

_X = np.array([0.3, 1.5])


# Several results at once

@adjoint(sp.airy, "z", at=[(0.7,), (_X,), (-1.3,)])
def _(g, out, z):
    ai, aip, bi, bip = out
    return g[0] * aip + g[1] * z * ai + g[2] * bip + g[3] * z * bi


@adjoint(sp.ellipj, "u", at=[(0.7, 0.4), (_X, 0.6), (0.7, _X * 0.5)])
def _(g, out, u, m):
    sn, cn, dn, _ = out
    return unbroadcast(g[0] * cn * dn - g[1] * sn * dn - g[2] * m * sn * cn + g[3] * dn, u)


@adjoint(sp.ellipj, "m")
def _(g, out, u, m):
    sn, cn, dn, phi = out
    rest = (u - (sp.ellipeinc(phi, m) - m * sn * cn / dn) / (1.0 - m)) / (2.0 * m)      # -(d phi / dm) / dn
    moved = dn * rest
    on_dn = -sn * sn / (2.0 * dn) - m * sn * cn / dn * moved
    return unbroadcast(g[0] * cn * moved - g[1] * sn * moved + g[2] * on_dn + g[3] * moved, m)


# Kelvin functions: ber'' is read off the equation of ber + i bei

def _kelvin(of: Any, slope: Any, sign: float, other: Any) -> None:
    @partials(of, singular=True, at=[(0.7,), (2.5,)])
    def _(x):
        return slope(x)

    @partials(slope, singular=True, at=[(0.7,), (2.5,)])
    def _(x, *, out):
        return sign * other(x) - out / x


_kelvin(sp.ber, sp.berp, -1.0, sp.bei)
_kelvin(sp.bei, sp.beip, 1.0, sp.ber)
_kelvin(sp.ker, sp.kerp, -1.0, sp.kei)
_kelvin(sp.kei, sp.keip, 1.0, sp.ker)


@partials(sp.struve, singular=True, at=[(1.0, 0.7), (0.0, 1.3), (1.5, 2.0)])
def _(v, x, *, out):
    return unknown("struve", "v"), sp.struve(v - 1.0, x) - v / x * out


@partials(sp.modstruve, singular=True, at=[(1.0, 0.7), (0.0, 1.3), (1.5, 2.0)])
def _(v, x, *, out):
    return unknown("modstruve", "v"), sp.modstruve(v - 1.0, x) - v / x * out


@composite(sp.spherical_in)
def _(n, z, derivative=False):
    front = np.sqrt(0.5 * np.pi / z)
    value = front * sp.iv(n + 0.5, z)
    return front * sp.iv(n + 1.5, z) + n / z * value if derivative else value


@composite(sp.spherical_kn)
def _(n, z, derivative=False):
    front = np.sqrt(0.5 * np.pi / z)
    value = front * sp.kv(n + 0.5, z)
    return n / z * value - front * sp.kv(n + 1.5, z) if derivative else value


@partials(sp.eval_jacobi, singular=True, at=[(3, 1.0, 2.0, 0.4), (0, 0.5, 0.5, 0.1), (1, 1.0, 0.0, -0.3)])
def _(n, alpha, beta, x):
    return (unknown("eval_jacobi", "n"), unknown("eval_jacobi", "alpha"), unknown("eval_jacobi", "beta"),
            np.where(n > 0, 0.5 * (n + alpha + beta + 1.0) * sp.eval_jacobi(n - 1, alpha + 1.0, beta + 1.0, x), 0.0))
