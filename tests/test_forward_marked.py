"""Functions marked `fwddiff`: derivatives by differences, on every path; what the emitted code looks like."""
from __future__ import annotations

import math
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import transad
from transad.api import source

Pair = namedtuple("Pair", "a b")
XS = np.array([0.3, 0.7, 1.1])


@dataclass
class Point:
    u: float
    v: float


def pendulum(q, stiffness, n):
    p = 0.3
    for _ in range(n):
        p += -stiffness * math.sin(q) * 0.1
        q += 0.1 * p
    return q


def two_ways(t, c):
    if t > c:
        return t * c, t
    w = np.zeros(3)
    for i in range(3):
        w[i] = t ** i * c
        if i == 1:
            continue
        w[0] += w[i]
    return w[2] + w[0], w[1]


def grown(p):
    s = p.a
    while s < 10.0:
        s = s * p.b + 0.5
    return Point(s, s * p.a)


def root(t):
    if t < 0.0:
        raise ValueError("negative")
    return math.sqrt(t)


def programs(store):
    swing, fork, grow, sqrt = (transad.fwddiff(f, store=store) for f in (pendulum, two_ways, grown, root))

    def once(xs):
        return swing(xs[0], 2 * xs[1], 20) * xs[2]

    def in_a_loop(xs):
        s = 0.2
        for i in range(len(xs)):
            a, b = fork(xs[i], s)
            s += a * b
        return s

    def structures(xs):
        s = 1.0
        for i in range(len(xs)):
            r = grow(Pair(xs[i], 1.0 + xs[i]))
            s = s * 0.5 + r.u * r.v * s
        return s

    def mapped_over_captured(xs):
        return sum(map(lambda e: swing(e, xs[0], 10), xs))

    def generator(xs):
        return sum(swing(e, 0.5, 4) * e for e in xs)

    def comprehension(xs):
        return np.sum(np.array([swing(e, 0.5, 4) for e in xs]) ** 2)

    def vectorised(xs):
        return np.sum(np.vectorize(swing)(xs, 0.5, 4) * xs)

    def on_branches(xs):
        s = 0.0
        for i in range(len(xs)):
            if xs[i] > 0.5:
                s += sqrt(xs[i] * s + 0.1)
            else:
                s = s + swing(xs[i], s, 3)
        return s

    def captured_and_changed(xs):
        a = xs * 2
        k = a[0] * a[1]

        @transad.fwddiff(store=store)
        def inner(t):
            r = t
            for _ in range(4):
                r = r * k + t
            return r
        a[1] = inner(a[1])
        return a[1] * a[2] + inner(a[0])

    def counts_its_calls(xs):
        def counted(t):
            nonlocal n
            n += 1
            return t * xs[0]
        n = 0
        marked = transad.fwddiff(counted, store=store)
        return marked(xs[1]) * n

    def marked_inside_marked(xs):
        outer = transad.fwddiff(lambda t: swing(t, t, 2) * t, store=store)
        return outer(xs[0]) * outer(xs[2])

    def reads_an_array(xs):
        total = transad.fwddiff(lambda v: v[0] * v[1] + np.sum(v), store=store)
        return total(xs) * xs[2]
    return [once, in_a_loop, structures, mapped_over_captured, generator, comprehension, vectorised, on_branches,
            captured_and_changed, counts_its_calls, marked_inside_marked, reads_an_array]


def total(v):
    return v[0] * v[1] + np.sum(v * v * v)


def peaks(p, t):
    return p[0] * math.exp(-p[1] * t) + p[-1]


def recurrence(v, c):
    s = 0.0
    for i in range(len(v)):
        s = s * c + v[i] * v[i] * s + math.sin(v[i])
    return s


def running(v, c):
    w = np.zeros(3)
    for i in range(3):
        w[i] = v[i] * c + v[0]
        if i > 0:
            w[i] += w[i - 1]
    return w


def scaled_and_summed(v, c):
    w = v * c + 1.0
    return w, np.sum(w) * c


def two_numbers(c):
    w = np.empty(2)
    w[0], w[1] = c * c, math.sqrt(c)
    return w


def quadratic(m, c):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] * c * m[j, i]
    return s


def array_programs(store):
    cubes, peak, step, run, scale, two, square, times = (transad.fwddiff(f, store=store) for f in (
        total, peaks, recurrence, running, scaled_and_summed, two_numbers, quadratic, np.dot))

    def whole(xs):
        return cubes(xs) * xs[2]

    def literal(xs):
        return peak(xs, 0.3) * peak(xs * 2, xs[0])

    def element_by_element(xs):
        return step(xs, xs[0]) + step(xs * xs, 0.2)

    def array_to_array(xs):
        w = run(xs, xs[1])
        return w[0] * w[1] * w[2]

    def two_results(xs):
        w, s = scale(xs, xs[1])
        w[0] = 2.0 * w[1]
        return np.sum(w) * s + w[2]

    def number_to_array(xs):
        w = two(xs[0])
        return w[0] * w[1] * xs[1]

    def matrix(xs):
        m = np.empty((3, 3))
        for i in range(3):
            for j in range(3):
                m[i, j] = xs[i] * xs[j] + xs[i]
        return square(m, xs[0])

    def product(xs):
        m = np.zeros((3, 3))
        m[0], m[1] = xs, xs * xs
        w = times(m, xs)
        return np.sum(w * w)

    def in_a_loop(xs):
        s = 0.0
        for i in range(4):
            w = run(xs * s, xs[0] + i)
            s += 0.01 * w[2] + step(w, 0.1) * 0.01
        return s

    def items(xs):
        return sum(map(lambda e: step(xs, e), xs)) + sum(run(xs, e)[2] * peak(xs, e) for e in xs)

    def captured_array(xs):
        k = xs * 2.0
        inner = transad.fwddiff(lambda t: np.sum(k * t) + k[1], store=store)
        a = inner(xs[0])
        k[1] = 7.0 * xs[2]
        return a * inner(xs[1])

    def gives_back_what_it_got(xs):
        same = transad.fwddiff(lambda v: v, store=store)
        w = same(xs) * 2.0
        return w[0] * same(w)[1]
    return [whole, literal, element_by_element, array_to_array, two_results, number_to_array, matrix, product, in_a_loop,
            items, captured_array, gives_back_what_it_got]


def differences(f, x):
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))])


CASES = [pytest.param(f, id=f"{f.__name__}-{'store' if store else 'again'}") for store in (False, True)
         for f in programs(store) + array_programs(store)]


@pytest.mark.parametrize("path", ["auto", "recorded"])
@pytest.mark.parametrize("f", CASES)
def test_gradient(f, path):
    np.testing.assert_allclose(transad.grad(f, path=path, mode="reverse")(XS), differences(f, XS), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", [*programs(False)[:4], programs(True)[1], *array_programs(False)[:5]])
def test_compiled(f):
    np.testing.assert_allclose(transad.grad(f, jit=True)(XS), differences(f, XS), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", CASES)
def test_second_order(f):
    g = transad.grad(f, path="recorded")
    expected = np.array([(g(XS + h) - g(XS - h)) / 2e-5 for h in 1e-5 * np.eye(3)])
    np.testing.assert_allclose(transad.hessian(f)(XS), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(transad.jacobian(transad.grad(f, mode="reverse"))(XS), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(transad.jvp(f, (XS,), (np.ones(3),))[1], np.sum(transad.grad(f)(XS)), rtol=1e-9)


def test_the_pullback_is_partials_times_cotangent():
    swing = transad.fwddiff(pendulum)
    text = source(lambda x: swing(x, 2.0, 20) * x, 0.7)
    assert "tape" not in text and "t_q" in text.split("_rev(")[1], text
    stored = transad.fwddiff(pendulum, store=True)
    text = source(lambda x: stored(x, 2.0, 20) * x, 0.7)
    assert "for" not in text.split("_rev(")[1] and "t_q" in text.split("_rev(")[0], text
    kept = transad.fwddiff(peaks, store=True)
    text = source(lambda p, t: kept(p, t) * t, XS, 2.0, wrt=(0,))
    assert "exp" not in text.split("_rev(")[1] and "t_y" in text.split("_rev(")[0], text
    fitted = transad.fwddiff(lambda x, data: sum(math.sin(x * e) for e in data), store=True)
    text = source(lambda x, data: fitted(x, data) * x, 0.7, XS, wrt=(0,))
    assert "for" not in text.split("_rev(")[1] and "t_total" in text.split("_rev(")[0], text


def test_arrays_take_a_sweep_for_each_element_or_literal_index():
    step, peak, run = (transad.fwddiff(f) for f in (recurrence, peaks, running))
    text = source(lambda v: step(v, 2.0) * v[0], XS, mode="reverse")
    assert "tape" not in text and "for j in range(len(v))" in text.split("_rev(")[1], text
    text = source(lambda v: peak(v, 2.0) * v[0], XS, mode="reverse")
    assert "for" not in text and "d_v[-1] +=" in text, text
    text = source(lambda v, c: np.sum(run(v, c)), XS, 2.0, mode="reverse")
    assert "d_c" not in text and "tape" not in text, text


def test_arguments_that_nobody_differentiates_have_no_tangent():
    swing = transad.fwddiff(pendulum)
    text = source(lambda x, c: swing(x, c, 20), 0.7, 2.0)
    assert "d_c" not in text and "t_q_1" not in text


def test_callable_as_the_function():
    marked = transad.fwddiff(root)
    assert marked(4.0) == 2.0 and marked.__name__ == "root" and marked.__wrapped__ is root
    assert transad.grad(marked)(4.0) == 0.25
    with pytest.raises(ValueError, match="negative"):
        transad.grad(lambda x: marked(x))(-1.0)

    class Model:
        k = 3.0

        @transad.fwddiff
        def at(self, t):
            return self.k * t * t
    assert transad.grad(lambda x: Model().at(x))(2.0) == 12.0


def test_infinite_slopes_meet_zero_cotangents():
    marked = transad.fwddiff(root)

    def f(x, y):
        t = marked(x)
        return y if x <= 0.0 else t * y
    assert transad.grad(f, (0, 1))(0.0, 2.0) == (0.0, 1.0)


@pytest.mark.parametrize("path", ["auto", "recorded"])
def test_many_inputs_are_worth_a_warning(path):
    total = transad.fwddiff(lambda v: np.sum(v * v))
    with pytest.warns(transad.TransadPerformanceWarning, match="500 sweeps"):
        g = transad.grad(lambda v: total(v), path=path)(np.ones(500))
    np.testing.assert_array_equal(g, np.full(500, 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transad.grad(lambda v: total(v), path=path)(np.ones(3))


def test_explain_says_which_mode_and_why():
    from transad.command.explain import explained
    from transad.command.plan import planned
    total = transad.fwddiff(lambda v: np.sum(v * v))
    prints = transad.fwddiff(lambda v: print(v) or v[0])

    def f(v):
        return total(v) * v[0]

    def g(v):
        return prints(v) * v[1]
    text = explained(planned(f, (np.ones(3),), options={"mode": "forward", "chunk": 4}))
    assert 'mode="forward"' in text and "4 directions" in text
    assert "is marked fwddiff: one forward sweep for each element of v" in text
    assert "sweep for each" not in explained(planned(g, (np.ones(3),)))


def test_rows_with_many_elements_are_worth_a_warning():
    cubes = transad.fwddiff(total)

    def f(m):
        s = 0.0
        for i in range(len(m)):
            s += cubes(m[i]) * (i + 1)
        return s
    g = transad.grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = g(np.ones((50, 3)))
    np.testing.assert_allclose(few[1], [8.0, 8.0, 6.0])
    with pytest.warns(transad.TransadPerformanceWarning, match="40 sweeps"):
        many = g(np.ones((3, 40)))
    np.testing.assert_allclose(many[:, 2], [3.0, 6.0, 9.0])
    np.testing.assert_allclose(g(np.ones((50, 3))), few)
