"""The short way for repeated calls: numbers and arrays in, the joint sweep, value and gradient out.

A wrapper in Python soon costs more than a small gradient does, so once a signature has been built its joint sweep is
called with nothing in between but one look-up and the check that what the function refers to is unchanged.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.describe import Shape
from transad.kinds import Scalar
from transad.options import Options
from transad.passes.specialise.values import Val
from transad.runtime.kernels import ItemFailed
from transad.runtime.sweep import _local
from transad.typed import MISS, Refusal, Typed, find

_ARRAY = np.ndarray


class Fast:
    """Value and gradient of one function for the arguments at `positions`, by signature."""

    __slots__ = ("function", "known", "options", "positions", "single")

    def __init__(self, function: Any, positions: Sequence[int], single: bool, options: dict[str, Any]) -> None:
        self.function, self.positions, self.single = function, tuple(positions), single
        self.options = Options.of(options)
        self.known: dict[Any, Any] = {}

    def __call__(self, args: tuple) -> Any:
        """`(value, gradient)`, or MISS where the general way has to answer."""
        if _local.stack:                               # inside a differentiated function
            return MISS
        key = tuple(map(type, args))
        found = self.known.get(key)
        if found is None or found[2]:
            if found is None and _ARRAY not in key:
                found = self.known[key] = (*self.learn(args), False)
            else:                                  # with arrays the types do not say enough
                self.known[key] = (None, (), True)
                longer = (key, *[(a.dtype, a.ndim) for a in args if type(a) is _ARRAY])
                found = self.known.get(longer)
                if found is None:
                    found = self.known[longer] = (*self.learn(args), False)
                key = longer
        run, dependencies, _ = found
        if run is None:
            return MISS
        for holder, name, value in dependencies:
            if (holder.get(name) if type(holder) is dict else getattr(holder, name, None)) is not value:
                del self.known[key]
                return MISS
        return run(*args)

    def learn(self, args: tuple) -> tuple[Callable[..., Any] | None, Sequence[Any]]:
        """The joint sweep for arguments like these, if the short way applies."""
        present = all(p < len(args) for p in self.positions)
        if self.options.path == "recorded" or not present or inspect.iscoroutinefunction(self.function):
            return None, ()
        if not all(type(a) in (float, int, _ARRAY) for a in args):
            return None, ()
        found = find(self.function, args, {}, self.positions, (), self.options)
        if found is None or isinstance(found[0], Refusal) or found[2] or found[3]:
            return None, ()
        typed = found[0]
        built = typed.built
        plain = isinstance(built.structure, Val) and isinstance(built.structure.kind, Scalar)
        leaves = all(s.kind == "leaf" for s in typed.shapes) and len(typed.shapes) == len(args)
        if not plain or not built.structure.kind.real or not leaves or built.writes or built.held:
            return None, ()
        if self.options.jit:
            from transad.compiled import ready
            ready(getattr(typed.code.joint, "dispatcher", typed.code.joint), args, built)
        run = self.forwards(args, typed) or self.runner(typed, typed.code.joint)
        return run if typed.built.chain is None else _followed(run), typed.dependencies

    def forwards(self, args: tuple, typed: Typed) -> Callable[..., Any] | None:
        """A forward sweep, where `mode` asks for it or chooses it (see `Options`)."""
        if self.options.mode == "auto" and typed.built.chain is not None and typed.built.chain.threaded:
            return None                            # the kernels have chosen for each map
        taped = typed.built.pair is not None and getattr(typed.built.pair, "taped", False)
        if self.options.mode == "reverse" or (self.options.mode == "auto" and not taped):
            return None
        from transad.forward import chosen
        return chosen(self, args, typed)

    def runner(self, typed: Typed, joint: Callable[..., Any]) -> Callable[..., Any]:
        """A sweep that gives value and gradient, made to return them in the form that was asked for."""
        numbers = [_is_number(typed.shapes[w]) for w in typed.wanted]
        if self.options.jit:
            if self.single or len(typed.wanted) > 1:
                return joint
            return lambda *args: _tupled(*joint(*args))

        def plain(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                y, outs = joint(*args)
            outs = (outs,) if len(numbers) == 1 else outs
            grads = tuple(float(g) if number else g for g, number in zip(outs, numbers, strict=True))
            return y, grads[0] if self.single else grads
        return plain


def _is_number(shape: Shape) -> bool:
    return isinstance(shape.leaf, Scalar)


def _followed(run: Callable[..., Any]) -> Callable[..., Any]:
    """The call; where an item of a map failed, the general way finds out why."""
    def call(*args: Any) -> Any:
        try:
            return run(*args)
        except ItemFailed:
            return MISS
    return call


def _tupled(y: Any, g: Any) -> Any:
    return y, (g,)
