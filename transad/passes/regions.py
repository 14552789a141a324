"""Which array names may share memory, where that memory is written, and whether a value read at one place is still
there at the end.

Regions are classes of array versions that may overlap: an alias, a view and a phi join the region of what they refer
to; a fresh array starts one. The result is coarse and sound: flow does not matter. A read is *stable* if no write to
its region can follow it; then the reverse sweep may read the array itself.

>>> from transad.quote import expr
>>> from transad.kinds import Array
>>> a = Array("float64", 1)
>>> program = Program("f", ["x@0"], [Let("y@1", expr("x.copy()", x=name("x@0"))), Let("z@1", name("y@1")),
...                   Store("z@1", [expr("0")], expr("1.0"))], [], {"x": a, "y": a, "z": a})
>>> found = regions(program)
>>> found.same("y@1", "z@1"), found.same("x@0", "y@1"), found.written("y@1"), found.written("x@0")
(True, False, True, False)
"""
from __future__ import annotations

from dataclasses import dataclass, field

from transad.ir import Block, For, If, Let, Move, Program, Statement, Store, While
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.ruled import is_ruled, shares
from transad.passes.versions import base
from transad.quote import Node, name, names_in

# Library calls whose result may share memory with their first argument.
_VIEWS = {"np.transpose", "np.ravel", "reshaped"}


@dataclass
class Regions:
    """The answer of the analysis; versions are looked up by name."""

    parent: dict[str, str] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    loops: dict[int, tuple[int, ...]] = field(default_factory=dict)
    writes: dict[str, list[tuple[int, tuple[int, ...], str]]] = field(default_factory=dict)
    apart: dict[str, tuple[int, str]] = field(default_factory=dict)
    births: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)

    def find(self, version: str) -> str:
        root = version
        while self.parent.get(root, root) != root:
            root = self.parent[root]
        while self.parent.get(version, version) != root:
            self.parent[version], version = root, self.parent[version]
        return root

    def same(self, a: str, b: str) -> bool:
        return self.find(a) == self.find(b)

    def members(self, version: str) -> list[str]:
        return [v for v in self.parent if self.find(v) == self.find(version)]

    def written(self, version: str) -> bool:
        """Whether anything is ever stored into the region."""
        return bool(self.writes.get(self.find(version)))

    def written_in(self, version: str, loop: Statement) -> bool:
        """Whether a statement of this loop may store into the array (names known to be apart do not count)."""
        return any(id(loop) in at and not self.distinct(version, array)
                   for _, at, array in self.writes.get(self.find(version), []))

    def distinct(self, a: str, b: str) -> bool:
        """Whether two names of one region hold different arrays in every trip: buffers that a loop swaps."""
        first, second = self.apart.get(a), self.apart.get(b)
        return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]

    def stable(self, version: str, reader: Statement, after: bool = False) -> bool:
        """Whether what `reader` sees in the array is there for good (`after`: what is there once it has run)."""
        place, around = self.position[id(reader)], self.loops[id(reader)]
        writes = self.writes.get(self.find(version), [])
        if writes and any(self.births.get(self.find(version), [])):
            return False            # made and filled within a trip: gone when the reverse sweep comes
        return not any(position > place or (position == place and not after) or any(loop in around for loop in at)
                       for position, at, _ in writes)


def view_of(e: Node) -> str | None:
    """The array that an array expression shares memory with, if it is an alias or a view."""
    if isinstance(e, gast.Name) and "." not in e.id:
        return e.id
    if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name):
        return e.value.id
    if isinstance(e, gast.Attribute) and e.attr == "T":
        return view_of(e.value)
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in _VIEWS:
        return view_of(e.args[0])
    return None


def regions(program: Program) -> Regions:
    """The regions of a program with versions."""
    found = Regions()
    arrays = {v for v, k in program.kinds.items() if isinstance(k, Array)}
    for p in [*program.parameters, *program.constants]:
        if base(p) in arrays:
            v = p if "@" in p else f"{p}@0"
            found.parent[v] = v
            found.births.setdefault(v, []).append(())
    _walk(program.body, (), found, arrays, [0])
    sources: dict[str, str | None] = {}
    _sources(program.body, sources)
    _keep_apart(program.body, found, sources, arrays)
    births: dict[str, list[tuple[int, ...]]] = {}
    for v, places in found.births.items():
        births.setdefault(found.find(v), []).extend(places)
    writes: dict[str, list[tuple[int, tuple[int, ...], str]]] = {}
    for v, at in found.writes.items():
        writes.setdefault(found.find(v), []).extend(at)
    found.births, found.writes = births, writes
    return found


def _union(found: Regions, a: str, b: str) -> None:
    for v in (a, b):
        found.parent.setdefault(v, v)
    found.parent[found.find(a)] = found.find(b)


def _walk(block: Block, loops: tuple[int, ...], found: Regions, arrays: set[str], clock: list[int]) -> None:
    for s in block:
        clock[0] += 1
        found.position[id(s)], found.loops[id(s)] = clock[0], loops
        if isinstance(s, Let) and base(s.name) in arrays:
            found.parent.setdefault(s.name, s.name)
            source = view_of(s.value)
            if source is None:
                found.births.setdefault(s.name, []).append(loops)
                if is_ruled(s.value) and shares(s.value):
                    for n in names_in(s.value):
                        if base(n) in arrays:
                            _union(found, s.name, n)
            else:
                _union(found, s.name, source)
        elif isinstance(s, Move):
            for t, v in zip(s.targets, s.sources, strict=True):
                if base(t) in arrays:
                    _union(found, t, v)
        elif isinstance(s, Store):
            found.parent.setdefault(s.array, s.array)
            found.writes.setdefault(s.array, []).append((clock[0], loops, s.array))
        elif isinstance(s, If):
            _walk(s.then, loops, found, arrays, clock)
            _walk(s.orelse, loops, found, arrays, clock)
            for phi in s.phis:
                if base(phi.out) in arrays:
                    _union(found, phi.out, phi.then)
                    _union(found, phi.out, phi.orelse)
        elif isinstance(s, For | While):
            for phi in s.phis:
                if base(phi.out) in arrays:
                    for v in (phi.entry, phi.head, phi.end):
                        _union(found, phi.out, v)
            _walk(s.body, (*loops, id(s)), found, arrays, clock)


def _sources(block: Block, sources: dict[str, str | None]) -> None:
    """What each array version is another name for; None for a fresh array."""
    for s in block:
        if isinstance(s, Let):
            sources[s.name] = s.value.id if isinstance(s.value, gast.Name) else (
                None if view_of(s.value) is None else s.name)
        elif isinstance(s, Move):
            sources.update(zip(s.targets, s.sources, strict=True))
        elif isinstance(s, If):
            _sources(s.then, sources)
            _sources(s.orelse, sources)
        elif isinstance(s, For | While):
            _sources(s.body, sources)


def _origin(version: str, sources: dict[str, str | None]) -> tuple[str, bool]:
    """(the version that a name goes back to, whether that is a fresh array)."""
    seen = set()
    while version in sources and version not in seen:
        seen.add(version)
        source = sources[version]
        if source is None:
            return version, True
        version = source
    return version, False


def _keep_apart(block: Block, found: Regions, sources: dict[str, str | None], arrays: set[str]) -> None:
    """Loops whose carried array names start with different fresh arrays and only trade them: apart in every trip."""
    for s in block:
        if isinstance(s, If):
            _keep_apart(s.then, found, sources, arrays)
            _keep_apart(s.orelse, found, sources, arrays)
        if not isinstance(s, For | While):
            continue
        _keep_apart(s.body, found, sources, arrays)
        phis = [p for p in s.phis if base(p.out) in arrays]
        entries = [_origin(p.entry, sources) for p in phis]
        ends = [_origin(p.end, sources)[0] for p in phis]
        heads = {p.head for p in phis}
        if len(phis) < 2 or not all(fresh for _, fresh in entries) or len({v for v, _ in entries}) < len(phis):
            continue
        if len(set(ends)) == len(ends) and set(ends) <= heads:
            for p in phis:
                found.apart[p.head] = (id(s), p.head)
                found.apart[p.out] = (-id(s), p.out)


__all__ = ["Regions", "name", "regions", "view_of"]
