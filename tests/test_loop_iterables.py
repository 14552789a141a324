"""What a loop goes over is fixed when it starts, whatever its body assigns."""
import numpy as np
import pytest

import transad


def array_rebound(a, k):
    for _, w in zip(a, a):
        a = a / w
    return a[0] * k


def target_is_the_array(a, k):
    s = 0.0
    for a in a:
        s += a * a
    return s * k


def start_rebound(a, k):
    s = 0.0
    for i, v in enumerate(a, start=2):
        a = a * 0.5
        s += i * v * a[0]
    return s * k


def range_rebound(a, k):
    s, n = 0.0, 1
    for i, v in zip(range(n, 9), a):
        n = 7
        s += i * v
    return s * k + n


def reversed_rebound(a, k):
    s = 0.0
    for v in reversed(a):
        a = a * 0.5
        s += v * a[0]
    return s * k


X = np.array([0.5, 1.5, 2.0])


@pytest.mark.parametrize("f", [array_rebound, target_is_the_array, start_rebound, range_rebound, reversed_rebound])
def test_typed_path_goes_over_the_first_meaning(f):
    y, (d_a, d_k) = transad.value_and_grad(f, (0, 1), path="typed")(X, 1.3)
    assert y == pytest.approx(f(X, 1.3), rel=1e-14)
    h = 1e-6
    slopes = [(f(X + h * e, 1.3) - f(X - h * e, 1.3)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(d_a, slopes, rtol=1e-7, atol=1e-8)
    assert d_k == pytest.approx((f(X, 1.3 + h) - f(X, 1.3 - h)) / (2 * h), rel=1e-7)
