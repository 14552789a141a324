"""Functions called from the function: they write arguments, return them, have defaults, keywords, *args."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0])


def scale(a, s):
    for i in range(len(a)):
        a[i] *= s


def scaled(a, s=2.0, *, shift=0.0):
    a *= s
    a += shift
    return a


def total(*parts, **options):
    s = 0.0
    for p in parts:
        s = s + p
    return s * options.get("factor", 1.0)


@program(X, 4.0, value=24.0, gradient=[[4.0] * 3, 6.0], jit=True)
def writes_its_argument(x, s):
    scale(x, s)
    return np.sum(x)


@program(X, 4.0, value=1.0 + 8 + 12, gradient=[[1.0, 4.0, 4.0], 5.0])
def writes_a_view(x, s):
    scale(x[1:], s)
    return np.sum(x)


@program(X, 4.0, value=2 * (2.0 + 4 + 6 + 12.0), gradient=[[4.0] * 3, 6.0])
def returns_its_argument(x, s):
    y = scaled(x, shift=s)
    return np.sum(y) + np.sum(x)


@program(3.0, 4.0, value=2.0 * 9.0, gradient=[2.0, 2.0], typed=False)
def star_arguments(x, y):
    return total(x, *(y, 2.0), factor=2.0)


@program(3.0, 4.0, value=9.0 + 4.0, gradient=[6.0, 1.0])
def called_twice(x, y):
    def g(u, v=0.0):
        return u * u + v
    return g(x) + g(0.0, v=y)


@program(X, X + 1.0, value=2 * (1 * 2 + 2 * 3 + 3 * 4) / 2.0, gradient=[X + 1.0, X])
def result_is_a_tuple(x, y):
    def both(a, b):
        return np.dot(a, b), np.dot(b, a)
    p, q = both(x, y)
    return 0.5 * (p + q)


@program(X, 2.0, value=2.0 * (1 + 1 * 2 + 2 * 3), gradient=[[2.0 * 3, 2.0 * 4, 2.0 * 2], 9.0])
def same_array_twice(x, s):
    def ahead(a, b):
        a[1:] *= b[:-1]
    y = x.copy()
    ahead(y, y)
    return s * np.sum(y)
