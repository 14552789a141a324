"""What emitted derivative code calls: small numeric helpers, the same for CPython and Numba.

Each is plain Python; `transad.runtime.typed_numba` gives Numba an implementation of those that need one.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from transad.deferred import computed, is_deferred
from transad.rules.linear import summed as total
from transad.rules.scalars import digamma as digamma


def stop_gradient(x: Any) -> Any:
    """`x` itself for a number, a copy of an array: the value without its derivative."""
    return x.copy() if isinstance(x, np.ndarray) else x


def share_of_larger(x: float, y: float) -> float:
    """d max(x, y) / dx: ties are split evenly."""
    return 1.0 if x > y else 0.5 if x == y else 0.0


def share_of_sum(x: float, y: float) -> float:
    """d log(e**x + e**y) / dx; two equal infinities share evenly."""
    return 0.5 if x == y else 1.0 / (1.0 + np.exp(y - x))


def quotient(x: float, r: float) -> float:
    """`x / r`, and 0 where `r` is 0: the slope of a length at its tip."""
    return x / r if r != 0.0 else 0.0


def power_x(x: Any, n: Any) -> Any:
    """d x**n / dx, with n * x**(n - 1) = 0 for n = 0, and infinite slopes as in NumPy."""
    if isinstance(x, np.ndarray) or isinstance(n, np.ndarray):
        safe = np.where((x == 0) & (n == 0), 1.0, n - 1.0)
        return n * np.power(np.asarray(x, dtype=np.result_type(x, 1.0)), safe)
    return 0.0 if n == 0 else float(n) * np.power(float(x), float(n) - 1.0)


def power_y(x: Any, out: Any) -> Any:
    """d x**y / dy = x**y * log(x), 0 at x = 0."""
    if isinstance(x, np.ndarray):
        return out * np.log(np.where(x == 0, 1.0, x))
    return 0.0 if x == 0 else out * math.log(x) if x > 0 else out * math.nan


def unbroadcast(g: Any, x: np.ndarray) -> Any:
    """The cotangent of `x` from that of a result it was broadcast to: summed over the stretched axes."""
    if is_deferred(g):
        found = g.summed(x.shape)
        g = computed(g) if found is None else found
    if isinstance(g, np.ndarray) and g.shape != x.shape:
        if g.ndim > x.ndim:
            lead = g.ndim - x.ndim
            g = np.reshape(total(g, tuple(range(lead))), g.shape[lead:])
        axes = tuple(k for k in range(g.ndim) if x.shape[k + x.ndim - g.ndim] == 1 and g.shape[k] != 1)
        if axes:
            g = total(g, axes)
    return g


def stretched(g: Any, like: np.ndarray) -> np.ndarray:
    """`g` at the shape of `like`, in fresh memory: the cotangent of a sum."""
    out = np.empty_like(like)
    out[...] = computed(g)
    return out


def total_of(parts: list[Any], *which: int) -> Any:
    """The sum of some of several cotangents; numbers stand for those that are zero."""
    found = [parts[k] for k in which if isinstance(parts[k], np.ndarray)]
    return sum(found[1:], found[0]) if found else 0.0


def filled(g: Any, like: np.ndarray) -> np.ndarray:
    """A new array `g` itself; a number at the shape of `like`."""
    g = computed(g)
    return g if isinstance(g, np.ndarray) and g.shape == like.shape else stretched(g, like)


def summed(g: Any) -> Any:
    """The cotangent of a number that was broadcast: the sum of all entries."""
    return np.sum(g)


def copy_to(target: np.ndarray, source: np.ndarray) -> None:
    """Copy one array into another of the same shape (a tape slot)."""
    if target.shape != source.shape:
        raise ValueError("an array changed its shape between the trips of a loop")
    target[...] = source


def gather(a: np.ndarray, index: np.ndarray) -> np.ndarray:
    """`a[index]` for an array of integers or booleans."""
    return a[index]


def scatter_add(d_a: np.ndarray, index: np.ndarray, g: np.ndarray) -> None:
    """The adjoint of a gather: every entry of `g` is added where it came from."""
    np.add.at(d_a, index, g)


def take_scattered(d_a: np.ndarray, index: Any) -> np.ndarray:
    """The cotangent of the right side of `a[index] = v`: of several writes to one place the last one counts."""
    g = d_a[index].copy()
    if isinstance(index, tuple):
        numbers = np.arange(g.size).reshape(g.shape)
        writer = np.empty(d_a.shape, np.int64)
        writer[index] = numbers
        g[writer[index] != numbers] = 0.0
    elif index.dtype != np.bool_:
        flat = np.where(index < 0, index + d_a.shape[0], index).reshape(-1)
        _, last = np.unique(flat[::-1], return_index=True)
        lost = np.ones(flat.size, dtype=np.bool_)
        lost[flat.size - 1 - last] = False
        g[lost.reshape(index.shape)] = 0.0
    d_a[index] = 0.0
    return g


def share_of_extreme(x: np.ndarray, out: float) -> np.ndarray:
    """d max(x) / dx (or of min): the entries that equal it share evenly."""
    hit = (x == out).astype(x.dtype)
    return hit / max(np.sum(hit), 1.0)


def keep_zero(d: Any, slope: Any) -> Any:
    """`d * slope` where a zero of `d` wins over an infinite slope."""
    if isinstance(d, np.ndarray) or isinstance(slope, np.ndarray):
        product = d * slope
        if np.isfinite(np.sum(product)):
            return product
        return np.where(d == 0.0, 0.0, product)
    return 0.0 if d == 0.0 else d * slope


def record_array(values: list[float], dims: list[int], a: np.ndarray) -> None:
    """Append an array to a list of numbers, and its start and shape to another."""
    dims.append(len(values))
    dims.extend(a.shape)
    values.extend(a.reshape(-1))


def replayed_1(values: np.ndarray, dims: np.ndarray, at: int) -> np.ndarray:
    """The array of rank 1 that was recorded as number `at`."""
    start = dims[2 * at]
    return values[start:start + dims[2 * at + 1]]


def replayed_2(values: np.ndarray, dims: np.ndarray, at: int) -> np.ndarray:
    """The array of rank 2 that was recorded as number `at`."""
    start, m, n = dims[3 * at], dims[3 * at + 1], dims[3 * at + 2]
    return values[start:start + m * n].reshape((m, n))


def replayed_3(values: np.ndarray, dims: np.ndarray, at: int) -> np.ndarray:
    """The array of rank 3 that was recorded as number `at`."""
    start, m, n, k = dims[4 * at], dims[4 * at + 1], dims[4 * at + 2], dims[4 * at + 3]
    return values[start:start + m * n * k].reshape((m, n, k))


def part_of(shadow: np.ndarray, first: int, step: int, n: int) -> np.ndarray:
    """The `n` elements from `first` on, every `step`th."""
    if n == 0:
        return shadow[0:0:1]
    if step > 0:
        return shadow[first:first + n * step:step]
    return shadow[first + (n - 1) * step:first + 1:-step][::-1]


def shadow_at(shadows: list[np.ndarray], number: int, shape: tuple[int, ...]) -> np.ndarray:
    """The shadow of the array with a number; one that was not needed before is zero."""
    while len(shadows) <= number:
        shadows.append(np.zeros((0,) * len(shape), shadows[0].dtype))
    if shadows[number].size == 0:
        shadows[number] = np.zeros(shape, shadows[0].dtype)
    return shadows[number]


def reshaped(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A view of another shape; an array that does not lie in memory row by row has none."""
    if not a.flags.c_contiguous:
        raise ValueError("reshape of an array that does not lie in memory row by row; copy it first")
    return a.reshape(shape)


def ramp(d: np.ndarray) -> float:
    """The cotangent of the end of a ruler from that of its marks."""
    s = 0.0
    for i in range(1, len(d)):
        s += d[i] * (i / (len(d) - 1))
    return s


def det_of(a: np.ndarray) -> float:
    """The determinant of a square matrix."""
    return np.linalg.det(a)


def log_det(a: np.ndarray) -> float:
    """The logarithm of the absolute determinant."""
    return np.linalg.slogdet(a)[1]


def sign_of_det(a: np.ndarray) -> float:
    """The sign of the determinant."""
    return np.linalg.slogdet(a)[0]


def cofactors(a: np.ndarray) -> np.ndarray:
    """d det(a) / da, for a singular matrix too: from the singular values, none of which is divided by."""
    u, s, vh = np.linalg.svd(a)
    others = np.ones(len(s), a.dtype)
    for i in range(len(s)):
        for j in range(len(s)):
            if j != i:
                others[i] = others[i] * s[j]
    sign = 1.0 if np.linalg.det(u) * np.linalg.det(vh) > 0.0 else -1.0
    return np.dot(u * (sign * others), vh)


def solve_transposed(a: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The cotangent of the right side of a system of equations."""
    return np.linalg.solve(a.T, g)


def outer_of(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """-g x', of vectors or of matrices whose columns are meant."""
    if g.ndim == 1:
        return -np.outer(g, x)
    return -np.dot(g, x.T)


def inverse_adjoint(out: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The cotangent of a matrix from that of its inverse."""
    return -np.dot(np.dot(out.T, g), out.T)


def cholesky_adjoint(out: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The cotangent of a symmetric matrix from that of its lower Cholesky factor; both triangles receive half."""
    inner = np.dot(out.T, g)
    n = len(out)
    for i in range(n):
        inner[i, i] *= 0.5
        for j in range(i + 1, n):
            inner[i, j] = 0.0
    half = np.linalg.solve(out.T, np.linalg.solve(out.T, inner.T).T)
    return 0.5 * (half + half.T)


def eigvalsh_adjoint(a: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The cotangent of a symmetric matrix from that of its eigenvalues."""
    v = np.linalg.eigh(a)[1]
    return np.dot(v * g, v.T)
