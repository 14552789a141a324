"""Forward mode, the call side: directional derivatives, gradients with few inputs, small Jacobians.

Each function here answers None where the typed path does not apply; then the recorded path answers. Code is built
once for a signature; where small arrays become numbers, their lengths belong to the signature.

>>> import numpy as np
>>> def f(x, y):
...     return x * np.sin(y)
>>> y, push = linearize(f, 2.0, 0.0)
>>> push(1.0, 1.0)
2.0
>>> print(forward_text(f, (2.0, 0.0)))
def f_push(x, y, t_x, t_y):
    v = np.sin(y)
    t_y_1 = v * t_x + x * np.cos(y) * t_y
    y_1 = x * v
    return y_1, t_y_1
<BLANKLINE>
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.describe import Shape, rebuilt
from transad.errors import InvalidArgument
from transad.forwards.code import (
    Emitted,
    Signature,
    build_gradient,
    build_hessian,
    build_hvp,
    build_jacobian,
    build_push,
    known,
    refusal,
    signature,
    sizes_of,
)
from transad.function import options_of, unwrapped
from transad.kinds import Array, Scalar
from transad.options import Options
from transad.passes.specialise.values import NotTyped
from transad.pipeline import _assembled
from transad.typed import MISS, check_call

__all__ = ["FEW", "Emitted", "chosen", "forward_text", "gradient", "hessian", "jacobian", "jacobian_code", "jvp", "linearize",
           "pushforward", "signature"]

FEW = 8                    # lanes up to which mode="auto" may choose a forward sweep


def _options(function: Any, given: dict[str, Any] | None) -> Options | None:
    chosen = Options.of({**options_of(function), **(given or {})})
    return None if chosen.path == "recorded" else chosen


def compiled_or(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str]) -> None:
    """Raise CannotCompile where emitted code did not apply although jit=True asks for it; else the recorded path answers."""
    from transad.runtime.sweep import live
    opts = Options.of(options_of(function))
    if live() or not opts.jit or opts.path == "recorded":
        return
    sig = signature(function, args, kwargs, chosen)
    if sig is None:
        check_call(unwrapped(function), args, kwargs)
    reason = None
    if sig is not None:
        kinds = (("push", 1), ("hvp",), ("hessian", tuple(sizes_of(sig).items())))
        found = [why for kind in kinds if (why := refusal(sig, kind, opts)) is not None]
        reason = found[0] if found else NotTyped("it writes into its arguments, or they are structures of several numbers")
    raise opts.refused(unwrapped(function), reason)


def _arguments(made: Emitted, sig: Signature) -> list[Any] | None:
    """All arguments of emitted code; None where overlapping memory is written."""
    values = [*sig.inputs, *made.held]
    if made.writes:
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        for k, a in enumerate(arrays):
            if not a.flags.writeable or any(np.may_share_memory(a, b) for b in arrays[:k]):
                return None
    return values


def pushforward(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
                options: dict | None = None) -> tuple[Any, Callable] | None:
    """`(y, push)`; push(tangents of the chosen arguments) is the tangent of y.

    The function runs again for each push; a function that writes into its arguments is left to the recorded path."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    made = known(sig, ("push", 1), opts, lambda: build_push(sig, 1, opts))
    if made is None or made.writes:
        return None
    values = [*sig.inputs, *made.held]
    values = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    count = len(made.kinds)
    zeros = [z for w in sig.wanted for z in _flat_tangent(sig.shapes[w], None, sig.leaves[w])]
    y = _assembled(made.structure, iter(_run(made, values, zeros)[:count]))

    def tangent(tangents: tuple) -> Any:
        seeds = [t for w, given in zip(sig.wanted, tangents, strict=True)
                 for t in _flat_tangent(sig.shapes[w], given, sig.leaves[w], w)]
        return _result(made, _run(made, values, seeds), values, seeds)
    return y, tangent


def jvp(function: Any, args: tuple, tangents: tuple, options: dict | None = None) -> tuple[Any, Any] | None:
    """`(y, dy)` in one sweep."""
    opts = _options(function, options)
    which = [k for k, t in enumerate(tangents) if t is not None]
    sig = None if opts is None else signature(function, args, {}, which)
    if sig is None or opts is None or not which:
        return None
    made = known(sig, ("push", 1), opts, lambda: build_push(sig, 1, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    seeds = [t for w, k in zip(sig.wanted, which, strict=True)
             for t in _flat_tangent(sig.shapes[w], tangents[k], sig.leaves[w], k)]
    found = _run(made, values, seeds)
    return _assembled(made.structure, iter(found[:len(made.kinds)])), _result(made, found, values, seeds)


def _run(made: Emitted, values: list[Any], seeds: list[Any]) -> tuple:
    with np.errstate(all="ignore"):
        return made.functions["push"](*values, *seeds)


def _result(made: Emitted, found: tuple, values: list[Any], seeds: list[Any]) -> Any:
    """The tangent with the structure of the result, in memory of its own."""
    count = len(made.kinds)
    held = [v for v in (*values, *seeds) if isinstance(v, np.ndarray)]

    def own(y: Any, t: Any) -> Any:
        if isinstance(y, np.ndarray):
            shared = any(np.may_share_memory(t, v) for v in held)
            held.append(t.astype(y.dtype, copy=shared))
            return held[-1]
        return type(y)(t) if isinstance(y, np.floating) and not isinstance(y, float) else float(t)
    return _assembled(made.structure, iter([own(y, t) for y, t in zip(
        found[:count], found[count:2 * count], strict=True)]))


def _flat_tangent(shape: Shape, tangent: Any, leaves: list[Any], which: Any = "") -> list[Any]:
    """The tangents of the numbers and arrays of one argument, in order."""
    rest = iter(leaves)

    def walk(shape: Shape, t: Any) -> list[Any]:
        if shape.kind == "static":
            return []
        if shape.kind == "leaf":
            value = next(rest)
            if not isinstance(shape.leaf, Array):
                if t is not None and np.shape(t) != ():
                    raise InvalidArgument(f"the tangent of argument {which!r} has shape {np.shape(t)}, the argument is a number")
                return [0.0 if t is None else float(t)]
            if t is not None and np.shape(t) != value.shape:
                raise InvalidArgument(f"the tangent of argument {which!r} has shape {np.shape(t)}, the argument "
                                      f"{value.shape}")
            return [np.zeros_like(value) if t is None else np.array(t, dtype=value.dtype)]
        if shape.kind == "tuple":
            parts = [None] * len(shape.parts) if t is None else list(t)
            if len(parts) != len(shape.parts):
                raise InvalidArgument(f"the tangent of argument {which!r} has {len(parts)} entries, the argument "
                                      f"{len(shape.parts)}")
        else:
            parts = [None if t is None else getattr(t, n) for n in shape.names]
        return [v for p, x in zip(shape.parts, parts, strict=True) for v in walk(p, x)]
    return walk(shape, tangent)


def gradient(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
             options: Options) -> Callable[[tuple], Any] | None:
    """`f_forward` as a function of the arguments, for arrays of these lengths: (y, gradient), or None."""
    if options.path == "recorded":
        return None
    sig = signature(function, args, kwargs, chosen)
    if sig is None:
        return None
    sizes = sizes_of(sig)
    made = known(sig, ("forward", tuple(sizes.items())), options, lambda: build_gradient(sig, sizes, options))
    if made is None or made.writes or made.held or sig.cells or len(sig.inputs) != len(args):
        return None
    return made.functions["forward"]


def chosen(fast: Any, args: tuple, typed: Any) -> Callable[..., Any] | None:
    """The short way (`transad.fast`) in forward mode; the lengths of small arrays choose the sweep."""
    rows = [k for k, a in enumerate(args) if type(a) is np.ndarray and a.ndim == 1]
    known: dict[tuple, Callable[..., Any]] = {}

    def sweep(args: tuple) -> Callable[..., Any] | None:
        lanes = sum(np.size(args[p]) for p in fast.positions)
        if fast.options.chunk is not None and lanes > fast.options.chunk:
            return None
        if fast.options.mode == "auto" and lanes > FEW:
            return None
        found = gradient(fast.function, args, {}, fast.positions, fast.options)
        if found is not None and fast.options.jit:
            from transad.compiled import ready
            ready(found, args, typed.built)
        return found

    first = sweep(args)
    if first is None:
        return None
    if not rows:
        return fast.runner(typed, first)

    def by_length(*args: Any) -> Any:
        key = tuple([len(args[k]) for k in rows])
        run = known.get(key)
        if run is None:
            found = sweep(args)
            miss = found is None and fast.options.mode == "forward"
            run = known[key] = _missed if miss else fast.runner(typed, found or typed.code.joint)
        return run(*args)
    return by_length


def _missed(*args: Any) -> Any:
    """Arrays of these lengths take more sweeps than one (see `forwards.sweeps`)."""
    return MISS


def jacobian(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], way: str = "auto",
             options: dict | None = None) -> tuple[Any, list[Any]] | None:
    """`(y, blocks)` of a small function in one call of emitted code."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    made = jacobian_code(sig, opts, way)
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    with np.errstate(all="ignore"):
        y, blocks = made.functions["jacobian"](*values)
    blocks = [blocks] if len(sig.wanted) == 1 else list(blocks)
    return y, [float(b) if isinstance(b, float) else b for b in blocks]


def jacobian_code(sig: Signature, options: Options, way: str = "auto") -> Emitted | None:
    """`f_jacobian` and `f_jacobian_into` for a signature."""
    sizes = sizes_of(sig)
    return known(sig, ("jacobian", way, tuple(sizes.items())), options,
                  lambda: build_jacobian(sig, sizes, options, way))


def hessian(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
            options: dict | None = None) -> tuple[Any, list[Any], list[list[Any]]] | None:
    """`(y, gradients, blocks of second derivatives)` by forward mode over the reverse sweep."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    sizes = sizes_of(sig)
    made = known(sig, ("hessian", tuple(sizes.items())), opts, lambda: build_hessian(sig, sizes, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    with np.errstate(all="ignore"):
        y, grad, hess = made.functions["hessian"](*values)
    spans, at = [], 0
    for w in sig.wanted:
        n = -1 if isinstance(sig.shapes[w].leaf, Scalar) else sizes[w]
        spans.append(at if n < 0 else slice(at, at + n))
        at += max(n, 1)

    def part(v: Any) -> Any:
        return v.copy() if isinstance(v, np.ndarray) else float(v)
    return y, [part(grad[a]) for a in spans], [[part(hess[a, b]) for b in spans] for a in spans]


def hvp(function: Any, args: tuple, tangents: tuple, options: dict | None = None) -> list[Any] | None:
    """The Hessian times a direction, one entry per argument."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, {}, range(len(args)))
    if sig is None or opts is None:
        return None
    made = known(sig, ("hvp",), opts, lambda: build_hvp(sig, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    seeds = [t for w, k in zip(sig.wanted, range(len(args)), strict=True)
             for t in _flat_tangent(sig.shapes[w], tangents[k], sig.leaves[w], k)]
    found = _run(made, values, seeds)
    rest = iter(found[len(found) // 2 + 1:])
    return [rebuilt(sig.shapes[w], (_own(t, v) for t, v in zip(rest, sig.leaves[w], strict=False)), a)
            for w, a in zip(sig.wanted, args, strict=True)]


def _own(t: Any, like: Any) -> Any:
    """A derivative in memory of its own, of the dtype of its argument."""
    return t.astype(like.dtype) if isinstance(t, np.ndarray) else float(t)


def linearize(function: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """`(y, push)`: the value, and the linear map from tangents (one per primal) to the tangent of y; `(y, push, aux)` with
    has_aux."""
    found = None if has_aux else pushforward(function, primals, {}, range(len(primals)))
    if found is None:
        if not has_aux:
            compiled_or(function, primals, {}, range(len(primals)))
        from transad.runtime.forward import pushforward as recorded
        found = recorded(function, primals, {}, None, has_aux)
    y, push_ = found

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise InvalidArgument(f"linearize was given {len(primals)} primals, its map {len(tangents)} tangents")
        return push_(tangents)
    if has_aux:
        from transad.forwards.sweeps import first
        return first(y), push, y[1]
    return y, push


def forward_text(function: Any, args: tuple, chosen: Sequence[int | str] | None = None, kwargs: dict | None = None,
                 options: dict | None = None) -> str:
    """What `mode="forward"` prints: `f_forward` where the gradient is one sweep, else `f_push`.

    Raises NotTyped where the typed path does not apply."""
    opts = Options.of({**options_of(function), **(options or {}), "jit": False})
    which = list(range(len(args))) if chosen is None else list(chosen)
    sig = signature(function, args, kwargs or {}, which)
    if sig is None:
        raise NotTyped("the arguments are not numbers, arrays and tuples of them")
    if chosen is not None:
        made = known(sig, ("forward", tuple(sizes_of(sig).items())), opts,
                      lambda: build_gradient(sig, sizes_of(sig), opts))
        if made is not None:
            return made.text
    return build_push(sig, 1, opts).text
