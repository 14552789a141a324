"""Compiled per-sample gradients: one kernel for each signature of a function, made when it is first met.

A kernel has two forms: `fused`, in which loops over buffers replace array statements and which needs the lengths of the
arguments to agree, and `plain`, which is the pair of sweeps as it is. Which one runs is decided by the shapes of a call.
"""
from __future__ import annotations

import dataclasses
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad import cache, pipeline
from transad.describe import _STATIC, Shape, leaf_kinds
from transad.kinds import Array, Kind, Scalar, kind_of
from transad.maps.kernels import Chain
from transad.options import Options
from transad.passes.specialise.values import NotTyped, Val
from transad.samples.text import SampleText, sample_text
from transad.tree import children
from transad.typed import _unchanged

CHUNKS = 64
_WORTH_THREADS = 2e-4           # seconds of a whole loop
_NONE = np.full(CHUNKS, -1, np.int64)


def shape_of(value: Any, leaves: list[Any], mapped: int = 0) -> Shape:
    """The shape of an argument and its numbers and arrays; `mapped` axes in front belong to the samples.

    Dicts, lists and objects with attributes are followed like tuples and dataclasses."""
    kind = kind_of(value)
    if kind is not None:
        leaves.append(value)
        return Shape("leaf", _item(kind, mapped))
    if isinstance(value, _STATIC) or (type(value).__module__ == "transad.function" and hasattr(value, "__wrapped__")):
        return Shape("static", value=getattr(value, "__wrapped__", value))
    if type(value) is list or isinstance(value, tuple):
        return Shape("tuple", cls=type(value), parts=tuple(shape_of(v, leaves, mapped) for v in value))
    if type(value) is dict:
        if not all(type(k) in (str, int) for k in value):
            raise NotTyped("a dict with keys that are neither texts nor integers")
        return Shape("record", cls=dict, names=tuple(value),
                     parts=tuple(shape_of(v, leaves, mapped) for v in value.values()))
    cls = type(value)
    fields = dict(children(value) or []) if hasattr(cls, "__slots__") else getattr(value, "__dict__", None)
    if not fields or not all(isinstance(k, str) for k in fields) or cls.__module__ in ("builtins", "numpy") or (
            cls.__setattr__ is not object.__setattr__ or hasattr(cls, "__getattr__")) or (
            cls.__getattribute__ is not object.__getattribute__):
        raise NotTyped(f"an argument is a {cls.__name__}")
    if dataclasses.is_dataclass(value):
        names = tuple(f.name for f in dataclasses.fields(value))
        if set(names) != set(fields):
            raise NotTyped(f"a {cls.__name__} with attributes besides its fields")
        fields = {k: fields[k] for k in names}
    return Shape("record", cls=cls, names=tuple(fields), parts=tuple(shape_of(v, leaves, mapped) for v in fields.values()))


def _item(kind: Kind, mapped: int) -> Kind:
    if not mapped:
        return kind
    if not isinstance(kind, Array) or kind.ndim < mapped:
        raise NotTyped("an argument of the samples is not an array")
    return Array(kind.dtype, kind.ndim - mapped) if kind.ndim > mapped else Scalar(kind.dtype)


@dataclasses.dataclass
class Loop:
    """A compiled loop over samples: on this thread, and (compiled when it is first worth it) on several."""

    serial: Callable[..., None]
    wide: Callable[..., None]
    warm: bool = False


class SampleKernel:
    """See the module. `arguments`: the shape of each argument; `mapped`: which of them hold one entry per sample;
    `wanted`: positions that are differentiated; `rows`: of a function of a batch, the axis of the samples in each argument."""

    def __init__(self, f: types.FunctionType, arguments: Sequence[Shape], cells: Sequence[Shape], mapped: Sequence[bool],
                 wanted: Sequence[int], rows: Sequence[int] | None = None, strict: bool = False) -> None:
        slots = f.__code__.co_varnames[:f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
        refuse_mutation(f.__code__)
        for w in wanted:
            if any(not k.real for k in leaf_kinds(arguments[w])):
                raise NotTyped(f"the differentiated argument {slots[w]} holds integers or complex numbers")
        # A cotangent that is a row of the result keeps its zeros: `passes.buffers` fills the row where it is first touched.
        self.options = Options(jit=True, parallel=False, strict=strict, without=frozenset({"first_writes"}))
        s = pipeline.run(pipeline.State(f, dict(zip(slots, arguments, strict=True)),
                                        dict(zip(f.__code__.co_freevars, cells, strict=True)),
                                        [slots[w] for w in wanted], options=self.options,
                                        rows=None if rows is None else {slot: axis for slot, axis, m in zip(
                                            slots, rows, mapped, strict=True) if m}))
        self.check_result(s)
        leaves = {slot: pipeline._leaf_names(a, s.specialiser, slot) for slot, a in zip(slots, arguments, strict=True)}
        self.pair = s.pair
        self.dtype = np.dtype(s.structure.kind.dtype)           # of the losses
        self.counted = s.program.parameters[-1].split("@")[0] not in {*s.specialiser.kinds}       # takes the number of samples
        self.wanted = [n for w in wanted for n in leaves[slots[w]]]
        self.mapped = {n for slot, m in zip(slots, mapped, strict=True) if m for n in leaves[slot]}
        self.held = list(s.specialiser.captures.values())
        self.dependencies = pipeline._distinct(s.specialiser.dependencies)
        simple = all(not k.dtype.startswith("complex") for k in s.program.kinds.values())
        self.fused: SampleText | None = sample_text(*self.parts()) if simple else None
        self.ready: dict[bool, Loop] = {}
        self.paths: dict[bool, str] = {}
        self.fits: dict[Any, bool] = {}
        self.seconds = 0.0              # of a sample

    def parts(self, fuse: bool = True) -> tuple:
        import copy
        return copy.copy(self.pair), self.wanted, self.mapped, fuse

    def check_result(self, s: Any) -> None:
        if s.recursive:
            raise NotTyped("the function calls itself")
        kind = getattr(s.structure, "kind", None)
        right = isinstance(kind, Array) and kind.ndim == 1 if s.rows is not None else isinstance(kind, Scalar)
        real = getattr(kind, "dtype", "") in ("float64", "float32")
        if not isinstance(s.structure, Val) or not right or not real or len(s.pair.seeds) != 1:
            raise NotTyped("the result is not " + ("one array of losses" if s.rows is not None else "one real number"))

    def current(self) -> bool:
        return _unchanged(self.dependencies)

    # -- running ---------------------------------------------------------------------------------------------------
    def given(self, inputs: Sequence[Any], total: int) -> list[Any]:
        """All parameters of the loop: captured numbers and those of the arguments, in order; `total`: of the samples."""
        return [*inputs, *self.held, total] if self.counted else [*inputs, *self.held]

    def chosen(self, given: Sequence[Any]) -> Loop:
        """The compiled loop for these parameters."""
        return self.compiled(self.fused is not None and self.agrees(given))

    def fill(self, run: Loop, n: int, given: Sequence[Any], rows: Sequence[np.ndarray], values: np.ndarray,
             threads: int | None = None) -> bool:
        """Fill the rows and the values, `n` entries each; False where a sample failed."""
        if n > 1 and (self.seconds * n > _WORTH_THREADS if threads is None else threads > 1):
            from transad.runtime.threads import limited
            failed = _NONE.copy()
            start = time.perf_counter()
            with limited(threads):
                run.wide(n, min(n, CHUNKS), *given, *rows, values, failed)
            if threads is None:
                import numba
                self.seconds = min(self.seconds, (time.perf_counter() - start) / n * numba.get_num_threads())
            return bool(failed.max() < 0)
        failed = _NONE[:1].copy()
        start = time.perf_counter()
        run.serial(0, n, 0, *given, *rows, values, failed)
        if run.warm:
            spent = (time.perf_counter() - start) / n
            self.seconds = min(spent, self.seconds) if self.seconds else spent
        run.warm = True                 # the first call compiles
        return failed[0] < 0

    def agrees(self, given: Sequence[Any]) -> bool:
        """Whether the lengths of a call are those that the fused form needs."""
        shapes = tuple(np.shape(v) for v in given)
        known = self.fits.get(shapes)
        if known is None:
            assert self.fused is not None
            space: dict[str, Any] = {}
            for p, shape in zip(self.pair.parameters, shapes, strict=True):
                item = shape if p not in self.mapped else shape[1:]
                space[p] = types.SimpleNamespace(shape=item)
            known = self.fits[shapes] = all(eval(a, {}, space) == eval(b, {}, space) for a, b in self.fused.equal) and all(
                eval(d, {}, space) for d in self.fused.filled)
        return known

    def compiled(self, fused: bool) -> Loop:
        if fused not in self.ready:
            from transad.compiled import switched_off
            from transad.maps.launch import compiled_space
            from transad.runtime.threads import guarded
            from transad.runtime.vector_math import vector_function
            text = self.fused if fused else sample_text(*self.parts(fuse=False))
            assert text is not None
            vector = {f"vector_{f}": getattr(np, f) if switched_off() else vector_function(f) for f in text.vector}
            chain = Chain(self.pair.name, [], {**self.pair.constants, **vector}, text.text, text.functions, [], True)
            path = self.paths[fused] = cache.stored(text.text, f"{self.pair.name}_samples", repr(self.options))
            space = compiled_space(chain, compile(text.text, path, "exec"), path, self.options)
            self.ready[fused] = Loop(space[text.serial], guarded(space[text.wide]))
        return self.ready[fused]

    @property
    def text(self) -> str:
        """What runs where the lengths agree."""
        return (self.fused or sample_text(*self.parts(fuse=False))).text


def refuse_mutation(code: types.CodeType) -> None:
    """Attributes that a function assigns would have to be seen by its caller."""
    import dis
    if any(i.opname in ("STORE_ATTR", "DELETE_ATTR") for i in dis.get_instructions(code)):
        raise NotTyped("an attribute is assigned")


__all__ = ["SampleKernel", "refuse_mutation", "shape_of"]
