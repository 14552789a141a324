"""Iterators are gone through once, lazily, over what they were made from: on each path, as in Python."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad

X = np.linspace(0.15, 1.9, 9)


def rebound_array(xs, a):
    ys = map(lambda x: math.sin(a * x), xs)
    xs = xs * 2.0
    return sum(ys) + xs[0]


def rebound_in_generator(xs, a):
    ys = (math.sin(a * x) for x in xs)
    xs = xs * 2.0
    return sum(ys) + xs[0]


def rebound_range(xs, a, n=5):
    r = range(n)
    n = 2
    return sum(a * xs[i] for i in r) + sum(xs[i] for i in r) + n


def rebound_partner(xs, a):
    ys = xs * a
    pairs = zip(xs, ys, strict=False)
    ys = ys * 3.0
    return sum(x * y for x, y in pairs) + ys[0]


def captured_late(xs, a):
    ys = map(lambda x: math.sin(a * x), xs)
    a = a * 2.0
    return sum(ys)


def captured_late_from_tuple(xs, a):
    ys = (a * k for k in (1.0, 2.0))
    a = a * 5.0
    return sum(ys) * xs[0]


def each_call_sees_the_last(xs, a):
    total = 0.0
    for y in map(lambda k: k * a, (1.0, 2.0, 3.0)):
        a = a + y
        total += y
    return total * xs[0]


def twice(xs, a):
    ys = map(lambda x: math.sin(a * x), xs)
    return sum(ys) + 2.0 * sum(ys)


def pairs_twice(xs, a):
    pairs = zip(xs, xs, strict=False)
    return sum(a * x * y for x, y in pairs) + sum(a * x for x, _ in pairs)


def counted_twice(xs, a):
    pairs = enumerate(xs)
    return sum(a * i * x for i, x in pairs) + sum(a * x for _, x in pairs)


def backwards_twice(xs, a):
    ys = reversed(xs)
    return sum(a * x for x in ys) + sum(a * x * x for x in ys)


def tuples_twice(xs, a):
    pairs = zip((1.0, 2.0), (a, xs[0]), strict=False)
    return sum(u * v for u, v in pairs) + sum(u * v for u, v in pairs)


def on_each_trip(xs, a):
    ys = map(lambda x: a * x, xs)
    total = 0.0
    for _ in range(3):
        total += sum(ys) + a
    return total


def in_a_closure(xs, a):
    ys = map(lambda x: a * x, xs)

    def rest():
        return sum(ys)
    return rest() + 2.0 * rest()


def under_two_names(xs, a):
    ys = map(lambda x: a * x, xs)
    same = ys
    return sum(ys) + sum(same)


def as_an_argument(xs, a):
    def both(q):
        return sum(q) + sum(q)
    return both(map(lambda x: a * x, xs))


def in_a_tuple(xs, a):
    held = (map(lambda x: a * x, xs), 1.0)
    return sum(held[0]) + sum(held[0]) + held[1]


def with_itself(xs, a):
    ys = map(lambda x: a * x, xs)
    return sum(u * v for u, v in zip(ys, ys, strict=False))


def the_rest(xs, a):
    ys = map(lambda x: a * x, xs)
    total = 0.0
    for y in ys:
        total += y * y
        if y > 0.5:
            break
    return total + 10.0 * sum(ys)


def inner_loop(xs, a):
    ys = map(lambda x: a * x, xs)
    return sum(x * y for x in xs for y in ys)


def body_rebinds_what_it_goes_over(xs, a):
    def item(x):
        nonlocal xs
        xs = xs * 2.0
        return a * x
    return sum(map(item, xs)) + xs[0]


def range_twice(xs, a):
    r = range(len(xs))
    return sum(xs[i] * a for i in r) + sum(xs[i] * a * a for i in r)


PROGRAMS = [rebound_array, rebound_in_generator, rebound_range, rebound_partner, captured_late, captured_late_from_tuple,
            each_call_sees_the_last, twice, pairs_twice, counted_twice, backwards_twice, tuples_twice, on_each_trip,
            in_a_closure, under_two_names, as_an_argument, in_a_tuple, with_itself, the_rest, inner_loop,
            body_rebinds_what_it_goes_over, range_twice]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(function):
    y, (d_xs, d_a) = transad.value_and_grad(function, (0, 1))(X, 1.3)
    assert y == pytest.approx(function(X, 1.3), rel=1e-12)
    h = 1e-6
    assert d_a == pytest.approx((function(X, 1.3 + h) - function(X, 1.3 - h)) / (2 * h), rel=1e-7)
    for k in range(len(X)):
        step = h * (np.arange(len(X)) == k)
        assert d_xs[k] == pytest.approx((function(X + step, 1.3) - function(X - step, 1.3)) / (2 * h), rel=1e-6, abs=1e-8)


def length(xs, a):
    return a * len(map(lambda x: x, xs))


def element(xs, a):
    return map(lambda x: a * x, xs)[0]


def length_of_pairs(xs, a):
    return a * len(zip((1.0, 2.0), (a, a), strict=False))


def unequal(xs, a):
    return sum(a * x * y for x, y in zip(xs, xs[1:], strict=True))


@pytest.mark.parametrize("function, error", [(length, TypeError), (element, TypeError), (length_of_pairs, TypeError),
                                             (unequal, ValueError)], ids=lambda p: p.__name__)
def test_what_python_refuses(function, error):
    with pytest.raises(error):
        function(X, 1.3)
    with pytest.raises(error) as caught:
        transad.grad(function)(X, 1.3)
    assert not isinstance(caught.value, transad.TransadError)
