"""The derivatives, under JAX's names and conventions.

>>> import numpy as np
>>> grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
array([2., 4.])
>>> value_and_grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 5.0)
(10.0, (5.0, 2.0))
>>> y, back = pullback(lambda x, y: x * y, 2.0, 5.0)
>>> back(1.0)
(5.0, 2.0)

Which way a derivative is computed is decided in one place, `run_pullback`.
"""
from __future__ import annotations

import functools
import importlib.util
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument, NotScalar, Unsupported
from transad.function import options_of, unwrapped

__all__ = ["grad", "jvp", "linearize", "pullback", "run_pullback", "source", "value_and_grad", "vjp"]

_MISS: Any = type("Miss", (), {})()
Argnums = int | Sequence[int]


@functools.lru_cache(maxsize=1)
def _typed() -> Any:
    """The compiler of functions whose values have known kinds."""
    if importlib.util.find_spec(f"{__package__}.typed") is None:
        return None
    return importlib.import_module(f"{__package__}.typed")


def run_pullback(function: Any, args: tuple, kwargs: dict, positions: Sequence[int], names: Sequence[str] = (), *,
                 captured: Any = None, once: bool = False, options: dict | None = None) -> tuple[Any, Callable]:
    """`(y, back)`; back(cotangent) is the list of gradients of the arguments at `positions` and under `names`.

    This is where the way is chosen: the typed path where it applies (its `attempt` returns None otherwise), else the
    recorded path. once: the pullback runs before anything else can write into memory.
    """
    from transad.maps.notes import LONG
    from transad.runtime.run import pullback as recorded
    from transad.runtime.sweep import live
    if inspect.iscoroutinefunction(unwrapped(function)):
        raise Unsupported("async functions cannot be differentiated", instead="write an ordinary function")
    typed = _typed()
    if typed is not None and captured is None and not live():
        found = typed.attempt(unwrapped(function), args, kwargs, positions, names, once=once,
                              options={**options_of(function), **(options or {})})
        if found is not None:
            return found
    y, back, _ = recorded(unwrapped(function), args, kwargs, positions, names, captured, once)
    if typed is not None and captured is None and not live() and back.length >= LONG:
        typed.warn_of_maps(unwrapped(function), args, {**options_of(function), **(options or {})})
    return y, back


# Which arguments

class _Selection:
    """The arguments to differentiate: `argnums` and `argnames` resolved for one call."""

    def __init__(self, function: Any, argnums: Argnums, argnames: str | Sequence[str] | None) -> None:
        self.function = function
        self.single = isinstance(argnums, (int, np.integer)) if argnames is None else isinstance(argnames, str)
        if not isinstance(argnums, (int, np.integer, tuple, list, range)):
            raise InvalidArgument(f"argnums must be an int or a tuple of ints, not {argnums!r}")
        self.argnums = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
        self.argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        for number in self.argnums:
            if not isinstance(number, (int, np.integer)):
                raise InvalidArgument(f"argnums must be an int or a tuple of ints, not {argnums!r}")

    @functools.cached_property
    def parameters(self) -> list[str]:
        try:
            return [p.name for p in inspect.signature(self.function).parameters.values()
                    if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        except (TypeError, ValueError):
            return []

    def resolve(self, args: tuple, kwargs: dict) -> list[int | str]:
        """Each chosen argument as a position or a keyword of this call."""
        if not self.argnames:
            return [self._by_number(int(n), args, kwargs) for n in self.argnums]
        return [self._by_name(n, args, kwargs) for n in self.argnames]

    def _by_number(self, number: int, args: tuple, kwargs: dict) -> int | str:
        if -len(args) <= number < len(args):
            return number % len(args)
        if 0 <= number < len(self.parameters) and self.parameters[number] in kwargs:
            return self.parameters[number]
        raise InvalidArgument(f"argnums={number}, but the call has {len(args)} positional arguments")

    def _by_name(self, name: str, args: tuple, kwargs: dict) -> int | str:
        if name in kwargs:
            return name
        if name in self.parameters and self.parameters.index(name) < len(args):
            return self.parameters.index(name)
        raise InvalidArgument(f"the call does not give the argument {name!r}")


def _check_differentiable(value: Any, which: int | str) -> None:
    from transad.runtime.inputs import is_differentiable
    if type(value) is float or (isinstance(value, np.ndarray) and value.dtype.kind in "fci"):
        return
    if (isinstance(value, np.ndarray) and value.dtype.kind in "OSUb") or not is_differentiable(value):
        what = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise InvalidArgument(f"argument {which!r} is {what}, which holds nothing differentiable",
                              instead="give a float, a complex number, an array of them, or a container of those; "
                                      "argnums chooses the argument")


def _scalar_result(y: Any, verb: str) -> None:
    """Refuse results that are not one real number."""
    if y is None:
        raise NotScalar(f"{verb} of a function that returns None (is a return statement missing?)",
                        instead="return the number to differentiate")
    if isinstance(y, (bool, str)) or not isinstance(y, (int, float, complex, np.number, np.ndarray)):
        raise NotScalar(f"{verb} needs a function that returns one real number; this one returns a "
                        f"{type(y).__name__}", instead="use pullback for results with structure, or has_aux=True")
    if np.shape(y) != ():
        raise NotScalar(f"{verb} needs a function that returns one real number; this one returns an array of shape "
                        f"{np.shape(y)}", instead="use jacobian or pullback, or return np.sum(...)")
    if np.iscomplexobj(y):
        raise NotScalar(f"{verb} needs a real result; this one is complex",
                        instead="return its real part, imaginary part or absolute value, or use pullback")


def _gradients(function: Any, chosen: list[int | str], args: tuple, kwargs: dict, *, has_aux: bool, captured: bool,
               options: dict, verb: str) -> tuple[Any, Any, list[Any], dict[str, Any]]:
    """(value, aux, gradients, captured gradients)"""
    for which in chosen:
        _check_differentiable(args[which] if isinstance(which, int) else kwargs[which], which)
    if options.get("mode", options_of(function).get("mode")) == "forward":
        return _forward_gradients(function, chosen, args, kwargs, has_aux, captured, options, verb)
    positions, names = _split(chosen)
    extra = _captured(function) if captured else None
    y, back = run_pullback(function, args, kwargs, positions, names, captured=extra, once=True, options=options)
    y, aux = _value_and_aux(y, has_aux, verb)
    one = _one_like(y)
    grads = back((one, None) if has_aux else one)
    count = len(chosen)
    by_name = dict(zip(extra.names, grads[count:], strict=True)) if extra is not None else {}
    in_order = dict(zip([*positions, *names], grads[:count], strict=True))
    return y, aux, [in_order[which] for which in chosen], by_name


def _forward_gradients(function: Any, chosen: list[int | str], args: tuple, kwargs: dict, has_aux: bool, captured: bool,
                       options: dict, verb: str) -> tuple[Any, Any, list[Any], dict[str, Any]]:
    """The same with mode="forward"."""
    from transad.forwards.sweeps import gradients
    if captured:
        raise InvalidArgument("captured=True with mode='forward'", instead="leave out mode, or pass the variables as arguments")
    y, grads = gradients(function, args, kwargs, chosen, options, has_aux)
    y, aux = _value_and_aux(y, has_aux, verb)
    return y, aux, grads, {}


def _value_and_aux(y: Any, has_aux: bool, verb: str) -> tuple[Any, Any]:
    """The number that is differentiated, and what came along with it."""
    aux = None
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise NotScalar("with has_aux=True the function must return a pair (value, aux)")
        y, aux = y
    _scalar_result(y, verb)
    return y, aux


def _one_like(y: Any) -> Any:
    kind = np.asarray(y).dtype
    return np.ones((), kind)[()] if kind == np.float32 else 1.0


def _split(chosen: list[int | str]) -> tuple[list[int], list[str]]:
    return [c for c in chosen if isinstance(c, int)], [c for c in chosen if isinstance(c, str)]


def _captured(function: Any) -> Any:
    from transad.runtime.captured import Captured
    return Captured(unwrapped(function))


def _fast(function: Any, selection: _Selection, options: dict) -> Any:
    """The short way for repeated calls with numbers and arrays, where the arguments are chosen by position."""
    if selection.argnames or not selection.argnums or min(selection.argnums) < 0:
        return None
    from transad.fast import Fast
    global _MISS
    from transad.typed import MISS as _MISS
    return Fast(unwrapped(function), selection.argnums, selection.single, {**options_of(function), **options})


class _Derivative:
    """A function made by one of the verbs; it looks like the function it came from."""

    _fast: Any = None
    _pick = 2

    def __init__(self, verb: str, function: Any, call: Callable, fast: Any = None, pick: int = 2) -> None:
        """fast: the short way, tried first; pick: which entry of its `(value, gradient)` is the result (2: both)."""
        if not callable(function):
            raise InvalidArgument(f"{verb} takes a function, not a {type(function).__name__}")
        self._verb, self._function, self._call = verb, function, call
        self._fast, self._pick = fast, pick
        name = getattr(function, "__name__", type(function).__name__)
        self.__name__, self.__qualname__ = f"{verb}_{name}", f"{verb}_{name}"
        self.__doc__ = f"{verb} of {name}.\n\n{getattr(function, '__doc__', '') or ''}"
        self.__wrapped__ = function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and not kwargs:
            result = fast.quick(*args)
            if result is _MISS:
                result = fast(args)
            if result is not _MISS:
                return result if self._pick == 2 else result[self._pick]
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._verb} of {self._function!r}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def grad(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
         has_aux: bool = False, captured: bool = False, **options: Any) -> Callable:
    """The gradient of a function that returns one real number.

    argnums, argnames  which arguments (a tuple gives a tuple of gradients); default the first
    has_aux            the function returns (value, aux); the result is (gradient, aux)
    captured           the result is (gradient, {name: gradient of captured variable})

    A gradient has the structure of its argument, and its dtype (float64 for integers); it is fresh memory.
    For complex arguments it is df/da - i df/db, as in JAX.
    """
    selection = _Selection(function, argnums, argnames)
    fast = None if has_aux or captured else _fast(function, selection, options)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, aux, grads, by_name = _gradients(function, selection.resolve(args, kwargs), args, kwargs, has_aux=has_aux,
                                            captured=captured, options=options, verb="grad")
        result = grads[0] if selection.single else tuple(grads)
        result = (result, by_name) if captured else result
        return (result, aux) if has_aux else result
    return _Derivative("grad", function, gradient, fast, 1)


def value_and_grad(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
                   has_aux: bool = False, captured: bool = False, **options: Any) -> Callable:
    """Value and gradient in one run; arguments as for `grad`. With has_aux: ((value, aux), gradient)."""
    selection = _Selection(function, argnums, argnames)
    fast = None if has_aux or captured else _fast(function, selection, options)

    def both(*args: Any, **kwargs: Any) -> Any:
        y, aux, grads, by_name = _gradients(function, selection.resolve(args, kwargs), args, kwargs, has_aux=has_aux,
                                            captured=captured, options=options, verb="value_and_grad")
        result = grads[0] if selection.single else tuple(grads)
        result = (result, by_name) if captured else result
        return ((y, aux) if has_aux else y), result
    return _Derivative("value_and_grad", function, both, fast)


def pullback(function: Callable, /, *args: Any, captured: bool = False, has_aux: bool = False,
             **kwargs: Any) -> Any:
    """`(y, back)`: the value, and the map from its cotangent to a tuple with the cotangent of every argument.

    The cotangent has the structure of the result (None for zero). `back` may be called repeatedly and from several
    threads. Arguments without numbers get None. captured: back returns one more entry, a dict by name.
    """
    from transad.runtime.inputs import is_differentiable
    positions = [k for k, a in enumerate(args) if is_differentiable(a)]
    extra = _captured(function) if captured else None
    y, run_back = run_pullback(function, args, kwargs, positions, captured=extra)
    count = len(args)

    def back(cotangent: Any) -> tuple:
        found = run_back((cotangent, None) if has_aux else cotangent)
        grads: list[Any] = [None] * count
        for k, g in zip(positions, found, strict=False):
            grads[k] = g
        if extra is not None:
            grads.append(dict(zip(extra.names, found[len(positions):], strict=True)))
        return tuple(grads)
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise NotScalar("with has_aux=True the function must return a pair (value, aux)")
        return y[0], back, y[1]
    return y, back


vjp = pullback


def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """`(y, dy)`: the value and its derivative in the direction `tangents` (one per primal; None for zero)."""
    if len(primals) != len(tangents):
        raise InvalidArgument(f"jvp got {len(primals)} primals and {len(tangents)} tangents")
    from transad.forwards.forward import compiled_or
    from transad.forwards.forward import jvp as typed
    found = typed(function, tuple(primals), tuple(tangents))
    if found is None:
        from transad.runtime.forward import jvp as recorded
        compiled_or(function, tuple(primals), {}, [k for k, t in enumerate(tangents) if t is not None])
        y, pushed = recorded(function, tuple(primals), tuple(tangents), has_aux)
    else:
        y, pushed = found
        pushed = pushed[0] if has_aux and isinstance(pushed, tuple) and pushed else pushed
    if not has_aux:
        return y, pushed
    if not isinstance(y, tuple) or len(y) != 2:
        raise NotScalar("with has_aux=True the function must return a pair (value, aux)")
    return y[0], pushed, y[1]


def linearize(function: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """`(y, push)`: the value, and the linear map from tangents (one per primal, None for zero) to the tangent of y.

    has_aux  the function returns (value, aux); the result is (value, push, aux)
    """
    from transad.forwards.forward import linearize as made
    return made(function, *primals, has_aux=has_aux)


def source(function: Callable, *args: Any, **options: Any) -> str:
    """The text of the derivative code for arguments like `args`; assumed kinds where there are none.

    mode ("reverse", "joint", "pullback", "primal"), wrt (names or positions), signature, after: see `transad show`.
    """
    from transad.command.show import source as shown
    return shown(function, *args, **options)
