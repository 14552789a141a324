"""Derivatives of functions of polynomials given by their coefficients, highest power first."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import numpy as np

from transad.rules.algebra import unbroadcast
from transad.rules.linear import refuse
from transad.rules.registry import adjoint

V = np.array([0.7, -1.3, 2.1])
M = np.array([[0.5, -1.2, 2.0], [1.7, 0.3, -0.8]])
X = np.array([-1.0, -0.2, 0.4, 1.1, 2.0])
Y = np.array([0.3, -0.5, 0.2, 0.9, 4.1])


@adjoint(np.polyval, "p", "x", at=[(V, 0.3), (V, M), ([2.0, 0.5], 0.0)])
def _(g, out, p, x):
    value, slope, monomials, power = 0.0, 0.0, [], 1.0
    for k in range(len(p)):
        slope = slope * x + value
        value = value * x + p[k]
        monomials.append(np.sum(g * power))
        power = power * x
    monomials.reverse()
    return np.array(monomials), unbroadcast(g * slope, x)


# Shorter coefficients stand at the end of the longer ones.

@adjoint(np.polyadd, "a1", "a2", at=[(V, V[:2]), (V[:1], V)])
def _(g, out, a1, a2):
    return g[len(g) - len(a1):], g[len(g) - len(a2):]


@adjoint(np.polysub, "a1", "a2", at=[(V, V[:2]), (V[:1], V)])
def _(g, out, a1, a2):
    return g[len(g) - len(a1):], -g[len(g) - len(a2):]


def factors(out, a1, a2):
    """Both factors; leading zeros, which the product drops, are refused."""
    if len(out) != len(a1) + len(a2) - 1:
        refuse("np.polymul", "factors with leading zeros", "use np.convolve")
    return np.asarray(a1), np.asarray(a2)


@adjoint(np.polymul, "a1", "a2", at=[(V, V[:2]), (V[:1], V), (V * 1j, V)])
def _(g, out, a1, a2):
    a1, a2 = factors(out, a1, a2)
    return (np.stack([np.sum(g[i:i + len(a2)] * a2) for i in range(len(a1))]),
            np.stack([np.sum(g[i:i + len(a1)] * a1) for i in range(len(a2))]))


@adjoint(np.polyder, "p", at=[(V,), (V, 2), (V[:1],)])
def _(g, out, p, m=1):
    order = len(p)
    scale = np.ones(order)
    for k in range(m):
        scale = scale * (np.arange(order - 1, -1, -1) - k)
    kept = max(order - m, 0)
    return np.concatenate([g[:kept] * scale[:kept], np.zeros(order - kept)])


@adjoint(np.polyint, "p", at=[(V,), (V, 2), (V, 1, 0.5)])
def _(g, out, p, m=1, k=None):
    order = len(p)
    scale = np.ones(order)
    for step in range(1, m + 1):
        scale = scale / (np.arange(order - 1, -1, -1) + step)
    return g[:order] * scale


@adjoint(np.polyint, "k")
def _(g, out, p, m=1, k=None):
    if m != 1:
        refuse("np.polyint", "constants of repeated integration", "integrate once at a time")
    return np.reshape(g[-1:], np.shape(k))


# A root r of p moves by -r**(n - k) / p'(r) for each unit of the coefficient of the power n - k.

@adjoint(np.roots, "p", singular=True, at=[
    (V,), (np.array([1.0, 0.5, 2.0, -1.0]),), (np.array([2.0, -1.0, 0.0]),),
    (np.array([1.0 + 1j, 2.0, -0.5]),)])
def _(g, out, p):
    order = len(p) - 1
    if len(out) != order or order == 0:
        refuse("np.roots", "a leading coefficient of 0", "strip it")
    slopes = np.polyval(np.polyder(p), out)
    powers = np.arange(order, -1, -1)
    return np.sum(np.expand_dims(-g / slopes, 1) * np.power(np.expand_dims(out, 1), powers), axis=0)


@adjoint(np.poly, "seq_of_zeros", at=[(V,), (V[:1],)])
def _(g, out, seq_of_zeros):
    if np.ndim(seq_of_zeros) != 1:
        refuse("np.poly", "a matrix", "pass np.linalg.eigvals of it")
    zeros = np.asarray(seq_of_zeros)
    others = [np.concatenate([zeros[:i], zeros[i + 1:]]) for i in range(len(zeros))]
    return np.stack([-np.sum(g[1:] * product_of_factors(rest)) for rest in others])


def product_of_factors(zeros):
    """The coefficients of the monic polynomial with the given zeros."""
    coefficients = np.ones(1)
    for k in range(len(zeros)):
        gap = np.zeros(1)
        coefficients = np.concatenate([coefficients, gap]) - zeros[k] * np.concatenate([gap, coefficients])
    return coefficients


# Least squares: A = w V(x), b = w y, and c minimises |A c - b|. With s = (A'A)**-1 g and z = A s, the
# cotangent of b is z, and that of A is (b - A c) s' - z c'.

def fitted_parts(g, out, x, y, deg, w):
    """The cotangents of A and b, with A and b themselves, each with a last axis for several fits."""
    columns = np.reshape(y, (len(x), -1))
    weights = np.reshape(np.ones(len(x)) if w is None else w, (-1, 1))
    a = np.vander(x, deg + 1) * weights
    b = columns * weights
    c, seeds = np.reshape(out, (deg + 1, -1)), np.reshape(g, (deg + 1, -1))
    solved = np.linalg.solve(np.transpose(a) @ a, seeds)
    z = a @ solved
    return (b - a @ c) @ np.transpose(solved) - z @ np.transpose(c), z, a, weights


def check_fit(rcond, full, cov):
    """Refuse what changes the problem or the kind of result."""
    if rcond is not None or full or cov:
        refuse("np.polyfit", "rcond, full or cov",
               "call it without them, or np.linalg.lstsq on np.vander(x, deg + 1)")


FITS = [(X, Y, 2), (X, Y, 1, None, False, X * X + 0.5), (X, np.stack([Y, np.sin(X)], axis=1), 2)]


@adjoint(np.polyfit, "x", at=FITS)
def _(g, out, x, y, deg, rcond=None, full=False, w=None, cov=False):
    check_fit(rcond, full, cov)
    matrix, _, _, weights = fitted_parts(g, out, x, y, deg, w)
    powers = np.arange(deg, -1, -1)
    slopes = powers * np.power(np.expand_dims(x, 1), np.maximum(powers - 1, 0))
    return np.sum(matrix * weights * slopes, axis=1)


@adjoint(np.polyfit, "y")
def _(g, out, x, y, deg, rcond=None, full=False, w=None, cov=False):
    check_fit(rcond, full, cov)
    _, z, _, weights = fitted_parts(g, out, x, y, deg, w)
    return np.reshape(z * weights, np.shape(y))


@adjoint(np.polyfit, "w")
def _(g, out, x, y, deg, rcond=None, full=False, w=None, cov=False):
    check_fit(rcond, full, cov)
    matrix, z, _, _ = fitted_parts(g, out, x, y, deg, w)
    columns = np.reshape(y, (len(x), -1))
    return np.sum(matrix * np.vander(x, deg + 1), axis=1) + np.sum(z * columns, axis=1)
