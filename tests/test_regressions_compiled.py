"""What compiled code once got wrong or refused: each program by both texts, compiled and by CPython, against differences.

Each test says what it is for; there is one compile per program."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transad

X, S = np.array([0.3, 0.5, 0.9, 0.4]), 0.8


def parts_overlap(x: Any, s: Any) -> Any:
    """Compiled `a[i:j] *= b[k:l]` reads what it has just written where both are one memory."""
    a, d = x[::-1], x
    d[0:3] *= a[1:] * 1.0
    d[1:] *= d[:-1]
    d[0:2] += a[::2]
    return np.sum(a * a) * s + d[0]


def rows_with_repeats(x: Any, s: Any) -> Any:
    """Of several writes to one row the last one counts."""
    m = np.outer(x, x) * s
    m[np.array([0, 1, 1])] = m[np.array([2, 0, 3])] * s
    return np.sum(m * m)


def swapped_where_larger(x: Any, s: Any) -> Any:
    """Names trade arrays in some of the trips."""
    a, b = x * 1.0, x * s
    for i in range(4):
        if a[0] > b[1]:
            a, b = b, a
        a[0] *= 0.7
        b[1] += a[2] * s
    return np.sum(a * a) + b[0] - 0.3 * b[1]


def best_so_far(x: Any, s: Any) -> Any:
    """A copy, or the array itself, kept in a branch."""
    cur = x.copy()
    best = cur
    low = 1e9
    for i in range(6):
        cur = cur * s + 0.1
        v = np.sum(cur * cur)
        if v < low:
            low = v
            best = cur.copy()
        if v > 1.5:
            best = cur
        cur[i % 3] -= 0.4
    return np.sum(best * x) + best[1] + low + cur[0]


def traded_until_large(x: Any, s: Any) -> Any:
    """Buffers swapped in a while loop that also goes on early; the argument is one of them."""
    new, cur, k = np.zeros_like(x), x, 0
    while np.sum(cur) < 20.0 and k < 30:
        k += 1
        for j in range(len(x)):
            new[j] = cur[j] * 1.2 + s
        if k % 3 == 0:
            continue
        cur, new = new, cur
    return np.sum(cur) + new[0] * k


def nested_and_left_early(x: Any, s: Any) -> Any:
    """Aliases, an array made in an inner loop and a break."""
    a, b = x, x.copy()
    for i in range(3):
        b[0] += a[1]
        if i == 1:
            a = b
        a[2] *= s
        while b[0] < 3.0:
            b[0] += 0.5 * a[1]
            if b[0] > 2.0:
                b = a * 2.0
                break
            a, b = b, a
    return np.sum(a * a) - np.sum(b)


def grows_or_shrinks(x: Any, s: Any) -> Any:
    """A name holds arrays of different lengths, each made in the loop."""
    a = x
    for i in range(4):
        if i != 2:
            c = np.zeros(len(a) + 1)
            c[1:] = a * s
            a = c
        else:
            a = a[0:2] * 1.5
        a[0] = s * i
    return np.sum(a * a)


def part_or_whole(x: Any, s: Any) -> Any:
    """A name holds a part of another name's array, with any step, from one trip to the next."""
    a, b = x, x.copy()
    for i in range(3):
        if x[i] > 0.4:
            a = b[::-1]
        else:
            b = a[i:]
        a[0] *= s
        b[-1] += a[0] * 0.5
        if i == 1:
            b = b[1:] * 2.0
    return np.sum(a * a) + np.sum(b)


def set_in_the_trip_before(x: Any, s: Any) -> Any:
    """Names, a number and an array, that are read before the text sets them."""
    total = 0.0
    for i in range(len(x)):
        for _ in range(2):
            if i > 0:
                total += factor * x[i] + np.sum(before)     # noqa: F821
        factor = s * x[i]
        before = x * factor
    return total + factor


PROGRAMS = (parts_overlap, rows_with_repeats, swapped_where_larger, best_so_far, traded_until_large, nested_and_left_early,
            grows_or_shrinks, part_or_whole, set_in_the_trip_before)


def differences(f: Callable[..., Any], h: float = 1e-6) -> tuple[np.ndarray, float]:
    d_x = np.zeros_like(X)
    for i in range(len(X)):
        step = np.zeros_like(X)
        step[i] = h
        d_x[i] = (f(X + step, S) - f(X - step, S)) / (2 * h)
    return d_x, (f(X.copy(), S + h) - f(X.copy(), S - h)) / (2 * h)


@pytest.mark.parametrize("jit", [False, True], ids=["cpython", "compiled"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program: Callable[..., Any], jit: bool) -> None:
    found = transad.value_and_grad(transad.differentiable(program, jit=True) if jit else program, argnums=(0, 1))
    value, (d_x, d_s) = found(X.copy(), S)
    expected_x, expected_s = differences(program)
    assert value == pytest.approx(program(X.copy(), S), rel=1e-12)
    np.testing.assert_allclose(d_x, expected_x, rtol=2e-6, atol=1e-7)
    assert d_s == pytest.approx(expected_s, rel=2e-6, abs=1e-7)


def test_each_program_is_typed() -> None:
    """They test the typed path: none of them is left to the recorded one."""
    for program in PROGRAMS:
        assert f"def {program.__name__}_rev(" in transad.differentiable(program).source(X, S)


def test_back_runs_again_with_the_same_result() -> None:
    """The list of shadows belongs to one call of `back`."""
    _, back = transad.pullback(transad.differentiable(best_so_far), X.copy(), S)
    first, second = back(1.0), back(1.0)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]


@pytest.mark.parametrize("jit", [False, True], ids=["cpython", "compiled"])
def test_a_name_that_was_never_set_raises_as_in_python(jit: bool) -> None:
    def f(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            if i != 1:
                total += last       # noqa: F821
            last = x * i
        return total
    gradient = transad.grad(transad.differentiable(f, jit=True) if jit else f)
    with pytest.raises(UnboundLocalError, match="last"):
        gradient(2.0, 3)


def test_a_name_set_in_one_branch_only_raises_as_in_python() -> None:
    def f(x: Any) -> Any:
        if x > 5.0:
            y = x * x
        return y
    assert transad.grad(f)(6.0) == 12.0
    with pytest.raises(UnboundLocalError, match="y"):
        transad.grad(f)(1.0)
