"""Forward mode with any number of inputs: as many sweeps as it takes, each with several lanes.

Gradients with `mode="forward"`, the columns of Jacobians and of Hessians. Where the typed path does not apply each
column is a pushforward of the recorded path.

>>> import numpy as np
>>> y, (g,) = gradients(lambda v: np.sum(v * v), (np.array([1.0, 2.0, 3.0]),), {}, [0], {"chunk": 2})
>>> float(y), g
(14.0, array([2., 4., 6.]))
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from transad.describe import rebuilt
from transad.errors import NotScalar
from transad.forwards.code import Emitted, Signature, build_hvp, build_push, known, refusal, signature
from transad.forwards.forward import _arguments, _options, _own, _result, _run
from transad.function import options_of, unwrapped
from transad.options import Options
from transad.pipeline import _assembled
from transad.runtime.var import VARS
from transad.tree import children, map_tree
from transad.tree import rebuilt as tree_rebuilt
from transad.typed import check_call

CHUNK = 8                  # lanes of a sweep, where no `chunk` is given

__all__ = ["CHUNK", "columns", "directed", "first", "gradients", "hessian"]


def _lanes(sig: Signature, chunk: int | None) -> tuple[int, int]:
    """How many numbers are differentiated, and how many of them a sweep takes."""
    count = sum(np.size(v) for w in sig.wanted for v in sig.leaves[w])
    return count, max(1, min(chunk or CHUNK, count))


def _unit(sig: Signature, at: int) -> list[Any]:
    """The tangents of all inputs in the direction of number `at`."""
    seeds: list[Any] = []
    for v in (v for w in sig.wanted for v in sig.leaves[w]):
        mine = 0 <= at < np.size(v)
        if isinstance(v, np.ndarray):
            unit = np.zeros_like(v)
            if mine:
                unit[np.unravel_index(at, v.shape)] = 1.0
            seeds.append(unit)
        else:
            seeds.append(1.0 if mine else 0.0)
        at -= np.size(v)
    return seeds


Swept = Iterator[tuple[list[Any], tuple, list[Any], list[Any]]]


def _swept(made: Emitted, sig: Signature, count: int, results: int, direction: Callable[[int], list[Any]]) -> Swept:
    """`(results, tangents of one lane, all inputs, all seeds)` in each direction. All sweeps but the last run on
    copies where the function writes into its arguments."""
    values = _arguments(made, sig)
    assert values is not None
    for first in range(0, count, made.lanes):
        last = first + made.lanes >= count
        given = values if last or not made.writes else [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        seeds = [t for k in range(first, first + made.lanes) for t in direction(min(k, count - 1))]
        found = _run(made, given, seeds)
        for k in range(min(made.lanes, count - first)):
            yield list(found[:results]), found[results * (k + 1):results * (k + 2)], given, seeds


def _found(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
           options: dict | None) -> tuple[Signature, Options, int, int] | None:
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    count, lanes = _lanes(sig, opts.chunk)
    return (sig, opts, count, lanes) if count else None


def _pushes(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
            options: dict | None, pure: bool = False, along: Sequence[Any] | None = None) -> tuple[Any, list[Any]] | None:
    """`(y, its tangent for each number that is differentiated)` by emitted code, or for each direction in `along`.

    pure: None where the function writes into its arguments"""
    found = _found(function, args, kwargs, chosen, options)
    if found is None:
        given = Options.of({**options_of(function), **(options or {})})
        if (given.jit and given.path != "recorded") or given.path == "typed":
            check_call(unwrapped(function), args, kwargs)
            raise given.refused(unwrapped(function), None)
        return None
    sig, opts, count, lanes = found
    if along is not None:
        count, lanes = len(along), max(1, min(opts.chunk or CHUNK, len(along)))
    made = known(sig, ("push", lanes), opts, lambda: build_push(sig, lanes, opts))
    if made is None and (opts.jit or opts.path == "typed"):
        raise opts.refused(unwrapped(function), refusal(sig, ("push", lanes), opts))
    if made is None or (pure and made.writes) or _arguments(made, sig) is None:
        return None
    y, tangents, size = None, [], len(made.kinds)
    for results, row, values, seeds in _swept(
            made, sig, count, size, lambda k: _unit(sig, k) if along is None else [along[k]]):
        tangents.append(_result(made, (*results, *row), values, seeds))
        y = results
    return _assembled(made.structure, iter(y or [])), tangents


def _replayed(tangents: list[Any]) -> Callable[..., Any]:
    """The pushforwards that were computed, in the order in which they are asked for."""
    rest = iter(tangents)
    return lambda _: next(rest)


def columns(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
            options: dict | None = None, emitted: bool = False, has_aux: bool = False) -> tuple[Any, list[Any]] | None:
    """`(y, one Jacobian block per chosen argument)`, column by column.

    emitted: None where no code can be emitted or the function writes into its arguments
    has_aux: y is a pair, of which the first entry is differentiated"""
    from transad.forwards.columns import all_columns
    from transad.runtime.jacobians import from_columns
    at_once = None if has_aux else all_columns(function, args, kwargs, chosen, options)
    if at_once is not None:
        return at_once
    values = _before(args, kwargs, chosen)
    found = _pushes(function, args, kwargs, chosen, options, pure=emitted)
    if found is not None:
        y, push = found[0], _replayed([first(t) for t in found[1]] if has_aux else found[1])
    elif emitted:
        return None
    else:
        from transad.runtime.forward import pushforward
        y, push = pushforward(function, args, kwargs, list(chosen), has_aux)
    return y, [from_columns(push, values, k, first(y) if has_aux else y) for k in range(len(chosen))]


def first(pair: Any) -> Any:
    """The entry that is differentiated of a value with something beside it."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise NotScalar("with has_aux=True the function must return a pair (value, aux)")
    return pair[0]


def _before(args: tuple, kwargs: dict, chosen: Sequence[int | str]) -> list[Any]:
    """The chosen arguments with containers of their own: the function may change what its own hold."""
    return [map_tree(lambda leaf: leaf, args[c] if isinstance(c, int) else kwargs[c]) for c in chosen]


def directed(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], along: Sequence[np.ndarray],
             options: dict | None = None) -> tuple[Any, list[Any]]:
    """`(y, its tangent in each direction)` of the one chosen argument, an array."""
    found = _pushes(function, args, kwargs, chosen, options, along=along)
    if found is not None:
        return found
    from transad.runtime.forward import pushforward
    y, push = pushforward(function, args, kwargs, list(chosen), False)
    return y, [push((t,)) for t in along]


def gradients(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
              options: dict | None = None, has_aux: bool = False) -> tuple[Any, list[Any]]:
    """`(y, gradients)` in forward mode. has_aux: y is a pair, of which the first entry is differentiated."""
    from transad.runtime.jacobians import from_columns
    values = _before(args, kwargs, chosen)
    found = None if has_aux else _pushes(function, args, kwargs, chosen, options)
    if found is not None:
        y, push = found[0], _replayed(found[1])
    else:
        from transad.runtime.forward import pushforward
        y, push = pushforward(function, args, kwargs, list(chosen), has_aux)
    out = y[0] if has_aux and isinstance(y, tuple) and y else y
    if np.shape(out) != ():
        return y, []
    return y, [_like(from_columns(push, values, k, out), v) for k, v in enumerate(values)]


def _like(g: Any, value: Any) -> Any:
    """The gradient in the dtypes of its argument (float64 for integers)."""
    kids = children(value)
    if kids is not None:
        parts = dict(children(g) or [])
        return tree_rebuilt(value, [_like(parts.get(key), child) for key, child in kids])
    if isinstance(value, np.ndarray):
        return g.astype(value.dtype, copy=False) if value.dtype.kind in "fc" and isinstance(g, np.ndarray) else g
    if g is None or type(g) in VARS:
        return g
    return type(value)(g) if isinstance(value, float | complex | np.inexact) else float(g)


def hessian(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
            options: dict | None = None) -> tuple[Any, list[Any], list[list[Any]]] | None:
    """`(y, gradients, blocks of second derivatives)`: lanes through the reverse sweep, as many sweeps as it takes.

    None where no code can be emitted, or where an argument is a structure."""
    found = _found(function, args, kwargs, chosen, options)
    if found is None or any(found[0].shapes[w].kind != "leaf" for w in found[0].wanted):
        return None
    sig, opts, count, lanes = found
    made = known(sig, ("hvp", lanes), opts, lambda: build_hvp(sig, opts, lanes))
    if made is None or made.writes or _arguments(made, sig) is None:
        return None
    size = 1 + len(sig.wanted)
    y, grads, rows = None, [], []
    for results, row, _, _ in _swept(made, sig, count, size, lambda k: _unit(sig, k)):
        y, grads = results[0], results[1:]
        rows.append([np.ravel(t) for t in row[1:]])
    owners = [sig.leaves[w][0] for w in sig.wanted]
    shapes = [np.shape(v) for v in owners]
    blocks: list[list[Any]] = []
    at = 0
    for shape in shapes:
        n = int(np.prod(shape))
        part = rows[at:at + n]
        at += n
        blocks.append([_block(np.array([r[j] for r in part]), (*shape, *other)) for j, other in enumerate(shapes)])
    return y, [rebuilt(sig.shapes[w], iter([_own(g, v)]), v) for w, g, v in zip(
        sig.wanted, grads, owners, strict=True)], blocks


def _block(rows: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The derivative of a block's gradient (second axes) in the directions of another (first axes)."""
    return rows.reshape(shape) if shape else float(rows.reshape(-1)[0])


