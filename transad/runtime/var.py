"""Active scalars: numbers that know their place on a tape.

An active scalar is an instance of a *subclass* of its own type (`VarFloat(float)`, `VarFloat64(np.float64)`, ...), so
it prints, compares, hashes, formats and indexes as the number it is. It carries

    sweep   the sweep (tape) it belongs to
    index   its slot there (in a forward sweep: its tangent)
    outer   the same number as the sweeps outside see it: a plain number, or a Var of one of them

Its operators record too, so that text which was not rewritten (a property, a sort key, the standard library) keeps
the derivative. A Var whose sweep has ended counts as its `outer`; a leaked one is harmless.
"""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["COMPLEX", "KIND", "PLAIN_OF", "VARS", "VAR_OF", "make_var", "plain"]


class VarFloat(float):
    """An active Python float."""

    __slots__ = ("index", "outer", "sweep")


class VarComplex(complex):
    """An active Python complex."""

    __slots__ = ("index", "outer", "sweep")


class VarInt(int):
    """An active Python int (only where an integer argument itself is differentiated)."""

    sweep: Any
    index: int
    outer: Any


class VarFloat64(np.float64):
    """An active np.float64."""

    __slots__ = ("index", "outer", "sweep")


class VarFloat32(np.float32):
    """An active np.float32."""

    __slots__ = ("index", "outer", "sweep")


class VarComplex128(np.complex128):
    """An active np.complex128."""

    __slots__ = ("index", "outer", "sweep")


class VarComplex64(np.complex64):
    """An active np.complex64."""

    __slots__ = ("index", "outer", "sweep")


VAR_OF: dict[type, Any] = {float: VarFloat, complex: VarComplex, int: VarInt, np.float64: VarFloat64,
                           np.float32: VarFloat32, np.complex128: VarComplex128, np.complex64: VarComplex64}


def _more_scalars() -> None:
    """Classes for the remaining NumPy scalar types (integers, half and long double)."""
    names = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "longdouble",
             "clongdouble", "longlong", "ulonglong")
    for name in names:
        base = getattr(np, name)
        if base not in VAR_OF:
            VAR_OF[base] = type(f"Var_{name}", (base,), {"__slots__": ("index", "outer", "sweep"),
                                                         "__module__": __name__})


_more_scalars()
PLAIN_OF: dict[type, type] = {var: base for base, var in VAR_OF.items()}
VARS = frozenset(PLAIN_OF)
COMPLEX = frozenset(v for b, v in VAR_OF.items() if issubclass(b, (complex, np.complexfloating)))


def make_var(sweep: Any, index: int, value: Any) -> Any:
    """A Var for slot `index` of `sweep` whose outer value is `value`; anything but a number comes back as it is."""
    kind = type(value)
    cls = VAR_OF.get(kind)
    if cls is None:
        if kind not in VARS:
            return value
        cls = kind
    var = cls(value)
    var.sweep = sweep
    tape = sweep.tape
    var.index = index if type(tape) is list else tape.latest      # forwards: the tangent itself
    var.outer = value
    return var


def plain(value: Any) -> Any:
    """The plain number under all sweeps; anything else unchanged."""
    while type(value) in VARS:
        value = value.outer
    return value


class _Kinds(dict):
    """Which way an operand goes: 0 the plain operator, 1 a Var, 2 an array, 4 a user's class with Python operators."""

    def __missing__(self, cls: type) -> int:
        kind = 0
        if issubclass(cls, np.ndarray):
            kind = 2
        elif cls.__flags__ & (1 << 9) and cls.__module__ not in ("builtins", "numpy", "collections", "fractions",
                                                                 "decimal", "datetime", "pathlib"):
            kind = 4          # bit 9: a class made by a class statement
        self[cls] = kind
        return kind


KIND = _Kinds(dict.fromkeys(VARS, 1))
