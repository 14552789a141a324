"""The text of one map: item, chunk, threads, and the map itself (see `kernels`)."""
from __future__ import annotations

from dataclasses import dataclass

from transad.emit import _Lines
from transad.ir import Let, reads, walk
from transad.kernel_own import only_own, stored_once
from transad.kinds import FLOAT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.bounds import Bounds
from transad.passes.kernelize import Map
from transad.passes.prune import prune
from transad.passes.reverse import Pair
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, expr, name, show, substitute

Lines_ = list[str]


class Lines(list):      # type: ignore[type-arg]
    """Lines of a function body."""

    def add(self, line: str, depth: int = 0) -> None:
        self.append("    " * depth + line)


def indented(lines: list[str], depth: int = 1) -> list[str]:
    return ["    " * depth + x for x in lines]


def listed(items: list[str]) -> str:
    """The items of a tuple display."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)


@dataclass
class _Names:
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


class Kernel:
    """One map as text. `slopes`: the inputs that receive a cotangent, in the order in which it is returned."""

    deterministic = True    # the number of chunks depends on sizes only
    inside = True           # an item adds to the cotangents of arrays itself

    def __init__(self, label: str, k: int, part: Map, bounds: Bounds, pair: Pair, wanted: list[str], live: list[str],
                 start: str, stop: str) -> None:
        self.part, self.bounds, self.pair, self.live = part, bounds, pair, live
        self.start, self.stop, self.item = start, stop, f"{label}_item{k}"
        self.entry, self.k, self.label = f"{label}_map{k}", k, label
        self.kinds = pair.kinds
        self.ints = [v for v in part.sums if self.kinds[v] != FLOAT]
        self.floats = [v for v in part.sums if self.kinds[v] == FLOAT]
        self.joint = len(live) == 1 and live[0] in part.sums
        self.fails = bounds.raises or bounds.checked
        self.seeded = [v for v in part.outputs if v in live]
        self.rows = [v for v in part.arrays if self.kinds[v].ndim > 1]       # type: ignore[union-attr]
        self.functions: list[tuple[str, frozenset[str]]] = []
        self.entries: list[tuple[str, str]] = []
        self.taken = Names({*self.kinds, *pair.constants, *pair.seeds, "np", "math", start, stop,
                            *(n for s in walk(pair.reverse) for n in reads(s))})
        self.local = _Names(*[self.taken.fresh(v) for v in ("n", "c", "i", "first", "last", "chunks", "work", "sums",
                                                            "counts", "failed", "kept")])
        self.shared(wanted)
        if part.arrays:
            self.from_zero(name(pair.parameters[0]))

    def shared(self, wanted: list[str]) -> None:
        """Sort the cotangents: numbers are returned, arrays are added into, whole or one copy for each chunk."""
        self.numbers: dict[str, Node] = {}
        self.own: dict[str, str] = {}
        self.spread: dict[str, str] = {}
        self.plain: set[str] = set()
        self.indices = self.bounds.own_indices()
        groups: dict[str, set[str]] = {}
        for v, e in self.indices.items():
            groups.setdefault(show(e), set()).add(v)
        for v, d in zip(wanted, self.pair.cotangents, strict=True):
            if not isinstance(self.kinds[v], Array):
                if not isinstance(d, gast.Constant):
                    self.numbers[v] = d
                continue
            if not isinstance(d, gast.Name):
                continue
            births = [s for s in self.pair.reverse if isinstance(s, Let) and s.name == d.id]
            if len(births) != 1 or not show(births[0].value).startswith("np.zeros"):
                raise NotTyped("the cotangent of an array is not a shadow of its own")
            self.pair.reverse = [s for s in self.pair.reverse if s is not births[0]]
            if not any(d.id in reads(s) for s in walk(self.pair.reverse)):
                continue
            mine = [names for names in groups.values() if only_own(self.pair.reverse, d.id, names)]
            if mine and self.part.threaded:
                self.from_zero(self.indices[min(mine[0])])
            if mine or not self.part.threaded:
                self.own[v] = d.id
                if mine and self.pair.parameters[0] in mine[0] and (self.covers(v) or self.forwards()) and stored_once(
                        self.pair.reverse, d.id, mine[0]):
                    self.plain.add(v)
            else:
                self.spread[v] = d.id
        keep = [*self.numbers.values()]
        self.slopes = [*self.numbers, *self.own, *self.spread]
        self.pair.cotangents = keep
        prune(self.pair)

    def from_zero(self, own: Node) -> None:
        """Require that the items' own index starts from zero: a negative one may name the entry of another item."""
        if not (self.forwards() and isinstance(own, gast.Name)):
            index = self.pair.parameters[0]
            first = substitute(own, lambda n: name(self.start) if n.id == index else None)
            self.bounds.require(expr("a >= 0", a=first))

    def covers(self, v: str) -> bool:
        """Whether every entry of an array is the one of some item (then its cotangent need not be cleared)."""
        loop = self.part.loop
        return show(loop.start) == "0" and show(loop.stop) == f"len({v})"

    def forwards(self) -> bool:
        """Whether it is known that no index is negative, so that no two items name one entry."""
        start = self.part.loop.start
        return isinstance(start, gast.Constant) and start.value >= 0

    def counts_up(self) -> bool:
        """Whether no index is negative, by the text or by what was tested before the map."""
        return self.forwards() or f"{self.start} >= 0" in self.bounds.conditions

    # -- functions -------------------------------------------------------------------------------------------------
    def text(self) -> list[str]:
        checked = frozenset({"checked"}) if self.bounds.checked else frozenset()
        out = []
        primal = not self.joint or not self.slopes
        if primal:
            self.joint = False
            out.append(self.primal())
            self.functions.append((self.item, checked))
        if self.slopes:
            out += self.sweeps()
            self.functions += [(f"{self.item}_fwd", checked), (f"{self.item}_rev", frozenset())]
        out.append(self.work())
        self.functions.append((f"{self.label}_work{self.k}", frozenset()))
        if primal:
            out += self.run("primal", "")
        if self.slopes:
            out += self.run("joint" if self.joint else "reverse", "" if self.joint else "_rev")
        return out

    def primal(self) -> str:
        p = self.pair
        alone = prune(Pair(p.name, p.parameters, p.forward, p.results, [], [], [], [], p.kinds, p.constants))
        lines = _Lines(alone, comments=False)
        lines.block(alone.forward, 1)
        return "\n".join([f"def {self.item}({', '.join(p.parameters)}):", *lines.out,
                          f"    return {', '.join(show(e) for e in p.results)}"])

    def sweeps(self) -> list[str]:
        p = self.pair
        forward, back = _Lines(p, comments=False), _Lines(p, comments=True)
        forward.block(p.forward, 1)
        if p.saved:
            back.add(1, f"{listed(p.saved)} = saved")
        if p.reverse:
            back.block(p.reverse, 1)
        outs = ", ".join(show(e) for e in self.numbers.values())
        shadows = [*self.own.values(), *self.spread.values()]
        results = [show(e) for e in p.results]
        y = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return ["\n".join([f"def {self.item}_fwd({', '.join(p.parameters)}):", *forward.out,
                           f"    return {y}, ({listed(p.saved)})" if p.saved else f"    return {y}, ()"]),
                "\n".join([f"def {self.item}_rev({', '.join(['saved', *p.seeds, *shadows])}):", *back.out,
                           f"    return {outs or '0.0'}"])]

    def work(self) -> str:
        """The estimate of the work of all items."""
        given = ", ".join([self.start, self.stop, *self.part.inputs])
        return (f"def {self.label}_work{self.k}({given}):\n"
                f"    # about so many nanoseconds\n"
                f"    return max({self.stop} - {self.start}, 0) * 1.0 * ({self.bounds.work()})")

    def run(self, mode: str, suffix: str) -> list[str]:
        """The chunk, the threads and the entry for one mode: primal, joint (value and slopes), reverse."""
        part, w = self.part, self.local
        shadows = [] if mode == "primal" else [*self.own.values(), *self.spread.values()]
        numbers = [] if mode == "primal" else list(self.numbers)
        seeds = [self.taken.fresh(f"d_{v}") for v in self.seeded] if mode == "reverse" else []
        arrays = part.arrays if mode != "reverse" else []
        sums = [*(self.floats if mode != "reverse" else []), *[f"d_{v}" for v in numbers]]
        ints = self.ints if mode != "reverse" else []
        extra = [*part.inputs, *arrays, *seeds, *shadows]
        kept = [w.sums] if sums else []
        kept += [w.counts] if ints else []
        kept += [w.failed] if self.fails else []
        out = []
        chunk, threads = f"{self.label}_chunk{self.k}{suffix}", f"{self.label}_threads{self.k}{suffix}"
        given = shadows if self.inside else []
        if self.fails:
            out.append(self.guarded(mode, seeds, given, suffix))
            self.functions.append((f"{self.item}{suffix}_try", frozenset()))
        out.append("\n".join(self.chunk(chunk, mode, suffix, extra, kept, sums, ints, numbers, arrays, seeds, given)))
        self.functions.append((chunk, frozenset()))
        if part.threaded:
            spread = list(self.spread.values()) if mode != "primal" else []
            inputs = ", ".join([w.chunks, self.start, w.n, *extra, *kept])
            passed = [f"{x}[{w.c}]" if x in spread else x for x in extra]
            out.append("\n".join([
                f"def {threads}({inputs}):", f"    for {w.c} in prange({w.chunks}):",
                f"        {chunk}({self.range_of()}, {w.c}, {', '.join([*passed, *kept])})"]))
            self.functions.append((threads, frozenset({"threaded"})))
        out.append("\n".join(self.whole(chunk, threads, mode, suffix, extra, kept, sums, ints, seeds, arrays)))
        self.functions.append((f"{self.entry}{suffix}", frozenset()))
        self.entries.append((f"{self.entry}{suffix}", f"{self.label}_work{self.k}"))
        return out

    def range_of(self) -> str:
        w = self.local
        return (f"{self.start} + {w.c} * {w.n} // {w.chunks}, {self.start} + ({w.c} + 1) * {w.n} // {w.chunks}")

    def called(self, mode: str, seeds: list[str], shadows: list[str], given: str) -> tuple[list[str], list[str]]:
        """The lines that run one item, and the names of its results: those of the map, then cotangents."""
        p, w = self.pair, self.local
        inputs = ", ".join([given, *p.parameters[1:]])
        ys = [self.taken.fresh(f"{v}_item") for v in self.part.outputs]
        if mode == "primal":
            return [f"{', '.join(ys)} = {self.item}({inputs})"], ys
        ds = [self.taken.fresh(f"d_{v}_item") for v in self.numbers]
        ones = []
        for v in self.part.outputs:
            if v not in self.seeded:
                ones.append("0.0")
            elif mode == "joint":
                ones.append("1.0")
            else:
                d = seeds[self.seeded.index(v)]
                ones.append(f"{d}[{given}]" if v in self.part.arrays else d)
        y = ys[0] if len(ys) == 1 else f"({', '.join(ys)})"
        back = f"{self.item}_rev({', '.join([w.kept, *ones, *shadows])})"
        lines = [f"{y}, {w.kept} = {self.item}_fwd({inputs})", f"{', '.join(ds)} = {back}" if ds else back]
        return lines, [*(ys if mode == "joint" else []), *ds]

    def guarded(self, mode: str, seeds: list[str], shadows: list[str], suffix: str) -> str:
        """One item; False where it raised."""
        i, rows = self.pair.parameters[0], self.rows if mode != "reverse" else []
        arguments = [i, *self.part.inputs, *rows, *seeds, *shadows]
        lines, names = self.called(mode, seeds, shadows, i)
        blank = ["0" if self.is_int(k, mode) else "0.0" for k in range(len(names))]
        places = {self.part.outputs.index(v): v for v in rows}
        lines += [f"copy_to({v}[{i}], {names[k]})" for k, v in places.items()]
        names, blank = ([x for k, x in enumerate(given) if k not in places] for given in (names, blank))
        return "\n".join([f"def {self.item}{suffix}_try({', '.join(arguments)}):", "    try:", *indented(lines, 2),
                          f"        return {', '.join(['True', *names])}{'' if names else ','}",
                          "    except Exception:",
                          f"        return {', '.join(['False', *blank])}{'' if names else ','}"])

    def is_int(self, k: int, mode: str) -> bool:
        outputs = self.part.outputs if mode != "reverse" else []
        if k >= len(outputs):
            return False
        return self.kinds[outputs[k]].dtype.startswith(("int", "uint"))

    def chunk(self, chunk: str, mode: str, suffix: str, extra: list[str], kept: list[str], sums: list[str],
              ints: list[str], numbers: list[str], arrays: list[str], seeds: list[str], shadows: list[str]
              ) -> list[str]:
        """The items from `first` to `last`."""
        part, w = self.part, self.local
        lines, names = self.called(mode, seeds, shadows, w.i)
        totals = {v: self.taken.fresh(f"{v}_sum") for v in [*sums, *ints]}
        out = [f"def {chunk}({', '.join([w.first, w.last, w.c, *extra, *kept])}):"]
        out += [f"    {totals[v]} = 0.0" for v in sums] + [f"    {totals[v]} = 0" for v in ints]
        out.append(f"    for {w.i} in range({w.first}, {w.last}):")
        out += [f"        {w.i} = natural({w.i})"] if self.counts_up() else []
        if self.fails:
            ok = self.taken.fresh("ok")
            rows = self.rows if mode != "reverse" else []
            got = [y for k, y in enumerate(names) if mode == "reverse" or part.outputs[k:k + 1] not in [[v] for v in rows]]
            call = f"{self.item}{suffix}_try({', '.join([w.i, *part.inputs, *rows, *seeds, *shadows])})"
            out += [f"        {listed([ok, *got])} = {call}", f"        if not {ok}:",
                    f"            {w.failed}[{w.c}] = 1", "            break"]
        else:
            out += indented(lines, 2)
        results = names[:len(part.outputs)] if mode != "reverse" else []
        for v, y in zip(part.outputs if results else [], results, strict=True):
            if v in self.rows:
                out += [] if self.fails else [f"        copy_to({v}[{w.i}], {y})"]
            elif v in arrays or v in totals:
                out.append(f"        {v}[{w.i}] = {y}" if v in part.arrays else f"        {totals[v]} += {y}")
        out += indented(self.accumulated(numbers, names[len(results):], totals), 2)
        out += [f"    {w.sums}[{w.c}, {k}] = {totals[v]}" for k, v in enumerate(sums)]
        out += [f"    {w.counts}[{w.c}, {k}] = {totals[v]}" for k, v in enumerate(ints)]
        return out

    def accumulated(self, numbers: list[str], ds: list[str], totals: dict[str, str]) -> list[str]:
        """What becomes of an item's cotangents."""
        return [f"{totals[f'd_{v}']} += {d}" for v, d in zip(numbers, ds, strict=True)]

    def gradients(self, totals: dict[str, str]) -> tuple[list[str], list[str]]:
        """The cotangents of the map as expressions, in the order of `slopes`, and what is computed for them."""
        return [], [*(totals[f"d_{v}"] for v in self.numbers), *self.own.values(),
                    *[f"summed_chunks({d})" for d in self.spread.values()]]

    def whole(self, chunk: str, threads: str, mode: str, suffix: str, extra: list[str], kept: list[str],
              sums: list[str], ints: list[str], seeds: list[str], arrays: list[str]) -> list[str]:
        """The map: allocation, the chunks by threads or one after the other, and their ordered sum."""
        part, w = self.part, self.local
        out = [f"def {self.entry}{suffix}({', '.join([self.start, self.stop, *part.inputs, *arrays, *seeds])}):",
               f"    {w.n} = max({self.stop} - {self.start}, 0)"]
        if self.bounds.conditions:
            tests = " and ".join(f"({t})" if len(self.bounds.conditions) > 1 else t for t in self.bounds.conditions)
            out += [f"    if {w.n} > 0 and not ({tests}):", "        raise ItemFailed"]
        out += [f"    if {w.n} > 0 and {self.stop} > len({v}):\n        raise ItemFailed" for v in arrays
                if show(part.loop.stop) != show(_first_axis(part.made[v]))]
        spread = self.spread if mode != "primal" else {}
        own = self.own if mode != "primal" else {}
        sizes = " + ".join(f"{v}.size" for v in spread) or "0"
        if part.threaded:
            out += [f"    {w.work} = {self.label}_work{self.k}({', '.join([self.start, self.stop, *part.inputs])})",
                    f"    {w.chunks} = chunk_count({w.n}, {w.work}, {sizes})"]
            out += [f"    {w.chunks} = as_many_as_threads({w.chunks})"] if spread and not self.deterministic else []
        else:
            out.append(f"    {w.chunks} = 1")
        out += [f"    {w.sums} = np.zeros(({w.chunks}, {len(sums)}))"] if sums else []
        out += [f"    {w.counts} = np.zeros(({w.chunks}, {len(ints)}), np.int64)"] if ints else []
        out += [f"    {w.failed} = np.zeros({w.chunks}, np.int64)"] if self.fails else []
        for v, d in own.items():
            out.append(f"    {d} = np.{'empty' if v in self.plain else 'zeros'}_like({v})")
            if v in self.plain and not self.covers(v):
                out.append(f"    clear_around({d}, {self.start}, {self.start} + {w.n})")
        for v, d in spread.items():
            rank = self.kinds[v].ndim      # type: ignore[union-attr]
            shape = ", ".join(f"{v}.shape[{k}]" for k in range(rank))
            out.append(f"    {d} = np.zeros(({w.chunks}, {shape}))")
        serial = [f"for {w.c} in range({w.chunks}):", f"    {chunk}({self.range_of()}, {w.c}, " + ", ".join(
            [*(f"{x}[{w.c}]" if x in spread.values() else x for x in extra), *kept]) + ")"]
        if part.threaded:
            parallel = [f"{threads}({', '.join([w.chunks, self.start, w.n, *extra, *kept])})"]
            if self.bounds.blas:
                parallel = ["limit_blas()", *parallel, "release_blas()"]
            out += [f"    if use_threads({w.work}, {w.chunks}):", *indented(parallel, 2), "    else:",
                    *indented(serial, 2)]
        else:
            out.append(f"    {chunk}({', '.join([self.start, f'{self.start} + {w.n}', '0', *extra, *kept])})")
        out += [f"    if {w.failed}.any():", "        raise ItemFailed"] if self.fails else []
        totals = {v: self.taken.fresh(f"{v}_sum") for v in [*sums, *ints]}
        out += [f"    {totals[v]} = 0.0" for v in sums] + [f"    {totals[v]} = 0" for v in ints]
        if totals:
            out.append(f"    for {w.c} in range({w.chunks}):")
            out += [f"        {totals[v]} += {w.sums}[{w.c}, {k}]" for k, v in enumerate(sums)]
            out += [f"        {totals[v]} += {w.counts}[{w.c}, {k}]" for k, v in enumerate(ints)]
        results = [totals[v] for v in part.sums] if mode != "reverse" else []
        if mode != "primal":
            more, slopes = self.gradients(totals)
            out += indented(more)
            results += slopes
        if results:
            out.append(f"    return {', '.join(results)}")
        return out


def _first_axis(made: Node) -> Node:
    size = made.args[0]
    return size.elts[0] if isinstance(size, gast.Tuple) else size
