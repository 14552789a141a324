"""Results written where the caller wants them: out=, copyto, fill, put."""
import numpy as np

from tests.programs import program

A, B = np.array([1.0, 2.0]), np.array([3.0, 4.0])


@program(A, B, value=11.0, gradient=[B, A])
def out_of_a_ufunc(a, b):
    c = np.empty(2)
    np.multiply(a, b, out=c)
    return np.sum(c)


@program(A, B, value=1 + 4 + 3 * 4.0, gradient=[2 * A, [4.0, 3.0]], typed=False)
def out_is_an_operand(a, b):
    np.multiply(a, a, out=a)
    np.multiply(b, 1.0, b)
    return np.sum(a) + b[0] * b[1]


@program(A, B, value=3.0 + 4, gradient=[[0.0, 0.0], [1.0, 1.0]], typed=False)
def copyto(a, b):
    np.copyto(a, b)
    return np.sum(a)


@program(A, 5.0, value=10.0, gradient=[[0.0, 0.0], 2.0])
def fill(a, s):
    a.fill(s)
    return np.sum(a)


@program(A, B, value=4.0 + 6 * 2, gradient=[[1.0, 2.0 + 6.0], [1.0, 2.0]])
def out_into_a_view(a, b):
    c = np.zeros(4)
    np.add(a, b, out=c[::2])
    return c[0] + c[2] * a[1]
