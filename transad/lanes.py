"""The gradient of each loss of a batch from one forward sweep, where the function of one row cannot be had."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument, NotScalar
from transad.tree import children

__all__ = ["gradients_of_losses"]


def gradients_of_losses(function: Callable, args: tuple, argnums: list[int], axes: Sequence[int | None], n: int
                        ) -> tuple[np.ndarray, Callable]:
    """`(losses, fill)`: one forward sweep over the batch. `fill(first, last, rows)` writes the gradients of the losses
    from `first` to `last`, an entry of `rows` per array of the arguments at `argnums`; of an argument with samples (its
    axis is in `axes`) it writes the part that belongs to the sample."""
    from transad.api import run_pullback
    y, back = run_pullback(function, args, {}, argnums)
    if np.shape(y) != (n,) or np.asarray(y).dtype.kind != "f":
        what = f"shape {np.shape(y)}" if np.shape(y) != (n,) else f"dtype {np.asarray(y).dtype}"
        raise NotScalar(f"batched=True needs a function that returns one real loss per sample, shape ({n},); this one "
                        f"returns {what}")

    def fill(first: int, last: int, rows: list[np.ndarray]) -> None:
        unit = np.zeros(n, y.dtype)
        for i in range(first, last):
            unit[i] = 1.0
            found = [own(leaf, axes[k], i) for k, g in zip(argnums, back(unit), strict=True)
                     for leaf in paired(args[k], g)]
            unit[i] = 0.0
            for row, g in zip(rows, found, strict=True):
                row[i - first] = g
    return y, fill


def own(g: Any, axis: int | None, i: int) -> Any:
    """Of the gradient with respect to all samples the part of sample `i`, where the others have none."""
    if axis is None:
        return g
    mine = np.moveaxis(g, axis, 0)[i]
    if np.count_nonzero(g) > np.count_nonzero(mine):
        raise InvalidArgument(f"the loss of sample {i} depends on other samples, which are differentiated",
                              instead="use jacobian, which gives the gradient of every loss with respect to all samples")
    return mine


def differentiable(leaf: Any) -> bool:
    """Whether a gradient has an entry for a leaf of an argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "fciu"
    return isinstance(leaf, int | float | complex) and not isinstance(leaf, bool)


def paired(like: Any, gradient: Any) -> list[Any]:
    """The leaves of a gradient that belong to numbers and arrays."""
    kids = children(like)
    if kids is None:
        return [gradient] if differentiable(like) else []
    return [x for (_, a), (_, g) in zip(kids, children(gradient) or [], strict=True) for x in paired(a, g)]
