"""Rules of `scipy.fft`: the same transforms as NumPy's, with the argument named `x`, and the cosine and sine
ones."""
# pyright: reportCallIssue=false, reportArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft as sf

from transad.errors import Unsupported
from transad.rules.fft import (
    _axes,
    _back_many,
    _half_many,
    _real_many,
    back_complex,
    back_half,
    back_real,
    resized,
)
from transad.rules.registry import adjoint, composite

_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
_V, _M = np.array([0.5, -1.5, 2.0, 0.3, 1.1]), np.sin(np.arange(12.0)).reshape(3, 4)
_Z = _M + 1j * _M[::-1] ** 2
_ONE, _REAL = [(_V,), (_V, 8), (_M, 2, 0, "ortho"), (_Z,)], [(_V,), (_V, 8), (_M, 2, 0, "ortho")]
_MANY, _REAL_MANY = [(_M,), (_M, (4, 3)), (_M, None, (1,), "ortho"),
                     (_Z,)], [(_M,), (_M, (4, 3)), (_M, None, (1,), "ortho")]


@adjoint(sf.fft, "x", at=_ONE)
def _(g, out, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return back_complex(np.fft.fft, g, x, n, axis, norm)


@adjoint(sf.ifft, "x", at=_ONE)
def _(g, out, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return back_complex(np.fft.ifft, g, x, n, axis, norm)


@adjoint(sf.rfft, "x", at=_REAL)
def _(g, out, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return np.real(back_real(g, x, n, axis, norm))


@adjoint(sf.irfft, "x", at=_ONE)
def _(g, out, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return back_half(g, x, axis, norm)


@adjoint(sf.fftn, "x", at=_MANY)
def _(g, out, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _back_many(np.fft.fft, g, x, _axes(np.ndim(x), s, axes), norm)


@adjoint(sf.ifftn, "x", at=_MANY)
def _(g, out, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _back_many(np.fft.ifft, g, x, _axes(np.ndim(x), s, axes), norm)


@adjoint(sf.fft2, "x", at=_MANY[:2])
def _(g, out, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _back_many(np.fft.fft, g, x, _axes(np.ndim(x), s, axes), norm)


@adjoint(sf.ifft2, "x", at=_MANY[:2])
def _(g, out, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _back_many(np.fft.ifft, g, x, _axes(np.ndim(x), s, axes), norm)


@adjoint(sf.rfftn, "x", at=_REAL_MANY)
def _(g, out, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _real_many(g, x, s, axes, norm)


@adjoint(sf.rfft2, "x", at=_REAL_MANY[:2])
def _(g, out, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _real_many(g, x, s, axes, norm)


@adjoint(sf.irfftn, "x", at=_MANY)
def _(g, out, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _half_many(g, x, s, axes, norm)


@adjoint(sf.irfft2, "x", at=_MANY[:2])
def _(g, out, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None):
    return _half_many(g, x, s, axes, norm)


@adjoint(sf.fftshift, "x", at=[(_V,), (_M, 0)])
def _(g, out, x, axes=None):
    return np.fft.ifftshift(g, axes)


@adjoint(sf.ifftshift, "x", at=[(_V,), (_M, 0)])
def _(g, out, x, axes=None):
    return np.fft.fftshift(g, axes)


def _along(matrix: Any, g: Any, x: Any, axis: int) -> Any:
    """The transpose of `matrix` applied along one axis, cut or filled to the size of `x`."""
    moved = np.moveaxis(g, axis, -1)
    return resized(np.moveaxis(np.dot(moved, matrix), -1, axis), {axis: np.shape(x)[axis]})


def _trigonometric(transform: Any, g: Any, x: Any, kind: int, n: Any, axis: int, norm: Any,
                   orthogonalize: Any) -> Any:
    """Through the matrix of the transform: its columns are the transforms of the unit vectors."""
    axis = axis % np.ndim(x)
    size = np.shape(g)[axis]
    if size > 4096:
        raise Unsupported("the derivative of a cosine or sine transform of over 4096 points has no rule",
                          instead="scipy.fft.rfft of the mirrored signal")
    return _along(np.transpose(transform(np.eye(size), kind, None, 1, norm, orthogonalize=orthogonalize)), g,
                  x, axis)


_TRIGONOMETRIC = [(_V,), (_V, 2, 7), (_M, 3, None, 0), (_M, 1, None, -1, "ortho"), (_V, 4, 3)]


@adjoint(sf.dct, "x", at=_TRIGONOMETRIC)
def _(g, out, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _trigonometric(sf.dct, g, x, type, n, axis, norm, orthogonalize)


@adjoint(sf.idct, "x", at=_TRIGONOMETRIC)
def _(g, out, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _trigonometric(sf.idct, g, x, type, n, axis, norm, orthogonalize)


@adjoint(sf.dst, "x", at=_TRIGONOMETRIC)
def _(g, out, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _trigonometric(sf.dst, g, x, type, n, axis, norm, orthogonalize)


@adjoint(sf.idst, "x", at=_TRIGONOMETRIC)
def _(g, out, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _trigonometric(sf.idst, g, x, type, n, axis, norm, orthogonalize)


# Transforms along several axes are those along one after another; Hermitian ones are real ones of the conjugate.

def _each_axis(transform, x, type, s, axes, norm, orthogonalize):
    if axes is None:
        axes = range(np.ndim(x)) if s is None else range(np.ndim(x) - np.size(s), np.ndim(x))
    axes = [axes] if np.ndim(axes) == 0 else list(axes)
    sizes = [None] * len(axes) if s is None else list(np.atleast_1d(s))
    for axis, size in zip(axes, sizes, strict=True):
        x = transform(x, type, size, axis, norm, orthogonalize=orthogonalize)
    return x


@composite(sf.dctn)
def _(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
    return _each_axis(sf.dct, x, type, s, axes, norm, orthogonalize)


@composite(sf.idctn)
def _(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _each_axis(sf.idct, x, type, s, axes, norm, orthogonalize)


@composite(sf.dstn)
def _(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _each_axis(sf.dst, x, type, s, axes, norm, orthogonalize)


@composite(sf.idstn)
def _(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _each_axis(sf.idst, x, type, s, axes, norm, orthogonalize)


@composite(sf.hfft)
def _(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return sf.irfft(np.conj(np.asarray(x)), n, axis, norm={None: "forward", "backward": "forward", "forward": "backward",
                                               "ortho": "ortho"}[norm])


@composite(sf.ihfft)
def _(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
    return np.conj(sf.rfft(np.asarray(x), n, axis, norm={None: "forward", "backward": "forward", "forward": "backward",
                                             "ortho": "ortho"}[norm]))
