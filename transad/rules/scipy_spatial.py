"""Distances of `scipy.spatial.distance`: cdist and pdist, Euclidean, squared Euclidean, city block and Minkowski.

Where two points coincide the distance has a kink; its derivative there is 0.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.distance as sd

from transad.errors import Unsupported
from transad.rules.registry import adjoint

_A, _B = np.array([[0.3, 1.2], [-0.7, 0.4], [1.1, -0.2]]), np.array([[0.9, 0.1], [-0.3, -1.4]])
_METRICS = [{}, {"metric": "sqeuclidean"}, {"metric": "cityblock"}, {"metric": "minkowski", "p": 3.0}]


def _slopes(g: Any, out: Any, difference: Any, metric: Any, p: Any = 2.0, **others: Any) -> Any:
    """Cotangents of the differences of points, whose distances are `out`."""
    if any(v is not None for v in others.values()):
        raise Unsupported(f"{sorted(others)[0]}= of scipy.spatial.distance has no derivative rule",
                          instead="the formula in NumPy")
    if metric == "minkowski":
        zero = out == 0
        ratio = np.abs(difference) / np.expand_dims(np.where(zero, 1.0, out), -1)
        return np.expand_dims(np.where(zero, 0.0, g), -1) * np.sign(difference) * ratio ** (p - 1.0)
    if metric == "euclidean":
        zero = out == 0
        return np.expand_dims(np.where(zero, 0.0, g / np.where(zero, 1.0, out)), -1) * difference
    if metric == "sqeuclidean":
        return 2.0 * np.expand_dims(g, -1) * difference
    if metric in ("cityblock", "manhattan"):
        return np.expand_dims(g, -1) * np.sign(difference)
    raise Unsupported(f"scipy.spatial.distance with metric={metric!r} has no derivative rule",
                      instead="euclidean, sqeuclidean, cityblock, minkowski without weights, or the formula in NumPy")


@adjoint(sd.cdist, "XA", "XB", at=[(_A, _B)] * 4, keywords=_METRICS)
def _(g, out, XA, XB, metric="euclidean", *, buffer=None, **kwargs):
    difference = np.expand_dims(np.asarray(XA), 1) - np.expand_dims(np.asarray(XB), 0)
    slopes = _slopes(g, out, difference, metric, **kwargs)
    return np.sum(slopes, axis=1), -np.sum(slopes, axis=0)


@adjoint(sd.pdist, "X", at=[(_A,)] * 4, keywords=_METRICS)
def _(g, out, X, metric="euclidean", *, buffer=None, **kwargs):
    X = np.asarray(X)
    first, second = np.triu_indices(len(X), 1)
    slopes = _slopes(g, out, X[first] - X[second], metric, **kwargs)
    total = np.zeros(np.shape(X))
    np.add.at(total, first, slopes)
    np.add.at(total, second, -slopes)
    return total


@adjoint(sd.squareform, "X", at=[(np.array([0.3, 0.7, 1.1]),), (np.array([[0, 1.5, 2], [1.5, 0, 3], [2, 3, 0]]),)])
def _(g, out, X, force="no", checks=True):
    if np.ndim(X) == 1:
        first, second = np.triu_indices(np.shape(g)[0], 1)
        return g[first, second] + g[second, first]
    first, second = np.triu_indices(np.shape(X)[0], 1)
    total = np.zeros(np.shape(X))
    total[first, second] = g
    return total
