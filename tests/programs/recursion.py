"""Recursion, direct and mutual, and inner functions that call themselves."""
from tests.programs import program


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def even(x, n):
    return x if n == 0 else 2.0 * odd(x, n - 1)


def odd(x, n):
    return x if n == 0 else 3.0 * even(x, n - 1)


def halved(x):
    return x if x < 1.0 else halved(x * 0.5) * 3.0


@program(2.0, value=8.0, gradient=[12.0], typed=False)
def to_a_fixed_depth(x):
    return power(x, 3)


@program(2.0, 3, value=8.0, gradient=[12.0], typed=False)
def to_a_depth_given(x, n):
    return power(x, n)


@program(0.5, value=0.5 * 2 * 3 * 2, gradient=[12.0], typed=False)
def mutual(x):
    return even(x, 3)


@program(3.0, value=0.75 * 9, gradient=[0.25 * 9], typed=False)
def depth_depends_on_the_data(x):
    return halved(x)


@program(3.0, value=3.0**4, gradient=[4 * 27.0], typed=False)
def inner_function(x):
    def go(u, n):
        return u if n == 0 else go(u * x, n - 1)
    return go(x, 3)
