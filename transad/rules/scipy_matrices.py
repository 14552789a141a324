"""Rules of `scipy.linalg`: decompositions NumPy has too, functions of matrices, matrices from parts."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from transad.errors import Unsupported
from transad.rules.algebra import conj, transposed
from transad.rules.decompositions import (
    added_vectors,
    eig_cotangent,
    eigh_cotangent,
    fold_triangle,
    inverse_gaps,
    qr_cotangent,
    reflected,
    svd_cotangent,
)
from transad.rules.registry import adjoint
from transad.rules.through import through

_A3 = np.array([[3.0, 0.5, -1.0], [0.2, 2.0, 0.4], [1.0, -0.3, 2.5]])
_SPD = np.array([[4.0, 0.5, -1.0], [0.5, 3.0, 0.4], [-1.0, 0.4, 2.5]])
_B3, _B4 = np.array([1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5, 0.8])
_B32 = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1]])
_Z3 = _A3 + 1j * _A3[::-1]


# ------------------------------------------------------------------------------- decompositions NumPy has too

@adjoint(sl.qr, "a", at=[(_A3,), (_B32,), (_B32,), (_B32,)], keywords=[{}, {"mode": "economic"}, {"mode": "r"}, {}])
def _(g, out, a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    rows, columns = np.shape(a)[-2:]
    if mode == "full" and rows > columns and not pivoting and np.ndim(a) == 2 and not np.iscomplexobj(a):
        return through(reflected, g, a)[0]
    if pivoting or mode == "raw" or (mode == "full" and rows > columns):
        raise Unsupported(f"scipy.linalg.qr(mode={mode!r}, pivoting={pivoting}) has no derivative rule",
                          instead="mode='economic'")
    if mode == "r":
        parts: Any = sl.qr(a, mode="economic")
        q, r = parts
        g_r = g[0] if isinstance(g, tuple | list) else g
        return qr_cotangent(np.zeros(np.shape(q)), g_r[:np.shape(r)[0]], q, r, a)
    return qr_cotangent(g[0], g[1], out[0], out[1], a)


@adjoint(sl.svd, "a", at=[(_A3,), (_B32, False), (_B32, True, False)])
def _(g, out, a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True,
      lapack_driver="gesdd"):
    if not compute_uv:
        return svd_cotangent(None, g, None, a)
    n = np.shape(out[1])[-1]
    inner = (out[0][..., :n], out[1], out[2][..., :n, :])
    total = svd_cotangent(g[0][..., :n], g[1], g[2][..., :n, :], a, inner)
    return total + added_vectors(g[0][..., n:], g[2][..., n:, :], out[0][..., n:], out[2][..., n:, :], inner)


@adjoint(sl.svdvals, "a", at=[(_A3,), (_B32,)])
def _(g, out, a, overwrite_a=False, check_finite=True):
    return svd_cotangent(None, g, None, a)


def _pencil(g_w: Any, g_v: Any, w: Any, v: Any, lower: bool) -> tuple[Any, Any]:
    """The cotangents of a and b in `a v = b v diag(w)` with `v^T b v = 1`, real: dw = v^T (da - w db) v, and v moves by
    v times the quotients of its other entries by the gaps, less half of `v^T db v` along itself."""
    values = np.eye(np.shape(w)[-1]) * g_w
    inner, on_b = values, values * w
    if g_v is not None and np.any(g_v):
        used = np.matmul(np.transpose(v), g_v)
        quotients = used * inverse_gaps(np.expand_dims(w, 0) - np.expand_dims(w, 1), used, np.max(np.abs(w), initial=0.0),
                                        "eigenvectors")
        inner = inner + quotients
        on_b = on_b + quotients * w + 0.5 * np.eye(np.shape(w)[-1]) * used
    turned = np.transpose(v)
    return (fold_triangle(np.matmul(v, np.matmul(inner, turned)), lower),
            fold_triangle(-np.matmul(v, np.matmul(on_b, turned)), lower))


def _eigh(g: Any, out: Any, a: Any, b: Any, lower: bool, values: bool, kind: int, subset: tuple) -> tuple[Any, Any]:
    if kind != 1 or subset != (None, None) or (b is not None and (np.iscomplexobj(a) or np.iscomplexobj(b))):
        raise Unsupported("subsets of eigenvalues, complex pencils and the types 2 and 3 have no derivative rule",
                          instead="take all eigenvalues, then select; reduce with the Cholesky factor of b")
    w, v = sl.eigh(a, b, lower=lower) if values else out
    g_w, g_v = (g, None) if values else g
    return (eigh_cotangent(g_w, g_v, w, v, lower), None) if b is None else _pencil(g_w, g_v, w, v, lower)


@adjoint(sl.eigh, "a", "b", at=[(_SPD,), (_SPD,), (_SPD,), (_A3 + _A3.T, _SPD), (_A3 + _A3.T, _SPD)],
         keywords=[{}, {"lower": False}, {"eigvals_only": True}, {}, {"lower": False}])
def _(g, out, a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,
      check_finite=True, subset_by_index=None, subset_by_value=None, driver=None):
    return _eigh(g, out, a, b, lower, eigvals_only, type, (subset_by_index, subset_by_value))


@adjoint(sl.eigvalsh, "a", "b", at=[(_SPD,), (_A3 + _A3.T, _SPD)])
def _(g, out, a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
      subset_by_index=None, subset_by_value=None, driver=None):
    return _eigh(g, out, a, b, lower, True, type, (subset_by_index, subset_by_value))


_ROTATION = np.array([[0.5, -1.0, 0.2], [1.3, 0.4, 0.1], [0.0, 0.3, 2.0]])


@adjoint(sl.eig, "a", at=[(_A3 + np.diag([0.0, 2.0, 5.0]),), (_ROTATION,)])
def _(g, out, a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
      homogeneous_eigvals=False):
    if b is not None or left or not right or homogeneous_eigvals:
        raise Unsupported("scipy.linalg.eig has a derivative rule for its plain form only",
                          instead="scipy.linalg.eig(a)")
    return eig_cotangent(g[0], g[1], out[0], out[1], not np.iscomplexobj(a))


@adjoint(sl.eigvals, "a", at=[(_A3 + np.diag([0.0, 2.0, 5.0]),), (_ROTATION,)])
def _(g, out, a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    if b is not None or homogeneous_eigvals:
        raise Unsupported("scipy.linalg.eigvals has a derivative rule for its plain form only")
    w, v = np.linalg.eig(a)
    return eig_cotangent(g, None, w, v, not np.iscomplexobj(a))


# ------------------------------------------------------------------------------------------- matrix functions

def _through_block(function: Any, g: Any, a: Any) -> Any:
    """The transpose of the derivative of an analytic matrix function f at A: the corner of f([[A^T, g], [0,
    A^T]])."""
    size = 2.0 ** np.ceil(np.log2(np.maximum(np.max(np.abs(g), initial=0.0),
                                             1e-300)))   # keeps the block balanced
    turned = transposed(a)
    top = np.concatenate((turned, g / size), axis=-1)
    bottom = np.concatenate((np.zeros(np.shape(a)), turned), axis=-1)
    n = np.shape(a)[-1]
    return function(np.concatenate((top, bottom), axis=-2))[..., :n, n:] * size


_SMALL = _A3 / 4
_GROUP = [(_SMALL,), (_Z3 / 4,)]


@adjoint(sl.expm, "A", at=[(_SMALL,), (_Z3,), (np.zeros((2, 2)),), (np.stack((_SMALL, _A3)),)])
def _(g, out, A):
    return _through_block(sl.expm, g, A)


@adjoint(sl.logm, "A", at=[(_A3,), (np.eye(2) * 0.5,)])
def _(g, out, A, disp=None):
    return _through_block(sl.logm, g, A)


@adjoint(sl.cosm, "A", at=_GROUP)
def _(g, out, A):
    return _through_block(sl.cosm, g, A)


@adjoint(sl.sinm, "A", at=_GROUP)
def _(g, out, A):
    return _through_block(sl.sinm, g, A)


@adjoint(sl.coshm, "A", at=_GROUP)
def _(g, out, A):
    return _through_block(sl.coshm, g, A)


@adjoint(sl.sinhm, "A", at=_GROUP)
def _(g, out, A):
    return _through_block(sl.sinhm, g, A)


@adjoint(sl.tanhm, "A", at=_GROUP[:1])
def _(g, out, A):
    return _through_block(sl.tanhm, g, A)


@adjoint(sl.sqrtm, "A", at=[(_A3,), (_SPD,), (np.eye(2) * 4.0,)])
def _(g, out, A, disp=None, blocksize=None):
    return sl.solve_sylvester(np.transpose(out), np.transpose(out), g)


@adjoint(sl.fractional_matrix_power, "A", at=[(_A3, 0.3), (_A3, -1.5)])
def _(g, out, A, t):
    size = 2.0 ** np.ceil(np.log2(np.maximum(np.max(np.abs(g), initial=0.0), 1e-300)))
    n, turned = np.shape(A)[0], np.transpose(A)
    block = np.concatenate((np.concatenate((turned, g / size), axis=1),
                            np.concatenate((np.zeros((n, n)), turned), axis=1)), axis=0)
    return sl.fractional_matrix_power(block, t)[:n, n:] * size


# ------------------------------------------------------------------------------------------ built from parts

@adjoint(sl.block_diag, "arrs", at=[(_A3, _B32), (_A3, _B3, _B32)])
def _(g, out, *arrs):
    cotangents, row, column = [], 0, 0
    for array in arrs:
        rows, columns = np.shape(np.atleast_2d(array))
        cotangents.append(np.reshape(g[row:row + rows, column:column + columns], np.shape(array)))
        row, column = row + rows, column + columns
    return cotangents


def _diagonal_sums(g: Any, offsets: list[int]) -> Any:
    return np.stack([np.sum(np.diagonal(g, offset)) for offset in offsets])


@adjoint(sl.toeplitz, "c", at=[(_B3, _B3[:2] + 1), (_B3, _B4), (_B3,), (_B3 + 1j,)])
def _(g, out, c, r=None):
    low = _diagonal_sums(g, [-k for k in range(np.shape(c)[0])])
    if r is not None:
        return low
    high = _diagonal_sums(g, list(range(np.shape(c)[0])))
    return low + conj(high) * np.where(np.arange(np.shape(c)[0]) > 0, 1.0, 0.0)


@adjoint(sl.toeplitz, "r")
def _(g, out, c, r: Any = None):
    return np.concatenate((np.zeros(1), _diagonal_sums(g, list(range(1, np.shape(r)[0])))))


@adjoint(sl.hankel, "c", at=[(_B3, _B4), (_B3,)])
def _(g, out, c, r=None):
    turned, n = np.fliplr(g), np.shape(c)[0]
    return _diagonal_sums(turned, [np.shape(g)[1] - 1 - k for k in range(n)])


@adjoint(sl.hankel, "r")
def _(g, out, c, r: Any = None):
    turned, n, columns = np.fliplr(g), np.shape(c)[0], np.shape(g)[1]
    offsets = [columns - n - k for k in range(1, columns)]
    return np.concatenate((np.zeros(1), _diagonal_sums(turned, offsets)))


@adjoint(sl.circulant, "c", at=[(_B3,), (_B4,)])
def _(g, out, c):
    n = np.shape(c)[-1]
    low = _diagonal_sums(g, [-k for k in range(n)])
    high = _diagonal_sums(g, list(range(1, n)))
    return low + np.concatenate((np.zeros(1), np.flip(high)))
