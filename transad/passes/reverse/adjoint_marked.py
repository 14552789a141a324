"""The adjoint of a call of a function marked `fwddiff`: partial derivatives times cotangent (see `passes.duals`)."""
from __future__ import annotations

from transad.ir import Block, Let
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.duals import dual_of, slopes_of
from transad.passes.reverse.partials import Contributions
from transad.passes.reverse.terms import Term
from transad.passes.specialise.values import Inlined, NotTyped, Part
from transad.passes.versions import base
from transad.quote import Node, name


class MarkedAdjoint(Part):
    """The part of the adjoint that handles marked calls."""

    def marked(self, s: Let, d: str, state: str) -> Block:
        found = dual_of(s.value)
        if found is None:
            pairs = [(x, self.values.of(slope, s)) for x, slope in slopes_of(s.value) if _active(x, self.active)]
            return self.multiplied(s, pairs, [], d, state)
        dual, k = found
        key = dual if len(dual.results) > 1 else None
        if key in self.swept and key is not None:
            lanes, slopes = self.swept[key]
            first: Block = []
        else:
            first, lanes, slopes = self.run_forwards(s)
            if key is not None:
                self.swept[key] = lanes, slopes
        pairs = list(zip(lanes, [row[k] for row in slopes], strict=True))
        if key is None:
            return self.multiplied(s, pairs, first, d, state)
        return first + self.multiplied(s, pairs, [], d, state)

    def run_forwards(self, s: Let) -> tuple[Block, list[Node], list[list[Node]]]:
        """The dual code, the active inputs, and the slope of each result for each of them."""
        from transad.passes.forward.dual_code import dual_code
        found = dual_of(s.value)
        assert found is not None
        dual, inputs = found[0], s.value.args[3:]
        lanes = [k for k, x in enumerate(inputs) if _active(x, self.active)]
        for k in lanes:
            if isinstance(self.values.kind(inputs[k]), Array):
                problem = Inlined(f"{dual.label} reads the array {dual.inputs[k]}, which is differentiated")
                problem.label, problem.array = dual.label, dual.inputs[k]
                raise problem
        given = {v: self.values.of(x, s) for v, x in zip(dual.inputs, inputs, strict=True)}
        try:
            lines, slopes = dual_code(dual, [dual.inputs[k] for k in lanes], given, self.program.kinds,
                                      self.program.constants, self.names, self.temp)
        except NotTyped as problem:
            raise Inlined(f"{dual.label}: {problem.reason}") from problem
        return lines, [inputs[k] for k in lanes], slopes

    def multiplied(self, s: Let, pairs: list[tuple[Node, Node]], before: Block, d: str, state: str) -> Block:
        """Slopes times the cotangent `d`, added to the cotangents of the inputs; a cotangent of zero wins over an
        infinite slope."""
        found = Contributions(before=list(before), singular=2)
        for x, slope in pairs:
            if isinstance(slope, gast.Constant):
                term = Term(float(slope.value), (name(d),))
                singular = 0
            else:
                term, singular = Term(1.0, (slope, name(d))), 2
            if not isinstance(slope, gast.Constant) or slope.value:
                found.scalars.setdefault(x.id, []).append(term)
            found.singular = max(found.singular, singular)
        return self.apply(found, s, d, state)


def _active(x: Node, active: set[str]) -> bool:
    return isinstance(x, gast.Name) and x.id in active


__all__ = ["MarkedAdjoint", "base"]
