"""Rules of sums of products: dot, matmul, tensordot, kron, cross and their relatives.

All are bilinear: the cotangent of one factor is a contraction of the cotangent of the result with the other.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.deferred import deferred_product
from transad.pool import matmul, multiply
from transad.rules import convolutions, covariance, einsum  # noqa: F401  (contractions too, in files of their own)
from transad.rules.algebra import conj, transposed, unbroadcast
from transad.rules.registry import adjoint

_V3, _W3 = np.array([0.5, -1.5, 2.0]), np.array([1.0, 0.3, -0.7])
_M23 = np.array([[1.0, -2.0, 0.4], [0.5, 1.5, -0.3]])
_M34 = np.arange(12.0).reshape(3, 4) / 7 - 0.5
_T234 = np.arange(24.0).reshape(2, 3, 4) / 11 - 1.0
_T213 = np.arange(6.0).reshape(2, 1, 3) / 5 - 0.4
_Z23 = _M23 + 1j * _M23[::-1, ::-1]


# ------------------------------------------------------------------------------------------ dot, inner, outer

_DOT_POINTS = [(_V3, _W3), (_M23, _V3), (_M23, _M34), (_V3, _M34), (2.0, _M23), (_M23, 0.7), (_V3, _T234),
               (_M23, np.swapaxes(_T234, 1, 2)[:, :3]), (_T213, _M34), (_Z23, _M34), (1.5, 2.0)]


@adjoint(np.dot, "a", at=_DOT_POINTS)
def _(g, out, a, b):
    if np.ndim(b) == 0:
        return g * b
    if np.ndim(a) == 0:
        return np.sum(g * b)
    if np.ndim(b) == 1:
        return np.expand_dims(g, -1) * b
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return np.dot(g, np.transpose(b))
    first, free = np.ndim(a) - 1, [k for k in range(np.ndim(b)) if k != np.ndim(b) - 2]
    return np.tensordot(g, b, axes=(list(range(first, np.ndim(g))), free))


@adjoint(np.dot, "b")
def _(g, out, a, b):
    if np.ndim(a) == 0:
        return g * a
    if np.ndim(b) == 0:
        return np.sum(g * a)
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return np.dot(np.transpose(a), g)
    leading = list(range(np.ndim(a) - 1))
    if np.ndim(b) == 1:
        return np.tensordot(g, a, axes=(leading, leading))
    return np.moveaxis(np.tensordot(a, g, axes=(leading, leading)), 0, -2)


@adjoint(np.vdot, "a", at=[(_V3, _W3), (_M23, _M23 + 1), (_Z23, _Z23 * 1j), (2.0, 3.0)])
def _(g, out, a, b):
    return np.reshape(conj(g * b), np.shape(a))


@adjoint(np.vdot, "b")
def _(g, out, a, b):
    return np.reshape(g * conj(a), np.shape(b))


@adjoint(np.inner, "a", at=[(_V3, _W3), (_M23, _V3), (_M23, _T213), (2.0, _M23), (_M23, 0.5)])
def _(g, out, a, b):
    if np.ndim(b) == 0:
        return g * b
    if np.ndim(a) == 0:
        return np.sum(g * b)
    rest = np.ndim(b) - 1
    return np.tensordot(g, b, axes=(list(range(np.ndim(g) - rest, np.ndim(g))), list(range(rest))))


@adjoint(np.inner, "b")
def _(g, out, a, b):
    if np.ndim(a) == 0:
        return g * a
    if np.ndim(b) == 0:
        return np.sum(g * a)
    leading = list(range(np.ndim(a) - 1))
    return np.tensordot(g, a, axes=(leading, leading))


@adjoint(np.outer, "a", at=[(_V3, _W3[:2]), (_M23, _V3), (2.0, _V3), (_Z23, _V3)])
def _(g, out, a, b):
    return np.reshape(np.dot(g, np.ravel(b)), np.shape(a))


@adjoint(np.outer, "b")
def _(g, out, a, b):
    return np.reshape(np.dot(np.ravel(a), g), np.shape(b))


@adjoint(np.linalg.outer, "x1", at=[(_V3, _W3[:2])])
def _(g, out, x1, x2):
    return np.dot(g, x2)


@adjoint(np.linalg.outer, "x2")
def _(g, out, x1, x2):
    return np.dot(x1, g)


# ----------------------------------------------------------------------------------------------------- matmul

def matmul_first(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of `a` in `a @ b`."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return matmul(g, np.transpose(b))
    if np.ndim(b) == 1:
        return unbroadcast(multiply(np.expand_dims(g, -1), b), a)
    if np.ndim(a) == 1:
        return unbroadcast(np.squeeze(matmul(np.expand_dims(g, -2), transposed(b)), -2), a)
    return unbroadcast(matmul(g, transposed(b)), a)


def matmul_second(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of `b` in `a @ b`."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return matmul(np.transpose(a), g)
    if np.ndim(a) == 1:
        return unbroadcast(np.expand_dims(a, -1) * np.expand_dims(g, -2) if np.ndim(b) > 1 else g * a, b)
    if np.ndim(b) == 1:
        return np.tensordot(g, a, axes=np.ndim(g))
    if np.ndim(b) == 2:
        leading = list(range(np.ndim(a) - 1))
        return np.tensordot(a, g, axes=(leading, leading))
    return unbroadcast(matmul(transposed(a), g), b)


_MATMUL_POINTS = [(_M23, _M34), (_V3, _W3), (_V3, _M34), (_M23, _V3), (_T234, np.transpose(_M34)),
                  (_M23, _T234),
                  (_T234, np.array([1.0, 0.5, -1.0, 2.0])), (_V3, _T234), (_T213, _T234), (_T213[0], _T234),
                  (np.reshape(_T234, (2, 1, 3, 4)), np.swapaxes(_T234, 1, 2)), (_Z23, _M34)]


@adjoint(np.matmul, "x1", at=_MATMUL_POINTS)
@adjoint(matmul, "x1", at=_MATMUL_POINTS)
@adjoint(deferred_product, "x1", at=_MATMUL_POINTS)
def _(g, out, x1, x2):
    if np.ndim(x2) > 1 and np.shape(out)[:-1] == np.shape(x1)[:-1]:
        return deferred_product(g, transposed(x2))
    return matmul_first(g, x1, x2)


@adjoint(np.matmul, "x2")
@adjoint(matmul, "x2")
@adjoint(deferred_product, "x2")
def _(g, out, x1, x2):
    return matmul_second(g, x1, x2)


@adjoint(np.linalg.matmul, "x1", at=[(_M23, _M34), (_V3, _T234)])
def _(g, out, x1, x2):
    return matmul_first(g, x1, x2)


@adjoint(np.linalg.matmul, "x2")
def _(g, out, x1, x2):
    return matmul_second(g, x1, x2)


@adjoint(np.vecdot, "x1", at=[(_V3, _W3), (_M23, _V3), (_T213, _M23), (_Z23, _Z23 * 1j)])
def _(g, out, x1, x2):
    return unbroadcast(conj(np.expand_dims(g, -1) * x2), x1)


@adjoint(np.vecdot, "x2")
def _(g, out, x1, x2):
    return unbroadcast(np.expand_dims(g, -1) * conj(x1), x2)


@adjoint(np.linalg.vecdot, "x1", at=[(_V3, _W3), (_M23, _V3)])
def _(g, out, x1, x2, axis=-1):
    return unbroadcast(conj(np.expand_dims(g, axis) * x2), x1)


@adjoint(np.linalg.vecdot, "x2")
def _(g, out, x1, x2, axis=-1):
    return unbroadcast(np.expand_dims(g, axis) * conj(x1), x2)


if hasattr(np, "matvec"):                                                                    # NumPy 2.2

    @adjoint(np.matvec, "x1", at=[(_M23, _V3), (_T234, _M34[:2]), (_Z23, _V3)])
    def _(g, out, x1, x2):
        return unbroadcast(np.expand_dims(g, -1) * np.expand_dims(x2, -2), x1)

    @adjoint(np.matvec, "x2")
    def _(g, out, x1, x2):
        return unbroadcast(np.squeeze(np.matmul(np.expand_dims(g, -2), x1), -2), x2)

    @adjoint(np.vecmat, "x1", at=[(_V3, _M34), (_M23, _T234[0]), (_Z23, _M34)])
    def _(g, out, x1, x2):
        return unbroadcast(conj(np.squeeze(np.matmul(x2, np.expand_dims(g, -1)), -1)), x1)

    @adjoint(np.vecmat, "x2")
    def _(g, out, x1, x2):
        return unbroadcast(np.expand_dims(conj(x1), -1) * np.expand_dims(g, -2), x2)


# -------------------------------------------------------------------------------------------------- tensordot

def contracted(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    """The axes that `np.tensordot` sums over, of both arrays, non-negative and paired."""
    if np.ndim(axes) == 0 and not isinstance(axes, tuple | list):
        count = int(axes)
        return list(range(rank_a - count, rank_a)), list(range(count))
    first, second = axes
    first = [first] if np.ndim(first) == 0 else list(first)
    second = [second] if np.ndim(second) == 0 else list(second)
    return [int(k) % rank_a for k in first], [int(k) % rank_b for k in second]


def _undo(order: list[int]) -> list[int]:
    return [order.index(k) for k in range(len(order))]


def tensordot_first(g: Any, a: Any, b: Any, axes: Any) -> Any:
    """The cotangent of `a` in `np.tensordot(a, b, axes)`."""
    in_a, in_b = contracted(axes, np.ndim(a), np.ndim(b))
    kept_a = [k for k in range(np.ndim(a)) if k not in in_a]
    kept_b = [k for k in range(np.ndim(b)) if k not in in_b]
    product = np.tensordot(g, b, axes=(list(range(len(kept_a), np.ndim(g))), kept_b))
    return np.transpose(product, _undo(kept_a + [in_a[in_b.index(k)] for k in sorted(in_b)]))


def tensordot_second(g: Any, a: Any, b: Any, axes: Any) -> Any:
    """The cotangent of `b` in `np.tensordot(a, b, axes)`."""
    in_a, in_b = contracted(axes, np.ndim(a), np.ndim(b))
    kept_a = [k for k in range(np.ndim(a)) if k not in in_a]
    kept_b = [k for k in range(np.ndim(b)) if k not in in_b]
    product = np.tensordot(a, g, axes=(kept_a, list(range(len(kept_a)))))
    return np.transpose(product, _undo([in_b[in_a.index(k)] for k in sorted(in_a)] + kept_b))


_TENSORDOT_POINTS = [(_M23, _M34, 1), (_T234, np.transpose(_T234, (2, 1, 0)), ((2, 1), (0, 1))),
                     (_M23, _M34, 0),
                     (_T234, _T234, ([0, 2], [0, 2])), (_V3, np.transpose(_M34), (0, 1)),
                     (_M23, _M23, [[-1, 0], [-1, 0]]),
                     (_T213, _T234, ((-1,), (1,))), (_Z23, _M34, 1), (_T234, np.arange(12.0).reshape(3, 4))]


@adjoint(np.tensordot, "a", at=_TENSORDOT_POINTS)
def _(g, out, a, b, axes=2):
    return tensordot_first(g, a, b, axes)


@adjoint(np.tensordot, "b")
def _(g, out, a, b, axes=2):
    return tensordot_second(g, a, b, axes)


@adjoint(np.linalg.tensordot, "x1", at=[(_M23, _M34)], keywords=[{"axes": 1}])
def _(g, out, x1, x2, axes=2):
    return tensordot_first(g, x1, x2, axes)


@adjoint(np.linalg.tensordot, "x2")
def _(g, out, x1, x2, axes=2):
    return tensordot_second(g, x1, x2, axes)


# ------------------------------------------------------------------------------------------------ kron, cross

def _interleaved(g: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Kronecker's product with the axes of the factors side by side, and both factors broadcast to it."""
    rank = max(np.ndim(a), np.ndim(b))
    shape_a = (1,) * (rank - np.ndim(a)) + np.shape(a)
    shape_b = (1,) * (rank - np.ndim(b)) + np.shape(b)
    both = tuple(size for pair in zip(shape_a, shape_b, strict=True) for size in pair)
    wide_a = tuple(size for n in shape_a for size in (n, 1))
    wide_b = tuple(size for n in shape_b for size in (1, n))
    return np.reshape(g, both), np.reshape(a, wide_a), np.reshape(b, wide_b)


@adjoint(np.kron, "a", at=[(_V3, _W3[:2]), (_M23, _M34), (_V3, _M23), (_T213, _V3), (2.0, _M23), (_Z23, _V3)])
def _(g, out, a, b):
    blocks, _, wide = _interleaved(g, a, b)
    return np.reshape(np.sum(blocks * wide, axis=tuple(range(1, np.ndim(blocks), 2))), np.shape(a))


@adjoint(np.kron, "b")
def _(g, out, a, b):
    blocks, wide, _ = _interleaved(g, a, b)
    return np.reshape(np.sum(blocks * wide, axis=tuple(range(0, np.ndim(blocks), 2))), np.shape(b))


def _in_space(a: Any, axis: int) -> Any:
    """Vectors along the last axis, a plane one with a third component 0."""
    a = np.moveaxis(a, axis, -1)
    if np.shape(a)[-1] == 3:
        return a
    return np.concatenate((a, np.zeros(np.shape(a)[:-1] + (1,))), axis=-1)


def _cross(g: Any, a: Any, b: Any, axisa: int, axisb: int, axisc: int, axis: Any, first: bool) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    plane = np.shape(a)[axisa] == 2 and np.shape(b)[axisb] == 2
    if plane:
        g = np.stack((np.zeros(np.shape(g)), np.zeros(np.shape(g)), g), axis=-1)
    else:
        g = np.moveaxis(g, axisc, -1)
    if first:
        product, like, where = np.cross(_in_space(b, axisb), g), a, axisa
    else:
        product, like, where = np.cross(g, _in_space(a, axisa)), b, axisb
    target = np.moveaxis(like, where, -1)
    return np.moveaxis(unbroadcast(product[..., :np.shape(target)[-1]], target), -1, where)


_CROSS_POINTS = [(_V3, _W3), (_M23, _V3), (_V3, _M23), (_T213, _M23), (np.transpose(_M23), _M23, 0, 1, 0),
                 (_M34[:, :3], _M34[:, 1:], -1, -1, -1, 0), (_Z23, _V3)]


@adjoint(np.cross, "a", at=_CROSS_POINTS)
def _(g, out, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    return _cross(g, a, b, axisa, axisb, axisc, axis, True)


@adjoint(np.cross, "b")
def _(g, out, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    return _cross(g, a, b, axisa, axisb, axisc, axis, False)


@adjoint(np.linalg.cross, "x1", at=[(_V3, _W3), (_M34[:, :3], _M34[:, 1:])], keywords=[{}, {"axis": 0}])
def _(g, out, x1, x2, axis=-1):
    return _cross(g, x1, x2, axis, axis, axis, None, True)


@adjoint(np.linalg.cross, "x2")
def _(g, out, x1, x2, axis=-1):
    return _cross(g, x1, x2, axis, axis, axis, None, False)
