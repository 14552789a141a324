"""`np.vectorize` on each path: broadcasting, dtypes and calls as NumPy makes them; compiled, its elements are a map."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad

XS, YS = np.array([0.3, 0.7, 1.1]), np.array([0.2, 1.5, 0.4])


def log_density(x, d):
    return -math.log(x) - d / x


def swing(q, stiffness, n):
    p = 0.3
    for _ in range(n):
        p += -stiffness * math.sin(q) * 0.1
        q += 0.1 * p
    return q


swings = np.vectorize(swing)
marked_swings = np.vectorize(transad.fwddiff(swing))
densities = np.vectorize(log_density, otypes=[float])


def made_inside(x, y):
    return np.sum(np.vectorize(transad.fwddiff(log_density))(x, y))


def with_numbers(x, y):
    return np.sum(marked_swings(x, 0.5, 4) * y)


def with_an_active_number(x, y):
    return np.sum(marked_swings(x, y[0], 4) * x)


def two_results(x, y):
    a, b = np.vectorize(lambda t: (t * t, math.sin(t)))(x)
    return np.sum(a * b * y)


def matrix_and_row(x, y):
    m = np.empty((2, 3))
    m[0], m[1] = x, y
    return np.sum(swings(m, x, 2) ** 2)


def lengths_of_one(x, y):
    return np.sum(densities(x[:1], y)) + np.sum(densities(x, y[:1])) * y[2]


def integer_or_float(x, y):
    return np.sum(np.vectorize(lambda t: 0 if t < 0.5 else t * x[0])(x) * y)


def float_where_said(x, y):
    return np.sum(np.vectorize(lambda t: 0 if t < 0.5 else t * x[0], otypes=[float])(x) * y)


def counts_its_calls(x, y):
    def counted(t):
        nonlocal n
        n += 1
        return t * n
    n = 0
    return np.sum(np.vectorize(counted)(x) * y) * n


def captured(x, y):
    k = y[1] * 2.0
    return np.sum(np.vectorize(transad.fwddiff(lambda t: t * k + y[2]))(x) ** 2)


FORMS = [made_inside, with_numbers, with_an_active_number, two_results, matrix_and_row, lengths_of_one, float_where_said,
         captured]
RECORDED = [integer_or_float, counts_its_calls]         # the first result decides the dtype; there is one more call


@pytest.mark.parametrize("options", [{}, {"path": "recorded"}, {"parallel": False}], ids=str)
@pytest.mark.parametrize("f", FORMS + RECORDED)
def test_value_and_gradient(f, options):
    value, gradient = transad.value_and_grad(f, (0, 1), **options)(XS, YS)
    assert np.isclose(value, f(XS, YS), rtol=1e-13)
    if f is integer_or_float:
        np.testing.assert_array_equal(gradient[0], np.zeros(3))
        return
    for k, g in enumerate(gradient):
        for i, h in enumerate(1e-6 * np.eye(3)):
            args = [(XS + h, YS) if k == 0 else (XS, YS + h), (XS - h, YS) if k == 0 else (XS, YS - h)]
            assert np.isclose(g[i], (f(*args[0]) - f(*args[1])) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [made_inside, with_an_active_number, lengths_of_one, matrix_and_row])
def test_compiled(f):
    value, gradient = transad.value_and_grad(f, (0, 1), jit=True)(XS, YS)
    expected = transad.value_and_grad(f, (0, 1), path="recorded")(XS, YS)
    assert np.isclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)


def test_what_compiled_code_refuses():
    with pytest.raises(transad.CannotCompile, match=r"otypes=\[float\]"):
        transad.grad(integer_or_float, jit=True)(XS, YS)
    with pytest.raises(transad.CannotCompile, match="changes something outside"):
        transad.grad(counts_its_calls, jit=True)(XS, YS)


@pytest.mark.parametrize("path", ["auto", "recorded"])
def test_errors_are_those_of_numpy(path):
    inverse = transad.grad(lambda x: np.sum(np.vectorize(lambda t: 1.0 / t)(x)), path=path)
    with pytest.raises(ValueError, match="size 0"):
        inverse(np.zeros(0))
    with pytest.raises(ZeroDivisionError):
        inverse(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="broadcast"):
        transad.grad(lambda x: np.sum(swings(x, np.ones(2), 2)), path=path)(XS)


def test_elements_are_a_kernel_with_dual_code():
    from transad.command.plan import planned
    state = planned(with_numbers, (XS, YS)).state
    assert state is not None and state.chain is not None and state.chain.threaded
    assert "tape" not in state.chain.text and "t_q" in state.chain.text, state.chain.text
