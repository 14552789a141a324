"""Augmented assignment: numbers, elements, slices, whole arrays."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0])


@program(3.0, 2.0, value=(3.0 + 2) * 2 / 4 - 3, gradient=[2 / 4 - 1, (3 + 2 * 2) / 4])
def numbers(x, y):
    t = x
    t += y
    t *= y
    t /= 4.0
    t -= x
    return t


@program(3.0, value=81.0, gradient=[4 * 27.0])
def power(x):
    x **= 2
    x **= 2.0
    return x


@program(7.5, value=7.5 - 2 * 2.0, gradient=[1.0])
def modulo(x):
    x %= 2.0
    return x + 2.0


@program(X, 2.0, value=2.0 + 4 + 3, gradient=[[2.0, 1.0, 1.0], 2.0])
def elements(x, s):
    x[0] *= s
    x[1] += s
    return np.sum(x)


@program(X, value=1.0 + 3 + 5, gradient=[[2.0, 2.0, 1.0]])
def overlapping_slices(x):
    a = x.copy()
    a[1:] += a[:-1]
    return np.sum(a)


@program(X, 2.0, value=2 * 14.0 + 6, gradient=[4 * X, 14.0 + 3.0])
def whole_array(x, s):
    a = x * x
    a *= s
    a += s
    return np.sum(a)


@program(X, 2.0, value=(1 + 4 + 9) / 2.0, gradient=[X, -14 / 4])
def whole_array_divided(x, s):
    a = x * x
    a /= s
    return np.sum(a)


@program(X, 2.0, value=2.0 * 36.0, gradient=[[144.0, 72.0, 48.0], 36.0])
def array_by_itself(x, s):
    x *= x
    return s * x[0] * x[1] * x[2]


@program(X, value=1.0 + 2 * 2 + 3, gradient=[[1.0, 2.0, 1.0]])
def repeated_index_adds_once(x):
    a = np.zeros(3)
    a[[0, 1]] += x[:2]
    a[[1, 1, 2]] += x[[1, 1, 2]]
    return np.sum(a)


@program(X, 3.0, value=3.0 * 6.0, gradient=[[3.0] * 3, 6.0])
def sum_in_a_loop(x, s):
    total = np.zeros(1)
    for v in x:
        total[0] += v * s
    return total[0]
