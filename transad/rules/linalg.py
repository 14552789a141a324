"""Rules of determinants, inverses and linear systems (`np.linalg`); norms and decompositions are beside this
file."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules import decompositions, norms  # noqa: F401  (np.linalg too, in files of their own)
from transad.rules.algebra import conj, hermitian, imag, outer_last, transposed, unbroadcast
from transad.rules.decompositions import fold_triangle, svd_cotangent
from transad.rules.norms import norm_cotangent
from transad.rules.registry import adjoint, nondiff

nondiff(np.linalg.matrix_rank)

_A2 = np.array([[3.0, 0.5], [0.2, -2.0]])
_A3 = np.array([[3.0, 0.5, -1.0], [0.2, 2.0, 0.4], [1.0, -0.3, 2.5]])
_S3 = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
_B3 = np.array([1.0, -2.0, 0.5])
_B32 = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1]])
_STACK = np.stack((_A3, np.transpose(_A3) + 1.0))
_Z3 = _A3 + 1j * _A3[::-1]


# ----------------------------------------------------------------------------------------------- determinants

def cofactors(a: Any) -> Any:
    """The derivative of det in each entry, also of singular matrices: minors for small ones, else through
    the SVD.

    >>> cofactors(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    n = np.shape(a)[-1]
    if n == 1:
        return np.ones(np.shape(a))
    if n > 12:
        return _cofactors_svd(a)
    keep = np.array([[j for j in range(n) if j != i] for i in range(n)])
    minors = a[..., keep[:, None, :, None], keep[None, :, None, :]]
    return (-1.0) ** np.add.outer(np.arange(n), np.arange(n)) * np.linalg.det(minors)


def _cofactors_svd(a: Any) -> Any:
    """det(U) det(V^H) U diag(products of the other singular values) V^H, conjugated."""
    u, s, vh = np.linalg.svd(a)
    n = np.shape(a)[-1]
    others = np.stack([np.prod(np.concatenate((s[..., :k], s[..., k + 1:]), axis=-1), axis=-1)
                       for k in range(n)], axis=-1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return np.expand_dims(phase, (-2, -1)) * conj(np.matmul(u * np.expand_dims(others, -2), vh))


def _well_conditioned(a: Any, determinant: Any) -> bool:
    """Whether det(A) A^-1 has the digits that the cofactors have."""
    if np.size(a) == 0 or not np.all(determinant):
        return np.size(a) == 0
    sizes = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(a), axis=(-2, -1))
    return not np.any(sizes > 1e5)


@adjoint(np.linalg.det, "a", at=[(_A3,), (_S3,), (_STACK,), (np.stack((_S3, _A3)),), (_Z3,), (_A2,),
                                 (np.zeros((2, 2)),),
                                 (np.ones((3, 3)),), (np.array([[2.0]]),), (_S3 + 0j,),
                                 (np.diag([0.0, 0.5] + [1.2] * 12) + 0.1 * np.eye(14, k=1),)])
def _(g, out, a):
    weight = np.expand_dims(g, (-2, -1))
    if _well_conditioned(a, out):
        return weight * np.expand_dims(out, (-2, -1)) * transposed(np.linalg.inv(a))
    return weight * cofactors(a)


@adjoint(np.linalg.slogdet, "a", at=[(_A3,), (_A2,), (_STACK,), (_Z3,)])
def _(g, out, a):
    if not np.any(g[0]) and not np.any(g[1]):
        return np.zeros(np.shape(a))
    weight = g[1]
    if np.iscomplexobj(out[0]):
        weight = weight + 1j * imag(g[0] * out[0])
    return np.expand_dims(weight, (-2, -1)) * transposed(np.linalg.inv(a))


# --------------------------------------------------------------------------------------- inverses and systems

@adjoint(np.linalg.inv, "a", at=[(_A3,), (_STACK,), (_Z3,)])
def _(g, out, a):
    turned = transposed(out)
    return -np.matmul(turned, np.matmul(g, turned))


def pinv_cotangent(g: Any, p: Any, a: Any) -> Any:
    """Golub and Pereyra 1973: the derivative of the pseudo-inverse while the rank does not change."""
    pt, ph, gt = transposed(p), hermitian(p), transposed(g)
    rows, columns = np.eye(np.shape(a)[-2]) - np.matmul(a, p), np.eye(np.shape(a)[-1]) - np.matmul(p, a)
    left = np.matmul(np.matmul(rows, gt), np.matmul(p, ph))
    right = np.matmul(np.matmul(ph, p), np.matmul(gt, columns))
    return conj(left + right) - np.matmul(pt, np.matmul(g, pt))


@adjoint(np.linalg.pinv, "a", at=[(_A3,), (_B32,), (np.transpose(_B32),), (np.stack((_B32, 1 - _B32)),),
                                  (_B32 + 1j * _B32[::-1] ** 2,)])
def _(g, out, a, rcond=None, hermitian=False, *, rtol=None):
    total = pinv_cotangent(g, out, a)
    return fold_triangle(total, True) if hermitian else total


def _solve_rhs(g: Any, a: Any, vector: bool) -> Any:
    """The cotangent of the right-hand side, before it is reduced to its shape."""
    if vector:
        return np.linalg.solve(transposed(a), np.expand_dims(g, -1))[..., 0]
    return np.linalg.solve(transposed(a), g)


_SOLVE_POINTS = [(_A3, _B3), (_A3, _B32), (_STACK, _B3), (_STACK, _B32), (_A3, np.stack((_B32, -_B32))),
                 (_Z3, _B3),
                 (_STACK[:1], np.stack((_B32, 2 * _B32)))]


@adjoint(np.linalg.solve, "a", "b", at=_SOLVE_POINTS)
def _(g, out, a, b):
    vector = np.ndim(b) == 1
    rhs = _solve_rhs(g, a, vector)
    product = outer_last(rhs, out) if vector else np.matmul(rhs, transposed(out))
    return unbroadcast(-product, a), unbroadcast(rhs, b)


def _pseudo_inverse(a: Any, rcond: Any) -> Any:
    cut = np.finfo(float).eps * max(np.shape(a)) if rcond is None else max(rcond, 0.0)
    return np.linalg.pinv(a, rcond=cut)


@adjoint(np.linalg.lstsq, "a", "b", at=[(_B32, _B3), (_B32, _A3), (np.transpose(_B32), _B3[:2]), (_A3, _B32),
                                        (_A3, _B3)])
def _(g, out, a, b, rcond=None):
    vector = np.ndim(b) == 1
    x, g_x, b_2 = out[0], g[0], b
    if vector:
        x, g_x, b_2 = np.expand_dims(x, -1), np.expand_dims(g_x, -1), np.expand_dims(b, -1)
    p = _pseudo_inverse(a, rcond)
    g_a = pinv_cotangent(np.matmul(g_x, np.transpose(b_2)), p, a)
    g_b = np.matmul(np.transpose(p), g_x)
    if np.size(out[1]) and np.any(g[1]):
        residual = 2.0 * conj(b_2 - np.matmul(a, x)) * g[1]
        g_a, g_b = g_a - np.matmul(residual, np.transpose(x)), g_b + residual
    if np.any(g[3]):
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        g_a = g_a + conj(np.matmul(u * g[3], vh))
    return g_a, np.reshape(g_b, np.shape(b))


_T = np.reshape(np.eye(6) * 2 + np.arange(36.0).reshape(6, 6) / 40, (2, 3, 6))


@adjoint(np.linalg.tensorsolve, "a", "b", at=[(_T, _B32.T), (np.moveaxis(_T, 2, 0), _B32.T, (0,))])
def _(g, out, a, b, axes=None):
    order = list(range(np.ndim(a)))
    if axes is not None:
        chosen = [int(k) % np.ndim(a) for k in axes]
        order = [k for k in order if k not in chosen] + chosen
    n = np.size(b)
    square = np.reshape(np.transpose(a, order), (n, n))
    rhs = np.linalg.solve(np.transpose(square), np.ravel(g))
    shape = [np.shape(a)[k] for k in order]
    g_a = np.reshape(-np.outer(rhs, np.ravel(out)), shape)
    return np.transpose(g_a, [order.index(k) for k in range(len(order))]), np.reshape(rhs, np.shape(b))


@adjoint(np.linalg.tensorinv, "a", at=[(_T,)])
def _(g, out, a, ind=2):
    n = int(np.prod(np.shape(a)[:ind]))
    turned = np.transpose(np.reshape(out, (n, n)))
    return np.reshape(-np.dot(turned, np.dot(np.reshape(g, (n, n)), turned)), np.shape(a))


# -------------------------------------------------------------------------------- powers, products, condition

@adjoint(np.linalg.matrix_power, "a", at=[(_A3, 0), (_A3, 1), (_A3, 5), (_STACK, 6), (_A3, -3), (_Z3, 3)])
def _(g, out, a, n):
    if n == 0:
        return np.zeros(np.shape(a))
    base = np.linalg.inv(a) if n < 0 else a
    turned, total = transposed(base), g
    power = turned
    for bit in bin(abs(int(n)))[3:]:     # power = turned^m, total = sum over k of turned^k g turned^(m-1-k)
        total = np.matmul(power, total) + np.matmul(total, power)
        power = np.matmul(power, power)
        if bit == "1":
            total = np.matmul(turned, total) + np.matmul(g, power)
            power = np.matmul(power, turned)
    return -np.matmul(turned, np.matmul(total, turned)) if n < 0 else total


_M34 = np.arange(12.0).reshape(3, 4) / 7 - 0.5


@adjoint(np.linalg.multi_dot, "arrays", at=[([_A3, _M34],), ([_B3, _A3, _M34],),
                                            ([_B3, _A3, _M34, np.array([1.0, 0.5, -1.0, 2.0])],),
                                            ((_A3, _Z3, _M34),)])
def _(g, out, arrays):
    last = len(arrays) - 1
    wide = [np.reshape(array, (1, -1)) if k == 0 and np.ndim(array) == 1 else
            np.reshape(array, (-1, 1)) if k == last and np.ndim(array) == 1 else array for k,
            array in enumerate(arrays)]
    turned = [np.transpose(array) for array in wide]
    left = np.reshape(g, (np.shape(wide[0])[0], np.shape(wide[last])[1]))
    cotangents = []
    for k, array in enumerate(arrays):
        right = left
        for later in range(last, k, -1):
            right = np.dot(right, turned[later])
        cotangents.append(np.reshape(right, np.shape(array)))
        left = np.dot(turned[k], left)
    return cotangents


@adjoint(np.linalg.cond, "x", at=[(_A3,), (_B32,), (_A3, -2), (_A3, 1), (_A3, -1), (_A3, np.inf),
                                  (_A3, -np.inf), (_A3, "fro"),
                                  (_A3, "nuc"), (_STACK, 2), (_STACK, 1), (_Z3, "fro"), (_Z3,)])
def _(g, out, x, p=None):
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        up, down = (s[..., -1:], s[..., :1]) if p == -2 else (s[..., :1], s[..., -1:])
        weight = np.expand_dims(g, -1)
        g_s = np.concatenate((weight / down, np.zeros(np.shape(s)[:-1] + (np.shape(s)[-1] - 2,)),
                              -weight * up / down ** 2), axis=-1)
        return svd_cotangent(None, g_s if p != -2 else np.flip(g_s, -1), None, x)
    inverse = np.linalg.inv(x)
    one, other = np.linalg.norm(x, p, axis=(-2, -1)), np.linalg.norm(inverse, p, axis=(-2, -1))
    turned = transposed(inverse)
    inner = norm_cotangent(g * one, other, inverse, p, (-2, -1), False)
    return norm_cotangent(g * other, one, x, p, (-2, -1), False) - np.matmul(turned, np.matmul(inner, turned))
