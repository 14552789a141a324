"""for over ranges and arrays."""
import math

import numpy as np

from tests.programs import program

A = np.array([0.5, -0.25, 2.0])


@program(1.5, 3, value=1.5**4, gradient=[4 * 1.5**3])
@program(1.5, 0, value=1.5, gradient=[1.0])
def product(x, n):
    y = x
    for _ in range(n):
        y *= x
    return y


@program(2.0, value=2 + 4 + 6 + 8.0, gradient=[10.0])
def sum_of_multiples(x):
    s = 0.0
    for i in range(1, 5):
        s += i * x
    return s


@program(0.5, value=0.5**5 + 0.5**3 + 0.5, gradient=[5 * 0.5**4 + 3 * 0.5**2 + 1])
def step_of_minus_two(x):
    s = 0.0
    for i in range(5, 0, -2):
        s += x**i
    return s


@program(A, value=0.25 + 0.0625 + 4.0, gradient=[2 * A], jit=True)
def items_of_an_array(a):
    s = 0.0
    for v in a:
        s += v * v
    return s


@program(np.array([[1.0, 2.0], [3.0, 4.0]]), value=1 * 2 + 3 * 4.0, gradient=[[[2.0, 1.0], [4.0, 3.0]]])
def rows_of_a_matrix(m):
    s = 0.0
    for row in m:
        s += row[0] * row[1]
    return s


@program(0.3, 0.2, value=0.3 * (1 + 2 + 2 + 4) + 0.2 * 9, gradient=[9.0, 9.0])
def nested(x, y):
    s = 0.0
    for i in range(1, 3):
        for j in range(1, 3):
            s += i * j * x
        s += y * 4.5
    return s


@program(A, value=2 * 0.5 - 1.5 * 0.25 + 2.0, gradient=[[2.0, 1.5, 1.0]])
def triangle(a):
    s = 0.0
    for i in range(3):
        for j in range(i, 2):
            s += 0.5 * a[i]
        s += a[i]
    return s


@program(0.4, value=math.sin(math.sin(math.sin(0.4))),
         gradient=[math.cos(0.4) * math.cos(math.sin(0.4)) * math.cos(math.sin(math.sin(0.4)))])
def recurrence(x):
    for _ in range(3):
        x = math.sin(x)
    return x


@program(2.0, gradient=[4.0])
def loop_variable_afterwards(x):
    for i in range(3):
        x *= 1.0
    return x * x * i / 2


@program(np.array([1.0, 9.0, 2.0, 9.0, 3.0]), 2.0, value=((2.0 + 1) * 2 + 2) * 3 + 3.0,
         gradient=[[2.0 * 3, 0.0, 3.0, 0.0, 1.0], 6.0])
def counter_of_its_own(a, x):
    k, s = 0, x
    for i in range(3):
        s = s * (i + 1) + a[k]
        k += 2
    return s
