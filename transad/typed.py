"""The typed path: from a call with values of known kinds to a compiled pair of sweeps, and the call itself.

`attempt` answers one call. The first call of a signature builds the pair (`pipeline`), later ones only flatten the
arguments and run it. A function that cannot be typed is remembered with its reason.
"""
from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad import pipeline
from transad.describe import Shape, described, leaf_kinds, rebuilt
from transad.kinds import Array
from transad.maps.notes import LONG, warn
from transad.options import Options
from transad.passes.forward.by_element import numbers_of
from transad.passes.specialise.values import NotTyped
from transad.runtime.kernels import ItemFailed
from transad.runtime.sweep import live
from transad.verbs import MANY, ForwardDiff, many_sweeps

MISS: Any = type("Miss", (), {"__repr__": lambda self: "MISS"})()
_BUILT: dict[Any, list[Any]] = {}


class Refusal:
    """A signature that the typed path cannot take, and why."""

    def __init__(self, problem: NotTyped, dependencies: list[Any]) -> None:
        self.reason, self.filename, self.line = problem.reason, problem.filename, problem.line
        self.dependencies = dependencies

    def current(self) -> bool:
        return _unchanged(self.dependencies)


class Typed:
    """One signature of one function: its pair, ready to run."""

    def __init__(self, built: pipeline.Built, shapes: list[Shape], wanted: list[int], options: Options) -> None:
        self.built, self.shapes, self.wanted, self.options = built, shapes, wanted, options
        self.dependencies = built.dependencies
        self.counts = [len(leaf_kinds(s)) for s in shapes]
        self.total = sum(self.counts[w] for w in wanted)
        self.code = pipeline.load(built, options)

    def current(self) -> bool:
        return _unchanged(self.dependencies)

    def inputs(self, leaves: list[Any], cells: tuple) -> list[Any] | None:
        """All arguments of `f_fwd`; None if overlapping memory is written, which only the recorded path follows."""
        captured = [leaf for c in cells for leaf in described(c.cell_contents)[1]]
        values = [*captured, *leaves, *self.built.held]
        if self.built.writes:
            arrays = [v for v in values if isinstance(v, np.ndarray)]
            for k, a in enumerate(arrays):
                if not a.flags.writeable or any(np.may_share_memory(a, b) for b in arrays[:k]):
                    return None
        return values


def _unchanged(dependencies: Sequence[Any]) -> bool:
    for holder, name, value in dependencies:
        if type(holder) is dict:
            if holder.get(name, MISS) is not value:
                return False
        elif getattr(holder, name, MISS) is not value:
            return False
    return True


def plain_function(function: Any) -> tuple[types.FunctionType, tuple] | None:
    """The Python function behind a callable, and arguments that it already has."""
    if isinstance(function, ForwardDiff):
        function = function.__wrapped__
    if isinstance(function, types.FunctionType):
        return function, ()
    if type(function).__name__ == "CPUDispatcher" and hasattr(function, "py_func"):
        return function.py_func, ()
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        return function.__func__, (function.__self__,)
    if isinstance(function, functools.partial) and not function.keywords:
        inner = plain_function(function.func)
        return None if inner is None else (inner[0], (*inner[1], *function.args))
    return None


def find(function: Any, args: tuple, kwargs: dict, positions: Sequence[int], names: Sequence[str],
         options: Options) -> tuple[Any, list[Any], tuple, int] | None:
    """The pair for a call (built if need be), the flattened arguments, the closure cells and the bound count."""
    if type(function).__name__ == "DUFunc" and not any(isinstance(a, np.ndarray) for a in args):
        function = function._dispatcher.py_func
    plain = plain_function(function)
    if plain is None:
        return None
    f, bound = plain
    code = f.__code__
    ordered = _ordered(f, (*bound, *args), kwargs)
    if ordered is None:
        return None
    shapes, leaves = [], []
    for v in ordered:
        shape, flat = described(v)
        if shape is None:
            return None
        shapes.append(shape)
        leaves += flat
    cells = f.__closure__ or ()
    cell_shapes = _captured(cells)
    if cell_shapes is None:
        return None
    slots = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    wanted = [len(bound) + p for p in positions] + [slots.index(n) for n in names]
    key = (f, tuple(shapes), tuple(cell_shapes), tuple(wanted), options)
    try:
        known = _BUILT.get(key)
    except TypeError:
        return None
    entry = next((e for e in known or () if e.current()), None)
    if entry is None:
        entry = _build(f, slots, shapes, cell_shapes, wanted, options)
        _BUILT[key] = [entry, *(known or [])][:4]
    if isinstance(entry, Typed) and entry.built.by_element:
        values = [*(leaf for c in cells for leaf in described(c.cell_contents)[1]), *leaves]
        entry = _in_reverse_if_many(entry, values, key, lambda: _build(f, slots, shapes, cell_shapes, wanted, options, False))
    return entry, leaves, cells, len(bound)


def _captured(cells: tuple) -> list[Shape] | None:
    """The shapes of what a function captured, where all of it is known."""
    shapes = []
    for c in cells:
        try:
            shape, _ = described(c.cell_contents)
        except ValueError:
            return None
        if shape is None:
            return None
        shapes.append(shape)
    return shapes


def _in_reverse_if_many(entry: Typed, values: list[Any], key: tuple, build: Callable[[], Typed | Refusal]) -> Any:
    """The pair for calls whose marked functions read arrays of so many elements that they are differentiated in reverse."""
    label, count = max(((v, numbers_of(np.shape(values[k]), axes)) for v, k, axes in entry.built.by_element),
                       key=lambda found: found[1])
    if count <= MANY:
        return entry
    key = (*key, "in reverse")
    unmarked = next((e for e in _BUILT.get(key, ()) if e.current()), None)
    if unmarked is None:
        many_sweeps(label, count)
        unmarked = build()
        _BUILT[key] = [unmarked]
    return unmarked


def _ordered(f: types.FunctionType, args: tuple, kwargs: dict) -> list[Any] | None:
    """The arguments in the order of the function's variables, defaults filled in."""
    code = f.__code__
    if code.co_flags & 0x2C or len(args) > code.co_argcount:        # *args, **kwargs, generators
        return None
    if len(args) == code.co_argcount and not kwargs and not code.co_kwonlyargcount:
        return list(args)
    slots = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    values = dict(zip(slots, args, strict=False))
    for k, v in kwargs.items():
        if k not in slots or k in values or k in slots[:code.co_posonlyargcount]:
            return None
        values[k] = v
    defaults = f.__defaults__ or ()
    for k, v in zip(slots[code.co_argcount - len(defaults):code.co_argcount], defaults, strict=True):
        values.setdefault(k, v)
    for k, v in (f.__kwdefaults__ or {}).items():
        values.setdefault(k, v)
    return [values[k] for k in slots] if len(values) == len(slots) else None


def _build(f: types.FunctionType, slots: tuple[str, ...], shapes: list[Shape], cell_shapes: list[Shape],
           wanted: list[int], options: Options, marked: bool = True) -> Typed | Refusal:
    try:
        for w in wanted:
            for kind in leaf_kinds(shapes[w]):
                if not kind.real and not kind.dtype.startswith(("int", "uint")):
                    raise NotTyped(f"the differentiated argument {slots[w]} holds {kind.dtype} values")
        built = pipeline.build(f, dict(zip(slots, shapes, strict=True)),
                               dict(zip(f.__code__.co_freevars, cell_shapes, strict=True)),
                               [slots[w] for w in wanted], options, marked)
        return Typed(built, shapes, wanted, options)
    except NotTyped as problem:
        return Refusal(problem, getattr(problem, "dependencies", []))


def large_by_python(function: Any, args: tuple, options: dict, typed: Typed) -> None:
    """Warn of maps over large arrays that none of the kernels takes."""
    if typed.built.chain is None and not typed.options.jit and any(
            isinstance(v, np.ndarray) and v.size >= LONG for v in args):
        warn_of_maps(function, args, options)


def warn_of_maps(function: Any, args: tuple, options: dict) -> None:
    """Say of large maps that are run by Python why they are, unless this path was asked for."""
    chosen = Options.of(options)
    if chosen.path == "auto" and chosen.parallel:
        warn(function, args, options)


def _forward(typed: Typed, values: list[Any], plainly: Callable[[], Any]) -> tuple[Any, Any] | None:
    """What the forward sweep returns, or None where an item of a map failed that Python then ran; an exception comes from
    the user's own text, with its traceback, where running that again shows nothing else."""
    failed: Exception | None = None
    try:
        return typed.code.forward(*values)
    except Exception as problem:
        failed = problem
    if isinstance(failed, ItemFailed) or typed.built.repeatable:
        plainly()
    if not isinstance(failed, ItemFailed):
        raise failed
    return None


def _found(function: Any, args: tuple, kwargs: dict, positions: Sequence[int], names: Sequence[str],
           chosen: Options) -> tuple[Any, list[Any], tuple, int] | None:
    """What `find` gives, None where another path may answer, an error where there is none."""
    found = find(function, args, kwargs, positions, names, chosen)
    if found is not None and not isinstance(found[0], Refusal):
        return found
    if chosen.jit or chosen.path == "typed":
        check_call(function, args, kwargs)
        raise chosen.refused(function, None if found is None else found[0])
    return None


def attempt(function: Any, args: tuple, kwargs: dict, positions: Sequence[int], names: Sequence[str] = (), *,
            once: bool = False, options: dict | None = None) -> tuple[Any, Callable] | None:
    """`(y, back)` by the typed path, or None where the recorded path has to answer.

    With `jit=True` there is no other path: what cannot be compiled raises `CannotCompile` at the user's line."""
    chosen = Options.of(options or {})
    if (chosen.path == "recorded" and not chosen.jit) or (options or {}).get("path") == "recorded":
        return None
    found = _found(function, args, kwargs, positions, names, chosen)
    if found is None:
        return None
    typed, leaves, cells, _bound = found
    values = typed.inputs(leaves, cells)
    large_by_python(function, args, options or {}, typed)
    if values is None:
        if chosen.jit:
            raise chosen.overlapping(function)
        return None
    if chosen.jit:
        from transad.compiled import ready
        ready(typed.code.forward, tuple(values), typed.built)
    ran = _forward(typed, values, lambda: function(*args, **kwargs))
    if ran is None:
        return None
    flat, saved = ran
    results = (flat,) if len(typed.built.result_kinds) == 1 else flat
    if not once:
        saved = _protected(saved, values, results)
    y = typed.built.result(results)
    everything = [*args, *(kwargs[n] for n in names)]
    picked = [*positions, *range(len(args), len(args) + len(names))]

    def back(cotangent: Any) -> list[Any]:
        if live():
            return in_place([*_followed(typed, saved, cotangent)])
        seeds = typed.built.flatten_cotangent(cotangent, results)
        with np.errstate(all="ignore"):
            outs = reversed_by(typed, chosen, saved, seeds)
        return in_place((outs,) if typed.total == 1 else outs or ())

    def in_place(outs: Sequence[Any]) -> list[Any]:
        leaves_out = iter(outs)
        return [rebuilt(typed.shapes[w], leaves_out, everything[p]) for w, p in
                zip(typed.wanted, picked, strict=True)]

    def at_once(seeds: list[np.ndarray]) -> list[Any] | None:
        """Of many cotangents (one array for each number or array of the result, with a leading axis) all gradients, with
        that axis; None where they have to be taken one by one."""
        from transad.forwards.rows import lanes_of
        run = None if live() else lanes_of(typed, saved, results)
        return None if run is None else in_place(run(saved, seeds))
    back.at_once = at_once      # type: ignore[attr-defined]
    return y, back


def check_call(function: Any, args: tuple, kwargs: dict) -> None:
    """What Python says of a call with too many or too few arguments, or with names that the function does not have."""
    try:
        described = inspect.signature(function)
    except (TypeError, ValueError):
        return
    described.bind(*args, **kwargs)


def reversed_by(typed: Typed, chosen: Options, saved: tuple, seeds: list[Any]) -> Any:
    """What the reverse sweep gives; what Numba refuses in it is a `CannotCompile`."""
    if not chosen.jit:
        return typed.code.reverse(saved, *seeds)
    from numba.core.errors import NumbaError
    try:
        return typed.code.reverse(saved, *seeds)
    except (NumbaError, AssertionError) as problem:
        from transad.compiled import refused
        raise refused(problem, typed.built) from problem


def _followed(typed: Typed, saved: tuple, cotangent: Any) -> tuple:
    """The reverse sweep as part of a function that is being differentiated: its own text is recorded."""
    from transad.runtime.calls import call
    seeds = typed.built.flatten_cotangent(cotangent, (), exact=False)
    outs = call(typed.code.plain_reverse, saved, *seeds)
    return (outs,) if typed.total == 1 else outs


def _protected(saved: tuple, values: list[Any], results: tuple) -> tuple:
    """Saved arrays that the caller could overwrite before `back` runs are copied."""
    outside = [v for v in (*values, *results) if isinstance(v, np.ndarray)]

    def kept(v: Any) -> Any:
        if isinstance(v, np.ndarray) and any(np.may_share_memory(v, a) for a in outside):
            return v.copy(order="K")
        return v
    return tuple(kept(v) for v in saved)


__all__ = ["Array", "Refusal", "Typed", "attempt", "find"]
