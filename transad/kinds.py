"""Kinds: what the typed path knows about a value before the program runs.

>>> import numpy as np
>>> kind_of(1.5), kind_of(np.zeros((2, 3)))
(Scalar(dtype='float64'), Array(dtype='float64', ndim=2))
>>> join(Scalar('int64'), Scalar('float64'))
Scalar(dtype='float64')
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class Scalar:
    """A number; Python's and NumPy's scalars of one dtype are one kind."""

    dtype: str

    @property
    def real(self) -> bool:
        """May carry a derivative."""
        return self.dtype.startswith("float")

    @property
    def integer(self) -> bool:
        return not self.real and not self.dtype.startswith("complex")


@dataclass(frozen=True)
class Array:
    """An `ndarray` of a dtype and a rank."""

    dtype: str
    ndim: int

    @property
    def real(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def element(self) -> Scalar:
        return Scalar(self.dtype)


Kind = Scalar | Array
FLOAT, INT, BOOL = Scalar("float64"), Scalar("int64"), Scalar("bool")


def kind_of(value: Any) -> Kind | None:
    """The kind of a run-time number or array, None for anything else."""
    if type(value) is float:
        return FLOAT
    if type(value) is np.ndarray:
        return Array(value.dtype.name, value.ndim) if value.dtype.name in _DTYPES and value.dtype.isnative else None
    if isinstance(value, np.generic):
        return Scalar(value.dtype.name) if value.dtype.name in _DTYPES else None
    return {bool: BOOL, int: INT, complex: Scalar("complex128")}.get(type(value))


@lru_cache(maxsize=1024)
def _promoted(a: str, b: str) -> str:
    return np.result_type(np.dtype(a), np.dtype(b)).name


def join(a: Kind, b: Kind) -> Kind | None:
    """The kind that holds both, or None: two ranks, or a number and an array, have no common kind."""
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return Scalar(_promoted(a.dtype, b.dtype))
    return None


def result_kind(a: Kind, b: Kind) -> Kind:
    """The kind of an elementwise result: ranks broadcast, dtypes promote; a number does not widen an array
    of its own sort (NumPy's rule for Python numbers)."""
    ndim = max(a.ndim if isinstance(a, Array) else 0, b.ndim if isinstance(b, Array) else 0)
    if not ndim and isinstance(a, Scalar) and isinstance(b, Scalar):
        return Scalar(_promoted(a.dtype, b.dtype))
    dtypes = [k.dtype for k in (a, b) if isinstance(k, Array)]
    for k in (a, b):
        if isinstance(k, Scalar) and not any(_same_sort(k.dtype, d) for d in dtypes):
            dtypes.append("float32" if k.dtype == "float64" and "float32" in dtypes else k.dtype)
    dtype = dtypes[0]
    for d in dtypes[1:]:
        dtype = _promoted(dtype, d)
    return Array(dtype, ndim)


def _same_sort(a: str, b: str) -> bool:
    order = ["b", "u", "i", "f", "c"]
    return order.index(np.dtype(a).kind) <= order.index(np.dtype(b).kind)


def divided(kind: Kind) -> Kind:
    """The kind of a true division, a root or a logarithm: at least floating point."""
    dtype = kind.dtype if not _integral(kind.dtype) else "float64"
    return Array(dtype, kind.ndim) if isinstance(kind, Array) else Scalar(dtype)


def _integral(dtype: str) -> bool:
    return np.dtype(dtype).kind in "biu"


def with_dtype(kind: Kind, dtype: str) -> Kind:
    """The same rank, another dtype."""
    return Array(dtype, kind.ndim) if isinstance(kind, Array) else Scalar(dtype)
