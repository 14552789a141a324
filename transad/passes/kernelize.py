"""Find the loops whose trips do not depend on each other, and cut the program at them.

Afterwards the program is a list of parts: straight blocks, and *maps*: an item's own program, run for every index of a
range, whose results are added up or stored under the item's own index. Anything that is carried from one trip to the
next in another way, printed, or left early stays an ordinary loop.

>>> from transad.quote import expr, name
>>> from transad.kinds import FLOAT, INT, Array
>>> loop = For("i", expr("0"), expr("len(x)"), 1, [Let("s", expr("s + a * x[i]"))], mapped=True)
>>> program = Program("f", ["x", "a"], [Let("s", expr("0")), loop], [name("s")],
...                   {"x": Array("float64", 1), "a": FLOAT, "s": FLOAT, "i": INT})
>>> parts = kernelize(program, Names("xasi"), every=False)
>>> parts[1].sums, parts[1].inputs, dump(parts[1].item.body).splitlines()
(['s'], ['x', 'a'], ['s = 0.0', 's = s + a * x[i]'])
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from transad.ir import (
    Block,
    Do,
    Exit,
    For,
    If,
    Let,
    Move,
    Program,
    Statement,
    Store,
    While,
    assigned,
    dump,
    expressions,
    reads,
    walk,
)
from transad.kinds import Array, Kind, Scalar
from transad.names import Names
from transad.nodes import gast
from transad.passes.fresh import private as _private
from transad.passes.own_entries import beginning, localised, owned
from transad.passes.versions import live_before
from transad.quote import Node, constant, name, names_in

_ADDED = ("float64", "int64")


class Dependent(Exception):
    """Why a loop is not a map."""


@dataclass
class Straight:
    """Statements that run once: what they read from before, and what they leave to later parts."""

    body: Block
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


@dataclass
class Map:
    """A loop as a map over `range(start, stop)`. `item` takes the index and `inputs`; its results are the summands of
    `sums` and the entries of `arrays`. `made`: how those arrays are allocated; `starts`: what the sums start from."""

    loop: For
    item: Program
    inputs: list[str]
    sums: list[str]
    arrays: list[str]
    made: dict[str, Node]
    starts: dict[str, Node]
    threaded: bool

    @property
    def outputs(self) -> list[str]:
        return [*self.sums, *self.arrays]

    def reads(self) -> set[str]:
        """The variables that must be there before the map."""
        bounds = [self.loop.start, self.loop.stop, *self.made.values(), *self.starts.values()]
        return {n for e in bounds for n in names_in(e)} | set(self.inputs)


def kernelize(program: Program, names: Names, every: bool,
              worth: Callable[[Map], bool] | None = None, notes: list[tuple[For, str]] | None = None
              ) -> list[Straight | Map] | None:
    """The parts, or None where no loop is a map. `every`: also the loops that the user wrote as `for`. `worth`: which
    maps to cut out, the others stay loops. `notes`: takes every map that the user wrote, with why it stays a loop."""
    if any(isinstance(s, Do) for s in walk(program.body)):
        if notes is not None:
            notes += [(s, "something is printed") for s in walk(program.body) if isinstance(s, For) and s.mapped]
        return None
    parts: list[Straight | Map] = []
    current: Block = []
    for k, s in enumerate(program.body):
        found = None
        if isinstance(s, For) and not s.library and (s.mapped or (every and _worth_fusing(s))):
            found = _found(s, current, program, names, _live(program, k + 1), worth, notes)
        if found is None:
            if notes is not None and not (isinstance(s, For) and s.mapped):
                notes += [(x, "it is inside a branch or a loop") for x in walk([s]) if isinstance(x, For) and x.mapped]
            current.append(s)
            continue
        literal = {v for v, e in found.starts.items() if isinstance(e, gast.Constant)}
        moved = {id(x) for x in current if isinstance(x, Let) and (x.name in found.made or x.name in literal)}
        parts += [Straight([x for x in current if id(x) not in moved]), found]
        current = []
    if not parts:
        return None
    parts.append(Straight(current))
    return parts if _connected(parts, program) else None


def _found(s: For, before: Block, program: Program, names: Names, after: set[str],
           worth: Callable[[Map], bool] | None, notes: list[tuple[For, str]] | None) -> Map | None:
    """The map that a loop is, or None and a note."""
    why, found = "", None
    try:
        found = _map(s, before, program, names, after)
    except Dependent as problem:
        why = problem.args[0]
    if found is not None and worth is not None and not worth(found):
        found, why = None, "small"
    if notes is not None and s.mapped:
        notes.append((s, why))
    return found


def _worth_fusing(s: For) -> bool:
    """Whether a `for` of the user gains from running both sweeps of a trip together: an inner loop would need a tape,
    a call of a library would run twice. Plain arithmetic is faster in two loops without checks."""
    if any(isinstance(x, For | While) for x in walk(s.body)):
        return True
    return any(isinstance(n, gast.Call) and getattr(n.func, "id", "").startswith(("math.", "np."))
               for x in walk(s.body) for e in expressions(x) for n in gast.walk(e))


def _live(program: Program, place: int) -> set[str]:
    """The variables that are read from a place in the body on."""
    live = {n for e in program.results for n in names_in(e)}
    for s in reversed(program.body[place:]):
        live = live_before(s, live)
    return live & set(program.kinds)


def _connected(parts: list[Straight | Map], program: Program) -> bool:
    """Fill in what goes from part to part; False where a variable may be unset when a later part reads it."""
    ready = set(program.parameters)
    needed = {n for e in program.results for n in names_in(e)} & set(program.kinds)
    lives = []
    for part in reversed(parts):
        lives.append(set(needed))
        if isinstance(part, Map):
            needed = (needed - set(part.outputs)) | part.reads()
        else:
            for s in reversed(part.body):
                needed = live_before(s, needed)
        needed &= set(program.kinds)
    for part, after in zip(parts, reversed(lives), strict=True):
        if isinstance(part, Map):
            if not part.reads() & set(program.kinds) <= ready:
                return False
            ready |= set(part.outputs)
            continue
        before: set[str] = set()
        for s in reversed(part.body):
            before = live_before(s, before)
        written = assigned(part.body)
        part.inputs = sorted(before & set(program.kinds) | {n for n in after if n in written and n in ready
                                                           and n not in _certain(part.body)})
        part.outputs = sorted(written & after)
        if not set(part.inputs) <= ready or not set(part.outputs) <= ready | _certain(part.body):
            return False
        ready |= set(part.outputs)
    return True


def _certain(block: Block) -> set[str]:
    """The variables assigned on every path."""
    from transad.passes.reverse.assembly import definite
    return definite(block)


def _shown(v: str) -> str:
    return f"`{v}`"


def _map(s: For, before: Block, program: Program, names: Names, after: set[str]) -> Map:
    """The loop as a map, if its trips are independent."""
    body = _copied(s.body)
    if s.step != 1 or _leaves(body) or any(isinstance(x, Do) for x in walk(body)):
        raise Dependent("it is left early, printed from, or does not go up by one")
    live: set[str] = set()
    for x in reversed(body):
        live = live_before(x, live)
    changed = assigned(body)
    if s.var in changed or s.var in after:
        raise Dependent(f"{s.var} is read after it")
    carried = changed & live
    sums = sorted(carried)
    for v in sums:
        if not _is_sum(v, body, program.kinds[v]):
            raise Dependent(f"{_shown(v)} goes from one item to the next, and not as a sum")
    if (changed - carried) & after:
        raise Dependent(f"{_shown(min((changed - carried) & after))} is what the last item left")
    stores = _stores(body, changed, s.var)
    if stores is None:
        raise Dependent("an item writes into an array that other items see")
    plain = {a for a in stores if _once(a, body, program.kinds[a])}
    made = {a: e for a in stores if (e := _allocation(a, before)) is not None}
    if len(made) != len(stores):
        raise Dependent("an item writes into an array that is not made anew just before")
    if not sums and not made:
        raise Dependent("nothing comes of it")
    for a, e in made.items():
        if a in changed or changed & set(names_in(e)) or any(
                isinstance(x, Let) and x.name in set(names_in(e)) for x in before[_place(a, before):]):
            raise Dependent(f"{_shown(a)} is made of what changes before it is filled")
    live -= set(made)
    starts = {v: _start(v, before) or name(v) for v in sums}
    kinds: dict[str, Kind] = {**program.kinds, s.var: Scalar("int64")}
    entries: Block = [Let(v, constant(0.0 if program.kinds[v] == Scalar("float64") else 0)) for v in sums]
    results = [name(v) for v in sums]
    for a in stores:
        if a not in plain:
            y = names.fresh("row" if kinds[a].ndim > 1 else "y")        # type: ignore[union-attr]
            begun = beginning(made[a], kinds[a])                        # type: ignore[arg-type]
            if begun is None:
                raise Dependent(f"{_shown(a)} is made in a way that does not tell the shape of its rows")
            entries.append(Let(y, begun[0]))
            kinds[y] = begun[1]
            live |= set(names_in(begun[0])) & set(program.kinds)
            body = localised(a, y, body, s.var, kinds[a].ndim)          # type: ignore[union-attr]
            results.append(name(y))
            continue
        place, store = next((k, x) for k, x in enumerate(body) if isinstance(x, Store) and x.array == a)
        y = names.fresh("y")
        kinds[y] = kinds[a].element      # type: ignore[union-attr]
        value = store.value
        if kinds[y] == Scalar("float64") and isinstance(value, gast.Constant):
            value = constant(float(value.value))
        body[place] = Let(y, value, line=store.line, source=store.source)
        results.append(name(y))
    inputs = [p for p in [*program.kinds] if p in live and p not in carried and p != s.var]
    inputs = [p for p in inputs if p not in program.constants]
    item = Program(program.name, [s.var, *inputs], entries + body, results, kinds, program.constants, program.filename)
    return Map(s, item, inputs, sums, list(stores), made, starts, s.mapped)


def _leaves(block: Block) -> bool:
    """Remove `continue` of the loop itself (at the tail of a path it means nothing); whether it can be left."""
    for s in list(block):
        if isinstance(s, Exit) and s.how == "continue":
            block.remove(s)
        elif isinstance(s, Exit):
            if s.how != "raise":
                return True
        elif isinstance(s, If) and any([_leaves(s.then), _leaves(s.orelse)]):
            return True
    return False


def _is_sum(v: str, body: Block, kind: Kind) -> bool:
    """Whether a carried variable is only added to."""
    if not isinstance(kind, Scalar) or kind.dtype not in _ADDED:
        return False
    for s in walk(body):
        if v not in reads(s) and not (isinstance(s, Let) and s.name == v) and not (
                isinstance(s, Move) and v in s.targets) and not (isinstance(s, For) and s.var == v):
            continue
        if not isinstance(s, Let) or s.name != v or not isinstance(s.value, gast.BinOp):
            return False
        e = s.value
        left = isinstance(e.left, gast.Name) and e.left.id == v and v not in names_in(e.right)
        right = isinstance(e.right, gast.Name) and e.right.id == v and v not in names_in(e.left)
        if not ((left and isinstance(e.op, gast.Add | gast.Sub)) or (right and isinstance(e.op, gast.Add))):
            return False
    return True


def _stores(body: Block, changed: set[str], var: str) -> list[str] | None:
    """The outer arrays of which each trip touches its own entries only; None where other memory is written."""
    fresh = _private(body)
    found: list[str] = []
    for s in walk(body):
        if not isinstance(s, Store) or s.array in fresh:
            continue
        if s.array in changed or not owned(s.array, body, var):
            return None
        if s.array not in found:
            found.append(s.array)
    return found


def _once(a: str, body: Block, kind: Kind) -> bool:
    """Whether a trip does nothing with an array but store one number, on every path."""
    uses = [s for s in walk(body) if a in reads(s)]
    return isinstance(kind, Array) and kind.ndim == 1 and len(uses) == 1 and any(s is uses[0] for s in body) and isinstance(
        uses[0], Store) and not uses[0].op and a not in names_in(uses[0].value)


def _allocation(a: str, before: Block) -> Node | None:
    """How an array is made that nothing touches before the loop."""
    touching = [s for s in walk(before) if a in reads(s) or a in assigned([s])]
    if len(touching) != 1 or not isinstance(touching[0], Let) or not any(s is touching[0] for s in before):
        return None
    e = touching[0].value
    label = e.func.id if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) else ""
    return e if label in ("np.empty", "np.zeros") else None


def _place(a: str, before: Block) -> int:
    return next(k for k, s in enumerate(before) if isinstance(s, Let) and s.name == a)


def _start(v: str, before: Block) -> Node | None:
    """The literal that a sum starts from."""
    touching = [s for s in walk(before) if v in reads(s) or v in assigned([s])]
    if len(touching) == 1 and isinstance(touching[0], Let) and any(s is touching[0] for s in before):
        e = touching[0].value
        return e if isinstance(e, gast.Constant) else None
    return None


def _copied(block: Block) -> Block:
    out: Block = []
    for s in block:
        place = {"line": s.line, "source": s.source}
        new: Statement = s
        if isinstance(s, For):
            new = For(s.var, s.start, s.stop, s.step, _copied(s.body), **place)
        elif isinstance(s, While):
            new = While(s.test, _copied(s.body), **place)
        elif isinstance(s, If):
            new = If(s.test, _copied(s.then), _copied(s.orelse), **place)
        out.append(new)
    return out


__all__ = ["Map", "Straight", "dump", "kernelize"]
