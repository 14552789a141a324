"""sum, mean, prod, max, min, norms; with axes."""
import numpy as np

from tests.programs import program

A = np.array([1.0, 2.0, 4.0])
M = np.array([[1.0, 2.0], [3.0, 5.0]])


@program(A, value=7.0, gradient=[[1.0] * 3])
def total(a):
    return np.sum(a)


@program(A, value=7 / 3, gradient=[[1 / 3] * 3])
def mean(a):
    return a.mean()


@program(A, value=8.0, gradient=[[8.0, 4.0, 2.0]], typed=False)
def product(a):
    return np.prod(a)


@program(A, value=4.0 - 1.0, gradient=[[-1.0, 0.0, 1.0]])
def extremes(a):
    return np.max(a) - a.min()


@program(M, value=4.0 * 7, gradient=[[[7.0, 4.0], [7.0, 4.0]]], typed=False)
def columns(m):
    s = np.sum(m, axis=0)
    return s[0] * s[1]


@program(M, value=1 / 3 + 2 / 3 + 3 / 8 + 5 / 8, gradient=[np.zeros((2, 2))], typed=False)
def rows_normalised(m):
    return np.sum(m / m.sum(axis=1, keepdims=True))


@program(A, value=21.0, gradient=[2 * A])
def squares(a):
    return np.dot(a, a)


@program(np.array([3.0, 4.0]), value=5.0, gradient=[[0.6, 0.8]], typed=False)
def norm(a):
    return np.linalg.norm(a)


@program(A, value=np.log(np.exp(A).sum()), gradient=[np.exp(A) / np.exp(A).sum()])
def log_of_the_sum_of_exponentials(a):
    top = np.max(a)
    return top + np.log(np.sum(np.exp(a - top)))


@program(A, value=14 / 9, gradient=[2 / 3 * (A - 7 / 3)], typed=False)
def variance(a):
    return np.var(a)
