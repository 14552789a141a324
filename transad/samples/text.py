"""The text of a loop over samples: each sample's value and gradient, written where they belong.

A chunk of samples has its own buffers; the loops over whole arrays go along them (see `passes.buffers`), and the shadow
of a differentiated array is the sample's row of the result. A sample that fails (an index out of range, a raise) leaves
its number in `failed` and ends its chunk.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.emit import _Lines
from transad.ir import Block, Do, Exit, For, If, Let, Store, While, assigned, expressions, walk
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.buffer_names import assigned_once, one_name_each
from transad.passes.buffers import Buffers
from transad.passes.reverse import Pair
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, expr, name, names_in, show
from transad.runtime.vector_math import available


@dataclass
class SampleText:
    """`functions`: what is compiled, with flags; `equal`: lengths that must agree, over the shapes of one sample's
    arguments. `serial` takes (first, last, chunk, the parameters, rows of each gradient, the values, failed) and `wide`
    (n, chunks, the parameters ...); both leave the first sample of a chunk that failed in `failed[chunk]`."""

    text: str
    serial: str
    wide: str
    functions: list[tuple[str, frozenset[str]]]
    equal: list[tuple[str, str]]
    fused: bool
    left: int = 0
    rows: list[str] = field(default_factory=list)
    vector: list[str] = field(default_factory=list)         # functions that it calls as `vector_...`
    filled: list[str] = field(default_factory=list)         # lengths that must not be zero


def sample_text(pair: Pair, wanted: list[str], mapped: set[str], fuse: bool) -> SampleText:
    """The module that runs `pair` for each sample.

    wanted   the parameters whose gradients are written, in the order of the pair's cotangents
    mapped   the parameters with one entry for each sample
    fuse     whole-array statements become loops over buffers, where their lengths agree"""
    return _Sample(pair, wanted, mapped, fuse).made()


class _Sample:
    def __init__(self, pair: Pair, wanted: list[str], mapped: set[str], fuse: bool) -> None:
        self.pair, self.wanted, self.mapped, self.fuse = pair, wanted, mapped, fuse
        if pair.writes:
            raise NotTyped("the function writes into its arguments")
        every = [*pair.forward, *pair.reverse]
        taken = {*pair.kinds, *pair.constants, *pair.parameters, *pair.seeds, "np", "math", "failed"}
        taken |= {n for s in walk(every) for e in expressions(s) for n in names_in(e)}
        taken |= {s.name for s in walk(every) if isinstance(s, Let)} | {s.var for s in walk(every) if isinstance(s, For)}
        self.names = Names(taken)
        self.label = pair.name
        self.i, self.c = self.names.fresh("sample"), self.names.fresh("c")
        self.first, self.last, self.values = (self.names.fresh(v) for v in ("first", "last", "values"))
        self.all = {p: self.names.fresh(f"{p}_all") for p in pair.parameters if p in mapped}
        changed = assigned(every)           # the next sample starts with what the caller gave
        self.again = {p: self.names.fresh(f"{p}_given") for p in pair.parameters if p not in mapped and p in changed}
        self.rows = {v: self.names.fresh(f"rows_{v}") for v in wanted}
        self.checked = False

    def made(self) -> SampleText:
        pair = self.pair
        forward = self.guarded(pair.forward, {})
        given, reverse, after = self.given()
        result = pair.results[0]
        if self.fuse:
            pair.kinds = dict(pair.kinds)
            forward, reverse, (result, *outs) = one_name_each(
                forward, reverse, [result, *(e for _, e in after)], pair.parameters, pair.kinds, self.names)
            after = [(v, e) for (v, _), e in zip(after, outs, strict=True)]
        shapes = {} if not self.fuse else {p: self.dims(p) for p in pair.parameters if isinstance(pair.kinds[p], Array)}
        seed = pair.seeds[0]
        loops = Buffers(pair.kinds, shapes, assigned_once(forward, reverse) - set(pair.parameters), self.names,
                        dict.fromkeys(given.values(), ""))
        loops.scalars.add(seed)
        loops.vector = available() if self.fuse else frozenset()
        if self.fuse:
            forward = loops.block(forward)
            reverse = loops.block(reverse)
        lines = _Lines(pair, comments=False)
        for v, row in given.items():
            lines.add(2, f"{row} = {self.rows[v]}[{self.i}]")
        if forward:
            lines.block(forward, 2)
        tests: list[str] = []
        self.visit(result, False, {}, tests)
        if tests:
            lines.block([If(expr(t), self.failure(), []) for t in dict.fromkeys(tests)], 2)
        lines.add(2, f"{self.values}[{self.i}] = {show(result)}")
        if reverse:
            back = _Lines(pair, comments=True)
            back.block(reverse, 2)
            lines.out += back.out
        for v, e in after:
            whole = isinstance(pair.kinds[v], Array)
            lines.add(2, f"{self.rows[v]}[{self.i}] = {show(e)}" if not whole else
                      f"{self.rows[v]}[{self.i}][...] = {show(e)}")
        return self.module(lines.out, loops)

    def dims(self, p: str) -> tuple[str, ...]:
        kind: Any = self.pair.kinds[p]
        return tuple(f"{p}.shape[{k}]" for k in range(kind.ndim))

    def given(self) -> tuple[dict[str, str], Block, list[tuple[str, Node]]]:
        """The shadows that are rows of the result, the reverse sweep, and gradients that are stored afterwards."""
        given: dict[str, str] = {}
        after: list[tuple[str, Node]] = []
        reverse = self.pair.reverse
        for v, d in zip(self.wanted, self.pair.cotangents, strict=True):
            births = [s for s in walk(reverse) if isinstance(s, Let) and isinstance(d, gast.Name) and s.name == d.id]
            top = [s for s in births if any(s is x for x in reverse)]
            own = self.fuse and isinstance(self.pair.kinds[v], Array) and len(births) == 1 and len(top) == 1 and (
                show(births[0].value) == f"np.zeros_like({v})") and self.pair.kinds[v].real
            if own and d.id not in given.values():
                given[v] = d.id
            else:
                after.append((v, d))
        return given, reverse, after

    # -- failures --------------------------------------------------------------------------------------------------
    def failure(self) -> Block:
        return [Store("failed", [name(self.c)], name(self.i)), Exit("return")]

    def guarded(self, block: Block, ranges: dict[str, str]) -> Block:
        """The forward sweep with tests of its indices, and with raises that end the chunk. `ranges`: loop variables
        and the length that they stay below."""
        out: Block = []
        for s in block:
            if isinstance(s, Exit) and s.how == "raise":
                out += self.failure()
                continue
            tests: list[str] = []
            for e in expressions(s):
                self.visit(e, isinstance(s, While), ranges, tests)
            if isinstance(s, Store) and s.index:
                self.access(s.array, s.index, ranges, tests)
            out += [If(expr(t), self.failure(), []) for t in dict.fromkeys(tests)]
            if isinstance(s, For):
                inner = dict(ranges)
                inner.pop(s.var, None)
                if s.step == 1 and isinstance(s.start, gast.Constant) and s.start.value >= 0:
                    inner[s.var] = show(s.stop)
                out.append(For(s.var, s.start, s.stop, s.step, self.guarded(s.body, inner), line=s.line,
                               source=s.source))
            elif isinstance(s, While):
                out.append(While(s.test, self.guarded(s.body, ranges), line=s.line, source=s.source))
            elif isinstance(s, If):
                out.append(If(s.test, self.guarded(s.then, ranges), self.guarded(s.orelse, ranges), line=s.line,
                              source=s.source))
            else:
                if isinstance(s, Do) and not any("print" in n for n in names_in(s.value)):
                    self.checked = True
                out.append(s)
        return out

    def visit(self, e: Node, late: bool, ranges: dict[str, str], tests: list[str]) -> None:
        """Collect the tests that an expression needs; `late`: it may not be evaluated, or more than once."""
        if isinstance(e, gast.Call) and show(e.func) in ("gather", "take_scattered", "scatter_add"):
            self.checked = True
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name):
            items = list(e.slice.elts) if isinstance(e.slice, gast.Tuple) else [e.slice]
            found: list[str] = []
            self.access(e.value.id, items, ranges, found)
            self.checked |= late and bool(found)
            tests += [] if late else found
        late = late or isinstance(e, gast.IfExp | gast.BoolOp)
        for child in gast.iter_child_nodes(e):
            if isinstance(child, gast.expr):
                self.visit(child, late, ranges, tests)

    def access(self, array: str, items: list[Node], ranges: dict[str, str], tests: list[str]) -> None:
        axis = 0
        for i in items:
            if isinstance(i, gast.Constant) and i.value is None:
                continue
            if not isinstance(i, gast.Slice):
                n = f"{array}.shape[{axis}]"
                text = show(i)
                same = isinstance(i, gast.Name) and ranges.get(i.id) in ([n, f"len({array})"] if not axis else [n])
                k = i.value if isinstance(i, gast.Constant) else None
                if isinstance(i, gast.UnaryOp) and isinstance(i.op, gast.USub) and isinstance(i.operand, gast.Constant):
                    k = -i.operand.value
                if isinstance(k, int):
                    tests.append(f"{n} < {k + 1 if k >= 0 else -k}")
                elif not same:
                    tests.append(f"({text}) < -{n} or ({text}) >= {n}")
            axis += 1

    # -- the module ------------------------------------------------------------------------------------------------
    def module(self, body: list[str], loops: Buffers) -> SampleText:
        label, pair = self.label, self.pair
        inputs = [self.all.get(p) or self.again.get(p, p) for p in pair.parameters]
        given = ", ".join([*inputs, *self.rows.values(), self.values, "failed"])
        head = [f"def {label}_samples({self.first}, {self.last}, {self.c}, {given}):"]
        head += [f"    {p} = {self.all[p]}[{self.first}]" for p in self.all]
        head += [f"    {p} = {given_}" for p, given_ in self.again.items()]
        head += [f"    {b} = np.empty(({', '.join(shape)},), np.{_dtype(dtype)})"
                 for b, (shape, dtype) in loops.buffers.items()]
        seed = pair.seeds[0]
        head += [f"    {seed} = 1.0"]
        head += [f"    for {self.i} in range({self.first}, {self.last}):"]
        head += [f"        {p} = {self.all[p]}[{self.i}]" for p in self.all]
        head += [f"        {p} = {given_}" for p, given_ in self.again.items()]
        head += [f"        {seed} = 1.0"]
        risky = self.checked or loops.whole > 0 or not self.fuse
        call = f"{label}_samples"
        functions = [(call, frozenset({"checked"} if self.checked or not self.fuse else ()))]
        parts = ["\n".join([*head, *body])]
        if risky:
            parts.append(f"def {label}_try({self.first}, {self.last}, {self.c}, {given}):\n    try:\n        {call}("
                         f"{self.first}, {self.last}, {self.c}, {given})\n    except Exception:\n"
                         f"        failed[{self.c}] = {self.first}")
            call = f"{label}_try"
            functions.append((call, frozenset()))
        n, chunks = self.names.fresh("n"), self.names.fresh("chunks")
        share = f"{self.c} * {n} // {chunks}, ({self.c} + 1) * {n} // {chunks}, {self.c}, {given}"
        parts.append(f"def {label}_threads({n}, {chunks}, {given}):\n    for {self.c} in prange({chunks}):\n"
                     f"        {call}({share})")
        functions.append((f"{label}_threads", frozenset({"threaded"})))
        return SampleText("\n\n\n".join(parts) + "\n", call, f"{label}_threads", functions, loops.equal, self.fuse,
                          loops.whole, list(self.rows.values()), sorted(loops.used), sorted(loops.filled_axes))


def _dtype(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


__all__ = ["SampleText", "sample_text"]
