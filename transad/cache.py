"""Generated modules as real files, in a content-addressed folder.

Real files give tracebacks, debuggers and profilers their source, and Numba a place for its own cache. The name of a
file is the hash of its text and of the versions that matter, so a file is never wrong: it is there or it is not.
A folder that cannot be written falls back to memory.
"""
from __future__ import annotations

import functools
import hashlib
import linecache
import os
import platform
import sys
import tempfile
from pathlib import Path

_MEMORY: dict[str, str] = {}


def folder() -> Path:
    """Where generated modules live: TRANSAD_CACHE_DIR, else the user's cache folder."""
    given = os.environ.get("TRANSAD_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "transad"


@functools.lru_cache(maxsize=1)
def versions() -> str:
    """The versions on which generated code may depend (without importing Numba)."""
    from importlib.metadata import PackageNotFoundError, version
    found = []
    for package in ("transad", "numpy", "numba"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} -")
    # The vector library of the C library is called by name (`vector_math`).
    found.append(f"libc {platform.libc_ver()[1] or '-'} {os.environ.get('TRANSAD_VECTOR_MATH', '')}")
    return f"python {sys.version_info[0]}.{sys.version_info[1]}, " + ", ".join([*found, f"helpers {_helpers()}"])


@functools.lru_cache(maxsize=1)
def _helpers() -> str:
    """The text of the functions that emitted code calls: they are compiled into what Numba keeps beside it."""
    where = Path(__file__).parent / "runtime"
    texts = [(where / f"{m}.py").read_bytes() for m in ("typed", "typed_numba", "kernels", "kernels_numba", "vector_math",
                                                            "vector_maps") if (where / f"{m}.py").is_file()]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def stored(text: str, label: str, options: str = "") -> str:
    """The path of a file with this text (written if it is not there), or a name that only memory knows."""
    digest = hashlib.sha256("\0".join((text, versions(), options)).encode()).hexdigest()[:20]
    safe = "".join(c if c.isalnum() or c == "_" else "_" for c in label)[:40]
    try:
        where = folder()
        path = where / f"{safe}_{digest}.py"
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return str(path)
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(temporary, path)
        return str(path)
    except OSError:
        name = f"<transad {safe} {digest}>"
        _MEMORY[name] = text
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        return name
