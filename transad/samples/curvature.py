"""Curvature from first derivatives: Gauss-Newton products and Fisher matrices."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.tree import leaves_of

__all__ = ["fisher", "ggn_vp"]


def ggn_vp(model: Callable, loss: Callable, params: Any, v: Any) -> Any:
    """The Gauss-Newton matrix of `loss(model(params))` times `v`: `J^T H J v`, never made as a matrix.

    J is the Jacobian of `model(params)` (an array, or a structure of them) and H the Hessian of `loss` at the model's
    result, which is one real number. `v` and the result have the structure of `params`. Where H is positive semidefinite
    (a convex loss) so is the product. Cost: one forward product of the model, one Hessian product of the loss, one
    pullback of the model. Schraudolph (2002), Neural Computation 14, 1723.
    """
    from transad import hvp, jvp, pullback
    z, dz = jvp(model, (params,), (v,))
    _, back = pullback(model, params)
    return back(hvp(loss, (z,), (dz,)))[0]


def fisher(log_likelihood: Callable, params: Any, *data: Any, in_axes: Any = None, chunk: int | None = None,
           threads: int | None = None) -> np.ndarray:
    """The empirical Fisher matrix: the mean over samples of `g g^T`, where g is the gradient of
    `log_likelihood(params, *sample)` with respect to the parameters.

    The result is a matrix of shape (p, p) for p numbers in `params`, in the order of `transad.tree.leaves_of`, each array
    row by row. `in_axes` and `chunk` as in `per_sample_grad` (default: samples along the first axis of all `data`); the
    gradients of a chunk are held at a time. With samples drawn from the model itself it estimates the Fisher information;
    with observed ones it is the empirical matrix, which differs from it away from the maximum (Kunstner, Balles and
    Hennig 2019, NeurIPS). Raises InvalidArgument where the samples of `data` differ in number or there are none.
    """
    from transad.samples.per_sample import per_sample_grad

    def add(state: Any, grads: Any) -> tuple[int, np.ndarray]:
        leaves = [g for g in leaves_of(grads) if g is not None]
        n = len(leaves[0])
        flat = np.concatenate([np.reshape(g, (n, -1)) for g in leaves], axis=1)
        block = flat.T @ flat
        return (n, block) if state is None else (state[0] + n, state[1] + block)
    axes: Sequence[Any] | None = in_axes
    found = per_sample_grad(log_likelihood, 0, axes, chunk=chunk, reduce=add, threads=threads)(params, *data)
    if found is None:
        raise InvalidArgument("fisher of no samples")
    count, total = found
    return total / count
