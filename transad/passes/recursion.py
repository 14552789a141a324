"""Differentiate the recursive functions that a program calls by name, and print what the calls run.

`h_call` is the function and `h_call_vjp` its pullback: one sweep forwards, in which recursive calls are `h_call`, and one back,
in which they are `h_call_vjp`. The inner sweeps are run again on the way back, so nothing of them is kept.
"""
from __future__ import annotations

from typing import Any

from transad.emit import forward_lines, result, reverse_lines
from transad.ir import Program
from transad.kinds import Array
from transad.names import Names
from transad.passes.activity import carries, used_as_number
from transad.passes.prune import prune
from transad.passes.regions import regions
from transad.passes.reverse import Pair, reverse
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base, versions
from transad.quote import show

PARTS = ("", "_vjp")


def recursion(program: Program, functions: dict[str, Any], without: frozenset[str]) -> None:
    """Give every recursive function its pair of sweeps, and the program the table of them."""
    for entry in functions.values():
        entry.program.recursive = functions
        p = entry.program
        entry.primal = Pair(entry.name, p.parameters, p.body, p.results, [], [], [], [], p.kinds)
        entry.program = versions(p)
        entry.program.off, entry.program.recursive = without, functions
    _count(functions)
    for entry in functions.values():
        wanted = [base(p) for p in entry.program.parameters if carries(entry.specialiser.kinds[base(p)])]
        names = Names({*entry.specialiser.names.taken, *functions})
        entry.pair = reverse(entry.program, wanted, names, entry.specialiser.stopped)
        if entry.pair.writes:
            problem = NotTyped(f"{entry.label} is recursive and writes into an array argument", entry.node)
            problem.filename = entry.program.filename
            raise problem
        if "prune" not in without:
            entry.pair = prune(entry.pair)
        for label, value in entry.program.constants.items():
            if program.constants.setdefault(label, value) is not value:
                raise NotTyped(f"two values of modules are both called {label}")
    program.recursive = functions


def _count(functions: dict[str, Any]) -> None:
    """Which arguments only count (a depth, a range, an index): an integer that reaches no number carries no derivative."""
    for entry in functions.values():
        entry.counted = {k for k, p in enumerate(entry.program.parameters) if not carries(entry.specialiser.kinds[base(p)])}
    changed = True
    while changed:
        changed = False
        for entry in functions.values():
            found = regions(entry.program)
            for k in sorted(entry.counted):
                if used_as_number(entry.program, found, {entry.program.parameters[k]}):
                    entry.counted.discard(k)
                    changed = True


def emit_recursion(functions: dict[str, Any]) -> str:
    """The text of the recursive functions, to stand before the sweeps that call them."""
    return "".join(_emit(entry) + "\n\n" for entry in functions.values())


def _emit(entry: Any) -> str:
    """Numba infers the type of a recursive call from a return before it: that is what `never` is for."""
    pair, label, kinds = entry.pair, entry.name, entry.results
    names = Names({*pair.kinds, *pair.seeds})
    never = names.fresh("never")
    given = ", ".join([*pair.parameters, never])
    nothing = f"np.zeros({len(kinds)})" if entry.packed else {"int64": "0", "bool": "False"}.get(kinds[0].dtype, "0.0")
    value = result(entry.primal) if not entry.packed else f"np.array({result(entry.primal)})"
    lines = [f"def {label}({given}):", f"    if {never}:", f"        return {nothing}", *forward_lines(entry.primal),
             f"    return {value}"]
    if not pair.wanted:
        return "\n".join(lines) + "\n"
    zeros = [f"np.zeros_like({p})" if isinstance(pair.kinds[p], Array) else "0.0" for p in pair.wanted]
    seed = names.fresh("d_y") if entry.packed else pair.seeds[0]
    taken = ", ".join(f"{seed}[{k}]" for k in range(len(kinds)))
    seeds = [f"    {', '.join(pair.seeds)} = {taken}"] if entry.packed else []
    lines += ["", "", f"def {label}_vjp({', '.join([*pair.parameters, seed, never])}):", f"    if {never}:",
              f"        return {', '.join(zeros)}", *forward_lines(pair), *seeds, *reverse_lines(pair),
              f"    return {', '.join(show(c) for c in pair.cotangents)}"]
    return "\n".join(lines) + "\n"
