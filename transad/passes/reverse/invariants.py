"""In which of the loops around it a number changes: its tape needs an axis for those only.

>>> from transad.ir import For, Let, Program
>>> from transad.kinds import FLOAT, INT
>>> from transad.passes.regions import regions
>>> from transad.passes.reverse.scopes import scopes
>>> from transad.quote import call, constant, name
>>> inner = For("j@1", constant(0), name("n@0"), 1, [Let("p@1", call("math.exp", name("j@1"))),
...                                                  Let("q@1", call("math.exp", name("a@0")))])
>>> outer = For("i@1", constant(0), name("n@0"), 1, [inner])
>>> kinds = {"a": FLOAT, "n": INT, "i": INT, "j": INT, "p": FLOAT, "q": FLOAT}
>>> program = Program("f", ["a@0", "n@0"], [outer], [], kinds)
>>> found = Invariants(program, regions(program), scopes(program))
>>> found.changing("p@1") == [inner], found.changing("q@1")
(True, [])
"""
from __future__ import annotations

from dataclasses import dataclass, field

from transad.ir import For, Let, Program, While
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.regions import Regions
from transad.passes.reverse.scopes import Definition, Scopes
from transad.passes.reverse.values import CHEAP
from transad.passes.versions import base
from transad.quote import Node

_PURE = (gast.BinOp, gast.UnaryOp, gast.BoolOp, gast.Compare, gast.IfExp, gast.Constant, gast.operator, gast.unaryop,
         gast.boolop, gast.cmpop, gast.expr_context)


@dataclass
class Invariants:
    """The loops in which versions change, outermost first; a number asked for twice is looked up."""

    program: Program
    regions: Regions
    scopes: Scopes
    known: dict[str, list[For | While]] = field(default_factory=dict)

    def changing(self, version: str, value: Node | None = None) -> list[For | While]:
        """The loops around the definition of a version in which it may differ from trip to trip; `value`: what it
        is, where no statement of the program says so."""
        if version not in self.known:
            found = self.scopes.defined.get(version)
            self.known[version] = [] if found is None else self._of(found, value)
        return self.known[version]

    def _of(self, found: Definition, value: Node | None) -> list[For | While]:
        around = found.scope.loops
        if value is None and found.how == "let" and isinstance(found.statement, Let):
            value = found.statement.value
        if found.how == "var" and isinstance(found.statement, For):
            bounds = [self._read(e, around) for e in (found.statement.start, found.statement.stop)]
            return _joined(around, [*bounds, [found.statement]])
        if value is None or isinstance(self.program.kinds.get(base(found.version)), Array):
            return around
        return self._read(value, around)

    def _read(self, e: Node, around: list[For | While]) -> list[For | While]:
        """The loops among those around in which an expression changes: all of them where that is not known."""
        changes: list[list[For | While]] = []
        todo: list[Node] = [e]
        while todo:
            n = todo.pop()
            if isinstance(n, gast.Name):
                changes.append(self._name(n.id, around))
            elif isinstance(n, gast.Call):
                if not _pure_call(n):
                    return around
                todo += n.args
            elif isinstance(n, gast.Subscript) and isinstance(n.value, gast.Name):
                todo += [n.value, *(n.slice.elts if isinstance(n.slice, gast.Tuple) else [n.slice])]
            elif isinstance(n, _PURE):
                todo += list(gast.iter_child_nodes(n))
            else:
                return around
        return _joined(around, changes)

    def _name(self, version: str, around: list[For | While]) -> list[For | While]:
        if "@" not in version:
            return []
        changes = self.changing(version)
        if not isinstance(self.program.kinds.get(base(version)), Array):
            return changes
        return _joined(around, [changes, [loop for loop in around if self.regions.written_in(version, loop)]])


def _joined(around: list[For | While], changes: list[list[For | While]]) -> list[For | While]:
    wanted = {id(loop) for some in changes for loop in some}
    return [loop for loop in around if id(loop) in wanted]


def _pure_call(e: Node) -> bool:
    """Whether a call depends on its arguments only."""
    f = getattr(e.func, "id", "")
    known = f in CHEAP or (f.startswith(("math.", "np.")) and not f.startswith("np.random"))
    return known and not e.keywords
