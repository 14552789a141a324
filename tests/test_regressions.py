"""Programs that broke source transformations before: exits, versions of variables, names, kinds, zeros.

Each is compared with differences and, where a person can derive it, with the value by hand.
"""

import math

import numpy as np
import pytest

from tests.fuzz.check import check_function
from transad import CannotCompile

CASES = []


def case(*args, gradient=None, order=1):
    """Registers a function with the point at which it is checked."""

    def register(f):
        CASES.append(pytest.param(f, args, gradient, order, id=f.__name__))
        return f

    return register


# ---- what one branch needs and the other does not
@case(0.7, 1.3, gradient=[math.cos(0.7) * 1.3, math.sin(0.7)])
@case(-0.7, 1.3, gradient=[1.3 * 2 * -0.7, 0.49])
def value_saved_in_one_branch_only(x, y):
    if x > 0:
        t = math.sin(x)
    else:
        t = x * x
    return t * y


@case(1.2, 0.4)
def joined_value_read_on_both_paths(x, y):
    t = x * y
    if x > 1.0:
        t = math.sin(t)
        u = t * t
    else:
        u = t * y
    if y > 0.0:
        u = u * t
    return u + t


@case(0.9, 2.0, gradient=[0.0, 3.0])
def constant_assignment_ends_the_cotangent(x, y):
    t = x * y
    t = 3.0
    return t * y


@case(0.9, 2.0, gradient=[2.0, 0.9])
@case(-0.9, 2.0, gradient=[0.0, 0.0])
def one_branch_is_constant(x, y):
    if x > 0:
        t = x * y
    else:
        t = 0.5
    return t


@case(0.5, 3, gradient=[0.0])
@case(0.5, 0, gradient=[0.75])
def loop_that_only_forgets(x, n):
    t = x**3
    for _ in range(n):
        t = 1.0
    return t


@case(0.8, gradient=[2 * 0.8])
def joined_values_that_nobody_reads(x):
    z = x
    if x > 0.3:
        z = math.exp(x)
        w = z * z
    else:
        w = math.cos(x)
    z = x
    return z * x


@case(0.4, 0.3)
def first_set_in_one_trip_read_in_the_next(x, y):
    total = 0.0
    for i in range(4):
        if i > 0:
            total += carried * y  # noqa: F821 (set below, in the trip before)
        carried = math.sin(x * (i + 1)) + total
    return total


@case(np.array([0.3, -0.2, 0.95, 0.1, 0.4]), 0.6)
@case(np.array([0.3, -0.2, -0.95, 0.1, 0.4]), 0.6)
def continue_skips_the_rest_of_a_trip(a, y):
    s = 1.0
    for i in range(5):
        s = math.tanh(s + a[i] * y)
        if a[i] < -0.9:
            continue
        if a[i] > 0.9:
            return s * y
        s = s * s + a[i]
    return s * s


@case(0.3, 0.8)
def break_in_a_nested_branch_while_others_fall_through(x, y):
    s, u, n = 0.0, x, 0
    while True:
        n += 1
        u = u * x + y
        if u > 1.0:
            if n % 2 == 0:
                w = math.exp(-u)
            else:
                break
            u = u * w
        s += u * 0.5
        if n > 6:
            break
    return s + u


@case(1.3, 0.2)
@case(0.1, 0.2)
def return_from_while_in_for(x, y):
    s = x
    for i in range(3):
        k = 0
        while k < 4:
            k += 1
            s = math.sin(s + y * k) + 0.1 * i
            if s > 0.9:
                return s * x
        else:
            s += y
        if s < -0.5:
            break
    else:
        s *= x
    return s + y


@case(0.9, 0.2)
def else_of_loops(x, y):
    s = 0.0
    for i in range(3):
        s += x * i
        if s > 10.0:
            break
    else:
        s = s * y
    while s > 0.1:
        s = s * x * 0.5
    else:
        s = s + y * x
    return s


# ---- zero times infinity
@case(0.25, 1.5, gradient=[1.5, 0.5])
def root_whose_result_is_not_used_on_the_exit(x, y):
    t = math.sqrt(x) if x >= 0 else x
    if x <= 0:
        return y
    return t * y


def test_zero_cotangent_wins_over_infinite_slope():
    import transad

    grads = transad.grad(root_whose_result_is_not_used_on_the_exit, argnums=(0, 1))(0.0, 1.5)
    assert grads == (0.0, 1.0)

    def chosen(x):
        with np.errstate(all="ignore"):
            return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    assert transad.grad(chosen)(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


# ---- kinds
@case(0.4, 1.7)
def integer_start_of_a_sum(x, y):
    s = 0
    best = 1
    for i in range(3):
        s += x * i
        if s > 0.5:
            best = s * y
    return s + best


@case(0.5, 0.2)
def truth_value_joined_with_a_number(x, y):
    flag = 0
    if x > 0.1:
        flag = y > 0.1
    return x * flag + y


@case(0.4)
def integer_powers_and_counters(x):
    c, s = 0, 0.0
    while c < 5:
        c += 1
        s += x**c / c
    return s * 2**c


@case(np.array([0.2, 0.4, 0.5]))
def array_set_on_one_path_only(a):
    if a[0] > 0.0:
        b = a * a
        c = b + 1.0
    if a[0] > 0.0:
        return np.sum(b * c)
    return np.sum(a)


@case(0.3, 0.8, 2)
def callee_in_branch_and_loop(x, y, n):
    def inner(u, k):
        if k > 1:
            return math.sin(u) * u
        return u * u * y

    s = 0.0
    for i in range(n + 2):
        if i % 2 == 0:
            s += inner(x + s, i)
        else:
            s = inner(s, i) + x
    return s


@case(0.7, gradient=[2 * math.cos(0.7) * -math.sin(0.7)])
def recursion_to_depth_given_by_data(x):
    def down(u, k):
        if k == 0 or u < -5.0:
            return u
        return down(u, k - 1)

    return down(math.cos(x), 3) ** 2


# ---- names that the transformation could want for itself
@case(0.4, 0.9, order=2)
def names_of_cotangents_and_tapes(d_x, x):
    t1 = d_x * x
    saved = math.sin(t1)
    trip, ret, returned = 0.0, x * saved, 1.0
    d_y = 0.0
    for back in range(3):
        x_tape = ret * d_x
        trip += x_tape * back
        d_y += trip * x
    return d_y * returned + ret


@case(0.4, 0.9, order=2)
def second_order_through_a_loop(s, d_s):
    for i in range(3):
        t = s * d_s
        s = math.tanh(t + s) * (i + 1)
    return s * d_s


@case(0.6, np.array([0.2, -0.3, 0.5]), order=2)
def second_order_through_memory(x, a):
    b = a * x
    b[1:] += b[:-1] * x
    b[0] = b[2] * b[1]
    return np.sum(b * a)


@case(0.3, np.array([0.1, 0.4]))
def seed_and_slots_as_parameter_names(y, s3):
    d_y = y * s3[0]
    s3[1] = d_y * y
    return s3[1] * s3[0] + d_y


# ---- closures
@case(0.5, 0.7)
def captured_value_at_the_time_of_the_call(x, y):
    late = lambda: x * y
    first = late()
    x = math.sin(x)
    return first + 2.0 * late()


@case(0.5, 0.7)
def captured_and_changed(x, y):
    total = x

    def add(u):
        nonlocal total
        total = total * u + y
        return total * u

    return add(x) + add(y) * total


@case(0.5)
def lambdas_of_a_loop_share_the_loop_variable(x):
    functions = [lambda u: u * i * x for i in range(3)]
    return sum(g(x) for g in functions)


# ---- exceptions
@case(0.6, 0.2)
@case(0.1, 0.2)
def recovered_exception_keeps_what_was_done(x, y):
    s = x
    try:
        s = s * y
        if x > 0.5:
            raise ValueError
        s = s * 3.0
    except ValueError:
        s = s + x * x
    finally:
        s *= 2.0
    return s * x


@pytest.mark.parametrize("path", ["auto", "recorded", "typed"])
@pytest.mark.parametrize(("f", "args", "gradient", "order"), CASES)
def test_program(f, args, gradient, order, path, monkeypatch):
    monkeypatch.setenv("TRANSAD_PATH", path)
    try:
        check_function(f, *args, gradient=gradient, order=order)
    except CannotCompile as refusal:
        if path != "typed":
            raise
        pytest.skip(str(refusal))
