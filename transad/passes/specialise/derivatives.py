"""`grad` and `value_and_grad` called inside a typed function, for arguments that are numbers: tangents beside the body.

What is emitted are ordinary statements, so the function around is differentiated through them.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transad.ir import Block, Do, Let, Program, Store, assigned, expressions, walk
from transad.kinds import BOOL, FLOAT
from transad.nodes import gast
from transad.passes.fresh import private
from transad.passes.map_items import copied
from transad.passes.specialise.values import NotTyped, Obj, Part, Tup, Val, is_scalar
from transad.passes.versions import live_before, versions
from transad.quote import Node, name, names_in, show

_VERBS = ("grad", "value_and_grad")


@dataclass(eq=False)
class Gradient:
    """The gradient of a function (and its value, where `valued`) with respect to the arguments `argnums`."""

    function: Any
    argnums: tuple[int, ...]
    single: bool
    valued: bool


class Derivatives(Part):
    """The part of the specialiser that takes derivatives of numbers."""

    def derivative(self, f: Any, args: list[Any], keywords: dict[str, Any], node: Node) -> Gradient:
        """`grad(f, argnums)` in the text of a typed function."""
        given = keywords.get("argnums", args[1] if len(args) > 1 else Val(None, None, 0))
        numbers = [getattr(v, "const", None) for v in (given.items if isinstance(given, Tup) else [given])]
        if set(keywords) - {"argnums"} or not 1 <= len(args) <= 2 or not all(type(n) is int for n in numbers):
            raise NotTyped(f"{f.__name__} with these arguments", node)
        return Gradient(args[0], tuple(int(n) for n in numbers if n is not None), not isinstance(given, Tup),
                        f.__name__ == "value_and_grad")

    def derivative_object(self, f: Any, node: Node) -> Gradient:
        """One that was made outside."""
        call = f._call
        cells = {n: c.cell_contents for n, c in zip(call.__code__.co_freevars, call.__closure__ or (), strict=True)}
        selection = cells.get("selection")
        if f._verb not in _VERBS or selection is None or selection.argnames or any(
                cells.get(k) for k in ("has_aux", "captured")) or set(cells.get("options") or ()) - {"jit"}:
            raise NotTyped(f"{f._verb} of a function is called", node)
        return Gradient(Obj(f._function), selection.argnums, selection.single, f._verb == "value_and_grad")

    def call_derivative(self, g: Gradient, args: list[Any], keywords: dict[str, Any], node: Node) -> Any:
        """The statements of the function with a tangent for each chosen argument, and what comes of them."""
        from transad.passes.forward.joint import Alone
        from transad.passes.forward.push import push
        chosen = [k % len(args) for k in g.argnums if -len(args) <= k < len(args)]
        if keywords or len(chosen) < len(g.argnums) or len(set(chosen)) < len(chosen) or not all(
                is_scalar(args[k]) and args[k].kind == FLOAT for k in chosen):
            raise NotTyped("a gradient with respect to anything but numbers is taken here", node)
        given = [self.let("x", v) if k in chosen else self.settled_argument(v, "fixed") for k, v in enumerate(args)]
        known, outer, marked = set(self.kinds), self.buffer, self.marked
        self.marked, self.buffer = False, []
        try:
            result = self.call_value(g.function, given, {}, node)
        finally:
            body, self.buffer, self.marked = self.buffer, outer, marked
        if not is_scalar(result) or result.kind != FLOAT:
            raise NotTyped("a gradient of a function that does not return a float is taken here", node)
        lanes = [show(given[k].expr) for k in chosen]
        program = self.program_of(body, result, lanes, known, node)
        p = push(versions(program), [[x] for x in lanes], self.names, self.stopped, unit=True)
        self.buffer += self.checked(Alone(program, self.names).block(p.body), node)
        slopes = [self.let("slope", Val(p.tangents[k][0], FLOAT)) for k in range(len(lanes))]
        gradient = slopes[0] if g.single else Tup(list(slopes))
        return Tup([self.let("y", Val(p.results[0], FLOAT)), gradient]) if g.valued else gradient

    def checked(self, body: Block, node: Node) -> Block:
        """The statements, if the function around can be differentiated through each of them."""
        for s in walk(body):
            if isinstance(s, Let | Store) and any(isinstance(n, gast.IfExp | gast.BoolOp | gast.List) for e in expressions(s)
                                                  for n in gast.walk(e)) and self.kinds.get(getattr(s, "name", "")) != BOOL:
                raise NotTyped("the gradient of this function is differentiated again", node)
        return body

    def program_of(self, body: Block, result: Val, lanes: list[str], known: set[str], node: Node) -> Program:
        """The body as a program of what it reads."""
        fresh = private(body)
        if assigned(body) & known or any(isinstance(s, Do) or (isinstance(s, Store) and s.array not in fresh)
                                         for s in walk(body)):
            raise NotTyped("a gradient of a function that does more than compute is taken here", node)
        y = self.names.fresh("y")
        self.kinds[y] = FLOAT
        live = set(names_in(result.expr))
        for s in reversed(body):
            live = live_before(s, live)
        inputs = [n for n in self.kinds if (n in live and n not in assigned(body)) or n in lanes]
        return Program("slope", inputs, [*copied(body), Let(y, result.expr, line=self.line)], [name(y)], self.kinds,
                       self.constants)


__all__ = ["Derivatives", "Gradient"]
