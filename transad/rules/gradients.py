"""`np.gradient`, written out: differences over neighbours, one-sided at the ends (also along coordinates that are active)."""
# Parameters mirror NumPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules.linear import slice_axis
from transad.rules.registry import composite


def _steps(steps: Any, ndim: int, axis: int) -> tuple[Any, Any]:
    """The distances to the left and right neighbour of each inner element, shaped to go along `axis`."""
    gaps = np.reshape(np.diff(steps), (-1,) + (1,) * (ndim - axis - 1))
    return slice_axis(gaps, 0, None, -1), slice_axis(gaps, 0, 1, None)


def _inner(rows: Any, step: Any) -> Any:
    if np.ndim(step) == 0:
        return (rows[2:] - rows[:-2]) / (2.0 * step)
    left, right = _steps(step, np.ndim(rows), 0)
    both = left + right
    return (-right / (left * both)) * rows[:-2] + ((right - left) / (left * right)) * rows[1:-1] + (
        left / (right * both)) * rows[2:]


def _end(rows: Any, step: Any, edge_order: int) -> Any:
    """The first row; rows and steps come turned round for the last one."""
    gaps = (step, step) if np.ndim(step) == 0 else (step[1] - step[0], step[2] - step[1] if len(step) > 2 else None)
    if edge_order == 1:
        return (rows[1:2] - rows[:1]) / gaps[0]
    near, far = gaps
    both = near + far
    return (-(2.0 * near + far) / (near * both)) * rows[:1] + (both / (near * far)) * rows[1:2] - (
        near / (far * both)) * rows[2:3]


def _along(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    rows = np.moveaxis(f, axis, 0)
    last = _end(np.flip(rows, 0), -step if np.ndim(step) == 0 else np.flip(step), edge_order)
    parts = [_end(rows, step, edge_order), _inner(rows, step), last]
    return np.moveaxis(np.concatenate(parts, axis=0), 0, axis)


@composite(np.gradient)
def _(f, *varargs, axis=None, edge_order=1):
    f = np.asarray(f)
    chosen = range(np.ndim(f)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [each % np.ndim(f) for each in chosen]
    steps = list(varargs) if len(varargs) == len(axes) else (list(varargs) or [1.0]) * len(axes)
    steps = [np.asarray(step) if isinstance(step, list | tuple) else step for step in steps]
    found = tuple([_along(f, step, each, edge_order) for each, step in zip(axes, steps, strict=True)])
    return found[0] if len(found) == 1 else found
