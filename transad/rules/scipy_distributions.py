"""Distributions of `scipy.stats` in general: frozen ones, and families without a rule of their own.

A family that SciPy writes in Python (`_logpdf`, `_cdf`, ...) is differentiated through that text, standardised as
SciPy does it.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st

from transad.errors import Unsupported
from transad.rules.registry import composite
from transad.runtime.plainly import plainly

FROZEN = type(st.norm(0.0, 1.0))
FROZEN_DISCRETE = type(st.poisson(1.0))
_VALUES = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def parameters(family: Any, args: tuple, given: dict) -> tuple[list[Any], Any, Any]:
    """(shapes, loc, scale) of a call."""
    names = [name.strip() for name in family.shapes.split(",")] if family.shapes else []
    names += ["loc", "scale"]
    values = dict(zip(names, args, strict=False))
    values.update(given)
    return [values[name] for name in names[:-2]], values.get("loc", 0.0), values.get("scale", 1.0)


def density(family: Any, x: Any, args: tuple, given: dict) -> Any:
    """The logarithm of the density; minus infinity outside the support."""
    shapes, loc, scale = parameters(family, args, given)
    z = (np.asarray(x) - loc) / scale
    inside, middle = _support(family, z, shapes)
    return np.where(inside, family._logpdf(np.where(inside, z, middle), *shapes) - np.log(scale), -np.inf)


def _support(family: Any, z: Any, shapes: list) -> tuple[Any, Any]:
    """Where z lies in the support, and a point within it to stand in for the others (plain)."""
    return plainly(_support_of, family, z, *shapes)


def _support_of(family: Any, z: Any, *shapes: Any) -> tuple[Any, Any]:
    low, high = family._get_support(*shapes)
    inside = (z >= low) & (z <= high)
    middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (np.maximum(low, -1e300) + np.minimum(high, 1e300)),
                      np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.5)))
    return inside, middle


def below(family: Any, x: Any, args: tuple, given: dict, name: str, low_value: float, high_value: float) -> Any:
    """`_cdf` or `_sf` and their logarithms; constant outside the support."""
    shapes, loc, scale = parameters(family, args, given)
    z = (np.asarray(x) - loc) / scale
    inside, middle = _support(family, z, shapes)
    value = getattr(family, name)(np.where(inside, z, middle), *shapes)
    return np.where(inside, value, np.where(z > middle, high_value, low_value))


@composite(st.rv_continuous.logpdf)
def _(self, x, *args, **kwds):
    return density(self, x, args, kwds)[()]


@composite(st.rv_continuous.pdf)
def _(self, x, *args, **kwds):
    return np.exp(density(self, x, args, kwds))[()]


@composite(st.rv_continuous.cdf)
def _(self, x, *args, **kwds):
    return below(self, x, args, kwds, "_cdf", 0.0, 1.0)[()]


@composite(st.rv_continuous.sf)
def _(self, x, *args, **kwds):
    return below(self, x, args, kwds, "_sf", 1.0, 0.0)[()]


@composite(st.rv_continuous.logcdf)
def _(self, x, *args, **kwds):
    return below(self, x, args, kwds, "_logcdf", -np.inf, 0.0)[()]


@composite(st.rv_continuous.logsf)
def _(self, x, *args, **kwds):
    return below(self, x, args, kwds, "_logsf", 0.0, -np.inf)[()]


@composite(st.rv_continuous.ppf)
def _(self, q, *args, **kwds):
    shapes, loc, scale = parameters(self, args, kwds)
    return (self._ppf(np.asarray(q), *shapes) * scale + loc)[()]


@composite(st.rv_continuous.isf)
def _(self, q, *args, **kwds):
    shapes, loc, scale = parameters(self, args, kwds)
    return (self._isf(np.asarray(q), *shapes) * scale + loc)[()]


@composite(st.rv_continuous.entropy)
def _(self, *args, **kwds):
    shapes, _loc, scale = parameters(self, args, kwds)
    return self._entropy(*shapes) + np.log(scale)


def _moments(family: Any, args: tuple, given: dict) -> tuple[Any, ...]:
    """Mean, variance, skewness and excess kurtosis, as far as SciPy has formulas for them."""
    shapes, loc, scale = parameters(family, args, given)
    mean, variance, skewness, excess = family._stats(*shapes)
    return (None if mean is None else loc + scale * mean, None if variance is None else scale * scale * variance,
            skewness, excess)


def _known(value: Any, family: Any) -> Any:
    if value is None:
        raise Unsupported(f"SciPy has no formula for this moment of {family.name}",
                          instead="integrate it with scipy.integrate.quad")
    return np.asarray(value)[()]


@composite(st.rv_continuous.mean)
def _(self, *args, **kwds):
    return _known(_moments(self, args, kwds)[0], self)


@composite(st.rv_continuous.var)
def _(self, *args, **kwds):
    return _known(_moments(self, args, kwds)[1], self)


@composite(st.rv_continuous.std)
def _(self, *args, **kwds):
    return np.sqrt(_known(_moments(self, args, kwds)[1], self))


@composite(st.rv_continuous.stats)
def _(self, *args, moments="mv", **kwds):
    found = _moments(self, args, kwds)
    chosen = tuple([_known(value, self) for letter, value in zip("mvsk", found, strict=True) if letter in moments])
    return chosen[0] if len(chosen) == 1 else chosen


@composite(st.rv_discrete.logpmf)
def _(self, k, *args, **kwds):
    shapes, loc, _ = parameters(self, args, kwds)
    z = np.asarray(k) - loc
    inside, middle = _support(self, z, shapes)
    inside = inside & (np.floor(z) == z)
    return np.where(inside, self._logpmf(np.where(inside, z, np.floor(middle)), *shapes), -np.inf)[()]


@composite(st.rv_discrete.pmf)
def _(self, k, *args, **kwds):
    return np.exp(self.logpmf(k, *args, **kwds))


# Frozen distributions: the parameters are kept, each method is that of the family

@composite(FROZEN.__init__, FROZEN_DISCRETE.__init__)
def _(self, dist, *args, **kwds):
    self.args, self.kwds = args, kwds
    self.dist = dist


def _method_of(frozen: Any, name: str) -> Any:
    """The method of SciPy's own object of the family: rules are kept by it."""
    family = getattr(st, frozen.dist.name, None)
    return getattr(family if type(family) is type(frozen.dist) else frozen.dist, name)


def _frozen(name: str) -> None:
    originals = {getattr(kind, name) for kind in (FROZEN, FROZEN_DISCRETE) if hasattr(kind, name)}

    @composite(*originals)
    def _(self, x):
        return _method_of(self, name)(x, *self.args, **self.kwds)


for _name in (*_VALUES, "pmf", "logpmf"):
    _frozen(_name)
