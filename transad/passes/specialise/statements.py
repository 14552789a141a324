"""Statements: assignment, stores, branches and the rest of a function body."""
from __future__ import annotations

import builtins
import importlib
from typing import Any

from transad import ir
from transad.kinds import Array, Scalar
from transad.nodes import gast
from transad.passes.lower_exits import lower_exits
from transad.passes.lower_match import lower_match
from transad.passes.specialise.unset import Unset, flag_of, own_names
from transad.passes.specialise.unsure import unsure_names
from transad.passes.specialise.values import UNKNOWN, Closure, Frame, Lst, NotTyped, Obj, Record, Tup, Val, is_array
from transad.quote import Node, call, constant, expr, name, names_in, show

_OPERATORS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
              "MatMult": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>"}


class Statements(Unset):
    """The part of the specialiser that walks statements."""

    def run_function(self, tree: Node, frame: Frame) -> Any:
        """The abstract result of a function body in `frame` (already current)."""
        if isinstance(tree, gast.Lambda):
            return self.eval(tree.body)
        key = id(tree)
        if key not in self.lowered:
            plain = lower_match(tree, self.names)
            if not frame.inlined:
                self.rebinds = any(isinstance(n, gast.Nonlocal) for n in gast.walk(plain))
                self.own = {n.id for n in gast.walk(plain) if isinstance(n, gast.Name)
                            and not isinstance(n.ctx, gast.Load)} - set(self.kinds) - self.names.taken
                self.names.taken |= self.own
            own = own_names(plain)
            self.lowered[key] = (tree, lower_exits(plain, self.names), own, unsure_names(plain, own))
        frame.own = self.lowered[key][2]
        self.begin(frame, self.lowered[key][3])
        body = self.lowered[key][1].body
        self.run(body[:-1])
        if not isinstance(body[-1], gast.Return):
            raise NotTyped("the function does not return on every path", tree)
        self.at(body[-1])
        if isinstance(body[-1].value, gast.Name) and type(frame.vars.get(body[-1].value.id)).__name__ == "_Conflict":
            raise NotTyped("the function returns different kinds of things (or nothing) on different paths", tree)
        return self.eval(body[-1].value)

    def at(self, node: Node) -> None:
        """Remember the user's line for what is emitted next."""
        line = getattr(node, "lineno", None)
        if line:
            self.line = line
            lines = self.lines.get(self.frame.filename, [])
            end = getattr(node, "end_lineno", line) or line
            compound = isinstance(node, gast.For | gast.While | gast.If | gast.FunctionDef)
            text = " ".join(x.strip() for x in lines[line - 1:line if compound else end])
            self.source = text.split("  #")[0].strip() if len(text) < 100 else text[:97].strip() + "..."

    def run(self, stmts: list[Node]) -> None:
        for s in stmts:
            self.at(s)
            method = getattr(self, f"run_{type(s).__name__}", None)
            if method is None:
                raise NotTyped(f"{type(s).__name__.lower()} statements are not typed", s)
            method(s)

    def run_Pass(self, s: Node) -> None:
        pass

    def run_Expr(self, s: Node) -> None:
        if isinstance(s.value, gast.Constant):
            return
        value = self.eval(s.value)
        if isinstance(value, Val) and isinstance(s.value, gast.Call):
            self.emit(ir.Do(value.expr))

    def run_Assign(self, s: Node) -> None:
        hint = s.targets[0].id if len(s.targets) == 1 and isinstance(s.targets[0], gast.Name) else ""
        if len(s.targets) == 1 and isinstance(s.targets[0], gast.Tuple) and self.moved(s.targets[0], s.value):
            return
        value = self.eval(s.value, hint)
        if len(s.targets) > 1 and not isinstance(s.targets[0], gast.Name):
            value = self.settled_before(value, s.targets)
        for target in s.targets:
            value = self.bind(target, value)

    def run_AnnAssign(self, s: Node) -> None:
        if s.value is not None:
            self.bind(s.target, self.eval(s.value))

    def moved(self, target: Node, value: Node) -> bool:
        """`u, v = v, u` over plain variables of settled kinds becomes one Move."""
        if not isinstance(value, gast.Tuple) or not all(isinstance(t, gast.Name) for t in [*target.elts, *value.elts]):
            return False
        targets, sources = [t.id for t in target.elts], [v.id for v in value.elts]
        if len(set(targets)) != len(targets) or len(targets) != len(sources) or not set(targets) & set(sources):
            return False
        values = [self.lookup(n, value) for n in sources]
        if not all(isinstance(v, Val) and isinstance(v.expr, gast.Name) for v in values):
            return False
        if any(t in self.frame.outer_names or flag_of(t) in self.frame.vars for t in targets):
            return False
        slots = [self.residual(self.frame, t, v.kind) for t, v in zip(targets, values, strict=True)]
        pairs = [(t, show(v.expr)) for t, v in zip(slots, values, strict=True) if t != show(v.expr)]
        self.emit(ir.Move([t for t, _ in pairs], [x for _, x in pairs]))
        for t, slot, v in zip(targets, slots, values, strict=True):
            self.frame.vars[t] = Val(name(slot), v.kind)
        return True

    def bind(self, target: Node, value: Any) -> Any:
        """Assign to a target; gives the value to bind to the next target of a chain."""
        if isinstance(target, gast.Name):
            frame = self.frame.outer_names.get(target.id, self.frame)
            if frame is None:
                raise NotTyped(f"the global {target.id} is assigned", target)
            bound = frame.vars[target.id] = self.assign(frame, target.id, value)
            self.mark_set(frame, target.id)
            return bound
        if isinstance(target, gast.Tuple | gast.List):
            self.unpack(target, value)
        elif isinstance(target, gast.Subscript):
            value, place = self.in_order([lambda: value, lambda: self.place(target)])
            self.store(place, value, "", target)
        elif isinstance(target, gast.Attribute):
            owner = self.eval(target.value)
            if not isinstance(owner, Record) or target.attr not in owner.fields:
                raise NotTyped(f"the attribute {target.attr} is assigned", target)
            # Followed by value: another name for the object would not see it, nor another path, nor the caller.
            if owner.home is None or owner.home.bound > 1 or owner.home.block is not self.buffer:
                raise NotTyped(f"the attribute {target.attr} is assigned of an object that has other names, or in a branch "
                               "or loop", target)
            path = show_path(target)
            owner.fields[target.attr] = self.assign(self.frame, path, value)
        else:
            raise NotTyped("this assignment target is not typed", target)
        return value

    def unpack(self, target: Node, value: Any) -> None:
        items = self.items_of(value, target)
        stars = [k for k, t in enumerate(target.elts) if isinstance(t, gast.Starred)]
        if stars:
            k, after = stars[0], len(target.elts) - stars[0] - 1
            if len(items) < len(target.elts) - 1:
                raise NotTyped("not enough values to unpack", target)
            middle = Tup(items[k:len(items) - after], list)
            items = [*items[:k], middle, *items[len(items) - after:]]
        if len(items) != len(target.elts):
            raise NotTyped("unpacking of a wrong number of values", target)
        first, *rest = items or [None]
        items = [first if isinstance(first, Val) else self.settled_before(first, [target]),
                 *(self.settled_before(v, [target]) for v in rest)][:len(items)]
        for t, v in zip(target.elts, items, strict=True):
            self.bind(t.value if isinstance(t, gast.Starred) else t, v)

    def settled_before(self, value: Any, targets: list[Node]) -> Any:
        """A value on the right, named first if it reads something that the targets on the left assign."""
        parts = [t for target in targets for t in gast.walk(target)]
        simple = {t.id for t in parts if isinstance(t, gast.Name) and not isinstance(t.ctx, gast.Load)}
        frames = [self.frame, *(f for n in simple if (f := self.frame.outer_names.get(n)) is not None)]
        slots = {s for f in frames for (p, *_), s in f.slots.items() if p in simple}
        if any(isinstance(t, gast.Attribute) for t in parts):
            slots |= set(self.kinds)
        return self.kept(value, slots, any(isinstance(t, gast.Subscript) for t in parts))

    def items_of(self, value: Any, node: Node) -> list[Any]:
        if isinstance(value, Tup):
            return value.items
        if isinstance(value, Lst) and value.depth == 1:
            value = value.array
        if is_array(value):
            count = len(node.elts) if isinstance(node, gast.Tuple | gast.List) else 0
            if not count or any(isinstance(t, gast.Starred) for t in node.elts):
                raise NotTyped("an array is unpacked into an unknown number of values", node)
            array = self.atom(value, "a")
            length = call("len", array.expr)
            self.emit(ir.If(expr("n != c", n=length, c=constant(count)),
                            [ir.Exit("raise", self.raised(ValueError, [constant("wrong number of values to unpack")]),
                                     line=self.line)], []))
            return [self.load(array, [Val(constant(k), Scalar("int64"), k)], node) for k in range(count)]
        raise NotTyped("this value cannot be unpacked", node)

    def place(self, target: Node) -> list[Any]:
        """The array and the index of a subscript that is assigned, evaluated once, in Python's order."""
        owner = self.eval(target.value)
        if not is_array(owner):
            listed = isinstance(owner, Tup) and owner.cls is list
            raise NotTyped("a list is changed in place" if listed else "only elements of arrays are assigned here", target)

        def items() -> list[Any]:
            return [self.atom(v, "idx") if is_array(v) else v for v in self.index_items(target.slice, target)]
        return self.in_order([lambda: owner, items])

    def store(self, place: list[Any], value: Any, op: str, target: Node) -> None:
        if not isinstance(value, Val):
            value = self.as_array(value, target)
        if self.compiled and len(place[1]) > 1 and any(is_array(i) for i in place[1]):
            raise NotTyped("a store with several indices, arrays among them", target)
        array, index = self.storable(place[0], place[1], target)
        if not isinstance(value.kind, Scalar) or op:
            value = self.protected(array, value)
        if isinstance(value.kind, Scalar) and value.kind.dtype.startswith("complex") and not (
                array.kind.dtype.startswith("complex")):
            raise NotTyped("a complex value is stored into a real array", target)
        self.emit(ir.Store(show(array.expr), index, value.expr, op))

    def protected(self, array: Val, value: Val) -> Val:
        """The right side of an array store, evaluated first where it computes with parts of arrays: Numba reads and
        writes overlapping slices in turn. A plain copy of a part stays as it is."""
        if isinstance(value.kind, Array) and not isinstance(value.expr, gast.Name | gast.Subscript):
            if any(isinstance(n, gast.Subscript) for n in gast.walk(value.expr)):
                return self.let("t", value)
        return value

    def storable(self, owner: Val, items: list[Any], target: Node) -> tuple[Val, list[Node]]:
        assert isinstance(owner.kind, Array)
        index = self.without_ellipsis(items, owner.kind.ndim, target)
        if not index:
            raise NotTyped("a store into an array of no dimension", target)
        if isinstance(owner.expr, gast.Subscript) and all(self.is_int(i) for i in index):
            base, first = self.split_view(owner.expr)
            if base is not None and isinstance(owner.kind, Array):
                return Val(base, self.kinds[show(base)]), [*first, *(self.index_node(i) for i in index)]
        array = self.atom(owner, "row")
        return array, [self.index_node(i) for i in index]

    def run_AugAssign(self, s: Node) -> None:
        op = _OPERATORS[type(s.op).__name__]
        if isinstance(s.target, gast.Subscript):
            place, before = self.place(s.target), len(self.buffer)
            place, current, value = self.in_order(
                [lambda: place, lambda: self.load(*place, s), lambda: self.eval(s.value)])
            changes = any(isinstance(x, ir.Store) for x in ir.walk(self.buffer[before:]))
            gathered = any(isinstance(x, ir.Let) and "gather" in names_in(x.value) for x in self.buffer[before:])
            if op not in "+-*/" or changes or gathered:        # Python reads the target before it evaluates the right side
                self.store(place, self.binary(s.op, current, value, s), "", s.target)
            else:
                self.store(place, value, op, s.target)
            return
        if isinstance(s.target, gast.Attribute) and any(isinstance(n, gast.Call) for n in gast.walk(s.target)):
            raise NotTyped("an augmented assignment to an attribute of what a call returns", s)
        current, value = self.eval_all([s.target, s.value])
        if is_array(current):
            if op not in "+-*/" or not current.kind.ndim or not isinstance(current.expr, gast.Name) or not isinstance(
                    value, Val):
                raise NotTyped(f"{op}= on a whole array is not typed", s)
            if isinstance(value.kind, Array) and value.kind.ndim > current.kind.ndim:
                raise NotTyped("an augmented assignment that broadcasts its target", s)
            if show(self.eval(s.target).expr) != current.expr.id:
                raise NotTyped("an augmented assignment whose right side assigns its target", s)
            self.emit(ir.Store(current.expr.id, [], self.protected(current, value).expr, op))
            return
        if isinstance(current, Tup) and current.cls is list:
            raise NotTyped("a list is changed in place", s)
        self.bind(s.target, self.binary(s.op, current, value, s))

    def run_If(self, s: Node) -> None:
        test = self.truth(self.eval(s.test), s)
        if test.const is not UNKNOWN:
            self.run(s.body if test.const else s.orelse)
            return
        line, source = self.line, self.source
        self.branch(test, lambda: self.run(s.body), lambda: self.run(s.orelse))
        self.buffer[-1].line, self.buffer[-1].source = line, source

    def run_Assert(self, s: Node) -> None:
        test = self.truth(self.eval(s.test), s)
        if test.const is UNKNOWN:
            message = [constant(s.msg.value)] if isinstance(s.msg, gast.Constant) else []
            self.emit(ir.If(expr("not t", t=test.expr), [ir.Exit("raise", self.raised(AssertionError, message),
                                                                 line=self.line)], []))
        elif not test.const:
            raise NotTyped("an assertion that always fails", s)

    def run_Raise(self, s: Node) -> None:
        if s.exc is None:
            raise NotTyped("a bare raise", s)
        made = s.exc
        args: list[Node] = []
        if isinstance(made, gast.Call):
            args = [constant(a.value if isinstance(a, gast.Constant) else self.message(a, s)) for a in made.args]
            if made.keywords:
                raise NotTyped("an exception made with keywords", s)
            made = made.func
        cls = self.eval(made)
        if not (isinstance(cls, Obj) and isinstance(cls.value, type) and issubclass(cls.value, BaseException)):
            raise NotTyped("only exception classes can be raised", s)
        self.emit(ir.Exit("raise", self.raised(cls.value, args)))

    def message(self, text: Node, s: Node) -> str:
        """A computed message as compiled code can raise it: the text before the values are put in."""
        if self.recursive is None:          # not compiled: the message is put together on the recorded path
            raise NotTyped("an exception with a computed message", s)
        if isinstance(text, gast.JoinedStr):
            return "".join(v.value if isinstance(v, gast.Constant) else "{" + show(v.value) + "}" for v in text.values)
        for n in gast.walk(text):
            if isinstance(n, gast.Constant) and isinstance(n.value, str):
                return n.value
        return show(text)

    def raised(self, cls: type, args: list[Node]) -> Node:
        label = cls.__name__
        if getattr(builtins, label, None) is not cls:
            label = self.named_constant(cls, label)
        return call(label, *args)

    def named_constant(self, value: Any, wanted: str) -> str:
        """A name in the emitted module for an object of the user's program."""
        for known, held in self.constants.items():
            if held is value:
                return known
        fresh = self.names.fresh(wanted)
        self.constants[fresh] = value
        return fresh

    def run_FunctionDef(self, s: Node) -> None:
        made = Closure(s, self.frame, self.defaults(s.args), s.name, key=id(s))
        self.frame.vars[s.name] = self.decorated(made, s) if s.decorator_list else made
        self.mark_set(self.frame, s.name)

    def run_Import(self, s: Node) -> None:
        for alias in s.names:
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.split(".")[0])
            label = alias.asname or alias.name.split(".")[0]
            self.frame.vars[label] = Obj(module if alias.asname else top)
            self.mark_set(self.frame, label)

    def run_ImportFrom(self, s: Node) -> None:
        if s.level or not s.module:
            raise NotTyped("a relative import inside a function", s)
        module = importlib.import_module(s.module)
        for alias in s.names:
            self.frame.vars[alias.asname or alias.name] = self.lift(getattr(module, alias.name), alias.name, s)
            self.mark_set(self.frame, alias.asname or alias.name)

    def run_Nonlocal(self, s: Node) -> None:
        for n in s.names:
            frame = self.frame.parent
            while frame is not None and n not in frame.vars:
                frame = frame.parent
            if frame is None or frame.name == "captured":
                raise NotTyped(f"nonlocal {n} belongs to no function that is inlined here", s)
            self.frame.outer_names[n] = frame

    def run_Global(self, s: Node) -> None:
        raise NotTyped("global variables are assigned", s)

    def run_Delete(self, s: Node) -> None:
        for t in s.targets:
            if not isinstance(t, gast.Name):
                raise NotTyped("only variables can be deleted here", s)
            self.frame.vars.pop(t.id, None)
            self.mark_set(self.frame, t.id, False)

    def run_Break(self, s: Node) -> None:
        self.emit(ir.Exit("break"))

    def run_Continue(self, s: Node) -> None:
        self.emit(ir.Exit("continue"))

    def run_For(self, s: Node) -> None:
        self.loop(s, self.for_loop)

    def run_While(self, s: Node) -> None:
        self.loop(s, self.while_loop)

    def collect_results(self, value: Any, leaves: list[Val]) -> None:
        """The numbers and arrays of a result, in order."""
        if isinstance(value, Val):
            leaves.append(value)
        elif isinstance(value, Tup):
            for v in value.items:
                self.collect_results(v, leaves)
        elif isinstance(value, Record):
            for v in value.fields.values():
                self.collect_results(v, leaves)
        elif not isinstance(value, Obj):
            raise NotTyped(f"the result is a {type(value).__name__.lower()}")


def show_path(target: Node) -> str:
    """A variable name for an attribute: `self.a.b` -> `self_a_b`."""
    if isinstance(target, gast.Attribute):
        return f"{show_path(target.value)}_{target.attr}"
    return getattr(target, "id", "t")

