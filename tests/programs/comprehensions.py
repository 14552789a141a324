"""Comprehensions and generators."""
import math

import numpy as np

from tests.programs import program

A = np.array([1.0, -2.0, 3.0])


@program(A, value=1 + 4 + 9.0, gradient=[2 * A])
def list_summed(a):
    return sum([v * v for v in a])


@program(A, 2.0, value=4.0 * 2, gradient=[[2.0, 0.0, 2.0], 4.0])
def generator_with_condition(a, k):
    return sum(k * v for v in a if v > 0)


@program(A, value=1 - 2 + 3 + 4 * 1 - 4 * 2 + 4 * 3.0, gradient=[[5.0] * 3], typed=False)
def two_loops(a):
    return sum([v * w * w for w in (1.0, 2.0) for v in a])


@program(A, value=math.sin(1) - math.sin(2) + math.sin(3), gradient=[np.cos(A)])
def array_from_a_list(a):
    return np.sum(np.array([math.sin(v) for v in a]))


@program(2.0, value=0 + 1 * 2 + 2 * 4.0, gradient=[1 + 8.0], typed=False)
def yield_values(x):
    def powers():
        y = 1.0
        for k in range(3):
            yield k, y
            y *= x
    return sum(k * v for k, v in powers())


@program(A, value=3.0, gradient=[[0.0, 0.0, 1.0]])
def largest_of_a_generator(a):
    return max(v for v in a)


@program(2.0, value=6.0 * 2, gradient=[6.0], typed=False)
def nested_comprehension(x):
    table = [[x * (i + j) for j in range(2)] for i in range(3)]
    return sum([sum(row) for row in table[:2]]) + sum(table[2]) - 3.0 * x
