"""The kinds of a function's arguments when no call gives them: a signature, annotations, defaults, or use.

>>> [spelled(s) for _, s in parsed("float64[:], f8[:, :], int, (float, float32[:])")]
['float64[:]', 'float64[:,:]', 'int64', '(float64, float32[:])']
>>> def f(theta, grid, n):
...     total = 0.0
...     for i in range(n):
...         total += theta[0] * grid[i, 0]
...     return total
>>> {p.name: f"{spelled(p.shape)}, {p.origin}" for p in assumed(f)}
{'theta': 'float64[:], use', 'grid': 'float64[:,:], use', 'n': 'int64, use'}
"""
from __future__ import annotations

import ast
import inspect
import types
import typing
from dataclasses import dataclass
from typing import Any

import numpy as np

from transad.describe import Shape, described
from transad.errors import InvalidArgument
from transad.kinds import Array, Scalar
from transad.uses import Use, uses

__all__ = ["Assumed", "assumed", "parsed", "spelled"]

_NAMES = {"float": "float64", "double": "float64", "f8": "float64", "f4": "float32", "int": "int64", "i8": "int64",
          "i4": "int32", "i2": "int16", "i1": "int8", "u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8",
          "b1": "bool", "boolean": "bool", "complex": "complex128", "c16": "complex128", "c8": "complex64",
          "intp": "int64", **{n: n for n in (
              "float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
              "complex128", "complex64")}}


@dataclass(frozen=True)
class Assumed:
    """The shape taken for one parameter (None: nothing fits), and where it comes from:
    signature | annotation | default | use | nothing."""

    name: str
    shape: Shape | None
    origin: str
    why: str = ""


def parsed(signature: str) -> list[tuple[str | None, Shape]]:
    """(name or None, shape) of each entry of a signature such as `float64[:], n=int`."""
    try:
        tree = ast.parse(f"f({signature.strip()}\n)", mode="eval").body
        assert isinstance(tree, ast.Call)
        if len(tree.args) == 1 and isinstance(tree.args[0], ast.Call):       # float64(float64[:]), as Numba writes it
            tree = tree.args[0]
        return [(None, _shape(a)) for a in tree.args] + [(k.arg, _shape(k.value)) for k in tree.keywords]
    except (SyntaxError, AssertionError):
        raise _unknown(signature) from None


def _unknown(text: str) -> InvalidArgument:
    return InvalidArgument(f"{text!r} is not a signature", instead="write kinds as float64, int64, float64[:] or "
                           "float64[:,:], tuples in parentheses, separated by commas; name=kind for one by name")


def _shape(node: ast.expr) -> Shape:
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return Shape("leaf", Scalar(_NAMES[node.id]))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _NAMES:
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if all(isinstance(a, ast.Slice) for a in axes):
            return Shape("leaf", Array(_NAMES[node.value.id], len(axes)))
    if isinstance(node, ast.Tuple):
        return Shape("tuple", cls=tuple, parts=tuple(_shape(e) for e in node.elts))
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
        return Shape("static", value=node.value)
    raise _unknown(ast.unparse(node))


def spelled(shape: Shape | None) -> str:
    """A shape as a person writes it in a signature."""
    if shape is None:
        return "unknown"
    if shape.kind == "leaf":
        assert shape.leaf is not None
        rank = f"[{','.join([':'] * shape.leaf.ndim)}]" if isinstance(shape.leaf, Array) else ""
        return shape.leaf.dtype + rank
    if shape.kind == "static":
        return getattr(shape.value, "__name__", None) or repr(shape.value)
    inner = ", ".join(spelled(p) for p in shape.parts)
    if shape.kind == "tuple" and shape.cls is tuple:
        return f"({inner}{',' if len(shape.parts) == 1 else ''})"
    label = getattr(shape.cls, "__name__", "object")
    names = shape.names or getattr(shape.cls, "_fields", ())
    return f"{label}({', '.join(f'{n}={spelled(p)}' for n, p in zip(names, shape.parts, strict=False))})"


def assumed(function: types.FunctionType, signature: str | None = None, skip: int = 0) -> list[Assumed]:
    """The shapes of the parameters after the first `skip`, in order."""
    code = function.__code__
    slots = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount][skip:]
    given = _assigned(slots, parsed(signature)) if signature is not None else {}
    notes, defaults = _annotations(function), _defaults(function)
    seen = uses(function)
    return [_one(n, given, notes, defaults, seen.get(n, Use())) for n in slots]


def _one(name: str, given: dict[str, Shape], notes: dict[str, Any], defaults: dict[str, Any], use: Use) -> Assumed:
    if name in given:
        return Assumed(name, given[name], "signature")
    if name in notes:
        shape = _from_annotation(notes[name], use)
        if shape is not None:
            return Assumed(name, shape, "annotation")
    if name in defaults and (defaults[name] is not None or not use.evidence):
        return Assumed(name, described(defaults[name])[0], "default")
    if use.other:
        return Assumed(name, None, "nothing", use.other)
    if use.rank:
        return Assumed(name, Shape("leaf", Array("int64" if use.holds_indices else "float64", use.rank)), "use")
    return Assumed(name, Shape("leaf", Scalar("int64" if use.integer else "float64")), "use")


def _assigned(slots: tuple[str, ...], entries: list[tuple[str | None, Shape]]) -> dict[str, Shape]:
    given: dict[str, Shape] = {}
    for k, (name, shape) in enumerate(entries):
        if name is None:
            if k >= len(slots):
                raise InvalidArgument(f"the signature has {len(entries)} entries, the function {len(slots)} parameters")
            name = slots[k]
        if name not in slots:
            raise InvalidArgument(f"the signature names {name}, but the parameters are {', '.join(slots)}")
        given[name] = shape
    return given


def _annotations(function: types.FunctionType) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:          # a name that exists only for type checkers, or kinds written as Numba writes them
        return inspect.get_annotations(function)


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty}


def _from_annotation(note: Any, use: Use) -> Shape | None:
    if isinstance(note, str):
        try:
            entries = parsed(note)
        except InvalidArgument:
            return None
        return entries[0][1] if len(entries) == 1 else None
    if note in (float, int, bool, complex):
        return Shape("leaf", Scalar(_NAMES[note.__name__]))
    if isinstance(note, type) and issubclass(note, np.generic) and note.__name__ in _NAMES:
        return Shape("leaf", Scalar(_NAMES[note.__name__]))
    origin = typing.get_origin(note)
    if note is np.ndarray or origin is np.ndarray:
        return Shape("leaf", Array(_annotated_dtype(note), max(use.rank, 1)))
    if origin is tuple and Ellipsis not in typing.get_args(note):
        parts = [_from_annotation(a, Use()) for a in typing.get_args(note)]
        return None if None in parts else Shape("tuple", cls=tuple, parts=tuple(parts))     # type: ignore[arg-type]
    if note is str:
        return None
    return None


def _annotated_dtype(note: Any) -> str:
    """The dtype in `NDArray[np.float32]`, float64 where there is none."""
    for a in typing.get_args(note):
        for b in typing.get_args(a):
            if isinstance(b, type) and issubclass(b, np.generic) and b.__name__ in _NAMES:
                return _NAMES[b.__name__]
    return "float64"
