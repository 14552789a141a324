"""Making objects: `Class(*args, **kwargs)` with the users' `__new__`, `__init__` and `__post_init__` rewritten."""
from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import operator
import types
from typing import Any

import numpy as np

from .activity import lower, reaches_active
from .calls import _class_attribute, as_callback, call, is_library, missing, opaque
from .indexing import iterate, unpack
from .methods import convert
from .sweep import live
from .texts import note
from .var import KIND, VARS

__all__ = ["construct"]

_REFERENCES = (list, tuple, set, frozenset, dict, collections.deque, collections.OrderedDict,
               collections.defaultdict, collections.Counter, collections.ChainMap)
_HOLDERS = (functools.partial, types.SimpleNamespace, types.MethodType, types.CellType, collections.UserDict,
            operator.itemgetter, operator.attrgetter, operator.methodcaller)


def construct(cls: type, args: tuple, kwargs: dict) -> Any:
    """`cls(*args, **kwargs)`"""
    if cls in _REFERENCES:
        return _container(cls, args, kwargs)
    if cls.__module__ == "builtins" and not issubclass(cls, BaseException):
        return _builtin(cls, args, kwargs)
    if issubclass(cls, np.generic) and cls.__module__ == "numpy":
        return _numpy_scalar(cls, args, kwargs)
    if cls in _HOLDERS:                                    # they keep references and do nothing yet
        return cls(*args, **kwargs)
    if cls.__module__ == "itertools":
        return _itertools(cls, args, kwargs)
    if cls.__module__.split(".")[0] == "transad":
        return cls(*args, **kwargs)
    if type(cls).__call__ is not type.__call__:            # an Enum, or another metaclass with its own call
        meta = _class_attribute(type(cls), "__call__")
        stack = live()
        if isinstance(meta, types.FunctionType) and reaches_active((args, kwargs), stack):
            return call(meta, cls, *args, **kwargs)
        return cls(*args, **kwargs)
    if _is_dataclass_with_post_init(cls):
        return _dataclass(cls, args, kwargs)
    return _user_class(cls, args, kwargs)


def _container(cls: type, args: tuple, kwargs: dict) -> Any:
    if cls is collections.defaultdict and args:
        return cls(as_callback(args[0]), *[iterate(a) for a in args[1:]], **kwargs)  # type: ignore[call-arg]
    return cls(*[a if cls is dict and isinstance(a, dict) else iterate(a) for a in args], **kwargs)


def _user_class(cls: type, args: tuple, kwargs: dict) -> Any:
    new, init = _class_attribute(cls, "__new__"), _class_attribute(cls, "__init__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    python_new, python_init = isinstance(new, types.FunctionType), isinstance(init, types.FunctionType)
    if not python_new and not python_init:
        if not reaches_active((args, kwargs), live()) or issubclass(cls, (BaseException, *_REFERENCES)):
            return cls(*args, **kwargs)
        return opaque(cls, args, kwargs)
    if is_library((new if python_new else init).__code__.co_filename) and not reaches_active((args, kwargs), live()):
        return cls(*args, **kwargs)
    if python_new:
        obj = call(new, cls, *args, **kwargs)
    elif cls.__new__ is object.__new__:
        obj = object.__new__(cls)
    else:
        obj = cls.__new__(cls, *args, **kwargs)
    if isinstance(obj, cls):
        init = _class_attribute(type(obj), "__init__")
        if isinstance(init, types.FunctionType):
            call(init, obj, *args, **kwargs)
        elif init is not object.__init__ and init is not None:
            init(obj, *[unpack(a) if KIND[type(a)] == 2 else a for a in args], **kwargs)
    return obj


def _is_dataclass_with_post_init(cls: type) -> bool:
    init = cls.__dict__.get("__init__")
    return (dataclasses.is_dataclass(cls) and isinstance(init, types.FunctionType)
            and init.__code__.co_filename == "<string>"
            and isinstance(_class_attribute(cls, "__post_init__"), types.FunctionType))


def _dataclass(cls: type, args: tuple, kwargs: dict) -> Any:
    """What the generated `__init__` does, with `__post_init__` rewritten."""
    bound = inspect.signature(cls).bind(*args, **kwargs).arguments
    obj = object.__new__(cls)
    initvars = []
    for field in cls.__dataclass_fields__.values():  # type: ignore[attr-defined]
        if field._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if field.init and field.name in bound:
            value = bound[field.name]
        elif field.default_factory is not dataclasses.MISSING:
            value = call(field.default_factory)
        elif field.default is not dataclasses.MISSING:
            value = field.default
        else:
            continue
        if field._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
            initvars.append(value)
        else:
            object.__setattr__(obj, field.name, value)
    call(_class_attribute(cls, "__post_init__"), obj, *initvars)
    return obj


# Numbers and other builtin classes

def _builtin(cls: type, args: tuple, kwargs: dict) -> Any:
    special = _BUILTIN.get(cls)
    if special is not None:
        return special(*args, **kwargs)
    if cls in (bytes, bytearray, memoryview):
        return opaque(cls, args, kwargs)
    if cls in _ITERATORS:
        return cls(*[iterate(a) for a in args], **kwargs)
    return cls(*args, **kwargs)


_ITERATORS = frozenset({zip, enumerate})


def _float(x: Any = 0.0, /) -> Any:
    if KIND[type(x)] == 2:
        return convert(_element(x), float)
    if KIND[type(x)] == 4:
        method = _class_attribute(type(x), "__float__")
        if isinstance(method, types.FunctionType):
            return call(method, x)
    return convert(x, float)


def _element(x: Any) -> Any:
    from .methods import array_method
    return array_method(x, "item", (), {})


def _complex(*args: Any, **kwargs: Any) -> Any:
    from .protocols import special
    args = tuple(_element(a) if KIND[type(a)] == 2 else a for a in (*args, *kwargs.values()))
    method = special(args[0], "__complex__") if args else None
    if method is not None:
        args = (call(method, args[0]), *args[1:])
    if not any(type(a) in VARS for a in args):
        return complex(*args)
    from .operators import BINARY
    if len(args) == 1:
        return convert(args[0], complex)
    return BINARY["add"](convert(args[0], complex), BINARY["mul"](args[1], 1j))


def _int(*args: Any, **kwargs: Any) -> int:
    return int(*lower(args, 0, live()), **kwargs)


def _bool(x: Any = False, /) -> bool:
    return bool(x)


def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and type(args[0]) in VARS:
        return type(lower(args[0], 0, []))
    return type(*args, **kwargs)


def _map(function: Any, *iterables: Any) -> Any:
    return map(as_callback(function), *[iterate(i) for i in iterables])


def _filter(function: Any, iterable: Any) -> Any:
    return filter(as_callback(function), iterate(iterable))


def _reversed(sequence: Any) -> Any:
    if KIND[type(sequence)] == 2:
        return iterate(sequence[::-1])
    method = _class_attribute(type(sequence), "__reversed__")
    if isinstance(method, types.FunctionType):
        return call(method, sequence)
    return reversed(sequence)


def _slice(*args: Any) -> slice:
    return slice(*args)


def _str(*args: Any, **kwargs: Any) -> str:
    text = str(*args, **kwargs)
    return note(text) if args and KIND[type(args[0])] == 2 and reaches_active(args[0], live()) else text


_BUILTIN = {str: _str, float: _float, complex: _complex, int: _int, bool: _bool, type: _type, map: _map, filter: _filter,
            reversed: _reversed, slice: _slice}


def _numpy_scalar(cls: type, args: tuple, kwargs: dict) -> Any:
    """np.float64(x) and its like: of a number or of an array."""
    if len(args) != 1:
        return cls(*args, **kwargs)
    value = args[0]
    if type(value) in VARS:
        return convert(value, cls)
    if KIND[type(value)] == 2 or isinstance(value, (list, tuple)):
        return call(np.asarray, value, dtype=cls) if np.ndim(value) else convert(_element(np.asarray(value)), cls)
    return cls(*args, **kwargs)


def _itertools(cls: type, args: tuple, kwargs: dict) -> Any:
    """Iterators over iterators: functions among the arguments are recorded, arrays give their items."""
    import itertools
    if cls is itertools.accumulate:
        return _accumulate(*args, **kwargs)
    kept = tuple(as_callback(a) if callable(a) else iterate(a) for a in args)
    kwargs = {k: as_callback(v) if k in ("func", "key") else v for k, v in kwargs.items()}
    if cls is itertools.repeat or cls is itertools.count:
        kept = args
    if cls is itertools.count and any(type(a) in VARS for a in args):
        raise missing(cls)
    return cls(*kept, **kwargs)


def _accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    from .operators import BINARY
    step = BINARY["add"] if func is None else as_callback(func)
    items = iter(iterate(iterable))
    if initial is None:
        try:
            total = next(items)
        except StopIteration:
            return
    else:
        total = initial
    yield total
    for item in items:
        total = step(total, item)
        yield total
