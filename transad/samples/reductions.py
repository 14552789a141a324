"""Folding per-sample gradients chunk by chunk, without holding all of them.

>>> fold = reduction(("clipped_sum", 1.0))
>>> fold.start(2, [(2,)], [np.dtype(float)])
>>> fold.add(0, [np.array([[3.0, 4.0], [0.0, 0.5]])])
>>> fold.result()
[array([0.6, 1.3])]
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.tree import map_tree

__all__ = ["Reduction", "reduction"]


class Reduction:
    """`start(samples, shapes, dtypes)`, then `add(first, rows)` for each chunk in order, then `result()`: a list with one
    array per leaf, or anything else as it is. `pairs`: `pair` is called for every chunk and every earlier one;
    `structured`: `add` gets gradients in the structure of the arguments, in memory of their own."""

    pairs = structured = False

    def start(self, n: int, shapes: list[tuple[int, ...]], dtypes: list[Any]) -> None:
        self.n = n
        self.totals = [np.zeros(s, d) for s, d in zip(shapes, dtypes, strict=True)]

    def add(self, first: int, rows: Any) -> None:
        for total, row in zip(self.totals, rows, strict=True):
            total += self.sum_of(row)

    def sum_of(self, row: np.ndarray) -> np.ndarray:
        return row.sum(axis=0)

    def pair(self, first: int, rows: list[np.ndarray], other: int, others: list[np.ndarray]) -> None:
        raise NotImplementedError

    def result(self) -> Any:
        return self.totals

    def recorded(self, grads: Any, n: int) -> Any:
        """The same of stacked gradients in a function that is being differentiated."""
        from transad.runtime.calls import call
        return map_tree(lambda g: call(np.sum, g, axis=0), grads)


class _Mean(Reduction):
    def recorded(self, grads: Any, n: int) -> Any:
        from transad.runtime.calls import call
        return map_tree(lambda g: call(np.mean, g, axis=0), grads)

    def result(self) -> Any:
        return [t / max(self.n, 1) for t in self.totals]


class _Clipped(Reduction):
    def __init__(self, most: float) -> None:
        self.most = most

    def add(self, first: int, rows: list[np.ndarray]) -> None:
        flat = [r.reshape(len(r), -1) for r in rows]
        length = np.sqrt(sum(np.einsum("ij,ij->i", f, f.conj()).real for f in flat))
        factor = self.most / np.maximum(length, self.most)
        for total, f in zip(self.totals, flat, strict=True):
            total += np.einsum("i,ij->j", factor, f).reshape(total.shape)      # not BLAS: the same bits at any threads


class _Gram(Reduction):
    pairs = True

    def start(self, n: int, shapes: list[tuple[int, ...]], dtypes: list[Any]) -> None:
        self.matrix = np.zeros((n, n), np.result_type(np.float32, *dtypes) if dtypes else np.float64)

    def add(self, first: int, rows: list[np.ndarray]) -> None:
        self.pair(first, rows, first, rows)

    def pair(self, first: int, rows: list[np.ndarray], other: int, others: list[np.ndarray]) -> None:
        for a, b in zip(rows, others, strict=True):
            block = a.reshape(len(a), -1) @ b.reshape(len(b), -1).conj().T
            self.matrix[first:first + len(a), other:other + len(b)] += block
            if first != other:
                self.matrix[other:other + len(b), first:first + len(a)] += block.conj().T

    def result(self) -> Any:
        return self.matrix


class _Folded(Reduction):
    structured = True

    def __init__(self, fold: Any) -> None:
        self.fold = fold

    def start(self, n: int, shapes: list[tuple[int, ...]], dtypes: list[Any]) -> None:
        self.state = None

    def add(self, first: int, rows: Any) -> None:
        self.state = self.fold(self.state, rows)

    def result(self) -> Any:
        return self.state


def reduction(given: Any) -> Reduction | None:
    """The reduction that `reduce=` asks for; None to keep all gradients."""
    if given is None:
        return None
    if given == "sum":
        return Reduction()
    if given == "mean":
        return _Mean()
    if given == "gram":
        return _Gram()
    if isinstance(given, tuple) and len(given) == 2 and given[0] == "clipped_sum":
        if not given[1] > 0:
            raise InvalidArgument(f"reduce={given!r}", instead="the length to clip at is positive")
        return _Clipped(float(given[1]))
    if callable(given):
        return _Folded(given)
    raise InvalidArgument(f"reduce={given!r}",
                          instead='reduce is "sum", "mean", ("clipped_sum", length), "gram" or fold(state, gradients)')
