"""nonlocal: inner functions that rebind variables of the outer one."""
import numpy as np

from tests.programs import program


@program(2.0, 3.0, value=2.0 * 9, gradient=[9.0, 12.0])
def rebound_by_a_call(x, y):
    def grow():
        nonlocal x
        x = x * y
    grow()
    grow()
    return x


@program(2.0, value=2 + 4 + 8.0, gradient=[1 + 4 + 12.0])
def counter(x):
    total, last = 0.0, 1.0

    def add():
        nonlocal total, last
        last = last * x
        total += last
    for _ in range(3):
        add()
    return total


@program(np.array([1.0, 2.0]), value=4.0 + 4, gradient=[[8.0, 4.0]])
def array_of_the_outer_function(x):
    buffer = x * x

    def double(i):
        buffer[i] *= 2.0
    double(0)
    double(0)
    return np.sum(buffer)


@program(2.0, 3.0, value=5.0 * 2.0, gradient=[7.0, 2.0])
def call_changes_what_is_read_after_it(x, y):
    z = x

    def bump():
        nonlocal z
        z = z + y
        return 0.0
    a = z
    b = bump()
    return a * z + b
