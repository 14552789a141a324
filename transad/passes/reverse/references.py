"""Numbers that say which array each name holds, for loops that rebind arrays depending on the path.

Where a loop leaves a name with one array or another (`if worse: a, b = b, a`; `best = x.copy()` in a branch), the
reverse sweep cannot tell from the text which shadow belongs to the name. In the outermost such loop every array that
flows into a name is numbered when it is made, and a number goes along with each name, through aliases, moves and phis:

    a_at, b_at = b_at, a_at         beside  a, b = b, a

The numbers are plain integers of the program, so the reverse sweep reads them as it reads any value. It keeps the shadows
in a list of its own, by number: first those of the arrays that were there before the loop, then zeros for each array made
in it, at the first use.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block, For, If, Let, Move, Phi, Program, While, walk
from transad.kinds import INT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import view_of
from transad.passes.reverse.shadows import Shadows
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, name, tuple_


@dataclass(eq=False)
class Table:
    """The numbered arrays of one dtype and rank that flow through a loop: `variable` is the list of their shadows.

    `entries`: the versions from before the loop, by number; `numbered`: every version that has a number; `made`: those
    that are made in the loop; `parts`: those that are a part `a[i:j:k]` of another; `shape`: the shape of all of them
    where the text shows one, else each has its own."""

    loop: For | While
    kind: Array
    variable: str
    counter: str
    entries: list[str] = field(default_factory=list)
    numbered: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    shape: list[Node] = field(default_factory=list)
    suffixes: dict[str, dict[str, str]] = field(default_factory=dict)

    def mirrored(self, version: str, what: str) -> str:
        """The version of the integer `what` (the number `at`, or an extent) that goes with a version of an array."""
        return f"{self.suffixes[base(version)][what]}@{version.split('@')[1]}"

    def place(self, version: str) -> Node:
        """The shadow of a version, from the list."""
        shape = self.shape or [name(self.mirrored(version, f"n{k}")) for k in range(self.kind.ndim)]
        if not self.parts:
            return call("shadow_at", name(self.variable), name(self.mirrored(version, "at")), tuple_(shape))
        at, size, first, step, n = (name(self.mirrored(version, w)) for w in ("at", "size", "first", "step", "n0"))
        return call("part_of", call("shadow_at", name(self.variable), at, tuple_([size])), first, step, n)

    @property
    def fields(self) -> list[str]:
        """The integers that go along with each name: the number, the extents, and where a part lies in its array."""
        extents = [] if self.shape else [f"n{k}" for k in range(self.kind.ndim)]
        return ["at", *extents, *(["size", "first", "step"] if self.parts else [])]


def number_references(program: Program, probe: Shadows, names: Names) -> list[Table]:
    """Put the numbers into the program, where a loop needs them; `probe` tells which loops do."""
    tables: list[Table] = []
    for loop, block in _failing(program.body, probe):
        tables += _Nest(program, probe, names, loop).run(block)
    return tables


def _failing(block: Block, probe: Shadows) -> list[tuple[For | While, Block]]:
    """The outermost loops whose renaming cannot be turned back, with the blocks that they stand in."""
    found: list[tuple[For | While, Block]] = []
    for s in block:
        if isinstance(s, If):
            found += _failing(s.then, probe) + _failing(s.orelse, probe)
        elif isinstance(s, For | While):
            found += [(s, block)] if fails(s, probe) else _failing(s.body, probe)
    return found


def fails(s: For | While, probe: Shadows) -> bool:
    """Whether a loop's renaming of arrays cannot be turned back trip by trip."""
    moving = probe.moving(s)
    try:
        if moving:
            probe.check_turn_back(s, moving)
    except NotTyped:
        return True
    return False


class _Nest:
    """One outermost loop: collects what is to be numbered, then writes the numbers into it."""

    def __init__(self, program: Program, probe: Shadows, names: Names, loop: For | While) -> None:
        self.program, self.probe, self.names, self.loop = program, probe, names, loop
        self.scopes = probe.scopes
        self.inside = self.scopes.of_block[id(loop.body)]
        self.tables: dict[tuple[str, int], Table] = {}
        self.numbered: dict[str, Table] = {}
        self.versions: dict[str, int] = {}

    def run(self, block: Block) -> list[Table]:
        self.collect(self.loop)
        for table in self.tables.values():
            before = self.set_up(table)
            block[block.index(self.loop):block.index(self.loop)] = before
            self.write(self.loop.body, table)
            self.mirror_phis(self.loop, table)
            self.count(self.loop, f"{table.counter}@1", table)
        return list(self.tables.values())

    # -- what is numbered -----------------------------------------------------------------------------------------
    def collect(self, loop: For | While) -> None:
        """Number what flows into the names that a loop rebinds, and into those of the loops in it that fail too."""
        for p in self.probe.moving(loop):
            self.need(p.out)
        for s in _loops(loop.body):
            if fails(s, self.probe):
                self.collect(s)

    def table(self, version: str) -> Table:
        kind = self.program.kinds[base(version)]
        assert isinstance(kind, Array)
        key = (kind.dtype, kind.ndim)
        if key not in self.tables:
            self.tables[key] = Table(self.loop, kind, self.names.fresh("shadows"), self.integer("made"))
        return self.tables[key]

    def integer(self, wanted: str) -> str:
        fresh = self.names.fresh(wanted)
        self.program.kinds[fresh] = INT
        return fresh

    def need(self, version: str) -> None:
        if version in self.numbered:
            return
        table = self.numbered[version] = self.table(version)
        table.numbered.append(version)
        found = self.scopes.defined[version]
        s = found.statement
        if not found.scope.within(self.inside) and s is not self.loop:
            table.entries.append(version)
        elif found.how == "let" and isinstance(s, Let):
            source = view_of(s.value)
            if source is not None:
                self.need_part(s, source, table)
            else:
                table.made.append(version)
        elif found.how == "move" and isinstance(s, Move):
            self.need(s.sources[s.targets.index(version)])
        elif isinstance(s, If):
            phi = next(p for p in s.phis if p.out == version)
            self.need(phi.then)
            self.need(phi.orelse)
        else:
            assert isinstance(s, For | While)
            self.need_carried(s, version)

    def need_part(self, s: Let, source: str, table: Table) -> None:
        """An alias, or a part of an array of rank 1."""
        self.need(source)
        if isinstance(s.value, gast.Name):
            return
        if self.numbered[source] is not table or table.kind.ndim != 1 or _stride(s.value) is None:
            raise NotTyped("a loop rebinds an array to a part of another in a way that depends on the path")
        table.parts.append(s.name)

    def need_carried(self, s: For | While, version: str) -> None:
        phi = next(p for p in s.phis if version in (p.head, p.out))
        for v in (phi.entry, phi.head, phi.end, phi.out):
            self.need(v)
        if phi in self.probe.moving(s):
            for p in self.probe.moving(s):
                self.need(p.out)

    # -- before the loop ------------------------------------------------------------------------------------------
    def set_up(self, table: Table) -> Block:
        """The numbers, and the shape, of what is there when the loop starts."""
        out: Block = []
        table.shape = self.common_shape(table, out)
        for variable in dict.fromkeys(base(v) for v in table.numbered):
            table.suffixes[variable] = {w: self.integer(f"{variable}_{w}") for w in table.fields}
        for k, v in enumerate(table.entries):
            out.append(Let(table.mirrored(v, "at"), constant(k)))
            out += self.extents(v, table)
        out.append(Let(f"{table.counter}@1", constant(len(table.entries))))
        for s in out:
            s.line = self.loop.line
        return out

    def extents(self, v: str, table: Table) -> Block:
        if table.shape:
            return []
        out: Block = [Let(table.mirrored(v, f"n{k}"), _extent(v, k)) for k in range(table.kind.ndim)]
        if table.parts:
            out += [Let(table.mirrored(v, "size"), _extent(v, 0)), Let(table.mirrored(v, "first"), constant(0)),
                    Let(table.mirrored(v, "step"), constant(1))]
        return out

    def common_shape(self, table: Table, out: Block) -> list[Node]:
        """The extents that all arrays of a table have, where the text shows it."""
        classes = {self.probe.shape_class(v) for v in [*table.entries, *table.made]}
        if table.parts:
            return []
        carried = {v for v in classes if v in self.numbered and v not in table.entries and v not in table.made}
        classes -= carried
        like = classes.pop() if len(classes) == 1 else None
        if like is None or like not in self.scopes.defined or self.scopes.defined[like].scope.within(self.inside):
            return []
        if not self.scopes.defined[like].scope.in_loop:
            return [_extent(like, k) for k in range(table.kind.ndim)]
        kept = [f"{self.integer(f'{base(like)}_n{k}')}@1" for k in range(table.kind.ndim)]
        out += [Let(v, _extent(like, k)) for k, v in enumerate(kept)]
        return [name(v) for v in kept]

    # -- in the loop ----------------------------------------------------------------------------------------------
    def write(self, block: Block, table: Table) -> None:
        """The numbers beside each statement that makes, names or moves an array."""
        made: Block = []
        for s in block:
            made.append(s)
            if isinstance(s, Let) and self.numbered.get(s.name) is table:
                new = (self.alias(s.name, s.value.id, table) if isinstance(s.value, gast.Name)
                       else self.part(s, table) if s.name in table.parts else self.born(s, table))
            elif isinstance(s, Move):
                new = self.moved(s, table)
            else:
                new = []
                for inner in ([s.then, s.orelse] if isinstance(s, If) else [s.body] if isinstance(s, For | While) else []):
                    self.write(inner, table)
                if isinstance(s, If | For | While):
                    self.mirror_phis(s, table)
            for x in new:
                x.line = s.line
            made += new
        block[:] = made

    def alias(self, target: str, source: str, table: Table) -> Block:
        return [Let(table.mirrored(target, w), name(table.mirrored(source, w))) for w in table.fields]

    def part(self, s: Let, table: Table) -> Block:
        """Where `a[i:j:k]` lies in the array that `a` is a part of."""
        value: Any = s.value
        source, stride = value.value.id, _stride(value)
        assert stride is not None
        at, size, first, step, n = (name(table.mirrored(source, w)) for w in ("at", "size", "first", "step", "n0"))
        start = _start(value.slice.lower, n, stride)
        found = {"at": at, "size": size, "n0": _extent(s.name, 0), "first": expr("f + k * i", f=first, k=step, i=start),
                 "step": expr("k * s", k=step, s=constant(stride))}
        return [Let(table.mirrored(s.name, w), found[w]) for w in table.fields]

    def born(self, s: Let, table: Table) -> Block:
        """The place in the list is filled in by `count`."""
        return [Let(table.mirrored(s.name, "at"), constant(0)), *self.extents(s.name, table)]

    def moved(self, s: Move, table: Table) -> Block:
        pairs = [(t, v) for t, v in zip(s.targets, s.sources, strict=True) if self.numbered.get(t) is table]
        if not pairs:
            return []
        return [Move([table.mirrored(t, w) for t, _ in pairs], [table.mirrored(v, w) for _, v in pairs])
                for w in table.fields]

    def mirror_phis(self, s: If | For | While, table: Table) -> None:
        """A phi for the numbers beside each phi of the arrays."""
        for p in [p for p in s.phis if self.numbered.get(p.out) is table]:
            for w in table.fields:
                s.phis.append(Phi(**{k: table.mirrored(v, w) if v else "" for k, v in vars(p).items()}))

    # -- the counter ----------------------------------------------------------------------------------------------
    def count(self, s: For | While, entry: str, table: Table) -> str:
        """Number the arrays made in a loop; the version of the counter after it."""
        if not any(isinstance(x, Let) and x.name in table.made for x in walk(s.body)):
            return entry
        head, out = self.next(table), self.next(table)
        end = self.count_block(s.body, head, table)
        s.phis.append(Phi(out, entry=entry, head=head, end=end))
        return out

    def next(self, table: Table) -> str:
        self.versions[table.counter] = self.versions.get(table.counter, 1) + 1
        return f"{table.counter}@{self.versions[table.counter]}"

    def count_block(self, block: Block, at: str, table: Table) -> str:
        numbers = {table.mirrored(v, "at") for v in table.made}
        for s in list(block):
            if isinstance(s, Let) and s.name in numbers:
                s.value, new = name(at), self.next(table)
                block.insert(block.index(s) + 1, Let(new, expr("n + 1", n=name(at)), line=s.line))
                at = new
            elif isinstance(s, For | While):
                at = self.count(s, at, table)
            elif isinstance(s, If):
                then, orelse = (self.count_block(arm, at, table) for arm in (s.then, s.orelse))
                if then != orelse:
                    new = self.next(table)
                    s.phis.append(Phi(new, then, orelse))
                    at = new
        return at


def _stride(view: Any) -> int | None:
    """The step of a part `a[i:j:k]` of an array of rank 1, a number in the text; None for another view."""
    if not isinstance(view, gast.Subscript) or not isinstance(view.value, gast.Name) or not isinstance(
            view.slice, gast.Slice):
        return None
    step = view.slice.step
    if step is None:
        return 1
    sign = -1 if isinstance(step, gast.UnaryOp) and isinstance(step.op, gast.USub) else 1
    literal = step.operand if isinstance(step, gast.UnaryOp) else step
    return sign * literal.value if isinstance(literal, gast.Constant) and isinstance(literal.value, int) else None


def _start(lower: Node | None, n: Node, stride: int) -> Node:
    """The first index of a slice over `n` elements; any number for an empty one."""
    if lower is None:
        return constant(0) if stride > 0 else expr("n - 1", n=n)
    first = expr("i + n * (i < 0)", i=lower, n=n)
    return expr("max(i, 0)", i=first) if stride > 0 else expr("min(i, n - 1)", i=first, n=n)


def _loops(block: Block) -> list[For | While]:
    """The loops of a block that stand in no other loop of it."""
    found: list[For | While] = []
    for s in block:
        if isinstance(s, For | While):
            found.append(s)
        elif isinstance(s, If):
            found += _loops(s.then) + _loops(s.orelse)
    return found


def _extent(array: str, k: int) -> Node:
    return expr(f"a.shape[{k}]", a=name(array))
