"""Views: slices, rows, columns, transposes, reshapes, views of views."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0, 4.0])
M = np.array([[1.0, 2.0], [3.0, 4.0]])


@program(X, 5.0, value=1 + 10 + 15 + 4.0, gradient=[[1.0, 5.0, 5.0, 1.0], 5.0], jit=True)
def slice_written(x, s):
    v = x[1:3]
    v *= s
    return np.sum(x)


@program(X, value=4.0 * 1 + 3 * 2 + 2 * 3 + 1 * 4, gradient=[[8.0, 6.0, 4.0, 2.0]])
def reversed_view_read(x):
    return np.sum(x * x[::-1])


@program(X, 2.0, value=1 + 2 + 3 + 8.0, gradient=[[1.0, 1.0, 1.0, 2.0], 4.0])
def reversed_view_written(x, s):
    v = x[::-1]
    v[0] *= s
    return np.sum(x)


@program(M, 2.0, value=1 + 2 + 6 + 8.0, gradient=[[[1.0, 1.0], [2.0, 2.0]], 7.0])
def row_written(m, s):
    row = m[1]
    row *= s
    return np.sum(m)


@program(M, 2.0, value=1 + 4 + 3 + 8.0, gradient=[[[1.0, 2.0], [1.0, 2.0]], 6.0])
def column_through_the_transpose(m, s):
    t = m.T
    t[1] *= s
    return np.sum(m)


@program(M, value=1 * 1 + 2 * 3 + 3 * 2 + 4 * 4.0, gradient=[[[2.0, 6.0], [4.0, 8.0]]])
def transpose_read(m):
    return np.sum(m * m.T)


@program(X, 2.0, value=1 + 4 + 3 + 4.0, gradient=[[1.0, 2.0, 1.0, 1.0], 2.0], typed=False)
def reshape_written(x, s):
    m = x.reshape(2, 2)
    m[0, 1] *= s
    return np.sum(x)


@program(X, value=1 + 2 + 9 + 4.0, gradient=[[1.0, 1.0, 6.0, 1.0]])
def view_of_a_view(x):
    inner = x[1:][1:3]
    inner[0] *= inner[0]
    return np.sum(x)


@program(M, 3.0, value=3.0 + 6 + 9 + 12, gradient=[[[3.0] * 2] * 2, 10.0])
def rows_in_a_loop(m, s):
    for i in range(2):
        row = m[i]
        for j in range(2):
            row[j] *= s
    return np.sum(m)


@program(X, value=1.0 * 4 + 2 * 9, gradient=[[4.0, 9.0, 0.0, 0.0]])
def copy_is_no_view(x):
    a = x[:2].copy()
    x[0] = 4.0
    x[1] = 9.0
    return np.sum(a * x[:2])
