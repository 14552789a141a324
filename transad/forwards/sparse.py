"""Sparse Jacobians: columns (or rows) that share no row (no column) are computed in one sweep and taken apart.

The groups come from `scipy.optimize._numdiff.group_columns`, the colouring that SciPy's own solvers use (no library
that only does this is well kept). One more sweep in a random direction checks the pattern.

>>> import numpy as np
>>> from transad import jacobian
>>> def chain(v):
...     out = v * v
...     out[:-1] += v[1:]
...     return out
>>> pattern = np.eye(4) + np.eye(4, k=1)
>>> J = jacobian(chain, sparsity=pattern)(np.array([1.0, 2.0, 3.0, 4.0]))
>>> J.nnz, J.toarray()[0]
(7, array([2., 1., 0., 0.]))
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.forwards.sweeps import directed

__all__ = ["sparse_jacobian"]


class _Pattern:
    """Where a Jacobian may be non-zero, and the groups that can be computed together."""

    def __init__(self, sparsity: Any) -> None:
        from scipy.optimize._numdiff import group_columns
        from scipy.sparse import coo_array, issparse
        matrix = coo_array(sparsity) if issparse(sparsity) else coo_array(np.atleast_2d(np.asarray(sparsity) != 0))
        matrix.sum_duplicates()
        self.shape: Any = matrix.shape
        self.rows, self.columns = matrix.coords
        plain = coo_array((np.ones(len(self.rows)), (self.rows, self.columns)), shape=self.shape).tocsr()
        self.by_columns, self.by_rows = group_columns(plain), group_columns(plain.T.tocsr())

    @property
    def wide(self) -> bool:
        """Whether pullbacks of groups of rows are fewer than pushforwards of groups of columns."""
        return self.by_rows.max(initial=-1) < self.by_columns.max(initial=-1)

    def filled(self, data: np.ndarray) -> Any:
        from scipy.sparse import csr_array
        return csr_array((data, (self.rows, self.columns)), shape=self.shape)


def sparse_jacobian(function: Any, selection: Any, sparsity: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """The Jacobian of one array with respect to one array, as a scipy.sparse.csr_array.

    Raises InvalidArgument where the pattern has another shape than the Jacobian or lacks an entry of it."""
    pattern = _Pattern(sparsity)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        chosen = selection.resolve(args, kwargs)
        x = args[chosen[0]] if isinstance(chosen[0], int) else kwargs[chosen[0]]
        if len(chosen) != 1 or not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            raise InvalidArgument("jacobian with sparsity takes one array of floats as argument",
                                  instead="leave out sparsity, or pack the arguments into one array")
        if x.size != pattern.shape[1]:
            raise InvalidArgument(f"sparsity has {pattern.shape[1]} columns, the argument {x.size} numbers")
        probe = np.random.default_rng(0).uniform(0.5, 1.5, x.shape).astype(x.dtype)
        if pattern.wide:
            y, data, along = _from_rows(function, args, kwargs, chosen, pattern, probe)
        else:
            y, data, along = _from_columns(function, args, kwargs, chosen, pattern, probe, x, options)
        found = pattern.filled(data)
        _verified(found, probe, along, np.finfo(np.result_type(x, np.asarray(y))).eps)
        return found
    return matrix


def _sized(y: Any, pattern: _Pattern) -> None:
    if not isinstance(y, np.ndarray) or y.size != pattern.shape[0]:
        raise InvalidArgument(f"sparsity has {pattern.shape[0]} rows, the result "
                              + (f"{y.size} numbers" if isinstance(y, np.ndarray) else f"is a {type(y).__name__}"),
                              instead="return one array, and give a pattern of shape (y.size, x.size)")


def _from_columns(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], pattern: _Pattern,
                  probe: np.ndarray, x: np.ndarray, options: dict) -> tuple[Any, np.ndarray, np.ndarray]:
    """One direction for each group of columns, and the probe."""
    groups = pattern.by_columns
    count = int(groups.max(initial=-1)) + 1
    directions = [(groups == g).astype(x.dtype).reshape(x.shape) for g in range(count)]
    y, tangents = directed(function, args, kwargs, chosen, [*directions, probe], options)
    _sized(y, pattern)
    table = np.array([np.ravel(t) for t in tangents])
    return y, table[groups[pattern.columns], pattern.rows], table[-1]


def _from_rows(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], pattern: _Pattern,
               probe: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """One cotangent for each group of rows, and the sum over all rows along the probe."""
    from transad.api import run_pullback
    positions, names = [c for c in chosen if isinstance(c, int)], [c for c in chosen if isinstance(c, str)]
    y, back = run_pullback(function, args, kwargs, positions, names)
    _sized(y, pattern)
    groups = pattern.by_rows
    count = int(groups.max(initial=-1)) + 1
    table = np.array([np.ravel(back((groups == g).astype(y.dtype).reshape(y.shape))[0]) for g in range(count)])
    weights = np.random.default_rng(1).uniform(0.5, 1.5, y.shape).astype(y.dtype)
    along = np.ravel(back(weights)[0])
    return y, table.reshape(count, pattern.shape[1])[groups[pattern.rows], pattern.columns], np.array(
        [np.dot(along, np.ravel(probe)), *np.ravel(weights)])


def _verified(found: Any, probe: np.ndarray, along: np.ndarray, eps: float) -> None:
    """Raise where the derivative in a random direction is not that of the matrix."""
    product, scale = found @ np.ravel(probe), abs(found) @ np.ravel(probe)
    if len(along) == len(product) + 1:                   # rows: one number, and the weights of the rows
        product, scale, along = np.dot(along[1:], product), np.dot(along[1:], scale), along[0]
    off = np.abs(product - along)
    if np.any(off > 1e6 * eps * (np.abs(along) + scale)):
        raise InvalidArgument("the Jacobian has entries outside of the given sparsity",
                              instead="give a pattern with every place that can be non-zero, or leave out sparsity")
