"""Kinds of code that published functions are written in, each as its author would leave it: options of Numba, counts
passed as arguments, loops to convergence, `cmath`, results put into arrays that are handed in."""
import cmath
import math
from enum import Enum

import numba
import numpy as np
import pytest

import transad


def slope(f, *args, k=0, h=1e-6):
    """The derivative of f in its argument k, by central differences."""
    up, down = list(args), list(args)
    up[k], down[k] = args[k] + h, args[k] - h
    return (f(*up) - f(*down)) / (2 * h)


# Integers that say how many

def nodes_and_weights(a, b, n):
    nodes = np.linspace(a, b, n)
    weights = np.full_like(nodes, (b - a) / n)
    return nodes, weights


def test_counts_among_the_arguments_of_a_pullback_carry_no_derivative():
    (nodes, weights), back = transad.pullback(nodes_and_weights, 1.0, 3.0, 5)
    assert nodes.tolist() == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert weights.tolist() == [0.4] * 5
    d_a, d_b, d_n = back((np.ones(5), np.ones(5)))
    # sum of nodes: n (a + b) / 2; sum of weights: b - a (by the rule of full_like, n of (b - a) / n)
    assert (d_a, d_b) == (pytest.approx(2.5 - 1.0), pytest.approx(2.5 + 1.0))
    assert d_n == pytest.approx(5 * -(3.0 - 1.0) / 25)


@numba.njit(parallel=True)
def moving_average(x, w):
    n = x.shape[0] - w + 1
    out = np.empty(n)
    for i in numba.prange(n):
        out[i] = np.sum(x[i:i + w] ** 2) / w
    return out


def test_the_count_of_a_parallel_range_may_be_an_argument():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    y, back = transad.pullback(moving_average, x, 2)
    assert y.tolist() == [2.5, 6.5, 12.5]
    assert back(np.array([1.0, 0.0, 10.0]))[0].tolist() == [1.0, 2.0, 30.0, 40.0]


def test_full_like_takes_the_shape_alone_of_an_active_array():
    x = np.array([1.0, 2.0])
    assert transad.grad(lambda x: np.sum(np.full_like(x, 3.0) * x))(x).tolist() == [3.0, 3.0]


# Results put into arrays without axes

def compounded(returns, out=None):
    given = out is None
    if given:
        out = np.empty(returns.shape[1:])
    out = np.subtract(np.power(np.add(np.mean(returns, axis=0, out=out), 1.0, out=out), 12.0, out=out), 1.0, out=out)
    return out.item() if returns.ndim == 1 else out


def test_one_array_without_axes_is_the_result_of_step_after_step():
    returns = np.array([0.01, 0.03])
    expected = 12.0 * 1.02 ** 11 / 2.0
    assert transad.grad(compounded)(returns) == pytest.approx(np.array([expected] * 2), rel=1e-12)
    per_column = transad.jacobian(compounded)(np.stack([returns, returns], axis=1))
    assert per_column[:, :, 0] == pytest.approx(np.array([[expected] * 2, [0.0] * 2]), rel=1e-12)


@pytest.mark.parametrize("function, value, expected", [
    (lambda a: a * a, 3.0, 6.0), (np.exp, 0.5, math.exp(0.5)), (math.sin, 0.5, math.cos(0.5)), (np.square, 3.0, 6.0)])
def test_an_array_without_axes_is_kept_before_it_is_written(function, value, expected):
    def f(x):
        a = np.empty(())
        a[()] = x
        y = function(a)
        a[()] = 7.0
        return y * 1.0
    assert transad.grad(f)(value) == pytest.approx(expected, rel=1e-14)


# Loops that only a return leaves

def series(x, tol=1e-12):
    total = 0.0
    k = 0
    while True:
        last = total
        total += x ** k / (k + 1.0)
        k += 1
        if abs(total - last) < tol:
            return total


def search(x, n):
    for i in range(n):
        while True:
            x = x * 1.5
            if x > 3.0 + i:
                break
            if x > 100.0:
                return x
        if i == 2:
            while 1:
                x += 0.5 * x
                if x > 20.0:
                    return x * i
    return -x


@pytest.mark.parametrize("jit", [False, True])
def test_endless_loops_left_by_return(jit):
    x = 0.4                                     # sum x^k / (k + 1) = -log(1 - x) / x
    expected = 1.0 / (x * (1.0 - x)) + math.log(1.0 - x) / x ** 2
    assert transad.grad(transad.differentiable(series, path="typed"), jit=jit)(x) == pytest.approx(expected, rel=1e-9)
    for x in (0.3, 0.9, 2.2):
        found = transad.grad(transad.differentiable(search, path="typed"), jit=jit)(x, 3)
        assert found == pytest.approx(slope(search, x, 3), rel=1e-7)


def test_a_function_that_may_return_nothing_is_refused_at_its_own_line():
    def found(x):
        for _ in range(3):
            if x > 1.0:
                return x
            x = x * 2.0
    assert transad.grad(found)(0.4) == 4.0
    with pytest.raises(transad.CannotCompile, match="different kinds of things") as caught:
        transad.grad(found, jit=True)(0.4)
    assert "def found(x)" in str(caught.value)


# cmath

def wave(a, b):
    z = complex(a, b)
    w = cmath.sqrt(z) + cmath.exp(1j * z) * cmath.log(z, 2) + cmath.rect(a, b)
    r, phi = cmath.polar(w)
    return r * phi + abs(cmath.tanh(w)) + cmath.sqrt(-a).imag + cmath.asin(1.0 + a).imag


@pytest.mark.parametrize("k", [0, 1])
def test_complex_functions_of_real_numbers(k):
    assert transad.grad(wave, k)(0.7, 0.3) == pytest.approx(slope(wave, 0.7, 0.3, k=k), rel=1e-8)


def roots(a, b, c):
    d = b * b - 4.0 * a * c
    if d < 0.0:
        d = math.sqrt(-d)
        return (-b + d * 1.0j) / (2.0 * a), (-b - d * 1.0j) / (2.0 * a)
    d = math.sqrt(d)
    return (d - b) / (2.0 * a), -(b + d) / (2.0 * a)


def test_results_that_are_complex_on_one_path_keep_their_derivatives():
    y, back = transad.pullback(roots, 1.0, -3.0, 1.0)
    assert y == ((3.0 + math.sqrt(5.0)) / 2.0, (3.0 - math.sqrt(5.0)) / 2.0)
    # dx = -(x^2 da + x db + dc) / (2 a x + b)
    x = y[0]
    assert back((1.0, 0.0)) == pytest.approx((-x * x / math.sqrt(5.0), -x / math.sqrt(5.0), -1.0 / math.sqrt(5.0)), rel=1e-12)
    y, back = transad.pullback(roots, 1.0, 2.0, 5.0)
    assert y == (-1.0 + 2.0j, -1.0 - 2.0j)
    assert back((-1.0j, 0.0)) == pytest.approx((-0.75, -0.25, 0.25), rel=1e-12)     # of the imaginary part


@pytest.mark.parametrize("f, expected", [(lambda x: x * 1j, -1.0), (lambda x: sum([x * 1j, x]), 0.0)])
def test_complex_results_of_real_arguments(f, expected):
    y, back = transad.pullback(f, 0.7)
    assert back(1.0 + 1.0j) == (expected,)


def test_real_numbers_stored_into_complex_arrays_keep_their_derivatives():
    def spectrum(x):
        a = np.zeros(3, dtype=np.complex128)
        a[0] = x
        for k in range(1, 3):
            a[k] = a[k - 1] * x * 1j
        return a
    y, back = transad.pullback(spectrum, 2.0)
    assert y.tolist() == [2.0, 4.0j, -8.0]
    assert back(np.array([1.0, -1.0j, 1.0])) == (pytest.approx(1.0 + 4.0 - 12.0),)
    with pytest.raises(transad.CannotCompile, match="complex numbers that depend"):
        transad.pullback(transad.differentiable(spectrum, jit=True), 2.0)


# Switches, messages, functions that Numba made of scalar ones

class Units(Enum):
    SI = 1
    IP = 2

    @classmethod
    def named(cls, text):
        return cls[text] if isinstance(text, str) else text


def scaled(x, units):
    units = Units.named(units)
    return {Units.SI: 1.0, Units.IP: 3.0}[units] * x * x


UNITS = Units.SI


def kelvin(t):
    if UNITS == Units.SI:
        return t + 273.15
    elif UNITS == Units.IP:
        return (t + 459.67) * 5.0 / 9.0
    raise ValueError(f"unknown units {UNITS}")


@numba.vectorize(nopython=True)
def vapour(t, p):
    k = kelvin_njit(t)
    if k < 200.0:
        return 0.0
    return math.exp(20.0 - 5000.0 / k) / max(p, 1.0)


kelvin_njit = numba.njit(cache=False)(lambda t: t + 273.15)


def humidity(t, p, *, scale=1.0):
    """Uses a function of `vectorize`, a keyword of its own and a message."""
    if p <= 0.0:
        raise ValueError(f"pressure {p:.1f} must be positive")
    v = vapour(t, p)
    print("vapour", v)
    return scale * v * kelvin(t)


@pytest.mark.parametrize("jit", [False, True])
def test_functions_of_vectorize_and_switches_of_an_enum(jit, capsys):
    f = transad.differentiable(humidity, jit=jit)
    k = 20.0 + 273.15
    v = math.exp(20.0 - 5000.0 / k) / 2.0
    assert transad.grad(f, (0, 1))(20.0, 2.0) == pytest.approx((v * 5000.0 / k + v, -v * k / 2.0), rel=1e-12)
    assert "vapour" in capsys.readouterr().out
    with pytest.raises(ValueError, match="pressure {p} must" if jit else "pressure -1.0 must"):
        transad.grad(f)(20.0, -1.0)
    assert transad.grad(transad.differentiable(vapour, jit=jit), 1)(20.0, 2.0) == pytest.approx(-v / 2.0, rel=1e-12)


def test_functions_of_vectorize_take_arrays():
    t = np.array([10.0, 20.0])
    expected = [slope(vapour, x, 2.0) for x in t]
    assert transad.grad(lambda t: np.sum(vapour(t, 2.0)))(t) == pytest.approx(np.array(expected), rel=1e-7)


def test_methods_of_an_enum_class():
    assert transad.grad(scaled)(2.0, "IP") == 12.0
    assert transad.grad(scaled)(2.0, Units.SI) == 4.0
