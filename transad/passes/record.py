"""Rewrite a function so that each of its operations goes through the recorded path's runtime.

    def f(x, w):                      def f(x, w):
        y = x * w[0]                      y = ta_mul(x, ta_getitem(w, 0))
        y += g(x)                →        y = ta_iadd(y, ta_call(g, x))
        w[1] = y                          ta_setitem(y, w, 1)
        return y                          return y

Control flow, containers, exceptions, generators, formatting, comparisons and boolean logic stay as written and run
natively. The new function shares the globals, closure cells and defaults of the old one and has its line numbers, so
tracebacks and debuggers show the user's text. Operands are evaluated once, in Python's order.
"""
from __future__ import annotations

import ast
import copy
import types
import weakref
from typing import Any

from ..errors import Unsupported
from ..source import Source, get_source

__all__ = ["is_rewritten", "make_function", "rewritten"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
           ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
           ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_INPLACE = {kind: "i" + name.rstrip("_") for kind, name in _BINARY.items()}
_FRAME = {"super", "locals", "vars", "dir", "globals"}      # they look at the calling frame: left as written
PREFIX = "ta_"
_FUTURE = 0x1FF0000


def _helper(name: str, *args: ast.expr, at: ast.AST) -> ast.Call:
    node = ast.Call(ast.Name(PREFIX + name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(node, at))


class _Rewriter(ast.NodeTransformer):
    """The rewriting itself; one method per construct that changes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.class_name = source.class_name
        self.count = 0

    def fresh(self) -> str:
        """A name for an intermediate value."""
        self.count += 1
        return f"{PREFIX}v{self.count}"

    # Expressions

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _helper(_BINARY[type(node.op)], node.left, node.right, at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return node
        self.generic_visit(node)
        name = _UNARY.get(type(node.op))
        return node if name is None else _helper(name, node.operand, at=node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return _helper("getitem", node.value, _index(node.slice), at=node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not self.is_module(node.value):
            return _helper("getattr", node.value, ast.Constant(self.mangled(node.attr)), at=node)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _helper("unpack", node.value, at=node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _FRAME and not (node.args and function.id != "super"):
            return self.generic_visit(node)  # type: ignore[return-value]
        args = [self.visit(a) for a in node.args]
        keywords = [self.visit(k) for k in node.keywords]
        if isinstance(function, ast.Attribute) and not self.is_module(function.value):
            name = ast.Constant(self.mangled(function.attr))
            new = _helper("method", self.visit(function.value), name, at=node)
        else:
            new = _helper("call", self.visit(function), at=node)
        new.args += args
        new.keywords = keywords
        return new

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression is a name (or dotted name) of a module now."""
        return isinstance(self.module_of(node), types.ModuleType)

    def module_of(self, node: ast.expr) -> Any:
        """The module that a name or dotted name means, or None."""
        if isinstance(node, ast.Name):
            code = self.source.function.__code__
            if node.id in code.co_varnames or node.id in code.co_cellvars or node.id in code.co_freevars:
                return None
            return self.source.function.__globals__.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.module_of(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) else None
        return None

    def mangled(self, name: str) -> str:
        """A private name as the compiler spells it inside a class."""
        if self.class_name and name.startswith("__") and not name.endswith("__"):
            return f"_{self.class_name.lstrip('_')}{name}"
        return name

    # Assignments

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.assign(node.targets[0], node.value, node)
        name = self.fresh()
        first = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node.value), node)
        out: list[ast.stmt] = [first]
        for target in node.targets:
            out += self.assign(target, ast.Name(name, ast.Load()), node)
        return [ast.fix_missing_locations(s) for s in out]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            node.value = value
            return node
        return self.assign(node.target, value, node)

    def assign(self, target: ast.expr, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """Statements that store `value` (already rewritten) in a target of any form."""
        if isinstance(target, ast.Name):
            new: ast.stmt = ast.Assign([target], value)
        elif isinstance(target, ast.Subscript):
            place = self.visit(target.value), _index(self.visit(target.slice))
            new = ast.Expr(_helper("setitem", value, *place, at=target))
        elif isinstance(target, ast.Attribute):
            name = ast.Constant(self.mangled(target.attr))
            new = ast.Expr(_helper("setattr", value, self.visit(target.value), name, at=target))
        elif isinstance(target, (ast.Tuple, ast.List)):
            return self.unpack(target, value, at)
        else:
            raise Unsupported(f"assignment to {type(target).__name__}", place=self.source.place(target))
        return [ast.fix_missing_locations(ast.copy_location(new, at))]

    def unpack(self, target: ast.Tuple | ast.List, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """Unpack into names first and store into the other places afterwards, left to right."""
        stars = [e for e in target.elts if isinstance(e, ast.Starred)]
        literal = isinstance(value, ast.Tuple) and not stars and len(value.elts) == len(target.elts) and not any(
            isinstance(e, ast.Starred) for e in value.elts)
        if not literal:
            value = _helper("unpack", value, at=value if hasattr(value, "lineno") else at)
        plain = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
        if all(isinstance(e, ast.Name) for e in plain):
            return [ast.fix_missing_locations(ast.copy_location(ast.Assign([target], value), at))]
        names = [self.fresh() for _ in plain]
        elements: list[ast.expr] = [
            ast.Starred(ast.Name(n, ast.Store()), ast.Store()) if isinstance(e, ast.Starred)
            else ast.Name(n, ast.Store()) for n, e in zip(names, target.elts, strict=True)]
        first = ast.Assign([ast.Tuple(elements, ast.Store())], value)
        out: list[ast.stmt] = [ast.fix_missing_locations(ast.copy_location(first, at))]
        for name, part in zip(names, plain, strict=True):
            out += self.assign(part, ast.copy_location(ast.Name(name, ast.Load()), at), at)
        return out

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        operator = _INPLACE[type(node.op)]
        target = node.target
        if isinstance(target, ast.Name):
            old: ast.expr = ast.Name(target.id, ast.Load())
            new = _helper(operator, old, self.visit(node.value), at=node)
            return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], new), node))
        owner, value = self.fresh(), self.fresh()
        out = [self.keep(owner, self.visit(target.value), node)]
        if isinstance(target, ast.Subscript):
            index = self.fresh()
            out.append(self.keep(index, _index(self.visit(target.slice)), node))
            place = [ast.Name(owner, ast.Load()), ast.Name(index, ast.Load())]
            load, save = _helper("getitem", *place, at=target), "setitem"
        else:
            place = [ast.Name(owner, ast.Load()), ast.Constant(self.mangled(target.attr))]
            load, save = _helper("getattr", *place, at=target), "setattr"
        out.append(self.keep(value, load, node))
        out.append(self.keep(value, _helper(operator, ast.Name(value, ast.Load()), self.visit(node.value), at=node),
                             node))
        done = _helper(save, ast.Name(value, ast.Load()), *copy.deepcopy(place), at=node)
        out.append(ast.fix_missing_locations(ast.copy_location(ast.Expr(done), node)))
        return out

    def keep(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        """`name = value`"""
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at))

    # Iteration and context managers

    def visit_For(self, node: ast.For) -> Any:
        node.iter = _helper("iterate", self.visit(node.iter), at=node.iter)
        before: list[ast.stmt] = []
        if not isinstance(node.target, ast.Name):
            name = self.fresh()
            before = self.assign(node.target, ast.copy_location(ast.Name(name, ast.Load()), node.target), node.target)
            node.target = ast.copy_location(ast.Name(name, ast.Store()), node.target)
        node.body = before + self.block(node.body)
        node.orelse = self.block(node.orelse)
        return node

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A list of statements, rewritten."""
        out: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    def unpack_in_comprehension(self, part: ast.comprehension, generators: list[ast.comprehension]) -> None:
        """`for (a, b) in xs` becomes `for v in xs for a, b in (ta_unpack(v),)`."""
        pending: list[tuple[ast.expr, str]] = [(part.target, self.fresh())]
        at = part.target
        part.target = ast.copy_location(ast.Name(pending[0][1], ast.Store()), at)
        while pending:
            target, name = pending.pop(0)
            if not isinstance(target, (ast.Tuple, ast.List)):
                raise Unsupported("storing into an element or attribute in a comprehension",
                                  instead="write a for loop", place=self.source.place(target))
            elements: list[ast.expr] = []
            for element in target.elts:
                inner = element.value if isinstance(element, ast.Starred) else element
                if isinstance(inner, ast.Name):
                    elements.append(element)
                else:
                    pending.append((inner, self.fresh()))
                    elements.append(ast.Name(pending[-1][1], ast.Store()))
            value = _helper("unpack", ast.Name(name, ast.Load()), at=at)
            new = ast.comprehension(ast.Tuple(elements, ast.Store()), ast.Tuple([value], ast.Load()), [], 0)
            for piece in (new.target, new.iter):
                ast.fix_missing_locations(ast.copy_location(piece, at))
            generators.append(new)

    def visit_ListComp(self, node: Any) -> Any:
        generators: list[ast.comprehension] = []
        for part in node.generators:
            conditions, part.ifs = part.ifs, []
            part.iter = _helper("iterate", self.visit(part.iter), at=part.iter)
            generators.append(part)
            if not isinstance(part.target, ast.Name):
                self.unpack_in_comprehension(part, generators)
            generators[-1].ifs = [self.visit(c) for c in conditions]
        node.generators = generators
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        return node

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        node.value = _helper("iterate", self.visit(node.value), at=node.value)
        return node

    def visit_With(self, node: ast.With) -> Any:
        before: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
            if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name):
                target, name = item.optional_vars, self.fresh()
                item.optional_vars = ast.copy_location(ast.Name(name, ast.Store()), target)
                before += self.assign(target, ast.copy_location(ast.Name(name, ast.Load()), target), target)
        node.body = before + self.block(node.body)
        return node

    # Definitions and what stays

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.body = self.block(node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.body = self.visit(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, self.class_name = self.class_name, node.name
        node.body = self.block(node.body)
        self.class_name = outer
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = self.block(node.body)
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        return node

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        raise Unsupported("async functions cannot be differentiated", instead="write an ordinary function",
                          place=self.source.place(node))

    visit_Await = visit_AsyncFor = visit_AsyncWith = visit_AsyncFunctionDef


def _index(node: ast.expr) -> ast.expr:
    """A subscript as an expression that can be passed on: slices become calls of slice()."""
    if isinstance(node, ast.Slice):
        bounds = [b if b is not None else ast.Constant(None) for b in (node.lower, node.upper, node.step)]
        return _helper("slice", *bounds, at=node)
    if isinstance(node, ast.Tuple):
        node.elts = [_index(e) for e in node.elts]
        node.ctx = ast.Load()
    return node


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
        body = _Rewriter(source).visit(node) if rewrite else node
        statement: ast.stmt = ast.Assign([ast.Name(name, ast.Store())], body)
    else:
        node.decorator_list = []
        node.returns = None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        statement = _Rewriter(source).visit(node) if rewrite else node
        statement.name = name
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
    wanted = "<lambda>" if isinstance(node, ast.Lambda) else name
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
        from ..runtime.helpers import HELPERS
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


def rewritten_text(function: Any) -> str:
    """The text that the recorded path runs for a function."""
    source = get_source(function)
    node = copy.deepcopy(source.node)
    return ast.unparse(ast.fix_missing_locations(_Rewriter(source).visit(node)))
