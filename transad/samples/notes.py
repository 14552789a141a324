"""What `transad explain` says of many cotangents and of functions of a batch.

>>> import numpy as np
>>> from transad.command.plan import planned
>>> def losses(w, X):
...     return np.sum((X * w) ** 2, axis=1)
>>> plan = planned(losses, signature="float64[:], float64[:,:]")
>>> print("\\n".join(of_rows(plan, ["X"])))
  as losses of a batch with rows in X (batched=True): each loss depends on its row alone. The gradients are
    those of the function of one row, written row by row by one compiled loop
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transad.command.plan import Plan
from transad.describe import Shape, described
from transad.errors import InvalidArgument, Place
from transad.forwards.rows import reverse_lanes
from transad.kinds import Array, Scalar
from transad.passes.specialise.values import NotTyped, Val

__all__ = ["of_cotangents", "of_rows"]


def of_cotangents(plan: Plan) -> list[str]:
    """How the rows of a Jacobian are computed; nothing for functions that give one number."""
    s = plan.state
    assert s is not None
    if s.structure is None or (isinstance(s.structure, Val) and isinstance(s.structure.kind, Scalar)) or s.recursive:
        return []
    pair = s.pair
    ranks = {v: k.ndim if isinstance(k := pair.kinds.get(v), Array) else 0 for v in pair.saved}
    ranks |= {v: k.ndim if isinstance(k, Array) else 0 for v, k in zip(pair.seeds, s.kinds, strict=False)}
    try:
        made, _ = reverse_lanes(pair, s.options, s.chain is not None, ranks)
    except NotTyped as problem:
        return [f"  many cotangents (jacrev, jacobian): one reverse sweep after another ({problem.reason})"]
    if not made.looped:
        return ["  many cotangents (jacrev, jacobian): one run of the reverse sweep, with a leading axis"]
    return ["  many cotangents (jacrev, jacobian): one run of the reverse sweep, with a leading axis; without a batching",
            f"    rule, and called for each cotangent: {', '.join(made.looped)}"]


def of_rows(plan: Plan, rows: Sequence[str]) -> list[str]:
    """Whether each loss of a batch depends on its row alone, where the arguments in `rows` have rows along axis 0."""
    from transad.samples.kernel import SampleKernel
    known = [a.name for a in plan.arguments]
    wrong = [r for r in rows if r not in known]
    if wrong:
        raise InvalidArgument(f"there is no argument {wrong[0]}", instead=f"the arguments are {', '.join(known)}")
    head = f"  as losses of a batch with rows in {', '.join(rows)} (batched=True): "
    shapes = [a.shape for a in plan.arguments]
    try:
        if None in shapes:
            raise NotTyped("the kind of an argument is not known")
        cells: list[Shape] = []
        for c in plan.function.__closure__ or ():
            shape, _ = described(c.cell_contents)
            if shape is None:
                raise NotTyped("the kind of a captured variable is not known")
            cells.append(shape)
        kernel = SampleKernel(plan.function, [x for x in shapes if x is not None], cells, [n in rows for n in known],
                              [known.index(w) for w in plan.wanted], [0] * len(known))
    except NotTyped as problem:
        out = [head + "one forward sweep, and a cotangent for each loss,", f"    because: {problem.reason}"]
        if problem.filename and problem.line:
            out += ["    " + line for line in Place(problem.filename, problem.line).excerpt().splitlines()]
        return out
    return [head + "each loss depends on its row alone. The gradients are",
            "    those of the function of one row, written row by row by one compiled loop" + _left(kernel)]


def _left(kernel: Any) -> str:
    if kernel.fused is None:
        return " (with arrays of its own for each row)"
    left = kernel.fused.left
    return "" if not left else f"; {left} array statement{'s' if left > 1 else ''} in it {'are' if left > 1 else 'is'} no loop"



