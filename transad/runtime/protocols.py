"""What Python calls by itself: the special methods of users' classes behind `with`, `del`, comparisons, `round` and
`divmod`, descriptors and `__getattribute__`. The interpreter would run them as they are written, unrecorded.

Methods that give a truth value, a text, a hash or an index (`__bool__`, `__str__`, ...) do run so: no derivative goes
through their results."""
from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import _way, call, handles
from .operators import BINARY
from .var import KIND, plain

__all__ = ["COMPARE", "contains", "delitem", "entered", "read_attribute", "special"]


def special(obj: Any, name: str) -> Any:
    """The special method of an object where a user's class defines it in Python, else None."""
    return _written(type(obj), name) if KIND[type(obj)] == 4 else None


@functools.lru_cache(maxsize=4096)
def _written(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return found if isinstance(found, types.FunctionType) and _way(found) == "user" else None
    return None


class _Manager:
    """A context manager whose methods are recorded."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return call(special(self.manager, "__enter__") or type(self.manager).__enter__, self.manager)

    def __exit__(self, *raised: Any) -> Any:
        return call(special(self.manager, "__exit__") or type(self.manager).__exit__, self.manager, *raised)


def entered(manager: Any) -> Any:
    """What a `with` statement enters."""
    if special(manager, "__enter__") is None and special(manager, "__exit__") is None:
        return manager
    return _Manager(manager)


def delitem(obj: Any, index: Any) -> None:
    """`del obj[index]`"""
    method = special(obj, "__delitem__")
    if method is None:
        del obj[index]
    else:
        call(method, obj, index)


def contains(item: Any, container: Any) -> bool:
    """`item in container`"""
    method = special(container, "__contains__")
    return item in container if method is None else bool(call(method, container, item))


_COMPARISON = '''
def {name}(a, b):
    if (KIND[type(a)] | KIND[type(b)]) & 4:
        return general(a, b)
    return a {sign} b
'''


def _comparison(name: str, sign: str, other: str) -> Callable:
    """`a < b` and its like; six texts, because a shared function would cost a call on each comparison."""
    native, dunder, reflected = getattr(operator, name), f"__{name}__", f"__{other}__"

    def general(a: Any, b: Any) -> Any:
        order = [(dunder, a, b), (reflected, b, a)]
        if type(a) is not type(b) and issubclass(type(b), type(a)):
            order.reverse()
        if all(special(owner, method) is None for method, owner, _ in order):
            return native(a, b)
        for method, owner, argument in order:
            result = call(special(owner, method) or getattr(type(owner), method), owner, argument)
            if result is not NotImplemented:
                return result
        return native(a, b)
    namespace = {"KIND": KIND, "general": general}
    exec(compile(_COMPARISON.format(name=name, sign=sign), __file__, "exec"), namespace)
    return namespace[name]


COMPARE: dict[str, Callable] = {name: _comparison(name, sign, other) for name, sign, other in (
    ("lt", "<", "gt"), ("le", "<=", "ge"), ("gt", ">", "lt"), ("ge", ">=", "le"), ("eq", "==", "eq"), ("ne", "!=", "ne"))}


def read_attribute(obj: Any, name: str, found: Any) -> tuple[bool, Any]:
    """Whether a user's `__getattribute__` or descriptor (`found`, from the class) gives `obj.name`, and what."""
    reader = special(obj, "__getattribute__")
    if reader is not None:
        fallback = special(obj, "__getattr__")
        try:
            return True, call(reader, obj, name)
        except AttributeError:
            if fallback is None:
                raise
            return True, call(fallback, obj, name)
    getter = None if found is None else special(found, "__get__")
    if getter is None or (not hasattr(type(found), "__set__") and name in getattr(obj, "__dict__", ())):
        return False, None
    return True, call(getter, found, obj, type(obj))


@handles(round)
def _round(x: Any, ndigits: Any = None) -> Any:
    method = special(x, "__round__")
    if method is not None:
        return call(method, x) if ndigits is None else call(method, x, ndigits)
    if KIND[type(x)] == 2:
        return call(np.round, x, ndigits or 0)
    return round(plain(x), ndigits)


@handles(divmod)
def _divmod(a: Any, b: Any, /) -> Any:
    for method, args in ((special(a, "__divmod__"), (a, b)), (special(b, "__rdivmod__"), (b, a))):
        if method is not None and (result := call(method, *args)) is not NotImplemented:
            return result
    return BINARY["floordiv"](a, b), BINARY["mod"](a, b)


@handles(len)
def _len(obj: Any, /) -> int:
    method = special(obj, "__len__")
    return len(obj) if method is None else int(call(method, obj))
