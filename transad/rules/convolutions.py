"""Rules of `np.convolve` and `np.correlate`: each cotangent is a correlation of the cotangent with the other
sequence."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules.algebra import conj
from transad.rules.registry import adjoint

_A5, _V3 = np.array([0.5, -1.5, 2.0, 0.3, 1.1]), np.array([1.0, 0.3, -0.7])
_A4, _V2 = np.array([0.2, 1.5, -2.0, 0.9]), np.array([0.6, -1.2])
_POINTS = [(a, v, mode) for a, v in [(_A5, _V3), (_V3, _A5), (_A4, _V2), (_V2, _A4), (_A5, _V2), (_V3, _A4),
                                     (_V3, _V3 + 1)]
           for mode in ("full", "same", "valid")] + [(_A5 + 1j, _V3, "same"), (_V2 * 1j, _A4, "full"),
                                                     (2.0, _A4, "full")]


def _full(g: Any, n: int, m: int, mode: Any, start: int) -> Any:
    """The cotangent of the full result of length n + m - 1, of which `mode` kept a part; 'same' from
    `start`."""
    name = {0: "v", 1: "s", 2: "f"}.get(mode, str(mode)[:1].lower())
    if name == "f":
        return g
    first = min(n, m) - 1 if name == "v" else start
    return np.concatenate((np.zeros(first), g, np.zeros(n + m - 1 - first - len(g))))


def convolve_first(g: Any, a: Any, v: Any, mode: Any, start: int) -> Any:
    """The cotangent of `a`; that of `v` with the two exchanged."""
    whole = _full(g, np.size(a), np.size(v), mode, start)
    return np.reshape(np.correlate(whole, conj(np.ravel(v)), "valid"), np.shape(a))


def _middle(a: Any, v: Any) -> int:
    return (min(np.size(a), np.size(v)) - 1) // 2


@adjoint(np.convolve, "a", at=_POINTS)
def _(g, out, a, v, mode="full"):
    return convolve_first(g, a, v, mode, _middle(a, v))


@adjoint(np.convolve, "v")
def _(g, out, a, v, mode="full"):
    return convolve_first(g, v, a, mode, _middle(a, v))


def _correlation_start(a: Any, v: Any) -> int:
    """Where 'same' begins in the full correlation: NumPy exchanges the two when the second is longer."""
    n, m = np.size(a), np.size(v)
    return (m - 1) // 2 if n >= m else n - 1 - (n - 1) // 2


@adjoint(np.correlate, "a", at=_POINTS[:-1])
def _(g, out, a, v, mode="valid"):
    return convolve_first(g, a, conj(np.flip(v)), mode, _correlation_start(a, v))


@adjoint(np.correlate, "v")
def _(g, out, a, v, mode="valid"):
    return np.flip(conj(convolve_first(g, np.flip(v), a, mode, _correlation_start(a, v))))
