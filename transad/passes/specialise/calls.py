"""Calls: user functions are inlined, classes of plain data are taken apart, library functions are looked up."""
from __future__ import annotations

import dataclasses
import functools
import math
import types
from typing import Any

import numpy as np

from transad.nodes import gast
from transad.passes.specialise import numpy_table
from transad.passes.specialise.builtin_calls import BUILTINS
from transad.passes.specialise.derivatives import Gradient
from transad.passes.specialise.values import (
    Closure,
    Frame,
    Home,
    Iter,
    Lst,
    Marked,
    Method,
    NotTyped,
    Obj,
    Part,
    Partial,
    Record,
    Table,
    Tup,
    Val,
    is_array,
    is_scalar,
)
from transad.passes.specialise.vectorised import Vectorised
from transad.quote import Node
from transad.rules.registry import find
from transad.source import get_source
from transad.verbs import fwddiff

_DEEPEST = 40


class Calls(Part):
    """The part of the specialiser that handles calls."""

    def eval_Call(self, node: Node, hint: str = "") -> Any:
        if any(word.arg is None for word in node.keywords):
            raise NotTyped("** in a call", node)
        plain = [a.value if isinstance(a, gast.Starred) else a for a in node.args]
        function, *values = self.eval_all([node.func, *plain, *(w.value for w in node.keywords)])
        if isinstance(function, Obj) and function.value is zip and isinstance(values[0] if values else None, Iter | Table) and (
                len(values) == 1 and isinstance(node.args[0], gast.Starred)):
            return self.transposed(values[0], node)
        args = self.spread(node.args, values[:len(plain)])
        keywords = {w.arg: v for w, v in zip(node.keywords, values[len(plain):], strict=True)}
        return self.call_value(function, args, keywords, node, hint)

    def call_value(self, function: Any, args: list[Any], keywords: dict[str, Any], node: Node,
                   hint: str = "") -> Any:
        if isinstance(function, Closure):
            return self.inline(function, args, keywords, node)
        if isinstance(function, Method):
            return self.call_method(function, args, keywords, node)
        if isinstance(function, Partial):
            return self.call_value(function.function, [*function.args, *args], function.keywords | keywords, node, hint)
        if isinstance(function, Marked):
            return self.call_marked(function, args, keywords, node)
        if isinstance(function, Gradient):
            return self.call_derivative(function, args, keywords, node)
        if isinstance(function, Vectorised):
            return self.call_vectorised(function, args, keywords, node)
        if isinstance(function, Record):
            method = vars(function.cls).get("__call__")
            if isinstance(method, types.FunctionType):
                return self.call_value(Obj(method), [function, *args], keywords, node)
        if not isinstance(function, Obj):
            raise NotTyped("this value is called", node)
        return self.call_object(function.value, args, keywords, node, hint)

    def call_object(self, f: Any, args: list[Any], keywords: dict[str, Any], node: Node,
                    hint: str) -> Any:
        if isinstance(f, functools.partial):
            fixed = [self.lift(a, "fixed", node) for a in f.args]
            words = {k: self.lift(v, k, node) for k, v in f.keywords.items()} | keywords
            return self.call_object(f.func, [*fixed, *args], words, node, hint)
        handler = BUILTINS.get(_key(f))
        if handler is None and getattr(f, "__name__", "") == "prange" and str(f.__module__).startswith("numba"):
            handler = BUILTINS[range]
        if handler is not None:
            return handler(self, args, keywords, node)
        known = numpy_table.NAMES.get(_key(f))
        joined = self.join_rows(f, args, keywords, node) if args and isinstance(args[0], Lst) else None
        if joined is not None:
            return joined
        if known is not None:
            return self.call_known(f, known, args, keywords, node)
        if type(f).__name__ == "CPUDispatcher" and hasattr(f, "py_func"):
            return self.call_object(f.py_func, args, keywords, node, hint)
        if type(f).__name__ == "DUFunc" and all(is_scalar(a) for a in args):
            return self.call_object(f._dispatcher.py_func, args, keywords, node, hint)
        marked = self.marked_object(f)
        if marked is not None:
            return self.call_marked(marked, args, keywords, node)
        if f is fwddiff:
            return self.mark(args, keywords, node)
        if getattr(f, "__module__", None) == "transad.api" and getattr(f, "__name__", "") in ("grad", "value_and_grad"):
            return self.derivative(f, args, keywords, node)
        if hasattr(f, "_verb"):
            return self.call_derivative(self.derivative_object(f, node), args, keywords, node)
        if f is np.vectorize:
            return self.vectorise(args, keywords, node)
        if isinstance(f, np.vectorize):
            return self.call_vectorised(self.vectorised_object(f, node), args, keywords, node)
        wrapped = getattr(f, "__transad_function__", None)
        if isinstance(wrapped, types.FunctionType):
            return self.call_object(wrapped, args, keywords, node, hint)
        if isinstance(f, type):
            return self.construct(f, args, keywords, node)
        ruled = self.call_ruled(f, args, keywords, node)
        if ruled is not None:
            return ruled
        if isinstance(f, types.FunctionType):
            return self.inline_function(f, args, keywords, node)
        raise NotTyped(f"{getattr(f, '__name__', f)} has no typed rule", node)

    def inline_function(self, f: types.FunctionType, args: list[Any], keywords: dict[str, Any],
                        node: Node) -> Any:
        top = (f.__module__ or "").split(".")[0]
        if (top in ("numpy", "scipy", "transad", "numba") and not self.is_library(f)) or find(f) is not None:
            raise NotTyped(f"{f.__module__}.{f.__name__} has no typed rule", node)
        return self.inline_source(f, args, keywords, node)

    def inline_source(self, f: types.FunctionType, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        source = self.sources.get(f.__code__)
        if source is None:
            source = self.sources[f.__code__] = get_source(f)
            self.lines[source.filename] = source.lines
        outer = Frame("captured", f.__globals__)
        for label, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            self.dependencies.append((cell, "cell_contents", content))
            outer.vars[label] = self.lift(content, label, node)
        self.frames.append(outer)
        defaults = self.run_time_defaults(f, node)
        closure = Closure(source.tree, outer, defaults, f.__name__, key=f.__code__)
        return self.inline(closure, args, keywords, node, source.filename)

    def run_time_defaults(self, f: types.FunctionType, node: Node) -> dict[str, Any]:
        code = f.__code__
        positional = code.co_varnames[:code.co_argcount]
        values = dict(zip(positional[len(positional) - len(f.__defaults__ or ()):], f.__defaults__ or (), strict=True))
        return {k: self.lift(v, k, node) for k, v in {**values, **(f.__kwdefaults__ or {})}.items()}

    def defaults(self, arguments: Node) -> dict[str, Any]:
        """The defaults of a nested function, evaluated where it is defined."""
        plain = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(plain[len(plain) - len(arguments.defaults):], arguments.defaults, strict=True))
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        return {a.id: self.parameter(self.eval(d), a.id, keeps=True) for a, d in pairs}

    def inline(self, f: Closure, args: list[Any], keywords: dict[str, Any], node: Node,
               filename: str = "") -> Any:
        """The result of a call, its body emitted in place."""
        if f.key in self.calls:
            return self.call_recursive(f, args, keywords, node)
        if len(self.calls) > _DEEPEST:
            raise NotTyped("calls are nested too deeply", node)
        frame = Frame(f.name, f.frame.globals, f.frame, inlined=True, filename=filename or f.frame.filename)
        keeps = self.rebinds or _keeps_its_variables(f.node)
        for label, value in self.bound(f, args, keywords, node).items():
            frame.vars[label] = self.parameter(value, label, keeps)
        caller, line, source = self.frame, self.line, self.source
        self.frame = frame
        self.frames.append(frame)
        self.calls.append(f.key)
        try:
            result = self.run_function(f.node, frame)
        except NotTyped as problem:
            problem.filename = problem.filename or frame.filename
            problem.line = problem.line or self.line
            raise
        self.calls.pop()
        self.frame, self.line, self.source = caller, line, source
        return result

    def parameter(self, value: Any, label: str, keeps: bool = False) -> Any:
        """An argument as the variable of a function. `keeps`: the variable may be read after the caller has assigned
        the name that it was given, so it needs one of its own."""
        if isinstance(value, Val):
            return self.let(label, value) if keeps and not isinstance(value.expr, gast.Constant) else self.atom(value, label)
        if isinstance(value, Tup):
            return Tup([self.parameter(v, f"{label}_{k}", keeps) for k, v in enumerate(self.retained(value).items)],
                       value.cls)
        if isinstance(value, Iter) and not keeps:
            value.loop = value.loop or self.loops[-1]
        return self.retained(value)

    def bound(self, f: Closure, args: list[Any], keywords: dict[str, Any], node: Node) -> dict[str, Any]:
        """The arguments by parameter name, as Python binds them."""
        a = f.node.args
        plain = [x.id for x in [*a.posonlyargs, *a.args]]
        values = dict(zip(plain, args, strict=False))
        rest = args[len(plain):]
        if rest and not a.vararg:
            raise NotTyped(f"too many arguments for {f.name}", node)
        if a.vararg:
            values[a.vararg.id] = Tup(rest)
        known = {*plain, *(x.id for x in a.kwonlyargs)}
        for label, value in keywords.items():
            if label not in known or label in values:
                raise NotTyped(f"the keyword argument {label} of {f.name}", node)
            values[label] = value
        if a.kwarg:
            raise NotTyped("**kwargs", node)
        for label in [*plain, *(x.id for x in a.kwonlyargs)]:
            if label not in values:
                if label not in f.defaults:
                    raise NotTyped(f"{f.name} misses the argument {label}", node)
                values[label] = f.defaults[label]
        return values

    def construct(self, cls: Any, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        fields: Any = getattr(cls, "_fields", None)
        if issubclass(cls, tuple) and fields is not None:
            values = dict(zip(fields, args, strict=False)) | keywords
            for label, default in getattr(cls, "_field_defaults", {}).items():
                values.setdefault(label, self.lift(default, label, node))
            if set(values) != set(fields):
                raise NotTyped(f"wrong arguments for {cls.__name__}", node)
            return Tup([values[k] for k in fields], cls)
        if dataclasses.is_dataclass(cls) and not hasattr(cls, "__post_init__"):
            values = dict(zip([x.name for x in dataclasses.fields(cls)], args, strict=False)) | keywords
            for x in dataclasses.fields(cls):
                if x.name not in values:
                    if x.default is dataclasses.MISSING:
                        raise NotTyped(f"{cls.__name__} misses {x.name}", node)
                    values[x.name] = self.lift(x.default, x.name, node)
            return Record(cls, {k: self.parameter(v, k) for k, v in values.items()}, Home(self.buffer))
        raise NotTyped(f"objects of the class {cls.__name__} are made here", node)

    def call_method(self, m: Method, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        owner = m.owner
        if isinstance(owner, Record):
            function = getattr(owner.cls, m.name, None)
            if isinstance(function, types.FunctionType):
                return self.call_value(Obj(function), [owner, *args], keywords, node)
        if isinstance(owner, Tup) and m.name == "_replace" and hasattr(owner.cls, "_fields"):
            values = dict(zip(owner.cls._fields, owner.items, strict=True)) | keywords
            return Tup([values[k] for k in owner.cls._fields], owner.cls)
        if is_array(owner):
            return self.array_method(owner, m.name, args, keywords, node)
        if is_scalar(owner) and m.name in ("item", "copy", "conjugate") and owner.kind.real:
            return owner
        what = getattr(getattr(owner, "value", owner), "__name__", type(getattr(owner, "value", owner)).__name__)
        raise NotTyped(f"the method {m.name} of {what}", node)


def _keeps_its_variables(tree: Any) -> bool:
    """Whether a function makes functions that may outlive its call, or assigns variables of the function around it."""
    return any(n is not tree and isinstance(n, gast.FunctionDef | gast.Lambda | gast.Nonlocal) for n in gast.walk(tree))


def _key(f: Any) -> Any:
    try:
        hash(f)
    except TypeError:
        return id(f)
    return f


__all__ = ["Calls", "Iter", "Lst", "gast", "math", "np"]
