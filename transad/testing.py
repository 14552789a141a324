"""`check_grads`: compare derivatives with finite differences, as JAX's function of that name."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.api import grad, jvp, pullback
from transad.errors import InvalidArgument
from transad.forwards.matrices import hvp
from transad.function import differentiable
from transad.runtime.memory import laid_out_alike
from transad.tree import children, leaves_of, map_tree, rebuilt

__all__ = ["check_grads"]


def check_grads(function: Callable, args: Sequence[Any], modes: Sequence[str] = ("rev", "fwd"), order: int = 2, *,
                jit: bool | Sequence[bool] = False, rtol: float = 1e-5, atol: float = 1e-6, step: float = 1e-3,
                seed: int = 0) -> None:
    """Raise AssertionError unless the derivatives of `function` at `args` agree with differences along random lines.

    modes  "rev" compares `pullback`, "fwd" compares `jvp`; both are also compared with each other, a hundred times closer
    order  2 checks the derivatives of the derivatives too, and so on
    jit    True runs the derivatives compiled (CannotCompile where that is not possible), (False, True) on both back ends;
           compiled second derivatives (`hvp`) are checked where the result is one real number

    >>> check_grads(lambda x: x ** 3, (2.0,), jit=(False, True))
    >>> from transad.verbs import custom_rule
    >>> wrong = custom_rule(lambda x: x * x, lambda x: (x * x, lambda ct: (3.0 * ct * x,)))
    >>> check_grads(lambda x: wrong(x), (2.0,))
    Traceback (most recent call last):
    AssertionError: ...
    """
    unknown = set(modes) - {"rev", "fwd"}
    if unknown or order < 1:
        raise InvalidArgument(f"modes={modes!r}, order={order!r}", instead="modes are 'rev' and 'fwd', order is 1 or more")
    how = _How(tuple(modes), rtol, atol, step)
    for compiled in (jit,) if isinstance(jit, bool) else jit:
        f = differentiable(function, jit=True) if compiled else function
        how.check(f, tuple(args), order, seed)
        if compiled and order > 1:
            how.compiled_second(f, tuple(args), seed)


@dataclass
class _How:
    """What is compared, and how closely."""

    modes: tuple[str, ...]
    rtol: float
    atol: float
    step: float

    def check(self, function: Callable, args: tuple, order: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        directions = tuple(map_tree(lambda leaf: _random_like(leaf, rng), a) for a in args)
        slope = _difference(function, args, directions, self.step)
        pushed = None
        if "fwd" in self.modes:
            y, found = jvp(function, args, directions)
            pushed = _flat(_tangent_of(y, found))
            self.same(pushed, slope, "jvp against differences")
        if "rev" not in self.modes:
            if order > 1:
                self.check(lambda *a: jvp(function, a, directions)[1], args, order - 1, seed + 1)
            return
        y, back = pullback(function, *args)
        weights = map_tree(lambda leaf: _random_like(leaf, rng), y)
        moved = [(g, d) for g, d in zip(leaves_of(back(weights)), leaves_of(directions), strict=True) if d is not None]
        pulled = _paired([g for g, _ in moved], [d for _, d in moved])
        self.same(pulled, _paired(weights, slope), "pullback against differences")
        if pushed is not None:
            self.same(pulled, _paired(weights, pushed), "pullback against jvp", 0.01)
        if order > 1:
            real = [k for k, d in enumerate(directions) if any(leaf is not None for leaf in leaves_of(d))]
            self.check(lambda *a: [pullback(function, *a)[1](weights)[k] for k in real], args, order - 1, seed + 1)

    def compiled_second(self, function: Callable, args: tuple, seed: int) -> None:
        """`hvp` of compiled code against differences of the gradient."""
        if type(function(*args)) not in (float, np.float64) or not all(
                isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype == float) for a in args):
            return
        rng = np.random.default_rng(seed + 2)
        directions = tuple(_random_like(a, rng) for a in args)
        slope = _difference(grad(function, tuple(range(len(args)))), args, directions, self.step)
        self.same(_flat(hvp(function, args, directions)), slope, "hvp against differences")

    def same(self, found: Any, wanted: Any, what: str, closer: float = 1.0) -> None:
        np.testing.assert_allclose(np.ravel(found), np.ravel(wanted), rtol=closer * self.rtol, atol=closer * self.atol,
                                   err_msg=what)


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
        if not isinstance(value, np.ndarray):
            return value + type(value)(size) * direction
        moved = laid_out_alike(value)
        moved[...] = value + size * direction
        return moved
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
