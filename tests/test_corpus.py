"""Every program of the corpus, on each path and with each optimisation left out.

The typed path is checked with all optimisations, without each of them, and without all; `auto` and the recorded path,
which has no such switches, as they are. Each cell compares the value with the plain run, the gradient by
`value_and_grad` and `pullback` with differences and with what the program says a person finds, and `jvp` with both.
"""
import copy
import functools

import numpy as np
import pytest

import transad
from tests.fuzz.check import by_pullback, by_value_and_grad, close, same
from tests.fuzz.differences import flat, gradient, leaves, unflat, weights
from tests.programs import corpus
from transad.options import OPTIMISATIONS

PROGRAMS = list(corpus())
SWITCHES = {"on": (), **{f"without_{name}": (name,) for name in OPTIMISATIONS}, "plain": OPTIMISATIONS}
CELLS = [("typed", switch) for switch in SWITCHES] + [("auto", "on"), ("recorded", "on")]


@functools.cache
def known(program):
    """Result, arguments afterwards, gradient and its error: by differences, agreeing with the values by hand."""
    after = copy.deepcopy(program.args)
    result = program.function(*after)
    found, errors = gradient(program.function, program.args)
    if program.value is not None:
        same("the value by hand", program.value, result, True)
    if program.gradient is not None:
        by_hand = flat(tuple(np.asarray(g, dtype=float) for g in program.gradient))
        close("the differences against the gradient by hand", by_hand, found, errors)
        found, errors = by_hand, np.zeros_like(by_hand)
    return result, after, found, errors


def reverse(function, program, facts, jit=False):
    """The fuzzers' promises about `value_and_grad` and `pullback`.

    `pullback` differentiates integers too, which only the recorded path does."""
    argnums = tuple(k for k, a in enumerate(program.args) if leaves(a))
    if isinstance(facts[0], float):
        by_value_and_grad(transad.value_and_grad(function, argnums), program.args, argnums, facts, jit)
    only_recorded = any(isinstance(a, int) for a in program.args)
    if function.options.get("path") in ("auto", "recorded") or not only_recorded:
        by_pullback(transad, function, program.args, argnums, facts, jit)


def forward(function, program, expected, errors):
    """`jvp` in the direction of all ones, against the gradient."""
    args = copy.deepcopy(program.args)
    tangents = tuple(unflat(a, np.ones(len(flat(a)))) if leaves(a) else None for a in args)
    y, dy = transad.jvp(function, args, tangents)
    close("jvp", np.array([np.sum(expected)]), np.array([np.dot(weights(y), flat(dy))]), np.sum(errors))
    if isinstance(y, float):
        argnums = tuple(k for k, a in enumerate(program.args) if leaves(a))
        for chunk in (None, 1):
            found = transad.grad(function, argnums, mode="forward", chunk=chunk)(*copy.deepcopy(program.args))
            close("forward gradient", expected, flat(found), errors)


@pytest.mark.parametrize(("path", "switch"), CELLS, ids=[f"{p}-{s}" for p, s in CELLS])
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_program(program, path, switch):
    f = transad.differentiable(program.function, path=path, without=SWITCHES[switch])
    facts = known(program)
    try:
        reverse(f, program, facts)
        if switch == "on":
            forward(f, program, *facts[2:])
    except transad.CannotCompile as refusal:
        if path != "typed" or program.typed:
            raise
        pytest.skip(f"recorded: {str(refusal).splitlines()[0]}")


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.jit], ids=[p.name for p in PROGRAMS if p.jit])
def test_compiled(program):
    f = transad.differentiable(program.function, jit=True)
    reverse(f, program, known(program), jit=True)


@pytest.mark.parametrize("name", [n for n in OPTIMISATIONS if n != "vector_math"])     # which Numba's code alone shows
def test_each_switch_changes_some_text(name):
    """An optimisation whose switch does nothing could not be tested by switching it off."""
    def changed(p):
        wrt = [k for k, a in enumerate(p.args) if leaves(a)]
        texts = [transad.differentiable(p.function, path="typed", without=w).source(*p.args, wrt=wrt) for w in ((), (name,))]
        return texts[0] != texts[1]
    assert any(changed(p) for p in PROGRAMS if p.typed)
