"""From what a person types to a function: `module:qualname`, `path.py:name`, `path.py::name`, or a bare name.

A bare name is looked up in the text of the modules below the working directory; only the module that has it is
imported. A miss lists what is there under a similar name.

>>> found("transad.testing:check_grads").__name__
'check_grads'
>>> found("transad.testing:chek_grads")
Traceback (most recent call last):
transad.command.targets.Usage: transad.testing has no function chek_grads
  Did you mean: check_grads
"""
from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["Usage", "found", "near"]

_SKIPPED = {"node_modules", "site-packages", "build", "dist", "venv", "env"}
_MOST_FILES = 3000


class Usage(Exception):
    """What was typed cannot be understood; `candidates` are the nearest things that can."""

    def __init__(self, message: str, candidates: Iterable[str] = ()) -> None:
        self.candidates = list(candidates)
        hint = f"\n  Did you mean: {', '.join(self.candidates)}" if self.candidates else ""
        super().__init__(message + hint)


def near(wanted: str, names: Iterable[str], most: int = 6) -> list[str]:
    """The names most like `wanted`, by spelling, its last part and its beginning."""
    names = list(dict.fromkeys(names))
    last = wanted.rpartition(".")[2].lower()
    by_last = {n: n.rpartition(".")[2].lower() for n in names}
    close = difflib.get_close_matches(last, by_last.values(), n=most, cutoff=0.6)
    out = [n for c in dict.fromkeys(close) for n in names if by_last[n] == c]
    out += [n for n in names if last and last in n.lower() and n not in out]
    return out[:most]


def found(target: str) -> Any:
    """The callable that `target` means; `Usage` otherwise."""
    path, name = _split(target)
    if path is None:
        return _bare(name)
    if path.endswith(".py"):
        return _member(_from_file(Path(path)), name, path)
    return _member(_imported(path), name, path)


def _split(target: str) -> tuple[str | None, str]:
    for mark in ("::", ":"):
        head, colon, name = target.rpartition(mark)
        if colon and head and name:
            return head, name.replace("::", ".")
    if ":" in target or target.endswith(".py"):
        file = Path(target.rstrip(":"))
        inside = [f"{file}:{q}" for q in _defined(file)][:12] if file.is_file() else []
        raise Usage(f"{target} does not name a function; write {file}:NAME", inside)
    return None, target


def _imported(name: str) -> Any:
    _first_on_path(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and (name == problem.name or name.startswith(problem.name + ".")):
            here = [_dotted(p) for p in _files()]
            raise Usage(f"there is no module {name}", near(name, here)) from None
        raise Usage(f"{name} cannot be imported: {problem}") from None
    except Exception as problem:
        raise Usage(_broken(name, problem)) from None


def _from_file(file: Path) -> Any:
    """The module of a file; under its dotted name where the file belongs to a package, so that its imports work."""
    if not file.is_file():
        raise Usage(f"there is no file {file}", near(file.name, (str(p) for p in _files())))
    file = file.resolve()
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    _first_on_path(root)
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    known = sys.modules.get(name)
    if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == str(file):
        return known
    if known is not None or len(parts) == 1:
        name = name if known is None else f"transad_target_{name.replace('.', '_')}"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as problem:
            del sys.modules[name]
            if isinstance(problem, Exception):
                raise Usage(_broken(str(file), problem)) from None
            raise
        return module
    return _imported(name)


def _broken(what: str, problem: Exception) -> str:
    trace, line = problem.__traceback__, 0
    while trace is not None:
        line, trace = trace.tb_lineno if what == trace.tb_frame.f_code.co_filename else line, trace.tb_next
    at = f", line {line}" if line else ""
    return f"{what} cannot be imported: {type(problem).__name__}: {problem}{at}"


def _first_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _member(module: Any, qualname: str, where: str) -> Any:
    value: Any = module
    for part in qualname.split("."):
        owner = value
        try:
            value = getattr(value, part)
        except AttributeError:
            names = [n for n in dir(owner) if callable(getattr(owner, n, None)) and not n.startswith("__")]
            own = [n for n in names if getattr(getattr(owner, n), "__module__", None) == module.__name__]
            hints = near(qualname, names) or own[:8]
            prefix = qualname.rpartition(".")[0]
            raise Usage(f"{where} has no function {qualname}",
                        [f"{prefix}.{h}" if prefix else h for h in hints]) from None
    if not callable(value):
        raise Usage(f"{where}:{qualname} is a {type(value).__name__}, not a function")
    return value


def _bare(name: str) -> Any:
    """The one function of that name in the modules of the working directory; else a dotted name to import."""
    places = [(file, q) for file in _files() for q in _defined(file)]
    hits = [(f, q) for f, q in places if q == name] or [(f, q) for f, q in places if q.endswith(f".{name}")]
    if len(hits) == 1:
        return _member(_from_file(hits[0][0]), hits[0][1], str(hits[0][0]))
    if hits:
        raise Usage(f"{name} is in several modules; say which", [f"{f}:{q}" for f, q in hits][:12])
    module, _, last = name.rpartition(".")
    if module and last.isidentifier():
        _first_on_path(Path.cwd())
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is not None:
            return _member(_imported(module), last, module)
    hints = near(name, [q for _, q in places])
    raise Usage(f"there is no function {name} in the modules of {Path.cwd()}",
                [f"{f}:{q}" for f, q in places if q in hints][:6])


def _files() -> Iterator[Path]:
    """The Python files below the working directory, as relative paths, hidden and installed ones left out."""
    count = 0
    for folder, folders, files in os.walk("."):
        folders[:] = sorted(d for d in folders if not d.startswith((".", "__")) and d not in _SKIPPED)
        for file in sorted(files):
            if file.endswith(".py"):
                count += 1
                if count > _MOST_FILES:
                    return
                yield Path(folder, file)


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)


def _defined(file: Path) -> list[str]:
    """The qualified names of the functions and methods that a file defines."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return []
    names: list[str] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                names.append(prefix + node.name)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda | ast.Call) and not prefix:
                names.extend(t.id for t in node.targets if isinstance(t, ast.Name) and isinstance(
                    node.value, ast.Lambda))
            elif isinstance(node, ast.If | ast.Try):
                visit(node.body, prefix)
    visit(tree.body, "")
    return names
