"""Rules of `scipy.stats`: discrete families, the Dirichlet and the multivariate normal distribution."""
from __future__ import annotations

import numpy as np
import scipy.special as sp
import scipy.stats as st

from transad.rules.algebra import unbroadcast
from transad.rules.decompositions import fold_triangle
from transad.rules.registry import adjoint

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


@adjoint(st.poisson.logcdf, "mu", at=[(_K, 1.3), (2.5, 0.7)])
def _(g, out, k, mu, loc=0):
    ratio = np.exp(st.poisson.logpmf(np.floor(k), mu, loc) - np.where(np.isneginf(out), 0.0, out))
    return unbroadcast(np.where(np.isneginf(out), 0.0, -g * ratio), mu)


@adjoint(st.poisson.logsf, "mu", at=[(_K, 1.3), (2.5, 0.7)])
def _(g, out, k, mu, loc=0):
    ratio = np.exp(st.poisson.logpmf(np.floor(k), mu, loc) - np.where(np.isneginf(out), 0.0, out))
    return unbroadcast(np.where(np.isneginf(out), 0.0, g * ratio), mu)


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
