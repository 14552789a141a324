"""`check_grads`: compare derivatives with finite differences, as JAX's function of that name."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .api import jvp, pullback
from .tree import children, leaves_of, map_tree, rebuilt

__all__ = ["check_grads"]


def check_grads(function: Callable, args: Sequence[Any], modes: Sequence[str] = ("rev", "fwd"), order: int = 2, *,
                rtol: float = 1e-5, atol: float = 1e-6, step: float = 1e-3, seed: int = 0) -> None:
    """Raise AssertionError unless the derivatives of `function` at `args` agree with differences along random lines.

    modes  "rev" compares `pullback`, "fwd" compares `jvp`;  order 2 checks the derivatives of the derivatives too
    """
    args = tuple(args)
    rng = np.random.default_rng(seed)
    directions = tuple(map_tree(lambda leaf: _random_like(leaf, rng), a) for a in args)
    slope = _difference(function, args, directions, step)
    if "fwd" in modes:
        y, found = jvp(function, args, directions)
        _compare(_tangent_of(y, found), slope, rtol, atol, "jvp")
    if "rev" in modes:
        y, back = pullback(function, *args)
        weights = map_tree(lambda leaf: _random_like(leaf, rng), y)
        grads = back(weights)
        moved = [(g, d) for g, d in zip(leaves_of(grads), leaves_of(directions), strict=True) if d is not None]
        _compare(_paired([g for g, _ in moved], [d for _, d in moved]), _paired(weights, slope), rtol, atol, "pullback")
        if order > 1:
            real = [k for k, d in enumerate(directions) if any(leaf is not None for leaf in leaves_of(d))]
            check_grads(lambda *a: [pullback(function, *a)[1](weights)[k] for k in real], args, modes, order - 1,
                        rtol=rtol, atol=atol, step=step, seed=seed + 1)
    elif order > 1:
        check_grads(lambda *a: jvp(function, a, directions)[1], args, modes, order - 1, rtol=rtol, atol=atol,
                    step=step, seed=seed + 1)


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, (float, complex, np.inexact)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc")


def _random_like(leaf: Any, rng: np.random.Generator) -> Any:
    if not _is_real(leaf):
        return None
    value = rng.uniform(0.5, 1.5, np.shape(leaf))
    if np.iscomplexobj(leaf):
        value = value + 1j * rng.uniform(0.5, 1.5, np.shape(leaf))
    return value.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(value)


def _moved(value: Any, direction: Any, size: float) -> Any:
    parts = children(value)
    if parts is None:
        if direction is None:
            return value
        return (value + size * direction).astype(value.dtype) if isinstance(value, np.ndarray) else \
            value + type(value)(size) * direction
    other = dict(children(direction) or [])
    return rebuilt(value, [_moved(child, other.get(key), size) for key, child in parts])


def _difference(function: Callable, args: tuple, directions: tuple, step: float) -> Any:
    """The derivative along `directions` by central differences, extrapolated twice."""
    def at(size: float) -> np.ndarray:
        return _flat(function(*(_moved(a, d, size) for a, d in zip(args, directions, strict=True))))
    rough = [(at(h) - at(-h)) / (2 * h) for h in (step, step / 2, step / 4)]
    a, b = (4 * rough[1] - rough[0]) / 3, (4 * rough[2] - rough[1]) / 3
    return (16 * b - a) / 15


def _flat(tree: Any) -> np.ndarray:
    parts = [np.ravel(np.asarray(leaf)) for leaf in leaves_of(tree) if _is_real(leaf)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _tangent_of(y: Any, tangent: Any) -> Any:
    """The entries of a tangent that belong to real or complex results (integers have none)."""
    pairs = zip(leaves_of(y), leaves_of(tangent), strict=True)
    return [t for value, t in pairs if _is_real(value)]


def _paired(a: Any, b: Any) -> Any:
    """Re(sum(a * b)), the pairing of cotangents with tangents."""
    left, right = (x if isinstance(x, np.ndarray) and x.ndim == 1 else _flat(x) for x in (a, b))
    return np.real(np.sum(left * right))


def _compare(found: Any, wanted: Any, rtol: float, atol: float, what: str) -> None:
    found = _flat(found) if not np.isscalar(found) else np.ravel(found)
    np.testing.assert_allclose(found, np.ravel(wanted), rtol=rtol, atol=atol, err_msg=f"{what} against differences")
