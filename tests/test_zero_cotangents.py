"""A zero cotangent wins over an infinite slope, also where one statement makes it zero, and in loops that go forwards."""

from __future__ import annotations

import math

import numpy as np
import pytest

import transad


def squared_root(x):
    return math.sqrt(x) ** 2


def root_times(x):
    return x * x ** 0.5 + x * math.sqrt(x * x)


def distance_squared(v):
    return np.sqrt(np.sum(v ** 2)) ** 2


def rows(v):
    r = np.sqrt(v) * v
    return np.sum(r * r)


def pairs(x):
    s = 1.0
    for k in range(3):
        d = math.sqrt(x * x + k * x * x)
        s = s * (1.0 + d * d) + x
    return s


def steps(x):
    s = 0.0
    for i in range(3):
        r = math.sqrt(x) * (1.0 + i)
        s += r * r * (1.0 + s)
    return s


@pytest.mark.parametrize("way", [{}, {"mode": "reverse"}, {"path": "recorded"}, {"jit": True}], ids=str)
@pytest.mark.parametrize("f, at, slope", [
    (squared_root, 0.0, 0.0), (root_times, 0.0, 0.0), (distance_squared, np.zeros(2), np.zeros(2)),
    (rows, np.zeros(2), np.zeros(2)), (pairs, 0.0, 3.0), (steps, 0.0, 0.0)])
def test_zero_wins(f, at, slope, way):
    assert np.array_equal(transad.grad(transad.differentiable(f, **way))(at), slope)


@pytest.mark.parametrize("way", [{}, {"mode": "forward"}, {"jit": True}], ids=str)
@pytest.mark.parametrize("f, at", [(root_times, 0.7), (pairs, 0.7), (steps, 0.7), (rows, np.array([0.3, 0.8]))])
def test_elsewhere(f, at, way):
    expected = transad.grad(transad.differentiable(f, path="recorded"))(at)
    assert np.allclose(transad.grad(transad.differentiable(f, **way))(at), expected, 1e-13)


def test_a_slope_that_is_infinite_stays_so():
    assert transad.grad(lambda x: 2.0 * math.sqrt(x))(0.0) == math.inf
    assert transad.grad(lambda x, y: y * math.sqrt(x), jit=True)(0.0, 3.0) == math.inf
    assert transad.grad(lambda x, y: y * math.sqrt(x), jit=True)(0.0, 0.0) == 0.0
