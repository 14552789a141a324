"""Objects whose attributes are assigned: every name, container and caller of the object sees it, on every path."""
from dataclasses import dataclass

import numpy as np
import pytest

from transad import CannotCompile, differentiable, grad, pullback


@dataclass
class State:
    v: float
    w: float


def second_name(x):
    s = State(x, 2.0)
    t = s
    t.v = 3.0 * x * x
    return s.v * s.w


def in_a_tuple(x):
    s = State(x, 2.0)
    pair = (s, s)
    pair[0].v = x**3
    return pair[1].v


def loop_variable(x):
    states = [State(x, 2.0), State(2.0 * x, 1.0)]
    for s in states:
        s.v = s.v * s.v
    return states[0].v + states[1].v


def branches(x):
    s = State(x, 2.0)
    if x > 1.0:
        s.v = x * x
    else:
        s.w = s.v * x
    return s.v * s.w


def callee(x):
    def squared(q):
        q.v = q.v * q.v
    s = State(x, 2.0)
    squared(s)
    return s.v


def in_a_loop(x):
    s = State(1.0, x)
    for _ in range(3):
        s.v = s.v * s.w
    return s.v


def straight(x):
    s = State(x, 2.0)
    s.v = s.v * s.v
    s.w += s.v
    return s.v * s.w


def at_once(x):
    s = State(x, 2.0)
    s.v, x = x * x, s.v * 3.0
    s.v, s.w = s.w, s.v
    return s.v * x * s.w


@pytest.mark.parametrize(("f", "derivative"), [
    (at_once, lambda x: 18 * x**2),
    (second_name, lambda x: 12 * x), (in_a_tuple, lambda x: 3 * x**2), (loop_variable, lambda x: 10 * x),
    (branches, lambda x: 4 * x if x > 1 else 3 * x**2), (callee, lambda x: 2 * x), (in_a_loop, lambda x: 3 * x**2),
    (straight, lambda x: 4 * x + 4 * x**3)])
@pytest.mark.parametrize("path", ["auto", "typed", "recorded"])
def test_an_assigned_attribute_is_seen_by_all(f, derivative, path):
    for x in (1.5, 0.5):
        try:
            assert grad(differentiable(f, path=path))(x) == pytest.approx(derivative(x), rel=1e-12)
        except CannotCompile:
            assert path == "typed" and f not in (straight, at_once)


def given(s, x):
    if x > 1.0:
        s.v = x * x
    else:
        s.w = s.v * x
    return s.v * s.w


def test_the_object_of_the_caller_is_changed_as_by_the_function_itself():
    s = State(1.0, 2.0)
    value, back = pullback(given, s, 1.5)
    assert value == 4.5 and s == State(2.25, 2.0)
    d_s, d_x = back(1.0)
    assert (d_s.v, d_s.w, d_x) == (0.0, 2.25, 6.0)
    assert grad(given, argnums=1)(State(1.0, 2.0), 0.5) == 1.0
    with pytest.raises(CannotCompile, match="attribute v"):
        grad(differentiable(given, jit=True), argnums=1)(State(1.0, 2.0), 1.5)
    assert np.isfinite(value)
