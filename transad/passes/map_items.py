"""One loop as a map: what its items read, what they add up, and what each of them stores.

>>> from transad.kinds import FLOAT, INT
>>> from transad.quote import expr
>>> loop = For("i", expr("0"), expr("n"), 1, [Let("t", expr("t * 0.5")), Let("s", expr("s + t"))], mapped=True)
>>> program = Program("f", ["n"], [Let("t", expr("1.0")), Let("s", expr("0.0")), loop], [name("s")],
...                   {"n": INT, "t": FLOAT, "s": FLOAT, "i": INT})
>>> mapped(loop, program.body[:2], program, Names("ntsi"), {"s"})
Traceback (most recent call last):
...
transad.passes.map_items.Dependent: `t` goes from one item to the next, and not as a sum
"""
from __future__ import annotations

from dataclasses import dataclass

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


def live_from(program: Program, place: int) -> set[str]:
    """The variables that are read from a place in the body on."""
    live = {n for e in program.results for n in names_in(e)}
    for s in reversed(program.body[place:]):
        live = live_before(s, live)
    return live & set(program.kinds)


def mapped(s: For, before: Block, program: Program, names: Names, after: set[str]) -> Map:
    """The loop as a map, if its trips are independent. `before`: the statements since the last map; `after`: the
    variables that are read after the loop."""
    body = copied(s.body)
    if s.step != 1 or _leaves(body) or any(isinstance(x, Do) for x in walk(body)):
        raise Dependent("it is left early, printed from, or does not go up by one")
    live: set[str] = set()
    for x in reversed(body):
        live = live_before(x, live)
    live -= s.own
    sums = _sums(s, body, live, program, after)
    arrays = _arrays(s, body, before)
    if not sums and not arrays:
        raise Dependent("nothing comes of it")
    starts = {v: _start(v, before) or name(v) for v in sums}
    item, inputs = _item(s, body, sums, arrays, live - set(arrays), program, names)
    return Map(s, item, inputs, sums, list(arrays), arrays, starts, s.mapped)


def _sums(s: For, body: Block, live: set[str], program: Program, after: set[str]) -> list[str]:
    """What goes from item to item, if it is only added to, and nothing else is left by the items."""
    changed = assigned(body)
    if s.var in changed or s.var in after:
        raise Dependent(f"{s.var} is read after it")
    sums = sorted(changed & live)
    for v in sums:
        if not _is_sum(v, body, program.kinds[v]):
            raise Dependent(f"{_shown(v)} goes from one item to the next, and not as a sum")
    if left := (changed - set(sums)) & after:
        raise Dependent(f"{_shown(min(left))} is what the last item left")
    return sums


def _arrays(s: For, body: Block, before: Block) -> dict[str, Node]:
    """The arrays of which each item fills its own entries, and how they are made."""
    changed = assigned(body)
    stores = _stores(body, changed, s.var)
    if stores is None:
        raise Dependent("an item writes into an array that other items see")
    made = {a: e for a in stores if (e := _allocation(a, before)) is not None}
    if len(made) != len(stores):
        raise Dependent("an item writes into an array that is not made anew just before")
    for a, e in made.items():
        if a in changed or changed & set(names_in(e)) or any(
                isinstance(x, Let) and x.name in set(names_in(e)) for x in before[_place(a, before):]):
            raise Dependent(f"{_shown(a)} is made of what changes before it is filled")
    return made


def _item(s: For, body: Block, sums: list[str], arrays: dict[str, Node], live: set[str], program: Program,
          names: Names) -> tuple[Program, list[str]]:
    """The program of one item, and what it reads besides its index."""
    kinds: dict[str, Kind] = {**program.kinds, s.var: Scalar("int64")}
    plain = {a for a in arrays if _once(a, body, kinds[a])}
    entries: Block = [Let(v, constant(0.0 if kinds[v] == Scalar("float64") else 0)) for v in sums]
    results = [name(v) for v in sums]
    for a, made in arrays.items():
        y = names.fresh("row" if kinds[a].ndim > 1 else "y")        # type: ignore[union-attr]
        results.append(name(y))
        if a in plain:
            kinds[y] = kinds[a].element      # type: ignore[union-attr]
            _entry_as_variable(a, y, body, kinds[y])
            continue
        begun = beginning(made, kinds[a])                        # type: ignore[arg-type]
        if begun is None:
            raise Dependent(f"{_shown(a)} is made in a way that does not tell the shape of its rows")
        entries.append(Let(y, begun[0]))
        kinds[y] = begun[1]
        live |= set(names_in(begun[0])) & set(program.kinds)
        body = localised(a, y, body, s.var, kinds[a].ndim)          # type: ignore[union-attr]
    inputs = [p for p in program.kinds if p in live and p not in sums and p != s.var and p not in program.constants]
    return Program(program.name, [s.var, *inputs], entries + body, results, kinds, program.constants,
                   program.filename), inputs


def _entry_as_variable(a: str, y: str, body: Block, kind: Kind) -> None:
    """The only store into an array as an assignment."""
    place, store = next((k, x) for k, x in enumerate(body) if isinstance(x, Store) and x.array == a)
    value = store.value
    if kind == Scalar("float64") and isinstance(value, gast.Constant):
        value = constant(float(value.value))
    body[place] = Let(y, value, line=store.line, source=store.source)


def _shown(v: str) -> str:
    return f"`{v}`"


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


def copied(block: Block) -> Block:
    out: Block = []
    for s in block:
        place = {"line": s.line, "source": s.source}
        new: Statement = s
        if isinstance(s, For):
            new = For(s.var, s.start, s.stop, s.step, copied(s.body), own=s.own, **place)
        elif isinstance(s, While):
            new = While(s.test, copied(s.body), **place)
        elif isinstance(s, If):
            new = If(s.test, copied(s.then), copied(s.orelse), **place)
        out.append(new)
    return out


__all__ = ["Dependent", "Map", "copied", "live_from", "mapped"]
