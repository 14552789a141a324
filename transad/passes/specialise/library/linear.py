"""Products and linear algebra. What is a LAPACK call stays one, with an adjoint of its own."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.runtime.typed import det_of, log_det, sign_of_det


def length(v: Any, ord: Any) -> Any:
    if ord is None or ord == 2:
        s = 0.0
        for i in range(v.shape[0]):
            s += v[i] * v[i]
        return np.sqrt(s) if s != 0.0 else 0.0 * s        # at its tip a length has no slope
    if ord == np.inf:
        return np.max(np.abs(v))
    if ord == -np.inf:
        return np.min(np.abs(v))
    s = 0.0
    for i in range(v.shape[0]):
        s += np.abs(v[i]) ** ord if ord != 1 else np.abs(v[i])
    if ord == 1:
        return s
    return s ** (1.0 / ord) if s != 0.0 else 0.0 * s


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    if axis is None:
        if x.ndim == 2 and ord is not None:
            raise TypeError("a norm of a matrix other than Frobenius's")
        return length(x if x.ndim == 1 else x.flatten(), ord)
    if x.ndim == 1:
        return length(x, ord)
    out = np.empty(x.shape[1] if axis % 2 == 0 else x.shape[0])
    for i in range(out.shape[0]):
        out[i] = length(x[:, i] if axis % 2 == 0 else x[i], ord)
    return out


def outer(a: Any, b: Any) -> Any:
    return (a if a.ndim == 1 else a.flatten())[:, None] * (b if b.ndim == 1 else b.flatten())


def kron(a: Any, b: Any) -> Any:
    n, m, p, q = a.shape[0], a.shape[1], b.shape[0], b.shape[1]
    out = np.empty((n * p, m * q))
    for i in range(n):
        for j in range(m):
            for k in range(p):
                for r in range(q):
                    out[i * p + k, j * q + r] = a[i, j] * b[k, r]
    return out


def crossed(a: Any, b: Any, out: Any) -> Any:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def cross(a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return crossed(a, b, np.empty(3))
    out = np.empty((a.shape[0] if a.ndim == 2 else b.shape[0], 3))
    for i in range(out.shape[0]):
        crossed(a[i] if a.ndim == 2 else a, b[i] if b.ndim == 2 else b, out[i])
    return out


def vdot(a: Any, b: Any) -> Any:
    return np.dot(a if a.ndim == 1 else a.flatten(), b if b.ndim == 1 else b.flatten())


def inner(a: Any, b: Any) -> Any:
    return np.dot(a, b if b.ndim == 1 else b.T)


def dot(a: Any, b: Any) -> Any:
    out = np.empty(a.shape[:2] + b.shape[1:])
    for i in range(a.shape[0]):
        out[i] = np.dot(a[i], b)
    return out


def matmul(a: Any, b: Any) -> Any:
    out = np.empty(a.shape[:2] + b.shape[2:])
    for i in range(a.shape[0]):
        out[i] = np.dot(a[i], b[i])
    return out


def trace(a: Any, offset: int = 0) -> Any:
    s = 0.0
    first, second = max(-offset, 0), max(offset, 0)
    for i in range(min(a.shape[0] - first, a.shape[1] - second)):
        s += a[first + i, second + i]
    return s


def logical_and(x1: Any, x2: Any) -> Any:
    return (x1 != 0) & (x2 != 0)


def logical_or(x1: Any, x2: Any) -> Any:
    return (x1 != 0) | (x2 != 0)


def logical_xor(x1: Any, x2: Any) -> Any:
    return (x1 != 0) ^ (x2 != 0)


def det(a: Any) -> Any:
    return det_of(a)


def slogdet(a: Any) -> Any:
    return sign_of_det(a), log_det(a)


def inv(a: Any) -> Any:
    return np.linalg.inv(a)


def solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def cholesky(a: Any) -> Any:
    return np.linalg.cholesky(a)


def eigvalsh(a: Any) -> Any:
    return np.linalg.eigvalsh(a)


def matrix_power(a: Any, n: int) -> Any:
    out = np.eye(a.shape[0])
    for _ in (0,) * (n if n >= 0 else -n):
        out = np.dot(out, a if n >= 0 else np.linalg.inv(a))
    return out
