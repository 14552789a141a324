"""Python's operators on values that may be active.

`add(a, b)` is `a + b`. Where neither operand is active, an array or a user's object, it is exactly that. Two
plain-float Vars of the outermost sweep go a short way (one tape entry, partials at hand); everything else through the
rules.
The four short ways are made from one text because a shared function would cost a call on each operation.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules.registry import find
from .activity import deepest, lower
from .apply import apply
from .memory import before_write
from .sweep import live
from .texts import note
from .var import KIND, VARS, VarFloat, VarFloat32, VarFloat64, make_var

__all__ = ["BINARY", "INPLACE", "UNARY"]

_SHORT_OUT = {float: VarFloat, np.float64: VarFloat64, np.float32: VarFloat32}
_SHORT_IN = frozenset({float, int, np.float64, np.float32})
_SEQUENCES = (list, tuple, str, bytes, bytearray)

_SHORT_WAY = '''
def {name}(a, b):
    ta, tb = type(a), type(b)
    kind = KIND[ta] | KIND[tb]
    if kind == 0:
        return a {sign} b
    if kind == 1:
        if KIND[ta]:
            sweep = a.sweep
            if sweep.fast:
                x = a.outer
                if KIND[tb]:
                    if b.sweep is sweep:
                        y = b.outer
                        out = x {sign} y
                        cls = SHORT_OUT.get(type(out))
                        if cls is not None and type(x) in SHORT_IN and type(y) in SHORT_IN:
                            tape = sweep.tape
                            var = cls(out)
                            t = tape.append((a.index, {dx}, b.index, {dy}))
                            var.index = len(tape) - 1 if t is None else t
                            var.sweep, var.outer = sweep, out
                            return var
                elif tb in SHORT_IN:
                    y = b
                    out = x {sign} y
                    cls = SHORT_OUT.get(type(out))
                    if cls is not None and type(x) in SHORT_IN:
                        tape = sweep.tape
                        var = cls(out)
                        t = tape.append((a.index, {dx}))
                        var.index = len(tape) - 1 if t is None else t
                        var.sweep, var.outer = sweep, out
                        return var
        elif ta in SHORT_IN:
            sweep = b.sweep
            if sweep.fast:
                x, y = a, b.outer
                out = x {sign} y
                cls = SHORT_OUT.get(type(out))
                if cls is not None and type(y) in SHORT_IN:
                    tape = sweep.tape
                    var = cls(out)
                    t = tape.append((b.index, {dy}))
                    var.index = len(tape) - 1 if t is None else t
                    var.sweep, var.outer = sweep, out
                    return var
    return general(a, b, kind)
'''


def _reciprocal(y: Any) -> Any:
    """1 / y without Python's exceptions."""
    return 1.0 / y if y else float(np.float64(1.0) / np.float64(y))


def _power_x(x: Any, y: Any) -> float:
    """d(x**y)/dx."""
    if y == 0:
        return 0.0
    try:
        return float(y * x ** (y - 1))
    except (ZeroDivisionError, OverflowError, TypeError):
        with np.errstate(all="ignore"):
            return float(y * np.float64(x) ** (np.float64(y) - 1))


def _power_y(x: Any, y: Any, out: Any) -> float:
    """d(x**y)/dy; 0 at x = 0 for y >= 0."""
    if x == 0 and y >= 0:
        return 0.0
    with np.errstate(all="ignore"):
        return float(out * np.log(np.float64(x)))


_rules: dict[str, Any] = {}


def _general(name: str) -> Callable:
    """The way for arrays, nested sweeps, mixed types and users' objects."""
    native = getattr(operator, name)
    dunder = f"__{name.rstrip('_')}__"
    reflected = f"__r{name.rstrip('_')}__"

    def general(a: Any, b: Any, kind: int) -> Any:
        if kind & 4:
            return _user_binary(native, dunder, reflected, a, b)
        if not kind & 2 and (isinstance(a, _SEQUENCES) or isinstance(b, _SEQUENCES)):
            return native(a, b)
        if name not in _rules:
            _rules[name] = find(_ufunc_of(name))
        rule = _rules[name]
        if rule is None:
            stack = live()
            return native(lower(a, 0, stack), lower(b, 0, stack))
        return apply(native, rule, (a, b), {})
    return general


_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power,
           "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul, "neg": np.negative,
           "pos": np.positive}


def _ufunc_of(name: str) -> Any:
    return _UFUNCS.get(name)


def _python_method(cls: type, name: str) -> Any:
    """The attribute of a class if it is there, looked up as operators do."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _user_binary(native: Callable, dunder: str, reflected: str, a: Any, b: Any) -> Any:
    """Python's protocol for binary operators, with the users' methods rewritten."""
    from .calls import call
    first, second = _python_method(type(a), dunder), _python_method(type(b), reflected)
    order = [(first, a, b), (second, b, a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        order.reverse()
    if not any(callable(m) and hasattr(m, "__code__") for m, _, _ in order):
        return _opaque_binary(native, a, b)
    for method, left, right in order:
        if method is None:
            continue
        if hasattr(method, "__code__"):
            result = call(method, left, right)
        elif KIND[type(left)] == 2 and getattr(right, "__array_priority__", 0.0) > left.__array_priority__:
            continue                                       # NumPy leaves it to the other operand
        elif KIND[type(left)] == 2 and not hasattr(type(right), "__array_ufunc__"):
            result = _opaque_binary(native, a, b)          # NumPy would call the user's method on each element
        else:
            result = method(left, right)
        if result is not NotImplemented:
            return result
    return native(a, b)


def _opaque_binary(native: Callable, a: Any, b: Any) -> Any:
    from .calls import opaque
    return opaque(native, (a, b), {})


def _unary(name: str) -> Callable:
    native = getattr(operator, name)
    dunder = f"__{name}__"
    slope = {"neg": -1.0, "pos": 1.0}.get(name)

    def unary(a: Any) -> Any:
        kind = KIND[type(a)]
        if kind == 0:
            return native(a)
        if kind == 1 and slope is not None and a.sweep.fast and type(a.outer) in _SHORT_IN:
            out = native(a.outer)
            tape = a.sweep.tape
            tape.append((a.index, slope))
            return make_var(a.sweep, len(tape) - 1, out)
        if kind == 4:
            method = _python_method(type(a), dunder)
            if hasattr(method, "__code__"):
                from .calls import call
                return call(method, a)
            return native(a)
        rule = find(_ufunc_of(name))
        return native(lower(a, 0, live())) if rule is None else apply(native, rule, (a,), {})
    unary.__name__ = name
    return unary


def _inplace(name: str) -> Callable:
    binary, native = BINARY[name], getattr(operator, "i" + name.rstrip("_"))
    dunder = f"__i{name.rstrip('_')}__"

    def inplace(a: Any, b: Any) -> Any:
        kind = KIND[type(a)]
        if kind == 2:
            return _write_into(native, binary, a, b)
        if kind == 4:
            method = _python_method(type(a), dunder)
            if hasattr(method, "__code__"):
                from .calls import call
                result = call(method, a, b)
                if result is not NotImplemented:
                    return result
            elif method is not None:
                return _opaque_binary(native, a, b)
        elif kind == 0 and KIND[type(b)] == 0:
            return native(a, b)
        return binary(a, b)
    inplace.__name__ = "i" + name
    return inplace


def _write_into(native: Callable, binary: Callable, a: np.ndarray, b: Any) -> Any:
    """`a op= b` for an array: the same memory, its old values kept where a rule needs them."""
    stack = live()
    if not stack:
        return native(a, b)
    if a.dtype.kind == "O":
        return native(a, b)
    if KIND[type(b)] == 4 or deepest((a, b), stack, len(stack)) < 0:
        before_write(a)
        return native(a, lower(b, 0, stack))
    from .indexing import setitem
    value = binary(a, b)
    if not np.can_cast(np.asarray(value).dtype, a.dtype, "same_kind") or np.shape(value) != a.shape:
        return native(a, lower(b, 0, stack))          # raises what Python raises
    setitem(value, a, Ellipsis)
    return a


def _make_short(name: str, sign: str, dx: str, dy: str) -> Callable:
    namespace = {"KIND": KIND, "SHORT_OUT": _SHORT_OUT, "SHORT_IN": _SHORT_IN, "general": _general(name),
                 "reciprocal": _reciprocal, "power_x": _power_x, "power_y": _power_y}
    exec(compile(_SHORT_WAY.format(name=name, sign=sign, dx=dx, dy=dy), __file__, "exec"), namespace)
    return namespace[name]


def _make_plain(name: str) -> Callable:
    native, general = getattr(operator, name), _general(name)

    def binary(a: Any, b: Any) -> Any:
        if type(a) is str:
            return _formatted(a, b) if name == "mod" else native(a, b)
        kind = KIND[type(a)] | KIND[type(b)]
        return native(a, b) if kind == 0 else general(a, b, kind)
    binary.__name__ = name
    return binary


def _formatted(pattern: str, values: Any) -> str:
    """`pattern % values`; `%g` reads a number without asking it for its text."""
    text = pattern % values
    return note(text) if any(type(v) in VARS for v in (values if isinstance(values, tuple) else (values,))) else text


BINARY: dict[str, Callable] = {
    "add": _make_short("add", "+", "1.0", "1.0"),
    "sub": _make_short("sub", "-", "1.0", "-1.0"),
    "mul": _make_short("mul", "*", "y", "x"),
    "truediv": _make_short("truediv", "/", "reciprocal(y)", "-out * reciprocal(y)"),
    "pow": _make_short("pow", "**", "power_x(x, y)", "power_y(x, y, out)"),
    **{name: _make_plain(name) for name in ("floordiv", "mod", "matmul", "and_", "or_", "xor", "lshift", "rshift")},
}
UNARY: dict[str, Callable] = {name: _unary(name) for name in ("neg", "pos", "invert")}
INPLACE: dict[str, Callable] = {"i" + name.rstrip("_"): _inplace(name) for name in BINARY}


def _install(cls: type) -> None:
    """Give a class of active scalars operators that record, for text that was not rewritten."""
    plain_numbers = tuple(set(VARS) | {float, int, complex, bool, np.generic, np.ndarray})

    def both(name: str) -> tuple[Callable, Callable]:
        function = BINARY[name]

        def forward(self: Any, other: Any) -> Any:
            return function(self, other) if isinstance(other, plain_numbers) else NotImplemented

        def backward(self: Any, other: Any) -> Any:
            return function(other, self) if isinstance(other, plain_numbers) else NotImplemented
        return forward, backward

    for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod"):
        forward, backward = both(name)
        setattr(cls, f"__{name}__", forward)
        setattr(cls, f"__r{name}__", backward)
    for name in ("neg", "pos"):
        setattr(cls, f"__{name}__", lambda self, _f=UNARY[name]: _f(self))


for _cls in VARS:
    _install(_cls)
