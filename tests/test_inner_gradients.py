"""`grad` and `value_and_grad` called inside a function that is differentiated: maps of them, and what they refer to."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad
from tests.map_form_programs import X, wave
from tests.test_map_forms import differences
from transad import typed

SLOPE = transad.grad(lambda e: wave(e, 1.3))
BOTH = transad.value_and_grad(wave, (0, 1))


def captured(xs, a):
    return np.sum(transad.map(transad.grad(lambda e: wave(e, a) * e), xs) ** 2)


def made_outside(xs, a):
    return np.sum(transad.map(SLOPE, xs)) * a


def values_too(xs, a):
    y, (p, q) = transad.map(BOTH, xs, 1.0 - xs)
    return np.sum(y * p * q) * a


def under_sum(xs, a):
    return sum(map(transad.grad(wave, 1), xs, xs)) * a


def second(xs, a):
    return sum(transad.grad(transad.grad(lambda e: wave(e, a)))(x) for x in xs)


def newton(xs, a):
    def solved(c):
        f = lambda z: z ** 3 + a * z - c        # noqa: E731
        z = 1.0
        for _ in range(6):
            z = z - f(z) / transad.grad(f)(z)
        return z
    return sum(solved(x) for x in xs)


def branches(xs, a):
    def cost(e, b):
        s = 0.0
        for k in range(3):
            if e * b > 1.0:
                s += math.log(e * b) * k
            else:
                s += np.sum(np.array([e, b])) ** 2
        return s
    return sum(transad.grad(cost, 1)(x, a) for x in xs)


def square_roots(xs, a):
    return sum(transad.grad(lambda e: math.sqrt(e * a) if e > 1.0 else e * a)(x) * x for x in xs)


def of_arrays(xs, a):
    return np.sum(transad.grad(lambda v: np.sum(np.sin(v * a) ** 2))(xs) ** 2)


def stopped(xs, a):
    return sum(transad.grad(lambda e: transad.stop_gradient(math.sin(e)) * a * e)(x) * x for x in xs)


def changing(xs, a):
    count = [0.0]

    def cost(e):
        count[0] += 1.0
        return count[0] * math.sin(e * a)
    return sum(transad.grad(cost)(x) for x in xs)


KERNELS = (captured, made_outside, values_too, under_sum, second, newton, branches, square_roots)


@pytest.mark.parametrize("f", [*KERNELS, of_arrays, changing], ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    y, found = transad.value_and_grad(f, (0, 1))(X, 1.3)
    assert y == pytest.approx(f(X, 1.3), rel=1e-12)
    for g, expected in zip(found, differences(f, (X, 1.3)), strict=True):
        np.testing.assert_allclose(g, expected, rtol=5e-6, atol=2e-6)
    built = [e.built.chain for key, known in typed._BUILT.items() for e in known if key[0] is f and hasattr(e, "built")]
    assert any(built) == (f in KERNELS)


def test_compiled():
    y, found = transad.value_and_grad(square_roots, (0, 1), jit=True)(X, 1.3)
    expected = transad.value_and_grad(square_roots, (0, 1), path="recorded")(X, 1.3)
    assert y == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[0], expected[1][0], rtol=1e-10)
    assert found[1] == pytest.approx(expected[1][1], rel=1e-10)


def test_what_is_stopped_inside_is_constant_outside():
    g = transad.grad(stopped)(X, 1.3)
    np.testing.assert_allclose(g, np.sin(X) * 1.3, rtol=1e-12)


@pytest.mark.parametrize("body", [
    lambda e, a: e ** a, lambda e, a: a ** e, lambda e, a: a / (e + 1.0), lambda e, a: abs(e - 0.5) ** 1.5 * a,
    lambda e, a: max(e * a, e ** 2), lambda e, a: min(e * a, 1.0) * e, lambda e, a: math.atan2(e, a),
    lambda e, a: math.hypot(e, a), lambda e, a: np.maximum(e, a) * e,
    lambda e, a: np.dot(np.array([e, a]), np.array([e * e, 1.0])),
    lambda e, a: np.clip(e * a, 0.3, 1.5) * e, lambda e, a: np.cbrt(e) * a, lambda e, a: np.linalg.norm(np.array([e, a, 1.0])),
    lambda e, a: np.sum(np.outer(np.array([e, a]), np.array([a, e * e]))), lambda e, a: np.logaddexp(e, a),
    lambda e, a: np.prod(np.array([e, a, e])), lambda e, a: np.mean(np.sin(np.array([e, a])))])
def test_second_order_agrees_with_the_recorded_path(body):
    def f(xs, a):
        return sum(transad.grad(lambda e: body(e, a) ** 2 * e)(x) for x in xs)
    found, expected = (transad.grad(f, (0, 1), path=p)(X, 1.3) for p in ("auto", "recorded"))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11, atol=1e-12)
    assert found[1] == pytest.approx(expected[1], rel=1e-11)
