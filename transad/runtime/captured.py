"""Captured variables as further inputs: closure cells, global numbers and arrays, the object of a method."""
from __future__ import annotations

import functools
import types
from typing import Any

from .inputs import is_differentiable, track
from .sweep import Sweep
from .twin import rewritten
from .var import KIND

__all__ = ["Captured"]


class Captured:
    """The variables that a function captures; `names` are known after `enter`."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.names: list[str] = []
        self._tracked: list[Any] = []

    def enter(self, sweep: Sweep) -> tuple[Any, list[Any]]:
        """The function over tracked captured values, and the places of their gradients."""
        places: list[Any] = []
        return self._enter(self.function, sweep, places), places

    def _enter(self, function: Any, sweep: Sweep, places: list[Any]) -> Any:
        if isinstance(function, functools.partial):
            inner = self._enter(function.func, sweep, places)
            return functools.partial(inner, *function.args, **function.keywords)
        if isinstance(function, types.MethodType):
            owner = self._value("self", function.__self__, sweep, places)
            return types.MethodType(function.__func__, owner)
        inner = getattr(function, "_called_inside", None) or getattr(function, "py_func", None)
        inner = inner or getattr(function, "__transad_function__", None)
        if inner is not None:
            return self._enter(inner, sweep, places)
        if isinstance(function, types.FunctionType):
            return self._function(rewritten(function), function, sweep, places)
        return self._value("self", function, sweep, places)

    def _value(self, name: str, value: Any, sweep: Sweep, places: list[Any]) -> Any:
        if KIND[type(value)] == 2 and value.dtype.kind in "fc":
            from .memory import root_of
            root = root_of(value)
            sweep.roots[id(root)] = root
            self.names.append(name)
            places.append(value[...])
            return value
        if isinstance(value, types.FunctionType) or not _has_reals(value):
            return value
        tracked = track(sweep, value, f"captured variable {name!r}")
        self.names.append(name)
        self._tracked.append(tracked)
        places.append(tracked.places)
        return tracked.value

    def _function(self, twin: types.FunctionType, original: types.FunctionType, sweep: Sweep,
                  places: list[Any]) -> types.FunctionType:
        cells = []
        free = set(original.__code__.co_freevars)
        for name, cell in zip(twin.__code__.co_freevars, twin.__closure__ or (), strict=True):
            cells.append(self._cell(cell, name, sweep, places) if name in free else cell)
        new_globals = self._globals(original, sweep, places)
        new = types.FunctionType(twin.__code__, new_globals, twin.__name__, twin.__defaults__, tuple(cells))
        new.__kwdefaults__ = twin.__kwdefaults__
        return new

    def _cell(self, cell: types.CellType, name: str, sweep: Sweep, places: list[Any]) -> types.CellType:
        try:
            value = cell.cell_contents
        except ValueError:
            return cell
        new = self._value(name, value, sweep, places)
        return cell if new is value else types.CellType(new)

    def _globals(self, function: types.FunctionType, sweep: Sweep, places: list[Any]) -> dict[str, Any]:
        """Globals with tracked numbers; the same dict where only arrays (or nothing) are captured."""
        names = _global_names(function.__code__)
        changed = {}
        for name in sorted(names):
            value = function.__globals__.get(name)
            if KIND[type(value)] == 2 or type(value) in (float, complex):
                new = self._value(name, value, sweep, places)
                if new is not value:
                    changed[name] = new
        return {**function.__globals__, **changed} if changed else function.__globals__


def _has_reals(value: Any) -> bool:
    from ..tree import leaves_of
    return is_differentiable(value) and any(
        isinstance(v, (float, complex)) or (KIND[type(v)] == 2 and v.dtype.kind in "fc") for v in leaves_of(value))


def _global_names(code: types.CodeType) -> set[str]:
    import dis
    names: set[str] = set()
    stored: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            names.add(instruction.argval)
        elif instruction.opname == "STORE_GLOBAL":
            stored.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names - stored
