"""Operands keep what they were when their turn was over, however late the derivative's text computes them.

Each program has a call (or a target) that changes what an operand, an owner, an index or a value on the right reads.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.fuzz.check import check_function

X = np.array([0.7, -1.2, 0.4])
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


# ---- several targets
@program
def values_that_are_calls(x):
    a = x * 2.0
    a[1:], a[:2] = a[:2].copy(), a[1:].copy()
    return np.sum(a * x[::-1])


@program
def nested_targets(x):
    y = x * 1.0
    (y[0], (y[1], y[2])), k = (y[2], (y[0], y[1] * y[0])), y[0]
    return np.sum(y * x) * k


@program
def starred_targets(x):
    y = x * 1.0
    y[0], *rest = y[2], y[0], y[1] * y[0]
    return y[0] + 3.0 * rest[0] + 5.0 * rest[1]


@program
def chain_of_elements(x):
    y = x * 1.0
    y[2] = y[0] = y[2] * 2.0
    return y[0] + 10.0 * y[2]


@program
def chain_of_tuples(x):
    p, q = x[0], x[1]
    (p, q) = r = (q, p * 2.0)
    return p + 10.0 * q + 100.0 * r[0] + 1000.0 * r[1]


# ---- indices with effects
@program
def augmented_target_is_evaluated_once(x):
    y, count = x * 1.0, 0

    def following():
        nonlocal count
        count += 1
        y[0] += 1.0
        return count
    y[following()] += y[0] * following()
    return y[0] + y[1] * y[2] + count


@program
def augmented_target_before_its_value(x):
    y, i = x * 1.0, 0

    def following():
        nonlocal i
        i += 1
        return i
    y[i] -= y[following()] * 3.0
    y[i] *= y[following()]
    return y[0] + 10.0 * y[1] + 100.0 * y[2]


@program
def value_before_the_index_of_its_target(x):
    y = x * 1.0

    def place():
        y[2] = 5.0 * y[1]
        return 0
    y[place()] = y[2]
    y[place()], z = y[0] * 2.0, y[2]
    return np.sum(y * x) * z


# ---- operands
@program
def reductions_of_what_is_written_later(x):
    y = x.copy()
    part = y[1:]

    def write(k):
        y[k] += 1.0
        return y[k]
    return np.sum(part) * write(1) + (y * 2.0).sum() * write(0) + np.any(y > 1.5) * write(2)


@program
def owner_of_a_method(x):
    y = x.copy()

    def write():
        y[0] = 9.0 * y[1]
        return y * y
    return (y * 2.0).dot(write()) + y.copy().dot(write() * x)


@program
def positional_before_keyword(x):
    y = x.copy()

    def write():
        y[0] = y[1]
        return 2.0

    def f(a, b, *, k):
        return a * b + k
    return f(y[0] * 3.0, y[0], k=write()) + f(y[0], k=write(), b=y[1])


@program
def owner_of_an_index(x):
    y = x.copy()

    def write():
        y[0] *= 3.0
        return 0
    return (y * 2.0)[write()] * (y + y[0])[write()]


@program
def arguments_of_a_partial(x):
    y = x.copy()
    fixed = functools.partial(lambda a, b: a * b, y[0] * 2.0)
    y[0] = 3.0 * x[1]
    return fixed(y[0])


# ---- exits
@program
def continue_in_the_else_of_a_loop(x):
    s = 0.0
    for i in range(3):
        for v in x:
            if v * i < -1.0:
                break
            s += v * x[i]
        else:
            s *= 2.0
            continue
        s -= i * x[0]
    return s


@program
def break_in_the_else_of_a_loop(x):
    s, k = x[0], 0
    while True:
        k += 1
        for v in x:
            s = s * 0.5 + v
            if s > k:
                break
        else:
            break
        s += 1.0
    return s * x[2] + k


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_in_order(f):
    check_function(f, X)


@pytest.mark.parametrize("f", [values_that_are_calls, chain_of_elements, augmented_target_before_its_value,
                               continue_in_the_else_of_a_loop])
def test_in_order_compiled(f):
    check_function(f, X, jit=True)
