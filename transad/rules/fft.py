"""Rules of `np.fft`. The transforms are linear, so the cotangents are transforms too.

The matrix of a complex transform is symmetric: its transpose is the same transform, with the same scaling.
The real ones drop, or imply, the conjugate half of the spectrum.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from transad.rules.registry import adjoint

__all__ = ["back_complex", "back_half", "back_real", "resized"]

_OPPOSITE: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
_V, _M = np.array([0.5, -1.5, 2.0, 0.3, 1.1]), np.sin(np.arange(12.0)).reshape(3, 4)
_T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
_Z = _M + 1j * _M[::-1] ** 2


def resized(g: Any, sizes: dict[int, int]) -> Any:
    """Cut, or fill with zeros at the end, along some axes: the transpose of the same done to the input."""
    for axis, size in sizes.items():
        now = np.shape(g)[axis]
        if now > size:
            g = g[(slice(None),) * axis + (slice(0, size),)]
        elif now < size:
            shape = np.shape(g)[:axis] + (size - now,) + np.shape(g)[axis + 1:]
            g = np.concatenate((g, np.zeros(shape)), axis=axis)
    return g


def _axes(rank: int, s: Any, axes: Any) -> list[int]:
    if axes is None:
        return list(range(rank)) if s is None else list(range(rank - len(s), rank))
    return [int(k) % rank for k in axes]


def _back_many(transform: Any, g: Any, a: Any, axes: list[int], norm: Any) -> Any:
    for axis in axes:                                    # one at a time: an axis may be named twice
        g = resized(transform(g, None, axis, norm), {axis: np.shape(a)[axis]})
    return g


def back_complex(transform: Any, g: Any, a: Any, n: Any, axis: int, norm: Any) -> Any:
    """The transpose of `np.fft.fft` or `np.fft.ifft` (`transform`)."""
    axis = axis % np.ndim(a)
    return resized(transform(g, None, axis, norm), {axis: np.shape(a)[axis]})


def back_real(g: Any, a: Any, n: Any, axis: int, norm: Any) -> Any:
    """The transpose of `np.fft.rfft`: the missing half of the spectrum has cotangent 0."""
    axis = axis % np.ndim(a)
    length = np.shape(a)[axis] if n is None else int(n)
    return resized(np.fft.fft(resized(g, {axis: length}), length, axis, norm), {axis: np.shape(a)[axis]})


def back_half(g: Any, a: Any, axis: int, norm: Any) -> Any:
    """The transpose of `np.fft.irfft`: all frequencies but the first, and the last of an even length, count
    twice."""
    axis = axis % np.ndim(a)
    n = np.shape(g)[axis]
    twice = np.full(n // 2 + 1, 2.0)
    twice[0] = 1.0
    if n % 2 == 0:
        twice[n // 2] = 1.0
    twice = np.reshape(twice, (-1,) + (1,) * (np.ndim(a) - 1 - axis))
    return resized(twice * np.conj(np.fft.rfft(g, n, axis, _OPPOSITE[norm])), {axis: np.shape(a)[axis]})


_ONE = [(_V,), (_V, 8), (_V, 3), (_M, None, 0), (_M, 6, 1, "ortho"), (_M, None, -1, "forward"), (_T, None, 1),
        (_Z, 5, 0)]
_ONE_REAL = [point for point in _ONE if point[0] is not _Z]
_MANY = [(_M,), (_T,), (_M, (4, 3)), (_T, None, (0, 2)), (_T, (3, 5), (1, 0), "ortho"),
         (_M, None, (-1, 0), "forward"), (_Z,)]
_MANY_REAL = _MANY[:-1]


@adjoint(np.fft.fft, "a", at=_ONE)
def _(g, out, a, n=None, axis=-1, norm=None):
    return back_complex(np.fft.fft, g, a, n, axis, norm)


@adjoint(np.fft.ifft, "a", at=_ONE)
def _(g, out, a, n=None, axis=-1, norm=None):
    return back_complex(np.fft.ifft, g, a, n, axis, norm)


@adjoint(np.fft.rfft, "a", at=_ONE_REAL)
def _(g, out, a, n=None, axis=-1, norm=None):
    return np.real(back_real(g, a, n, axis, norm))


@adjoint(np.fft.irfft, "a", at=_ONE)
def _(g, out, a, n=None, axis=-1, norm=None):
    return back_half(g, a, axis, norm)


@adjoint(np.fft.hfft, "a", at=_ONE)
def _(g, out, a, n=None, axis=-1, norm=None):
    return np.conj(back_half(g, a, axis, _OPPOSITE[norm]))


@adjoint(np.fft.ihfft, "a", at=_ONE_REAL)
def _(g, out, a, n=None, axis=-1, norm=None):
    return np.real(back_real(np.conj(g), a, n, axis, _OPPOSITE[norm]))


@adjoint(np.fft.fftn, "a", at=_MANY)
def _(g, out, a, s=None, axes=None, norm=None):
    return _back_many(np.fft.fft, g, a, _axes(np.ndim(a), s, axes), norm)


@adjoint(np.fft.ifftn, "a", at=_MANY)
def _(g, out, a, s=None, axes=None, norm=None):
    return _back_many(np.fft.ifft, g, a, _axes(np.ndim(a), s, axes), norm)


@adjoint(np.fft.fft2, "a", at=_MANY)
def _(g, out, a, s=None, axes=(-2, -1), norm=None):
    return _back_many(np.fft.fft, g, a, _axes(np.ndim(a), s, axes), norm)


@adjoint(np.fft.ifft2, "a", at=_MANY)
def _(g, out, a, s=None, axes=(-2, -1), norm=None):
    return _back_many(np.fft.ifft, g, a, _axes(np.ndim(a), s, axes), norm)


def _real_many(g: Any, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    chosen = _axes(np.ndim(a), s, axes)
    last = chosen[-1]
    n = None if s is None or s[-1] in (None, -1) else s[-1]
    return np.real(back_real(_back_many(np.fft.fft, g, a, chosen[:-1], norm), a, n, last, norm))


def _half_many(g: Any, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    chosen = _axes(np.ndim(a), s, axes)
    return _back_many(np.fft.ifft, back_half(g, a, chosen[-1], norm), a, chosen[:-1], norm)


@adjoint(np.fft.rfftn, "a", at=_MANY_REAL)
def _(g, out, a, s=None, axes=None, norm=None):
    return _real_many(g, a, s, axes, norm)


@adjoint(np.fft.rfft2, "a", at=_MANY_REAL)
def _(g, out, a, s=None, axes=(-2, -1), norm=None):
    return _real_many(g, a, s, axes, norm)


@adjoint(np.fft.irfftn, "a", at=_MANY)
def _(g, out, a, s=None, axes=None, norm=None):
    return _half_many(g, a, s, axes, norm)


@adjoint(np.fft.irfft2, "a", at=_MANY)
def _(g, out, a, s=None, axes=(-2, -1), norm=None):
    return _half_many(g, a, s, axes, norm)


@adjoint(np.fft.fftshift, "x", at=[(_V,), (_M,), (_T, 1), (_T, (0, 2)), (_Z,)])
def _(g, out, x, axes=None):
    return np.fft.ifftshift(g, axes)


@adjoint(np.fft.ifftshift, "x", at=[(_V,), (_M,), (_T, 1), (_T, (0, 2)), (_Z,)])
def _(g, out, x, axes=None):
    return np.fft.fftshift(g, axes)
