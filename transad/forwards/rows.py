"""Many cotangents of one forward sweep at once: emitted reverse code with a leading axis, made when it is first asked for.

It serves the rows of Jacobians, and losses of a batch of which the function of one row cannot be had.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad import cache
from transad.emit import HELPERS, _Lines
from transad.errors import InvalidArgument, NotScalar
from transad.ir import For, While, walk
from transad.kinds import Array, kind_of
from transad.names import Names
from transad.passes.batch import Batched, batched
from transad.passes.specialise.values import NotTyped
from transad.quote import show
from transad.tree import children

__all__ = ["Lanes", "gradients_of_losses", "lanes_of", "reverse_lanes"]

_MEMORY = 1 << 17               # numbers that one run with a leading axis holds: the processor's cache
_BLOCK = 64                     # losses of a batch at a time


class Lanes:
    """The reverse sweep of a signature with a leading axis."""

    def __init__(self, typed: Any, saved: tuple, results: tuple) -> None:
        pair = typed.built.pair
        ranks = {v: np.ndim(x) for v, x in zip(pair.saved, saved, strict=True)}
        ranks |= {v: np.ndim(x) for v, x in zip(pair.seeds, results, strict=True)}
        self.made, self.text = reverse_lanes(pair, typed.options, typed.built.chain is not None, ranks)
        self.run = self.loaded(pair)
        self.size = sum(int(np.size(x)) for x in (*saved, *results)) + 1

    def loaded(self, pair: Any) -> Callable[..., Any]:
        from transad.passes import ruled
        from transad.runtime import batch
        from transad.runtime import typed as helpers
        path = cache.stored(self.text, f"{pair.name}_lanes")
        code = compile(self.text, path, "exec")
        space: dict[str, Any] = {"np": np, "math": math, **{h: getattr(helpers, h) for h in HELPERS if hasattr(helpers, h)},
                                 **{h: getattr(batch, h) for h in batch.HELPERS}, **ruled.helpers(code), **pair.constants,
                                 "__name__": f"transad_generated_{pair.name}_lanes", "__file__": path}
        exec(code, space)
        return space[f"{pair.name}_rev_lanes"]

    def __call__(self, saved: tuple, seeds: list[np.ndarray]) -> list[np.ndarray]:
        """The cotangents of the arguments, with the leading axis of the seeds; a part of the lanes at a time."""
        count = len(seeds[0])
        step = max(1, _MEMORY // self.size)
        parts = []
        with np.errstate(all="ignore"):
            for a in range(0, count, step):
                found = self.run(saved, *(s[a:a + step] for s in seeds))
                parts.append(found if isinstance(found, tuple) else (found,))
        return [p[0] if len(p) == 1 else np.concatenate(p) for p in zip(*parts, strict=True)]


def reverse_lanes(pair: Any, options: Any, maps: bool, ranks: dict[str, int]) -> tuple[Batched, str]:
    """The reverse sweep of a pair with a leading axis; `ranks`: of what is saved and of the results.

    Raises NotTyped where a branch is decided by a cotangent, or a loop would be run by Python where it can be compiled."""
    if maps:
        raise NotTyped("its reverse sweep is a chain of maps")
    if options.jit and any(isinstance(s, For | While) for s in walk(pair.reverse)):
        raise NotTyped("compiled, its loops run one sweep after another")
    ranks = ranks | {v: np.ndim(x) for v, x in pair.constants.items() if kind_of(x) is not None}
    taken = {*pair.kinds, *pair.constants, *pair.saved, *pair.seeds, "np", "math", *HELPERS, "saved"}
    taken |= {n for s in walk(pair.reverse) for n in (getattr(s, "name", ""), getattr(s, "var", ""))}
    names = Names(taken)
    count = names.fresh("lanes")
    hints = {v: k.ndim if isinstance(k, Array) else 0 for v, k in pair.kinds.items()}
    made = batched(pair.reverse, pair.cotangents, ranks, set(pair.seeds), count, names, hints)
    return made, _text(pair, made, count)


def _text(pair: Any, made: Batched, count: str) -> str:
    import copy
    shown = copy.copy(pair)
    shown.kinds = {**pair.kinds, **{v: Array("float64", made.ranks.get(v, 0) + 1) for v in made.varying}}
    lines = _Lines(shown, comments=True)
    lines.block(made.block, 1)
    unpacked = [f"    {', '.join(pair.saved)}{',' if len(pair.saved) == 1 else ''} = saved"] if pair.saved else []
    notes = [f"    # lane by lane: {', '.join(made.looped)}"] if made.looped else []
    outs = ", ".join(show(e) for e in made.results)
    return "\n".join([f"def {pair.name}_rev_lanes(saved, {', '.join(pair.seeds)}):", *unpacked, *notes,
                      f"    {count} = len({pair.seeds[0]})", *lines.out,
                      f"    return {outs}{',' if len(made.results) == 1 else ''}"]) + "\n"


def lanes_of(typed: Any, saved: tuple, results: tuple) -> Lanes | None:
    """The reverse sweep of a signature with a leading axis, or None where one cotangent at a time is as good or needed."""
    if not hasattr(typed, "lanes"):
        try:
            typed.lanes = Lanes(typed, saved, results)
        except NotTyped as problem:
            typed.lanes, typed.no_lanes = None, problem.reason
    return typed.lanes


def gradients_of_losses(function: Callable, args: tuple, argnums: Sequence[int], axes: Sequence[int | None], n: int
                        ) -> tuple[np.ndarray, Callable]:
    """`(losses, fill)`: one forward sweep over the batch. `fill(first, last, rows)` writes the gradients of the losses
    from `first` to `last`, an entry of `rows` per array of the arguments at `argnums`; of an argument with samples (its
    axis is in `axes`) it writes the part that belongs to the sample."""
    from transad.api import run_pullback
    y, back = run_pullback(function, args, {}, argnums)
    if np.shape(y) != (n,) or np.asarray(y).dtype.kind != "f":
        what = f"shape {np.shape(y)}" if np.shape(y) != (n,) else f"dtype {np.asarray(y).dtype}"
        raise NotScalar(f"batched=True needs a function that returns one real loss per sample, shape ({n},); this one "
                        f"returns {what}")

    def fill(first: int, last: int, rows: list[np.ndarray]) -> None:
        for a in range(first, last, _BLOCK):
            b = min(a + _BLOCK, last)
            together = at_once(np.eye(n, dtype=y.dtype)[a:b])
            if together is None:
                return one_by_one(first, last, rows)
            parts = [leaf for k, g in zip(argnums, together, strict=True) for leaf in
                     ([own_of_all(x, axes[k], a) for x in paired(args[k], g)])]
            for row, part in zip(rows, parts, strict=True):
                row[a - first:b - first] = part

    def at_once(seed: np.ndarray) -> list[Any] | None:
        run = getattr(back, "at_once", None)
        return None if run is None or len(seed) < 2 else run([seed])

    def one_by_one(first: int, last: int, rows: list[np.ndarray]) -> None:
        unit = np.zeros(n, y.dtype)
        for i in range(first, last):
            unit[i] = 1.0
            found = [own(leaf, axes[k], i) for k, g in zip(argnums, back(unit), strict=True)
                     for leaf in paired(args[k], g)]
            unit[i] = 0.0
            for row, g in zip(rows, found, strict=True):
                row[i - first] = g
    return y, fill


def own_of_all(g: np.ndarray, axis: int | None, first: int) -> np.ndarray:
    """The same of several samples, from `first` on, with a leading axis."""
    return g if axis is None else np.stack([own(x, axis, first + k) for k, x in enumerate(g)])


def own(g: Any, axis: int | None, i: int) -> Any:
    """Of the gradient with respect to all samples the part of sample `i`, where the others have none."""
    if axis is None:
        return g
    mine = np.moveaxis(g, axis, 0)[i]
    if np.count_nonzero(g) > np.count_nonzero(mine):
        raise InvalidArgument(f"the loss of sample {i} depends on other samples, which are differentiated",
                              instead="use jacobian, which gives the gradient of every loss with respect to all samples")
    return mine


def differentiable(leaf: Any) -> bool:
    """Whether a gradient has an entry for a leaf of an argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "fciu"
    return isinstance(leaf, int | float | complex) and not isinstance(leaf, bool)


def paired(like: Any, gradient: Any) -> list[Any]:
    """The leaves of a gradient that belong to numbers and arrays."""
    kids = children(like)
    if kids is None:
        return [gradient] if differentiable(like) else []
    return [x for (_, a), (_, g) in zip(kids, children(gradient) or [], strict=True) for x in paired(a, g)]
