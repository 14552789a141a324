"""Rules of `scipy.signal`: convolution, correlation in any number of dimensions, and linear filters."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from transad.errors import Unsupported
from transad.rules.algebra import conj
from transad.rules.registry import adjoint

_A5, _V3 = np.array([0.5, -1.5, 2.0, 0.3, 1.1]), np.array([1.0, 0.3, -0.7])
_M, _K = np.sin(np.arange(20.0)).reshape(4, 5), np.cos(np.arange(6.0)).reshape(2, 3)
_POINTS = [(a, v, mode) for a, v in [(_A5, _V3), (_V3, _A5), (_M, _K), (_K, _M), (_A5[:4], _V3[:2]),
                                     (_V3[:2], _A5[:4])]
           for mode in ("full", "same", "valid")] + [(_A5 + 1j, _V3, "same"), (2.0, 1.5)]
_PLANE = [(a, b, mode) for a, b in ((_M, _K), (_K, _M), (_M[:, :3], _M[:3, :3]))
          for mode in ("full", "same", "valid")]


def _spread(g: Any, first: Any, second: Any, mode: str, starts: list[int]) -> Any:
    """The cotangent of the full result, of which `mode` kept a part that begins at `starts`."""
    if mode == "full":
        return g
    for axis, (n, m) in enumerate(zip(np.shape(first), np.shape(second), strict=True)):
        before = starts[axis] if mode == "same" else min(n, m) - 1
        now = np.shape(g)
        after = n + m - 1 - before - now[axis]
        g = np.concatenate((np.zeros(now[:axis] + (before,) + now[axis + 1:]), g,
                            np.zeros(now[:axis] + (after,) + now[axis + 1:])), axis=axis)
    return g


def _middle(first: Any, second: Any) -> list[int]:
    return [(size - 1) // 2 for size in np.shape(second)]


def _back(whole: Any, other: Any) -> Any:
    """The cotangent of one factor of a full convolution, given the other."""
    return whole * other if np.ndim(other) == 0 else ss.convolve(whole, np.flip(other), "valid")


def _convolution(g: Any, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    whole = _spread(g, in1, in2, mode, _middle(in1, in2))
    return _back(whole, in2), _back(whole, in1)


@adjoint(ss.convolve, "in1", "in2", at=_POINTS)
def _(g, out, in1, in2, mode="full", method="auto"):
    return _convolution(g, in1, in2, mode)


@adjoint(ss.fftconvolve, "in1", "in2", at=_POINTS[:-1])
def _(g, out, in1, in2, mode="full", axes=None):
    if axes is not None:
        raise Unsupported("scipy.signal.fftconvolve(axes=...) has no derivative rule", instead="axes=None")
    return _convolution(g, in1, in2, mode)


@adjoint(ss.oaconvolve, "in1", "in2", at=_POINTS[:3])
def _(g, out, in1, in2, mode="full", axes=None):
    if axes is not None:
        raise Unsupported("scipy.signal.oaconvolve(axes=...) has no derivative rule", instead="axes=None")
    return _convolution(g, in1, in2, mode)


@adjoint(ss.convolve2d, "in1", "in2", at=_PLANE)
def _(g, out, in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill":
        raise Unsupported(f"scipy.signal.convolve2d(boundary={boundary!r}) has no derivative rule",
                          instead="np.pad the input")
    return _convolution(g, in1, in2, mode)


def _correlation(g: Any, in1: Any, in2: Any, mode: str, starts: list[int]) -> tuple[Any, Any]:
    turned = conj(np.flip(in2))
    whole = _spread(g, in1, in2, mode, starts)
    return _back(whole, turned), np.flip(conj(_back(whole, in1)))


@adjoint(ss.correlate, "in1", "in2", at=_POINTS[:-1])
def _(g, out, in1, in2, mode="full", method="auto"):
    return _correlation(g, in1, in2, mode, _middle(in1, in2))


@adjoint(ss.correlate2d, "in1", "in2", at=_PLANE)
def _(g, out, in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill":
        raise Unsupported(f"scipy.signal.correlate2d(boundary={boundary!r}) has no derivative rule",
                          instead="np.pad the input")
    return _correlation(g, in1, in2, mode, [size // 2 for size in np.shape(in2)])


def _lagged(g: Any, signal: Any, count: int, axis: int) -> Any:
    """Sums of g[n] signal[n - k] for k below `count`."""
    g, signal = np.moveaxis(g, axis, -1), np.moveaxis(signal, axis, -1)
    length = np.shape(g)[-1]
    return np.stack([np.sum(g[..., k:] * signal[..., :max(length - k, 0)]) for k in range(count)])


@adjoint(ss.lfilter, "b", "a", "x", at=[(_V3, np.array([1.0, -0.4, 0.2]), _A5),
                                        (_V3, np.array([2.0, -0.4]), _M),
                                        (_V3, np.array([2.0, -0.4]), _M, 0), (_V3, np.array([1.5]), _A5)])
def _(g, out, b, a, x, axis=-1, zi=None):
    if zi is not None:
        raise Unsupported("scipy.signal.lfilter(zi=...) has no derivative rule", instead="zi=None")
    one = np.ones(1)
    source = np.flip(ss.lfilter(one, a, np.flip(g, axis), axis),
                     axis)                 # cotangent of b * x - a * y
    on_x = np.flip(ss.lfilter(b, one, np.flip(source, axis), axis), axis)
    return _lagged(source, x, np.shape(b)[0], axis), -_lagged(source, out, np.shape(a)[0], axis), on_x
