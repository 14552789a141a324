"""Programs that broke array adjoints before: aliases, views, swaps, overwritten memory, mutating callees.

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


# ---- stores
@case(X, 0.6, gradient=[[0.6 * -0.4, 0.6 * 0.7, 1.0, 1.0], 0.7 * -0.4])
def element_overwritten_by_product(x, s):
    a = x.copy()
    a[0] = a[0] * a[1] * s
    a[1] = 0.0
    return np.sum(a)


@case(X, 0.6, gradient=[[0.6, 1, 1, 1], 0.7])
def argument_written_through_an_alias(x, s):
    y = x
    y[0] *= s
    return np.sum(x)


@case(X, 0.6)
def slice_stores_of_overlapping_memory(x, s):
    a = x * s
    a[1:] = a[:-1]
    a[:-1] = a[1:] * 0.5 + a[:-1] * a[1:]
    a[::-1] *= a
    return np.sum(a * x)


@case(X, 0.6)
def augmented_slices_of_overlapping_memory(x, s):
    a = x * s
    a[1:] += a[:-1]
    a[1:] *= a[:-1]
    a[2:] -= a[0]
    a /= 1.5 + a[::-1] ** 2
    return np.sum(a * a)


@case(X, Y)
def last_writer_wins(x, y):
    a = x * 1.0
    a[[0, 1, 1, 0]] = y
    a[[2, 2, 3, 3]] += y
    a[[0, 0, 1, 1]] *= y
    np.add.at(a, [0, 0, 1], y[:3])
    return np.sum(a * a)


@case(X, Y, 0.3)
def masks(x, y, s):
    a = x * 1.0
    a[a > 0.5] = s
    big = a > 0.25
    a[big] = y[big] * a[big]
    a[~big] *= s
    return np.sum(a * x)


@case(X, Y, 0.3)
def out_arguments(x, y, s):
    a = np.zeros(4)
    np.multiply(x, y, out=a)
    np.add(a[1:], a[:-1], out=a[1:])
    b = np.sin(a, out=a)
    np.copyto(b[:2], y[2:] * s)
    c = np.empty(2)
    c.fill(s * x[0])
    return np.sum(a) + np.sum(c * b[:2])


@case(X, 0.4)
def result_of_exp_overwritten(x, s):
    e = np.exp(x * s)
    t = np.sum(e)
    e[:] = e * e
    e *= x
    return t * np.sum(e)


@case(X, Y)
def elements_swapped(x, y):
    a, b = x.copy(), y
    a[0], b[1] = b[1], a[0]
    a[1], a[2] = a[2], a[1]
    return np.sum(a * a * y) + b[1]


# ---- views
@case(M, 0.7)
def rows_columns_transposes(m, s):
    row, column = m[1], m[:, 2]
    row *= s
    column[1:] = row[:2] * column[:2]
    m.T[0] += column * s
    flat = m.reshape(-1)
    flat[::5] *= row[0]
    again = flat[2:8][::2]
    again[1] = s
    return np.sum(m * m)


@case(M, 0.7)
def rows_of_a_loop(m, s):
    for i in range(3):
        row = m[i]
        row[1:] = row[:-1] * s
        if i > 0:
            row += m[i - 1]
    for row in m:
        row *= s
    return np.sum(m**2)


@case(M, 0.7)
def rows_swapped_through_each_other(m, s):
    m[0], m[1] = m[1], m[0]
    m[[1, 2]] = m[[2, 1]]
    return np.sum(m[0] * s) + np.sum(m[1] * m[2])


@case(X)
def shape_changes_that_may_be_views(x):
    a = x * 2.0
    for b in (a.ravel(), a.reshape(2, 2)[1], np.asarray(a), np.ascontiguousarray(a[::2]), a[::2].reshape(-1)):
        b *= 0.9
        b[0] += x[1]
    return np.sum(a * x)


# ---- a name for one memory or another
@case(X, 0.7)
@case(X, -0.7)
def alias_by_branch(x, s):
    a = x * s
    b = a if s > 0 else a.copy()
    b[0] *= b[1]
    return np.sum(a * a) + b[0]


@case(X, Y, 0.7)
@case(X, Y, -0.7)
def both_branches_rebind_to_the_same(x, y, s):
    a, b = x * s, y * s
    c = a
    if s > 0:
        c = b
        b[0] *= 2.0
    else:
        c = b
    c[1] = c[0] * s
    return np.sum(a) + np.sum(b * b) + c[0]


@case(X, Y, 0.7)
@case(X, Y, -0.7)
def two_targets_and_a_view_by_branch(x, y, s):
    if s > 0:
        p, q = x, y[::-1]
    else:
        p, q = y, x[:]
    p[:2] = q[2:] * s
    q *= p
    return np.sum(x * y)


@case(X, Y, 0.5)
def alias_chosen_in_a_loop(x, y, s):
    p = x
    for i in range(4):
        q = x if i % 2 == 0 else y
        q[i] = q[i - 1] * p[i] * s
        p = q
    return np.sum(x * y) + p[0]


# ---- buffers
@case(X, 0.5)
def two_buffers_swapped(x, s):
    u, v = x.copy(), np.zeros(4)
    for _ in range(5):
        v[1:-1] = u[1:-1] + s * (u[2:] - 2 * u[1:-1] + u[:-2])
        v[0], v[-1] = u[0] * u[1], u[-1]
        u, v = v, u
    return np.sum(u * u) + v[1]


@case(X, 0.5)
def the_parameter_itself_is_a_buffer(x, s):
    u = x
    v = np.zeros_like(x)
    for i in range(3):
        v[1:] = u[1:] * u[:-1] * s
        if i != 1:
            u, v = v, u
    return np.sum(x) + np.sum(u * v)


@case(X, Y, 0.5)
def three_buffers_rotated_with_views_alive(x, y, s):
    a, b, c = x * 1.0, y * 1.0, x * y
    first, middle = a[::-1], b[1:3]
    for i in range(4):
        a, b, c = b, c, a
        a[i] = b[i] * c[i] * s
        first[0] += s
    middle *= first[:2]
    return np.sum(a * b) + np.sum(c)


@case(M, 0.5)
def rows_of_one_array_as_buffers(m, s):
    cur, new = m[0], m[1]
    for _ in range(3):
        new[:] = np.sin(cur * s) + new * 0.3
        cur, new = new, cur
    return np.sum(m * m)


@case(X, Y, 0.5)
def previous_value_kept(x, y, s):
    cur, prev = x, y
    for _ in range(3):
        prev = cur
        cur = np.tanh(cur * y + s)
    old = cur
    cur = cur * prev
    old[0] *= s
    return np.sum(cur * old) + prev[1]


@case(X, 0.4)
def array_recurrence_in_place(x, s):
    u = x
    for i in range(3):
        u = u * u + s
        if i == 1:
            u *= u
    return np.sum(u * x)


@case(X, Y, 0.4)
def allocation_outside_the_branch_rotated_in(x, y, s):
    a, b = x * s, y * s
    for i in range(3):
        new = np.zeros(4)
        if a[i] > 0.1:
            new[:] = a * b
            a = new
        else:
            b, a = a, new
        b[i] += a[i] + s
    return np.sum(a * y) + np.sum(b * b)


@case(X, Y, 0.4)
def many_names_chase_each_other(x, y, s):
    p = u = x
    q = y
    for i in range(4):
        p[i] *= s
        p, u, q = u, q[::-1], p
        if i % 2:
            q = u * x
        else:
            u[0] = q[1] * p[2]
    return np.sum(p) + np.sum(u * u) + np.sum(q)


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
