"""Array programs that broke before: callees that write, containers of arrays, numerics; and what fuzzing found.

Each is compared with differences and, where a person can derive it, with the value by hand.
"""

import numpy as np
import pytest

from tests.fuzz.check import check_function
from transad import CannotCompile

X = np.array([0.7, -0.4, 0.9, 0.3])
Y = np.array([0.2, 0.8, -0.6, 0.5])
M = np.arange(12.0).reshape(3, 4) * 0.1 - 0.4
CASES = []


def case(*args, gradient=None):
    def register(f):
        CASES.append(pytest.param(f, args, gradient, id=f.__name__))
        return f

    return register


# ---- callees
def push(p, q, s):
    p[1:] += q[:-1] * s
    q[0] = p[-1] * s
    return q


def halve(a):
    a *= 0.5
    return a


@case(X, Y, 0.4)
def callee_writes_and_returns_its_argument(x, y, s):
    r = push(x, y, s)
    r[1] *= x[1]
    return np.sum(x * y) + r[0]


@case(X, 0.4)
def callee_sees_one_array_twice(x, s):
    a = x * 1.0
    push(a, a, s)
    b = push(a[1:], a[:-1], s)
    b += a[2]
    return np.sum(a * a)


@case(M, 0.4)
def callee_on_rows_and_columns(m, s):
    for i in range(2):
        push(m[i], m[i + 1], s)
        push(m[:, i], m[1][:3], s * m[0, 0])
    return np.sum(m * m)


@case(X, 0.4)
def callee_keeps_what_the_caller_overwrites(x, s):
    def product(a, b):
        return np.sum(a * b)

    a = x * s
    t = product(a, x)
    a[:] = x * x
    u = product(a, a)
    a *= s
    return t * u + np.sum(halve(a) * a)


@case(X, gradient=[2 * 0.25 * X])
def result_is_the_argument(x):
    return np.sum(halve(x) ** 2)


@case(X, 0.6)
def input_written_and_returned(x, s):
    x[1:] *= x[:-1] * s
    return x


@case(X, 0.6)
def views_of_the_input_returned(x, s):
    x *= s
    return x[::-1], np.sum(x), x


# ---- containers of arrays
@case(X, Y, 0.6)
def list_of_arrays_written_after_append(x, y, s):
    kept, a = [], x * s
    for i in range(3):
        a[i] *= a[i + 1]
        kept.append(a)
        if i == 1:
            a = y * a
            kept.append(a)
    kept[0][0] = s
    kept[0], kept[-1] = kept[-1], kept[0]
    kept[0] += kept[1]
    return sum(np.sum(b * b) for b in kept)


@case(X, Y, 0.6)
def dict_and_tuple_of_arrays(x, y, s):
    table, pair = {"u": x, "v": y}, (x, y[1:])
    table["u"][0] *= s
    table["v"] += pair[0]
    pair[1][:] = table["u"][:3] * s
    table["u"] = table["v"] * 2.0
    for value in table.values():
        value *= 0.9
    return np.sum(x * y) + np.sum(table["u"])


# ---- numerics
@case(M + 1.5, np.array([[2.0, 0.3, 0.1], [0.2, 1.7, 0.4], [0.5, 0.1, 2.2]]))
def elimination_in_place(m, a):
    for k in range(3):
        for i in range(k + 1, 3):
            a[i, k] /= a[k, k]
            for j in range(k + 1, 3):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(m[:, :3] * a)


@case(M, 0.2)
def heat_in_two_dimensions(m, s):
    u, new = m, m.copy()
    for _ in range(2):
        for i in range(1, 2):
            for j in range(1, 3):
                around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                new[i, j] = u[i, j] + s * (around - 4 * u[i, j])
        u, new = new, u
    return np.sum(u**2)


@case(X, 0.8)
def while_on_array_values(x, s):
    a, n = x.copy(), 0
    while np.max(a) > 0.3 and n < 6:
        k = 0
        while k < 3 and a[k] > 0.1:
            a[k] *= s
            k += 1
        a[1:] -= 0.05 * a[:-1] * k
        n += 1
    return np.sum(a * a) * n


# ---- found by the alias torture
@case(X, Y, 0.3)
def whole_array_stores_through_ellipsis(x, y, s):
    a = x
    a[...] = y * s
    t = np.sum(a * y)
    y[...] = x[1]
    x[...] = s
    return t * y[0] + np.sum(x)


@case(X, Y)
def result_given_by_position(x, y):
    a, c = x, y
    np.tanh(a, c)
    np.multiply(c, a, a)
    np.sin(c, c)
    return np.sum(a * y) + c[0]


@case(X, Y, 0.3)
def names_rebound_while_their_list_is_iterated(x, y, s):
    a, b = y, x
    for b in [b, x[::-1], a]:
        a = np.zeros_like(a) + s
        b[0] *= a[1]
    return np.sum(b) + np.sum(x) + np.sum(a)


@case(np.arange(16.0).reshape(4, 4) * 0.1)
def row_from_the_column_that_crosses_it(m):
    m[2] = m[:, -1]
    m[:, 0] = m[1]
    return np.sum(m * m)


# ---- found by the random programs
def reset(c):
    c[:] = 0.25
    return 0.1


@case(1.265, np.array([0.5, 0.6, 0.9, 0.4]), 0.396, gradient=[-4 * 0.396, [1, 1, 1, 1], 4 - 4 * 1.265])
def number_spread_over_an_array_is_summed_once(x, a, y):
    e = a + y - x * y
    return np.sum(e)


@case(np.array([-1.1, 0.2, -0.6]), 0.7)
def target_is_read_before_the_right_side_runs(a, s):
    a[0] /= 1.4 + reset(a) * s
    t = a[1] * s + reset(a)
    a[2] += reset(a) * t
    return np.sum(a) + t


@case(0.53861, gradient=[-1.0])
def closure_keeps_the_value_it_was_made_with(x):
    def maker(held):
        def inside(v):
            return held + 0.0 * v

        return inside

    made = maker(x)
    x = 0.4461
    pair = (x, made(x))
    x -= pair[1]
    return x


@case(np.array([0.1, -1.0, -0.8]))
@case(np.array([0.02, -1.0, -0.8]))
def rebound_in_the_loop_of_one_branch(x):
    b = x
    c = x.copy()
    if x[0] > 0.05:
        pass
    else:
        for _ in range(3):
            c = np.cos(c)
    return b + 0.5 * c[0]


@case(0.3, 0.9)
def loop_that_never_runs_with_arrays(y, x):
    v = np.array([x, 0.8, y])
    for _ in range(0):
        v[:] *= v
        w = v + x
    return v[0] * v[2]


@pytest.mark.parametrize("path", ["auto", "recorded", "typed"])
@pytest.mark.parametrize(("f", "args", "gradient"), CASES)
def test_program(f, args, gradient, path, monkeypatch):
    monkeypatch.setenv("TRANSAD_PATH", path)
    try:
        check_function(f, *args, gradient=gradient)
    except CannotCompile as refusal:
        if path != "typed":
            raise
        pytest.skip(str(refusal))
