"""Rules of `scipy.stats` distributions, called as `scipy.stats.norm.logpdf(x, loc, scale)`; frozen ones have
none.

Each continuous family is declared by its score: the derivatives of the standard log-density in its point and
in its shapes. Everything else follows. Outside the support densities are constant: the derivative is 0.
Distribution functions move with their shapes as `scipy_incomplete` says.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from transad.rules.algebra import unbroadcast
from transad.rules.registry import adjoint
from transad.rules.scipy_incomplete import beta_slope, beta_slope_b, gamma_slope, student_slope

Score = Callable[..., tuple[Any, ...]]
_X = np.array([0.3, 0.55, 0.8])
_LOC, _SCALE = np.array([-0.2, 0.1, 0.05]), 1.3


def _guarded(weight: Any, value: Any, logarithmic: bool) -> Any:
    """0 where the density vanishes."""
    return np.where(np.isneginf(value) if logarithmic else value == 0, 0.0, weight)


def _density(g: Any, out: Any, parts: tuple[Any, ...], arguments: tuple[Any, ...], z: Any,
             logarithmic: bool) -> Any:
    """Cotangents of x, the shapes, loc and scale from the score."""
    x, *shapes, loc, scale = arguments
    weight = g if logarithmic else g * out
    slope = _guarded(parts[0], out, logarithmic)
    on_shapes = [unbroadcast(weight * _guarded(part, out, logarithmic), shape)
                 for part, shape in zip(parts[1:], shapes, strict=True)]
    on_scale = _guarded(-(1 + z * slope) / scale, out, logarithmic)
    return (unbroadcast(weight * slope / scale, x), *on_shapes, unbroadcast(-weight * slope / scale, loc),
            unbroadcast(weight * on_scale, scale))


def _distribution(g: Any, density: Any, x: Any, loc: Any, scale: Any) -> Any:
    """Cotangents of x, loc and scale of a distribution function whose slope in x is `density`."""
    slope = g * density
    return unbroadcast(slope, x), unbroadcast(-slope, loc), unbroadcast(-slope * ((x - loc) / scale), scale)


def _slope(kind: str, out: Any, log_density: Any) -> Any:
    """d out / dx of cdf, sf, logcdf, logsf, from the logarithm of the density."""
    if kind in ("cdf", "sf"):
        return np.exp(log_density) if kind == "cdf" else -np.exp(log_density)
    usable = ~np.isneginf(out)
    ratio = np.where(usable, np.exp(log_density - np.where(usable, out, 0.0)), 0.0)
    return ratio if kind == "logcdf" else -ratio


def _quantile(g: Any, out: Any, q: Any, loc: Any, scale: Any, log_density: Any, sign: float) -> Any:
    """Cotangents of q, loc and scale of ppf (sign 1) or isf (sign -1)."""
    return (unbroadcast(sign * g * np.exp(-log_density), q), unbroadcast(g, loc),
            unbroadcast(g * (out - loc) / scale, scale))


def _moved(g: Any, kind: str, out: Any, moves: Any, shape: Any) -> Any:
    """Cotangent of a shape in cdf, sf, logcdf, logsf, from the derivative `moves` of the standard cdf in it."""
    if kind in ("cdf", "sf"):
        return unbroadcast(g * moves if kind == "cdf" else -g * moves, shape)
    usable = ~np.isneginf(out)
    ratio = np.where(usable, moves * np.exp(-np.where(usable, out, 0.0)), 0.0)
    return unbroadcast(g * ratio if kind == "logcdf" else -g * ratio, shape)


def _quantile_moved(g: Any, z: Any, scale: Any, moves: Any, log_density: Any, shape: Any) -> Any:
    """Cotangent of a shape in ppf and isf, at the standard quantile z with its standard density."""
    usable = np.isfinite(z) & ~np.isneginf(log_density)
    return unbroadcast(-g * scale * np.where(usable, moves * np.exp(-np.where(usable, log_density, 0.0)), 0.0), shape)


_KINDS = ("cdf", "sf", "logcdf", "logsf")


def _no_shape(family: Any, score: Score, x: Any = _X) -> None:
    """Rules of a family without shape parameters."""
    points = [(x,), (x, _LOC, _SCALE), (0.4, 0.1, 0.7)]

    for method, logarithmic in ((family.logpdf, True), (family.pdf, False)):
        @adjoint(method, "x", "loc", "scale", at=points)
        def _(g, out, x, loc=0, scale=1, logarithmic=logarithmic):
            z = (x - loc) / scale
            return _density(g, out, score(z), (x, loc, scale), z, logarithmic)

    for kind in _KINDS:
        @adjoint(getattr(family, kind), "x", "loc", "scale", at=points)
        def _(g, out, x, loc=0, scale=1, kind=kind):
            return _distribution(g, _slope(kind, out, family.logpdf(x, loc, scale)), x, loc, scale)

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X,), (_X, _LOC, _SCALE)])
        def _(g, out, q, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, loc, scale), sign)


def _shape_a(family: Any, score: Score, moves: Callable, a: float) -> None:
    """Rules of a family with the shape `a`."""
    points = [(_X, a), (_X, np.array([a, a + 0.3, a + 1]), _LOC, _SCALE), (0.4, a, 0.1, 0.7)]

    for method, logarithmic in ((family.logpdf, True), (family.pdf, False)):
        @adjoint(method, "x", "a", "loc", "scale", at=points)
        def _(g, out, x, a, loc=0, scale=1, logarithmic=logarithmic):
            z = (x - loc) / scale
            return _density(g, out, score(z, a), (x, a, loc, scale), z, logarithmic)

    for kind in _KINDS:
        @adjoint(getattr(family, kind), "x", "loc", "scale", at=points)
        def _(g, out, x, a, loc=0, scale=1, kind=kind):
            return _distribution(g, _slope(kind, out, family.logpdf(x, a, loc, scale)), x, loc, scale)

        @adjoint(getattr(family, kind), "a")
        def _(g, out, x, a, loc=0, scale=1, kind=kind):
            return _moved(g, kind, out, moves((x - loc) / scale, a), a)

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, a), (_X, a, _LOC, _SCALE)])
        def _(g, out, q, a, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, a, loc, scale), sign)

        @adjoint(method, "a")
        def _(g, out, q, a, loc=0, scale=1):
            z = (out - loc) / scale
            return _quantile_moved(g, z, scale, moves(z, a), family.logpdf(z, a), a)


def _shape_df(family: Any, score: Score, moves: Callable, df: float) -> None:
    """Rules of a family with the shape `df`."""
    points = [(_X, df), (_X, np.array([df, df + 0.3, df + 1]), _LOC, _SCALE), (0.4, df, 0.1, 0.7)]

    for method, logarithmic in ((family.logpdf, True), (family.pdf, False)):
        @adjoint(method, "x", "df", "loc", "scale", at=points)
        def _(g, out, x, df, loc=0, scale=1, logarithmic=logarithmic):
            z = (x - loc) / scale
            return _density(g, out, score(z, df), (x, df, loc, scale), z, logarithmic)

    for kind in _KINDS:
        @adjoint(getattr(family, kind), "x", "loc", "scale", at=points)
        def _(g, out, x, df, loc=0, scale=1, kind=kind):
            return _distribution(g, _slope(kind, out, family.logpdf(x, df, loc, scale)), x, loc, scale)

        @adjoint(getattr(family, kind), "df")
        def _(g, out, x, df, loc=0, scale=1, kind=kind):
            return _moved(g, kind, out, moves((x - loc) / scale, df), df)

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, df), (_X, df, _LOC, _SCALE)])
        def _(g, out, q, df, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, df, loc, scale), sign)

        @adjoint(method, "df")
        def _(g, out, q, df, loc=0, scale=1):
            z = (out - loc) / scale
            return _quantile_moved(g, z, scale, moves(z, df), family.logpdf(z, df), df)


def _shape_ab(family: Any, score: Score, moves: tuple[Callable, Callable], a: float, b: float) -> None:
    """Rules of a family with the shapes `a` and `b`."""
    points = [(_X, a, b), (_X, np.array([a, a + 0.3, a + 1]), b, _LOC, _SCALE), (0.4, a, b, 0.1, 0.7)]

    for method, logarithmic in ((family.logpdf, True), (family.pdf, False)):
        @adjoint(method, "x", "a", "b", "loc", "scale", at=points)
        def _(g, out, x, a, b, loc=0, scale=1, logarithmic=logarithmic):
            z = (x - loc) / scale
            return _density(g, out, score(z, a, b), (x, a, b, loc, scale), z, logarithmic)

    for kind in _KINDS:
        @adjoint(getattr(family, kind), "x", "loc", "scale", at=points)
        def _(g, out, x, a, b, loc=0, scale=1, kind=kind):
            return _distribution(g, _slope(kind, out, family.logpdf(x, a, b, loc, scale)), x, loc, scale)

        @adjoint(getattr(family, kind), "a")
        def _(g, out, x, a, b, loc=0, scale=1, kind=kind):
            return _moved(g, kind, out, moves[0]((x - loc) / scale, a, b), a)

        @adjoint(getattr(family, kind), "b")
        def _(g, out, x, a, b, loc=0, scale=1, kind=kind):
            return _moved(g, kind, out, moves[1]((x - loc) / scale, a, b), b)

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, a, b), (_X, a, b, _LOC, _SCALE)])
        def _(g, out, q, a, b, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, a, b, loc, scale), sign)

        @adjoint(method, "a")
        def _(g, out, q, a, b, loc=0, scale=1):
            z = (out - loc) / scale
            return _quantile_moved(g, z, scale, moves[0](z, a, b), family.logpdf(z, a, b), a)

        @adjoint(method, "b")
        def _(g, out, q, a, b, loc=0, scale=1):
            z = (out - loc) / scale
            return _quantile_moved(g, z, scale, moves[1](z, a, b), family.logpdf(z, a, b), b)


def _normal(z):
    return (-z,)


def _logistic(z):
    return (-np.tanh(0.5 * z),)


def _cauchy(z):
    return (-2 * z / (1 + z * z),)


def _laplace(z):
    return (-np.sign(z),)


def _exponential(z):
    return (-np.ones(np.shape(z)),)


def _uniform(z):
    return (np.zeros(np.shape(z)),)


def _gumbel_r(z):
    return (np.exp(-z) - 1,)


def _positive(z):
    """`z`, and 1 where a logarithm or quotient of it would not be used."""
    return np.where(z > 0, z, 1.0)


def _gamma(z, a):
    z = _positive(z)
    return (a - 1) / z - 1, np.log(z) - sp.psi(a)


def _invgamma(z, a):
    z = _positive(z)
    return (1 / z - a - 1) / z, -np.log(z) - sp.psi(a)


def _chi2(z, df):
    z = _positive(z)
    return (0.5 * df - 1) / z - 0.5, 0.5 * (np.log(0.5 * z) - sp.psi(0.5 * df))


def _t(z, df):
    total = df + z * z
    on_df = (sp.psi(0.5 * (df + 1)) - sp.psi(0.5 * df) - 1 / df - np.log1p(z * z / df)
             + (df + 1) * z * z / (df * total))
    return -(df + 1) * z / total, 0.5 * on_df


def _beta(z, a, b):
    z = np.where((z > 0) & (z < 1), z, 0.5)
    both = sp.psi(a + b)
    return ((a - 1) / z - (b - 1) / (1 - z), np.log(z) - sp.psi(a) + both, np.log1p(-z) - sp.psi(b) + both)


# How the standard distribution functions move with their shapes; constant outside the support.

def _gamma_moves(z, a):
    return gamma_slope(a, np.maximum(z, 0.0))


def _invgamma_moves(z, a):
    return np.where(z > 0, -gamma_slope(a, 1 / _positive(z)), 0.0)


def _chi2_moves(z, df):
    return 0.5 * gamma_slope(0.5 * df, np.maximum(0.5 * z, 0.0))


def _t_moves(z, df):
    return student_slope(df, z)


def _beta_moves_a(z, a, b):
    return beta_slope(a, b, np.minimum(np.maximum(z, 0.0), 1.0))


def _beta_moves_b(z, a, b):
    return beta_slope_b(a, b, np.minimum(np.maximum(z, 0.0), 1.0))


_no_shape(st.norm, _normal)
_no_shape(st.logistic, _logistic)
_no_shape(st.cauchy, _cauchy)
_no_shape(st.laplace, _laplace)
_no_shape(st.expon, _exponential)
_no_shape(st.uniform, _uniform)
_no_shape(st.gumbel_r, _gumbel_r)
_shape_a(st.gamma, _gamma, _gamma_moves, 1.7)
_shape_a(st.invgamma, _invgamma, _invgamma_moves, 1.7)
_shape_df(st.chi2, _chi2, _chi2_moves, 3.4)
_shape_df(st.t, _t, _t_moves, 2.6)
_shape_ab(st.beta, _beta, (_beta_moves_a, _beta_moves_b), 1.7, 2.4)
