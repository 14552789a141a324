"""break, continue and return inside loops."""
import numpy as np

from tests.programs import program

A = np.array([0.5, 1.5, -2.0, 3.0])


@program(A, value=2.0, gradient=[[1.0, 1.0, 0.0, 0.0]])
@program(-A, value=0.0, gradient=[[0.0] * 4])
def break_at_the_first_negative(a):
    s = 0.0
    for v in a:
        if v < 0:
            break
        s += v
    return s


@program(A, 2.0, value=10.0, gradient=[[2.0, 2.0, 0.0, 2.0], 5.0], jit=True)
def continue_past_negatives(a, k):
    s = 0.0
    for i in range(len(a)):
        if a[i] < 0:
            continue
        s += k * a[i]
    return s


@program(A, value=1.5**2, gradient=[[0.0, 3.0, 0.0, 0.0]])
@program(A * 0.1, value=0.2, gradient=[[0.0, 0.0, -1.0, 0.0]])
def return_the_first_above_one(a):
    for v in a:
        if v > 1.0:
            return v * v
    return -a[2]


@program(A, 3.0, value=0.5 * 1.5 * 3.0, gradient=[[4.5, 1.5, 0.0, 0.0], 0.75])
def break_out_of_the_inner_loop_only(a, k):
    p = k
    for i in range(2):
        for j in range(4):
            if j > 0:
                break
            p *= a[i]
    return p


@program(0.5, value=0.5 * 2**3, gradient=[8.0], typed=False)
def return_out_of_two_loops(x):
    for _ in range(5):
        for _ in range(2):
            x = 2.0 * x
            if x > 3.0:
                return x
    return x + 100.0


@program(A, value=0.5 + 6.0, gradient=[[1.0, 0.0, 0.0, 2.0]])
def both_kinds_of_exit(a):
    s = 0.0
    for i in range(10):
        if i == 1:
            continue
        elif i == 2:
            i = 0
        elif i == 3:
            s += 2.0 * a[i]
            break
        else:
            s += a[i]
    return s
