"""Methods and attributes: `obj.name(...)`, `obj.name`, `obj.name = value`."""
from __future__ import annotations

import collections
import functools
import itertools
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..rules.registry import find
from .activity import lower
from .apply import apply, record_copy
from .calls import _class_attribute, apply_rule, as_callback, call, missing, opaque, user_place
from .indexing import iterate, load, setitem, unpack, write
from .memory import is_active, root_of
from .protocols import read_attribute, special
from .sweep import live
from .texts import note
from .var import KIND, PLAIN_OF, VAR_OF, VARS, plain

__all__ = ["builtin_method", "convert", "get_attribute", "method", "set_attribute"]

_CONTAINERS = (list, dict, set, frozenset, tuple, str, bytes, bytearray, range, slice, collections.deque,
               types.GeneratorType, types.MappingProxyType, memoryview)
_TAKE_ITERABLES = frozenset({"extend", "extendleft", "update", "union", "fromkeys", "__init__", "__new__", "__iadd__",
                             "intersection", "difference", "join"})


def method(obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """`obj.name(*args, **kwargs)`"""
    kind = type(obj)
    code = KIND[kind]
    if code == 2:
        return array_method(obj, name, args, kwargs)
    if kind is types.ModuleType:
        return call(getattr(obj, name), *args, **kwargs)
    if code == 1:
        return _scalar_method(obj, name, args, kwargs)
    if code == 0 and isinstance(obj, _CONTAINERS):
        return _container_method(obj, getattr(obj, name), name, args, kwargs)
    function = get_attribute(obj, name)
    if type(function) in _BUILTIN_METHODS and function.__self__ is obj:
        return builtin_method(function, obj, args, kwargs)
    return call(function, *args, **kwargs)


_BUILTIN_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)


def builtin_method(function: Any, owner: Any, args: tuple, kwargs: dict) -> Any:
    """A method that is implemented in C, bound to its object (or class)."""
    name = function.__name__
    code = KIND[type(owner)]
    if code == 2:
        return array_method(owner, name, args, kwargs)
    if code == 1:
        return _scalar_method(owner, name, args, kwargs)
    if isinstance(owner, np.ufunc) and name in ("reduce", "accumulate", "outer", "at", "reduceat"):
        return call(function, *args, **kwargs)
    if owner is itertools.chain and name == "from_iterable":
        return itertools.chain.from_iterable(iterate(i) for i in iterate(args[0]))
    if isinstance(owner, _CONTAINERS) or (isinstance(owner, type) and issubclass(owner, _CONTAINERS)):
        return _container_method(owner, function, name, args, kwargs)
    if type(function) is types.MethodWrapperType and name in _REFERENCE_METHODS:
        return function(*args, **kwargs)
    if isinstance(owner, Iterator) and type(owner).__module__ in ("builtins", "itertools",
                                                                                    "_collections"):
        return function(*args, **kwargs)
    return opaque(function, args, kwargs)


_REFERENCE_METHODS = frozenset([
    "__setattr__", "__getattribute__", "__init__", "__init_subclass__", "__delattr__", "__repr__", "__str__",
    "__hash__", "__eq__", "__ne__", "__format__", "__len__", "__contains__", "__next__", "__iter__", "__call__",
    "__reduce__", "__reduce_ex__", "__dir__", "__sizeof__"
])
_OPERATORS = {f"__{n}__": n for n in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul", "neg")}


def _container_method(obj: Any, function: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """Containers only move references; iterables given to them are taken apart first."""
    if name in _TAKE_ITERABLES:
        args = tuple(unpack(a) if KIND[type(a)] == 2 else iterate(a) if KIND[type(a)] == 4 else a for a in args)
    if name == "sort" and kwargs.get("key") is not None:
        kwargs = {**kwargs, "key": as_callback(kwargs["key"])}
    if type(obj) is memoryview or (isinstance(obj, (bytes, bytearray)) and name in ("decode", "hex")):
        return opaque(function, args, kwargs)
    return function(*args, **kwargs)


# Arrays

_AS_FUNCTION = frozenset([
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "conj",
    "conjugate", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ptp",
    "ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"
])
_NATIVE = frozenset([
    "setflags", "view", "transpose", "__len__", "__array__", "__repr__", "__str__", "__format__", "__bool__",
    "getfield", "__contains__", "__int__", "__index__"
])


def array_method(array: np.ndarray, name: str, args: tuple, kwargs: dict) -> Any:
    """`array.name(*args, **kwargs)`"""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(array, *args, **kwargs)
    if name in _AS_FUNCTION:
        function = getattr(np, name)
        rule = find(function)
        if rule is not None:
            return apply_rule(function, rule, (array, *args), kwargs)
        return call(function, array, *args, **kwargs)
    function = getattr(array, name)
    if name in _OPERATORS:
        return call(getattr(operator, _OPERATORS[name]), array, *args)
    if name in _NATIVE:
        return function(*args, **kwargs)
    if isinstance(function, types.MethodType):
        return call(function, *args, **kwargs)
    return opaque(function, args, kwargs)


def _copy(array: np.ndarray, order: str = "C") -> np.ndarray:
    return _recorded_copy(array, array.copy(order))  # type: ignore[arg-type]


def _recorded_copy(array: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """Record a fresh copy in every sweep in which the original is active."""
    root = root_of(array)
    for sweep in live():
        if id(root) in sweep.roots:
            record_copy(sweep, array, copy)
    return copy


def _flatten(array: np.ndarray, order: str = "C") -> np.ndarray:
    rule = find(np.ravel)
    flat = call(np.ravel, array, order)
    return _copy(flat) if root_of(flat) is root_of(array) or rule is None else flat


def _astype(array: np.ndarray, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
            copy: bool = True) -> np.ndarray:
    result = array.astype(dtype, order, casting, subok, copy)  # type: ignore[call-overload]
    if result.dtype.kind not in "biufc" and any(is_active(sweep, array) for sweep in live()):
        raise Unsupported(f"an active array is turned into an array of {result.dtype}", place=user_place(),
                          instead="compute with arrays of numbers; stop_gradient(x) is the array without derivative")
    if result is array or result.dtype.kind not in "fc" or root_of(result) is root_of(array):
        return result
    return _recorded_copy(array, result)


def _reshape(array: np.ndarray, *shape: Any, order: str = "C", copy: Any = None) -> np.ndarray:
    shape = shape[0] if len(shape) == 1 else shape
    if copy:
        array = _copy(array)
    return call(np.reshape, array, shape, order)


def _item(array: np.ndarray, *index: Any) -> Any:
    if len(index) == 1 and isinstance(index[0], tuple):
        index = index[0]
    if len(index) == 1:
        index = np.unravel_index(index[0], array.shape)
    if not index:
        if array.size != 1:
            return array.item()
        index = (0,) * array.ndim
    return to_python(load(array, tuple(int(k) for k in index)))


def to_python(value: Any) -> Any:
    """A NumPy scalar as the Python number."""
    if type(value) in VARS:
        return convert(value, type(plain(value).item())) if isinstance(plain(value), np.generic) else value
    return value.item() if isinstance(value, np.generic) else value


def _tolist(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return _item(array)
    rows = [load(array, k) for k in range(len(array))]
    return [_tolist(v) if isinstance(v, np.ndarray) else to_python(v) for v in rows]


def _fill(array: np.ndarray, value: Any) -> None:
    write(value, array, Ellipsis)


def _sort(array: np.ndarray, axis: int = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> None:
    write(call(np.sort, array, axis=axis, kind=kind), array, Ellipsis)


def _put(array: np.ndarray, indices: Any, values: Any, mode: str = "raise") -> None:
    flat = np.arange(array.size)[np.asarray(indices)] if mode == "raise" else np.asarray(indices) % array.size
    positions = np.unravel_index(flat, array.shape)
    write(values, array, positions)


def _resize(array: np.ndarray, *shape: Any, refcheck: bool = True) -> None:
    raise Unsupported("resizing an array in place", instead="make a new array with np.resize", place=user_place())


def _partition(array: np.ndarray, kth: Any, axis: int = -1, **kwargs: Any) -> None:
    write(call(np.take_along_axis, array, np.argpartition(array, kth, axis=axis), axis), array, Ellipsis)


def _compress(array: np.ndarray, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return call(np.compress, condition, array, axis, out=out)


_SPECIAL = {"copy": _copy, "compress": _compress, "__copy__": _copy, "flatten": _flatten, "astype": _astype,
            "reshape": _reshape, "item": _item, "tolist": _tolist, "fill": _fill, "sort": _sort, "put": _put, "resize": _resize,
            "partition": _partition, "__getitem__": load, "__deepcopy__": lambda a, memo=None: _copy(a),
            "__setitem__": lambda a, i, v: write(v, a, i), "__iter__": iterate,
            "__iadd__": lambda a, b: _iadd(a, b)}


def _iadd(array: np.ndarray, other: Any) -> Any:
    from .operators import INPLACE
    return INPLACE["iadd"](array, other)


# Active scalars

_SCALAR_SAFE = frozenset({"is_integer", "__bool__", "__int__", "__float__", "__repr__", "__str__", "__format__",
                          "__hash__", "__index__", "__eq__", "__lt__", "__gt__", "__le__", "__ge__", "__ne__"})


def _scalar_method(var: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """Methods of active numbers: NumPy's through their functions, Python's that lose nothing natively."""
    if name in _SCALAR_SAFE:
        return note(getattr(plain(var), name)(*lower(args, 0, live()), **kwargs))
    if name in _OPERATORS:
        return call(getattr(operator, _OPERATORS[name]), var, *args)
    if name == "item":
        return to_python(var)
    if name == "tolist":
        return to_python(var)
    if name in ("conjugate", "conj"):
        return call(np.conj, var) if isinstance(var, (complex, np.complexfloating)) else var
    if name in ("copy", "squeeze", "__copy__", "__deepcopy__"):
        return var
    if name == "astype":
        return convert(var, np.dtype(args[0]).type)
    if isinstance(var, np.generic) and name in _AS_FUNCTION | {"reshape", "flatten"}:
        function = np.ravel if name == "flatten" else getattr(np, name)
        return call(function, var, *args, **kwargs)
    raise missing(getattr(var, name))


def convert(value: Any, kind: type) -> Any:
    """An active number as another type of number: the same slot, only the class differs (real to complex, whose
    cotangent loses its imaginary part on the way back, gets a slot of its own)."""
    if type(value) not in VARS:
        return kind(value)
    base = PLAIN_OF[type(value)]
    if base is kind:
        return value
    if issubclass(kind, (int, np.integer, np.bool_)):
        return kind(plain(value))
    target = VAR_OF.get(kind)
    number = kind(plain(value))
    if target is None:
        return number
    if issubclass(kind, (complex, np.complexfloating)) or issubclass(base, (complex, np.complexfloating)):
        return call(np.multiply, value, kind(1)) if kind is not complex else _to_complex(value)
    var = target(number)
    var.sweep, var.index, var.outer = value.sweep, value.index, convert(value.outer, kind)
    return var


def _to_complex(value: Any) -> Any:
    return call(operator.mul, value, complex(1.0))


# Attributes

def get_attribute(obj: Any, name: str) -> Any:
    """`obj.name`; properties of users' classes are rewritten functions."""
    kind = type(obj)
    if KIND[kind] != 4 or kind.__module__.startswith("transad"):
        return getattr(obj, name)
    found = _class_attribute(kind, name)
    given, value = read_attribute(obj, name, found)
    if given:
        return value
    if type(found) is property and found.fget is not None:
        return call(found.fget, obj)
    if type(found) is functools.cached_property:
        if name not in obj.__dict__:
            obj.__dict__[name] = call(found.func, obj)
        return obj.__dict__[name]
    if found is None and isinstance(_class_attribute(kind, "__getattr__"), types.FunctionType):
        try:
            return (type if isinstance(obj, type) else object).__getattribute__(obj, name)
        except AttributeError:
            return call(_class_attribute(kind, "__getattr__"), obj, name)
    return getattr(obj, name)


def set_attribute(value: Any, obj: Any, name: str) -> None:
    """`obj.name = value`"""
    kind = type(obj)
    if KIND[kind] == 4:
        found = _class_attribute(kind, name)
        if type(found) is property and found.fset is not None:
            call(found.fset, obj, value)
            return
        store = None if found is None else special(found, "__set__")
        if store is not None:
            call(store, found, obj, value)
            return
        setter = _class_attribute(kind, "__setattr__")
        if isinstance(setter, types.FunctionType) and setter.__qualname__ != "_frozen_setattr":
            call(setter, obj, name, value)
            return
    elif KIND[kind] == 2 and name in ("real", "imag", "flat"):
        if name == "flat":
            setitem(value, obj.flat, slice(None))
        else:
            setitem(value, getattr(obj, name), Ellipsis)
        return
    setattr(obj, name, value)


def _part(name: str) -> property:
    """`.real` and `.imag` of active numbers."""
    function = getattr(np, name)

    def read(var: Any) -> Any:
        if isinstance(var, (complex, np.complexfloating)):
            return call(function, var)
        return var if name == "real" else type(plain(var))(0)
    return property(read)


def _array_ufunc(self: Any, ufunc: Any, how: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy function reached an active number in text that was not rewritten."""
    if how == "__call__" and live():
        rule = find(ufunc)
        if rule is not None:
            return apply(ufunc, rule, inputs, kwargs)
    return getattr(ufunc, how)(*lower(inputs, 0, live()), **lower(kwargs, 0, live()))


def _install() -> None:
    for cls in VARS:
        cls.real = _part("real")
        cls.imag = _part("imag")
        setattr(cls, "__copy__", lambda self: self)  # noqa: B010
        setattr(cls, "__deepcopy__", lambda self, memo: self)  # noqa: B010
        setattr(cls, "__reduce__", lambda self: (type(plain(self)), (plain(self),)))  # noqa: B010
        setattr(cls, "__reduce_ex__", lambda self, protocol: (type(plain(self)), (plain(self),)))  # noqa: B010
        cls.__array_ufunc__ = _array_ufunc


_install()
