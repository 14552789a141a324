"""Tuples: packing, unpacking, starred names, nesting, as arguments and results."""
import numpy as np

from tests.programs import program


@program((2.0, 3.0), value=6.0, gradient=[3.0, 2.0])
def as_an_argument(p):
    a, b = p
    return a * b


@program(2.0, 3.0, value=(6.0, 5.0), jit=True)
def as_a_result(x, y):
    return x * y, x + y


@program(2.0, 3.0, value=2.0 + 6.0 - 3.0, gradient=[4.0, 1.0])
def nested(x, y):
    (a, b), c = (x, x * y), y
    return a + b - c


@program((1.0, 2.0, 3.0, 4.0), value=4.0 * 5.0, gradient=[0.0, 4.0, 4.0, 5.0])
def starred(p):
    first, *middle, last = p
    return (middle[0] + middle[1]) * last


@program((1.0, (2.0, 3.0)), value=7.0, gradient=[1.0, 3.0, 2.0])
def nested_argument(p):
    return p[0] + p[1][0] * p[1][1]


@program(2.0, value=2 + 4 + 8.0, gradient=[1 + 4 + 12.0])
def iterated(x):
    s = 0.0
    for v in (x, x * x, x**3):
        s += v
    return s


@program((np.array([1.0, 2.0]), 3.0), value=9.0, gradient=[[3.0, 3.0], 3.0], jit=True)
def array_and_number(p):
    a, s = p
    return np.sum(a * s)


@program(2.0, 3.0, value=2.0 + 3 + 6, gradient=[4.0, 3.0])
def concatenated_and_sliced(x, y):
    t = (x, y) + (x * y,)
    u = t[1:]
    return u[0] + u[1] + t[0]


@program(1.0, 2.0, value=1.0 * 2 + 3, gradient=[2.0 + 1, 1.0 + 1])
def several_results_of_a_loop(x, y):
    state = (x, y)
    for _ in range(1):
        state = (state[0] * state[1], state[0] + state[1])
    return state[0] + state[1]
