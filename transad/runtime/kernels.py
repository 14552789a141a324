"""What the text of maps calls, for CPython (`kernels_numba` has the same for compiled code), and their launch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from transad.errors import TransadPerformanceWarning

MOST_CHUNKS = 64                # a bound on threads that a map can use, and on its accumulators
LEAST_WORK = 5_000.0            # nanoseconds of a chunk
SUMMED = 1.0                    # nanoseconds to add one number of an accumulator to the result
MEMORY = 1 << 23                # numbers in all accumulators together (64 MiB)
WORTH_THREADS = 40_000.0        # nanoseconds of a map; a launch costs about 2000
WORTH_COMPILING = 1e6           # nanoseconds of compiled work: a tenth of a second in Python


class ItemFailed(Exception):
    """An item raised, or an index may run past the end: the map is to be run by Python."""


prange = range


def chunk_count(n: int, work: float, shared: int) -> int:
    """The number of chunks of a map of `n` items whose chunks each add into `shared` numbers.

    It depends on sizes only, never on threads: so do the bits of the result. On as many threads as chunks the items take
    `work / chunks` and the ordered sum `chunks * shared`: their total is least where the two are equal."""
    chunks = min(MOST_CHUNKS, n, int(work / LEAST_WORK))
    if shared > 0:
        chunks = min(chunks, int((work / (SUMMED * shared)) ** 0.5), MEMORY // shared)
    return max(chunks, 1)


def as_many_as_threads(chunks: int) -> int:
    """At most one chunk for each thread: fewer accumulators, but bits that depend on the number of threads."""
    return 1


def use_threads(work: float, chunks: int) -> bool:
    """Whether threads are worth their launch."""
    return False


def limit_blas() -> None:
    """One thread for each product of matrices from here on, since the items run on several."""


def release_blas() -> None:
    """As many again as before."""


def natural(i: int) -> int:
    """`i`, which is known not to be negative: compiled loads of `a[i]` need not ask, and a loop over them can be
    vectorised."""
    return i


def scaled(d: float, slope: float) -> float:
    """`d * slope`; a cotangent of zero wins."""
    return 0.0 if d == 0.0 else d * slope


def scaled_array(d: float, slope: np.ndarray) -> np.ndarray:
    """`d * slope` in fresh memory; a cotangent of zero wins."""
    return np.zeros_like(slope) if d == 0.0 else d * slope


def scaled_in_place(d: float, slope: np.ndarray) -> np.ndarray:
    """`d * slope` in the memory of `slope`."""
    if d != 1.0:
        slope[...] = scaled_array(d, slope)
    return slope


def added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two cotangents, in fresh memory."""
    return a + b


def clear_around(a: np.ndarray, first: int, last: int) -> None:
    """Set all entries of an array but those from `first` to `last` to zero."""
    a[:first] = 0.0
    a[last:] = 0.0


def summed_chunks(parts: np.ndarray) -> np.ndarray:
    """The sum over the first axis, in order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def joined(parts: list[np.ndarray], dims: list[np.ndarray], step: int) -> tuple[np.ndarray, np.ndarray]:
    """What the chunks of a map recorded (`record_array`) as one record of all items; `step`: the numbers in `dims` for one."""
    values, places = np.concatenate(parts), np.concatenate(dims)
    first = k = 0
    for part, dim in zip(parts, dims, strict=True):
        places[k:k + len(dim):step] += first
        first, k = first + len(part), k + len(dim)
    return values, places


HELPERS = ("prange", "chunk_count", "use_threads", "scaled", "scaled_array", "scaled_in_place", "added",
           "summed_chunks", "clear_around", "limit_blas", "release_blas", "as_many_as_threads",
           "joined", "natural", "ItemFailed")


class Launcher:
    """A map of a function that is otherwise run by Python: large ones are compiled, when they are met first."""

    def __init__(self, plain: Callable[..., Any], work: Callable[..., float], arrays: int,
                 compiled: Callable[[], Callable[..., Any]], kept: int) -> None:
        self.plain, self.work, self.arrays, self.make, self.kept = plain, work, arrays, compiled, kept
        self.compiled: Callable[..., Any] | None = None
        self.broken = False

    def __call__(self, *args: Any) -> Any:
        if self.broken or self.work(*args[:self.arrays]) < WORTH_COMPILING:
            return self.plain(*args)
        if self.compiled is None:
            try:
                self.compiled = self.make()
                return self.checked(*args)
            except ItemFailed:
                raise
            except Exception as problem:
                if not type(problem).__module__.startswith("numba"):
                    raise
                self.broken = True
                reason = next((x for x in str(problem).splitlines() if x.strip()), "")
                warnings.warn(f"a map is run by Python, one item after the other: Numba cannot compile it ({reason})",
                              TransadPerformanceWarning, stacklevel=3)
                return self.plain(*args)
        return self.checked(*args)

    def checked(self, *args: Any) -> Any:
        """The compiled map; by Python where something is not finite, which may be an exception there (`math.log(0.0)`)."""
        assert self.compiled is not None
        results = self.compiled(*args)
        given = results if isinstance(results, tuple) else (results,)
        if all(map(_finite, given[:len(given) - self.kept])) and all(
                map(_finite, args[self.arrays:])):
            return results
        return self.plain(*args)


def _finite(value: Any) -> bool:
    with np.errstate(all="ignore"):
        return value is None or bool(np.isfinite(np.sum(value)))
