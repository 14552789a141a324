"""Swaps: numbers, elements, rows, buffers in loops."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0])


@program(2.0, 5.0, value=5.0 * 2 - 2, gradient=[-1.0, 2.0])
def numbers(x, y):
    x, y = y, x
    return 2.0 * x - y


@program(1.0, 2.0, value=3.0, gradient=[1.0, 1.0])
def fibonacci(a, b):
    for _ in range(2):
        a, b = b, a + b
    return a


@program(X, value=3.0 + 20.0 + 100.0, gradient=[[100.0, 10.0, 1.0]])
def elements(x):
    x[0], x[2] = x[2], x[0]
    return x[0] + 10.0 * x[1] + 100.0 * x[2]


@program(np.array([[1.0, 2.0], [3.0, 4.0]]), value=3.0 + 40.0, gradient=[[[0.0, 0.0], [1.0, 10.0]]])
def rows_of_one_matrix(m):
    top = m[0].copy()
    m[0] = m[1]
    m[1] = top
    return m[0, 0] + 10.0 * m[0, 1]


@program(X, 0.5, value=0.125 * 6, gradient=[[0.125] * 3, 3 * 0.25 * 6.0], jit=True)
def two_buffers(x, s):
    u, v = x.copy(), np.zeros(3)
    for _ in range(3):
        v[:] = u * s
        u, v = v, u
    return np.sum(u)


@program(X, 0.5, value=1.5, gradient=[[0.25] * 3, 6.0])
def two_buffers_element_by_element(x, s):
    u, v = x.copy(), np.empty(3)
    for _ in range(2):
        for i in range(3):
            v[i] = u[i] * s
        u, v = v, u
    return np.sum(u)


@program(X, 0.5, value=6.0 * (1 + 0.5 + 0.5), gradient=[[2.0] * 3, 12.0])
def three_buffers(x, s):
    a, b, c = x * 1.0, x * s, x * s
    for _ in range(2):
        a, b, c = b, c, a
    return np.sum(a) + np.sum(b) + np.sum(c)
