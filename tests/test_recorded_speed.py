"""What the recorded path does for speed keeps its values: memory that is used again, cotangents that are written over."""
import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from tests.differences import gradient
from transad import grad, pool, value_and_grad

N = 200           # n * n numbers: large enough for the pool
X = np.sin(np.arange(float(N * N))).reshape(N, N)


def shared_cotangent(x):
    a, b = np.sin(x), np.cos(x)
    s = a - b                   # both get the one cotangent, the second with another sign
    return np.sum((s + a) * s - 2.0 * (a + b))


def broadcast_both(x):
    m = np.mean(x, axis=1)
    centred = x[None, :5] - m[:20, None, None]
    return np.sum(np.exp(-centred ** 2) * 0.5)


def through_products(x):
    y = (x - x[0]) @ np.tanh(x) @ x.T
    return np.sum(y * y) / 1e4 + np.sum(np.maximum(y, x) / (1.0 + x * x))


def stacked(x):
    a = x[:20, :150].reshape(20, 50, 3) - x[:20, :3][:, None]
    return np.sum(np.square(a @ x[:20, :9].reshape(20, 3, 3).transpose(0, 2, 1)))


def written_over(x):
    y = x * 2.0
    z = y
    y *= x
    y[3] = x[5] + z[3]
    y -= np.negative(y)
    return np.sum(y * z) / N


@pytest.mark.parametrize("f", [shared_cotangent, broadcast_both, through_products, stacked, written_over])
def test_gradients_by_differences(f):
    v = np.cos(X)
    step = 1e-6
    for _ in range(5):          # the first calls have fresh memory, the later ones what earlier ones left behind
        g = grad(f, path="recorded")(X)
        along = (f(X + step * v) - f(X - step * v)) / (2 * step)
        assert np.isclose(np.sum(g * v), along, rtol=1e-5)


def test_results_are_not_written_over():
    vg = value_and_grad(lambda v: np.sum(np.exp(v) * v), path="recorded")
    kept = []

    def keeping(v):
        kept.append(np.exp(v) * v)
        return np.sum(kept[-1])
    kg = grad(keeping, path="recorded")
    results = [(vg(X + k), kg(X + k)) for k in range(6)]
    for k, ((_, a), b) in enumerate(results):
        expected = np.exp(X + k) * (X + k + 1.0)
        np.testing.assert_allclose(a, expected)
        np.testing.assert_allclose(b, expected)
        np.testing.assert_allclose(kept[k], np.exp(X + k) * (X + k))


def test_an_array_that_is_watched_is_not_handed_out_again():
    for _ in range(5):
        pool.enter()
        a = pool.empty((N, N), np.dtype(float))
        watched = weakref.ref(a)
        del a
        gc.collect()
        pool.leave()
        assert watched() is None


def test_what_waits_is_bounded_and_let_go():
    def f(v):
        return np.sum(np.sin(v) * np.cos(v) + np.tanh(v))
    g = grad(f, path="recorded")
    big = np.ones(1 << 18)
    tracemalloc.start()
    try:
        for _ in range(6):
            g(big)
        assert 0 < tracemalloc.get_traced_memory()[0] < 10 * big.nbytes
        for _ in range(40):
            grad(lambda v: np.sum(v * v * v), path="recorded")(X)        # other memory is asked for meanwhile
        assert tracemalloc.get_traced_memory()[0] < 5 * X.nbytes
    finally:
        tracemalloc.stop()


def test_complex_numbers_go_the_general_way():
    def f(x):
        z = np.exp(1j * x) * 2.0
        return np.sum(np.abs(z * z - x))
    x = np.array([0.7, -1.3, 2.1])
    np.testing.assert_allclose(grad(f, path="recorded")(x), gradient(f, (x,), 0), rtol=1e-6)


def test_layouts_stay_those_of_numpy():
    seen = {}

    def f(x):
        for name, value in (("t", x.T * 2.0), ("s", x[:, ::2] + 1.0), ("p", x @ x.T), ("b", x[:, None] - x[None])):
            seen[name] = value.strides
        return np.sum(x)
    small = X[:90, :90].copy()
    for _ in range(4):
        grad(f, path="recorded")(small)
    found = dict(seen)
    f(small)
    assert found == seen
    assert pool.empty((N, N), np.dtype(float)).flags.c_contiguous
