"""Stores into arrays: elements, slices, index arrays, masks, the whole array."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0, 4.0])


@program(X, 5.0, value=10.0 + 2 + 3 + 4, gradient=[[0.0, 1.0, 1.0, 1.0], 2.0])
def element(x, s):
    a = x.copy()
    a[0] = s * 2.0
    return np.sum(a)


@program(X, value=1.0 + 1 + 4 + 9, gradient=[[2 * 2.0 + 1.0, 4.0, 6.0, 0.0]])
def slice_of_itself(x):
    a = x * x
    a[1:] = a[:-1]
    return np.sum(a) + x[0] - 1.0


@program(X, 0.5, value=0.5 + 0.5 + 3 + 4, gradient=[[0.0, 0.0, 1.0, 1.0], 2.0])
def number_into_a_slice(x, s):
    x[:2] = s
    return np.sum(x)


@program(X, np.array([10.0, 20.0]), value=1.0 + 20 + 3 + 10, gradient=[[1.0, 0.0, 1.0, 0.0], [1.0, 1.0]])
def index_array(x, v):
    a = x.copy()
    a[np.array([3, 1])] = v
    return np.sum(a)


@program(X, np.array([10.0, 20.0]), value=1.0 + 20 + 3 + 4, gradient=[[1.0, 0.0, 1.0, 1.0], [0.0, 1.0]])
def repeated_index_keeps_the_last(x, v):
    a = x.copy()
    a[[1, 1]] = v
    return np.sum(a)


@program(X, 7.0, value=1.0 + 2 + 7 + 7, gradient=[[1.0, 1.0, 0.0, 0.0], 2.0])
def mask(x, s):
    a = x.copy()
    a[a > 2.5] = s
    return np.sum(a)


@program(X, np.array([4.0, 3.0, 2.0, 1.0]), value=4.0 + 6 + 6 + 4, gradient=[[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
def whole_array(x, y):
    a = np.empty(4)
    a[...] = x
    a[:] = a * y
    return np.sum(a)


@program(np.array([[1.0, 2.0], [3.0, 4.0]]), 5.0, value=5.0 + 10.0 + 4.0 + 25.0,
         gradient=[[[0.0, 5.0], [0.0, 1.0]], 1.0 + 2.0 + 10.0])
def matrix_elements_rows_columns(m, s):
    t = m[0, 1]
    m[:, 0] = s
    m[0, 1] = t * s
    m[1, 0] = s * s
    return np.sum(m)


@program(X, value=3.0 + 8.0, gradient=[[0.0, 0.0, 1.0, 2.0]])
def overwritten_value_is_forgotten(x):
    a = np.zeros(2)
    a[0] = x[0] * x[1]
    a[1] = x[3]
    a[0] = x[2]
    return a[0] + 2.0 * a[1]


@program(X, value=1 + 8 + 27 + 64.0, gradient=[3 * X**2], jit=True)
def filled_element_by_element(x):
    a = np.zeros(len(x))
    for i in range(len(x)):
        a[i] = x[i] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += a[i] * x[i]
    return s
