"""The adjoint of a call of a function marked `fwddiff`: partial derivatives times cotangent (see `passes.duals`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transad.ir import Block, Let
from transad.kinds import FLOAT, Array, Kind
from transad.nodes import gast
from transad.passes.duals import Dual, dual_of, slopes_of
from transad.passes.reverse.partials import Contributions
from transad.passes.reverse.terms import Term
from transad.passes.specialise.values import Inlined, NotTyped, Part
from transad.passes.versions import base
from transad.quote import Node, call, index, name

if TYPE_CHECKING:
    from transad.passes.forward.dual_code import DualCode


@dataclass
class Swept:
    """A marked call run forwards. `leaves`: the active numbers and elements that its body reads, `slopes[k]` the slope of
    each result for number k; `arrays`: active arrays that are read in another way, with the slopes of the results that
    are numbers (variables with the shape of the array)."""

    code: DualCode
    leaves: list[Node]
    slopes: list[list[Node]]
    arrays: dict[str, tuple[Node, dict[int, str]]]


class MarkedAdjoint(Part):
    """The part of the adjoint that handles marked calls."""

    def marked(self, s: Let, d: str, state: str) -> Block:
        """What the cotangent `d` of one result contributes to the inputs of the call."""
        found = dual_of(s.value)
        if found is None:
            return self.multiplied(s, [(x, self.values.of(slope, s)) for x, slope in slopes_of(s.value) if _active(
                x, self.active)], [], d, state)
        dual, k = found
        first: Block = []
        swept = self.swept.get(dual)
        if swept is None:
            first, swept = self.run_forwards(s, dual)
            if len(dual.results) > 1:
                self.swept[dual] = swept
        pairs = [(x, row[k]) for x, row in zip(swept.leaves, swept.slopes, strict=True)]
        if isinstance(self.program.kinds[base(s.name)], Array):
            return first + self.contracted(s, swept, k, pairs, d)
        pairs += [(x, name(made[k])) for x, made in swept.arrays.values() if k in made]
        if len(dual.results) > 1:
            return first + self.multiplied(s, pairs, [], d, state)
        return self.multiplied(s, pairs, first, d, state)

    def run_forwards(self, s: Let, dual: Dual) -> tuple[Block, Swept]:
        """The dual code: one sweep with a lane for each active number, and one sweep for each element of an array that
        is not only read under literal indices."""
        from transad.passes.forward.dual_code import DualCode
        inputs = dict(zip(dual.inputs, s.value.args[3:], strict=True))
        given = {v: self.values.of(x, s) for v, x in inputs.items()}
        kinds = self.program.kinds
        code = DualCode(dual, given, kinds, self.program.constants, self.names, self.temp)
        lanes: dict[str, Node] = {}
        whole: list[str] = []
        numbers = {k: None for k, y in enumerate(dual.results) if kinds[y] == FLOAT}
        try:
            for v, x in inputs.items():
                if not _active(x, self.active):
                    continue
                if not isinstance(kinds[v], Array):
                    lanes[v] = x
                elif kinds[v].dtype != "float64":
                    raise NotTyped(f"it reads {v}, an array of {kinds[v].dtype}")
                else:
                    found = code.elements(v)
                    whole += [] if found is not None else [v]
                    lanes |= {lane.name: index(x, lane.items) for lane in found or []}
            for v, x in lanes.items():
                code.given.setdefault(v, self.values.of(x, s))
            lines, slopes = code.at_once(list(lanes)) if lanes else ([], [])
            swept = Swept(code, list(lanes.values()), slopes, {})
            for v in whole:
                more, made = code.by_element(v, numbers) if numbers else ([], {})
                lines += more
                swept.arrays[v] = inputs[v], {k: self.like(new, inputs[v]) for k, new in made.items()}
        except NotTyped as problem:
            again = Inlined(f"{dual.label}: {problem.reason}")
            again.label = dual.label
            raise again from problem
        return lines, swept

    def like(self, new: str, array: Node) -> str:
        """Know a variable of the reverse sweep that has the shape of an array."""
        self.shadows.variables[new] = self.program.kinds[base(array.id)].ndim      # type: ignore[union-attr]
        self.shadows.shapes[new] = array.id
        return new

    def contracted(self, s: Let, swept: Swept, k: int, pairs: list[tuple[Node, Node]], d: str) -> Block:
        """What a result that is an array contributes: the sum of its slopes times its cotangent."""
        found = Contributions()
        for x, slope in pairs:
            if isinstance(slope, gast.Name):
                _add(found, x, Term(1.0, (call("summed", call("keep_zero", name(d), slope)),)), self.program.kinds)
        for v, (x, _) in swept.arrays.items():
            lines, made = swept.code.by_element(v, {k: name(d)})
            found.before += lines
            if made:
                _add(found, x, Term(1.0, (name(self.like(made[k], x)),)), self.program.kinds)
        return self.added(found, s, d)

    def multiplied(self, s: Let, pairs: list[tuple[Node, Node]], before: Block, d: str, state: str) -> Block:
        """Slopes times the cotangent `d`, added to the cotangents of the inputs; a cotangent of zero wins over an
        infinite slope."""
        found = Contributions(before=list(before), singular=2)
        for x, slope in pairs:
            if not isinstance(slope, gast.Constant):
                _add(found, x, Term(1.0, (slope, name(d))), self.program.kinds)
            elif slope.value:
                _add(found, x, Term(float(slope.value), (name(d),)), self.program.kinds)
        return self.apply(found, s, d, state)


def _add(found: Contributions, x: Node, term: Term, kinds: dict[str, Kind]) -> None:
    """A contribution to a number, an element or an array."""
    if not isinstance(x, gast.Name):
        found.add_load(x, term)
    elif isinstance(kinds[base(x.id)], Array):
        found.arrays.setdefault(x.id, []).append(term)
    else:
        found.scalars.setdefault(x.id, []).append(term)


def _active(x: Node, active: set[str]) -> bool:
    return isinstance(x, gast.Name) and x.id in active
