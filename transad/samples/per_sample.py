"""The gradient of every sample's loss.

>>> import numpy as np
>>> import transad
>>> def loss(w, x, y):
...     return 0.5 * (np.dot(w, x) - y) ** 2
>>> w, X, Y = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 0.0])
>>> transad.per_sample_grad(loss)(w, X, Y)
array([[1., 0.],
       [0., 2.],
       [3., 3.]])
>>> transad.per_sample_grad(loss, reduce="mean")(w, X, Y)
array([1.33333333, 1.66666667])
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from transad.errors import InvalidArgument, TransadPerformanceWarning, Unsupported
from transad.samples.reductions import Reduction, reduction

__all__ = ["per_sample_grad", "per_sample_value_and_grad"]

_KERNELS: dict[Any, Any] = {}   # function and signature -> kernel, or why there is none
_MEMORY = 1 << 23               # numbers in the rows of a chunk (64 MiB), where chunks meet in pairs
_NEAR = 1 << 18                 # numbers in the rows of a chunk that stays in the processor's cache
_FEWEST = 64                    # samples of such a chunk
_RECENT = 3                     # calls that are remembered besides the last


def per_sample_grad(function: Callable, argnums: int | Sequence[int] = 0, in_axes: Any = None, out: Any = None,
                    chunk: int | None = None, reduce: Any = None, threads: int | None = None, batched: bool = False
                    ) -> Callable:
    """The gradients of `function(params, x, y, ...)` for every sample: structures as `params`, arrays of shape
    `(samples, *shape)`, float64 (float32 and complex stay; complex as in `grad`).

    argnums  the arguments to differentiate
    in_axes  per argument the axis of the samples, or None for one that all share; the default is None for `argnums`
             and 0 for the others. An argument with structure has samples along that axis in each of its arrays
    out      memory for the result, with its structure, shapes and dtypes (also an argument of the call: `g(..., out=)`)
    chunk    samples at a time: a bound on the memory where `reduce` folds. Long work shows a progress bar if tqdm is there
    reduce   fold the gradients without holding all of them:
             "sum", "mean"          over the samples
             ("clipped_sum", c)     each sample's gradient, all arguments together, scaled down to length c at most
             "gram"                 the matrix J J^T of all inner products, (samples, samples)
             callable               fold(state, gradients) -> state for each chunk; the first state is None
    threads  at most so many (default: Numba's). The bits of the result do not depend on it
    batched  `function(params, X, Y)` is written over the whole batch and returns one loss per sample. Where loss i
             depends on row i alone (its text says so), each sample is one row; else each loss has a sweep back of its own

    Functions of numbers, arrays and structures of them run as one compiled loop, which writes each gradient into its
    row. Where Numba cannot compile that, NumPy's functions take many samples at a time, and what neither can is a loop of
    `value_and_grad` in Python; a TransadPerformanceWarning says why. An exception of a sample is the exception of the call.
    """
    both = per_sample_value_and_grad(function, argnums, in_axes, out, chunk, reduce, threads, batched)

    def gradients(*args: Any, out: Any = None) -> Any:
        return both(*args, out=out)[1]
    return _named(gradients, "per_sample_grad", function, both.kernel)      # type: ignore[attr-defined]


def per_sample_value_and_grad(function: Callable, argnums: int | Sequence[int] = 0, in_axes: Any = None,
                              out: Any = None, chunk: int | None = None, reduce: Any = None,
                              threads: int | None = None, batched: bool = False) -> Callable:
    """`(losses, gradients)`: the losses of all samples, shape `(samples,)`, and what `per_sample_grad` gives."""
    work = _PerSample(function, argnums, in_axes, out, chunk, reduce, threads, batched)

    def both(*args: Any, out: Any = None) -> Any:
        return work(args, out)
    return _named(both, "per_sample_value_and_grad", function, work.kernel)


def _fit(arrays: Sequence[Any], given: list[tuple]) -> bool:
    """Whether these are arrays of these shapes and dtypes."""
    if len(arrays) != len(given):
        return False
    for a, (shape, dtype) in zip(arrays, given, strict=True):
        if type(a) is not np.ndarray or a.shape != shape or a.dtype is not dtype:
            return False
    return True


def _apart(arrays: list[np.ndarray]) -> bool:
    """Whether arrays are known to share no memory: each is its own."""
    for a in arrays:
        if a.base is not None:
            return False
    return len(set(map(id, arrays))) == len(arrays)


def _named(call: Callable, verb: str, function: Callable, kernel: Any) -> Callable:
    label = getattr(function, "__name__", type(function).__name__)
    call.__name__ = call.__qualname__ = f"{verb}_{label}"
    call.__doc__ = f"{verb} of {label}.\n\n{getattr(function, '__doc__', '') or ''}"
    call.kernel = kernel        # type: ignore[attr-defined]
    return call


class _PerSample:
    def __init__(self, function: Callable, argnums: int | Sequence[int], in_axes: Any, out: Any, chunk: int | None,
                 reduce: Any, threads: int | None, batched: bool) -> None:
        if not callable(function):
            raise InvalidArgument(f"per_sample_grad takes a function, not a {type(function).__name__}")
        if chunk is not None and chunk < 1:
            raise InvalidArgument(f"chunk={chunk}", instead="the number of samples at a time is at least 1")
        self.function, self.out, self.chunk, self.threads, self.batched = function, out, chunk, threads, batched
        self.single = isinstance(argnums, int | np.integer)
        self.argnums = (int(argnums),) if self.single else tuple(int(a) for a in argnums)      # type: ignore[arg-type,union-attr]
        self.in_axes, self.reduction = in_axes, reduction(reduce)
        if out is not None and self.reduction is not None:
            raise InvalidArgument("out= is memory for all gradients, reduce= does not keep them")
        self.known = _KERNELS
        self.quick: list[tuple] = []            # recent calls that need no more than their kernel
        self.warned: set[str] = set()

    def __call__(self, args: tuple, out: Any) -> Any:
        from transad.runtime.sweep import live
        if live():
            return self.recorded(args)
        out = self.out if out is None else out
        if self.quick and self.reduction is None:
            found = self.repeated(args, out)
            if found is not None:
                return found
        from transad.samples.call import Call
        call = Call(self, args)
        if self.reduction is not None:
            if out is not None:
                raise InvalidArgument("out= is memory for all gradients, reduce= does not keep them")
            return self.folded(call, self.reduction)
        rows = call.rows(call.n) if out is None else call.given(out)
        values = np.empty(call.n, call.value_dtype)
        for first, last in self.chunks(call.n, self.chunk or call.n):
            values = call.fill(first, last, [r[first:last] for r in rows], values)
        trees = [call.tree(a, iter(part)) for a, part in call.split(rows)]
        self.remember(args, call)
        return values, trees[0] if self.single else tuple(trees)

    # -- the short way for repeated calls ---------------------------------------------------------------------------
    def remember(self, args: tuple, call: Any) -> None:
        """Keep the kernel of a call in which everything is an array of its own, with the arrays' shapes."""
        if call.compiled is None or self.chunk is not None or any(type(a) is not np.ndarray for a in args):
            return
        if not call.simple or call.kernel.held or call.kernel.counted or any(axis not in (0, None) for axis in call.axes):
            return
        shapes = [((call.n, *s), d) for s, d in zip(call.shapes, call.dtypes, strict=True)]
        self.quick = [(call.kernel, call.compiled, call.n, shapes, [(a.shape, a.dtype) for a in args]), *self.quick[:_RECENT]]

    def repeated(self, args: tuple, out: Any) -> Any:
        """The result by a kernel that is known to fit; None where the long way has to answer."""
        found = None
        for known in self.quick:
            if _fit(args, known[4]):
                found = known
                break
        if found is None:
            return None
        kernel, run, n, shapes, _ = found
        if not _apart([args[k] for k in self.argnums]) or not kernel.current():
            return None
        if out is None:
            rows = [np.empty(s, d) for s, d in shapes]
        else:
            rows = [out] if self.single else out
            if type(rows) not in (list, tuple) or not _fit(rows, shapes) or not _apart([*rows, *args]) or not all(
                    r.flags.writeable for r in rows):
                return None
        values = np.empty(n, kernel.dtype)
        if not kernel.fill(run, n, args, rows, values, self.threads):
            return None
        return values, rows[0] if self.single else tuple(rows)

    def recorded(self, args: tuple) -> Any:
        """Inside a function that is being differentiated: sample by sample, recorded."""
        from transad import value_and_grad
        from transad.samples.vmap import stacked_items
        if self.batched or self.out is not None or not (self.reduction is None or type(self.reduction).__name__ in (
                "Reduction", "_Mean")):
            raise Unsupported("per_sample_grad inside a differentiated function takes no out=, batched=, and of reduce= "
                              "only sum and mean", instead="fold the gradients yourself")
        axes = self.in_axes if self.in_axes is not None else [
            None if k in [a % len(args) for a in self.argnums] else 0 for k in range(len(args))]
        both = value_and_grad(self.function, self.argnums[0] if self.single else self.argnums)
        values, grads = stacked_items(both, args, axes)
        return values, grads if self.reduction is None else self.reduction.recorded(grads, len(values))

    def folded(self, call: Any, fold: Reduction) -> Any:
        """The gradients chunk by chunk, in memory that is used again."""
        size = sum(int(np.prod(shape, dtype=int)) for shape in call.shapes) or 1
        most = max(1, _MEMORY // size)
        chunk = min(self.chunk or (most if fold.pairs else min(most, max(_FEWEST, _NEAR // size))), max(call.n, 1))
        rows, values = call.rows(chunk), np.empty(call.n, call.value_dtype)
        again = call.rows(chunk) if fold.pairs and chunk < call.n else rows
        fold.start(call.n, call.shapes, call.dtypes)
        for first, last in self.chunks(call.n, chunk):
            part = [r[:last - first] for r in rows]
            values = call.fill(first, last, part, values)
            if fold.pairs:
                for a, b in self.chunks(first, chunk, quiet=True):
                    other = [r[:b - a] for r in again]
                    call.fill(a, b, other, np.empty_like(values))
                    fold.pair(first, part, a, other)
            if fold.structured:
                trees = [call.tree(a, iter(p)) for a, p in call.split([r.copy() for r in part])]
                fold.add(first, trees[0] if self.single else tuple(trees))
            else:
                fold.add(first, part)
        result = fold.result()
        if isinstance(result, list) and not fold.structured:
            trees = [call.tree(a, iter(p)) for a, p in call.split(result)]
            result = trees[0] if self.single else tuple(trees)
        return values, result

    def chunks(self, n: int, size: int, quiet: bool = False) -> Iterator[tuple[int, int]]:
        spans = [(a, min(a + size, n)) for a in range(0, n, size)]
        if len(spans) > 1 and not quiet:
            try:
                from tqdm import tqdm  # pyright: ignore[reportMissingModuleSource]
            except ImportError:
                return iter(spans)
            return iter(tqdm(spans, desc="samples", delay=2.0, leave=False, disable=None))
        return iter(spans)

    def kernel(self, *args: Any) -> Any:
        """The compiled loop for arguments like these (its `text` shows it); NotTyped says why there is none."""
        from transad.samples.call import Call
        found = Call(self, args).kernel
        if isinstance(found, Exception):
            raise found
        return found

    def slow(self, reason: str, how: str) -> None:
        if reason and reason not in self.warned:
            self.warned.add(reason)
            label = getattr(self.function, "__name__", "the function")
            warnings.warn(f"the gradients of {label} are taken {how}: {reason}",
                          TransadPerformanceWarning, stacklevel=5)
