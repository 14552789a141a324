"""Elementwise functions, broadcasting, where, clip, cumulative functions."""
import numpy as np

from tests.programs import program

A = np.array([0.5, 1.0, 2.0])


@program(A, value=np.sum(np.sin(A) * np.exp(-A)), gradient=[(np.cos(A) - np.sin(A)) * np.exp(-A)], jit=True)
def product_of_functions(a):
    return np.sum(np.sin(a) * np.exp(-a))


@program(A, 2.0, value=2 * 3.5 + 6.0, gradient=[[2.0] * 3, 3.5 + 3])
def number_is_stretched(a, s):
    return np.sum(a * s + s)


@program(A, np.array([[1.0], [2.0]]), value=3.5 * 3, gradient=[[3.0] * 3, [[3.5], [3.5]]])
def outer_by_broadcasting(a, b):
    return np.sum(a * b)


@program(A, 1.5, value=1.5 + 1.5 + 4, gradient=[[0.0, 0.0, 4.0], 2.0])
def where(a, s):
    return np.sum(np.where(a > 1.2, a * a, s))


@program(A, value=0.5 + 1.0 + 1.5, gradient=[[1.0, 1.0, 0.0]], typed=False)
def clip(a):
    return np.sum(np.clip(a, 0.1, 1.5))


@program(A, value=0.5 + 1.5 + 3.5, gradient=[[3.0, 2.0, 1.0]], typed=False)
def cumulative(a):
    return np.sum(np.cumsum(a))


@program(A, value=0.25 + 1 + 1.5 - (0.6 + 1 + 2), gradient=[[1.0, 1.0, -1.0]])
def larger_of_two(a):
    return np.sum(np.minimum(a * a, 1.5) - np.maximum(a, 0.6))


@program(A, value=np.sum(A**1.5 + 2.0**A), gradient=[1.5 * A**0.5 + np.log(2) * 2.0**A])
def powers(a):
    return np.sum(a**1.5 + 2.0**a)


@program(A, value=0.5 + 1.0, gradient=[[-1.0, 0.0, 1.0]], typed=False)
def differences(a):
    return np.sum(np.diff(a))


@program(-A, value=3.5, gradient=[[-1.0] * 3])
def absolute(a):
    return np.sum(np.abs(a))


@program(A, value=0.5 - 2.0 + 1.0 - 1.0 + 2.0 - 0.5, gradient=[1 + 1 / A**2])
def operators(a):
    return np.sum(+a - 1.0 / a)
