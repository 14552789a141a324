"""The normal form that the typed path's passes share: a handful of statements over gast expressions.

One statement does one thing; expressions are pure trees over names, literals, element loads and library functions.
Exits are markers at the tails of blocks (see `passes.lower_exits`), so the tree says what runs.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from transad.quote import Node, names_in, show

Block = list["Statement"]


@dataclass(eq=False)
class Statement:
    """`line`: the user's line; `source`: the user's statement, printed beside its adjoint."""

    line: int = field(default=0, kw_only=True)
    source: str = field(default="", kw_only=True)


@dataclass(eq=False)
class Let(Statement):
    """`name = value`, a number or an array (fresh, an alias or a view)."""

    name: str
    value: Node


@dataclass(eq=False)
class Move(Statement):
    """`targets = sources`, all at once, names only: a swap or a rotation."""

    targets: list[str]
    sources: list[str]


@dataclass(eq=False)
class Store(Statement):
    """`array[index] op= value`; `op` is "" for a plain store; `index` None is the whole array."""

    array: str
    index: list[Node]
    value: Node
    op: str = ""


@dataclass
class Phi:
    """Versions of a variable that meet: at the end of a branch (`then`, `orelse` -> `out`), or around a loop
    (`entry`, `end` -> `head` at the start of a trip, `out` after the loop)."""

    out: str
    then: str = ""
    orelse: str = ""
    entry: str = ""
    head: str = ""
    end: str = ""


@dataclass(eq=False)
class For(Statement):
    """`for var in range(start, stop, step)`; nothing in the body assigns `var`. `mapped`: the trips are the items of a
    map, a comprehension or a `prange`; `library`: it is in place of a NumPy function, which runs in one thread; `store`:
    the reverse sweep of a map reads what the forward sweep kept of each item; `own`: variables of functions that are
    called in a trip, which start anew in the next."""

    var: str
    start: Node
    stop: Node
    step: int
    body: Block
    phis: list[Phi] = field(default_factory=list)
    mapped: bool = field(default=False, kw_only=True)
    library: bool = field(default=False, kw_only=True)
    store: bool = field(default=False, kw_only=True)
    own: frozenset[str] = field(default=frozenset(), kw_only=True)


@dataclass(eq=False)
class While(Statement):
    """`while test`."""

    test: Node
    body: Block
    phis: list[Phi] = field(default_factory=list)


@dataclass(eq=False)
class If(Statement):
    """`if test`."""

    test: Node
    then: Block
    orelse: Block
    phis: list[Phi] = field(default_factory=list)


@dataclass(eq=False)
class Exit(Statement):
    """The tail marker `break`, `continue` or `raise`."""

    how: str
    value: Node | None = None


@dataclass(eq=False)
class Do(Statement):
    """An expression run for its effect (print, a check) that touches no number."""

    value: Node


@dataclass
class Program:
    """A function in normal form.

    `parameters`: residual names, in order; `results`: names or literals of the flattened result; `kinds`: of every name;
    `recursive`: the functions that it calls by name.
    """

    name: str
    parameters: list[str]
    body: Block
    results: list[Node]
    kinds: dict[str, Any]
    constants: dict[str, Any] = field(default_factory=dict)
    filename: str = ""
    off: frozenset[str] = frozenset()
    recursive: dict[str, Any] = field(default_factory=dict)


def blocks(statement: Statement) -> list[Block]:
    """The blocks inside a compound statement."""
    if isinstance(statement, For | While):
        return [statement.body]
    if isinstance(statement, If):
        return [statement.then, statement.orelse]
    return []


def walk(block: Block) -> Iterator[Statement]:
    """Every statement, outer before inner, in order."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from walk(inner)


def expressions(s: Statement) -> list[Node]:
    """The expressions that the statement itself evaluates."""
    if isinstance(s, Let | Do):
        return [s.value]
    if isinstance(s, Store):
        return [*s.index, s.value]
    if isinstance(s, For):
        return [s.start, s.stop]
    if isinstance(s, While | If):
        return [s.test]
    if isinstance(s, Exit) and s.value is not None:
        return [s.value]
    return []


def assigned(block: Block) -> set[str]:
    """The names that a block may assign (not the arrays it stores into)."""
    found: set[str] = set()
    for s in walk(block):
        if isinstance(s, Let):
            found.add(s.name)
        elif isinstance(s, Move):
            found.update(s.targets)
        elif isinstance(s, For):
            found.add(s.var)
    return found


def reads(s: Statement) -> set[str]:
    """The names that the statement itself reads."""
    found = {n for e in expressions(s) for n in names_in(e)}
    if isinstance(s, Move):
        found.update(s.sources)
    if isinstance(s, Store):
        found.add(s.array)
    return found


def exits(block: Block) -> bool:
    """Whether every path through the block ends in a marker."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, Exit):
        return True
    return isinstance(last, If) and exits(last.then) and exits(last.orelse)


def dump(block: Block, indent: int = 0) -> str:
    """The normal form as text, for `--after PASS` and for people."""
    pad, out = "    " * indent, []
    for s in block:
        if isinstance(s, Let):
            out.append(f"{pad}{s.name} = {show(s.value)}")
        elif isinstance(s, Move):
            out.append(f"{pad}{', '.join(s.targets)} = {', '.join(s.sources)}")
        elif isinstance(s, Store):
            index = ", ".join(show(i) for i in s.index) if s.index else "..."
            out.append(f"{pad}{s.array}[{index}] {s.op}= {show(s.value)}")
        elif isinstance(s, For):
            step = f", {s.step}" if s.step != 1 else ""
            out.append(f"{pad}for {s.var} in range({show(s.start)}, {show(s.stop)}{step}):")
            out.append(dump(s.body, indent + 1) or f"{pad}    pass")
        elif isinstance(s, While):
            out.append(f"{pad}while {show(s.test)}:")
            out.append(dump(s.body, indent + 1) or f"{pad}    pass")
        elif isinstance(s, If):
            out.append(f"{pad}if {show(s.test)}:")
            out.append(dump(s.then, indent + 1) or f"{pad}    pass")
            if s.orelse:
                out += [f"{pad}else:", dump(s.orelse, indent + 1)]
        elif isinstance(s, Exit):
            out.append(f"{pad}{s.how}" + (f" {show(s.value)}" if s.value is not None else ""))
        elif isinstance(s, Do):
            out.append(f"{pad}{show(s.value)}")
    return "\n".join(out)
