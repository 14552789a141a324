"""Sparse matrices of `scipy.sparse`: products with dense vectors and matrices, `spsolve`; and the stored numbers.

Both are functions of (data, rows, columns), so that the adjoint of each is the other way round of itself: derivatives
with respect to the dense operand and to the numbers stored, to any order, never forming a dense matrix.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sps
import scipy.sparse.linalg as spl

from transad.errors import Unsupported
from transad.rules.registry import adjoint, composite
from transad.runtime.calls import is_active_now
from transad.runtime.plainly import plainly

_R, _C = np.array([0, 1, 2, 2, 0]), np.array([0, 1, 2, 0, 2])
_D, _X, _M = np.array([2.0, 3.0, 4.0, -0.5, 0.7]), np.array([0.3, -1.2, 0.8]), np.arange(6.0).reshape(3, 2) / 3 + 0.1


def sparse_product(data: Any, rows: Any, columns: Any, height: int, x: Any) -> Any:
    """A @ x for the matrix with data[k] at (rows[k], columns[k])."""
    return sps.coo_array((data, (rows, columns)), shape=(height, len(x))) @ x


def sparse_solve(data: Any, rows: Any, columns: Any, height: int, b: Any) -> Any:
    """A^-1 b for the matrix with data[k] at (rows[k], columns[k])."""
    found = spl.spsolve(sps.csc_array((data, (rows, columns)), shape=(height, height)), b)
    return np.reshape(found, np.shape(b))


def _paired(left: Any, right: Any) -> Any:
    """The products entry by entry, summed over further columns."""
    product = left * right
    return np.sum(product, axis=1) if np.ndim(product) == 2 else product


@adjoint(sparse_product, "data", "x", at=[(_D, _R, _C, 3, _X), (_D, _R, _C, 3, _M)])
def _(g, out, data, rows, columns, height, x):
    return _paired(g[rows], x[columns]), sparse_product(data, columns, rows, len(x), g)


@adjoint(sparse_solve, "data", "b", at=[(_D, _R, _C, 3, _X), (_D, _R, _C, 3, _M)])
def _(g, out, data, rows, columns, height, b):
    back = sparse_solve(data, columns, rows, height, g)
    return -_paired(back[rows], out[columns]), back


def triples(matrix: Any) -> tuple[Any, Any, Any]:
    """(data, rows, columns) of a sparse matrix, whose data may be active."""
    kind = matrix.format
    if kind in ("csr", "csc"):
        lines = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
        return (matrix.data, lines, matrix.indices) if kind == "csr" else (matrix.data, matrix.indices, lines)
    if kind == "coo":
        return matrix.data, matrix.coords[0], matrix.coords[1]
    if kind == "dia":
        columns = np.tile(np.arange(np.shape(matrix.data)[1]), len(matrix.offsets))
        rows = columns - np.repeat(matrix.offsets, np.shape(matrix.data)[1])
        inside = (rows >= 0) & (rows < matrix.shape[0]) & (columns < matrix.shape[1])
        return np.ravel(matrix.data)[inside], rows[inside], columns[inside]
    if is_active_now(matrix):
        raise Unsupported(f"active values in a sparse matrix of format {kind}",
                          instead="build it as csr_array((data, (rows, columns)), shape=...)")
    other = matrix.tocoo()
    return other.data, other.coords[0], other.coords[1]


def _dense(other: Any) -> bool:
    return not sps.issparse(other) and np.ndim(other) in (1, 2)


def times(matrix: Any, other: Any) -> Any:
    """matrix @ other for a dense `other`."""
    if sps.issparse(other):
        raise Unsupported("the product of two sparse matrices, differentiated",
                          instead="apply the matrices to a dense vector one after the other")
    other = np.asarray(other)
    if np.ndim(other) == 0:
        return _scaled(matrix, other)
    if np.shape(other)[0] != matrix.shape[1]:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={matrix.shape[1]}),(k={np.shape(other)[0]},m)")
    data, rows, columns = triples(matrix)
    return sparse_product(data, rows, columns, matrix.shape[0], other)


def times_left(matrix: Any, other: Any) -> Any:
    """other @ matrix for a dense `other`."""
    other = np.asarray(other)
    data, rows, columns = triples(matrix)
    product = sparse_product(data, columns, rows, matrix.shape[1], np.transpose(other))
    return np.transpose(product)


def _scaled(matrix: Any, number: Any) -> Any:
    data, rows, columns = triples(matrix)
    return built(_compressed(matrix), data * number, rows, columns, matrix.shape)


def _compressed(matrix: Any) -> type:
    """The class of the matrix, or CSR where that is not compressed."""
    if matrix.format in ("csr", "csc"):
        return type(matrix)
    return sps.csr_array if isinstance(matrix, sps.sparray) else sps.csr_matrix


def _sum(left: Any, right: Any, sign: float) -> Any:
    """left + sign * right"""
    if not sps.issparse(right):
        return left.toarray() + sign * np.asarray(right)
    one, other = triples(left), triples(right)
    data = np.concatenate([one[0] * 1.0, sign * other[0]])
    return built(_compressed(left), data, np.concatenate([one[1], other[1]]), np.concatenate([one[2], other[2]]),
                 left.shape)


def built(kind: type, data: Any, rows: Any, columns: Any, shape: tuple) -> Any:
    """A sparse matrix of some class from triples whose data may be active: duplicates are summed, lines sorted."""
    by_columns = issubclass(kind, (sps.csc_array, sps.csc_matrix))
    major, minor = (columns, rows) if by_columns else (rows, columns)
    lines, width = (shape[1], shape[0]) if by_columns else (shape[0], shape[1])
    places, slots = np.unique(np.asarray(major, dtype=np.int64) * width + minor, return_inverse=True)
    values = np.zeros(len(places), data.dtype)
    np.add.at(values, slots, data)
    pointers = np.searchsorted(places, np.arange(lines + 1, dtype=np.int64) * width)
    matrix = plainly(kind, (np.zeros(len(places), data.dtype), places % width, pointers), shape=shape)
    matrix.data = values
    return matrix


def _method(name: str) -> list[Any]:
    """The functions behind a method of all classes of sparse matrices."""
    kinds = (sps.csr_array, sps.csr_matrix, sps.csc_array, sps.csc_matrix, sps.coo_array, sps.coo_matrix,
             sps.dia_array, sps.bsr_array, sps.lil_array, sps.dok_array, sps.dia_matrix, sps.bsr_matrix)
    found: list[Any] = []
    for kind in kinds:
        function = getattr(kind, name, None)
        if function is not None and not any(function is each for each in found):
            found.append(function)
    return found


@composite(*_method("__matmul__"), *_method("dot"))
def _(self, other):
    return times(self, other)


@composite(sps.csr_matrix.__mul__)
def _(self, other):
    return times(self, other)


@composite(*_method("__rmatmul__"), sps.csr_matrix.__rmul__)
def _(self, other):
    return _scaled(self, other) if np.ndim(other) == 0 else times_left(self, other)


@composite(*_method("__add__"))
def _(self, other):
    return _sum(self, other, 1.0)


@composite(*_method("__sub__"))
def _(self, other):
    return _sum(self, other, -1.0)


@composite(*_method("tocsr"))
def _(self, copy=False):
    if self.format == "csr":
        return self
    return built(sps.csr_array if isinstance(self, sps.sparray) else sps.csr_matrix, *triples(self), self.shape)


@composite(*_method("tocsc"))
def _(self, copy=False):
    if self.format == "csc":
        return self
    return built(sps.csc_array if isinstance(self, sps.sparray) else sps.csc_matrix, *triples(self), self.shape)


@composite(*_method("toarray"))
def _(self, order=None, out=None):
    data, rows, columns = triples(self)
    dense = np.zeros(self.shape, data.dtype)
    np.add.at(dense, (rows, columns), data)
    return dense


@composite(spl.spsolve)
def _(A, b, permc_spec=None, use_umfpack=True):
    if sps.issparse(b):
        raise Unsupported("scipy.sparse.linalg.spsolve with a sparse right side, differentiated",
                          instead="give the right side as a dense array")
    b = np.asarray(b)
    data, rows, columns = triples(A)
    column = np.ndim(b) == 2 and np.shape(b)[1] == 1
    found = sparse_solve(data, rows, columns, A.shape[0], np.ravel(b) if column else b)
    return found


# Factorisations: the matrix is constant

def factor_solve(factors: Any, rhs: Any, trans: str = "N") -> Any:
    """The solution from the factors that `splu` made."""
    return factors.solve(rhs, trans)


@adjoint(factor_solve, "rhs", at=[(spl.splu(sps.csc_array((_D, (_R, _C)), shape=(3, 3))), _X)])
def _(g, out, factors, rhs, trans="N"):
    if trans == "H" or np.iscomplexobj(g):
        raise Unsupported("the conjugate transpose in SuperLU.solve, differentiated", instead="conjugate by hand")
    return factor_solve(factors, g, "T" if trans == "N" else "N")


@composite(spl.SuperLU.solve)
def _(self, rhs, trans="N"):
    return factor_solve(self, rhs, trans)


def _constructor(kind: type) -> None:
    """`kind((data, (rows, columns)), shape)` and `kind((data, indices, indptr), shape)` with active data."""
    original = kind.__init__

    @composite(original)
    def _(self, arg1, shape=None, dtype=None, copy=False, *, maxprint=None):
        return filled(self, original, arg1, shape, dtype, copy)


def filled(self: Any, original: Any, arg1: Any, shape: Any, dtype: Any, copy: bool) -> None:
    """Construct the pattern on plain numbers, then put in the active data."""
    if not isinstance(arg1, tuple) or len(arg1) not in (2, 3) or not isinstance(self, (
            sps.csr_array, sps.csr_matrix, sps.csc_array, sps.csc_matrix, sps.coo_array, sps.coo_matrix)):
        raise Unsupported(f"{type(self).__name__} made from active values in this way",
                          instead="build it as csr_array((data, (rows, columns)), shape=...)")
    data = np.asarray(arg1[0]) * 1.0
    if len(arg1) == 3 or self.format == "coo":
        plainly(original, self, arg1, shape, dtype, copy)
        self.data = data
        return
    rows, columns = (np.asarray(part) for part in arg1[1])
    plainly(original, self, arg1, shape, dtype, copy)
    made = built(type(self), data, rows, columns, self.shape)
    self.indices, self.indptr, self.data = made.indices, made.indptr, made.data


for _kind in (sps.csr_array, sps.coo_array):
    _constructor(_kind)
