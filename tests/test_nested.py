"""Derivatives inside differentiated programs: no level may take another's perturbation for its own."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transad as ta

Z = 3.0


def beside_in_a_list(y: float) -> Any:
    """d/dx of (y² + x² + x²y²) at 2: 4 + 4 y²; an outer number stands beside inner ones."""
    return ta.grad(lambda x: np.sum(np.array([y, x, x * y]) ** 2))(2.0)


def beside_in_a_stack(y: float) -> Any:
    z = y * 1.0
    return ta.grad(lambda x: np.sum(np.stack([z, x, x * z]) ** 2))(2.0)


def beside_in_a_store(y: float) -> Any:
    def g(x: float) -> Any:
        a = np.zeros(3)
        a[:] = [x, y, x * y]
        return np.sum(a * a)
    return ta.grad(g)(2.0)


def beside_in_an_operand(y: float) -> Any:
    """1 + y + 2"""
    return ta.grad(lambda x: np.sum(np.add([x, y, x * y], [y, x, x])))(2.0)


def a_result_of_outside(y: float) -> Any:
    z = y * 1.0
    return ta.grad(lambda x: z)(2.0) + y * z


def results_of_both(y: float) -> Any:
    _, back = ta.vjp(lambda x: (y, x * y), 2.0)
    return back((5.0, 1.0))[0]


def pushed_past(y: float) -> Any:
    return ta.jvp(lambda x: y, (2.0,), (1.0,))[1] + y


def long_outside(y: float) -> Any:
    """Numbers of outside with high places on their tape."""
    ys = [y * 1.0 for _ in range(20)]
    return ta.grad(lambda x: np.sum(np.concatenate([np.array([x]), np.array([ys[-1], x])]) ** 2))(2.0) * y


CONFUSING = [(beside_in_a_list, 40.0, 24.0), (beside_in_a_stack, 40.0, 24.0), (beside_in_a_store, 40.0, 24.0),
             (beside_in_an_operand, 6.0, 1.0), (a_result_of_outside, 9.0, 6.0), (results_of_both, 3.0, 1.0),
             (pushed_past, 3.0, 1.0), (long_outside, 24.0, 8.0)]


@pytest.mark.parametrize(("f", "value", "slope"), CONFUSING, ids=[c[0].__name__ for c in CONFUSING])
def test_numbers_of_outside_beside_those_inside(f: Any, value: float, slope: float) -> None:
    y, g = ta.value_and_grad(f)(Z)
    assert (float(y), float(g)) == pytest.approx((value, slope), abs=1e-12)
    y, t = ta.jvp(f, (Z,), (2.0,))
    assert (float(y), float(t)) == pytest.approx((value, 2.0 * slope), abs=1e-12)


def steps(x: Any, n: int) -> Any:
    kept = {"v": x}
    for _ in range(n):
        kept["v"] = kept["v"] * 0.999 + np.sin(kept["v"]) * 0.01
    return np.sum(kept["v"])


@pytest.mark.parametrize("x", [1.2, np.linspace(0.5, 1.5, 2000)], ids=["number", "array"])
def test_the_memory_of_a_forward_sweep_does_not_grow_with_the_steps(x: Any) -> None:
    import tracemalloc

    def peak(n: int) -> int:
        tracemalloc.start()
        ta.jvp(steps, (x, n), (np.ones_like(x)[()], None))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found
    peak(5)
    assert peak(400) < 1.5 * peak(40) + 20000


def test_a_pushforward_runs_the_function_once() -> None:
    calls = []

    def f(v: Any) -> Any:
        calls.append(len(calls))
        return {"y": v * v, "s": np.sum(v)}
    y, push = ta.linearize(f, np.array([1.0, 2.0]))
    first, second = push(np.array([1.0, 0.0])), push(np.array([0.0, 1.0]))
    assert (first["y"].tolist(), second["y"].tolist()) == ([2.0, 0.0], [0.0, 4.0])
    assert (first["s"], second["s"], len(calls), y["s"]) == (1.0, 1.0, 1, 3.0)


def test_a_pullback_that_is_not_linear_has_no_pushforward() -> None:
    clipped = ta.custom_rule(lambda x: x * x, lambda x: (x * x, lambda ct: (np.clip(2.0 * x * ct, -1.0, 1.0),)))
    assert ta.grad(lambda x: 3.0 * clipped(x))(2.0) == 1.0
    with pytest.raises(ta.errors.Unsupported, match="not linear"):
        ta.jvp(lambda x: 3.0 * clipped(x), (2.0,), (1.0,))


def test_what_has_no_derivative_is_refused_only_where_it_is_used() -> None:
    a = np.diag([1.0, 1.0, 3.0])

    def values(m: Any) -> Any:
        w, v = np.linalg.eigh(m)
        return np.sum(w ** 2) + 0.0 * np.sum(v)

    def vectors(m: Any) -> Any:
        return np.linalg.eigh(m)[1][0, 1]
    assert ta.jvp(values, (a,), (np.ones((3, 3)),))[1] == pytest.approx(10.0)
    with pytest.raises(ta.errors.Unsupported, match="equal eigenvalues"):
        ta.jvp(vectors, (a,), (np.ones((3, 3)),))


STEPS = [(lambda x: np.heaviside(x, 0.5) * x, 1.0), (lambda x: np.copysign(2.0, x) * x, 2.0),
         (lambda x: np.sum(np.heaviside(np.array([x, -x]), 0.5)) * x, 1.0)]


@pytest.mark.parametrize(("f", "slope"), STEPS)
def test_arguments_without_a_partial_derivative(f: Any, slope: float) -> None:
    assert ta.grad(f, mode="reverse")(0.3) == slope
    assert ta.jvp(f, (0.3,), (1.0,))[1] == slope
    assert ta.grad(ta.grad(f))(0.3) == 0.0
