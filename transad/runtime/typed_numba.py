"""The helpers of emitted code for Numba: the plain functions where they compile, loops where those compile faster."""
from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.core.errors import TypingError
from numba.core.ir_utils import alias_func_extensions
from numba.extending import overload, register_jitable

from transad.runtime import typed

_inline = {"error_model": "numpy", "nogil": True, "cache": True}

share_of_larger = register_jitable(typed.share_of_larger)
share_of_sum = register_jitable(typed.share_of_sum)
quotient = register_jitable(typed.quotient)
scatter_add = typed.scatter_add
take_scattered = typed.take_scattered
unbroadcast = typed.unbroadcast
summed = typed.summed
copy_to = typed.copy_to
gather = typed.gather
keep_zero = typed.keep_zero
share_of_extreme = typed.share_of_extreme
stop_gradient = typed.stop_gradient
power_x = typed.power_x
power_y = typed.power_y
stretched = typed.stretched
shadow_at = typed.shadow_at
part_of = register_jitable(typed.part_of)


@overload(typed.stop_gradient)
def _stop_gradient(x):      # type: ignore[no-untyped-def]
    if isinstance(x, types.Array):
        return lambda x: x.copy()
    return lambda x: x


@overload(typed.power_x)
def _power_x(x, n):      # type: ignore[no-untyped-def]
    if isinstance(x, types.Array) or isinstance(n, types.Array):
        def arrays(x, n):      # type: ignore[no-untyped-def]
            return n * np.power(x, np.where((x == 0) & (n == 0), 1.0, n - 1.0))
        return arrays
    return lambda x, n: 0.0 if n == 0 else n * math.pow(x, n - 1.0)


@overload(typed.power_y)
def _power_y(x, out):      # type: ignore[no-untyped-def]
    if isinstance(x, types.Array):
        return lambda x, out: out * np.log(np.where(x == 0, 1.0, x))
    return lambda x, out: 0.0 if x == 0 else out * np.log(x)


@overload(typed.summed)
def _summed(g):      # type: ignore[no-untyped-def]
    if not isinstance(g, types.Array):
        return lambda g: g

    def total(g):      # type: ignore[no-untyped-def]
        s = 0.0
        for v in g.flat:
            s += v
        return s
    return total


@overload(typed.copy_to)
def _copy_to(target, source):      # type: ignore[no-untyped-def]
    if target.ndim == 1:
        def one(target, source):      # type: ignore[no-untyped-def]
            if target.shape != source.shape:
                raise ValueError("an array changed its shape between the trips of a loop")
            for i in range(target.shape[0]):
                target[i] = source[i]
        return one
    if target.ndim == 2:
        def two(target, source):      # type: ignore[no-untyped-def]
            if target.shape != source.shape:
                raise ValueError("an array changed its shape between the trips of a loop")
            for i in range(target.shape[0]):
                for j in range(target.shape[1]):
                    target[i, j] = source[i, j]
        return two

    def several(target, source):      # type: ignore[no-untyped-def]
        if target.shape != source.shape:
            raise ValueError("an array changed its shape between the trips of a loop")
        target[...] = source
    return several


record_array = typed.record_array
replayed_1, replayed_2, replayed_3 = (register_jitable(f) for f in (
    typed.replayed_1, typed.replayed_2, typed.replayed_3))


@overload(typed.record_array)
def _record_array(values, dims, a):      # type: ignore[no-untyped-def]
    def record(values, dims, a):      # type: ignore[no-untyped-def]
        dims.append(len(values))
        for n in a.shape:
            dims.append(n)
        for v in a.flat:
            values.append(v)
    return record


@overload(typed.gather)
def _gather(a, index):      # type: ignore[no-untyped-def]
    return lambda a, index: a[index]


@overload(typed.scatter_add)
def _scatter_add(d_a, index, g):      # type: ignore[no-untyped-def]
    if index.ndim != 1:
        return None
    if isinstance(index.dtype, types.Boolean):
        def masked(d_a, index, g):      # type: ignore[no-untyped-def]
            k = 0
            for i in range(index.size):
                if index[i]:
                    d_a[i] += g[k]
                    k += 1
        return masked

    def indexed(d_a, index, g):      # type: ignore[no-untyped-def]
        for k in range(index.size):
            d_a[index[k]] += g[k]
    return indexed


@overload(typed.take_scattered)
def _take_scattered(d_a, index):      # type: ignore[no-untyped-def]
    if index.ndim != 1 or d_a.ndim > 3:
        return None
    if isinstance(index.dtype, types.Boolean):
        def masked(d_a, index):      # type: ignore[no-untyped-def]
            g = d_a[index]
            for i in range(index.size):
                if index[i]:
                    d_a[i] = 0.0
            return g
        return masked
    if d_a.ndim > 1:
        def rows(d_a, index):      # type: ignore[no-untyped-def]
            g = d_a[index]
            for k in range(index.size - 1, -1, -1):
                g[k] = d_a[index[k]]
                d_a[index[k]] = 0.0
            return g
        return rows

    def indexed(d_a, index):      # type: ignore[no-untyped-def]
        g = np.empty(index.size, d_a.dtype)
        for k in range(index.size - 1, -1, -1):
            g[k] = d_a[index[k]]
            d_a[index[k]] = 0.0
        return g
    return indexed


@overload(typed.keep_zero)
def _keep_zero(d, slope):      # type: ignore[no-untyped-def]
    if not isinstance(d, types.Array) and not isinstance(slope, types.Array):
        return lambda d, slope: 0.0 if d == 0.0 else d * slope
    if not isinstance(d, types.Array):
        return lambda d, slope: d * slope if d != 0.0 else np.zeros(slope.shape)
    return lambda d, slope: np.where(d == 0.0, 0.0, d * slope)


@overload(typed.stretched)
def _stretched(g, like):      # type: ignore[no-untyped-def]
    def fill(g, like):      # type: ignore[no-untyped-def]
        out = np.empty_like(like)
        out[...] = g
        return out
    return fill


@overload(typed.share_of_extreme)
def _share_of_extreme(x, out):      # type: ignore[no-untyped-def]
    def share(x, out):      # type: ignore[no-untyped-def]
        count = 0.0
        for v in x.flat:
            if v == out:
                count += 1.0
        return np.where(x == out, 1.0 / max(count, 1.0), 0.0)
    return share


@overload(typed.unbroadcast)
def _unbroadcast(g, x):      # type: ignore[no-untyped-def]
    if not isinstance(g, types.Array):
        return lambda g, x: g
    if g.ndim == x.ndim == 1:
        def one(g, x):      # type: ignore[no-untyped-def]
            if x.shape[0] == 1 and g.shape[0] != 1:
                s = 0.0
                for v in g:
                    s += v
                return np.full(1, s, g.dtype)
            return g.copy()
        return one
    if g.ndim == 2 and x.ndim == 1:
        def rows(g, x):      # type: ignore[no-untyped-def]
            out = np.zeros(x.shape[0], g.dtype)
            for i in range(g.shape[0]):
                for j in range(g.shape[1]):
                    out[j if x.shape[0] != 1 else 0] += g[i, j]
            return out
        return rows
    if g.ndim == x.ndim == 2:
        def two(g, x):      # type: ignore[no-untyped-def]
            out = np.zeros((x.shape[0] if g.shape[0] == x.shape[0] or x.shape[0] == 1 else g.shape[0],
                            x.shape[1] if g.shape[1] == x.shape[1] or x.shape[1] == 1 else g.shape[1]), g.dtype)
            for i in range(g.shape[0]):
                for j in range(g.shape[1]):
                    out[i if x.shape[0] != 1 else 0, j if x.shape[1] != 1 else 0] += g[i, j]
            return out
        return two
    if g.ndim < x.ndim:
        return lambda g, x: g
    if g.ndim > x.ndim:
        def leading(g, x):      # type: ignore[no-untyped-def]
            s = np.zeros(g.shape[1:], g.dtype)
            for i in range(g.shape[0]):
                s += g[i]
            return typed.unbroadcast(s, x)
        return leading
    if g.ndim == 3:
        return _three
    return None


def _three(g, x):      # type: ignore[no-untyped-def]
    out = np.zeros((x.shape[0] if x.shape[0] == 1 else g.shape[0], x.shape[1] if x.shape[1] == 1 else g.shape[1],
                    x.shape[2] if x.shape[2] == 1 else g.shape[2]), g.dtype)
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            for k in range(g.shape[2]):
                out[i if x.shape[0] != 1 else 0, j if x.shape[1] != 1 else 0, k if x.shape[2] != 1 else 0] += g[i, j, k]
    return out


def _digamma() -> object:
    from transad.rules.scalars import digamma
    return njit(**_inline)(digamma)


digamma = _digamma()
det_of, log_det, sign_of_det, cofactors, solve_transposed, inverse_adjoint, cholesky_adjoint = (register_jitable(f) for f in (
    typed.det_of, typed.log_det, typed.sign_of_det, typed.cofactors, typed.solve_transposed, typed.inverse_adjoint,
    typed.cholesky_adjoint))
ramp, eigvalsh_adjoint = register_jitable(typed.ramp), register_jitable(typed.eigvalsh_adjoint)
outer_of, reshaped = typed.outer_of, typed.reshaped


@overload(typed.reshaped)
def _reshaped(a, shape):      # type: ignore[no-untyped-def]
    if a.layout == "C":
        return lambda a, shape: a.reshape(shape)

    # Numba has no view of another shape for it, and a copy in its place would be written to for nobody.
    raise TypingError("reshape of an array that may not lie in memory row by row; copy it first: a.copy().reshape(...)")


@overload(typed.outer_of)
def _outer_of(g, x):      # type: ignore[no-untyped-def]
    if g.ndim == 1:
        return lambda g, x: -np.outer(g, x)
    return lambda g, x: -np.dot(g, x.T)


@overload(typed.shadow_at)
def _shadow_at(shadows, number, shape):      # type: ignore[no-untyped-def]
    none = (0,) * len(shape)

    def found(shadows, number, shape):      # type: ignore[no-untyped-def]
        while len(shadows) <= number:
            shadows.append(np.zeros(none, shadows[0].dtype))
        if shadows[number].size == 0:
            shadows[number] = np.zeros(shape, shadows[0].dtype)
        return shadows[number]
    return found


def _is_a_view(result: str, args: object, alias_map: object, arg_aliases: set[str]) -> None:
    arg_aliases.add(result)


# Numba removes stores into arrays that nobody reads afterwards, and does not know that these return views of others.
for _function in (typed.reshaped, typed.shadow_at, typed.part_of, typed.replayed_1, typed.replayed_2, typed.replayed_3):
    alias_func_extensions[_function.__name__, _function.__module__] = _is_a_view
