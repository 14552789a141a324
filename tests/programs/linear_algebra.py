"""dot, matmul, outer, einsum, trace, inverse, solve."""
import numpy as np

from tests.programs import program

A = np.array([1.0, 2.0])
M = np.array([[2.0, 1.0], [0.0, 4.0]])


@program(M, A, value=4.0 + 8.0, gradient=[[[1.0, 2.0]] * 2, [2.0, 5.0]])
def matrix_times_vector(m, a):
    return np.sum(np.dot(m, a))


@program(M, A, value=2 * 1 + 1 * 2 + 4 * 4.0, gradient=[np.outer(A, A), (M + M.T) @ A])
def quadratic_form(m, a):
    return a @ m @ a


@program(M, value=4.0 + 6 + 16, gradient=[[[3.0 + 2, 4.0 + 2], [3.0 + 5, 4.0 + 5]]])
def matrix_product(m):
    return np.sum(m @ m)


@program(A, value=9.0, gradient=[[6.0, 6.0]])
def outer(a):
    return np.sum(np.outer(a, a))


@program(M, value=6.0, gradient=[np.eye(2)], typed=False)
def trace(m):
    return np.trace(m)


@program(M, A, value=1 * 2 + 2 * (0 + 4) + 1.0, gradient=[[[1.0, 1.0], [2.0, 2.0]], [3.0, 4.0]], typed=False)
def einsum(m, a):
    return np.einsum("ij,i->", m, a)


@program(M, value=8.0, gradient=[[[4.0, 0.0], [-1.0, 2.0]]], typed=False)
def determinant(m):
    return np.linalg.det(m)


@program(M, A, value=0.25 + 0.5, typed=False)
def solve(m, a):
    return np.sum(np.linalg.solve(m, a))
