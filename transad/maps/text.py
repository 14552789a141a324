"""The text of one map: item, chunk, threads, and the map itself (see `kernels`, and `kernel_entry` for the last)."""
from __future__ import annotations

from transad.emit import _Lines
from transad.ir import Block, Let, expressions, reads, walk
from transad.kinds import FLOAT, Array, Kind
from transad.maps.entry import Entry, Local, Run, indented, listed
from transad.maps.own import only_own, stored_once
from transad.maps.store import Residual, residuals
from transad.names import Names
from transad.nodes import gast
from transad.passes.bounds import Bounds, bare
from transad.passes.kernelize import Map
from transad.passes.prune import prune
from transad.passes.reverse import Pair, reverse
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import versions
from transad.quote import Node, expr, name, show, substitute

Lines_ = list[str]


class Lines(list):      # type: ignore[type-arg]
    """Lines of a function body."""

    def add(self, line: str, depth: int = 0) -> None:
        self.append("    " * depth + line)


def of_numbers(block: Block, kinds: dict[str, Kind]) -> frozenset[str]:
    """The trait of a function that applies NumPy's elementwise functions to numbers only."""
    for s in walk(block):
        for x in (x for e in expressions(s) for x in gast.walk(e) if isinstance(x, gast.Call)):
            if show(x.func).startswith("np.") and any(isinstance(kinds.get(n), Array) for a in x.args for n in bare(a)):
                return frozenset()
    return frozenset({"numbers"})


class Kernel(Entry):
    """One map as text. `slopes`: the inputs that receive a cotangent, in the order in which it is returned."""

    deterministic = True    # the number of chunks depends on sizes only
    inside = True           # an item adds to the cotangents of arrays itself

    def __init__(self, label: str, k: int, part: Map, bounds: Bounds, pair: Pair, wanted: list[str], live: list[str],
                 start: str, stop: str, store: bool = False) -> None:
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
        self.entries: list[tuple[str, str, int]] = []
        self.taken = Names({*self.kinds, *pair.constants, *pair.seeds, "np", "math", start, stop,
                            *(n for s in walk(pair.reverse) for n in reads(s))})
        self.local = Local(*[self.taken.fresh(v) for v in ("n", "c", "i", "first", "last", "chunks", "work", "sums",
                                                            "counts", "failed", "kept")])
        self.shared(wanted)
        self.store = store and bool(self.slopes) and not self.joint
        self.residuals: list[Residual] = residuals(pair, bounds, self.taken) if self.store else []
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

    def forwards(self) -> bool:
        """Whether it is known that no index is negative, so that no two items name one entry."""
        start = self.part.loop.start
        return isinstance(start, gast.Constant) and start.value >= 0

    def counts_up(self) -> bool:
        """Whether no index is negative, by the text or by what was tested before the map."""
        return self.forwards() or f"{self.start} >= 0" in self.bounds.conditions

    # -- functions -------------------------------------------------------------------------------------------------
    def text(self) -> list[str]:
        numbers = of_numbers([*self.pair.forward, *self.pair.reverse], self.kinds)
        checked = numbers | (frozenset({"checked"}) if self.bounds.checked else frozenset())
        if not self.slopes:
            self.joint = False
        out = []
        if not self.joint and not self.store:
            out.append(self.primal())
            self.functions.append((self.item, checked))
        if self.slopes:
            out += self.sweeps()
            self.functions += [(f"{self.item}_fwd", checked), (f"{self.item}_rev", numbers)]
        out.append(self.work())
        self.functions.append((f"{self.label}_work{self.k}", frozenset()))
        out += self.run("joint" if self.joint else "keep" if self.store else "primal", "")
        if self.slopes and not self.joint:
            out += self.run("replay" if self.store else "reverse", "_rev")
        return out

    def primal(self) -> str:
        """The item alone, without records."""
        p = self.pair
        plain = prune(reverse(versions(self.bounds.item), [], Names(self.taken.taken))) if p.taped else prune(
            Pair(p.name, p.parameters, p.forward, p.results, [], [], [], [], p.kinds, p.constants))
        lines = _Lines(plain, comments=False)
        lines.block(plain.forward, 1)
        return "\n".join([f"def {self.item}({', '.join(p.parameters)}):", *lines.out,
                          f"    return {', '.join(show(e) for e in plain.results)}"])

    def sweeps(self) -> list[str]:
        """The two sweeps of an item. With `store` they share arrays, else what the first one saves."""
        p = self.pair
        forward, back = _Lines(p, comments=False), _Lines(p, comments=True)
        forward.block(p.forward, 1)
        if p.reverse:
            back.block(p.reverse, 1)
        outs = ", ".join(show(e) for e in self.numbers.values())
        seeds = [*p.seeds, *self.own.values(), *self.spread.values()]
        results = [show(e) for e in p.results]
        y = results[0] if len(results) == 1 else f"({', '.join(results)})"
        if not self.store:
            given, taken = p.parameters, ["saved", *seeds]
            begun, ended = [], []
            opened = [f"{listed(p.saved)} = saved"] if p.saved else []
            y += f", ({listed(p.saved)})" if p.saved else ", ()"
        else:
            at = self.place(p.parameters[0])
            given, taken = [*p.parameters, *self.keeps(True)], [*p.parameters, *self.keeps(False), *seeds]
            begun, ended = ([x for r in self.residuals for x in part(r, at)] for part in (Residual.begun, Residual.ended))
            opened = [f"{r.name} = {r.read(at)}" for r in self.residuals]
        return ["\n".join([f"def {self.item}_fwd({', '.join(given)}):", *indented(begun), *forward.out, *indented(ended),
                           f"    return {y}"]),
                "\n".join([f"def {self.item}_rev({', '.join(taken)}):", *indented(opened), *back.out,
                           f"    return {outs or '0.0'}"])]

    def place(self, i: str) -> str:
        """Where the residuals of an item are."""
        return i if show(self.part.loop.start) == "0" else f"{i} - {self.start}"

    def keeps(self, forwards: bool) -> list[str]:
        """What an item is given of the residuals."""
        kept = [v for r in self.residuals for v in (r.lists if forwards and r.varies else r.kept)]
        return kept if show(self.part.loop.start) == "0" else [self.start, *kept]

    def work(self) -> str:
        """The estimate of the work of all items."""
        given = ", ".join([self.start, self.stop, *self.part.inputs])
        each = self.bounds.work()
        return (f"def {self.label}_work{self.k}({given}):\n"
                f"    # about so many nanoseconds\n"
                f"    return max({self.difference()}, 0.0) * {each if each.isdigit() else f'({each})'}")

    def difference(self) -> str:
        """The number of items where there are any."""
        return self.stop if show(self.part.loop.start) == "0" else f"{self.stop} - {self.start}"

    def run(self, mode: str, suffix: str) -> list[str]:
        """The chunk, the threads and the entry for one run of the map (see `Run`)."""
        part, w = self.part, self.local
        r = self.planned(mode, suffix)
        out = []
        if self.fails:
            out.append(self.guarded(r))
            self.functions.append((f"{self.item}{suffix}_try", frozenset()))
        out.append("\n".join(self.chunk(r)))
        self.functions.append((r.chunk, frozenset()))
        if part.threaded:
            spread = list(self.spread.values()) if r.slopes else []
            inputs = ", ".join(dict.fromkeys([w.chunks, self.start, w.n, *r.extra, *r.kept]))
            passed = [f"{x}[{w.c}]" if x in spread else x for x in r.extra]
            out.append("\n".join([
                f"def {r.threads}({inputs}):", f"    for {w.c} in prange({w.chunks}):",
                f"        {r.chunk}({self.range_of()}, {w.c}, {', '.join([*passed, *r.kept])})"]))
            self.functions.append((r.threads, frozenset({"threaded"})))
        out.append("\n".join(self.whole(r)))
        self.functions.append((f"{self.entry}{suffix}", frozenset()))
        kept = len([v for v in r.stored if v != self.start]) if mode == "keep" else 0
        self.entries.append((f"{self.entry}{suffix}", f"{self.label}_work{self.k}", kept))
        return out

    def planned(self, mode: str, suffix: str) -> Run:
        """What one run of the map is given, and what comes of it."""
        part, w = self.part, self.local
        values, slopes = mode in ("primal", "joint", "keep"), mode in ("joint", "reverse", "replay")
        numbers = list(self.numbers) if slopes else []
        sums = [*(self.floats if values else []), *[f"d_{v}" for v in numbers]]
        ints = self.ints if values else []
        kept = [w.sums] if sums else []
        kept += [w.counts] if ints else []
        kept += [w.failed] if self.fails else []
        return Run(mode, suffix, values, slopes, f"{self.label}_chunk{self.k}{suffix}", f"{self.label}_threads{self.k}{suffix}",
                   part.arrays if values else [], [] if values else [self.taken.fresh(f"d_{v}") for v in self.seeded],
                   [*self.own.values(), *self.spread.values()] if slopes else [], numbers, sums, ints, part.inputs,
                   [*self.origin(), *(v for x in self.residuals for v in x.kept)] if mode in ("keep", "replay") else [], kept)

    def origin(self) -> list[str]:
        """The first index, where items need it to find their residuals."""
        return [] if show(self.part.loop.start) == "0" else [self.start]

    def range_of(self) -> str:
        w = self.local
        return (f"{self.start} + {w.c} * {w.n} // {w.chunks}, {self.start} + ({w.c} + 1) * {w.n} // {w.chunks}")

    def called(self, r: Run, given: str) -> tuple[list[str], list[str]]:
        """The lines that run one item, and the names of its results: those of the map, then cotangents."""
        p, w = self.pair, self.local
        inputs = ", ".join([given, *p.parameters[1:]])
        ys = [self.taken.fresh(f"{v}_item") for v in self.part.outputs]
        if r.mode == "primal":
            return [f"{', '.join(ys)} = {self.item}({inputs})"], ys
        y = ys[0] if len(ys) == 1 else f"({', '.join(ys)})"
        if r.mode == "keep":
            return [f"{', '.join(ys)} = {self.item}_fwd({', '.join([inputs, *self.keeps(True)])})"], ys
        ds = [self.taken.fresh(f"d_{v}_item") for v in self.numbers]
        ones = []
        for v in self.part.outputs:
            if v not in self.seeded:
                ones.append("0.0")
            elif r.mode == "joint":
                ones.append("1.0")
            else:
                d = r.seeds[self.seeded.index(v)]
                ones.append(f"{d}[{given}]" if v in self.part.arrays else d)
        first = [inputs, *self.keeps(False)] if r.mode == "replay" else [w.kept]
        back = f"{self.item}_rev({', '.join([*first, *ones, *(r.shadows if self.inside else [])])})"
        lines = [] if r.mode == "replay" else [f"{y}, {w.kept} = {self.item}_fwd({inputs})"]
        lines.append(f"{', '.join(ds)} = {back}" if ds else back)
        return lines, [*(ys if r.mode == "joint" else []), *ds]

    def guarded(self, r: Run) -> str:
        """One item; False where it raised."""
        i, rows = self.pair.parameters[0], self.rows if r.values else []
        lines, names = self.called(r, i)
        blank = ["0" if self.is_int(k, r) else "0.0" for k in range(len(names))]
        places = {self.part.outputs.index(v): v for v in rows}
        lines += [f"copy_to({v}[{i}], {names[k]})" for k, v in places.items()]
        names, blank = ([x for k, x in enumerate(given) if k not in places] for given in (names, blank))
        return "\n".join([f"def {self.item}{r.suffix}_try({', '.join([i, *self.tried(r)])}):", "    try:", *indented(lines, 2),
                          f"        return {', '.join(['True', *names])}{'' if names else ','}",
                          "    except Exception:",
                          f"        return {', '.join(['False', *blank])}{'' if names else ','}"])

    def tried(self, r: Run) -> list[str]:
        """The arguments of a guarded item after its index."""
        return [*self.part.inputs, *(self.keeps(r.values) if r.mode in ("keep", "replay") else []),
                *(self.rows if r.values else []), *r.seeds, *(r.shadows if self.inside else [])]

    def is_int(self, k: int, r: Run) -> bool:
        outputs = self.part.outputs if r.values else []
        if k >= len(outputs):
            return False
        return self.kinds[outputs[k]].dtype.startswith(("int", "uint"))

    def chunk(self, r: Run) -> list[str]:
        """The items from `first` to `last`."""
        part, w = self.part, self.local
        lines, names = self.called(r, w.i)
        totals = {v: self.taken.fresh(f"{v}_sum") for v in [*r.sums, *r.ints]}
        out = [f"def {r.chunk}({', '.join([w.first, w.last, w.c, *r.extra, *r.kept])}):"]
        out += [f"    {totals[v]} = 0.0" for v in r.sums] + [f"    {totals[v]} = 0" for v in r.ints]
        out += indented([x for s in self.residuals for x in s.opened()] if r.mode == "keep" else [])
        out.append(f"    for {w.i} in range({w.first}, {w.last}):")
        out += [f"        {w.i} = natural({w.i})"] if self.counts_up() else []
        if self.fails:
            ok = self.taken.fresh("ok")
            rows = self.rows if r.values else []
            got = [y for k, y in enumerate(names) if not r.values or part.outputs[k:k + 1] not in [[v] for v in rows]]
            call = f"{self.item}{r.suffix}_try({', '.join([w.i, *self.tried(r)])})"
            out += [f"        {listed([ok, *got])} = {call}", f"        if not {ok}:",
                    f"            {w.failed}[{w.c}] = 1", "            break"]
        else:
            out += indented(lines, 2)
        results = names[:len(part.outputs)] if r.values else []
        for v, y in zip(part.outputs if results else [], results, strict=True):
            if v in self.rows:
                out += [] if self.fails else [f"        copy_to({v}[{w.i}], {y})"]
            elif v in r.arrays or v in totals:
                out.append(f"        {v}[{w.i}] = {y}" if v in part.arrays else f"        {totals[v]} += {y}")
        out += indented(self.accumulated(r.numbers, names[len(results):], totals), 2)
        out += [f"    {w.sums}[{w.c}, {k}] = {totals[v]}" for k, v in enumerate(r.sums)]
        out += [f"    {w.counts}[{w.c}, {k}] = {totals[v]}" for k, v in enumerate(r.ints)]
        return out + indented([x for s in self.residuals for x in s.closed(w.c)] if r.mode == "keep" else [])

    def accumulated(self, numbers: list[str], ds: list[str], totals: dict[str, str]) -> list[str]:
        """What becomes of an item's cotangents."""
        return [f"{totals[f'd_{v}']} += {d}" for v, d in zip(numbers, ds, strict=True)]

    def gradients(self, totals: dict[str, str]) -> tuple[list[str], list[str]]:
        """The cotangents of the map as expressions, in the order of `slopes`, and what is computed for them."""
        return [], [*(totals[f"d_{v}"] for v in self.numbers), *self.own.values(),
                    *[f"summed_chunks({d})" for d in self.spread.values()]]
