"""The text of a derivative, as `transad show` and `f.source()` give it.

>>> def f(x):
...     s = x * x
...     return 3.0 * s
>>> print(source(f, 2.0))
def f_fwd(x):
    s = x * x
    return 3.0 * s, (x,)
<BLANKLINE>
<BLANKLINE>
def f_rev(saved, d_y):
    x, = saved
    d_s = 3.0 * d_y
    # s = x * x
    d_x = 2.0 * d_s * x
    return d_x
<BLANKLINE>

What is printed is what runs. Where a function is recorded rather than compiled, its rewritten text is printed under
a comment that says why.
"""
from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import Any

from transad.command.plan import Plan, planned
from transad.command.targets import near
from transad.describe import described
from transad.emit import _Lines
from transad.errors import InvalidArgument, TransadError
from transad.passes.reverse import Pair
from transad.passes.specialise.values import NotTyped
from transad.pipeline import PASSES, State
from transad.quote import show
from transad.signatures import spelled

__all__ = ["MODES", "NotReached", "header", "source", "text_of"]

MODES = ("primal", "reverse", "pullback", "joint", "forward", "kernel")


class NotReached(TransadError):
    """The program after a pass was asked for that did not run."""

    code = "TA201"


def source(function: Any, *args: Any, signature: str | None = None, wrt: Any = None, mode: str = "reverse",
           after: str | None = None, **options: Any) -> str:
    """The text of the derivative of `function` for arguments like `args` (assumed where there are none).

    mode   reverse: the pair of sweeps;  joint: the whole module;  pullback: the pair and a function that returns
           (y, back);  primal: the program that the forward sweep is made from;  forward: tangents beside the
           primals;  kernel: the items, chunks and threads of the function's maps
    after  the name of a pass: the program after it
    """
    plan = planned(function, args, signature=signature, wrt=wrt, options=options)
    return "".join(f"# {line}\n" for line in header(plan)) + text_of(plan, mode, after)


def header(plan: Plan) -> list[str]:
    """What was assumed, and why the function is recorded if it is."""
    lines = []
    by_use = [a for a in plan.arguments if a.origin == "use"]
    if by_use:
        kinds = ", ".join(f"{a.name}: {spelled(a.shape)}" for a in by_use)
        lines.append(f"Assumed from its use: {kinds} (--signature chooses others).")
    lines += [f"{n[0].upper()}{n[1:]}." for n in plan.notes]
    if plan.refused:
        at = f" ({_short(plan.refused.filename)}, line {plan.refused.line})" if plan.refused.line else ""
        lines += textwrap.wrap(f"Recorded on a tape, because: {plan.refused.reason}{at}.", 108)
    elif plan.state is not None and plan.state.specialiser.captures:
        names = ", ".join(plan.state.specialiser.captures)
        lines.append(f"Arrays that the function refers to are passed in: {names}.")
    return lines


def _short(filename: str) -> str:
    import os
    relative = os.path.relpath(filename) if os.path.isabs(filename) and os.path.exists(filename) else filename
    return relative if not relative.startswith("..") else filename


def text_of(plan: Plan, mode: str = "reverse", after: str | None = None) -> str:
    """The text itself."""
    if mode not in MODES:
        raise InvalidArgument(f"there is no mode {mode!r}", instead=f"the modes are {', '.join(MODES)}")
    if after is not None:
        return _after(plan, after)
    if mode == "kernel":
        return _kernels(plan)
    if plan.refused:
        return textwrap.dedent(plan.source.text) if mode == "primal" else _recorded(plan)
    assert plan.state is not None
    if mode == "primal":
        return primal(plan)
    if mode == "forward":
        return _forward(plan)
    if mode == "joint":
        return plan.text
    pair = plan.text.partition(f"\n\n\ndef {plan.label}_joint(")[0] + "\n"
    return pair if mode == "reverse" else pair + "\n\n" + _pullback(plan.state)


def _after(plan: Plan, wanted: str) -> str:
    texts = plan.after()
    known = ["lower_exits", *(label for label, _ in PASSES), "record"]
    if wanted not in known:
        raise InvalidArgument(f"there is no pass {wanted!r}",
                              instead=f"the passes are {', '.join(near(wanted, known) or known)}")
    if wanted not in texts:
        why = f"the typed path stopped before it: {plan.refused.reason}" if plan.refused else "the function is compiled"
        raise NotReached(f"the pass {wanted} did not run; {why}", place=plan.refused.place if plan.refused else None)
    return texts[wanted].rstrip("\n") + "\n"


def _recorded(plan: Plan) -> str:
    head = ("# Each operation goes through the runtime (ta_...), which computes it and notes it on a tape;\n"
            "# the backward sweep runs the tape from its end.\n")
    return head + plan.after()["record"] + "\n"


def primal(plan: Plan) -> str:
    """The program in normal form, one kind per name, as a function."""
    state = plan.state
    assert state is not None
    fresh = State(plan.function, state.arguments, state.captured, state.wanted)
    PASSES[0][1](fresh)
    p = fresh.program
    lines = _Lines(Pair(p.name, p.parameters, p.body, p.results, [], [], [], [], p.kinds), comments=False)
    if p.body:
        lines.block(p.body, 1)
    y = ", ".join(show(e) for e in p.results)
    return "\n".join([f"def {p.name}({', '.join(p.parameters)}):", *lines.out, f"    return {y}"]) + "\n"


def _forward(plan: Plan) -> str:
    """All derivatives in one forward sweep where that can be emitted, else the pushforward of one direction."""
    from transad.forwards import code as forward
    state = plan.state
    assert state is not None
    leaves = {n: described(v)[1] for n, v in plan.values.items()}
    sig = forward.Signature(plan.function, state.arguments, state.captured, plan.wanted, leaves, [])
    options = replace(state.options, jit=False)
    known = set(leaves) >= set(state.arguments)
    try:
        return forward.build_gradient(sig, forward.sizes_of(sig) if known else {}, options).text
    except NotTyped:
        pass
    try:
        return forward.build_push(sig, 1, options).text
    except NotTyped as problem:
        raise NotReached(f"there is no forward sweep: {problem.reason}") from None


def _kernels(plan: Plan) -> str:
    """The functions of the maps, from the module that runs."""
    chain = plan.state.chain if plan.state is not None else None
    if plan.refused or chain is None:
        from transad.maps.notes import noted
        notes = "".join(f"\n  {note}" for note in noted(plan))
        raise NotReached(f"no map of {plan.label} is a kernel" + (f":{notes}" if notes else ""),
                         instead="transad explain says more; --mode reverse shows what runs")
    part = re.compile(rf"def {re.escape(plan.label)}_(item|work|chunk|threads|map)\d+")
    functions = re.split(r"\n\n\n(?=def )", chain.text.rstrip("\n"))
    return "\n\n\n".join(f for f in functions if part.match(f)) + "\n"


def _pullback(state: State) -> str:
    """`f_pullback(args) -> y, back` over the pair."""
    pair, label = state.pair, state.label
    given, seeds = ", ".join(pair.parameters), ", ".join(pair.seeds)
    return "\n".join([f"def {label}_pullback({given}):", f"    y, saved = {label}_fwd({given})", "",
                      f"    def back({seeds}):", f"        return {label}_rev(saved, {seeds})",
                      "    return y, back"]) + "\n"
