"""Forward over reverse: a pair of sweeps as one program, which forward mode can take in turn.

The two sweeps stand one after the other, with one for the cotangent of the result, and each name has a kind. What a
forward statement can express only on its own (an adjoint helper, a choice between two slopes) becomes a statement.
"""
from __future__ import annotations

from typing import Any

from transad.ir import Block, Do, For, If, Let, Move, Program, Statement, Store, While, expressions, walk
from transad.kinds import FLOAT, INT, Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.forward.array_calls import LINEAR_CALLS
from transad.passes.regions import Regions
from transad.passes.reverse import Pair
from transad.passes.reverse.scopes import Scope, Scopes
from transad.passes.reverse.values import Values
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, constant, expr, name, rebuilt


def joint(pair: Pair, names: Names) -> Program:
    """The program `arguments -> value, cotangents` of a pair with one result."""
    if len(pair.results) != 1:
        raise NotTyped("a result that is not one number")
    y = names.fresh("y")
    seeds: Block = [Let(d, constant(1.0)) for d in pair.seeds]
    body = [*pair.forward, Let(y, pair.results[0]), *seeds, *pair.reverse]
    if any(isinstance(n, gast.List | gast.ListComp) for s in walk(body) for e in expressions(s) for n in gast.walk(e)):
        raise NotTyped("a tape whose length is not known beforehand, in second order")
    program = Program(pair.name, list(pair.parameters), [], [name(y), *pair.cotangents], dict(pair.kinds),
                      pair.constants)
    program.body = Alone(program, names).block(body)
    return program


class Alone:
    """Gives kinds to the names of the sweeps, and calls that need it a statement of their own."""

    def __init__(self, program: Program, names: Names) -> None:
        self.program, self.names = program, names
        self.values = Values(program, Regions(), Scopes(Scope([])), Names())

    def kind(self, e: Node) -> Kind:
        f = getattr(e.func, "id", "") if isinstance(e, gast.Call) else ""
        if f in ("unbroadcast", "stretched"):
            return self.kind(e.args[1])
        if f == "summed":
            return FLOAT
        if f == "np.dot":
            kinds = [self.kind(a) for a in e.args]
            rank = sum(k.ndim for k in kinds if isinstance(k, Array)) - 2
            return Array(kinds[0].dtype, rank) if rank else Scalar(kinds[0].dtype)
        if f == "gather":
            raise NotTyped("a gather in second order")
        return self.values.kind(e)

    def block(self, block: Block) -> Block:
        out: Block = []
        for s in block:
            before: Block = []
            made = self.statement(s, before)
            out += [*before, made]
        return out

    def statement(self, s: Statement, before: Block) -> Statement:
        place = {"line": s.line, "source": s.source}
        if isinstance(s, Let):
            value = self.alone(s.value, before, top=True)
            if isinstance(value, gast.IfExp):
                value = self.chosen(value, before)
            if s.name not in self.program.kinds:
                self.program.kinds[s.name] = self.kind(value)
            return Let(s.name, value, **place)
        if isinstance(s, Store):
            return Store(s.array, [self.alone(i, before) for i in s.index], self.alone(s.value, before), s.op, **place)
        if isinstance(s, Move):
            for t, v in zip(s.targets, s.sources, strict=True):
                self.program.kinds.setdefault(t, self.program.kinds[v])
            return s
        if isinstance(s, If):
            test = self.alone(s.test, before)
            return If(test, self.block(s.then), self.block(s.orelse), **place)
        if isinstance(s, For):
            self.program.kinds.setdefault(s.var, INT)
            return For(s.var, s.start, s.stop, s.step, self.block(s.body), **place)
        if isinstance(s, While):
            return While(s.test, self.block(s.body), **place)
        if isinstance(s, Do) and not (isinstance(s.value, gast.Constant) or getattr(
                getattr(s.value, "func", None), "id", "") == "print"):
            raise NotTyped("an adjoint helper that writes into its argument")
        return s

    def alone(self, e: Node, before: Block, top: bool = False) -> Node:
        """The expression with what needs a statement of its own named before it."""
        changed: dict[str, Any] = {}
        for f in e._fields:
            v = getattr(e, f, None)
            if isinstance(v, gast.expr) and not (isinstance(e, gast.Call) and f == "func" and isinstance(v, gast.Name)):
                new = self.alone(v, before)
                if new is not v:
                    changed[f] = new
            elif isinstance(v, list):
                items = [self.alone(x, before) if isinstance(x, gast.expr) else x for x in v]
                if any(a is not b for a, b in zip(items, v, strict=True)):
                    changed[f] = items
        e = rebuilt(e, changed) if changed else e
        if top:
            return e
        if isinstance(e, gast.IfExp):
            return self.chosen(e, before)
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in LINEAR_CALLS:
            return self.named(e, before)
        return e

    def named(self, e: Node, before: Block) -> Node:
        new = self.names.fresh("v")
        self.program.kinds[new] = self.kind(e)
        before.append(Let(new, e))
        return name(new)

    def chosen(self, e: Node, before: Block) -> Node:
        """`a if c else b` as a branch."""
        new = self.names.fresh("v")
        self.program.kinds[new] = FLOAT
        test = e.test
        if isinstance(test, gast.Name) and self.program.kinds.get(test.id) == FLOAT:
            test = expr("x != 0.0", x=test)
        before.append(If(test, [Let(new, e.body)], [Let(new, e.orelse)]))
        return name(new)
