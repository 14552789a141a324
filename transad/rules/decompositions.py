"""Rules of Cholesky, QR, eigenvalue and singular value decompositions.

Formulas are in the usual pairing `Re(sum(conj(g) * t))`, between two `conj`; see algebra.py.

- A function that reads one triangle of its matrix (cholesky, eigh, eigvalsh) has all of the cotangent there.
- Equal eigenvalues: eigenvectors have no derivative. A cotangent that does not use them (zeros) is right and
  finite; one that does raises `Unsupported`. The same for equal singular values.
- Complex vectors: the derivative keeps the phase that LAPACK fixes (an entry that is real by construction).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.errors import Unsupported
from transad.rules.algebra import conj, hermitian, imag, transposed
from transad.rules.registry import adjoint
from transad.rules.through import through

__all__ = ["added_vectors", "cholesky_cotangent", "eig_cotangent", "eigh_cotangent", "fold_triangle", "inverse_gaps",
           "qr_cotangent", "reflected", "svd_cotangent"]

_A3 = np.array([[3.0, 0.5, -1.0], [0.2, 2.0, 0.4], [1.0, -0.3, 2.5]])
_SPD = np.array([[4.0, 0.5, -1.0], [0.5, 3.0, 0.4], [-1.0, 0.4, 2.5]])
_B32 = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1]])
_STACK = np.stack((_SPD, _SPD + np.eye(3)))
_HPD = _SPD + 0.3j * np.array([[0, 1, -2], [-1, 0, 0.5], [2, -0.5, 0]])
_Z3 = _A3 + 1j * _A3[::-1]


def fold_triangle(s: Any, lower: bool) -> Any:
    """The cotangent of a matrix of which a function reads one triangle and takes the other for its mirror
    image.

    `s` is the cotangent for the whole matrix; what belongs to the unread triangle goes to the entry that is
    read.

    >>> fold_triangle(np.array([[1.0, 2.0], [3.0, 4.0]]), lower=True)
    array([[1., 0.],
           [5., 4.]])
    """
    n = np.shape(s)[-1]
    mask = (np.tril(np.ones((n, n))) if lower else np.triu(np.ones((n, n)))) - 0.5 * np.eye(n)
    return mask * (s + hermitian(s))


# -------------------------------------------------------------------------------------------- Cholesky and QR

def cholesky_cotangent(g: Any, factor: Any, lower: bool) -> Any:
    """Murray 2016, section 3.1; `factor` is L with A = L L^H, or L^H when not `lower`."""
    low, g_low = (factor, conj(g)) if lower else (hermitian(factor), transposed(g))
    n = np.shape(low)[-1]
    mask = np.tril(np.ones((n, n))) - 0.5 * np.eye(n)
    inner = mask * np.matmul(hermitian(low), np.tril(g_low))
    half = np.linalg.solve(hermitian(low), inner)                                     # L^-H inner
    whole = hermitian(np.linalg.solve(hermitian(low), hermitian(half)))               # L^-H inner L^-1
    return conj(fold_triangle(whole, lower))


_SPD_LOWER, _HPD_LOWER = np.tril(_SPD), np.tril(_HPD)


@adjoint(np.linalg.cholesky, "a", at=[(_SPD,), (_STACK,), (_HPD,), (_SPD,), (_HPD,)],
         keywords=[{}, {}, {}, {"upper": True}, {"upper": True}])
def _(g, out, a, *, upper=False):
    return cholesky_cotangent(g, out, not upper)


def _mirror_lower(m: Any) -> Any:
    """The Hermitian matrix with the lower triangle of `m`."""
    low = np.tril(m, -1)
    n = np.shape(m)[-1]
    return low + hermitian(low) + np.eye(n) * np.real(m)


def qr_cotangent(g_q: Any, g_r: Any, q: Any, r: Any, a: Any) -> Any:
    """Of the reduced QR decomposition; a wide matrix is a square one with further columns `Q^H A2 = R2`."""
    g_q, g_r = conj(g_q), conj(g_r)
    rows, columns = np.shape(a)[-2:]
    rest = None
    if columns > rows:
        rest = np.matmul(q, g_r[..., rows:])
        g_q = g_q + np.matmul(a[..., rows:], hermitian(g_r[..., rows:]))
        r, g_r = r[..., :rows], g_r[..., :rows]
    inner = np.matmul(r, hermitian(g_r)) - np.matmul(hermitian(g_q), q)
    total = hermitian(np.linalg.solve(r, hermitian(g_q + np.matmul(q, _mirror_lower(inner)))))
    return conj(total if rest is None else np.concatenate((total, rest), axis=-1))


@adjoint(np.linalg.qr, "a", at=[(_A3,), (_B32,), (np.transpose(_B32),), (_B32, "r"), (_A3, "complete"), (_B32, "complete"),
                                (_STACK,), (_Z3,),
                                (_B32 + 1j * _B32[::-1],), (np.transpose(_B32) + 1j * _B32[:2, :1],)])
def _(g, out, a, mode="reduced"):
    if mode in ("r", "reduced") or (mode == "complete" and np.shape(a)[-1] >= np.shape(a)[-2]):
        if mode == "r":
            q = np.linalg.qr(a)[0]
            return qr_cotangent(np.zeros(np.shape(q)), g, q, out, a)
        return qr_cotangent(g[0], g[1], out[0], out[1], a)
    if mode == "complete" and np.ndim(a) == 2 and not np.iscomplexobj(a):
        return through(reflected, g, a)[0]
    raise Unsupported(f"np.linalg.qr(mode={mode!r}) of shape {np.shape(a)} has no derivative rule",
                      instead="use mode='reduced'")


def reflected(a: Any) -> Any:
    """The complete QR decomposition of a real tall matrix by LAPACK's reflections, whose last columns of Q have a
    derivative too."""
    rows, columns = np.shape(a)
    q, r = np.eye(rows), a
    for k in range(columns):
        x = np.concatenate((np.zeros(k), r[k:, k]))
        size = np.sqrt(np.sum(x * x))
        end = np.where(r[k, k] > 0, -size, size) * (np.arange(rows) == k)
        v = x - end
        v = v * np.sqrt(2.0 / np.sum(v * v))
        r = r - np.outer(v, np.dot(v, r))
        q = q - np.outer(np.dot(q, v), v)
    return q, np.triu(r)


# ------------------------------------------------------------------------------------------------ eigenvalues

def inverse_gaps(gaps: Any, used: Any, scale: Any, what: str) -> Any:
    """1 / gaps off the diagonal, 0 where a gap is zero up to rounding; there nothing may be `used`."""
    n = np.shape(gaps)[-1]
    near = np.abs(gaps) <= 4 * n * np.finfo(np.asarray(scale).dtype).eps * np.expand_dims(scale, (-2, -1))
    equal = near & ~np.eye(n, dtype=bool)
    if np.any(equal):
        weight = np.maximum(np.abs(used), np.abs(transposed(used)))
        if np.any(equal & (weight > 1e-12 * np.max(np.abs(used), initial=0.0))):
            raise Unsupported(f"{what} belonging to equal eigenvalues or singular values have no derivative",
                              instead="use the values only, or a matrix function (scipy.linalg.sqrtm, expm)")
    closed = near | np.eye(n, dtype=bool)
    return np.where(closed, 0.0, 1.0 / np.where(closed, 1.0, gaps))


def _keep_phase(g: Any, v: Any, turn: Any, pinned: Any) -> Any:
    """Add to the cotangent `g` of the columns of `v` what holds their `pinned` entries (one a column) real.

    `turn` is the cotangent of a rotation of each column's phase.
    """
    if not np.any(np.abs(turn) > 1e-13 * np.max(np.abs(g), initial=0.0)):
        return g
    entry = np.sum(np.where(pinned, np.real(v), 0.0), axis=-2, keepdims=True)
    if np.any((np.sum(pinned, axis=-2, keepdims=True) != 1) | (entry == 0.0) & (turn != 0.0)):
        raise Unsupported("the result depends on the arbitrary phase of complex eigen- or singular vectors",
                          instead="use the moduli of their entries, or products in which the phase cancels")
    return g + np.where(pinned, -1j * turn / entry, 0.0)


def _turn(v: Any, g: Any) -> Any:
    return imag(np.sum(conj(v) * g, axis=-2, keepdims=True))


def _pinned_row(v: Any, first: bool) -> Any:
    """Pins the first or the last row when all its entries are real up to rounding, as LAPACK makes them;
    else nothing."""
    row = 0 if first else -1
    chosen = np.zeros(np.shape(v), dtype=bool)
    chosen[..., row, :] = np.all(np.abs(np.imag(v[..., row, :])) <= 16 * np.finfo(np.real(v).dtype).eps)
    return chosen


def eigh_cotangent(g_w: Any, g_v: Any, w: Any, v: Any, lower: bool) -> Any:
    """Of the eigenvalues `w` and eigenvectors `v` of a Hermitian matrix; `g_v` None where they are not
    used."""
    inner = np.eye(np.shape(w)[-1]) * np.expand_dims(g_w, -2)
    if g_v is not None and np.any(g_v):
        g_v = conj(g_v)
        if np.iscomplexobj(v):
            g_v = _keep_phase(g_v, v, _turn(v, g_v), _pinned_row(v, lower))
        used = np.matmul(hermitian(v), g_v)
        gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
        inner = inner + used * inverse_gaps(gaps, used, np.max(np.abs(w), axis=-1, initial=0.0),
                                             "eigenvectors")
    return conj(fold_triangle(np.matmul(v, np.matmul(inner, hermitian(v))), lower))


@adjoint(np.linalg.eigh, "a", at=[(_SPD,), (_STACK,), (_HPD,), (_SPD, "U"), (_HPD, "U")])
def _(g, out, a, UPLO="L"):
    return eigh_cotangent(g[0], g[1], out[0], out[1], UPLO.upper() == "L")


@adjoint(np.linalg.eigvalsh, "a", at=[(_SPD,), (_STACK,), (_HPD,), (_SPD, "U")])
def _(g, out, a, UPLO="L"):
    w, v = np.linalg.eigh(a, "L" if UPLO.upper() == "L" else "U")
    return eigh_cotangent(g, None, w, v, UPLO.upper() == "L")


def _largest_real(v: Any) -> Any:
    """Marks the largest of the exactly real entries of each column, which LAPACK's geev makes real."""
    size = np.where(np.imag(v) == 0, np.abs(v), -1.0)
    first = np.expand_dims(np.argmax(size, axis=-2), -2)
    return np.expand_dims(np.arange(np.shape(v)[-2]), -1) == first


def eig_cotangent(g_w: Any, g_v: Any, w: Any, v: Any, real: bool) -> Any:
    """Of eigenvalues and eigenvectors of unit length of any square matrix (`real`: of a real one)."""
    inner = np.eye(np.shape(w)[-1]) * np.expand_dims(conj(g_w), -2)
    if g_v is not None and np.any(g_v):
        g_v = conj(g_v)
        if np.iscomplexobj(v):
            g_v = _keep_phase(g_v, v, _turn(v, g_v), _largest_real(v))
        g_v = g_v - v * np.real(np.sum(conj(v) * g_v, axis=-2, keepdims=True))
        used = np.matmul(hermitian(v), g_v)
        gaps = conj(np.expand_dims(w, -2) - np.expand_dims(w, -1))
        inner = inner + used * inverse_gaps(gaps, used, np.max(np.abs(w), axis=-1, initial=0.0),
                                             "eigenvectors")
    total = conj(np.linalg.solve(hermitian(v), np.matmul(inner, hermitian(v))))
    return np.real(total) if real else total


_ROTATION = np.array([[0.5, -1.0, 0.2], [1.3, 0.4, 0.1], [0.0, 0.3, 2.0]])


@adjoint(np.linalg.eig, "a", at=[(_A3 + np.diag([0.0, 2.0, 5.0]),), (_ROTATION,), (_Z3,),
                                 (np.stack((_ROTATION, _ROTATION.T)),)])
def _(g, out, a):
    return eig_cotangent(g[0], g[1], out[0], out[1], not np.iscomplexobj(a))


@adjoint(np.linalg.eigvals, "a", at=[(_A3 + np.diag([0.0, 2.0, 5.0]),), (_ROTATION,), (_Z3,)])
def _(g, out, a):
    w, v = np.linalg.eig(a)
    return eig_cotangent(g, None, w, v, not np.iscomplexobj(a))


# -------------------------------------------------------------------------------------------- singular values

def svd_cotangent(g_u: Any, g_s: Any, g_vh: Any, a: Any, parts: Any = None) -> Any:
    """Of the reduced decomposition; None for what is not used."""
    u, s, vh = np.linalg.svd(a, full_matrices=False) if parts is None else parts
    inner = np.eye(np.shape(s)[-1]) * np.expand_dims(g_s, -2)
    used_u, used_v = g_u is not None and np.any(g_u), g_vh is not None and np.any(g_vh)
    if not used_u and not used_v:
        return conj(np.matmul(u, np.matmul(inner, vh)))
    v = hermitian(vh)
    g_u = conj(g_u) if used_u else np.zeros(np.shape(u))
    g_v = transposed(g_vh) if used_v else np.zeros(np.shape(v))
    if np.iscomplexobj(u):
        turn = _turn(u, g_u) + _turn(v, g_v)
        if np.shape(a)[-2] >= np.shape(a)[-1]:
            g_v = _keep_phase(g_v, v, turn, _pinned_row(v, True))
        else:
            g_u = _keep_phase(g_u, u, turn, _pinned_row(u, True))
    return conj(_svd_vectors(g_u, g_v, inner, u, s, v))


def _skew(m: Any) -> Any:
    return 0.5 * (m - hermitian(m))


def _svd_vectors(g_u: Any, g_v: Any, inner: Any, u: Any, s: Any, v: Any) -> Any:
    """Splits the skew parts into one that meets s_j - s_i and one that meets s_j + s_i. Between equal singular values
    nothing may be used, not even where the first part cancels: `u @ vh` and `(u * s) @ vh` look alike there and are not."""
    on_u, on_v = np.matmul(hermitian(u), g_u), np.matmul(hermitian(v), g_v)
    gaps = np.expand_dims(s, -2) - np.expand_dims(s, -1)
    sums = np.expand_dims(s, -2) + np.expand_dims(s, -1)
    n, top = np.shape(s)[-1], np.max(s, axis=-1, initial=0.0)
    together, apart = _skew(on_u) + _skew(on_v), _skew(on_u) - _skew(on_v)
    used = np.maximum(np.abs(on_u), np.abs(on_v))
    inner = inner + together * inverse_gaps(gaps, used, top, "singular vectors")
    inner = inner + apart * inverse_gaps(sums + np.eye(n), apart, top, "singular vectors")
    if np.iscomplexobj(u):
        inner = inner + 1j * np.eye(n) * imag(on_u) * _inverse(s, np.eye(n) * imag(on_u))
    total = np.matmul(u, np.matmul(inner, hermitian(v)))
    beyond_u = g_u - np.matmul(u, on_u)
    beyond_v = g_v - np.matmul(v, on_v)
    if np.shape(u)[-2] > n:
        total = total + np.matmul(beyond_u * _inverse(s, beyond_u), hermitian(v))
    if np.shape(v)[-2] > n:
        total = total + np.matmul(u, hermitian(beyond_v * _inverse(s, beyond_v)))
    return total


def _inverse(s: Any, used: Any) -> Any:
    """1 / s along the last axis, 0 where s is 0 and nothing is used."""
    rounding = 4 * np.shape(s)[-1] * np.finfo(s.dtype).eps
    zero = np.expand_dims(s <= rounding * np.max(s, axis=-1, keepdims=True, initial=0.0), -2)
    if np.any(zero & (np.abs(used) > 1e-12 * np.max(np.abs(used), initial=0.0))):
        raise Unsupported("singular vectors belonging to a singular value 0 have no derivative",
                          instead="use the singular values only")
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, np.expand_dims(s, -2)))


_SVD_POINTS = [(_A3, False), (_B32, False), (np.transpose(_B32), False), (_A3,),
               (np.stack((_B32, _B32 + 0.2)), False), (_Z3, False),
               (_B32, False, False), (_B32 + 1j * _B32[::-1] ** 2, False), (_B32.T + 1j * _B32.T ** 2, False),
               (_SPD, True, False)]


@adjoint(np.linalg.svd, "a", at=_SVD_POINTS, keywords=[{}])
def _(g, out, a, full_matrices=True, compute_uv=True, hermitian=False):
    if not compute_uv:
        return svd_cotangent(None, g, None, a)
    g_u, g_s, g_vh = g
    u, s, vh = out
    n = np.shape(s)[-1]
    inner = (u[..., :n], s, vh[..., :n, :])
    total = svd_cotangent(g_u[..., :n], g_s, g_vh[..., :n, :], a, inner)
    return total + added_vectors(g_u[..., n:], g_vh[..., n:, :], u[..., n:], vh[..., n:, :], inner)


def added_vectors(g_u: Any, g_vh: Any, u: Any, vh: Any, inner: tuple[Any, Any, Any]) -> Any:
    """Of the vectors that `full_matrices=True` adds. They move towards the others alone: how they turn among themselves is
    LAPACK's choice, and a cotangent that uses it is refused."""
    total = 0.0
    first, s, last = inner
    if np.any(g_u):
        g_u = _unturned(conj(g_u), u)
        weights = np.matmul(hermitian(g_u), first)
        total = -np.matmul(u, np.matmul(weights * _inverse(s, weights), last))
    if np.any(g_vh):
        v = hermitian(vh)
        g_v = _unturned(transposed(g_vh), v)
        weights = np.matmul(hermitian(g_v), hermitian(last))
        total = total - np.matmul(first, hermitian(np.matmul(v, weights * _inverse(s, weights))))
    return conj(total) if np.ndim(total) else total


def _unturned(g: Any, vectors: Any) -> Any:
    """The cotangent `g` of a basis of a subspace, where it does not depend on which basis it is."""
    turn = _skew(np.matmul(hermitian(vectors), g))
    if np.any(np.abs(turn) > 1e-10 * np.max(np.abs(g), initial=0.0)):
        raise Unsupported("the vectors that full_matrices=True adds to the SVD are one basis of many, and the result depends "
                          "on which", instead="use the projector on their space (n @ n.T), or pass full_matrices=False")
    return g


@adjoint(np.linalg.svdvals, "x", at=[(_A3,), (_B32,), (_Z3,)])
def _(g, out, x):
    return svd_cotangent(None, g, None, x)
