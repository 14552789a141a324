"""Which path the derivative of a function takes and why, and what it keeps, in words.

>>> def f(x, n):
...     s = 0.0
...     for i in range(n):
...         s = s * x + 1.0
...     return s
>>> from transad.command.plan import planned
>>> print(explained(planned(f, signature="float64, int64")))        # doctest: +ELLIPSIS
f (..., line 1)
  arguments: x: float64, n: int64
  with respect to: x
  path: typed. Derivative text is emitted for these kinds (transad show); jit=True compiles it.
  taped in loops:
    s  one number a trip of `for i in range(n)`, 8 bytes each
  saved:
    x  the argument
    n  the argument
  with at most 8 numbers to differentiate, grad takes a forward sweep without tapes where it can
    be emitted (mode="reverse" turns that off)
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transad.command.plan import Plan
from transad.errors import Place
from transad.ir import Block, Do, For, Let, Statement, Store, While, blocks, dump, walk
from transad.kinds import Array, Scalar
from transad.maps.notes import noted
from transad.passes.forward.by_element import swept_by_element
from transad.pipeline import _leaf_names
from transad.quote import show
from transad.samples.notes import of_cotangents, of_rows
from transad.verbs import MANY

__all__ = ["advice", "explained"]

_ADVICE = (
    (r"kind of .* is not known: it is called", "give the function itself as the argument when you call the derivative; "
     "it is then specialised on (this command cannot know which it is)"),
    (r"kind of .* is not known", "pass numbers, arrays, tuples or plain dataclasses of them, or give --signature"),
    (r"stored into", "differentiate with respect to that argument too (--wrt), or write into a new array and return it"),
    (r"unpacked", "read the elements by index: x[0], x[1]"),
    (r"captured variable", "pass it as an argument, or make it a number, an array or a function"),
    (r"method append|method extend", "fill an array of a length that is known before the loop"),
    (r"f-strings", "make the text outside of the function that is differentiated"),
    (r"\*args and \*\*kwargs", "name the parameters, or pass one tuple or array"),
    (r"\*\* in a call|\*\*kwargs", "write the keyword arguments out"),
    (r"generator", "return a list or an array of what it yields"),
    (r"recursive", "write the recursion as a loop"),
    (r"try|with statements", "move the statement out of the function that is differentiated"),
    (r"dicts|sets|set comp|dict comp", "use an array, a tuple or a dataclass"),
    (r"list is changed|list whose length|only a list", "fill an array of a length that is known before the loop"),
    (r"loop rebinds|two names hold", "write into one buffer, or give the new array to a fresh name on each trip"),
    (r"complex", "carry real and imaginary part as two numbers"),
    (r"no typed rule|no typed derivative|has no typed|array method|is not a single", "write the formula out with "
     "operators and functions that have one (`transad rules`)"),
    (r"does not return on every path", "end every path with a return"),
    (r"global|nonlocal", "pass the value in and return it"),
    (r"attribute .* is assigned|objects of the class", "keep the state in local variables and return it"),
    (r"holds .* values", "pass floating-point values"),
    (r"different kinds", "keep one kind (one rank, number or array) in one variable"),
    (r"axis", "reduce with a loop, or over the whole array"),
    (r"fancy", "index element by element in a loop"),
)
_OWN = {"", "copy_to", "append", "extend"}          # what the forward sweep does for itself


def advice(reason: str) -> str:
    """What to change so that the typed path takes the function."""
    return next((text for pattern, text in _ADVICE if re.search(pattern, reason)),
                "write this part with numbers, arrays, tuples, loops and branches")


def explained(plan: Plan, rows: Sequence[str] = ()) -> str:
    """The explanation as text; `rows`: as a function of a batch, the arguments that have its rows."""
    out = [f"{plan.function.__qualname__.rpartition('<locals>.')[2]} ({plan.source.filename}, line "
           f"{plan.source.first_line})", f"  arguments: {plan.signature or 'none'}"]
    by_use = [a.name for a in plan.arguments if a.origin == "use"]
    if by_use:
        out.append(f"    (assumed from their use: {', '.join(by_use)})")
    out.append(f"  with respect to: {', '.join(plan.wanted) or 'nothing'}")
    out += _refused(plan) if plan.refused else _typed(plan)
    out += of_rows(plan, rows) if rows else []
    notes = noted(plan)
    if notes:
        out += ["  maps:", *(f"    {note}" for note in notes)]
    return "\n".join(out)


def _refused(plan: Plan) -> list[str]:
    refused = plan.refused
    assert refused is not None
    out = ["  path: recorded. Each run notes its operations on a tape; jit=True is refused.",
           f"  because: {refused.reason}"]
    if refused.place is not None:
        place = refused.place
        text = Place(place.filename, place.line).excerpt()
        out += ["  " + line for line in text.splitlines()]
    if not refused.reason.startswith("path="):
        out.append(f"  to have it emitted: {advice(refused.reason)}")
    out += ["  taped: the partial derivatives of each operation on an active number (two or four entries),",
            "    and for arrays the operands that the rule of the operation reads (by reference, copied only if",
            "    they are overwritten later)"]
    return out


def _typed(plan: Plan) -> list[str]:
    assert plan.state is not None
    pair = plan.state.pair
    out = ["  path: typed. Derivative text is emitted for these kinds (transad show); jit=True compiles it."]
    out += _maps(plan)
    calls = sorted({_called(s) for s in walk(pair.forward) if isinstance(s, Do)} - _OWN)
    tapes = dict(_tapes(pair))
    if tapes:
        out += ["  taped in loops:", *_table((_taped_name(n), line) for n, line in tapes.items())]
    else:
        out.append("  taped in loops: nothing")
    kept = [n for n in pair.saved if n not in tapes]
    if kept:
        out += ["  saved:", *_table((n, _saved(n, pair)) for n in kept)]
    else:
        out.append("  saved: nothing")
    if calls:
        out.append(f"  run for their effect: {', '.join(calls)}")
    if getattr(pair, "taped", False) and plan.state.options.mode == "auto":
        from transad.forwards.forward import FEW
        out.append(f"  with at most {FEW} numbers to differentiate, grad takes a forward sweep without tapes where it can\n"
                   "    be emitted (mode=\"reverse\" turns that off)")
    if plan.state.options.mode == "forward":
        from transad.forwards.code import MOST
        from transad.forwards.sweeps import CHUNK
        out.append(f"  mode=\"forward\": grad runs no reverse sweep; up to {MOST} numbers take one sweep where that can be,\n"
                   f"    more take several of {plan.state.options.chunk or CHUNK} directions each (chunk=)")
    out += of_cotangents(plan)
    if plan.state.unmarked[0]:
        out.append(f"  {plan.state.unmarked[0]} is marked fwddiff, but is differentiated in reverse: {plan.state.unmarked[1]}")
    leaves = [n for w in plan.wanted for n in _leaf_names(plan.state.arguments[w], plan.state.specialiser, w)]
    for label, place, axes in swept_by_element(plan.state.program, leaves):
        array = plan.state.program.parameters[place].partition("@")[0] + ("[i]" if axes else "")
        out.append(f"  {label} is marked fwddiff: one forward sweep for each element of {array}; where there are more than\n"
                   f"    {MANY}, it is differentiated in reverse, and a warning says so")
    if pair.writes:
        out.append("  it writes into an argument: arguments that share memory with each other go to the recorded path")
    return out


def _maps(plan: Plan) -> list[str]:
    chain = plan.state.chain if plan.state is not None else None
    if chain is None:
        return []
    count = len({entry.removesuffix("_rev") for entry, *_ in chain.maps})
    how = "on several threads where the work pays for it" if chain.threaded else "on one thread"
    return [f"  kernels: {count} loop{'s' if count > 1 else ''} whose items do not depend on each other, run {how}",
            *(f"    {note}" for note in chain.notes),
            "  what follows holds where the items run one after another (parallel=False):"]


def _table(rows: Any) -> list[str]:
    rows = list(rows)
    wide = max(len(n) for n, _ in rows)
    return [f"    {n:<{wide}}  {text}" for n, text in rows]


def _called(s: Do) -> str:
    text = show(s.value)
    return text.partition("(")[0].rpartition(".")[2] if text != "None" else ""


def _taped_name(tape: str) -> str:
    return re.sub(r"_tape(_\d+)?$", r"\1", tape)


def _saved(name: str, pair: Any) -> str:
    kind = pair.kinds.get(name)
    array = isinstance(kind, Array)
    if name in pair.parameters:
        return "the argument" + (" (by reference)" if array else "")
    if array:
        return f"an array of rank {kind.ndim}"
    return {"trips": "how many trips the loop made"}.get(name.rstrip("_0123456789"), "a number")


def _tapes(pair: Any) -> Iterator[tuple[str, str]]:
    """The saved tapes, each with what it holds."""
    text = dump(pair.forward)
    for name in pair.saved:
        if not re.search(r"_tape(_\d+)?$", name):
            continue
        loops = _loops_around(pair.forward, name, []) or []
        trip = " in each ".join(f"trip of `{_head(s)}`" for s in reversed(loops)) or "trip"
        kind = pair.kinds.get(name)
        dtype = kind.dtype if isinstance(kind, Array | Scalar) else "float64"
        if f"copy_to({name}[" in text or f"{name.replace('_tape', '_list')}.extend(" in text:
            yield name, f"a copy of the array a {trip}, {np.dtype(dtype).itemsize} bytes an element"
            continue
        what = "truth value" if dtype == "bool" else "number"
        yield name, f"one {what} a {trip}, {np.dtype(dtype).itemsize} bytes each"


def _loops_around(block: Block, tape: str, loops: list[Statement]) -> list[Statement] | None:
    """The loops around the first recording into a tape."""
    lists = tape.replace("_tape", "_list")
    for s in block:
        stored = isinstance(s, Store) and s.array == tape and bool(loops)
        appended = isinstance(s, Do) and show(s.value).startswith((f"{lists}.", f"copy_to({tape}["))
        if stored or appended or (isinstance(s, Let) and s.name == tape and bool(loops)):
            return loops
        inner = [*loops, s] if isinstance(s, For | While) else loops
        for b in blocks(s):
            found = _loops_around(b, tape, inner)
            if found is not None:
                return found
    return None


def _head(s: Statement) -> str:
    if s.source:
        return s.source.rstrip(":")
    if isinstance(s, While):
        return f"while {show(s.test)}"
    assert isinstance(s, For)
    start, stop = show(s.start), show(s.stop)
    return f"for {s.var} in range({stop})" if start == "0" else f"for {s.var} in range({start}, {stop})"
