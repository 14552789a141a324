"""Products of matrices that wait until it is known whether only sums of them are wanted.

The cotangent of `a` in `a @ b` is a product as large as `a`. Where `a` was stretched from something smaller (`x - means`),
it is summed again at once, and the sum over rows of a product is the product of the sum.

>>> g, b = np.arange(6.0).reshape(3, 2), np.array([[1.0, 2.0], [3.0, 4.0]])
>>> Product(g, b).summed((1, 2)), Product(g, b).whole().sum(axis=0)
(array([[33., 48.]]), array([33., 48.]))
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.pool import SMALLEST, matmul
from transad.rules.linear import summed
from transad.runtime.sweep import live

__all__ = ["Product", "computed", "deferred_product", "is_deferred"]


class Product:
    """`left @ right`, computed when it is asked for."""

    __slots__ = ("_found", "dtype", "left", "right", "shape")

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        self.left, self.right, self.dtype = left, right, left.dtype
        self.shape = (*left.shape[:-1], right.shape[-1])
        self._found: Any = None

    def whole(self) -> np.ndarray:
        """The product."""
        found = self._found
        if found is None:
            found = self._found = matmul(self.left, self.right)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The product, for NumPy."""
        return np.array(self.whole(), dtype, copy=copy)

    def summed(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """The product summed to a shape that was stretched to its own; None where that needs the whole product."""
        lead = len(self.shape) - len(shape)
        axes = tuple(k for k, n in enumerate(self.shape) if k < lead or (shape[k - lead] == 1 and n != 1))
        rows = len(self.shape) - 2
        if self._found is not None or not axes or any(k != rows and (k > rows or self.right.ndim > 2) for k in axes):
            return None
        return np.reshape(matmul(summed(self.left, axes), self.right), shape)


def deferred_product(a: Any, b: Any) -> Any:
    """`a @ b` for the one result of an adjoint: a `Product` where it is large and no derivative of it will be asked for."""
    if (not live() and type(a) is np.ndarray and type(b) is np.ndarray and a.dtype == b.dtype and a.dtype.kind == "f"
            and a.ndim >= b.ndim > 1 and (b.ndim == 2 or a.shape[:-2] == b.shape[:-2])
            and a.nbytes // a.shape[-1] * b.shape[-1] >= SMALLEST):
        return Product(a, b)
    return matmul(a, b)


def is_deferred(g: Any) -> bool:
    """Whether a cotangent is a product that was not computed yet."""
    return type(g) is Product


def computed(g: Any) -> Any:
    """A cotangent as an array or number."""
    return g.whole() if type(g) is Product else g
