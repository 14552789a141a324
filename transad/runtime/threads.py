"""Threads for compiled maps: which library runs them, and what is not safe with it.

- TBB survives several Python threads at once and forked children. `pip install tbb` puts it where Numba does not
  look, so it is loaded by its full path before Numba starts its threads.
- Numba's workqueue aborts the process when two Python threads enter it: calls go through a lock.
- OpenMP and workqueue do not survive a fork: in a forked child maps run on one thread.
- The threads of GNU OpenMP wait for each other by spinning, some 10 ms unless told otherwise: on cores that others use
  too a map of 40 microseconds took 20 ms. They are told to sleep after about 0.1 ms.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

_SPIN, _SPINS = "GOMP_SPINCOUNT", "3000"
_lock = threading.RLock()
_forked = False


def _after_fork() -> None:
    global _forked, _lock
    _lock = threading.RLock()
    if layer() not in ("", "tbb"):
        _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def layer() -> str:
    """The threading library that Numba has started, "" before it has."""
    import sys
    if "numba" not in sys.modules:
        return ""
    import numba
    try:
        return numba.threading_layer()      # pyright: ignore[reportPrivateImportUsage]
    except ValueError:
        return ""


@functools.lru_cache(maxsize=1)
def prepare() -> None:
    """Start Numba's threads, TBB's if it is installed."""
    from transad.runtime import blas_threads
    blas_threads.register()
    _load_tbb()
    from numba.np.ufunc.parallel import _launch_threads
    told = _SPIN if "OMP_WAIT_POLICY" not in os.environ and _SPIN not in os.environ else ""
    if told:
        os.environ[told] = _SPINS           # read once, when the library is loaded
    try:
        _launch_threads()
    finally:
        if told:
            del os.environ[told]


def _load_tbb() -> None:
    from importlib import metadata
    try:
        files = metadata.files("tbb") or []
    except metadata.PackageNotFoundError:
        return
    for f in files:
        if f.name.startswith("libtbb.so.12"):
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(f.locate().resolve()), mode=ctypes.RTLD_GLOBAL)     # type: ignore[union-attr]
                return


@functools.lru_cache(maxsize=1)
def _counter() -> tuple[Callable[[], int], Callable[[int], None], int]:
    """Reads and sets the threads of this thread's maps, and the most that there can be. (Numba's public functions look
    at each call whether its threads run, which takes longer than a small map.)"""
    prepare()
    from numba.np.ufunc import parallel
    return parallel._get_num_threads, parallel._set_num_threads, parallel.config.NUMBA_NUM_THREADS      # type: ignore[attr-defined]


class limited:
    """At most so many threads in this thread's maps: a context."""

    __slots__ = ("before", "wanted")

    def __init__(self, threads: int | None) -> None:
        count, _, most = _counter()
        self.before = count()
        self.wanted = 1 if _forked else self.before if threads is None else max(1, min(threads, most))

    def __enter__(self) -> None:
        if self.wanted != self.before:
            _counter()[1](self.wanted)

    def __exit__(self, *problem: object) -> None:
        if self.wanted != self.before:
            _counter()[1](self.before)


def guarded(call: Callable[..., Any], threads: int | None = None) -> Callable[..., Any]:
    """The call of compiled code that may run maps by threads, made safe for the library that runs them, and for Ctrl-C:
    Numba runs Python's handlers while it makes the results, and does not look whether they raised."""
    def run(*args: Any) -> Any:
        try:
            if threads is not None or _forked:
                with limited(threads):
                    return run_safely(*args)
            return run_safely(*args)
        except SystemError as problem:
            if isinstance(problem.__cause__, KeyboardInterrupt):
                raise problem.__cause__ from None
            raise

    def run_safely(*args: Any) -> Any:
        if started[0] == "":
            with _lock:
                result = call(*args)
                started[0] = layer()
            return result
        if started[0] == "workqueue":
            with _lock:
                return call(*args)
        return call(*args)
    started = [""]
    run.dispatcher = call       # type: ignore[attr-defined]
    return run
