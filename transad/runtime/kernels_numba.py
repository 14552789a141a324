"""What the text of maps calls, for compiled code."""
from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from transad.runtime import kernels
from transad.runtime.kernels import (
    LEAST_WORK,
    MEMORY,
    MOST_CHUNKS,
    SUMMED,
    WORTH_THREADS,
    ItemFailed,
    added,
    scaled_array,
    scaled_in_place,
    summed_chunks,
)

scaled = register_jitable(kernels.scaled)


@register_jitable
def chunk_count(n, work, shared):      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    chunks = min(MOST_CHUNKS, n, int(work / LEAST_WORK))
    if shared > 0:
        chunks = min(chunks, int((work / (SUMMED * shared)) ** 0.5), MEMORY // shared)
    return max(chunks, 1)


@intrinsic
def _thread_count(typingctx):      # type: ignore[no-untyped-def]
    """The threads that the next map may use: Numba's own symbol, by name, so that compiled code can be cached."""
    def codegen(context, builder, signature, args):      # type: ignore[no-untyped-def]
        kind = ir.FunctionType(ir.IntType(32), [])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "get_num_threads"), [])
    return types.int32(), codegen


@register_jitable
def as_many_as_threads(chunks):      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    return min(chunks, max(_thread_count(), 1))      # pyright: ignore[reportCallIssue]


@register_jitable
def use_threads(work, chunks):      # type: ignore[no-untyped-def]
    """Whether threads are worth their launch. (Asked at run time: compiled code is cached for any number of them.)"""
    return chunks > 1 and work > WORTH_THREADS and _thread_count() > 1      # pyright: ignore[reportCallIssue]


@intrinsic
def natural(typingctx, i):      # type: ignore[no-untyped-def]
    """As in `kernels`. (A range of unknown start hides it from LLVM, also where the start was tested.)"""
    if not isinstance(i, types.Integer):
        return None

    def codegen(context, builder, signature, args):      # type: ignore[no-untyped-def]
        assume = builder.module.declare_intrinsic("llvm.assume", (), ir.FunctionType(ir.VoidType(), [ir.IntType(1)]))
        builder.call(assume, [builder.icmp_signed(">=", args[0], ir.Constant(args[0].type, 0))])
        return args[0]
    return i(i), codegen


def _external(symbol):      # type: ignore[no-untyped-def]
    """A call of a function known by name (see `blas_threads`)."""
    @intrinsic
    def called(typingctx):      # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):      # type: ignore[no-untyped-def]
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), [])
            return context.get_dummy_value()
        return types.none(), codegen
    return called


_limit_blas, _release_blas = _external("transad_limit_blas"), _external("transad_release_blas")


@register_jitable
def limit_blas():      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    _limit_blas()      # pyright: ignore[reportCallIssue]


@register_jitable
def release_blas():      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    _release_blas()      # pyright: ignore[reportCallIssue]


@overload(kernels.scaled_array)
def _scaled_array(d, slope):      # type: ignore[no-untyped-def]
    if slope.ndim == 1:
        def one(d, slope):      # type: ignore[no-untyped-def]
            out = np.zeros_like(slope)
            if d != 0.0:
                for i in range(slope.shape[0]):
                    out[i] = d * slope[i]
            return out
        return one

    def some(d, slope):      # type: ignore[no-untyped-def]
        out = np.zeros_like(slope)
        if d != 0.0:
            source, target = slope.reshape(slope.size), out.reshape(slope.size)
            for i in range(source.shape[0]):
                target[i] = d * source[i]
        return out
    return some if isinstance(slope, types.Array) and slope.layout == "C" else (
        lambda d, slope: d * slope if d != 0.0 else np.zeros_like(slope))


@overload(kernels.scaled_in_place)
def _scaled_in_place(d, slope):      # type: ignore[no-untyped-def]
    if slope.ndim == 1:
        def one(d, slope):      # type: ignore[no-untyped-def]
            if d == 0.0:
                slope[:] = 0.0
            elif d != 1.0:
                for i in range(slope.shape[0]):
                    slope[i] *= d
            return slope
        return one

    def some(d, slope):      # type: ignore[no-untyped-def]
        if d != 1.0:
            slope[...] = scaled_array(d, slope)
        return slope
    return some


@overload(kernels.added)
def _added(a, b):      # type: ignore[no-untyped-def]
    if a.ndim == 1:
        def one(a, b):      # type: ignore[no-untyped-def]
            out = np.empty_like(a)
            for i in range(a.shape[0]):
                out[i] = a[i] + b[i]
            return out
        return one
    return lambda a, b: a + b


@register_jitable
def clear_around(a, first, last):      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    for i in range(0, min(first, a.shape[0])):
        a[i] = 0.0
    for i in range(last, a.shape[0]):
        a[i] = 0.0


@overload(kernels.summed_chunks)
def _summed_chunks(parts):      # type: ignore[no-untyped-def]
    def flat(parts):      # type: ignore[no-untyped-def]
        total = parts[0].copy()
        source, target = parts.reshape(parts.shape[0], total.size), total.reshape(total.size)
        for c in range(1, source.shape[0]):
            for i in range(source.shape[1]):
                target[i] += source[c, i]
        return total
    return flat


@register_jitable
def joined(parts, dims, step):      # type: ignore[no-untyped-def]
    """As in `kernels`."""
    size = count = 0
    for c in range(len(parts)):
        size += len(parts[c])
        count += len(dims[c])
    values, places = np.empty(size, parts[0].dtype), np.empty(count, np.int64)
    first = k = 0
    for c in range(len(parts)):
        part, dim = parts[c], dims[c]
        values[first:first + len(part)] = part
        for j in range(len(dim)):
            places[k + j] = dim[j] + (first if j % step == 0 else 0)
        first, k = first + len(part), k + len(dim)
    return values, places


__all__ = ["ItemFailed", "added", "as_many_as_threads", "chunk_count", "clear_around", "joined", "limit_blas", "natural",
           "prange", "release_blas", "scaled", "scaled_array", "scaled_in_place", "summed_chunks", "use_threads"]
