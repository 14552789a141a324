"""All columns of a Jacobian in one run: the pushforward with a leading axis over directions.

>>> import numpy as np
>>> y, (J,) = all_columns(lambda v: np.tanh(v) * v[0], (np.arange(4.0),), {}, [0], None)
>>> J.shape, y.shape
((4, 4), (4,))
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad.emit import _Lines
from transad.forwards.code import Emitted, Signature, _program, known, signature
from transad.forwards.forward import _arguments, _options
from transad.ir import Do, For, While, walk
from transad.kinds import Array, kind_of
from transad.names import Names
from transad.options import Options
from transad.passes.batch import Batched, batched
from transad.passes.forward.push import Push, push
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import versions
from transad.pipeline import _assembled
from transad.quote import show
from transad.samples.one_call import loaded

__all__ = ["all_columns"]

_FEWEST = 4                     # directions below which a sweep with a tangent for each is as good
_NEAR = 1 << 17                 # numbers of a block of directions: the processor's cache


def all_columns(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], options: dict | None
                ) -> tuple[Any, list[Any]] | None:
    """`(y, a block for each chosen argument)`; None where columns are taken some at a time: few of them, arguments with
    structure, a function that writes or prints, a loop where it can be compiled."""
    opts = _options(function, options)
    if opts is None or opts.chunk is not None:
        return None
    sig = signature(function, args, kwargs, chosen)
    if sig is None or any(sig.shapes[w].kind != "leaf" for w in sig.wanted):
        return None
    inputs = [sig.leaves[w][0] for w in sig.wanted]
    count = sum(int(np.size(v)) for v in inputs)
    if count < _FEWEST:
        return None
    made = known(sig, ("push", "columns"), opts, lambda: _built(sig, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    y, columns = _run(made, values, inputs, count)
    ends = np.cumsum([0, *(np.size(v) for v in inputs)])
    blocks = []
    for v, a, b in zip(inputs, ends[:-1], ends[1:], strict=True):
        parts = [_block(t[a:b], r, v) for t, r in zip(columns, y, strict=True)]
        blocks.append(_assembled(made.structure, iter(parts)))
    return _assembled(made.structure, iter(y)), blocks


def _block(columns: np.ndarray, y: Any, v: Any) -> Any:
    """The block of one part of the result and one argument."""
    if not isinstance(y, np.ndarray) and not isinstance(v, np.ndarray):
        return float(columns[0])
    block = np.moveaxis(columns, 0, -1).reshape(*np.shape(y), *np.shape(v))
    return block.astype(y.dtype) if isinstance(y, np.ndarray) and y.dtype.kind == "f" else np.array(block)


def _run(made: Emitted, values: list[Any], inputs: list[Any], count: int) -> tuple[list[Any], list[np.ndarray]]:
    """The results, and their tangents in every direction."""
    results, found = len(made.kinds), []
    step = max(1, _NEAR // (1 + sum(int(np.size(v)) for v in values)))
    y: list[Any] = []
    with np.errstate(all="ignore"):
        for first in range(0, count, step):
            last = min(first + step, count)
            out = made.functions["push"](last - first, *values, *_seeds(inputs, first, last))
            y = list(out[:results])
            found.append(out[results:])
    return y, [p[0] if len(p) == 1 else np.concatenate(p) for p in zip(*found, strict=True)]


def _seeds(inputs: list[Any], first: int, last: int) -> list[np.ndarray]:
    seeds, at = [], 0
    for v in inputs:
        size = int(np.size(v))
        seed = np.zeros((last - first, size), v.dtype if isinstance(v, np.ndarray) else np.float64)
        own = np.arange(max(first, at), min(last, at + size))
        seed[own - first, own - at] = 1.0
        seeds.append(seed.reshape(last - first, *np.shape(v)))
        at += size
    return seeds


def _built(sig: Signature, options: Options) -> Emitted:
    s, leaves = _program(sig)
    statements = list(walk(s.program.body))
    loops = any(isinstance(x, For | While) for x in statements)
    if (loops and options.jit) or any(isinstance(x, Do) for x in statements):
        raise NotTyped("compiled loops, or an effect besides the result")
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    p = push(versions(s.program), [leaves], names, s.specialiser.stopped)
    if p.writes:
        raise NotTyped("it writes into an argument")
    ranks = {v: k.ndim if isinstance(k := p.kinds[v], Array) else 0 for v in p.parameters}
    ranks |= {t: ranks[v] for t, v in zip(p.seeds[0], leaves, strict=True)}
    ranks |= {v: np.ndim(x) for v, x in p.constants.items() if kind_of(x) is not None}
    count = names.fresh("directions")
    hints = {v: k.ndim if isinstance(k, Array) else 0 for v, k in p.kinds.items()}
    made = batched(p.body, p.tangents[0], ranks, set(p.seeds[0]), count, names, hints)
    text = _text(p, made, count)
    run: Callable[..., Any] = loaded(text, f"{p.name}_columns", p.constants)
    return Emitted(text, s.label, s.structure, list(s.specialiser.captures.values()), list(s.specialiser.dependencies), False,
                   {"push": run}, kinds=s.kinds)


def _text(p: Push, made: Batched, count: str) -> str:
    import types
    shown = {**p.kinds, **{v: Array("float64", made.ranks.get(v, 0) + 1) for v in made.varying}}
    lines = _Lines(types.SimpleNamespace(kinds=shown), comments=False)      # type: ignore[arg-type]
    if made.block:
        lines.block(made.block, 1)
    notes = [f"    # direction by direction: {', '.join(made.looped)}"] if made.looped else []
    outs = ", ".join(show(e) for e in [*p.results, *made.results])
    return "\n".join([f"def {p.name}_columns({', '.join([count, *p.parameters, *p.seeds[0]])}):", *notes, *lines.out,
                      f"    return {outs},"]) + "\n"
