"""Arrays are tracked by the memory they live in.

    root_of(a)          the array that owns a's memory (the end of the chain of `.base`)
    Handle              a saved array; copied just before its memory is written (copy on write)
    Shadows             cotangents: one buffer per owner, with the owner's layout; the shadow of a view is the same
                        view of the shadow of its owner

Aliases, views, swaps and writes by callees are thereby right by construction: nothing has to be analysed.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import pool
from ..deferred import Product, computed
from ..errors import Unsupported
from .strided import clear_overlap
from .sweep import Sweep, live

__all__ = ["Handle", "Shadows", "before_write", "is_active", "refuse_subclasses", "root_of", "save"]


def root_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` uses; itself if it owns it."""
    base = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array, base = base, base.base
        elif type(base) is memoryview:
            base = base.obj
        else:
            base = getattr(base, "base", None)       # the interface objects of as_strided
    return array


def refuse_subclasses(values: Any) -> None:
    """Refuse arrays whose class may give the operations another meaning (masked arrays, matrices, classes of users)."""
    for value in values:
        kind = type(value)
        if kind is not np.ndarray and kind is not np.memmap and isinstance(value, np.ndarray):
            raise Unsupported(f"an array of the class {kind.__name__}, whose operations may mean something else",
                              instead="convert it with np.array(x) (and multiply by the mask) first")


def is_active(sweep: Sweep, array: np.ndarray) -> bool:
    """Whether `array` lies in memory that may carry derivative in `sweep`."""
    return bool(sweep.roots) and id(root_of(array)) in sweep.roots and supported(array)


def supported(array: np.ndarray) -> bool:
    """True; refuses active arrays of a subclass, whose operations mean something else (a mask, `*` as a product)."""
    kind = type(array)
    if kind is np.ndarray or kind is np.memmap:
        return True
    from .calls import user_place
    raise Unsupported(f"an active value is in an array of the class {kind.__module__}.{kind.__qualname__}",
                      place=user_place(), instead="use plain arrays: np.asarray(x), or x.filled(0.0) times a mask")


class Handle:
    """A saved array value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def save(sweep: Sweep, array: np.ndarray) -> Handle:
    """Keep the present contents of `array` for the reverse sweep without copying them yet."""
    handle = Handle(array)
    sweep.handles.setdefault(id(root_of(array)), []).append(handle)
    return handle


def before_write(array: np.ndarray) -> None:
    """To be called before memory is written: the values saved from it are copied, in every live sweep."""
    stack = live()
    if not stack:
        return
    key = id(root_of(array))
    for sweep in stack:
        if sweep.guarded and key in sweep.guarded:
            raise Unsupported(sweep.guarded[key], instead="pass a copy as one of the arguments")
        sweep.written.add(key)
        handles = sweep.handles.pop(key, None)
        if handles:
            materialise(handles, sweep.depth)


def materialise(handles: list[Handle], depth: int) -> None:
    """Replace saved references by copies (recorded in the sweeps outside `depth`)."""
    copies: dict[tuple, np.ndarray] = {}
    for handle in handles:
        array = handle.value
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        if key not in copies:
            copies[key] = copy_below(array, depth, True)
        handle.value = copies[key]


def laid_out_alike(array: np.ndarray) -> np.ndarray:
    """A copy with the strides of `array`, gaps included: what `order="A"` means depends on them.

    >>> laid_out_alike(np.arange(8.0)[::2]).strides
    (16,)
    """
    flags, size = array.flags, array.itemsize
    if flags.c_contiguous or flags.f_contiguous or any(s % size for s in array.strides) or clear_overlap(array):
        return np.array(array, copy=True, order="K", subok=False)
    low, high = np.lib.array_utils.byte_bounds(array)
    flat = np.zeros((high - low) // size, array.dtype)
    copy = np.ndarray(array.shape, array.dtype, flat, array.__array_interface__["data"][0] - low, array.strides)
    copy[...] = array
    return copy


def copy_below(array: np.ndarray, depth: int, alike: bool = False) -> np.ndarray:
    """A copy, recorded in those of the outer `depth` sweeps in which `array` is active; in memory of its own, unless it is
    to be laid out `alike`."""
    from .adjoints import copied
    copy = laid_out_alike(array) if alike else np.array(array, copy=True, order="K", subok=False)
    memory = root_of(copy)
    root = None
    for sweep in live()[:depth]:
        if sweep.roots:
            root = root_of(array) if root is None else root
            if id(root) in sweep.roots:
                sweep.roots[id(memory)] = memory
                sweep.made.add(id(memory))
                sweep.tape.append((array, copy, copied))
    return copy


def gradient_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of cotangents: the same for floats and complex, float64 for integers and booleans."""
    return np.dtype(np.float64) if dtype.kind in "iub" else dtype


class Shadows:
    """The cotangents of memory during one reverse sweep; zero (absent) until something is added.

    The first cotangent of a whole array is only referred to (`first`), as long as nobody has to write: most arrays get
    one cotangent, which is then read from where it is.
    """

    __slots__ = ("_views", "buffers", "first")

    def __init__(self) -> None:
        self.first: dict[int, tuple[np.ndarray, np.ndarray | Product, bool]] = {}
        self.buffers: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._views: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def has(self, array: np.ndarray) -> bool:
        """Whether anything was added to the memory of `array`."""
        key = id(root_of(array))
        return key in self.buffers or key in self.first

    def vacant(self, array: np.ndarray, dtype: np.dtype) -> bool:
        """Whether a cotangent of this dtype may be referred to as the first one of `array`."""
        key = id(array)
        return (array.base is None and key not in self.buffers and key not in self.first
                and dtype == gradient_dtype(array.dtype))

    def refer(self, array: np.ndarray, c: np.ndarray, fresh: bool) -> None:
        """Refer to `c` as the cotangent of `array`; it is never written to, unless it is fresh: nobody else has it."""
        self.first[id(array)] = (array, c, fresh and c.base is None)

    def accept(self, array: np.ndarray, c: Any, fresh: bool) -> bool:
        """Refer to a real cotangent of the array's own shape, or a product, if it is the first one."""
        if type(c) is not np.ndarray and type(c) is not Product:
            return False
        key, dtype = id(array), array.dtype
        if (dtype.kind != "f" or array.base is not None or c.shape != array.shape or c.dtype != dtype or key in self.buffers
                or key in self.first):
            return False
        self.first[key] = (array, c, fresh and type(c) is np.ndarray and c.base is None)
        return True

    def release(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Before `array` gets a shadow to write to: a fresh first cotangent becomes it; of another, the whole array and
        the cotangent that has to be copied."""
        found = self.first.pop(id(root_of(array)), None)
        if found is None:
            return None
        root, c, fresh = found
        c, fresh = computed(c), fresh or type(c) is Product
        if fresh and c.flags.c_contiguous and root.flags.c_contiguous:
            self.buffers[id(root)] = (c.reshape(-1), c)
            return None
        self.buffers[id(root)] = blank(root, pool.empty)
        return root, c

    def of(self, array: np.ndarray) -> np.ndarray:
        """The shadow of `array`: writable, aliased exactly as `array` is."""
        found = self._views.get(id(array))
        if found is not None and found[0] is array:
            return found[1]
        root = root_of(array)
        pair = self.buffers.get(id(root))
        if pair is None:
            pair = self.buffers[id(root)] = blank(root, pool.zeros)
        if root is array:
            return pair[1]
        view = same_view(array, root, pair[0])
        self._views[id(array)] = (array, view)
        return view

    def take(self, array: np.ndarray) -> tuple[Any, bool]:
        """The cotangent of an array that owns its memory and comes into being here (nothing earlier refers to it), or
        None for zero; and whether nobody else has it."""
        found = self.first.pop(id(array), None)
        if found is not None:
            return found[1], found[2]
        pair = self.buffers.pop(id(array), None)
        return (None, True) if pair is None else (pair[1], True)


def blank(root: np.ndarray, make: Any) -> tuple[np.ndarray, np.ndarray]:
    """A buffer made by `make` and its view with the layout of `root`."""
    dtype = gradient_dtype(root.dtype)
    if root.flags.c_contiguous:
        flat = make((root.size,), dtype)
        return flat, flat.reshape(root.shape)
    if root.flags.f_contiguous:
        flat = make((root.size,), dtype)
        return flat, flat.reshape(root.shape, order="F")
    low, high = np.lib.array_utils.byte_bounds(root)
    flat = make(((high - low) // root.itemsize,), dtype)
    return flat, same_view(root, root, flat)


def same_view(array: np.ndarray, root: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """The view of the buffer `flat` that `array` is of the memory of `root`."""
    start = np.lib.array_utils.byte_bounds(root)[0] if root.size else 0
    offset = (array.__array_interface__["data"][0] - start) if array.size else 0
    strides, dtype = array.strides, gradient_dtype(array.dtype)
    if root.dtype.kind in "iub":                 # the shadow's items may be wider than the integers'
        old, new = root.itemsize, flat.itemsize
        if array.dtype != root.dtype or offset % old or any(s % old for s in strides):
            raise Unsupported("a view that reinterprets the bytes of a differentiated integer array",
                              instead="convert the array with astype(float) first")
        offset, strides, dtype = offset // old * new, tuple(s // old * new for s in strides), flat.dtype
    return np.ndarray(array.shape, dtype, buffer=flat, offset=offset, strides=strides)
