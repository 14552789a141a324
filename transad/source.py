"""From a function object to its syntax tree, with the line numbers of the user's file.

    get_source(f) -> Source(tree=gast tree of f alone, filename, first_line, lines, ...)

The whole file is parsed and the node that belongs to `f` is found by line, name and, where that is not enough
(several lambdas on one line), by the columns in its code object. The node found is compiled and compared with the
code object: a file edited after its import gives `NoSource`, never the derivative of another text.
Files, notebook cells, doctests and everything else that `linecache` knows work; text without source does not.
"""
from __future__ import annotations

import ast
import builtins
import functools
import linecache
import types
from dataclasses import dataclass, field
from typing import Any

from transad.errors import NoSource, Place
from transad.nodes import gast

__all__ = ["Source", "get_source"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FUTURE = 0x1FF0000          # the compiler flags of `from __future__` imports in co_flags


@dataclass(frozen=True)
class Source:
    """The text and tree of one Python function."""

    function: Any
    node: FunctionNode                        # CPython's tree, positions as in the file
    filename: str
    first_line: int
    lines: list[str] = field(repr=False)      # all lines of the file; lines[first_line - 1] is the first
    class_name: str | None = None             # the class whose body holds the function (for private names)

    @functools.cached_property
    def tree(self) -> Any:
        """The same tree as gast (a fresh conversion per Source, so it may be changed freely)."""
        return gast.ast_to_gast(self.node)

    @property
    def text(self) -> str:
        """The lines of the function as written."""
        return "".join(self.lines[self.first_line - 1:self.node.end_lineno])

    def lookup(self, name: str) -> Any:
        """What a free name of the function means now: closure, then globals, then builtins.

        Raises NameError for an unknown name or an empty closure cell."""
        function = self.function
        if name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise NameError(f"{name} is not yet assigned") from None
        if name in function.__globals__:
            return function.__globals__[name]
        try:
            return getattr(builtins, name)
        except AttributeError:
            raise NameError(f"name {name!r} is not defined") from None

    def place(self, node: Any) -> Place:
        """Where a node of this tree stands in the user's file."""
        line = getattr(node, "lineno", self.first_line)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else None
        one_line = getattr(node, "end_lineno", line) == line
        return Place(self.filename, line, _characters(text, getattr(node, "col_offset", None)),
                     _characters(text, getattr(node, "end_col_offset", None)) if one_line else None, text)


def _characters(text: str | None, offset: int | None) -> int | None:
    """A column in characters from one in UTF-8 bytes."""
    if text is None or offset is None:
        return offset
    return len(text.encode()[:offset].decode(errors="ignore"))


def get_source(function: Any) -> Source:
    """The source of a Python function; `NoSource` when there is none or it has changed."""
    if not isinstance(function, types.FunctionType):
        raise NoSource(f"{function!r} is not a Python function")
    code = function.__code__
    lines = _lines(code.co_filename, function.__globals__)
    if not lines:
        raise NoSource(f"the source of {function.__qualname__} is not available ({code.co_filename})",
                       instead="define it in a file or a notebook cell")
    try:
        module = _parse("".join(lines), code.co_filename)
    except SyntaxError as error:
        raise NoSource(f"{code.co_filename} does not parse any more: {error}") from None
    node, class_name = _find(module, code, function.__qualname__)
    return Source(function, node, code.co_filename, _first_line(node), lines, class_name)


def _lines(filename: str, module_globals: dict[str, Any]) -> list[str]:
    linecache.checkcache(filename)
    return linecache.getlines(filename, module_globals)


@dataclass(frozen=True)
class _Module:
    text: str
    filename: str
    functions: dict[int, list[tuple[FunctionNode, str | None]]]     # by first line

    @functools.cached_property
    def codes(self) -> list[types.CodeType]:
        return _all_codes(_compiled(self.text, self.filename, 0))


@functools.lru_cache(maxsize=64)
def _parse(text: str, filename: str) -> _Module:
    functions: dict[int, list[tuple[FunctionNode, str | None]]] = {}

    def visit(node: ast.AST, class_name: str | None) -> None:
        inside = class_name
        if isinstance(node, _KINDS):
            functions.setdefault(_first_line(node), []).append((node, class_name))
        elif isinstance(node, ast.ClassDef):
            inside = node.name
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(text, filename), None)
    return _Module(text, filename, functions)


def _first_line(node: FunctionNode) -> int:
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _find(module: _Module, code: types.CodeType, qualname: str) -> tuple[FunctionNode, str | None]:
    """The node that `code` was compiled from."""
    is_lambda = code.co_name == "<lambda>"
    found = [(node, owner) for node, owner in module.functions.get(code.co_firstlineno, [])
             if isinstance(node, ast.Lambda) == is_lambda and getattr(node, "name", "<lambda>") == code.co_name]
    if len(found) > 1:
        exact = [pair for pair in found if _span(pair[0]) == _code_span(code)]
        found = exact or found
    if len(found) == 1 and _is_rewritten_by_pytest(code):
        return found[0]
    if found:
        twins = [c for c in _same_place(module, code) if _same_code(c, code)]
        if len(found) == 1 and twins:
            return found[0]
        if len(found) > 1 and twins and len({ast.dump(node) for node, _ in found}) == 1:
            return found[0]          # the same text several times on one line
    raise NoSource(f"the source of {qualname} in {module.filename}, line {code.co_firstlineno}, is not the text "
                   "it was compiled from", instead="reload the module (the file has changed since its import)")


def _span(node: FunctionNode) -> tuple[int, int, int, int] | None:
    body = node.body
    if isinstance(body, list):
        return None
    return (body.lineno, body.col_offset, body.end_lineno or 0, body.end_col_offset or 0)


def _code_span(code: types.CodeType) -> tuple[int, int, int, int] | None:
    """The text range that the instructions of a lambda cover (its body)."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not places:
        return None
    start = min((p[0], p[2]) for p in places)
    end = max((p[1], p[3]) for p in places)
    return (*start, *end)          # type: ignore[return-value]


def _is_rewritten_by_pytest(code: types.CodeType) -> bool:
    """pytest compiles test modules from a changed tree, so their code cannot be compared."""
    return any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))


def _same_place(module: _Module, code: types.CodeType) -> list[types.CodeType]:
    flags = code.co_flags & _FUTURE
    codes = module.codes if not flags else _all_codes(_compiled(module.text, module.filename, flags))
    return [c for c in codes if c.co_firstlineno == code.co_firstlineno and c.co_name == code.co_name]


@functools.lru_cache(maxsize=64)
def _compiled(text: str, filename: str, flags: int) -> types.CodeType:
    return compile(text, filename, "exec", flags=flags, dont_inherit=True)


def _all_codes(code: types.CodeType) -> list[types.CodeType]:
    out = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            out += _all_codes(constant)
    return out


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Equal instructions, names and constants, nested functions included."""
    if (a.co_code, a.co_names, a.co_varnames, a.co_freevars) != (b.co_code, b.co_names, b.co_varnames, b.co_freevars):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    return all(_same_code(p, q) if isinstance(p, types.CodeType) and isinstance(q, types.CodeType)
               else type(p) is type(q) and repr(p) == repr(q)
               for p, q in zip(a.co_consts, b.co_consts, strict=True))
