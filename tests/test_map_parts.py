"""Maps one after the other: variables that are assigned again between them, entries of arrays that only a trip touches."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad
from transad import typed
from transad.maps import kernels

numba = pytest.importorskip("numba")
X = np.linspace(0.1, 1.9, 23)


def scaled_between(xs, a):
    s = sum(map(lambda x: math.sin(a * x), xs))
    a = a * 2.0 + s * 0.1
    t = sum(map(lambda x: math.sin(a * x), xs))
    return s * t


def captured_late(xs, a):
    ys = map(lambda x: math.sin(a * x), xs)
    a = a * 2.0
    return sum(ys) * a


def array_between(xs, a):
    s = sum(map(lambda x: math.sin(a * x), xs))
    xs = xs * s
    t = sum(map(lambda x: math.cos(a * x), xs))
    xs = xs + t
    return np.sum(xs * a)


def sum_goes_on(xs, a):
    s = 1.0
    s += sum(map(lambda x: math.sin(a * x), xs))
    a = a * s
    s = s * a
    s += sum(map(lambda x: math.sin(a * x), xs))
    return s * a


def list_again(xs, a):
    ys = [math.sin(a * x) for x in xs]
    a = sum(ys) * a
    ys = [math.sin(a * x) * y for x, y in zip(xs, ys, strict=False)]
    a = sum(ys) * a
    return a + ys[3] * xs[0]


def stores_in_branches(xs, a):
    out = np.zeros(len(xs))
    for i in numba.prange(len(xs)):
        if xs[i] > 1.0:
            out[i] = math.sin(a * xs[i])
        elif xs[i] > 0.5:
            out[i] = a * math.exp(xs[i])
    return np.sum(out * out)


def added_to_its_entry(xs, a):
    out = np.zeros(len(xs))
    for i in numba.prange(len(xs)):
        out[i] += math.sin(a * xs[i])
        out[i] *= a
    return np.sum(out * out)


def rows(xs, a):
    out = np.zeros((len(xs), 2))
    for i in numba.prange(len(xs)):
        if xs[i] > 1.0:
            out[i, 0] = math.sin(a * xs[i])
        out[i, 1] += out[i, 0] * a
    return np.sum(out * out)


def cubes(xs, a):
    out = np.empty((len(xs), 2, 3))
    for i in numba.prange(len(xs)):
        for j in range(2):
            for k in range(3):
                out[i, j, k] = math.sin(a * xs[i] * j + k)
    return np.sum(out * out)


def whole_rows(xs, a):
    out = np.zeros((len(xs), 3))
    w = np.array([a, 1.0, 2.0])
    for i in numba.prange(len(xs)):
        out[i] = np.sin(w * xs[i])
    return np.sum(out * out)


def constants_beside_a_sum(xs, a):
    s = 0.0
    out = np.zeros(len(xs))
    for i in numba.prange(len(xs)):
        s += math.sin(xs[i] * a) * math.exp(xs[i])
        out[i] = 2.0 * i
    return s * np.sum(out)


PROGRAMS = [scaled_between, captured_late, array_between, sum_goes_on, list_again, stores_in_branches, added_to_its_entry,
            rows, cubes, whole_rows, constants_beside_a_sum]


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_gradient_and_pullback(function, jit, monkeypatch):
    monkeypatch.setattr(kernels, "_SMALL", 0.0)
    y, expected = transad.value_and_grad(function, (0, 1), path="recorded")(X, 1.3)
    marked = transad.differentiable(function, jit=jit)
    value, gradient = transad.value_and_grad(marked, (0, 1))(X, 1.3)
    assert value == pytest.approx(y, rel=1e-12)
    np.testing.assert_allclose(gradient[0], expected[0], rtol=1e-10, atol=1e-12)
    assert gradient[1] == pytest.approx(expected[1], rel=1e-10)
    value, back = transad.pullback(marked, X, 1.3)
    for scale in (2.0, -1.0):
        d_xs, d_a = back(scale)
        np.testing.assert_allclose(d_xs, scale * expected[0], rtol=1e-10, atol=1e-12)
        assert d_a == pytest.approx(scale * expected[1], rel=1e-10)
    chains = [e.built.chain for key, found in typed._BUILT.items() for e in found if key[0] is function]
    assert chains and all(c is not None for c in chains)


def past_the_array(xs, a):
    out = np.zeros(5)
    for i in numba.prange(len(xs)):
        out[i] = math.sin(a * xs[i]) * math.exp(xs[i])
    return np.sum(out)


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_an_entry_past_the_end(jit):
    gradient = transad.value_and_grad(past_the_array, jit=jit)
    assert gradient(X[:5], 1.3)[0] == pytest.approx(past_the_array(X[:5], 1.3), rel=1e-12)
    assert gradient(X[:4], 1.3)[0] == pytest.approx(past_the_array(X[:4], 1.3), rel=1e-12)
    with pytest.raises(IndexError):
        gradient(X[:9], 1.3)
