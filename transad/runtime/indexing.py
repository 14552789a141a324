"""Reading and writing elements, iterating and unpacking, of anything; arrays keep track of their elements."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import Unsupported
from .activity import active_in, deepest, lower
from .adjoints import gathered, loaded, stored
from .memory import before_write, root_of
from .records import freeze, thaw
from .strided import clear_overlap
from .sweep import live
from .var import KIND, make_var

__all__ = ["getitem", "iterate", "setitem", "unpack"]


def getitem(obj: Any, index: Any) -> Any:
    """`obj[index]`"""
    kind = type(obj)
    if kind is np.ndarray:
        return load(obj, index)
    if kind is list or kind is dict or kind is tuple:
        return obj[index]
    code = KIND[kind]
    if code == 2:
        return load(obj, index)
    if code == 4:
        method = _method(kind, "__getitem__")
        if hasattr(method, "__code__"):
            from .calls import call
            return call(method, obj, index)
    elif kind is np.flatiter:
        return load(_flat(obj), index)
    elif code == 1:
        from .calls import call
        return load(call(np.asarray, obj), index)
    return obj[index]


def _method(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _flat(flat: np.flatiter) -> np.ndarray:
    """The elements that `a.flat` runs over, as a view of `a` where there is one."""
    base = flat.base
    view = base.reshape(-1)
    if np.shares_memory(view, base) or base.size == 0:
        return view
    from .calls import call
    return call(np.ravel, base)


def load(array: np.ndarray, index: Any) -> Any:
    """`array[index]`: a view needs no record, an element gets a slot, a gathered copy a record."""
    value = array[index]
    stack = live()
    if not stack:
        return value
    root = root_of(array)
    key = id(root)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "bO" or root_of(value) is root:
            return value
        kept = None
        for sweep in stack:
            if key in sweep.roots:
                kept = freeze(index) if kept is None else kept
                made = root_of(value)
                sweep.roots[id(made)] = made
                sweep.made.add(id(made))
                sweep.tape.append((array, (value, kept), gathered))
        return value
    for sweep in stack:
        if key in sweep.roots:
            if type(value) is np.void:
                raise Unsupported("an element of an active structured array", instead="read the field first: a['x'][i]")
            tape = sweep.tape
            tape.append((array, index if type(index) is int else thaw(freeze(index)), loaded))
            value = make_var(sweep, len(tape) - 1, value)
    return value


def setitem(value: Any, obj: Any, index: Any) -> None:
    """`obj[index] = value`"""
    kind = type(obj)
    if kind is list:
        if type(index) is slice and KIND[type(value)] == 2:
            value = unpack(value)
        obj[index] = value
    elif kind is dict:
        obj[index] = value
    elif KIND[kind] == 2:
        write(value, obj, index)
    elif kind is np.flatiter:
        _write_flat(value, obj, index)
    else:
        method = _method(kind, "__setitem__")
        if KIND[kind] == 4 and hasattr(method, "__code__"):
            from .calls import call
            call(method, obj, index, value)
        elif method is dict.__setitem__ or method is list.__setitem__:
            method(obj, index, value)
        elif KIND[kind] == 4:
            from .calls import opaque_store
            opaque_store(obj, index, value)
        else:
            obj[index] = value


def _write_flat(value: Any, flat: np.flatiter, index: Any) -> None:
    base = flat.base
    view = base.reshape(-1)
    if np.shares_memory(view, base):
        write(value, view, index)
    else:
        positions = np.unravel_index(np.arange(base.size)[index], base.shape)
        write(value, base, positions)


def write(value: Any, array: np.ndarray, index: Any) -> None:
    """`array[index] = value`, with what it overwrites kept and the store recorded."""
    stack = live()
    if not stack:
        array[index] = value
        return
    if array.dtype.kind == "O":
        array[index] = value
        return
    if isinstance(index, str):
        write(value, array[index], Ellipsis)
        return
    if type(value) is np.ndarray and _is_same_view(value, array, index):
        return
    if (type(value) is np.ndarray and value.base is not None) or value is array:
        value = _as_numpy_reads(value, array, index, stack)
    before_write(array)
    number = array.dtype.kind in "fc"
    depth = deepest(array, stack, len(stack))
    if number or array.dtype.kind == "V":
        depth = deepest(value, stack, len(stack), depth)
    array[index] = lower(value, 0, stack)
    if depth < 0:
        return
    if array.base is not None and type(index) is not int and clear_overlap(array):
        _refuse_overlap(array, index)
    root = root_of(array)
    kept = freeze(index)
    for sweep in stack[:depth + 1]:
        target = lower(value, sweep.depth + 1, stack)
        active = (number or array.dtype.kind == "V") and active_in(target, sweep)
        if active:
            if array.dtype.kind == "V":
                raise Unsupported("storing active values into a structured array by index",
                                  instead="store field by field: a['x'][i] = v")
            sweep.roots.setdefault(id(root), root)
        elif id(root) not in sweep.roots:
            continue
        sweep.tape.append((array, (kept, target if active else None), stored))


def _refuse_overlap(array: np.ndarray, index: Any) -> None:
    """Of several writes to one element the last one counts, in an order that is NumPy's own."""
    place = array[index]
    if not isinstance(place, np.ndarray) or (np.may_share_memory(place, array) and not clear_overlap(place)):
        return
    from .calls import user_place
    raise Unsupported("a store into a view whose elements share memory", instead="write into the array itself",
                      place=user_place())


def _as_numpy_reads(value: np.ndarray, array: np.ndarray, index: Any, stack: list) -> Any:
    """The value of a store from memory that it overwrites: what NumPy reads while writing, as a gathered copy.

    NumPy buffers such stores only where it sees the need, so `m[1] = m[:, -1]` may read what it has just written. The
    same store on element numbers tells what it really reads.
    """
    root = root_of(array)
    if root_of(value) is not root or deepest(root, stack, len(stack)) < 0 or value.dtype != root.dtype:
        return value
    try:
        place = array[index]
    except IndexError:
        return value
    if not isinstance(place, np.ndarray) or not np.may_share_memory(place, value):
        return value
    flat = root.ravel(order="K")
    if root_of(flat) is not root or root.itemsize != 8:
        return value if not np.shares_memory(place, value) else _gathered_copy(value)
    numbers = np.arange(root.size)
    start = root.__array_interface__["data"][0]

    def numbered(view: np.ndarray) -> np.ndarray:
        return np.ndarray(view.shape, numbers.dtype, numbers, view.__array_interface__["data"][0] - start, view.strides)
    wanted = np.array(numbered(value))
    target = numbered(array)
    target[index] = numbered(value)
    read = target[index]
    if read.shape == wanted.shape and np.array_equal(read, wanted):
        return value
    return load(flat, np.array(read))


def _gathered_copy(value: np.ndarray) -> Any:
    from .calls import call
    return call(np.copy, value)


def _is_same_view(value: np.ndarray, array: np.ndarray, index: Any) -> bool:
    """Whether a store would copy a view onto itself (the end of `a[1:] += b`)."""
    if value.base is None and value is not array:
        return False
    if root_of(value) is not root_of(array) or not isinstance(index, (slice, int, tuple, type(Ellipsis))):
        return False
    try:
        place = array[index]
    except IndexError:
        return False
    if not isinstance(place, np.ndarray) or root_of(place) is not root_of(value):
        return False
    return (place.shape == value.shape and place.strides == value.strides and place.dtype == value.dtype
            and place.__array_interface__["data"] == value.__array_interface__["data"])


def iterate(obj: Any) -> Any:
    """What a `for` loop runs over: arrays item by item as they are when reached, other things as they are."""
    kind = type(obj)
    if kind is range or kind is list or kind is tuple:
        return obj
    code = KIND[kind]
    if code == 2:
        if not live() or obj.dtype.kind == "O" or obj.ndim == 0:
            return obj
        return _items(obj)
    if code == 4:
        method = _method(kind, "__iter__")
        if hasattr(method, "__code__"):
            from .calls import call
            return iterate(call(method, obj)) if not _is_iterator(obj) else _pulled(obj)
        if hasattr(_method(kind, "__getitem__"), "__code__") and method is None:
            return _by_number(obj)
    elif kind is np.flatiter:
        return _items(_flat(obj))
    return obj


def _is_iterator(obj: Any) -> bool:
    return hasattr(_method(type(obj), "__next__"), "__code__")


def _items(array: np.ndarray) -> Iterator[Any]:
    for k in range(len(array)):
        yield load(array, k)


def _by_number(obj: Any) -> Iterator[Any]:
    k = 0
    while True:
        try:
            value = getitem(obj, k)
        except IndexError:
            return
        yield value
        k += 1


def _pulled(obj: Any) -> Iterator[Any]:
    """The items of a user's iterator, its `__next__` rewritten."""
    from .calls import call
    advance = _method(type(obj), "__next__")
    while True:
        try:
            value = call(advance, obj)
        except StopIteration:
            return
        yield value


def unpack(obj: Any) -> Any:
    """What an assignment to several targets, `*x` in a call or a display takes apart."""
    kind = type(obj)
    if kind is tuple or kind is list:
        return obj
    if KIND[kind] or kind is np.flatiter:
        return list(iterate(obj)) if live() else obj
    return obj
