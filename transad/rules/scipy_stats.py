"""Rules of `scipy.stats` distributions, called as `scipy.stats.norm.logpdf(x, loc, scale)`; frozen ones have
none.

Each continuous family is declared by its score: the derivatives of the standard log-density in its point and
in its shapes. Everything else follows. Outside the support densities are constant: the derivative is 0.
Distribution functions have no rule for shape parameters (there is no closed form): a call with an active one
is refused.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from transad.rules.algebra import unbroadcast
from transad.rules.decompositions import fold_triangle
from transad.rules.registry import adjoint

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


def _shape_a(family: Any, score: Score, a: float) -> None:
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

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, a), (_X, a, _LOC, _SCALE)])
        def _(g, out, q, a, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, a, loc, scale), sign)


def _shape_df(family: Any, score: Score, df: float) -> None:
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

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, df), (_X, df, _LOC, _SCALE)])
        def _(g, out, q, df, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, df, loc, scale), sign)


def _shape_ab(family: Any, score: Score, a: float, b: float) -> None:
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

    for method, sign in ((family.ppf, 1.0), (family.isf, -1.0)):
        @adjoint(method, "q", "loc", "scale", at=[(_X, a, b), (_X, a, b, _LOC, _SCALE)])
        def _(g, out, q, a, b, loc=0, scale=1, sign=sign):
            return _quantile(g, out, q, loc, scale, family.logpdf(out, a, b, loc, scale), sign)


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


_no_shape(st.norm, _normal)
_no_shape(st.logistic, _logistic)
_no_shape(st.cauchy, _cauchy)
_no_shape(st.laplace, _laplace)
_no_shape(st.expon, _exponential)
_no_shape(st.uniform, _uniform)
_no_shape(st.gumbel_r, _gumbel_r)
_shape_a(st.gamma, _gamma, 1.7)
_shape_a(st.invgamma, _invgamma, 1.7)
_shape_df(st.chi2, _chi2, 3.4)
_shape_df(st.t, _t, 2.6)
_shape_ab(st.beta, _beta, 1.7, 2.4)


# ------------------------------------------------------------------------------------------ discrete families

_K = np.array([0.0, 2.0, 3.0])


def _inside(slope, out, logarithmic):
    return np.where(np.isneginf(out) if logarithmic else out == 0, 0.0, slope if logarithmic else slope * out)


@adjoint(st.poisson.logpmf, "mu", at=[(_K, 1.3), (_K, np.array([0.4, 1.0, 5.0]), 0), (2, 0.7)])
def _(g, out, k, mu, loc=0):
    return unbroadcast(g * _inside((k - loc) / mu - 1, out, True), mu)


@adjoint(st.poisson.pmf, "mu", at=[(_K, 1.3), (_K, np.array([0.4, 1.0, 5.0]), 0), (2, 0.7)])
def _(g, out, k, mu, loc=0):
    return unbroadcast(g * _inside((k - loc) / mu - 1, out, False), mu)


@adjoint(st.poisson.cdf, "mu", at=[(_K, 1.3), (2.5, 0.7)])
def _(g, out, k, mu, loc=0):
    return unbroadcast(-g * st.poisson.pmf(np.floor(k), mu, loc), mu)


@adjoint(st.poisson.sf, "mu", at=[(_K, 1.3), (2.5, 0.7)])
def _(g, out, k, mu, loc=0):
    return unbroadcast(g * st.poisson.pmf(np.floor(k), mu, loc), mu)


@adjoint(st.binom.logpmf, "p", at=[(_K, 5, 0.3), (_K, 5, np.array([0.1, 0.4, 0.8]))])
def _(g, out, k, n, p, loc=0):
    return unbroadcast(g * _inside((k - loc) / p - (n - k + loc) / (1 - p), out, True), p)


@adjoint(st.binom.pmf, "p", at=[(_K, 5, 0.3), (_K, 5, np.array([0.1, 0.4, 0.8]))])
def _(g, out, k, n, p, loc=0):
    return unbroadcast(g * _inside((k - loc) / p - (n - k + loc) / (1 - p), out, False), p)


@adjoint(st.bernoulli.logpmf, "p", at=[(np.array([0.0, 1.0]), 0.3)])
def _(g, out, k, p, loc=0):
    return unbroadcast(g * _inside((k - loc) / p - (1 - k + loc) / (1 - p), out, True), p)


@adjoint(st.bernoulli.pmf, "p", at=[(np.array([0.0, 1.0]), 0.3)])
def _(g, out, k, p, loc=0):
    return unbroadcast(g * _inside((k - loc) / p - (1 - k + loc) / (1 - p), out, False), p)


# -------------------------------------------------------------------------------------- multivariate families

def _simplex(x, alpha):
    """All coordinates: SciPy lets the last be left out."""
    x = np.asarray(x)
    if np.shape(x)[0] == np.shape(alpha)[0]:
        return x
    return np.concatenate((x, np.expand_dims(1 - np.sum(x, axis=0), 0)), axis=0)


def _dirichlet(weight, x, alpha):
    whole, alpha = _simplex(x, alpha), np.asarray(alpha)
    column = np.reshape(alpha, (-1,) + (1,) * (np.ndim(whole) - 1))
    slope = weight * (column - 1) / whole
    if np.shape(whole)[0] != np.shape(x)[0]:
        slope = slope[:-1] - slope[-1]
    on_alpha = weight * (np.log(whole) + sp.psi(np.sum(alpha)) - sp.psi(column))
    return slope, np.sum(on_alpha, axis=tuple(range(1, np.ndim(whole)))) if np.ndim(whole) > 1 else on_alpha


_ALPHA = np.array([0.8, 1.7, 2.4])
_SIMPLEX = [(np.array([0.2, 0.3]), _ALPHA), (np.array([[0.2, 0.5], [0.3, 0.1]]), _ALPHA)]


@adjoint(st.dirichlet.logpdf, "x", "alpha", at=_SIMPLEX)
def _(g, out, x, alpha):
    return _dirichlet(g, x, alpha)


@adjoint(st.dirichlet.pdf, "x", "alpha", at=_SIMPLEX)
def _(g, out, x, alpha):
    return _dirichlet(g * out, x, alpha)


def _dimension(mean, cov):
    if mean is not None:
        return np.size(mean)
    return np.shape(cov)[0] if cov is not None and np.ndim(cov) == 2 else 1


def _covariance(cov, dimension):
    if cov is None:
        return np.eye(dimension)
    if np.ndim(cov) == 2:
        low = np.tril(cov, -1)                                              # SciPy reads this triangle
        return low + np.transpose(low) + np.eye(dimension) * cov
    return np.eye(dimension) * cov


def _covariance_part(whole, cov):
    """From the cotangent of the whole matrix to that of `cov`, which may be a number or a diagonal."""
    if cov is None:
        return None
    if np.ndim(cov) == 2:
        return fold_triangle(whole, True)
    diagonal = np.diagonal(whole)
    return np.reshape(np.sum(diagonal) if np.ndim(cov) == 0 else diagonal, np.shape(cov))


def _multivariate_normal(weight, x, mean, cov):
    dimension = _dimension(mean, cov)
    centre = np.zeros(dimension) if mean is None else np.reshape(mean, (dimension,))
    points = np.reshape(x, (-1, dimension))
    precision = np.linalg.inv(_covariance(cov, dimension))
    pulled = np.dot(points - centre, precision)
    weights = np.reshape(weight, (-1, 1))
    on_x = -weights * pulled
    on_mean = None if mean is None else np.reshape(-np.sum(on_x, axis=0), np.shape(mean))
    whole = 0.5 * (np.dot(np.transpose(weights * pulled), pulled) - np.sum(weights) * precision)
    return np.reshape(on_x, np.shape(x)), on_mean, _covariance_part(whole, cov)


_C = np.array([[2.0, 0.3], [0.3, 1.1]])
_P = np.array([[0.4, -0.3], [1.0, 0.2], [-0.5, 0.9]])
_NORMAL = [(_P, np.array([0.1, 0.2]), _C), (_P[0], np.array([0.1, 0.2]), _C), (_P, None, _C),
           (_P, np.array([0.1, 0.2]), 0.7),
           (_P, np.array([0.1, 0.2]), np.array([0.7, 1.3])), (0.4, 0.1, 2.0), (_P[:, 0], 0.3, 1.5)]


@adjoint(st.multivariate_normal.logpdf, "x", "mean", "cov", at=_NORMAL)
def _(g, out, x, mean=None, cov=1, allow_singular=False):
    return _multivariate_normal(g, x, mean, cov)


@adjoint(st.multivariate_normal.pdf, "x", "mean", "cov", at=_NORMAL)
def _(g, out, x, mean=None, cov=1, allow_singular=False):
    return _multivariate_normal(g * out, x, mean, cov)


@adjoint(st.multivariate_normal.entropy, "cov", at=[(None, _C), (np.zeros(2), 0.7)])
def _(g, out, mean=None, cov=1):
    return _covariance_part(0.5 * g * np.linalg.inv(_covariance(cov, _dimension(mean, cov))), cov)


@adjoint(st.multivariate_normal.entropy, "mean", at=[(np.zeros(2), 0.7)])
def _(g, out, mean=None, cov=1):
    return 0.0 * np.asarray(mean)
