"""`@differentiable`: a function that is still the function, with its derivatives as attributes.

>>> @differentiable
... def f(x, k=2.0):
...     "k times the square."
...     return k * x * x
>>> f(3.0), f.grad(3.0), f.__doc__
(18.0, 12.0, 'k times the square.')
>>> y, back = f.pullback(3.0, 1.0)
>>> y, back(1.0)
(9.0, (6.0, 9.0))
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["Differentiable", "differentiable", "options_of", "unwrapped"]


class Differentiable:
    """A function together with the options of its derivatives.

    Calling it runs the original function. It has its signature, documentation, name and module, pickles by name like
    a function, and binds as a method.
    """

    def __init__(self, function: Callable, options: dict[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.options = dict(options or {})

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bind = getattr(type(self.__wrapped__), "__get__", None)
        if instance is None or bind is None:
            return self
        return Differentiable(bind(self.__wrapped__, instance, owner), self.options)

    def __repr__(self) -> str:
        return f"<differentiable {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        owner = getattr(self.__wrapped__, "__self__", None)
        name = getattr(self, "__qualname__", None)
        if owner is not None:
            return getattr, (owner, self.__wrapped__.__name__)
        if isinstance(name, str) and "<" not in name:
            return name
        return Differentiable, (self.__wrapped__, self.options)

    @property
    def _called_inside(self) -> Callable:
        """What a differentiated function calls in its place."""
        return self.__wrapped__

    @property
    def grad(self) -> Callable:
        """The gradient with respect to the first argument; `grad(f, argnums=...)` for others."""
        from transad.api import grad
        return grad(self)

    @property
    def value_and_grad(self) -> Callable:
        """Value and gradient with respect to the first argument."""
        from transad.api import value_and_grad
        return value_and_grad(self)

    def pullback(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """`(y, back)`: the value, and the map from its cotangent to the cotangents of all arguments."""
        from transad.api import pullback
        return pullback(self, *args, **kwargs)

    def source(self, *args: Any, **options: Any) -> str:
        """The text of the derivative for arguments like `args`."""
        from transad.api import source
        return source(self, *args, **options)


def differentiable(function: Callable | None = None, /, **options: Any) -> Any:
    """Mark a function as differentiable, perhaps with options: `@differentiable` or `@differentiable(jit=True)`.

    jit      compile the derivative with Numba
    mode     "reverse", "forward" or "auto"
    threads  how many threads a map may use
    """
    if function is None:
        return functools.partial(differentiable, **options)
    if not callable(function):
        raise TypeError(f"differentiable() takes a function, not {type(function).__name__}")
    if isinstance(function, Differentiable):
        return Differentiable(function.__wrapped__, {**function.options, **options})
    return Differentiable(function, options)


def unwrapped(function: Any) -> Any:
    """The function itself under `differentiable`."""
    while isinstance(function, Differentiable):
        function = function.__wrapped__
    return function


def options_of(function: Any) -> dict[str, Any]:
    """The options given to `differentiable`."""
    return function.options if isinstance(function, Differentiable) else {}
