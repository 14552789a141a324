"""Captured variables, lambdas, functions made by functions."""
import functools

import numpy as np

from tests.programs import program

SCALE, WEIGHTS = 3.0, np.array([1.0, 2.0])


def multiplier(k):
    def times(u):
        return k * u
    return times


@program(2.0, 5.0, value=10.0, gradient=[5.0, 2.0])
def inner_function(x, y):
    def g(u):
        return u * y
    return g(x)


@program(2.0, 5.0, value=12.0, gradient=[0.0, 2.4])
def captured_value_changes_later(x, y):
    g = lambda: x * y
    x = 2.4
    return g()


@program(2.0, value=24.0, gradient=[36.0])
def made_by_a_function(x):
    return multiplier(x)(multiplier(SCALE)(x)) * x


@program(2.0, 3.0, value=2 * 9.0, gradient=[9.0, 12.0])
def composed(x, y):
    def twice(f):
        return lambda v: f(f(v))
    return twice(lambda v: v * y)(x)


@program(np.array([1.0, 3.0]), value=7.0, gradient=[[1.0, 2.0]])
def module_constants_are_read(x):
    return np.sum(WEIGHTS * x)


@program(2.0, 3.0, value=12.0, gradient=[12.0, 4.0], typed=False)
def partial(x, y):
    g = functools.partial(lambda a, b: a * a * b, x)
    return g(y)


@program(2.0, value=2.0 * (0 + 1 + 2), gradient=[3.0], typed=False)
def list_of_lambdas_with_defaults(x):
    return sum([g(x) for g in [lambda v, k=k: v * k for k in range(3)]])


@program(2.0, 4.0, value=1.0, gradient=[0.5, -0.25])
def closure_keeps_its_own_binding(x, y):
    g = multiplier(x)
    x = y
    return g(2.0) / x
