"""A leading axis for everything that varies: many cotangents, or many items, in one run.

Afterwards a number that varies is an array of rank 1 and an array has one axis more, in front; loops and what does not
vary stay as they are. Functions have rules (`transad.rules.batching`); one without is called lane by lane, and listed
in `Batched.looped`. A branch or a loop that is decided by what varies is refused (`NotTyped`).

>>> from transad.kinds import Array, Scalar
>>> from transad.quote import expr, name
>>> block = [Let("t", expr("dot_(W, d)", dot_=name("np.dot"))), Let("s", expr("sum_(t) * d[0]", sum_=name("np.sum")))]
>>> print(batched(block, [name("s")], {"W": 2, "d": 1}, {"d"}, "lanes", Names()).shown())
t = np.dot(d, W.T)
s = np.sum(t, axis=1) * d[:, 0]
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block, Do, Exit, For, If, Let, Move, Statement, Store, While, dump, expressions
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import view_of
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, call, constant, expr, index, mapped, name, names_in, rebuilt, show, slice_, tuple_
from transad.rules.batching import FILLED, RULES, Part, stretched

__all__ = ["Batched", "batched"]


@dataclass
class Batched:
    """The block, its results (each with the leading axis), the names that vary, and the functions called lane by lane."""

    block: Block
    results: list[Node]
    varying: set[str]
    ranks: dict[str, int]
    looped: list[str] = field(default_factory=list)

    def shown(self) -> str:
        return dump(self.block)


def batched(block: Block, results: list[Node], ranks: dict[str, int], varying: set[str], lanes: str, names: Names,
            hints: dict[str, int] | None = None) -> Batched:
    """`block` for `lanes` (the name of their number) values of each name in `varying`; `ranks`: of the names it reads,
    `hints`: of names that it assigns."""
    varying = set(varying)
    while True:
        work = _Batch(dict(ranks), set(varying), lanes, names, hints or {})
        out = work.block(block)
        ends = [work.repeated(work.value(e)) for e in results]
        if work.varying == varying:
            return Batched(out, ends, varying, work.ranks, list(dict.fromkeys(work.looped)))
        varying = work.varying


class _Batch:
    def __init__(self, ranks: dict[str, int], varying: set[str], lanes: str, names: Names, hints: dict[str, int]) -> None:
        self.hints = hints
        self.ranks, self.varying, self.lanes, self.names = ranks, varying, lanes, names
        self.looped: list[str] = []
        self.guards: list[Node] = []

    # -- statements ------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> Block:
        out: Block = []
        for s in block:
            for x in self.statement(s):
                x.line, x.source = s.line, s.source
                out.append(x)
        return out

    def statement(self, s: Statement) -> Block:
        if isinstance(s, Let):
            return [self.let(s)]
        if isinstance(s, Store):
            return self.store(s)
        if isinstance(s, For):
            self.ranks[s.var] = 0
            return [For(s.var, self.same(s.start), self.same(s.stop), s.step, self.block(s.body))]
        if isinstance(s, While):
            return [While(self.same(s.test), self.block(s.body))]
        if isinstance(s, If):
            return self.branch(s)
        if isinstance(s, Move):
            for a, b in zip(s.targets, s.sources, strict=True):
                self.ranks[a] = self.ranks[b]
                self.together(a, b)
            return [s]
        if isinstance(s, Do):
            return self.do(s)
        assert isinstance(s, Exit)
        if any(n in self.varying for e in expressions(s) for n in names_in(e)):
            raise NotTyped("an exception that depends on what varies")
        return [s]

    def branch(self, s: If) -> Block:
        test = self.value(s.test)
        if not test.varies:
            same: Block = [If(test.node, self.block(s.then), self.block(s.orelse))]
            return same
        t = s.test
        if s.orelse or not (isinstance(t, gast.Compare) and isinstance(t.ops[0], gast.NotEq) and isinstance(
                t.comparators[0], gast.Constant) and t.comparators[0].value == 0):
            raise NotTyped(f"the branch `{show(t)}` is decided by what varies")
        self.guards.append(test.node)           # a zero cotangent wins over an infinite slope
        out: Block = self.block(s.then)
        self.guards.pop()
        return out

    def guarded(self, value: Part) -> Part:
        """What is added where a guard holds, else zero."""
        for g in self.guards:
            if value.rank:
                raise NotTyped("an array under a guard that varies")
            value = Part(call("np.where", g, value.node, constant(0.0)), True, 0)
        return value

    def do(self, s: Do) -> Block:
        e = s.value
        if isinstance(e, gast.Call) and show(e.func) == "scatter_add":
            target, place, g = (self.value(a) for a in e.args)
            if place.varies or self.guards:
                raise NotTyped("entries of an array are chosen by what varies")
            if g.varies and not target.varies:
                self.vary(e.args[0].id)
            if target.varies:
                return [Do(call("scatter_add_lanes", target.node, place.node, self.repeated(g)))]
            return [s]
        if isinstance(e, gast.Name | gast.Constant | gast.Tuple):
            return []
        if any(n in self.varying for n in names_in(e)):
            raise NotTyped(f"`{show(e)}` is called for its effect on what varies")
        return [s]

    def let(self, s: Let) -> Statement:
        made = self.made(s)
        value = made or self.value(s.value)
        if value.rank is None and s.name in self.hints:
            value.rank = self.hints[s.name]
        if value.rank is None:
            raise NotTyped(f"the rank of {s.name} is not known")
        if self.ranks.setdefault(s.name, value.rank) != value.rank:
            raise NotTyped(f"{s.name} has several ranks")
        source = view_of(s.value)
        if source is not None and value.rank:
            self.together(s.name, source)
        if self.guards and not isinstance(s.value, gast.Subscript | gast.Name):
            left = s.value
            if not (isinstance(left, gast.BinOp) and isinstance(left.op, gast.Add | gast.Sub) and isinstance(left.left, gast.Name)
                    and left.left.id == s.name):
                raise NotTyped("a value is set under a guard that varies")
            added = self.guarded(self.value(left.right))
            self.vary(s.name)
            return Let(s.name, rebuilt(left, {"right": added.node}))
        if value.varies:
            self.vary(s.name)
            if isinstance(s.value, gast.Subscript) and not value.rank:      # a number is no view
                value = Part(expr("a.copy()", a=value.node), True, 0)
        return Let(s.name, self.repeated(value) if s.name in self.varying else value.node)

    def made(self, s: Let) -> Part | None:
        """A new array, which has the leading axis where it varies."""
        e = s.value
        label = show(e.func) if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) else ""
        if label not in FILLED or s.name not in self.varying:
            return None
        if label.endswith("_like"):
            like = self.value(e.args[0])
            if like.varies:
                return Part(rebuilt(e, {"args": [like.node]}), True, like.rank)
            shape = expr("(n, *a.shape)", n=name(self.lanes), a=like.node)
            return Part(call(label.removesuffix("_like"), shape, expr("a.dtype", a=like.node)), True, like.rank)
        dims = list(e.args[0].elts) if isinstance(e.args[0], gast.Tuple) else [e.args[0]]
        new = tuple_([name(self.lanes), *(self.same(d) for d in dims)])
        return Part(rebuilt(e, {"args": [new, *e.args[1:]]}), True, len(dims))

    def store(self, s: Store) -> Block:
        value = self.value(s.value)
        if s.op in ("+", "-"):
            value = self.guarded(value)
        elif self.guards:
            raise NotTyped("a store under a guard that varies")
        items = [self.value(i) for i in s.index if not isinstance(i, gast.Slice)]
        if value.varies:
            self.vary(s.array)
        if any(i.varies for i in items):
            return self.scattered(s, items, value)
        if s.array not in self.varying:
            return [Store(s.array, [self.index_item(i) for i in s.index], value.node, s.op)]
        rank = self.ranks[s.array] - sum(not isinstance(i, gast.Slice) for i in s.index) + 2 * sum(
            isinstance(i, gast.Constant) and i.value is None for i in s.index)
        node = value.node
        if value.varies and value.rank is not None:
            node = stretched(value, rank)
        place = [slice_(None, None), *(self.index_item(i) for i in s.index)] if s.index else []
        return [Store(s.array, place, node, s.op)]

    def scattered(self, s: Store, items: list[Part], value: Part) -> Block:
        """`a[i] op= v` where `i` varies: a place of its own in each lane."""
        if len(items) < len(s.index) or any(i.rank or (isinstance(x, gast.Constant) and x.value is None)
                                            for i, x in zip(items, s.index, strict=True)):
            raise NotTyped("a part of an array that depends on what varies")
        self.vary(s.array)
        node = stretched(value, self.ranks[s.array] - len(items)) if value.varies and value.rank is not None else value.node
        return [Store(s.array, [call("np.arange", name(self.lanes)), *(i.node for i in items)], node, s.op)]

    # -- what varies -----------------------------------------------------------------------------------------------
    def vary(self, v: str) -> None:
        self.varying.add(v)

    def together(self, a: str, b: str) -> None:
        """Two names of one memory vary together."""
        if a in self.varying or b in self.varying:
            self.varying |= {a, b}

    def repeated(self, value: Part) -> Node:
        """A value with the leading axis, also where it does not vary."""
        if value.varies:
            return value.node
        if value.rank == 0:
            return call("np.full", name(self.lanes), value.node)
        return call("repeated", value.node, name(self.lanes))

    def same(self, e: Node) -> Node:
        value = self.value(e)
        if value.varies:
            raise NotTyped(f"`{show(e)}` varies")
        return value.node

    # -- expressions -----------------------------------------------------------------------------------------------
    def value(self, e: Node) -> Part:
        """An expression with the leading axis where it varies."""
        if isinstance(e, gast.Constant):
            return Part(e, False, 0)
        if isinstance(e, gast.Name):
            if "." in e.id and e.id not in self.ranks:
                return Part(e, False, 0)            # a dtype
            if e.id not in self.ranks:
                raise NotTyped(f"the rank of {e.id} is not known")
            return Part(e, e.id in self.varying, self.ranks[e.id])
        if isinstance(e, gast.BinOp):
            return self.elementwise(e, ["left", "right"], [e.left, e.right])
        if isinstance(e, gast.UnaryOp):
            return self.elementwise(e, ["operand"], [e.operand]) if not isinstance(e.op, gast.Not) else self.unchanged(e)
        if isinstance(e, gast.Compare) and len(e.ops) == 1:
            return self.elementwise(e, ["left", "comparators"], [e.left, e.comparators[0]])
        if isinstance(e, gast.Subscript):
            return self.part(e)
        if isinstance(e, gast.Attribute):
            return self.attribute(e)
        if isinstance(e, gast.Call):
            return self.call(e)
        return self.unchanged(e)

    def unchanged(self, e: Node) -> Part:
        """An expression of numbers that may not vary."""
        if any(n in self.varying for n in names_in(e)):
            raise NotTyped(f"`{show(e)}` is decided by what varies")
        return Part(mapped(e, lambda x: self.same(x) if isinstance(x, gast.expr) else x), False, 0)

    def elementwise(self, e: Node, fields: list[str], operands: list[Node]) -> Part:
        parts = [self.value(x) for x in operands]
        if any(p.rank is None for p in parts):
            raise NotTyped(f"the rank of a part of `{show(e)}` is not known")
        rank = max(p.rank or 0 for p in parts)
        changed: dict[str, Any] = {}
        for f, p in zip(fields, parts, strict=True):
            node = stretched(p, rank) if p.varies else p.node
            changed[f] = node if f not in ("args", "comparators") else [*changed.get(f, []), node]
        return Part(rebuilt(e, changed), any(p.varies for p in parts), rank)

    def attribute(self, e: Node) -> Part:
        a = self.value(e.value)
        if e.attr == "size":
            size = rebuilt(e, {"value": a.node})
            return Part(expr("s // n", s=size, n=name(self.lanes)) if a.varies else size, False, 0)
        if e.attr != "T":
            raise NotTyped(f"the attribute {e.attr}")
        if not a.varies:
            return Part(rebuilt(e, {"value": a.node}), False, a.rank)
        rank = a.rank or 0
        if rank < 2:
            return a
        axes = tuple_([constant(0), *(constant(k) for k in range(rank, 0, -1))])
        return Part(call("np.transpose", a.node, axes), True, rank)

    def index_item(self, i: Node) -> Node:
        if isinstance(i, gast.Slice):
            return mapped(i, self.same)
        return i if isinstance(i, gast.Constant) else self.same(i)

    def part(self, e: Node) -> Part:
        if isinstance(e.value, gast.Attribute) and e.value.attr == "shape":
            a = self.value(e.value.value)
            k = e.slice.value + 1 if a.varies else e.slice.value
            return Part(expr(f"a.shape[{k}]", a=a.node), False, 0)
        a = self.value(e.value)
        items = list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]
        none = sum(isinstance(i, gast.Constant) and i.value is None for i in items)
        rank = (a.rank or 0) - sum(not isinstance(i, gast.Slice) for i in items) + 2 * none
        chosen = [k for k, i in enumerate(items) if not isinstance(i, gast.Slice | gast.Constant) and self.value(i).varies]
        if chosen:
            if any(isinstance(i, gast.Slice | gast.Constant) for i in items[:chosen[0]]) or none:
                raise NotTyped("a part of an array that is chosen by what varies")
            new = [self.value(i).node if k in chosen else self.index_item(i) for k, i in enumerate(items)]
            first = [call("np.arange", name(self.lanes))] if a.varies else []
            return Part(index(a.node, [*first, *new]), True, rank)
        new = [self.index_item(i) for i in items]
        return Part(index(a.node, [slice_(None, None), *new] if a.varies else new), a.varies, rank)

    def call(self, e: Node) -> Part:
        if isinstance(e.func, gast.Attribute) and show(e.func).partition(".")[0] not in ("np", "math"):
            a = self.value(e.func.value)
            if e.func.attr not in ("copy", "astype"):
                raise NotTyped(f"the method {e.func.attr}")
            return Part(rebuilt(e, {"func": rebuilt(e.func, {"value": a.node})}), a.varies, a.rank)
        label = show(e.func)
        if label == "len":
            a = self.value(e.args[0])
            return Part(expr("a.shape[1]", a=a.node) if a.varies else rebuilt(e, {"args": [a.node]}), False, 0)
        rule = RULES.get(label)
        if rule is not None:
            return rule(self, e)
        return self.each(e)

    def each(self, e: Node) -> Part:
        """A function without a rule: lane by lane."""
        label = show(e.func)
        args = [self.value(a) if not isinstance(a, gast.Tuple | gast.List) else self.unchanged_list(a) for a in e.args]
        words = {k.arg: self.value(k.value) for k in e.keywords}
        if not any(p.varies for p in [*args, *words.values()]):
            new = [rebuilt(k, {"value": words[k.arg].node}) for k in e.keywords]
            return Part(rebuilt(e, {"args": [p.node for p in args], "keywords": new}), False, self.rank_of(e))
        self.looped.append(label)
        flags = tuple_([constant(p.varies) for p in [*args, *words.values()]])
        labels = tuple_([constant(w) for w in words])
        return Part(call("each_lane", e.func if "." not in label else expr(label), flags, labels, *(p.node for p in args),
                         *(p.node for p in words.values())), True, self.rank_of(e))

    def unchanged_list(self, e: Node) -> Part:
        return Part(rebuilt(e, {"elts": [self.same(x) for x in e.elts]}), False, 1)

    def rank_of(self, e: Node) -> int | None:
        """The rank of what a function without a rule gives, where its name says it."""
        label = show(e.func)
        if label.startswith("replayed_"):
            return int(label[-1])
        if label.startswith("math.") or label in _NUMBERS:
            return 0
        if label in FILLED and not label.endswith("_like"):
            return len(e.args[0].elts) if isinstance(e.args[0], gast.Tuple) else 1
        return self.value(e.args[0]).rank if label in FILLED or label == "share_of_extreme" else _RANKS.get(label)


_NUMBERS = frozenset("share_of_larger share_of_sum quotient digamma float int round bool abs min max det_of log_det sign_of_det "
                     "np.int64 np.float64 np.linalg.det ramp".split())
_RANKS = {"np.arange": 1, "np.linspace": 1, "np.eye": 2, "np.linalg.inv": 2, "np.linalg.cholesky": 2, "np.linalg.eigvalsh": 1,
          "inverse_adjoint": 2, "cholesky_adjoint": 2, "eigvalsh_adjoint": 2, "cofactors": 2}
