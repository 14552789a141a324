"""The text of a map as a whole: what it checks and allocates, its chunks by threads or one after the other, and their
ordered sum (see `kernel_text` for its items)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transad.kinds import Array, Kind
from transad.nodes import gast
from transad.quote import Node, show

if TYPE_CHECKING:
    from transad.maps.store import Residual
    from transad.names import Names
    from transad.passes.bounds import Bounds
    from transad.passes.kernelize import Map


def indented(lines: list[str], depth: int = 1) -> list[str]:
    return ["    " * depth + x for x in lines]


def listed(items: list[str]) -> str:
    """The items of a tuple display."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)


@dataclass
class Local:
    """Local names of the map's functions, apart from the names of the inputs."""

    n: str
    c: str
    i: str
    first: str
    last: str
    chunks: str
    work: str
    sums: str
    counts: str
    failed: str
    kept: str


@dataclass
class Run:
    """One run of a map: `primal`; `joint`: values and slopes; `keep`: values, and what the reverse sweep reads;
    `reverse`: the items again, and backwards; `replay`: backwards, from what was kept."""

    mode: str
    suffix: str
    values: bool            # gives the results of the map
    slopes: bool            # gives cotangents
    chunk: str              # functions
    threads: str
    arrays: list[str]       # filled with results, one entry for each item
    seeds: list[str]        # cotangents of the results
    shadows: list[str]      # cotangents of arrays
    numbers: list[str]      # numbers with a cotangent
    sums: list[str]         # added up over the items
    ints: list[str]
    inputs: list[str]
    stored: list[str]       # what is kept of the items
    kept: list[str]         # one entry for each chunk

    @property
    def extra(self) -> list[str]:
        """What a chunk is given besides its range."""
        return [*self.inputs, *self.stored, *self.arrays, *self.seeds, *self.shadows]


class Entry:
    """The part of `Kernel` that writes the map as a whole."""

    part: Map
    bounds: Bounds
    kinds: dict[str, Kind]
    local: Local
    taken: Names
    start: str
    stop: str
    label: str
    k: int
    entry: str
    deterministic: bool
    fails: bool
    own: dict[str, str]
    spread: dict[str, str]
    plain: set[str]
    residuals: list[Residual]

    def difference(self) -> str:
        raise NotImplementedError

    def whole(self, r: Run) -> list[str]:
        """The map: checks, allocation, the chunks, and their ordered sum."""
        stored = r.stored if r.mode == "replay" else []
        head = [self.start, self.stop, *self.part.inputs, *(v for v in stored if v != self.start), *r.arrays, *r.seeds]
        totals = {v: self.taken.fresh(f"{v}_sum") for v in [*r.sums, *r.ints]}
        joined = [x for s in self.residuals for x in s.joined()] if r.mode == "keep" else []
        out = [*self.checked(r), *self.chunked(r), *self.allocated(r), *self.launched(r), *joined, *self.added(r, totals)]
        results = [totals[v] for v in self.part.sums] if r.values else []
        results += [v for v in r.stored if v != self.start] if r.mode == "keep" else []
        if r.slopes:
            more, slopes = self.gradients(totals)
            out += more
            results += slopes
        out += [f"return {', '.join(results)}"] if results else []
        return [f"def {self.entry}{r.suffix}({', '.join(head)}):", *indented(out)]

    def gradients(self, totals: dict[str, str]) -> tuple[list[str], list[str]]:
        raise NotImplementedError

    def checked(self, r: Run) -> list[str]:
        """The number of items, and what must hold so that none reads past an end."""
        w, conditions = self.local, self.bounds.conditions
        out = [f"{w.n} = max({self.difference()}, 0)"]
        if conditions:
            tests = " and ".join(f"({t})" if len(conditions) > 1 else t for t in conditions)
            out += [f"if {w.n} > 0 and not ({tests}):", "    raise ItemFailed"]
        for v in r.arrays:
            if show(self.part.loop.stop) != show(_first_axis(self.part.made[v])):
                out += [f"if {w.n} > 0 and {self.stop} > len({v}):", "    raise ItemFailed"]
        return out

    def chunked(self, r: Run) -> list[str]:
        """The number of chunks."""
        w, spread = self.local, self.spread if r.slopes else {}
        if not self.part.threaded:
            return [f"{w.chunks} = 1"]
        sizes = " + ".join(f"{v}.size" for v in spread) or "0"
        out = [f"{w.work} = {self.label}_work{self.k}({', '.join([self.start, self.stop, *self.part.inputs])})",
               f"{w.chunks} = chunk_count({w.n}, {w.work}, {sizes})"]
        return out + ([f"{w.chunks} = as_many_as_threads({w.chunks})"] if spread and not self.deterministic else [])

    def allocated(self, r: Run) -> list[str]:
        """What the chunks fill."""
        w = self.local
        out = [f"{w.sums} = np.zeros(({w.chunks}, {len(r.sums)}))"] if r.sums else []
        out += [f"{w.counts} = np.zeros(({w.chunks}, {len(r.ints)}), np.int64)"] if r.ints else []
        out += [f"{w.failed} = np.zeros({w.chunks}, np.int64)"] if self.fails else []
        if r.mode == "keep":
            out += [x for s in self.residuals for x in s.allocated(w.n, w.chunks, w.c)]
        if not r.slopes:
            return out
        for v, d in self.own.items():
            out.append(f"{d} = np.{'empty' if v in self.plain else 'zeros'}_like({v})")
            if v in self.plain and not self.covers(v):
                out.append(f"clear_around({d}, {self.start}, {self.start} + {w.n})")
        for v, d in self.spread.items():
            kind = self.kinds[v]
            shape = ", ".join(f"{v}.shape[{k}]" for k in range(kind.ndim if isinstance(kind, Array) else 0))
            out.append(f"{d} = np.zeros(({w.chunks}, {shape}))")
        return out

    def covers(self, v: str) -> bool:
        """Whether every entry of an array is the one of some item (then its cotangent need not be cleared)."""
        loop = self.part.loop
        return show(loop.start) == "0" and show(loop.stop) == f"len({v})"

    def range_of(self) -> str:
        raise NotImplementedError

    def launched(self, r: Run) -> list[str]:
        """The chunks, by threads where that pays."""
        w, spread = self.local, list(self.spread.values()) if r.slopes else []
        if not self.part.threaded:
            out = [f"{r.chunk}({', '.join([self.start, f'{self.start} + {w.n}', '0', *r.extra, *r.kept])})"]
        else:
            given = [*(f"{x}[{w.c}]" if x in spread else x for x in r.extra), *r.kept]
            serial = [f"for {w.c} in range({w.chunks}):", f"    {r.chunk}({self.range_of()}, {w.c}, {', '.join(given)})"]
            parallel = [f"{r.threads}({', '.join(dict.fromkeys([w.chunks, self.start, w.n, *r.extra, *r.kept]))})"]
            if self.bounds.blas:
                parallel = ["limit_blas()", *parallel, "release_blas()"]
            out = [f"if use_threads({w.work}, {w.chunks}):", *indented(parallel), "else:", *indented(serial)]
        return out + ([f"if {w.failed}.any():", "    raise ItemFailed"] if self.fails else [])

    def added(self, r: Run, totals: dict[str, str]) -> list[str]:
        """The sums of the chunks, in order."""
        w = self.local
        out = [f"{totals[v]} = 0.0" for v in r.sums] + [f"{totals[v]} = 0" for v in r.ints]
        if totals:
            out.append(f"for {w.c} in range({w.chunks}):")
            out += [f"    {totals[v]} += {w.sums}[{w.c}, {k}]" for k, v in enumerate(r.sums)]
            out += [f"    {totals[v]} += {w.counts}[{w.c}, {k}]" for k, v in enumerate(r.ints)]
        return out


def _first_axis(made: Node) -> Node:
    size = made.args[0]
    return size.elts[0] if isinstance(size, gast.Tuple) else size
