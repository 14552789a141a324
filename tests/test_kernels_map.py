"""`transad.map`: functions and derivatives over arrays."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad

pytest.importorskip("numba")
X = np.linspace(0.1, 2.0, 300)


def wave(x):
    return math.sin(x) * x


def test_numbers():
    np.testing.assert_allclose(transad.map(wave, X), np.sin(X) * X, rtol=1e-14)
    assert transad.map(wave, X[:0]).shape == (0,)
    assert transad.map(wave, list(X[:3])).shape == (3,)


def test_tuples_and_rows():
    def both(x, y):
        return x * y, np.array([x, y, x + y])
    product, table = transad.map(both, X, X[:200])
    assert product.shape == (200,) and table.shape == (200, 3)
    np.testing.assert_allclose(table[:, 2], 2 * X[:200])


def test_derivatives():
    np.testing.assert_allclose(transad.map(transad.grad(wave), X), np.cos(X) * X + np.sin(X), rtol=1e-12)
    y, (d_a, d_b) = transad.map(transad.value_and_grad(lambda a, b: a * b * b, argnums=(0, 1)), X, X)
    np.testing.assert_allclose(y, X ** 3)
    np.testing.assert_allclose([d_a, d_b], [X * X, 2 * X * X])


def test_gradients_of_rows():
    rows = np.random.default_rng(1).random((50, 4))
    found = transad.map(transad.grad(lambda row, w: np.sum(row * row) * w), rows, X)
    np.testing.assert_allclose(found, 2 * rows * X[:50, None])


def test_jacobians():
    def polar(v):
        out = np.empty(2)
        out[0] = v[0] * math.cos(v[1])
        out[1] = v[0] * math.sin(v[1])
        return out
    points = np.random.default_rng(2).random((40, 2))
    y, jac = transad.map(transad.value_and_jacobian(polar), points)
    for k in range(40):
        value, expected = transad.value_and_jacobian(polar)(points[k])
        np.testing.assert_allclose(y[k], value)
        np.testing.assert_allclose(jac[k], expected)


def test_captured_values_are_those_of_the_call():
    scale = 2.0

    def scaled(x):
        return scale * x
    np.testing.assert_allclose(transad.map(scaled, X), 2.0 * X)
    scale = 3.0
    np.testing.assert_allclose(transad.map(scaled, X), 3.0 * X)


def test_the_exception_of_an_item():
    def root(x):
        if x > 1.5:
            raise ValueError("too large")
        return math.sqrt(x)
    with pytest.raises(ValueError, match="too large"):
        transad.map(root, X)


def test_refusals():
    with pytest.raises(transad.CannotCompile):
        transad.map(lambda x: {"a": x}, X)
    with pytest.raises(transad.InvalidArgument):
        transad.map(wave)
    with pytest.raises(transad.InvalidArgument):
        transad.map(wave, np.array(["a"]))


def test_inside_a_differentiated_function():
    def loss(x, a):
        return np.sum(transad.map(lambda e: math.sin(a * e), x) ** 2)
    expected = np.sum(2 * np.sin(1.3 * X) * np.cos(1.3 * X) * X)
    for options in ({}, {"path": "recorded"}, {"jit": True}):
        assert transad.grad(loss, 1, **options)(X, 1.3) == pytest.approx(expected, rel=1e-12)
