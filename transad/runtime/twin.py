"""The rewritten twin of a function: compiled in the scope it was written in, made once per function.

The twin shares the globals, closure cells and defaults of its function; only its code differs. Functions that
rewritten text creates are rewritten already (their code objects are registered with it).
"""
from __future__ import annotations

import ast
import copy
import types
import weakref
from typing import Any

from ..errors import Unsupported
from ..passes.record import PREFIX, Recorder
from ..source import Source, get_source

__all__ = ["is_rewritten", "make_function", "rewritten"]

_FUTURE = 0x1FF0000          # the compiler flags of `from __future__` imports in co_flags
_codes: dict[int, types.CodeType] = {}       # rewritten code objects by id, nested ones too (kept alive)
_twins: dict[int, tuple[Any, ...]] = {}      # id(code) -> (code, new code)


def is_rewritten(code: types.CodeType) -> bool:
    """Whether a code object came out of this pass."""
    return id(code) in _codes


def rewritten(function: types.FunctionType) -> types.FunctionType:
    """The function with its operations recorded; itself if it already is. `NoSource`, `Unsupported` otherwise."""
    code = function.__code__
    if id(code) in _codes:
        return function
    made = _made.get(id(function))
    if made is not None and made[0]() is function and made[1] is code and made[2] is function.__defaults__ \
            and made[3] is function.__kwdefaults__:
        return made[4]
    found = _twins.get(id(code))
    if found is None:
        source = get_source(function)
        new = _compile(function, copy.deepcopy(source.node), source, rewrite=True)
        _register(new)
        found = _twins[id(code)] = (code, new)
    twin = _function(function, found[1])
    if len(_made) > 10000:          # closures that hold themselves are never forgotten otherwise
        _made.clear()
    key = id(function)
    _made[key] = (weakref.ref(function, lambda _: _made.pop(key, None)), code, function.__defaults__,
                  function.__kwdefaults__, twin)
    return twin


_made: dict[int, tuple[Any, ...]] = {}       # id(function) -> (reference, code, defaults, ..., its twin)


def _register(code: types.CodeType) -> None:
    _codes[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _register(constant)


def make_function(function: Any, node: Any, source: Source) -> types.FunctionType:
    """A function made from `node`, an edited copy of the tree of `function`; it may be rewritten later."""
    code = _compile(function, copy.deepcopy(node), source, rewrite=False)
    new = _compile(function, node, source, rewrite=True)
    _register(new)
    _twins[id(code)] = (code, new)
    return _function(function, code)


def _compile(function: Any, node: Any, source: Source, rewrite: bool) -> types.CodeType:
    """Compile one function definition in the scope that it was written in (its closure names and its class)."""
    if isinstance(node, (ast.AsyncFunctionDef,)):
        raise Unsupported("async functions cannot be differentiated", instead="write an ordinary function",
                          place=source.place(node))
    name = f"{PREFIX}function"
    old = function.__code__
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
    if isinstance(node, ast.Lambda):
        body = Recorder(source).visit(node) if rewrite else node
        statement: ast.stmt = ast.Assign([ast.Name(name, ast.Store())], body)
    else:
        node.decorator_list = []
        node.returns = None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        node = Recorder(source).visit(node) if rewrite else node
        node.name = name
        statement = node
    free = [n for n in old.co_freevars if n != "__class__"] + (_helper_names() if rewrite else [])
    inner = statement
    if source.class_name:
        # Private names are spelled with the class's name; leading underscores do not count, and keep it free.
        inner = ast.ClassDef("____" + source.class_name, [], [], [statement], [])
    factory = ast.FunctionDef(f"{PREFIX}factory", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []),
                              [inner], [])
    module = ast.Module([factory], [])
    ast.copy_location(factory, node)
    ast.copy_location(inner, node)
    ast.fix_missing_locations(module)
    code = compile(module, source.filename, "exec", flags=old.co_flags & _FUTURE, dont_inherit=True)
    wanted = name if isinstance(node, ast.FunctionDef) else "<lambda>"
    found = _nested(code, wanted, 3 if source.class_name else 2)
    return found.replace(co_name=old.co_name, co_qualname=old.co_qualname)


def _nested(code: types.CodeType, name: str, levels: int) -> types.CodeType:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if levels == 1 and constant.co_name == name:
                return constant
            if levels > 1:
                return _nested(constant, name, levels - 1)
    raise AssertionError(f"{name} is not in the code compiled for it")


_cells: dict[str, types.CellType] = {}


def _helper_names() -> list[str]:
    if not _cells:
        from .helpers import HELPERS
        _cells.update({PREFIX + name: types.CellType(value) for name, value in HELPERS.items()})
    return list(_cells)


def _function(function: Any, code: types.CodeType) -> types.FunctionType:
    """A function with new code and everything else of the old one."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[n] if n in cells else _cells[n] for n in code.co_freevars)
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__, new.__doc__, new.__module__ = function.__qualname__, function.__doc__, function.__module__
    return new
