"""Piecewise polynomials of `scipy.interpolate`: CubicSpline, PchipInterpolator, Akima1DInterpolator, PPoly.

Their constructors are Python text and are differentiated as such (data and knots); what they compute in compiled code
is written out here.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as ip

from transad.rules.registry import composite
from transad.verbs import stop_gradient


def _located(knots: Any, x: Any) -> Any:
    """The number of the piece that each x lies in; the outer ones reach to infinity."""
    places = stop_gradient(knots)
    if places[0] < places[-1]:
        return np.clip(np.searchsorted(places, x, side="right") - 1, 0, len(places) - 2)
    return np.clip(np.searchsorted(-places, -x, side="right") - 1, 0, len(places) - 2)


def _horner(coefficients: Any, piece: Any, offset: Any, order: int) -> Any:
    """The derivative of that order (negative: antiderivative) of the pieces' polynomials."""
    degree = len(coefficients) - 1
    total = 0.0 * coefficients[0][piece] * offset
    for k in range(degree + 1):
        power = degree - k
        if power - order < 0:
            break
        factor = 1.0
        for j in range(order):
            factor *= power - j
        for j in range(-order):
            factor /= power + 1 + j
        total = total * offset + factor * coefficients[k][piece]
    for _ in range(-order):
        total = total * offset
    return total


def _extrapolation(spline: Any, extrapolate: Any) -> Any:
    return spline.extrapolate if extrapolate is None else extrapolate


@composite(ip.PPoly.__call__)
def _(self, x, nu=0, extrapolate=None):
    extrapolate = _extrapolation(self, extrapolate)
    x = np.asarray(x)
    shape = np.shape(x)
    points = np.ravel(x) * 1.0
    knots = self.x
    if extrapolate == "periodic":
        period = knots[-1] - knots[0]
        points = points - period * np.floor(stop_gradient((points - knots[0]) / period))
    piece = _located(knots, stop_gradient(points))
    offset = points - knots[piece]
    trailing = np.shape(self.c)[2:]
    values = _horner(self.c, piece, np.reshape(offset, np.shape(offset) + (1,) * len(trailing)), nu)
    if not extrapolate:
        plain = stop_gradient(points)
        inside = (plain >= np.min(knots)) & (plain <= np.max(knots))
        values = np.where(np.reshape(inside, np.shape(inside) + (1,) * len(trailing)), values, np.nan)
    values = np.reshape(values, shape + trailing)
    if self.axis != 0:
        order = list(range(np.ndim(values)))
        order = order[len(shape):len(shape) + self.axis] + order[:len(shape)] + order[len(shape) + self.axis:]
        values = np.transpose(values, order)
    return values


@composite(ip.PPoly.derivative)
def _(self, nu=1):
    if nu < 0:
        return self.antiderivative(-nu)
    degree = len(self.c) - 1
    rows = []
    for k in range(max(degree + 1 - nu, 0)):
        factor = 1.0
        for j in range(nu):
            factor *= degree - k - j
        rows.append(factor * self.c[k])
    coefficients = np.stack(rows) if rows else np.zeros((1,) + np.shape(self.c)[1:])
    return self.construct_fast(coefficients, self.x, self.extrapolate, self.axis)


@composite(ip.PPoly.antiderivative)
def _(self, nu=1):
    if nu <= 0:
        return self.derivative(-nu)
    coefficients = self.c
    trailing = (1,) * (np.ndim(coefficients) - 2)
    widths = np.reshape(np.diff(self.x), (-1,) + trailing)
    for _ in range(nu):
        degree = len(coefficients) - 1
        rows = [coefficients[k] / (degree - k + 1.0) for k in range(degree + 1)]
        gained = 0.0 * rows[0]
        for row in rows:
            gained = (gained + row) * widths
        start = np.concatenate([np.zeros_like(gained[:1]), np.cumsum(gained, axis=0)[:-1]])
        coefficients = np.stack([*rows, start])
    extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
    return self.construct_fast(coefficients, self.x, extrapolate, self.axis)


@composite(ip.PPoly.integrate)
def _(self, a, b, extrapolate=None):
    extrapolate = _extrapolation(self, extrapolate)
    primitive = self.antiderivative()
    if extrapolate != "periodic":
        return primitive(b, extrapolate=extrapolate) - primitive(a, extrapolate=extrapolate)
    first, last = self.x[0], self.x[-1]
    period = last - first
    whole = primitive(last, extrapolate=True)
    turns_b, turns_a = np.floor(stop_gradient((b - first) / period)), np.floor(stop_gradient((a - first) / period))
    return ((turns_b - turns_a) * whole + primitive(b - turns_b * period, extrapolate=True)
            - primitive(a - turns_a * period, extrapolate=True))
