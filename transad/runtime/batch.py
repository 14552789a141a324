"""What emitted code with a leading axis calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

HELPERS = ("checked_math", "each_lane", "repeated", "scatter_add_lanes",
           "share_of_extreme_lanes", "stretched_lanes", "unbroadcast_lanes")


def each_lane(function: Callable, varies: tuple, words: tuple, *values: Any) -> np.ndarray:
    """A function without a batching rule: lane by lane. `varies`: which values have a lane each; the last values are those
    of the keywords `words`."""
    lanes = next(len(v) for v, lane in zip(values, varies, strict=True) if lane)
    plain = len(values) - len(words)
    out = []
    for k in range(lanes):
        here = [v[k] if lane else v for v, lane in zip(values, varies, strict=True)]
        out.append(function(*here[:plain], **dict(zip(words, here[plain:], strict=True))))
    return np.stack(out)


def checked_math(function: Callable, of_number: Callable, *values: Any) -> np.ndarray:
    """A function of `math` for many numbers; it raises what the function of one number raises."""
    with np.errstate(all="ignore"):
        out = function(*values)
    if not np.all(np.isfinite(out)):
        for row in np.broadcast(*values):
            of_number(*row)
    return out


def repeated(value: Any, lanes: int) -> np.ndarray:
    """A value that all lanes have, in memory of their own."""
    value = np.asarray(value)
    out = np.empty((lanes, *value.shape), value.dtype)
    out[...] = value
    return out


def share_of_extreme_lanes(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """d max(x) / dx of each lane: the entries that equal it share evenly."""
    hit = (x == np.reshape(out, (len(out),) + (1,) * (x.ndim - 1))).astype(x.dtype)
    return hit / np.maximum(np.sum(hit, axis=tuple(range(1, x.ndim)), keepdims=True), 1.0)


def stretched_lanes(g: np.ndarray, shape: tuple, fresh: bool = False) -> np.ndarray:
    """A value at a shape to which it is broadcast, in fresh memory; `fresh`: nobody else has it."""
    if fresh and g.shape[1:] == shape:
        return g
    out = np.empty((len(g), *shape), g.dtype)
    out[...] = np.reshape(g, (len(g),) + (1,) * (len(shape) - g.ndim + 1) + g.shape[1:])
    return out


def unbroadcast_lanes(g: np.ndarray, like: np.ndarray, lane: bool) -> np.ndarray:
    """The cotangents of an array from those of a result that it was broadcast to; `lane`: it has a leading axis too."""
    shape = like.shape[1:] if lane else like.shape
    if g.ndim - 1 > len(shape):
        g = g.sum(axis=tuple(range(1, g.ndim - len(shape))))
    inner = g.shape[1:]
    axes = tuple(k + 1 for k, n in enumerate(inner) if shape[k + len(shape) - len(inner)] == 1 and n != 1)
    if axes:
        g = g.sum(axis=axes, keepdims=True)
    missing = len(shape) - (g.ndim - 1)
    return np.reshape(g, (len(g),) + (1,) * missing + g.shape[1:]) if missing else g


def scatter_add_lanes(d_a: np.ndarray, index: Any, g: np.ndarray) -> None:
    """The adjoint of a gather, with a leading axis."""
    if isinstance(index, tuple):
        for lane, part in zip(d_a, g, strict=True):
            np.add.at(lane, index, part)
    else:
        np.add.at(d_a, (slice(None), index), g)      # type: ignore[arg-type]
