"""Maps as kernels: the parts that `passes.kernelize` found, each with its own sweeps, put together in one module.

Of every map the module holds the item (`f_item0`, its sweeps `f_item0_fwd` and `f_item0_rev`), a chunk of items, the
chunks run by threads, and the map itself. The number of chunks depends on sizes only, every chunk adds up what its
items contribute to shared values, and the chunks are added in order: the same bits at any number of threads.

A map whose only derivative goes through one sum runs once: its gradient for a cotangent of one is made together with
its value, and scaled afterwards. Any other map is run again in the reverse sweep, with the cotangents of its results;
with `store` backwards only, from what the forward sweep has kept of every item (`kernel_store`).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from transad.emit import _Lines
from transad.emit import emit as emit_pair
from transad.ir import Block, For, If, Program, Store, While, expressions, walk
from transad.kinds import FLOAT, Array, Kind, Scalar
from transad.maps.entry import indented, listed
from transad.maps.forward import forward_kernel
from transad.maps.text import Kernel, Lines
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import activity, carriers, carries
from transad.passes.bounds import Bounds
from transad.passes.branches import flattened
from transad.passes.distinct import distinct
from transad.passes.divide import divided
from transad.passes.duals import hidden
from transad.passes.kernelize import Map, Straight, kernelize, worth_fusing
from transad.passes.prune import prune
from transad.passes.regions import regions
from transad.passes.reverse import Pair, reverse
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import versions
from transad.quote import name, names_in, show

_SMALL = 12.0           # nanoseconds of an item below which a map is left to the ordinary path without jit


def _large(part: Map) -> bool:
    """Whether an item is worth a kernel in a function that is run by Python."""
    bounds = Bounds(part.item, name("start"), name("stop"))
    fixed, inner = bounds.cost(part.item.body)
    whole = any(isinstance(n, gast.BinOp) and isinstance(n.op, gast.FloorDiv | gast.Mod) and not (
        isinstance(n.right, gast.Constant) and n.right.value) for s in walk(part.item.body)
        for e in expressions(s) for n in gast.walk(e))        # compiled, these give 0 where Python raises
    return (fixed >= _SMALL or bool(inner)) and not whole


class NoKernel(Exception):
    """The program is not worth, or not capable of, being cut into maps."""


@dataclass
class Chain:
    """A module of several sweeps, where `Pair` is one of two. `functions`: what is compiled, callees first, with the
    flags `threaded` and `checked`; `maps`: the entry of each map,
    its estimate of the work, and how many of its results are for its reverse sweep alone."""

    name: str
    parameters: list[str]
    constants: dict[str, Any]
    text: str
    functions: list[tuple[str, frozenset[str]]]
    maps: list[tuple[str, str, int]]
    threaded: bool
    writes: bool = False
    notes: list[str] = field(default_factory=list)


def chain(program: Program, wanted: Sequence[str], names: Names, stopped: set[str], jit: bool,
          mode: str = "auto", deterministic: bool = True, store: bool = False) -> Chain | None:
    """The program as a chain of kernels, or None where the ordinary pair does as well or is needed.

    mode   "reverse": items are differentiated backwards also where few lanes forwards would need no tape
    store  what the reverse sweep reads of the items is kept, not computed again"""
    fresh = Names(names.taken)
    program, parts = parts_of(program, fresh, jit)
    if parts is None or _redefined(parts, program):
        return None
    try:
        made = _Chain(program, parts, list(wanted), stopped, jit, mode)
        made.deterministic, made.store = deterministic, store
        return made.built()
    except (NoKernel, NotTyped):
        return None


def parts_of(program: Program, names: Names, jit: bool, notes: list[tuple[For, str]] | None = None
             ) -> tuple[Program, list[Straight | Map] | None]:
    """The program brought to the form in which most maps are found, and its parts (see `kernelize`)."""
    def worth(part: Map) -> bool:
        return worth_fusing(part.loop) if jit else _large(part)
    program = distinct(flattened(program, names), names)
    new = divided(program, names, worth)
    program = program if new is program else distinct(new, names)
    return program, kernelize(program, names, every=jit, worth=None if jit else _large, notes=notes)


def _redefined(parts: list[Straight | Map], program: Program) -> bool:
    """Whether a part reads a variable that it or a later part gives another value, but for adding to a sum."""
    for k, part in enumerate(parts[:-1]):           # what the last part assigns is its own
        known = {*program.parameters, *(o for p in parts[:k] for o in p.outputs)}
        for v in set(part.outputs) & known:
            added = isinstance(part, Map) and v in part.sums and show(part.starts[v]) == v
            readers = [p.reads() if isinstance(p, Map) else set(p.inputs) for p in parts[:k + 1]]
            if added and isinstance(part, Map):
                readers[k] = {n for e in [part.loop.start, part.loop.stop, *part.made.values()] for n in names_in(e)}
                readers[k] |= set(part.inputs)
                readers[:k] = [r - {v} if isinstance(p, Map) and v in p.sums and v not in p.inputs else r
                               for p, r in zip(parts[:k], readers, strict=False)]
            if any(v in r for r in readers) or not added:
                return True
    return False


@dataclass
class _Stage:
    """A part with its text and what it takes and gives."""

    inputs: list[str]
    outputs: list[str]
    active: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)


class _Chain:
    def __init__(self, program: Program, parts: list[Straight | Map], wanted: list[str], stopped: set[str],
                 jit: bool, mode: str) -> None:
        self.program, self.parts, self.wanted, self.stopped, self.jit = program, parts, wanted, stopped, jit
        self.mode, self.deterministic, self.store = mode, True, False
        self.label = program.name
        self.active = {w for w in wanted if carries(program.kinds.get(w))}
        self.names = Names({*program.kinds, *program.constants, *program.parameters, "np", "math", "saved"})
        self.chunks: list[str] = []
        self.functions: list[tuple[str, frozenset[str]]] = []
        self.maps: list[tuple[str, str, int]] = []
        self.forward, self.saved = Lines(), list[str]()
        self.backward: list[tuple[Lines, Lines]] = []
        self.cotangents: dict[str, list[str]] = {}
        self.seeds: list[str] = []
        self.results = ""
        self.threaded = False

    def built(self) -> Chain:
        plans = [self.straight(part, k) if isinstance(part, Straight) else self.map(part, k)
                 for k, part in enumerate(self.parts)]
        for plan in reversed(plans):
            if plan is not None:
                self.backward.append((self.lines(plan, joint=False), self.lines(plan, joint=True)))
        label, parameters = self.label, ", ".join(self.program.parameters)
        zeros = [w for w in self.wanted if w not in self.cotangents and isinstance(self.program.kinds[w], Array)]
        self.saved += [w for w in zeros if w not in self.saved]
        outs = [self.total(w) if w in self.cotangents else f"np.zeros_like({w})" if w in zeros else "0.0"
                for w in self.wanted]
        returned = ", ".join(outs) if len(outs) == 1 else f"({', '.join(outs)})"
        saved = list(dict.fromkeys(self.saved))
        unpacked = [f"    {listed(saved)} = saved"] if saved else []
        seeds = ", ".join(self.seeds)
        driver = [
            f"def {label}_fwd({parameters}):", *indented(self.forward), f"    return {self.results}, ({listed(saved)})",
            "", "", f"def {label}_rev(saved, {seeds}):", *unpacked,
            *[x for plain, _ in self.backward for x in indented(plain)], f"    return {returned}", "", "",
            f"def {label}_joint({parameters}):", *indented(self.forward), *[f"    {s} = 1.0" for s in self.seeds],
            *[x for _, joint in self.backward for x in indented(joint)], f"    return {self.results}, {returned}"]
        text = "\n\n\n".join([*self.chunks, "\n".join(driver)]) + "\n"
        self.functions += [(f"{label}_{part}", frozenset()) for part in ("fwd", "rev", "joint")]
        return Chain(label, self.program.parameters, self.program.constants, text, self.functions, self.maps,
                     self.threaded)

    def lines(self, plan: Any, joint: bool) -> Lines:
        """The reverse of a stage; cotangents are registered once, by the plain form, which is made first."""
        return plan(joint)

    def contribute(self, v: str, contribution: str, joint: bool) -> None:
        if not joint:
            self.cotangents.setdefault(v, []).append(contribution)

    def total(self, v: str) -> str:
        """The cotangent of a variable: the sum of what later parts contribute."""
        first, *rest = self.cotangents[v]
        if not isinstance(self.program.kinds[v], Array):
            return " + ".join([first, *rest])
        for d in rest:
            first = f"added({first}, {d})"
        return first

    # -- straight parts -------------------------------------------------------------------------------------------
    def straight(self, part: Straight, k: int) -> Any:
        last = k == len(self.parts) - 1
        if not part.body and (not last or all(isinstance(e, gast.Name) for e in self.program.results)):
            return self.direct() if last else None
        label = f"{self.label}_part{k}"
        results = self.program.results if last else [name(o) for o in part.outputs]
        inputs = part.inputs
        if last:
            inputs = sorted({*inputs, *(n for e in results for n in names_in(e) if n in self.program.kinds
                                        and not _assigned_in(n, part.body))})
        sub = Program(label, inputs, part.body, results, self.program.kinds, self.program.constants,
                      self.program.filename)
        wanted = [v for v in inputs if v in self.active]
        flags = self.activity(sub, wanted)
        wanted = wanted if any(flags) else []
        pair = prune(reverse(versions(sub), wanted, Names(self.names.taken), self.stopped))
        if pair.writes:
            raise NoKernel
        text = emit_pair(pair)
        self.chunks.append(text.partition(f"def {label}_joint(")[0].rstrip() if wanted
                           else text.partition(f"def {label}_rev(")[0].rstrip())
        self.functions += [(f"{label}_{p}", frozenset()) for p in (("fwd", "rev") if wanted else ("fwd",))]
        saved = {v: self.names.fresh(v) for v in pair.saved}
        outs = part.outputs
        if last:
            outs = [self.names.fresh("y") for _ in results]
            self.results = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
            self.seeds = [self.names.fresh(f"d_{y}") for y in outs]
        made = outs[0] if len(outs) == 1 else f"({', '.join(outs)})" if outs else self.names.fresh("nothing")
        kept = f"({listed(list(saved.values()))})" if saved else self.names.fresh("nothing")
        self.forward.add(f"{made}, {kept} = {label}_fwd({', '.join(inputs)})")
        if not last:
            self.active |= {o for o, flag in zip(outs, flags, strict=True) if flag}
        if not wanted:
            return None
        self.saved += saved.values()

        def back(joint: bool) -> Lines:
            seeds = self.seeds if last else [self.total(o) if o in self.cotangents else self.zero(o) for o in outs]
            new = [back.names.setdefault(v, self.names.fresh(f"d_{v}")) for v in wanted]
            for v, d in zip(wanted, new, strict=True):
                self.contribute(v, d, joint)
            return Lines([f"{', '.join(new)} = {label}_rev(({listed(list(saved.values()))}), {', '.join(seeds)})"])
        back.names = {}      # type: ignore[attr-defined]
        return back

    def direct(self) -> Any:
        """The results are variables of earlier parts."""
        labels = [e.id for e in self.program.results]
        self.results = labels[0] if len(labels) == 1 else f"({', '.join(labels)})"
        self.seeds = [self.names.fresh(f"d_{v}") for v in labels]

        def back(joint: bool) -> Lines:
            for v, d in zip(labels, self.seeds, strict=True):
                if v in self.active:
                    self.contribute(v, d, joint)
            return Lines()
        return back

    def zero(self, v: str) -> str:
        kind = self.program.kinds[v]
        if not isinstance(kind, Array):
            return "0.0"
        self.saved.append(v)
        return f"np.zeros_like({v})" if kind.real else f"np.zeros({v}.shape)"

    def activity(self, sub: Program, wanted: list[str]) -> list[bool]:
        """Which results depend on the variables that are differentiated."""
        p = versions(sub)
        active = activity(p, regions(p), {f"{w}@0" for w in wanted}, self.stopped)
        kinds = {f"{k}": v for k, v in sub.kinds.items()}
        return [bool(set(carriers(e)) & active) and not (isinstance(e, gast.Name) and not carries(
            kinds.get(e.id.split("@")[0]))) for e in p.results]

    # -- maps -----------------------------------------------------------------------------------------------------
    def map(self, part: Map, k: int) -> Any:
        item = part.item
        item = Program(f"{self.label}_item{k}", item.parameters, item.body, item.results, item.kinds, item.constants,
                       item.filename)
        start, stop = self.names.fresh("start"), self.names.fresh("stop")
        bounds = Bounds(item, name(start), name(stop))
        wanted = [v for v in part.inputs if v in self.active]
        flags = self.activity(item, wanted)
        outputs = part.outputs
        live = [o for o, flag in zip(outputs, flags, strict=True) if flag]
        if any(item.kinds[v] != FLOAT and not (isinstance(item.kinds[v], Array) and item.kinds[v].dtype == "float64")
               for v in [*wanted, *live]):
            raise NoKernel
        pair = prune(reverse(versions(item), wanted if live else [], Names(self.names.taken), self.stopped))
        if pair.writes:
            raise NoKernel
        given = (self.label, k, part, bounds, pair, wanted if live else [], live, start, stop)
        kernel = None
        marked = hidden(item.body)
        if part.threaded and (pair.taped or marked) and self.mode != "reverse":
            kernel = forward_kernel(*given, self.stopped - marked, self.names)
        kernel = kernel or Kernel(*given, store=self.store or part.loop.store)
        kernel.deterministic = self.deterministic
        self.chunks += kernel.text()
        self.functions += kernel.functions
        self.maps += kernel.entries
        self.threaded |= part.threaded
        self.active |= set(live)
        for a, made in part.made.items():
            self.forward.add(f"{a} = {show(made)}")
        return self.called(part, kernel, wanted, live)

    def called(self, part: Map, kernel: Kernel, wanted: list[str], live: list[str]) -> Any:
        """The call of a map, and of its reverse."""
        bounds = [show(part.loop.start), show(part.loop.stop)]
        given = [*bounds, *part.inputs, *part.arrays]
        units = {v: self.names.fresh(f"slope_{v}") for v in kernel.slopes} if kernel.joint else {}
        later = {v: self.names.fresh(v) for v in part.sums if show(part.starts[v]) == v}
        kept = {v: self.names.fresh(v) for x in kernel.residuals for v in x.kept}
        outs = [*(later.get(v, v) for v in part.sums), *kept.values(), *units.values()]
        target = f"{', '.join(outs)} = " if outs else ""
        self.forward.add(f"{target}{kernel.entry}({', '.join(given)})")
        for v in part.sums:
            if v in later:
                self.forward.add(f"{v} = {v} + {later[v]}")
            elif part.starts[v].value != 0:
                self.forward.add(f"{v} += {show(part.starts[v])}")
        if not live:
            return None
        if kernel.joint:
            self.saved += units.values()
        else:
            self.saved += [*self.variables([part.loop.start, part.loop.stop]), *part.inputs, *kept.values()]

        def back(joint: bool) -> Lines:
            out = Lines()
            missing = all(o not in self.cotangents for o in live)
            if missing:
                return out
            if kernel.joint:
                seed = self.total(live[0])
                for v, unit in units.items():
                    d = back.names.setdefault(v, self.names.fresh(f"d_{v}"))
                    array = isinstance(self.program.kinds[v], Array)
                    out.add(f"{d} = {'scaled_array' if array else 'scaled'}({seed}, {unit})" if not (joint and array)
                            else f"{d} = scaled_in_place({seed}, {unit})")
                    self.contribute(v, d, joint)
                return out
            seeds = [self.total(o) if o in self.cotangents else self.zero(o) for o in kernel.seeded]
            new = [back.names.setdefault(v, self.names.fresh(f"d_{v}")) for v in kernel.slopes]
            for v, d in zip(kernel.slopes, new, strict=True):
                self.contribute(v, d, joint)
            if new:
                passed = ", ".join([*bounds, *part.inputs, *kept.values(), *seeds])
                out.add(f"{', '.join(new)} = {kernel.entry}_rev({passed})")
            return out
        back.names = {}      # type: ignore[attr-defined]
        return back

    def variables(self, nodes: list[Any]) -> list[str]:
        return [n for e in nodes for n in names_in(e) if n in self.program.kinds]


def _assigned_in(v: str, block: Block) -> bool:
    from transad.ir import assigned
    return v in assigned(block)


__all__ = ["Chain", "For", "If", "Kind", "Pair", "Scalar", "Store", "While", "_Lines", "chain", "expressions", "walk"]
