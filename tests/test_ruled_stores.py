"""Stores with several indices, stacks of matrices and triangles on the typed path: the numbers of the recorded one."""
import numpy as np
import pytest

import transad

X = np.sin(np.arange(12.0)).reshape(4, 3)
V = np.array([0.3, -1.2, 0.8])
T = np.cos(np.arange(24.0)).reshape(2, 4, 3)


def diagonals(x, v, t):
    i = np.arange(3)
    a = np.zeros((4, 3, 3))
    a[:, i, i] = np.exp(x)
    a[1, i, 0] = v
    return np.sum(a * a) + np.sum(a @ v)


def triangles(x, v, t):
    rows, columns = np.triu_indices(3, 1)
    a = np.ones((4, 3, 3))
    a[:, columns, rows] = x * v
    lower, upper = np.tril_indices(3)
    return np.sum(np.tanh(a)[:, 0] * v) + np.sum(x[0, lower] * x[1, upper])


def repeated(x, v, t):
    i = np.array([0, 1, 1])
    j = np.array([2, 0, 0])
    a = x * 2.0
    a[i, j] = v ** 2                    # the last one counts
    a[:2, i] = t[0, :2] * v
    return np.sum(a * x)


def a_number_into_many(x, v, t):
    i = np.arange(2)
    a = t.copy()
    a[i, i, :] = np.sum(v)
    a[i, i, i] = v[0] * x[0, 0]
    return np.sum(a * a)


def turned(x, v, t):
    a = np.tanh(t)
    b = a.transpose(0, 2, 1)
    a[0, 1] = v                         # seen through the view
    c = np.transpose(b, (1, 0, 2))
    return np.sum((a @ b) ** 2) + np.sum(c[0] * c[1])


def stacks(x, v, t):
    y = (t - x[None]) @ np.ones((2, 3, 3)) @ v
    return np.sum(y * y) + np.sum(t @ x.T)


@pytest.mark.parametrize("f", [diagonals, triangles, repeated, a_number_into_many, turned, stacks], ids=lambda f: f.__name__)
def test_typed_and_recorded(f):
    args = (X, V, T)
    y, grads = transad.value_and_grad(f, (0, 1, 2), path="typed")(*[a.copy() for a in args])
    z, recorded = transad.value_and_grad(f, (0, 1, 2), path="recorded")(*[a.copy() for a in args])
    assert y == z == f(*args)
    for k, (g, r) in enumerate(zip(grads, recorded, strict=True)):
        np.testing.assert_allclose(g, r, rtol=1e-12, atol=1e-14)
        step = np.zeros_like(args[k])
        step.flat[1] = 1e-6
        up = f(*[a + step if j == k else a for j, a in enumerate(args)])
        down = f(*[a - step if j == k else a for j, a in enumerate(args)])
        assert np.isclose(g.flat[1], (up - down) / 2e-6, rtol=1e-5, atol=1e-8)


def test_second_derivatives():
    def f(v):
        i = np.arange(3)
        a = np.zeros((2, 3, 3))
        a[:, i, i] = v * v
        return np.sum(a @ v)
    np.testing.assert_allclose(transad.hessian(f)(V), np.diag(12.0 * V))


def test_compiled_code_says_what_it_does_not_take():
    with pytest.raises(transad.TransadError):
        transad.grad(diagonals, jit=True)(X, V, T)
