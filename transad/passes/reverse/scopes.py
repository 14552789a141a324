"""Where each version is defined: the scopes of a program and the definitions in them.

A scope is one block: the function body, a loop body or an arm of a branch. Scopes know the loops around them, from
the outermost in.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from transad.ir import Block, For, If, Let, Move, Program, Statement, While


@dataclass(eq=False)
class Scope:
    """One block of the program."""

    block: Block
    parent: Scope | None = None
    owner: Statement | None = None
    loops: list[For | While] = field(default_factory=list)

    @property
    def in_loop(self) -> bool:
        return bool(self.loops)

    def within(self, other: Scope) -> bool:
        """Whether this is `other` or lies inside it."""
        scope: Scope | None = self
        while scope is not None:
            if scope is other:
                return True
            scope = scope.parent
        return False


@dataclass(eq=False)
class Definition:
    """How a version comes about.

    `how`: parameter | let | move | branch (phi after an `if`) | head (phi at the start of a trip) | out (phi after a
    loop) | var (the loop variable) | pseudo (a value that the reverse sweep asked for)."""

    version: str
    how: str
    scope: Scope
    position: float
    statement: Statement | None = None


@dataclass(eq=False)
class Scopes:
    """All scopes and definitions of a program."""

    root: Scope
    of_block: dict[int, Scope] = field(default_factory=dict)
    of_statement: dict[int, Scope] = field(default_factory=dict)
    defined: dict[str, Definition] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)


def scopes(program: Program) -> Scopes:
    """The scopes of a program with versions."""
    found = Scopes(Scope(program.body))
    for p in program.parameters:
        found.defined[p] = Definition(p, "parameter", found.root, -1)
    for c in program.constants:
        found.defined[f"{c}@0"] = Definition(f"{c}@0", "parameter", found.root, -1)
    _walk(found.root, found)
    return found


def _walk(scope: Scope, found: Scopes) -> None:
    found.of_block[id(scope.block)] = scope
    for k, s in enumerate(scope.block):
        found.of_statement[id(s)], found.position[id(s)] = scope, k

        def define(version: str, how: str, at: Scope, position: float, s: Statement = s) -> None:
            found.defined[version] = Definition(version, how, at, position, s)
        if isinstance(s, Let):
            define(s.name, "let", scope, k)
        elif isinstance(s, Move):
            for t in s.targets:
                define(t, "move", scope, k)
        elif isinstance(s, If):
            for arm in (s.then, s.orelse):
                _walk(Scope(arm, scope, s, scope.loops), found)
            for phi in s.phis:
                define(phi.out, "branch", scope, k)
        elif isinstance(s, For | While):
            inner = Scope(s.body, scope, s, [*scope.loops, s])
            for phi in s.phis:
                define(phi.head, "head", inner, -1)
                define(phi.out, "out", scope, k)
            if isinstance(s, For):
                define(s.var, "var", inner, -2)
            _walk(inner, found)
