"""What a program says about its own derivative: stop_gradient, checkpoint, custom_rule, fwddiff.

>>> from transad.api import grad
>>> grad(lambda x: x * stop_gradient(x * x))(3.0)
9.0
>>> clipped = custom_rule(lambda x: x * x, lambda x: (x * x, lambda ct: (10.0 * ct,)))
>>> grad(lambda x: clipped(x) + x)(3.0)
11.0
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from transad.errors import TransadPerformanceWarning
from transad.function import options_of, unwrapped
from transad.tree import map_tree

MANY = 32                  # inputs from which on a mark is worth a warning

__all__ = ["checkpoint", "custom_rule", "fwddiff", "stop_gradient"]


def stop_gradient(x: Any) -> Any:
    """The same value, through which no derivative flows. Arrays come back as copies, containers rebuilt."""
    from transad.runtime.var import plain

    def stopped(leaf: Any) -> Any:
        return np.array(leaf) if isinstance(leaf, np.ndarray) else plain(leaf)
    return map_tree(stopped, x)


class _Wrapped:
    """A function with a derivative of its own; callable as the function."""

    def __init__(self, function: Callable) -> None:
        if not callable(function):
            raise TypeError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.__wrapped__ = unwrapped(function)
        self.options = options_of(function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        from transad.runtime.sweep import live
        return self._recorded(args, kwargs) if live() else self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _recorded(self, args: tuple, kwargs: dict) -> Any:
        raise NotImplementedError


class Checkpoint(_Wrapped):
    """See `checkpoint`."""

    def _recorded(self, args: tuple, kwargs: dict) -> Any:
        from transad.runtime.black_box import checkpointed
        return checkpointed(self.__wrapped__, args, kwargs)


def checkpoint(function: Callable) -> Checkpoint:
    """The same function, whose intermediate values are not kept: it runs again in the backward sweep.

    It must give the same result the second time (no fresh random numbers, no state that it changes) and must not
    write into its arguments; a difference is an error, not a wrong gradient.
    """
    return Checkpoint(function)


class CustomRule(_Wrapped):
    """See `custom_rule`."""

    def __init__(self, function: Callable, rule: Callable | None, fwd: Callable | None, rev: Callable | None) -> None:
        super().__init__(function)
        if (rule is None) == (fwd is None) or (fwd is None) != (rev is None):
            raise TypeError("custom_rule takes either rule(*args) -> (y, back) or the pair fwd=, rev=")
        self.fwd, self.rev = fwd, rev
        self.rule = rule if rule is not None else self._from_pair

    def _from_pair(self, *args: Any) -> tuple[Any, Callable]:
        from transad.runtime.calls import call
        y, saved = call(self.fwd, *args)
        return y, functools.partial(_call, self.rev, saved)

    def _recorded(self, args: tuple, kwargs: dict) -> Any:
        from transad.runtime.black_box import by_rule
        return by_rule(self.__wrapped__, self.rule, args, kwargs)


def _call(function: Any, *args: Any) -> Any:
    from transad.runtime.calls import call
    return call(function, *args)


def custom_rule(function: Callable, rule: Callable | None = None, *, fwd: Callable | None = None,
                rev: Callable | None = None) -> CustomRule:
    """The function with a derivative given by hand.

    rule      rule(*args) -> (y, back) with back(cotangent of y) -> tuple, one entry per argument (None for zero)
    fwd, rev  the same as a pair: fwd(*args) -> (y, saved), rev(saved, cotangent) -> tuple

    Both may use `pullback` and the other verbs. They are differentiated themselves for higher derivatives.
    """
    return CustomRule(function, rule, fwd, rev)


class ForwardDiff(_Wrapped):
    """See `fwddiff`."""

    def __init__(self, function: Callable, store: bool = False) -> None:
        super().__init__(function.__wrapped__ if isinstance(function, ForwardDiff) else function)
        self.store = store

    @property
    def __transad_function__(self) -> Callable:
        """The function without the mark."""
        return self.__wrapped__

    def _recorded(self, args: tuple, kwargs: dict) -> Any:
        from transad.runtime.marked import forwards
        return forwards(self.__wrapped__, args, kwargs, self.store)


def many_sweeps(label: str, count: int) -> None:
    """Warn about a marked function with many inputs."""
    if count > MANY:
        warnings.warn(f"{label} is marked fwddiff, and the arrays that it is given hold {count} numbers that are "
                      f"differentiated: forwards that is {count} sweeps. It is differentiated in reverse instead; remove the "
                      "mark, or mark a function of a few numbers that is mapped over the arrays",
                      TransadPerformanceWarning, stacklevel=3)


def fwddiff(function: Callable | None = None, *, store: bool = False) -> Any:
    """The same function, differentiated in forward mode where it is called inside another that is differentiated.

    The pullback of such a call is "partial derivatives times cotangent": no tape, whatever loops the function has. It
    is meant for functions from a few numbers (also in tuples, namedtuples and dataclasses, and captured) to a few
    numbers; arguments that nobody differentiates cost nothing. The derivative is the same as without the mark.

    store  keep the partial derivatives from the forward sweep; the default computes them in the pullback

    Also a decorator: `@fwddiff` or `@fwddiff(store=True)`.
    """
    if function is None:
        return functools.partial(fwddiff, store=store)
    return ForwardDiff(function, store)
