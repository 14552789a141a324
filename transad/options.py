"""Options of a derivative, and the errors when they cannot be met."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from transad.errors import CannotCompile, InvalidArgument, Place

_KNOWN = {"jit", "strict", "path", "mode", "parallel", "threads", "chunk", "memory", "store", "deterministic",
          "without"}

# What the typed path may be told to leave out; the numbers are the same either way (to some units in the last place
# where the compiler adds up in another order, or `vector_math` takes the vector forms of exp, log ...).
OPTIMISATIONS = ("recompute", "counters", "shared_tapes", "invariants", "snapshots", "take_over", "first_writes", "prune",
                 "vector_math")


@dataclass(frozen=True)
class Options:
    """`jit`: compile with Numba. `strict`: no reassociation of sums and no contraction in compiled code.
    `path`: auto | typed | recorded (also by the environment variable TRANSAD_PATH).
    `mode`: auto | forward | reverse; auto takes a forward sweep where the reverse one would keep a tape and
    at most `transad.forward.FEW` numbers are differentiated. `chunk`: how many of them one forward sweep takes, None for
    as many as is good. `parallel`: maps as kernels. `threads`: how many
    threads a map may use, None for all of Numba's. `deterministic`: the same bits at any number of threads; without it,
    arrays that items of a map share get one cotangent for each thread, which may be fewer. `store`: the reverse sweep of
    a map reads what the forward sweep kept of each item, and does not compute the items again.
    `without`: names from `OPTIMISATIONS` to leave out."""

    jit: bool = False
    strict: bool = False
    path: str = "auto"
    parallel: bool = True
    threads: int | None = None
    mode: str = "auto"
    chunk: int | None = None
    deterministic: bool = True
    store: bool = False
    without: frozenset[str] = frozenset()

    @staticmethod
    def of(given: dict[str, Any]) -> Options:
        unknown = set(given) - _KNOWN
        if unknown:
            raise InvalidArgument(f"unknown option {sorted(unknown)[0]!r}",
                                  instead=f"the options are {', '.join(sorted(_KNOWN))}")
        path = given.get("path") or os.environ.get("TRANSAD_PATH", "auto")
        mode = given.get("mode") or "auto"
        if mode not in ("auto", "forward", "reverse"):
            raise InvalidArgument(f"mode={mode!r}", instead="mode is 'auto', 'forward' or 'reverse'")
        return Options(bool(given.get("jit", False)), bool(given.get("strict", False)), path,
                       bool(given.get("parallel", True)), given.get("threads"), mode, _lanes(given.get("chunk")),
                       bool(given.get("deterministic", True)), bool(given.get("store", False)),
                       _left_out(given.get("without", ())))

    def refused(self, function: Any, refusal: Any) -> CannotCompile:
        label = getattr(function, "__name__", type(function).__name__)
        reason = refusal.reason if refusal is not None else "its arguments are not numbers, arrays and tuples of them"
        place = Place(refusal.filename, refusal.line) if refusal is not None and refusal.line else None
        return CannotCompile(f"{label} cannot be compiled: {reason}", place=place,
                             instead="leave out jit=True (the derivative is then run by Python), or write this part "
                                     "with numbers, arrays and tuples")

    def overlapping(self, function: Any) -> CannotCompile:
        label = getattr(function, "__name__", type(function).__name__)
        return CannotCompile(f"{label} writes into an array argument that is read-only or shares memory with another",
                             instead="pass a copy: f(a, b.copy())")


def _lanes(chunk: Any) -> int | None:
    if chunk is not None and (isinstance(chunk, bool) or not hasattr(chunk, "__index__") or chunk < 1):
        raise InvalidArgument(f"chunk={chunk!r}", instead="chunk is the number of directions of one forward sweep, 1 or more")
    return None if chunk is None else int(chunk)


def _left_out(names: Any) -> frozenset[str]:
    chosen = frozenset((names,) if isinstance(names, str) else names)
    unknown = chosen - set(OPTIMISATIONS)
    if unknown:
        raise InvalidArgument(f"unknown optimisation {sorted(unknown)[0]!r}",
                              instead=f"the optimisations are {', '.join(OPTIMISATIONS)}")
    return chosen
