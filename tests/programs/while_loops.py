"""while: trip counts that depend on the data, conditions with effects."""
import math

import numpy as np

from tests.programs import program


@program(0.3, 1.1, value=0.3 * 2**2, gradient=[4.0, 0.0])
@program(2.0, 1.1, value=2.0, gradient=[1.0, 0.0])
def until_large(x, limit):
    while x < limit:
        x = 2.0 * x
    return x


@program(2.0, value=math.sqrt(2.0), gradient=[0.5 / math.sqrt(2.0)], jit=True)
def newton(a):
    x = a
    while abs(x * x - a) > 1e-14:
        x = 0.5 * (x + a / x)
    return x


@program(0.5, value=0.5**4, gradient=[4 * 0.5**3], typed=False)
def while_true(x):
    y, n = x, 0
    while True:
        n += 1
        if n == 4:
            return y
        y = y * x


@program(np.array([3.0, 2.0, 1.0, 9.0]), value=6.0, gradient=[[2.0, 3.0, 0.0, 0.0]])
def condition_reads_an_array(a):
    i, p = 0, 1.0
    while i < 3 and a[i] > 1.5:
        p *= a[i]
        i += 1
    return p


def smaller(u):
    if u > 4.0:
        return u * 0.5
    return u - 1.0


@program(9.0, value=9.0 / 4 * 2 + 0.25, gradient=[0.5])
def condition_is_a_call_with_branches(x):
    n = 0
    while smaller(x) > 2.0:
        x = x * 0.5
        n += 1
    return x * n + (0.25 if n == 2 else -2.0)


@program(8.0, value=3.0, gradient=[0.25])
def walrus_in_the_condition(x):
    while (h := x * 0.5) > 3.5:
        x = h
    return h + 1.0
