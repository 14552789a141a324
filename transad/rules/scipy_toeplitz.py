"""Rules of Toeplitz systems, `scipy.linalg.solve_toeplitz`: the adjoint system is a Toeplitz system too."""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from transad.rules.algebra import conj
from transad.rules.registry import adjoint

_C, _R = np.array([5.0, -1.0, 0.5, 0.3]), np.array([7.0, 0.4, -0.7, 1.1])
_B = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1], [0.2, -0.4]])


def _solved(g: Any, c_or_cr: Any) -> tuple[Any, Any, Any]:
    """First column and row, and the solution of the adjoint (transposed) system."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple | list) else (c_or_cr, conj(c_or_cr))
    c, r = np.ravel(c), np.ravel(r)
    return c, r, sl.solve_toeplitz((np.concatenate((c[:1], r[1:])), c), g)


def _diagonals(x: Any, y: Any) -> Any:
    """The sums over x[i + k] y[i] of the columns, for k = 0, 1, ..."""
    n = np.shape(x)[0]
    first, second = np.reshape(x, (n, -1)), np.reshape(y, (n, -1))
    return np.stack([np.sum(first[k:] * second[:n - k]) for k in range(n)])


@adjoint(sl.solve_toeplitz, "c_or_cr", at=[(_C, _B[:, 0]), (_C, _B), ((_C, _R), _B[:, 0]), ((_C, _R), _B),
                                           (_C + 0.3j * _R, _B[:, 0])])
def _(g, out, c_or_cr, b, check_finite=True):
    _, _, rhs = _solved(g, c_or_cr)
    low, high = -_diagonals(rhs, out), -_diagonals(out, rhs)
    beyond = np.where(np.arange(np.shape(low)[0]) > 0, 1.0, 0.0)
    if isinstance(c_or_cr, tuple | list):
        return [np.reshape(low, np.shape(c_or_cr[0])), np.reshape(high * beyond, np.shape(c_or_cr[1]))]
    return np.reshape(low + conj(high) * beyond, np.shape(c_or_cr))


@adjoint(sl.solve_toeplitz, "b")
def _(g, out, c_or_cr, b, check_finite=True):
    return _solved(g, c_or_cr)[2]
