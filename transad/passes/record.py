"""Rewrite a function so that each of its operations goes through the recorded path's runtime.

    def f(x, w):                      def f(x, w):
        y = x * w[0]                      y = ta_mul(x, ta_getitem(w, 0))
        y += g(x)                →        y = ta_iadd(y, ta_call(g, x))
        w[1] = y                          ta_setitem(y, w, 1)
        return y                          return y

Control flow, containers, exceptions, generators, formatting, chained comparisons and boolean logic stay as written and run
natively. The new function shares the globals, closure cells and defaults of the old one and has its line numbers, so
tracebacks and debuggers show the user's text. Operands are evaluated once, in Python's order.
"""
from __future__ import annotations

import ast
import copy
import types
from typing import Any

from ..errors import Unsupported
from ..source import Source, get_source

__all__ = ["PREFIX", "Recorder", "rewritten_text"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
           ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
           ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_INPLACE = {kind: "i" + name.rstrip("_") for kind, name in _BINARY.items()}
_FRAME = {"super", "locals", "vars", "dir", "globals"}      # they look at the calling frame: left as written
PREFIX = "ta_"


def _helper(name: str, *args: ast.expr, at: ast.AST) -> ast.Call:
    node = ast.Call(ast.Name(PREFIX + name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(node, at))


class Recorder(ast.NodeTransformer):
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

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = _helper("contains", node.left, node.comparators[0], at=node)
            return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        name = _COMPARE.get(type(node.ops[0]))
        return node if name is None or len(node.ops) > 1 else _helper(name, node.left, node.comparators[0], at=node)

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
            item.context_expr = _helper("entered", self.visit(item.context_expr), at=item.context_expr)
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
        return [self.deleted(t, node) for t in node.targets]

    def deleted(self, target: ast.expr, at: ast.Delete) -> ast.stmt:
        """The statement that deletes one target."""
        if isinstance(target, ast.Subscript):
            place = self.visit(target.value), _index(self.visit(target.slice))
            new: ast.stmt = ast.Expr(_helper("delitem", *place, at=target))
        else:
            new = ast.Delete([target])
        return ast.fix_missing_locations(ast.copy_location(new, at))

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


def rewritten_text(function: Any) -> str:
    """The text that the recorded path runs for a function."""
    source = get_source(function)
    node = copy.deepcopy(source.node)
    return ast.unparse(ast.fix_missing_locations(Recorder(source).visit(node)))
