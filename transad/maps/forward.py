"""The text of a map whose items are differentiated forwards (see `kernel_text` for the rest of it).

`f_item0_slopes` gives the results of an item and its slope in each lane (`passes.forward.lanes`), without a tape. The
slopes of shared numbers are added up for each chunk, those of an item's own elements are stored.
"""
from __future__ import annotations

from transad.kinds import FLOAT, Array
from transad.maps.entry import Run
from transad.maps.text import Kernel, of_numbers
from transad.names import Names
from transad.nodes import gast
from transad.passes.bounds import Bounds
from transad.passes.forward import push
from transad.passes.forward.lanes import Lane, item_lanes
from transad.passes.forward.push import Push
from transad.passes.forward.text import _lines
from transad.passes.forward.tidy import tidy
from transad.passes.kernelize import Map
from transad.passes.reverse import Pair
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import versions
from transad.quote import Node, name, names_in, show, substitute

FEW = 8                 # lanes up to which an item is differentiated forwards where the reverse sweep would keep a tape


class ForwardKernel(Kernel):
    """A map with one differentiated sum, in one forward sweep of each item."""

    inside = False

    def __init__(self, label: str, k: int, part: Map, bounds: Bounds, pair: Pair, wanted: list[str], live: list[str],
                 start: str, stop: str, lanes: list[Lane], sweep: Push) -> None:
        self.lanes, self.sweep = lanes, sweep
        self.inputs = [p for p in sweep.parameters if p in _read(sweep)]
        super().__init__(label, k, part, bounds, pair, wanted, live, start, stop)

    def shared(self, wanted: list[str]) -> None:
        """Sort the lanes: slopes of shared numbers and elements are added up, those of own elements are stored."""
        self.taken.taken |= set(self.sweep.kinds)
        place = self.part.outputs.index(self.live[0])
        slopes = [(lane, row[place]) for lane, row in zip(self.lanes, self.sweep.tangents, strict=True)
                  if not (isinstance(row[place], gast.Constant) and row[place].value == 0)]
        self.numbers: dict[str, Node] = {lane.name: t for lane, t in slopes if not lane.own}
        self.stored = [(lane, t) for lane, t in slopes if lane.own]
        self.elements = [lane for lane, _ in slopes if lane.items and not lane.own]
        self.own: dict[str, str] = {lane.input: "" for lane, _ in self.stored}
        self.own = {v: self.taken.fresh(f"d_{v}") for v in self.own}
        self.spread, self.plain = {}, set[str]()
        for v in self.own:
            rows = [lane for lane, _ in self.stored if lane.input == v]
            self.from_zero(next(x for x in rows[0].items if self.pair.parameters[0] in names_in(x)))
            if len(rows) == 1 and len(rows[0].items) == 1 and isinstance(rows[0].items[0], gast.Name) and (
                    self.covers(v) or self.forwards()):
                self.plain.add(v)
        arrays = dict.fromkeys([*self.own, *(lane.input for lane in self.elements)])
        self.slopes = [*(lane.input for lane, _ in slopes if not lane.items), *arrays]
        self.arrays = list(arrays)

    def text(self) -> list[str]:
        checked = of_numbers(self.sweep.body, self.sweep.kinds) | (
            frozenset({"checked"}) if self.bounds.checked else frozenset())
        self.functions += [(f"{self.item}_slopes", checked), (f"{self.label}_work{self.k}", frozenset())]
        return [self.item_text(), self.work(), *self.run("joint", "")]

    def item_text(self) -> str:
        p = self.sweep
        outs = [show(e) for e in [*p.results, *self.numbers.values(), *(t for _, t in self.stored)]]
        return "\n".join([f"def {self.item}_slopes({', '.join(self.inputs)}):", *_lines(p.body, p.kinds, 1),
                          f"    return {', '.join(outs)}"])

    def called(self, r: Run, given: str) -> tuple[list[str], list[str]]:
        passed = {lane.name: show(self.at(lane.argument, given)) for lane in self.lanes if lane.items}
        passed[self.pair.parameters[0]] = given
        names = [self.taken.fresh(f"{v}_item") for v in self.part.outputs]
        names += [self.taken.fresh(f"d_{v}_item") for v in [*self.numbers, *(lane.name for lane, _ in self.stored)]]
        return [f"{', '.join(names)} = {self.item}_slopes({', '.join(passed.get(p, p) for p in self.inputs)})"], names

    def at(self, e: Node, given: str) -> Node:
        """The expression for the item of the index `given`."""
        own = self.pair.parameters[0]
        return substitute(e, lambda n: name(given) if n.id == own else None)

    def accumulated(self, numbers: list[str], ds: list[str], totals: dict[str, str]) -> list[str]:
        out = super().accumulated(numbers, ds[:len(numbers)], totals)
        for (lane, _), d in zip(self.stored, ds[len(numbers):], strict=True):
            items = ", ".join(show(self.at(x, self.local.i)) for x in lane.items)
            out.append(f"{self.own[lane.input]}[{items}] {'' if lane.input in self.plain else '+'}= {d}")
        return out

    def gradients(self, totals: dict[str, str]) -> tuple[list[str], list[str]]:
        made = self.own | {v: self.taken.fresh(f"d_{v}") for v in self.arrays if v not in self.own}
        lines = [f"{made[v]} = np.zeros_like({v})" for v in self.arrays if v not in self.own]
        lines += [f"{made[lane.input]}[{', '.join(show(x) for x in lane.items)}] += {totals[f'd_{lane.name}']}"
                  for lane in self.elements]
        whole = [totals[f"d_{v}"] for v in self.slopes if not isinstance(self.kinds[v], Array)]
        if self.elements:           # with no items there may be no such element
            lines = [x for x in lines if "+=" not in x] + [f"if {self.local.n} > 0:"] + [
                f"    {x}" for x in lines if "+=" in x]
        return lines, [*whole, *(made[v] for v in self.arrays)]


def forward_kernel(label: str, k: int, part: Map, bounds: Bounds, pair: Pair, wanted: list[str], live: list[str],
                   start: str, stop: str, stopped: set[str], names: Names, most: int = FEW) -> ForwardKernel | None:
    """The map with forward sweeps, where one sum is differentiated with respect to at most `most` numbers an item."""
    if len(live) != 1 or live[0] not in part.sums:
        return None
    found = item_lanes(bounds.item, wanted, Names(names.taken), bounds.own_indices())
    if found is None or not 0 < len(found.lanes) <= most:
        return None
    try:
        sweep = push(versions(found.program), [[lane.name] for lane in found.lanes],
                     Names({*names.taken, *found.program.kinds}), stopped, unit=True, of=part.outputs.index(live[0]))
    except NotTyped:
        return None
    if sweep.writes:
        return None
    outs = [*sweep.results, *(t for row in sweep.tangents for t in row)]
    floats = {v for v, k in sweep.kinds.items() if k == FLOAT}
    sweep.body, outs = tidy(sweep.body, outs, sweep.parameters, floats, users=False)
    n = len(sweep.results)
    sweep.results, sweep.tangents = outs[:n], [outs[n * k:n * (k + 1)] for k in range(1, len(sweep.tangents) + 1)]
    kernel = ForwardKernel(label, k, part, bounds, pair, wanted, live, start, stop, found.lanes, sweep)
    return kernel if kernel.slopes else None


def _read(sweep: Push) -> set[str]:
    from transad.ir import reads, walk
    tangents = [t for row in sweep.tangents for t in row]
    return {n for s in walk(sweep.body) for n in reads(s)} | {n for e in [*sweep.results, *tangents] for n in names_in(e)}
