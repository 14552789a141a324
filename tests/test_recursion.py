"""Functions that call themselves, compiled: values and gradients beside those of the recorded path and of formulas."""
import math

import numpy as np
import pytest

import transad
from transad import CannotCompile, differentiable, value_and_grad


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def halves(a):
    if len(a) == 1:
        return math.sin(a[0])
    mid = len(a) // 2
    return halves(a[:mid]) * halves(a[mid:]) + a[0]


def tree(a):
    return halves(a) ** 2


def even(x, n):
    if n == 0:
        return x
    return odd(x * x, n - 1) + x


def odd(x, n):
    if n == 0:
        return 2.0 * x
    return even(math.sin(x), n - 1) * x


def simpson(f, a, b, tol, fa, fm, fb, whole, depth):
    m = (a + b) / 2
    fl, fr = f((a + m) / 2), f((m + b) / 2)
    left, right = (m - a) / 6 * (fa + 4 * fl + fm), (b - m) / 6 * (fm + 4 * fr + fb)
    if depth <= 0 or abs(left + right - whole) < 15 * tol:
        return left + right + (left + right - whole) / 15
    return (simpson(f, a, m, tol / 2, fa, fl, fm, left, depth - 1)
            + simpson(f, m, b, tol / 2, fm, fr, fb, right, depth - 1))


def integral(k):
    """An adaptive quadrature whose integrand captures the parameter."""
    f = lambda t: math.exp(-k * t * t)  # noqa: E731
    fa, fm, fb = f(0.0), f(1.0), f(2.0)
    return simpson(f, 0.0, 2.0, 1e-8, fa, fm, fb, (fa + 4 * fm + fb) / 3, 20)


def inner(x, n):
    def go(k):
        if k <= 0:
            return x
        return go(k - 1) * x + math.sin(go(k - 2))
    return go(n)


def both(never, n):
    if n == 0:
        return 1.0, never
    y, d_y = both(never, n - 1)
    return y * never + d_y, d_y * 0.9


def paired(x, n):
    p, q = both(x, n)
    return p * q


def count(n):
    return n if n < 2 else count(n - 1) + count(n - 2)


def counted(x, n):
    return x ** count(n)


PROGRAMS = [(power, (1.3, 5), 5 * 1.3**4), (tree, (np.linspace(0.3, 1.2, 7),), None), (even, (0.7, 5), None),
            (integral, (1.3,), None), (inner, (0.6, 5), None), (paired, (1.2, 4), None), (counted, (1.1, 6), 8 * 1.1**7)]


@pytest.mark.parametrize(("f", "args", "known"), PROGRAMS, ids=[f.__name__ for f, *_ in PROGRAMS])
def test_a_compiled_recursion_has_the_value_and_gradient_of_the_recorded_one(f, args, known):
    value, gradient = value_and_grad(differentiable(f, jit=True))(*args)
    expected, reference = value_and_grad(differentiable(f, path="recorded"))(*args)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, reference, rtol=1e-10)
    if known is not None:
        assert gradient == pytest.approx(known, rel=1e-12)


def test_the_gradient_of_a_quadrature_with_respect_to_what_its_integrand_captures():
    k = 1.3          # d/dk of sqrt(pi / k) / 2 erf(2 sqrt(k))
    known = -math.sqrt(math.pi) / 4 * k**-1.5 * math.erf(2 * math.sqrt(k)) + math.exp(-4 * k) / k
    assert transad.grad(differentiable(integral, jit=True))(k) == pytest.approx(known, rel=1e-6)


def fill(a, k):
    if k == len(a):
        return 0.0
    a[k] = a[k] * 2.0
    return a[k] + fill(a, k + 1)


def doubled(a, k):
    if k == 0:
        return a
    return doubled(a * 2.0, k - 1)


@pytest.mark.parametrize(("f", "reason"), [(fill, "writes into an array"), (doubled, "must return numbers")])
def test_what_a_recursion_cannot_do_compiled_is_refused_at_the_users_line(f, reason):
    with pytest.raises(CannotCompile, match=reason) as caught:
        transad.pullback(differentiable(f, jit=True), np.ones(3), 0)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_without_jit_they_are_right():
    y, back = transad.pullback(fill, np.array([1.0, 2.0, 3.0]), 0)
    assert y == 12.0
    assert np.array_equal(back(1.0)[0], [2.0, 2.0, 2.0])
    y, back = transad.pullback(doubled, np.ones(3), 2)
    assert np.array_equal(back(np.ones(3))[0], [4.0, 4.0, 4.0])
