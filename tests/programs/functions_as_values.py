"""Functions passed as arguments, kept in tuples and dicts, chosen by data."""
import math

import numpy as np

from tests.programs import program


def square(u):
    return u * u


def integrate(f, a, b, n):
    h = (b - a) / n
    s = 0.5 * (f(a) + f(b))
    for i in range(1, n):
        s += f(a + i * h)
    return s * h


@program(square, 3.0, value=9.0, gradient=[6.0])
@program(math.sin, 3.0, value=math.sin(3.0), gradient=[math.cos(3.0)])
def as_an_argument(f, x):
    return f(x)


@program(2.0, 4, value=2.75, gradient=[3 * 2.75 / 2])
def trapezium_rule(b, n):
    return integrate(lambda t: t * t, 0.0, b, n)


@program(2.0, value=4.0 + math.exp(2.0), gradient=[4.0 + math.exp(2.0)])
def tuple_of_functions(x):
    s = 0.0
    for f in (square, math.exp):
        s += f(x)
    return s


@program(2.0, "square", value=4.0, gradient=[4.0], typed=False)
@program(2.0, "root", value=math.sqrt(2.0), gradient=[0.5 / math.sqrt(2.0)], typed=False)
def table_of_functions(x, name):
    return {"square": square, "root": math.sqrt}[name](x)


@program(np.array([1.0, 2.0]), value=np.sin(1.0) ** 2 + np.sin(2.0) ** 2, gradient=[np.sin(np.array([2.0, 4.0]))])
def ufunc_as_an_argument(a):
    def summed(f, v):
        return np.sum(square(f(v)))
    return summed(np.sin, a)


@program(2.0, 1, value=4.0, gradient=[4.0], typed=False)
@program(2.0, 0, value=-2.0, gradient=[-1.0], typed=False)
def chosen_by_a_number(x, n):
    f = square if n > 0 else lambda u: -u
    return f(x)
