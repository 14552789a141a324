"""Arrays made by the function: zeros, ones, full, arange, linspace, array, like."""
import numpy as np

from tests.programs import program

A = np.array([1.0, 2.0, 3.0])


@program(A, value=9.0, gradient=[[1.0] * 3])
def ones_in_an_expression(a):
    n = len(a)
    return np.sum(np.ones(n) + a)


@program(2.0, 3, value=6.0 + 6.0, gradient=[3.0 + 3.0])
def full_of_a_number(x, n):
    return np.sum(np.full(n, x)) + np.sum(np.ones(n) * x)


@program(2.0, value=0 + 2 + 4 + 6.0, gradient=[6.0])
def arange(x):
    return np.sum(np.arange(4) * x)


@program(2.0, value=2 * (0 + 0.5 + 1), gradient=[1.5])
def linspace(x):
    return np.sum(np.linspace(0.0, 1.0, 3) * x)


@program(2.0, 3.0, value=6.0 + 9, gradient=[3.0, 2.0 + 6.0])
def array_of_numbers(x, y):
    v = np.array([x, y])
    return v[0] * v[1] + v[1] * y


@program(2.0, 3.0, value=2.0 * 2 - 3 * 3, gradient=[4.0, -6.0], typed=False)
def matrix_of_numbers(x, y):
    m = np.array([[x, y], [y, x]])
    return np.linalg.norm(m[0]) ** 2 - 2.0 * m[0, 1] * m[1, 0]


@program(A, value=6.0 + 3, gradient=[[1.0] * 3])
def like_another(a):
    b = np.zeros_like(a)
    b += a
    return np.sum(b) + np.sum(np.ones_like(a))


@program(A, value=2 * 36.0 / 2, gradient=[[12.0] * 3])
def made_in_every_trip(a):
    s = 1.0
    for _ in range(2):
        t = np.zeros(3)
        for i in range(3):
            t[i] = a[i]
        s *= np.sum(t)
    return s


@program(A, 2.0, value=2 + 3 + 4 + 3.0, gradient=[[1.0] * 3, 3.0], jit=True)
def array_chosen_by_an_if_in_a_loop(a, s):
    total = 0.0
    for i in range(3):
        if i == 1:
            w = a * 0.0 + s
        else:
            w = a + 0.0
        total += w[i]
    return total + 2.0 * s + a[1]
