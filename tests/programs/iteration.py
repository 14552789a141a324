"""zip, enumerate, reversed, map, filter, reduce, accumulate, sorted."""
import functools
import itertools
import operator

import numpy as np

from tests.programs import program

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


@program(A, B, value=32.0, gradient=[B, A])
def zipped(a, b):
    s = 0.0
    for u, v in zip(a, b):
        s += u * v
    return s


@program(A, value=0 + 2 + 6.0, gradient=[[0.0, 1.0, 2.0]])
def enumerated(a):
    s = 0.0
    for i, v in enumerate(a):
        s += i * v
    return s


@program(A, 2.0, value=((0 * 2 + 3) * 2 + 2) * 2 + 1.0, gradient=[[1.0, 2.0, 4.0], 2 * 3 * 2.0 + 2.0])
def horner_reversed(a, x):
    s = 0.0
    for v in reversed(a):
        s = s * x + v
    return s


@program(A, B, value=32.0, gradient=[B, A])
def mapped(a, b):
    return sum(map(lambda u, v: u * v, a, b))


@program(A, value=6.0, gradient=[[6.0, 3.0, 2.0]], typed=False)
def reduced(a):
    return functools.reduce(operator.mul, a)


@program(A, value=1 + 3 + 6.0, gradient=[[3.0, 2.0, 1.0]], typed=False)
def accumulated(a):
    return sum(itertools.accumulate(a))


@program(A, value=2 * 2.0 + 3 * 3.0, gradient=[[0.0, 4.0, 6.0]])
def filtered(a):
    return sum(v * v for v in filter(lambda v: v > 1.5, a))


@program(A, value=1 * 2 + 2 * 3.0, gradient=[[2.0, 4.0, 2.0]], typed=False)
def pairwise(a):
    return sum(u * v for u, v in itertools.pairwise(a))
