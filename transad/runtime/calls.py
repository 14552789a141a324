"""Calls: who is called decides how.

In this order: a handler (builtins and other functions that need the runtime), a derivative rule, Python text
(rewritten, unless it belongs to a library and nothing active reaches it), classes, callable objects, and last the
opaque: functions without source and rule. These run natively when nothing active can be reached from their arguments
and are refused otherwise: no derivative is lost silently.
"""
from __future__ import annotations

import functools
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingRule, NoSource, Place, Unsupported
from ..rules import load_late
from ..rules.registry import Rule, find, find_composite, nearest
from ..source import get_source
from .activity import reaches_active
from .apply import apply
from .foreign import drawn, is_numba, numba_call
from .memory import before_write
from .sweep import live
from .texts import NOTED, check_read
from .twin import is_rewritten, rewritten
from .var import KIND

__all__ = ["HANDLERS", "call", "call_rewritten", "handles", "opaque", "opaque_store", "user_place"]

HANDLERS: dict[int, tuple[Any, Callable]] = {}       # id(function) -> (function, handler)
TYPE_HANDLERS: dict[type, Callable] = {}             # type of the callable -> handler(callable, args, kwargs)


def handles(*functions: Any) -> Callable[[Callable], Callable]:
    """Declare what `call(function, *args, **kwargs)` does for some functions."""
    def declare(handler: Callable) -> Callable:
        for function in functions:
            HANDLERS[id(function)] = (function, handler)
        return handler
    return declare


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`"""
    kind = type(function)
    if kind is types.FunctionType and is_rewritten(function.__code__):
        return function(*args, **kwargs)
    if NOTED:
        check_read(function, args)
    found = HANDLERS.get(id(function))
    if found is not None and found[0] is function:
        return found[1](*args, **kwargs)
    rule = find(function)
    text = find_composite(function) if rule is None else None
    if rule is None and text is None and load_late():
        rule, text = find(function), find_composite(function)
    if rule is not None:
        return apply_rule(function, rule, args, kwargs)
    if text is not None:
        return _composite(function, text, args, kwargs)
    if kind is types.FunctionType:
        return _python(function, args, kwargs)
    if kind is types.MethodType:
        return _bound(function, args, kwargs)
    handler = TYPE_HANDLERS.get(kind)
    if handler is not None:
        return handler(function, args, kwargs)
    if isinstance(function, type):
        if is_numba(function) or type(function).__name__ == "JitClassType":
            return numba_call(function, args, kwargs)
        from .construct import construct
        return construct(function, args, kwargs)
    return _other(function, args, kwargs)


def apply_rule(function: Any, rule: Rule, args: tuple, kwargs: dict) -> Any:
    """Apply a rule; a refusal names the user's line."""
    try:
        if any(KIND[type(a)] == 4 for a in args):
            args = tuple([_as_array(a) for a in args])
        if not rule.captures and not rule.nondiff:
            _refuse_hidden(function, args)
            if kwargs:
                _refuse_hidden(function, kwargs.values())
        return apply(function, rule, args, kwargs)
    except (MissingRule, Unsupported) as error:
        if error.place is None:
            error.place = user_place()
        raise


def _as_array(value: Any) -> Any:
    """An argument as NumPy would read it: a user's `__array__` is recorded."""
    method = _class_attribute(type(value), "__array__") if KIND[type(value)] == 4 else None
    return call(method, value) if isinstance(method, types.FunctionType) and _way(method) == "user" else value


def _refuse_hidden(function: Any, values: Any) -> None:
    """Refuse functions and objects among the arguments of a rule that hold active values: a rule sees only numbers,
    arrays and containers of them."""
    for value in values:
        kind = type(value)
        if KIND[kind] in (1, 2) or kind in _TRANSPARENT or hasattr(kind, "__array_interface__") or hasattr(
                value, "__array_interface__"):      # memory under another name: found by its address
            continue
        if isinstance(value, (list, tuple)):
            _refuse_hidden(function, value)
        elif isinstance(value, dict):
            _refuse_hidden(function, value.values())
        elif reaches_active(value, live()):
            raise MissingRule(f"{full_name(function)} is given a {kind.__name__} that holds an active value, and its "
                              "rule does not look inside", instead="pass the value as an argument of its own, or write "
                              "the call out in operations that have rules", place=user_place())


_TRANSPARENT = frozenset({float, int, bool, complex, str, bytes, type(None), type(Ellipsis), slice, range, type,
                          np.dtype, *np.sctypeDict.values(), np.ufunc})


def _composite(function: Any, text: Callable, args: tuple, kwargs: dict) -> Any:
    """A function that is written out in operations with rules where an active value reaches it."""
    if reaches_active((args, kwargs, function), live()):
        return call_rewritten(text, *args, **kwargs)
    guard(args, kwargs)
    return function(*args, **kwargs)


def call_rewritten(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of transad itself through the recorded path (rules and adjoints, when differentiated again)."""
    if isinstance(function, types.FunctionType):
        return rewritten(function)(*args, **kwargs)
    return call(function, *args, **kwargs)


# Python functions

_DIFFERENTIATED_AGAIN = ("transad.rules.", "transad.implicit", "transad.runtime.rule_parts",
                         "transad.runtime.reverse", "transad.runtime.adjoints",
                         "transad.runtime.backward", "transad.runtime.tangents", "transad.runtime.typed",
                         "transad.runtime.kernels", "transad.runtime.batch", "transad_generated_")
_LIBRARY = tuple({sysconfig.get_path("stdlib") + "/", *(
    (sys.modules[m].__file__ or "").rsplit("/", 1)[0] + "/" for m in ("numpy",))})
_PACKAGES = ("/site-packages/numpy/", "/site-packages/scipy/", "/site-packages/numba/", "/site-packages/matplotlib/",
             "/site-packages/pandas/")


def is_library(filename: str) -> bool:
    """Whether a file belongs to the standard library or a numerical package (not to the user)."""
    if "/site-packages/" in filename:
        return any(p in filename for p in _PACKAGES)
    return filename.startswith(_LIBRARY) or filename.startswith("<frozen")


_INERT = ("logging", "warnings", "traceback", "inspect", "threading", "tqdm")


_ways: dict[int, tuple[types.CodeType, str]] = {}       # id(code) -> (code, how to call its functions)


def _way(function: types.FunctionType) -> str:
    """native, again (transad's own derivative text), library or user."""
    code = function.__code__
    found = _ways.get(id(code))
    if found is not None and found[0] is code:
        return found[1]
    module = function.__globals__.get("__name__") or ""
    package = module.split(".")[0]
    if package == "transad" and not code.co_filename.startswith("<doctest"):      # which is a user's code
        way = "again" if module.startswith(_DIFFERENTIATED_AGAIN) else "native"
    elif is_library(code.co_filename):
        way = "native" if package in _INERT else "library"
    else:
        way = "user"
    _ways[id(code)] = (code, way)
    return way


def _python(function: types.FunctionType, args: tuple, kwargs: dict) -> Any:
    way = _way(function)
    if way == "native" or (way == "again" and not live()):
        return function(*args, **kwargs)
    if way == "library":
        stack = live()
        if not reaches_active((args, kwargs, function), stack):
            guard(args, kwargs)
            return function(*args, **kwargs)
    try:
        twin = rewritten(function)
    except NoSource as error:
        if _is_generated(function) or not reaches_active((args, kwargs, function), live()):
            guard(args, kwargs)
            return function(*args, **kwargs)
        error.place = user_place()
        raise
    return twin(*args, **kwargs)


def _is_generated(function: types.FunctionType) -> bool:
    """Functions that dataclasses and namedtuples generate only move references."""
    name = function.__code__.co_filename
    return name == "<string>" and ("__create_fn__" in function.__qualname__ or function.__name__ in (
        "__new__", "__init__", "__eq__", "__repr__", "__replace__", "<lambda>"))


def _bound(function: types.MethodType, args: tuple, kwargs: dict) -> Any:
    if isinstance(function.__func__, (types.FunctionType, functools.partial)) or not _is_generator(function.__self__):
        return call(function.__func__, function.__self__, *args, **kwargs)
    return opaque(function, args, kwargs)


def _is_generator(owner: Any) -> bool:
    """Whether an object draws random numbers for NumPy."""
    return isinstance(owner, (np.random.Generator, np.random.RandomState))


def _other(function: Any, args: tuple, kwargs: dict) -> Any:
    """Callable objects, NumPy's Python functions behind their dispatcher, jitted functions; else opaque."""
    kind = type(function)
    if kind.__module__.split(".")[0] == "transad":
        inside = getattr(function, "_called_inside", None)
        return function(*args, **kwargs) if inside is None else call(inside, *args, **kwargs)
    if is_numba(function):
        return numba_call(function, args, kwargs)
    implementation = getattr(function, "_implementation", None)
    if isinstance(implementation, types.FunctionType):
        if not reaches_active((args, kwargs), live()):
            guard(args, kwargs)
            return function(*args, **kwargs)
        return _numpy_text(function, implementation, args, kwargs)
    method = _class_attribute(kind, "__call__")
    if isinstance(method, types.FunctionType):
        return call(method, function, *args, **kwargs)
    return opaque(function, args, kwargs)


def _numpy_text(function: Any, implementation: types.FunctionType, args: tuple, kwargs: dict) -> Any:
    """A NumPy function without a rule: its own text is differentiated; if that fails, the function is named."""
    try:
        return rewritten(implementation)(*args, **kwargs)
    except (MissingRule, NoSource) as error:
        raise missing(function) from error


def _class_attribute(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


# What has neither source nor rule

def opaque(function: Any, args: tuple, kwargs: dict) -> Any:
    """Call natively if nothing active can be reached from the arguments; refuse otherwise."""
    stack = live()
    if stack and reaches_active((args, kwargs, function), stack):
        if _is_generator(getattr(function, "__self__", None)):
            draw = drawn(function, args, kwargs)
            if draw is not None:
                return draw
        owner = getattr(function, "__self__", None)
        text = find_composite(getattr(type(owner), getattr(function, "__name__", ""), None))
        if text is not None:                               # a method of a compiled class
            return call_rewritten(text, owner, *args, **kwargs)
        raise missing(function)
    guard(args, kwargs)
    return function(*args, **kwargs)


def opaque_store(obj: Any, index: Any, value: Any) -> None:
    """`obj[index] = value` for an object of a foreign class."""
    if reaches_active(value, live()):
        raise Unsupported(f"storing an active value into a {type(obj).__name__}",
                          instead="use an array, a list or a dict", place=user_place())
    obj[index] = value


def missing(function: Any) -> MissingRule:
    """The error for a function through which a derivative would be lost."""
    name = full_name(function)
    near = nearest(name)
    return MissingRule(f"{name} has no derivative rule, and an active value reaches it"
                       + (f" (there are rules for {', '.join(near)})" if near else ""),
                       instead=_HOW_TO.format(name=name), place=user_place())


_HOW_TO = """give it a rule:
    @transad.rules.partials({name})          # elementwise: one partial derivative per argument
    def _(x): return ...
    @transad.rules.adjoint({name}, "x")      # or: from the cotangent g of the result to that of x
    def _(g, out, x): return ...
  or call it through transad.custom_rule(f, rule); transad.stop_gradient(x) if no derivative is wanted"""


def full_name(function: Any) -> str:
    """A function's name with its module, for messages."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f"{type(owner).__module__}.{type(owner).__name__}.{getattr(function, '__name__', name)}"
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module and module != "builtins" else name


def guard(args: tuple, kwargs: dict) -> None:
    """Before native code that might write: copy what was saved from the arrays it is given."""
    if not live():
        return
    for value in (*args, *kwargs.values()):
        if KIND[type(value)] == 2 and value.flags.writeable:
            before_write(value)
        elif isinstance(value, (list, tuple)) and len(value) < 64:
            guard(tuple(value), {})


def user_place() -> Place | None:
    """The innermost rewritten line of the user's that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_rewritten(code) and not is_library(code.co_filename) and "/transad/" not in code.co_filename:
            positions = list(code.co_positions())[frame.f_lasti // 2]
            line, end, start, stop = positions
            one = line == end
            return Place(code.co_filename, line or frame.f_lineno, start if one else None, stop if one else None)
        frame = frame.f_back
    return None


def as_callback(function: Any) -> Any:
    """A function to hand to native code, whose own calls are recorded."""
    if function is None or (isinstance(function, types.FunctionType) and is_rewritten(function.__code__)):
        return function
    return functools.partial(call, function)


def source_or_none(function: Any) -> Any:
    """The source of a function, or None."""
    try:
        return get_source(function)
    except NoSource:
        return None


def is_active_now(value: Any) -> bool:
    """Whether anything active can be reached from a value."""
    return reaches_active(value, live())


_UFUNC_METHODS = frozenset({"reduce", "accumulate", "outer", "at", "reduceat"})


def _builtin(function: Any, args: tuple, kwargs: dict) -> Any:
    """Builtin functions and methods of builtin objects."""
    owner = function.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return opaque(function, args, kwargs)
    if isinstance(owner, types.FunctionType) and function.__name__ == "__get__":
        return function(*args)                             # a bound method of a user's function
    if isinstance(owner, np.ufunc) and function.__name__ in _UFUNC_METHODS:
        from .ufuncs import ufunc_method
        return ufunc_method(owner, function.__name__, args, kwargs)
    from .methods import builtin_method
    return builtin_method(function, owner, args, kwargs)


def _partial(function: functools.partial, args: tuple, kwargs: dict) -> Any:
    return call(function.func, *function.args, *args, **{**function.keywords, **kwargs})


def _cached(function: Any, args: tuple, kwargs: dict) -> Any:
    """functools.lru_cache: a cached value of an active argument would lose its derivative."""
    if reaches_active((args, kwargs, function.__wrapped__), live()):
        return call(function.__wrapped__, *args, **kwargs)
    return function(*args, **kwargs)


def _descriptor(function: Any, args: tuple, kwargs: dict) -> Any:
    """`list.append(xs, x)`, `object.__setattr__(self, "a", v)`: methods taken from a builtin class."""
    from .methods import builtin_method
    if function.__objclass__ is object or not args:
        return function(*args, **kwargs)
    return builtin_method(function.__get__(args[0]), args[0], args[1:], kwargs)


TYPE_HANDLERS.update({
    types.BuiltinFunctionType: _builtin, functools.partial: _partial, functools._lru_cache_wrapper: _cached,
    types.WrapperDescriptorType: _descriptor, types.MethodDescriptorType: _descriptor,
    types.MethodWrapperType: _builtin})
