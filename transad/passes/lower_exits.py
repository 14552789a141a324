"""Lower `return`, `break`, `continue` and loop `else` to tail form.

Afterwards every exit is the last statement of its block, what followed an exiting `if` has moved into the branch that
falls through, and the only `return` is the last statement of the function. A flag stands for an exit only where a
branch exits on some of its paths.

>>> import gast
>>> from transad.names import Names
>>> tree = gast.parse('''
... def f(x, n):
...     for i in range(n):
...         if x > 3.0:
...             return x
...         x = x * 2.0
...     return -x
... ''').body[0]
>>> print(gast.unparse(lower_exits(tree, Names({"x", "n", "i"}))).strip())
def f(x, n):
    returned = False
    for i in range(n):
        if x > 3.0:
            ret = x
            returned = True
            break
        else:
            x = x * 2.0
    if returned:
        pass
    else:
        ret = -x
    return ret
"""
from __future__ import annotations

from collections.abc import Callable

from transad.names import Names
from transad.nodes import gast
from transad.quote import Node, block, name, rebuilt, with_line

_FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)
# How one way out of the current block is written: (statement, its value or None) -> statements.
Way = Callable[[Node | None], list[Node]]


def lower_exits(function: Node, names: Names) -> Node:
    """`function` (a gast.FunctionDef) in tail form."""
    body = function.body
    if _count(body, gast.Return) == 1 and isinstance(body[-1], gast.Return):
        ways: dict[str, Way] = {}
        return rebuilt(function, {"body": [*_Lowering(names, "").block(body[:-1], ways), body[-1]]})
    if not _count(body, gast.Return):
        return rebuilt(function, {"body": [*_Lowering(names, "").block(body, {}), *block("return None")]})
    ret = names.fresh("ret")
    lowering = _Lowering(names, ret)
    ways = {"return": lambda value: [] if value is None else block("r = v", r=name(ret), v=value)}
    falls = [] if _always(body) else block("return None")
    end = with_line(block("return r", r=name(ret)), function)
    return rebuilt(function, {"body": [*lowering.block([*body, *falls], ways), *end]})


class _Lowering:
    def __init__(self, names: Names, ret: str) -> None:
        self.names, self.ret = names, ret
        self.returned = ""

    def block(self, stmts: list[Node], ways: dict[str, Way]) -> list[Node]:
        out: list[Node] = []
        for k, s in enumerate(stmts):
            rest = stmts[k + 1:]
            if isinstance(s, gast.Return):
                value = s.value if s.value is not None else block("None")[0].value
                return out + with_line(ways["return"](value), s)
            if isinstance(s, gast.Break | gast.Continue):
                return out + with_line(ways[_how(s)](None), s)
            if isinstance(s, gast.Raise):
                return [*out, s]
            if isinstance(s, gast.If) and _leaves([s]):
                return out + with_line(self.branch(s, rest, ways), s)
            if isinstance(s, gast.For | gast.While) and (s.orelse or _leaves(s.body) or _count(s.body, gast.Return)):
                return out + self.loop(s, rest, ways)
            if isinstance(s, gast.For | gast.While):
                s = rebuilt(s, {"body": self.block(s.body, {})})
            elif isinstance(s, gast.If):
                s = rebuilt(s, {"body": self.block(s.body, ways), "orelse": self.block(s.orelse, ways)})
            out.append(s)
        return out

    def branch(self, s: Node, rest: list[Node], ways: dict[str, Way]) -> list[Node]:
        then_leaves, else_leaves = _always(s.body), _always(s.orelse)
        if then_leaves or else_leaves:
            then = s.body if then_leaves else [*s.body, *rest]
            orelse = s.orelse if else_leaves else [*s.orelse, *rest]
            then = self.block(then, ways) or block("pass")
            return [rebuilt(s, {"body": then, "orelse": self.block(orelse, ways)})]
        hows = _ways_used([s])
        flags = {how: self.names.fresh({"break": "leave", "continue": "skip", "return": "done"}[how]) for how in hows}
        flagged = dict(ways) | {how: self.flagged(flag, how, ways) for how, flag in flags.items()}
        out = [st for flag in flags.values() for st in block("f = False", f=name(flag))]
        out.append(rebuilt(s, {"body": self.block(s.body, flagged), "orelse": self.block(s.orelse, flagged)}))
        tail = self.block(rest, ways)
        for how, flag in flags.items():
            tail = block("if f:\n    then\nelse:\n    tail", f=name(flag),
                         then=ways[how](None) or block("pass"), tail=tail or block("pass"))
        return out + tail

    def flagged(self, flag: str, how: str, ways: dict[str, Way]) -> Way:
        def way(value: Node | None) -> list[Node]:
            kept = block("r = v", r=name(self.ret), v=value) if how == "return" and value is not None else []
            return kept + block("f = True", f=name(flag))
        return way

    def loop(self, s: Node, rest: list[Node], ways: dict[str, Way]) -> list[Node]:
        returns = bool(_count(s.body, gast.Return))
        breaks = "break" in _ways_used(s.body)
        outermost = returns and not self.returned
        if outermost:
            self.returned = self.names.fresh("returned")
        returned = self.returned
        broke = self.names.fresh("broke") if s.orelse and breaks else ""
        inside: dict[str, Way] = {
            "break": lambda _: (block("f = True", f=name(broke)) if broke else []) + block("while 1:\n break")[0].body,
            "continue": lambda _: block("while 1:\n continue")[0].body,
            "return": lambda value: ((block("r = v", r=name(self.ret), v=value) if value is not None else [])
                                     + block("f = True\nwhile 1: break", f=name(returned))[:1]
                                     + block("while 1:\n break")[0].body)}
        out = block("f = False", f=name(returned)) if outermost else []
        out += block("f = False", f=name(broke)) if broke else []
        out.append(rebuilt(s, {"body": self.block(s.body, inside), "orelse": []}))
        if outermost:
            self.returned = ""
        if broke:
            rest = [*block("if not f:\n    body", f=name(broke), body=s.orelse), *rest]
        elif s.orelse:
            rest = [*s.orelse, *rest]
        with_line(out, s)
        if not returns:
            return out + self.block(rest, ways)
        leave = ways["return"](None) or block("pass")
        if _endless(s):
            return out + leave
        tail = self.block(rest, ways)
        return out + block("if f:\n    leave\nelse:\n    tail", f=name(returned), leave=leave,
                           tail=tail or block("pass"))


def _how(s: Node) -> str:
    return {gast.Return: "return", gast.Break: "break", gast.Continue: "continue"}[type(s)]


def _inner(s: Node) -> list[list[Node]]:
    """The blocks of a statement that is no function and no class."""
    if isinstance(s, _FUNCTIONS):
        return []
    found = [b for f in ("body", "orelse", "finalbody") if isinstance(b := getattr(s, f, None), list) and b]
    return found + [h.body for h in getattr(s, "handlers", [])] + [c.body for c in getattr(s, "cases", [])]


def _count(stmts: list[Node], kind: type) -> int:
    return sum(isinstance(s, kind) + sum(_count(b, kind) for b in _inner(s)) for s in stmts)


def _ways_used(stmts: list[Node], inside_loop: bool = False) -> list[str]:
    """Which exits out of this block occur, in a fixed order."""
    used: set[str] = set()
    for s in stmts:
        if isinstance(s, gast.Return) or (isinstance(s, gast.Break | gast.Continue) and not inside_loop):
            used.add(_how(s))
        loop = isinstance(s, gast.For | gast.While)
        for b in _inner(s):         # the else of a loop is not inside it
            used |= set(_ways_used(b, inside_loop or (loop and b is s.body)))
    return sorted(used)


def _leaves(stmts: list[Node]) -> bool:
    """Whether a path through the block leaves it early (a raise counts)."""
    return bool(_ways_used(stmts)) or _count(stmts, gast.Raise) > 0


def _always(stmts: list[Node]) -> bool:
    """Whether every path through the block leaves it."""
    for s in stmts:
        if isinstance(s, gast.Return | gast.Break | gast.Continue | gast.Raise):
            return True
        if isinstance(s, gast.If) and s.orelse and _always(s.body) and _always(s.orelse):
            return True
        if isinstance(s, gast.While) and _endless(s):
            return True
    return False


def _endless(s: Node) -> bool:
    """Whether a loop is left by `return` or `raise` alone: `while True` without a `break` of its own."""
    return (isinstance(s, gast.While) and isinstance(s.test, gast.Constant) and bool(s.test.value)
            and "break" not in _ways_used(s.body))
