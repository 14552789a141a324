"""Names that nothing has set: emitted code raises what Python raises, on every path, and is right where they are set."""

# pyright: reportOperatorIssue=false
from __future__ import annotations

import numpy as np
import pytest

import transad
from tests.fuzz.check import check_function

X = np.array([0.7, -1.2, 0.4])
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def branch_of_a_loop(x, n, level):
    for i in range(n):
        if x[i] > level:
            y = x[i] * 2.0
    return y * x[0]


@program
def trips(x, n, level):
    for i in range(n):
        y = x[i] * level
    return y * x[0] + i


@program
def trips_of_an_inner_loop(x, n, level):
    s = 0.0
    for i in range(n):
        for j in range(i + n - 2):
            y = x[j] * level
        s += y
    return s


@program
def rows(x, n, level):
    for k, v in enumerate(x[:n]):
        w = v * level
    return w * k


@program
def before_a_break(x, n, level):
    for i in range(n):
        if x[i] > level:
            y = x[i]
            break
    return y * x[1]


@program
def while_loop(x, n, level):
    while n > 0:
        n -= 1
        if x[n] > level:
            y = x[n] * x[n]
    return y


@program
def helper(x, n, level):
    def last(k):
        for i in range(k):
            if x[i] > level:
                w = x[i]
        return w
    return last(n) * x[2]


@program
def array_of_one_branch(x, n, level):
    for i in range(n):
        if x[i] > level:
            z = x * x[i]
    return np.sum(z)


@program
def deleted(x, n, level):
    y = x[0]
    for i in range(n):
        y = x[i]
        if x[i] > level + 1.0:
            del y
    return y * 2.0 if n else y


@program
def read_on_one_path(x, n, level):
    s = 0.0
    for i in range(n):
        if x[i] > level:
            z = s + x[i]
        s = s * x[i] + 0.3
    if n > 1:
        s += z
    return s


@pytest.mark.parametrize("path", ["auto", "typed", "recorded"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n, level", [(3, 0.3), (3, 0.5), (0, 0.3), (3, 5.0), (3, -2.5), (2, 0.0), (1, 0.1)])
def test_as_python(f, path, n, level):
    marked = transad.differentiable(f, path=path)
    try:
        value = f(X, n, level)
    except UnboundLocalError as problem:
        with pytest.raises(UnboundLocalError, match=str(problem)):
            transad.value_and_grad(marked)(X, n, level)
        with pytest.raises(UnboundLocalError, match=str(problem)):
            transad.jvp(marked, (X, n, level), (X, None, None))
    else:
        assert transad.value_and_grad(marked)(X, n, level)[0] == pytest.approx(value)
        check_function(f, X, n, level)


@pytest.mark.parametrize("f", [branch_of_a_loop, trips])
def test_compiled(f):
    grad = transad.value_and_grad(f, jit=True)
    assert grad(X, 3, 0.3)[0] == pytest.approx(f(X, 3, 0.3))
    with pytest.raises(UnboundLocalError):
        grad(X, 0, 0.3)


def test_names_that_are_certain_have_no_flags():
    def certain(x, n):
        s = 0.0
        while True:
            y = s * x[0]
            for v in x:
                z = v * y
                s += z
            if n > 0:
                break
        return s + y
    assert "is_set" not in transad.api.source(certain, X, 1)
