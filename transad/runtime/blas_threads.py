"""One thread for the BLAS while the items of a map run on several.

Each product of matrices in an item would start as many threads of its own as there are cores, and they would wait for
each other. Compiled maps whose items call the BLAS therefore call `limit` before their threads start and `release`
after, by the names `transad_limit_blas` and `transad_release_blas`, so that they can be cached. The number of threads
is that of the process: what other threads multiply meanwhile is slower, not wrong.

Compiled code takes the BLAS that SciPy brings. Its threads are set if it is OpenBLAS; another one is left alone.
"""
from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path

_lock = threading.Lock()
_running, _before = 0, 0
_PREFIXES, _SUFFIXES = ("scipy_openblas_", "openblas_"), ("", "64_", "_64")


def _after_fork() -> None:
    global _lock, _running
    _lock, _running = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.lru_cache(maxsize=1)
def _library() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """How many threads the BLAS of compiled code has, and how to change that."""
    try:
        import scipy
    except ImportError:
        return None
    home = Path(scipy.__file__).parent
    for folder in (home.parent / "scipy.libs", home / ".dylibs", home / ".libs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for label in (f"{p}{{}}_num_threads{s}" for p in _PREFIXES for s in _SUFFIXES):
                if hasattr(library, label.format("set")):
                    return getattr(library, label.format("get")), getattr(library, label.format("set"))
    return None


def limit() -> None:
    """Before the threads of a map start."""
    global _running, _before
    known = _library()
    if known is None:
        return
    with _lock:
        _running += 1
        if _running == 1:
            _before = known[0]()
            if _before > 1:
                known[1](1)


def release() -> None:
    """When they have ended; the last map that runs gives the threads back."""
    global _running
    known = _library()
    if known is None:
        return
    with _lock:
        _running -= 1
        if _running == 0 and _before > 1:
            known[1](_before)


@functools.lru_cache(maxsize=1)
def register() -> tuple[object, ...]:
    """Make both known to compiled code by name."""
    from llvmlite import binding
    kind = ctypes.CFUNCTYPE(None)
    made = kind(limit), kind(release)
    for label, function in zip(("transad_limit_blas", "transad_release_blas"), made, strict=True):
        binding.add_symbol(label, ctypes.cast(function, ctypes.c_void_p).value)
    return made
