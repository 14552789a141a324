"""reshape, concatenate, stack, repeat, take, flip, sort."""
import numpy as np

from tests.programs import program

A, B = np.array([1.0, 2.0]), np.array([5.0, 3.0])
W = np.array([1.0, 10.0, 100.0, 1000.0])


@program(A, B, value=1 + 20 + 500 + 3000.0, gradient=[[1.0, 10.0], [100.0, 1000.0]], typed=False)
def concatenated(a, b):
    return np.sum(np.concatenate((a, b)) * W)


@program(A, B, value=1 * 3 - 2 * 5.0, gradient=[[3.0, -5.0], [-2.0, 1.0]], typed=False)
def stacked(a, b):
    m = np.stack([a, b])
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


@program(A, value=1 + 20 + 100 + 2000.0, gradient=[[101.0, 1010.0]], typed=False)
def tiled(a):
    return np.sum(np.tile(a, 2) * W)


@program(np.arange(4.0), value=0 * 3 - 1 * 2.0, gradient=[[3.0, -2.0, -1.0, 0.0]], typed=False)
def reshaped(a):
    m = a.reshape((2, 2))
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


@program(B, value=3.0 + 50, gradient=[[10.0, 1.0]], typed=False)
def sorted_values(b):
    return np.sum(np.sort(b) * W[:2])


@program(W, value=1000.0 + 10 * 10 + 1, gradient=[[1.0, 10.0, 0.0, 1.0]])
def taken_by_index(w):
    return np.sum(w[np.array([3, 0])]) + 10.0 * w[1]


@program(np.ones((2, 3)), value=9.0, gradient=[np.full((2, 3), 1.5)])
def shape_as_numbers(m):
    rows, columns = m.shape
    return np.sum(m) * columns / rows
