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

from transad.ir import Block, Do, For, Let, Program, While, assigned, dump, expressions, walk
from transad.names import Names
from transad.nodes import gast
from transad.passes.map_items import Dependent, Map, live_from, mapped
from transad.passes.versions import live_before
from transad.quote import names_in


@dataclass
class Straight:
    """Statements that run once: what they read from before, and what they leave to later parts."""

    body: Block
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


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
        if isinstance(s, For) and not s.library and (s.mapped or (every and worth_fusing(s))):
            found = _found(s, current, program, names, live_from(program, k + 1), worth, notes)
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
        found = mapped(s, before, program, names, after)
    except Dependent as problem:
        why = problem.args[0]
    if found is not None and worth is not None and not worth(found):
        found, why = None, "small"
    if notes is not None and s.mapped:
        notes.append((s, why))
    return found


def worth_fusing(s: For) -> bool:
    """Whether a `for` of the user gains from running both sweeps of a trip together: an inner loop would need a tape,
    a call of a library would run twice. Plain arithmetic is faster in two loops without checks."""
    if any(isinstance(x, For | While) for x in walk(s.body)):
        return True
    return any(isinstance(n, gast.Call) and getattr(n.func, "id", "").startswith(("math.", "np."))
               for x in walk(s.body) for e in expressions(x) for n in gast.walk(e))


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


__all__ = ["Map", "Straight", "dump", "kernelize", "worth_fusing"]
