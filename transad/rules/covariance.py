"""Rules of `np.cov` and `np.corrcoef`.

With the mean taken away the rows of the centred data sum to zero, weighted; so does the cotangent of the
data, and the dependence of the mean on the data needs no term of its own.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules.algebra import conj, hermitian
from transad.rules.registry import adjoint
from transad.rules.through import through

_X = np.array([[1.0, -2.0, 0.4, 1.2], [0.5, 1.5, -0.3, 2.0]])
_Y = np.array([[0.3, 1.0, -1.0, 0.2]])


def _as_rows(m: Any, rowvar: bool) -> Any:
    rows = np.atleast_2d(m)
    return np.transpose(rows) if not rowvar and np.ndim(m) > 1 else rows


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    rows = _as_rows(m, rowvar)
    return rows if y is None else np.concatenate((rows, _as_rows(y, rowvar)), axis=0)


def _covariance_parts(x: Any, bias: bool, ddof: Any, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """The centred data and the weights over the number of degrees of freedom."""
    ddof = (0 if bias else 1) if ddof is None else int(ddof)
    weights = np.ones(np.shape(x)[1])
    if fweights is not None:
        weights = weights * np.asarray(fweights, dtype=float)
    if aweights is not None:
        weights = weights * np.asarray(aweights)
    total = np.sum(weights)
    if ddof == 0 or aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * np.sum(weights * np.asarray(aweights)) / total
    centred = x - np.expand_dims(np.sum(x * weights, axis=1) / total, 1)
    return centred, weights / factor


def _data_cotangent(g: Any, centred: Any, weights: Any) -> Any:
    """Of the rows in `(centred * weights) @ centred^H`."""
    return np.dot(g + hermitian(g), conj(centred)) * weights


def _part(rows: Any, m: Any, y: Any, rowvar: bool, second: bool) -> Any:
    """The rows of one argument, in its shape."""
    count = np.shape(_as_rows(m, rowvar))[0]
    like, rows = (y, rows[count:]) if second else (m, rows[:count])
    if not rowvar and np.ndim(like) > 1:
        rows = np.transpose(rows)
    return np.reshape(rows, np.shape(like))


def _cov(g: Any, m: Any, y: Any, rowvar: bool, bias: bool, ddof: Any, fweights: Any, aweights: Any,
         second: bool) -> Any:
    x = _variables(m, y, rowvar)
    centred, weights = _covariance_parts(x, bias, ddof, fweights, aweights)
    square = np.reshape(g, (np.shape(x)[0], np.shape(x)[0]))
    return _part(_data_cotangent(square, centred, weights), m, y, rowvar, second)


_COV_POINTS = [(_X,), (_X, _Y), (_X[0],), (np.transpose(_X), None, False), (_X, None, True, True),
               (_X,), (_X,), (_X,), (_X + 1j * _X[::-1] ** 2,), (_X[0], _X[1])]
_COV_KEYWORDS = [{}, {}, {}, {}, {}, {"ddof": 2}, {"fweights": np.array([1, 2, 1, 3])},
                 {"aweights": np.array([0.5, 1.0, 2.0, 0.3])}]


@adjoint(np.cov, "m", at=_COV_POINTS, keywords=_COV_KEYWORDS)
def _(g, out, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    return _cov(g, m, y, rowvar, bias, ddof, fweights, aweights, False)


@adjoint(np.cov, "y")
def _(g, out, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    return _cov(g, m, y, rowvar, bias, ddof, fweights, aweights, True)


@adjoint(np.cov, "aweights")
def _(g, out, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    x = _variables(m, y, rowvar)

    def weighted(w: Any) -> Any:
        centred, weights = _covariance_parts(x, bias, ddof, fweights, w)
        return np.dot(centred * weights, conj(np.transpose(centred)))
    return through(weighted, np.reshape(g, (np.shape(x)[0], np.shape(x)[0])), aweights)[0]


def _corrcoef(g: Any, out: Any, x: Any, y: Any, rowvar: bool, second: bool) -> Any:
    rows = _variables(x, y, rowvar)
    count = np.shape(rows)[0]
    centred, weights = _covariance_parts(rows, False, None, None, None)
    variance = np.sum(np.real(centred * conj(centred)) * weights, axis=1)
    spread = np.sqrt(variance)
    g, r = np.reshape(g, (count, count)), np.reshape(out, (count, count))
    own = -0.5 * (np.sum(np.real(g * r), axis=0) + np.sum(np.real(g * r), axis=1)) / variance
    total = g / np.expand_dims(spread, 1) / spread + np.eye(count) * own
    return _part(_data_cotangent(total, centred, weights), x, y, rowvar, second)


@adjoint(np.corrcoef, "x", at=[(_X,), (_X, _Y), (np.transpose(_X)[:, :2], None, False),
                               (_X + 1j * _X[::-1] ** 2,), (_X[0], _X[1])])
def _(g, out, x, y=None, rowvar=True, *, dtype=None):
    return _corrcoef(g, out, x, y, rowvar, False)


@adjoint(np.corrcoef, "y")
def _(g, out, x, y=None, rowvar=True, *, dtype=None):
    return _corrcoef(g, out, x, y, rowvar, True)
