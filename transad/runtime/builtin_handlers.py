"""What the builtin functions, and a few of the standard library and NumPy, do with active values."""
from __future__ import annotations

import builtins
import copy
import functools
import itertools
import math
import operator
import re
import sys
import types
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..rules.registry import find
from .activity import lower
from .apply import apply
from .calls import TYPE_HANDLERS, as_callback, call, handles, is_active_now, missing, opaque, user_place
from .indexing import getitem, iterate, load, setitem, unpack, write
from .methods import get_attribute, set_attribute
from .operators import BINARY, INPLACE, UNARY
from .sweep import live
from .texts import note
from .var import KIND, VARS, plain

_MISSING = object()


def _inert(*functions: Any) -> None:
    """Functions whose results carry no derivative and which change nothing: called natively."""
    for function in functions:
        handles(function)(function)


_inert(print, vars, isinstance, issubclass, id, hash, repr, ascii, format, callable, hasattr, any, all, chr, ord,
       bin, hex, oct, open, input, sys.getrecursionlimit, builtins.__import__, delattr, sys.getsizeof)

for _name, _function in {**BINARY, **INPLACE, **UNARY}.items():
    if hasattr(operator, _name):
        handles(getattr(operator, _name))(_function)
handles(operator.getitem)(getitem)
handles(operator.setitem)(lambda obj, index, value: setitem(value, obj, index))


@handles(math.log)
def _log(x: Any, *base: Any) -> Any:
    rule = find(math.log)
    assert rule is not None
    top = apply(math.log, rule, (x,), {})
    if not base:
        return top
    if not (is_active_now(base) or is_active_now(x)):
        return math.log(x, *base)
    return BINARY["truediv"](top, apply(math.log, rule, base, {}))


@handles(getattr)
def _getattr(obj: Any, name: str, default: Any = _MISSING, /) -> Any:
    if default is _MISSING:
        return get_attribute(obj, name)
    try:
        return get_attribute(obj, name)
    except AttributeError:
        return default


@handles(setattr)
def _setattr(obj: Any, name: str, value: Any, /) -> None:
    set_attribute(value, obj, name)


@handles(globals)
def _globals() -> dict[str, Any]:
    return sys._getframe(2).f_globals


@handles(eval, exec, compile)
def _evaluated(*args: Any, **kwargs: Any) -> Any:
    raise Unsupported("eval(), exec() and compile() hide the operations of the text they run",
                      instead="write the expression itself, or define a function and call it", place=user_place())


@handles(iter)
def _iter(obj: Any, sentinel: Any = _MISSING, /) -> Any:
    if sentinel is not _MISSING:
        return iter(as_callback(obj), sentinel)
    return iter(iterate(obj))


@handles(next)
def _next(iterator: Any, default: Any = _MISSING, /) -> Any:
    advance = None
    if KIND[type(iterator)] == 4:
        advance = next((b.__dict__["__next__"] for b in type(iterator).__mro__ if "__next__" in b.__dict__), None)
    try:
        return call(advance, iterator) if isinstance(advance, types.FunctionType) else next(iterator)
    except StopIteration:
        if default is _MISSING:
            raise
        return default


@handles(sum)
def _sum(iterable: Any, /, start: Any = 0) -> Any:
    add = BINARY["add"]
    total = start
    for item in iterate(iterable):
        total = add(total, item)
    return total


def _extremum(function: Any, args: tuple, key: Any, default: Any) -> Any:
    kwargs = {} if key is None else {"key": as_callback(key)}
    if default is not _MISSING:
        kwargs["default"] = default
    return function(iterate(args[0]), **kwargs) if len(args) == 1 else function(*args, **kwargs)


@handles(max)
def _max(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return _extremum(max, args, key, default)


@handles(min)
def _min(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return _extremum(min, args, key, default)


@handles(sorted)
def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> list:
    return sorted(iterate(iterable), key=as_callback(key), reverse=reverse)


@handles(abs)
def _abs(x: Any, /) -> Any:
    if KIND[type(x)] == 4 or KIND[type(x)] == 0:
        method = getattr(type(x), "__abs__", None)
        return call(method, x) if isinstance(method, types.FunctionType) else abs(x)
    rule = find(np.absolute)
    return abs(plain(x)) if rule is None else apply(abs, rule, (x,), {})


@handles(pow)
def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    return BINARY["pow"](base, exp) if mod is None else pow(base, exp, mod)


@handles(functools.reduce)
def _reduce(function: Any, iterable: Any, initial: Any = _MISSING, /) -> Any:
    step = as_callback(function)
    items = iter(iterate(iterable))
    if initial is _MISSING:
        total = next(items, _MISSING)
        if total is _MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    else:
        total = initial
    for item in items:
        total = step(total, item)
    return total


@handles(itertools.tee)
def _tee(iterable: Any, n: int = 2, /) -> Any:
    return itertools.tee(iterate(iterable), n)


@handles(copy.copy)
def _copy(obj: Any) -> Any:
    if type(obj) in VARS:
        return obj
    return call(np.copy, obj) if KIND[type(obj)] == 2 else copy.copy(obj)


@handles(copy.deepcopy)
def _deepcopy(obj: Any, memo: Any = None) -> Any:
    memo = {} if memo is None else memo
    for array in _arrays(obj, set()):
        if id(array) not in memo and is_active_now(array):
            memo[id(array)] = call(np.copy, array)
    return copy.deepcopy(obj, memo)


def _arrays(obj: Any, seen: set[int]) -> list[np.ndarray]:
    """All arrays inside an object."""
    if KIND[type(obj)] == 2:
        return [obj]
    if id(obj) in seen or isinstance(obj, (str, bytes, int, float, type, types.ModuleType, types.FunctionType)):
        return []
    seen.add(id(obj))
    if isinstance(obj, dict):
        parts = [*obj.values()]
    elif isinstance(obj, (list, tuple, set)):
        parts = list(obj)
    else:
        parts = list(getattr(obj, "__dict__", {}).values())
    return [a for p in parts for a in _arrays(p, seen)]


def _itemgetter(function: Any, args: tuple, kwargs: dict) -> Any:
    keys = function.__reduce__()[1]
    items = tuple(getitem(args[0], k) for k in keys)
    return items[0] if len(items) == 1 else items


def _attrgetter(function: Any, args: tuple, kwargs: dict) -> Any:
    names = function.__reduce__()[1]
    values = tuple(functools.reduce(get_attribute, name.split("."), args[0]) for name in names)
    return values[0] if len(values) == 1 else values


def _methodcaller(function: Any, args: tuple, kwargs: dict) -> Any:
    from .methods import method
    made = function.__reduce__()
    if made[0] is operator.methodcaller:
        return method(args[0], *made[1])
    return method(args[0], *made[0].args, *made[1], **made[0].keywords)


TYPE_HANDLERS.update({operator.itemgetter: _itemgetter, operator.attrgetter: _attrgetter,
                      operator.methodcaller: _methodcaller})


# NumPy functions that write, iterate or take functions

def _layout(a: np.ndarray) -> tuple:
    return a.__array_interface__["data"][0], a.shape, a.strides


@handles(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not np.can_cast(np.asarray(lower(src, 0, live())).dtype, dst.dtype, casting):  # type: ignore[arg-type]
        np.copyto(dst, lower(src, 0, live()), casting, where)  # type: ignore[arg-type]
    if where is True:
        write(src, dst, Ellipsis)
    else:
        mask = np.broadcast_to(where, dst.shape)
        if isinstance(src, np.ndarray) and np.shares_memory(dst, src) and _layout(dst) != _layout(src):
            raise Unsupported("np.copyto with a mask between overlapping parts of an array: NumPy copies in an order of its own",
                              instead="copy first: np.copyto(dst, src.copy(), where=mask)", place=user_place())
        write(load(call(np.broadcast_to, src, dst.shape), mask), dst, mask)


@handles(np.fill_diagonal)
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    marks = np.zeros(a.shape, dtype=bool)
    np.fill_diagonal(marks, True, wrap)
    positions = np.nonzero(marks)
    value = unpack(val) if isinstance(val, (list, tuple)) else val
    if np.ndim(lower(value, 0, live())):
        count = len(positions[0])
        value = call(np.resize, call(np.ravel, call(np.asarray, value)), count)
    write(value, a, positions)


@handles(np.put)
def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    from .methods import array_method
    array_method(a, "put", (ind, _resized(v, np.size(ind)), mode), {})


def _resized(values: Any, size: int) -> Any:
    if np.ndim(lower(values, 0, live())) == 0:
        return values
    flat = call(np.ravel, call(np.asarray, values))
    return flat if flat.size == size else call(np.resize, flat, size)


@handles(np.putmask)
def _putmask(a: Any, mask: Any, values: Any) -> None:
    mask = np.asarray(mask, dtype=bool)
    spread = _resized(values, a.size)
    if np.ndim(lower(spread, 0, live())):
        spread = load(call(np.reshape, spread, a.shape), mask)
    write(spread, a, mask)


@handles(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> None:
    mask = np.asarray(mask, dtype=bool)
    write(_resized(vals, int(np.count_nonzero(mask))), arr, mask)


@handles(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    if axis is None:
        raise Unsupported("np.put_along_axis with axis=None", instead="arr.flat[indices] = values",
                          place=user_place())
    grid = list(np.ogrid[tuple(slice(n) for n in np.shape(indices))])
    grid[axis] = indices
    write(values, arr, tuple(grid))


@handles(np.ndenumerate)
def _ndenumerate(arr: Any) -> Any:
    for index in np.ndindex(np.shape(arr)):
        yield index, load(arr, index)


@handles(np.apply_along_axis)
def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    moved = call(np.moveaxis, call(np.asarray, arr), axis, -1)
    lead = moved.shape[:-1]
    results = [call(np.asarray, call(func1d, load(moved, i), *args, **kwargs)) for i in np.ndindex(lead)]
    stacked = call(np.reshape, call(np.stack, results), lead + results[0].shape)
    extra = results[0].ndim
    axis = axis % np.ndim(arr)
    return call(np.moveaxis, stacked, tuple(range(len(lead), len(lead) + extra)), tuple(range(axis, axis + extra)))


def _vectorized(function: Any, args: tuple, kwargs: dict) -> Any:
    """np.vectorize: a loop over the broadcast elements (with a signature, over stacks of arrays)."""
    places = [k for k in range(len(args)) if k not in function.excluded]
    names = [n for n in kwargs if n not in function.excluded]
    varied = [args[k] for k in places] + [kwargs[n] for n in names]
    ranks = [0] * len(varied)
    if function.signature is not None:
        ranks = [len(part.split(",")) if part.strip() else 0
                 for part in re.findall(r"\(([^()]*)\)", function.signature.partition("->")[0])]
    shapes = [np.shape(lower(a, 0, live())) for a in varied]
    shape = np.broadcast_shapes(*(s[:len(s) - r] for s, r in zip(shapes, ranks, strict=True)))
    spread = [call(np.broadcast_to, call(np.asarray, a), shape + s[len(s) - r:])
              for a, s, r in zip(varied, shapes, ranks, strict=True)]

    def one(i: tuple) -> Any:
        items = [_number_of_python(load(a, i)) if function.signature is None else load(a, i) for a in spread]
        given = dict(zip(places, items, strict=False))
        return call(function.pyfunc, *(given.get(k, a) for k, a in enumerate(args)),
                    **{**kwargs, **dict(zip(names, items[len(places):], strict=True))})
    if function.otypes is None and function.signature is None and not function.cache and 0 not in shape:
        one((0,) * len(shape))                          # NumPy calls it once more, to see what it gives
    results = [one(i) for i in np.ndindex(shape)]
    if results and isinstance(results[0], tuple):
        return tuple(_assembled([r[k] for r in results], shape, None) for k in range(len(results[0])))
    if not results:
        return function(*args, **kwargs)
    return _assembled(results, shape, function.otypes)


def _number_of_python(v: Any) -> Any:
    """An element as NumPy passes it on, by way of an array of objects."""
    return call(float, v) if isinstance(v, np.floating) and type(v) is not np.longdouble else v


def _assembled(items: list, shape: tuple, otypes: Any) -> Any:
    core = np.shape(lower(items[0], 0, live()))
    if core:
        return call(np.reshape, call(np.stack, items), shape + core)
    dtype = np.dtype(otypes[0]) if otypes else np.asarray(plain(items[0])).dtype
    flat = call(np.array, items, dtype=dtype)
    return call(np.reshape, flat, shape) if shape else getitem(flat, 0)


TYPE_HANDLERS[np.vectorize] = _vectorized


@handles(np.fromiter)
def _fromiter(iterable: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    items = list(iterate(iterable)) if count < 0 else list(itertools.islice(iterate(iterable), count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return call(np.array, items, dtype=dtype)


@handles(np.nditer)
def _nditer(*args: Any, **kwargs: Any) -> Any:
    return opaque(np.nditer, args, kwargs)


@handles(np.frombuffer)
def _frombuffer(*args: Any, **kwargs: Any) -> Any:
    if is_active_now((args, kwargs)):
        raise missing(np.frombuffer)
    return np.frombuffer(*args, **kwargs)


def _printing(function: Any) -> Any:
    def printed(*args: Any, **kwargs: Any) -> Any:
        text = function(*lower(args, 0, live()), **kwargs)
        return note(text) if is_active_now(args) else text
    return printed


for _function in (np.array2string, np.array_repr, np.array_str, np.format_float_positional,
                  np.format_float_scientific, repr, format):
    handles(_function)(_printing(_function))


__all__: list[str] = []
