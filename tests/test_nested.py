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
