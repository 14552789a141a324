"""Rules of `scipy.linalg`: systems with structure, factors kept for later, matrix functions, matrices built
from parts.

Stacks of matrices are refused by SciPy here or handled as its functions do. Decompositions that NumPy has
too share its rules.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from transad.errors import Unsupported
from transad.rules.algebra import conj, hermitian, transposed
from transad.rules.decompositions import (
    cholesky_cotangent,
    fold_triangle,
    svd_cotangent,
)
from transad.rules.linalg import cofactors, pinv_cotangent
from transad.rules.norms import norm_cotangent
from transad.rules.registry import adjoint

_A3 = np.array([[3.0, 0.5, -1.0], [0.2, 2.0, 0.4], [1.0, -0.3, 2.5]])
_SPD = np.array([[4.0, 0.5, -1.0], [0.5, 3.0, 0.4], [-1.0, 0.4, 2.5]])
_S3 = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
_B3 = np.array([1.0, -2.0, 0.5])
_B32 = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1]])
_Z3 = _A3 + 1j * _A3[::-1]
_L3, _U3 = np.tril(_A3), np.triu(_A3)


def _times(rhs: Any, x: Any) -> Any:
    """`rhs x^T`, for vectors or for matrices of columns."""
    return np.outer(rhs, x) if np.ndim(x) == 1 else np.dot(rhs, np.transpose(x))


# -------------------------------------------------------------------------------------------- general systems

_SYMMETRIC = ("sym", "symmetric", "her", "hermitian", "pos", "positive definite")


def _read_part(total: Any, structure: Any, lower: bool) -> Any:
    """What of a matrix's cotangent belongs to the entries that a solver of the given structure reads."""
    if structure in _SYMMETRIC:
        if np.iscomplexobj(total) and structure in ("sym", "symmetric"):
            both = total + np.transpose(total)
            return (np.tril(both) if lower else np.triu(both)) - np.eye(np.shape(total)[0]) * total
        return conj(fold_triangle(conj(total), lower))
    if structure == "tridiagonal":
        return np.triu(np.tril(total, 1), -1)
    if structure == "upper triangular":
        return np.triu(total)
    if structure == "lower triangular":
        return np.tril(total)
    if structure == "diagonal":
        return np.eye(np.shape(total)[0]) * total
    return total


@adjoint(sl.solve, "a", "b", at=[(_A3, _B3), (_A3, _B32), (_SPD, _B3), (_SPD, _B32), (_A3, _B3), (_Z3, _B3),
                                 (_U3, _B3),
                             (_Z3, _B3), (_A3, _B32), (_U3, _B3), (_SPD + 0.1j * (_U3 - _U3.T), _B3)],
         keywords=[{}, {}, {"assume_a": "pos"}, {"assume_a": "sym", "lower": True}, {"transposed": True}, {},
                   {},
                   {"assume_a": "sym"}, {"assume_a": "tridiagonal"}, {"assume_a": "upper triangular"},
                   {"assume_a": "her"}])
def _(g, out, a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
      transposed=False):
    if np.ndim(a) > 2:
        raise Unsupported("scipy.linalg.solve of a stack of matrices has no derivative rule",
                          instead="np.linalg.solve")
    rhs = sl.solve(a if transposed else np.transpose(a), g, lower=lower if transposed else not lower,
                   assume_a=None if assume_a is None else _turned(assume_a, transposed))
    total = -_times(out, rhs) if transposed else -_times(rhs, out)
    return _read_part(total, assume_a, lower), rhs


def _turned(structure: str, transposed: bool) -> str:
    """The structure of the matrix of the adjoint system."""
    if structure in ("upper triangular", "lower triangular") and not transposed:
        return "lower triangular" if structure == "upper triangular" else "upper triangular"
    return structure


@adjoint(sl.inv, "a", at=[(_A3,), (_Z3,)])
def _(g, out, a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    turned = transposed(out)
    return _read_part(-np.matmul(turned, np.matmul(g, turned)), assume_a, lower)


@adjoint(sl.det, "a", at=[(_A3,), (_S3,), (_Z3,)])
def _(g, out, a, overwrite_a=False, check_finite=True):
    return np.expand_dims(g, (-2, -1)) * cofactors(a)


@adjoint(sl.pinv, "a", at=[(_A3,), (_B32,), (_B32.T,)])
def _(g, out, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    return pinv_cotangent(g[0], out[0], a) if return_rank else pinv_cotangent(g, out, a)


@adjoint(sl.norm, "a", at=[(_B3,), (_B32,), (_B32, "nuc"), (_B32, 1, 0)], singular=True)
def _(g, out, a, ord=None, axis=None, keepdims=False, check_finite=True):
    return norm_cotangent(g, out, a, ord, axis, keepdims)


@adjoint(sl.lstsq, "a", "b", at=[(_B32, _B3), (_B32.T, _B3[:2]), (_B32, _A3)])
def _(g, out, a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    x, g_x, b_2 = out[0], g[0], b
    if np.ndim(b) == 1:
        x, g_x, b_2 = np.expand_dims(x, -1), np.expand_dims(g_x, -1), np.expand_dims(b, -1)
    p = np.linalg.pinv(a, rcond=np.finfo(float).eps if cond is None else cond)
    g_a = pinv_cotangent(np.matmul(g_x, np.transpose(b_2)), p, a)
    g_b = np.matmul(np.transpose(p), g_x)
    if np.size(out[1]) and np.any(g[1]):
        residual = 2.0 * conj(b_2 - np.matmul(a, x)) * g[1]
        g_a, g_b = g_a - np.matmul(residual, np.transpose(x)), g_b + residual
    if out[3] is not None and g[3] is not None and np.any(g[3]):
        g_a = g_a + svd_cotangent(None, g[3], None, a)
    return g_a, np.reshape(g_b, np.shape(b))


# ---------------------------------------------------------------------------------- structured linear systems

def _flip(trans: Any) -> int:
    return {0: 1, "N": 1, 1: 0, "T": 0}[trans]


@adjoint(sl.solve_triangular, "a", "b", at=[(_U3, _B3), (_L3, _B32), (_A3, _B3), (_A3, _B3), (_A3, _B32),
                                            (_Z3, _B3)],
         keywords=[{}, {"lower": True}, {"lower": True}, {"trans": 1}, {"trans": "T", "unit_diagonal": True,
                                                                        "lower": True}, {"trans": 2}])
def _(g, out, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    if trans in (2, "C"):
        rhs = conj(sl.solve_triangular(a, conj(g), 0, lower, unit_diagonal))
        total = conj(-_times(out, rhs))
    else:
        rhs = sl.solve_triangular(a, g, _flip(trans), lower, unit_diagonal)
        total = -_times(rhs, out) if trans in (0, "N") else -_times(out, rhs)
    skip = 1 if unit_diagonal else 0
    return np.tril(total, -skip) if lower else np.triu(total, skip), rhs


_BAND = np.array([[0.0, 0.5, -0.3, 0.2], [3.0, 2.5, 4.0, 3.5], [0.4, -0.2, 0.7, 0.0]])
_BAND_2 = np.array([[0.0, 0.0, 0.3, 0.1], [0.0, 0.5, -0.3, 0.2], [3.0, 2.5, 4.0, 3.5], [0.4, -0.2, 0.7, 0.0]])
_B4, _B42 = np.array([1.0, -2.0, 0.5, 0.8]), np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1], [0.2, -0.4]])


def _bands(l_and_u: Any, n: int) -> list[tuple[int, int, int, int]]:
    """Row of the band storage, and the first and last column of the diagonal kept there, with its offset."""
    low, up = l_and_u
    return [(row, max(0, up - row), min(n, n + up - row), up - row) for row in range(low + up + 1)]


def _turned_bands(ab: Any, l_and_u: Any) -> Any:
    """Band storage of the transpose: the diagonals in reverse order, each moved by its offset."""
    n = np.shape(ab)[1]
    rows = []
    for row, first, last, offset in reversed(_bands(l_and_u, n)):
        before, after = max(0, -offset), max(0, offset)
        rows.append(np.concatenate((np.zeros(before), ab[row, first:last], np.zeros(after))))
    return np.stack(rows)


@adjoint(sl.solve_banded, "ab", "b", at=[((1, 1), _BAND, _B4), ((1, 1), _BAND, _B42), ((1, 2), _BAND_2, _B4)])
def _(g, out, l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    n = np.shape(ab)[1]
    rhs = sl.solve_banded((l_and_u[1], l_and_u[0]), _turned_bands(ab, l_and_u), g)
    left, right = np.reshape(rhs, (n, -1)), np.reshape(out, (n, -1))
    rows = []
    for _row, first, last, offset in _bands(l_and_u, n):
        entries = -np.sum(left[first - offset:last - offset] * right[first:last], axis=1)
        rows.append(np.concatenate((np.zeros(first), entries, np.zeros(n - last))))
    return np.stack(rows), rhs


@adjoint(sl.solveh_banded, "ab", "b", at=[(_BAND[:2], _B4), (_BAND[1:], _B42)],
         keywords=[{}, {"lower": True}])
def _(g, out, ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    n, count = np.shape(ab)[1], np.shape(ab)[0]
    rhs = conj(sl.solveh_banded(ab, conj(g), lower=lower))
    left, right = np.reshape(rhs, (n, -1)), np.reshape(out, (n, -1))
    rows = []
    for row in range(count):
        offset = row if lower else count - 1 - row
        near = -np.sum(left[offset:] * right[:n - offset], axis=1)               # entries below the diagonal
        far = -np.sum(left[:n - offset] * right[offset:], axis=1)                # and above it
        zeros = np.zeros(offset)
        if offset == 0:
            rows.append(near)
        elif lower:
            rows.append(np.concatenate((near + conj(far), zeros)))
        else:
            rows.append(np.concatenate((zeros, far + conj(near))))
    return np.stack(rows), rhs


@adjoint(sl.solve_sylvester, "a", "b", "q", at=[(_A3, _SPD[:2, :2], _B32), (_Z3, _SPD[:2, :2], _B32)])
def _(g, out, a, b, q):
    rhs = sl.solve_sylvester(np.transpose(a), np.transpose(b), g)
    turned = np.transpose(out)
    return -np.dot(rhs, turned), -np.dot(turned, rhs), rhs


@adjoint(sl.solve_continuous_lyapunov, "a", "q", at=[(_A3, _SPD), (_Z3, _SPD)])
def _(g, out, a, q):
    rhs = conj(sl.solve_continuous_lyapunov(hermitian(a), conj(g)))
    return -np.dot(rhs, np.transpose(out)) - conj(np.dot(np.transpose(rhs), out)), rhs


# ------------------------------------------------------------------------------------- factors kept for later

@adjoint(sl.cholesky, "a", at=[(_SPD,), (_SPD, True), (_SPD + 0.1j * (_U3 - _U3.T), True)])
def _(g, out, a, lower=False, overwrite_a=False, check_finite=True):
    return cholesky_cotangent(g, out, lower)


def _half(c: Any, lower: bool) -> Any:
    return np.tril(c) if lower else np.triu(c)


@adjoint(sl.cho_factor, "a", at=[(_SPD,), (_SPD, True)])
def _(g, out, a, lower=False, overwrite_a=False, check_finite=True):
    total = cholesky_cotangent(_half(g[0], lower), _half(out[0], lower), lower)
    return total + (g[0] - _half(g[0], lower))            # SciPy leaves the matrix in the other triangle


def _factors(c: Any, lower: bool) -> Any:
    half = _half(c, lower)
    return half if lower else hermitian(half)


@adjoint(sl.cho_solve, "c_and_lower", "b", at=[((np.linalg.cholesky(_SPD), True), _B3),
                                               ((np.linalg.cholesky(_SPD).T, False), _B32),
                                                ((_A3, True), _B3)])
def _(g, out, c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    rhs = conj(sl.cho_solve((c, lower), conj(g)))
    total = -_times(rhs, out)                                    # the cotangent of L L^H
    low = _factors(c, lower)
    g_low = conj(np.dot(conj(total) + np.conj(np.transpose(conj(total))), low))
    return [_half(g_low if lower else conj(np.transpose(g_low)), lower), None], rhs


def _permuted(piv: Any) -> Any:
    order = np.arange(len(piv))
    for k, other in enumerate(piv):
        order[k], order[other] = order[other], order[k]
    return order


def lu_cotangent(g_low: Any, g_up: Any, low: Any, up: Any) -> Any:
    """Of a square matrix in its factors L (ones on its diagonal) and U, rows permuted already."""
    inner = np.tril(np.dot(np.transpose(low), g_low), -1) + np.triu(np.dot(g_up, np.transpose(up)))
    half = sl.solve_triangular(low, inner, 1, True, True)
    return np.transpose(sl.solve_triangular(up, np.transpose(half), 0, False))


def _square(a: Any, name: str) -> None:
    if np.ndim(a) != 2 or np.shape(a)[0] != np.shape(a)[1]:
        raise Unsupported(f"scipy.linalg.{name} has a derivative rule for square matrices only")


@adjoint(sl.lu_factor, "a", at=[(_A3,), (_A3[::-1].copy(),), (_A3 + 0.3j * _A3[::-1],)])
def _(g, out, a, overwrite_a=False, check_finite=True):
    _square(a, "lu_factor")
    low = np.tril(out[0], -1) + np.eye(np.shape(a)[0])
    total = lu_cotangent(np.tril(g[0], -1), np.triu(g[0]), low, np.triu(out[0]))
    return total[np.argsort(_permuted(out[1]))]


@adjoint(sl.lu, "a", at=[(_A3,), (_A3[::-1].copy(),), (_A3[::-1].copy(), True)])
def _(g, out, a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    _square(a, "lu")
    if permute_l:
        order = sl.lu(a, p_indices=True)[0]
        back = np.argsort(order)
        return lu_cotangent(g[0][back], g[1], out[0][back], out[1])[order]
    order = out[0] if p_indices else np.argmax(out[0], axis=1)
    return lu_cotangent(g[1], g[2], out[1], out[2])[order]


_LU = sl.lu_factor(_A3[::-1].copy())


@adjoint(sl.lu_solve, "lu_and_piv", "b", at=[(_LU, _B3), (_LU, _B32), (_LU, _B3, 1)])
def _(g, out, lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, piv = lu_and_piv
    if trans == 2:
        raise Unsupported("lu_solve(trans=2) has no derivative rule",
                          instead="conjugate the right-hand side and use trans=1")
    rhs = sl.lu_solve((lu, piv), g, 0 if trans else 1)
    total = -_times(out, rhs) if trans else -_times(rhs, out)
    total = total[_permuted(piv)]                                # the cotangent of L U
    low, up = np.tril(lu, -1) + np.eye(np.shape(lu)[0]), np.triu(lu)
    return [np.tril(np.dot(total, np.transpose(up)), -1) + np.triu(np.dot(np.transpose(low), total)),
            None], rhs
