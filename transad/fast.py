"""The short way for repeated calls: numbers and arrays in, the joint sweep, value and gradient out.

A wrapper in Python soon costs more than a small gradient does, so once a signature has been built its joint sweep is
called with nothing in between but one condition: the arguments are of the kinds that it was built for, and what the
function refers to is unchanged. The way of the last call is tried first (`Fast.quick`).
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from transad import pool
from transad.describe import Shape
from transad.kinds import Scalar
from transad.options import Options
from transad.passes.forward.by_element import numbers_of
from transad.passes.specialise.values import Val
from transad.runtime.sweep import _local
from transad.typed import MISS, Refusal, Typed, _unchanged, find, large_by_python
from transad.verbs import MANY

_ARRAY = np.ndarray


def _never(*args: Any) -> Any:
    """The short way where there is none."""
    return MISS


class Fast:
    """Value and gradient of one function for the arguments at `positions`, by signature."""

    __slots__ = ("function", "known", "options", "positions", "quick", "single")

    def __init__(self, function: Any, positions: Sequence[int], single: bool, options: dict[str, Any]) -> None:
        self.function, self.positions, self.single = function, tuple(positions), single
        self.options = Options.of(options)
        self.known: dict[Any, tuple[Callable[..., Any], Sequence[Any]]] = {}
        self.quick = _never

    def __call__(self, args: tuple) -> Any:
        """`(value, gradient)`, or MISS where the general way has to answer. (`quick` was tried before.)"""
        if _local.stack:                               # inside a differentiated function
            return MISS
        key = tuple([(_ARRAY, a.dtype, a.ndim) if type(a) is _ARRAY else type(a) for a in args])
        found = self.known.get(key)
        if found is not None and not _unchanged(found[1]):
            del self.known[key]
            found = None
        if found is None:
            found = self.known[key] = self.learn(args)
        self.quick = found[0]
        return found[0](*args)

    def learn(self, args: tuple) -> tuple[Callable[..., Any], Sequence[Any]]:
        """The joint sweep for arguments like these, if the short way applies, and what its text refers to."""
        present = all(p < len(args) for p in self.positions)
        if self.options.path == "recorded" or not present or inspect.iscoroutinefunction(self.function):
            return _never, ()
        if not all(type(a) in (float, int, _ARRAY) for a in args):
            return _never, ()
        found = find(self.function, args, {}, self.positions, (), self.options)
        if found is None or isinstance(found[0], Refusal) or found[2] or found[3]:
            return _never, ()
        typed = found[0]
        built = typed.built
        plain = isinstance(built.structure, Val) and isinstance(built.structure.kind, Scalar)
        leaves = all(s.kind == "leaf" for s in typed.shapes) and len(typed.shapes) == len(args)
        if not plain or not built.structure.kind.real or not leaves or built.writes or built.held:
            return _never, ()
        large_by_python(self.function, args, {"path": self.options.path, "parallel": self.options.parallel}, typed)
        if self.options.jit:
            from transad.compiled import ready
            ready(getattr(typed.code.joint, "dispatcher", typed.code.joint), args, built)
        run = self.forwards(args, typed)
        if run is None and self.options.mode == "forward":
            return _never, ()                          # more sweeps than one: see `forwards.sweeps`
        run = run or self.runner(typed, typed.code.joint)
        by_element = {k: axes for _, k, axes in built.by_element}
        return _guarded(run, args, typed.dependencies, built.repeatable, by_element), typed.dependencies

    def forwards(self, args: tuple, typed: Typed) -> Callable[..., Any] | None:
        """A forward sweep, where `mode` asks for it or chooses it (see `Options`)."""
        if self.options.mode == "auto" and typed.built.chain is not None and typed.built.chain.threaded:
            return None                            # the kernels have chosen for each map
        taped = typed.built.pair is not None and getattr(typed.built.pair, "taped", False)
        if self.options.mode == "reverse" or (self.options.mode == "auto" and not taped):
            return None
        from transad.forwards.forward import chosen
        run = chosen(self, args, typed)
        if run is None or self.options.mode == "forward":
            return run
        return _or_reverse(run, self.runner(typed, typed.code.joint))

    def runner(self, typed: Typed, joint: Callable[..., Any]) -> Callable[..., Any]:
        """A sweep that gives value and gradient, made to return them in the form that was asked for."""
        numbers = [_is_number(typed.shapes[w]) for w in typed.wanted]
        if self.options.jit:
            if self.single or len(typed.wanted) > 1:
                return joint
            return lambda *args: _tupled(*joint(*args))

        ruled = "_adjoint(" in typed.built.text          # whose work goes through the pool

        def plain(*args: Any) -> Any:
            if ruled:
                pool.enter()
            try:
                with np.errstate(all="ignore"):
                    y, outs = joint(*args)
            finally:
                if ruled:
                    pool.leave()
            outs = (outs,) if len(numbers) == 1 else outs
            grads = tuple(float(g) if number else g for g, number in zip(outs, numbers, strict=True))
            return y, grads[0] if self.single else grads
        return plain


def _or_reverse(forward: Callable[..., Any], reverse: Callable[..., Any]) -> Callable[..., Any]:
    """The forward sweep; where it gives NaN the reverse one, in which a zero cotangent wins over an infinite slope."""
    def run(*args: Any) -> Any:
        found = forward(*args)
        return found if found is MISS or not _is_nan(found[1]) else reverse(*args)
    return run


def _is_nan(gradient: Any) -> bool:
    if type(gradient) is tuple:
        return any(map(_is_nan, gradient))
    return bool(np.isnan(np.sum(gradient))) if type(gradient) is _ARRAY else gradient != gradient


def _is_number(shape: Shape) -> bool:
    return isinstance(shape.leaf, Scalar)


def _guarded(run: Callable[..., Any], args: tuple, dependencies: Sequence[Any], again: bool,
             by_element: Mapping[int, int] = MappingProxyType({})) -> Callable[..., Any]:
    """The sweep, called if the arguments are of the kinds of `args`, what the text refers to is unchanged and no
    sweep is live; else MISS. Made as text for these arguments, since a loop over them would cost as much as the sweep.

    again       what raises is left to the general way, which finds out why
    by_element  arrays of which each element takes a sweep, but for leading axes: the sweep is for few elements"""
    space: dict[str, Any] = {"run": run, "local": _local, "MISS": MISS, "numbers_of": numbers_of}
    tests = ["more or local.stack"]
    for k, a in enumerate(args):
        space[f"t{k}"] = type(a)
        tests.append(f"type(a{k}) is not t{k}")
        if type(a) is _ARRAY:
            space[f"d{k}"] = a.dtype
            tests.append(f"a{k}.ndim != {a.ndim} or (a{k}.dtype is not d{k} and a{k}.dtype != d{k})")
            tests += [f"numbers_of(a{k}.shape, {by_element[k]}) > {MANY}"] if k in by_element else []
    for k, (holder, name, value) in enumerate(dependencies):
        space |= {f"h{k}": holder, f"v{k}": value}
        held = f"h{k}.get({name!r}, MISS)" if type(holder) is dict else f"getattr(h{k}, {name!r}, MISS)"
        tests.append(f"{held} is not v{k}")
    given = ", ".join(f"a{k}" for k in range(len(args)))
    lines = [f"def quick({', '.join(f'a{k}=None' for k in range(len(args)))}{', ' if args else ''}*more):",
             f"    if {' or '.join(tests)}:", "        return MISS",
             *(["    try:", f"        return run({given})", "    except Exception:", "        return MISS"] if again else
               [f"    return run({given})"])]
    exec("\n".join(lines), space)
    return space["quick"]


def _tupled(y: Any, g: Any) -> Any:
    return y, (g,)
