"""Two names for one memory."""
import numpy as np

from tests.programs import program

X = np.array([1.0, 2.0, 3.0])


@program(X, 4.0, value=4.0 + 2 + 3, gradient=[[4.0, 1.0, 1.0], 1.0])
def written_through_the_other_name(x, s):
    y = x
    y[0] *= s
    return np.sum(x)


@program(X, 4.0, value=(4.0 + 2 + 3) * 4, gradient=[[16.0, 4.0, 4.0], 4.0 + 9.0])
@program(X, -1.0, value=6.0 * -1, gradient=[[-1.0] * 3, 6.0])
def alias_or_copy_by_branch(x, s):
    y = x if s > 0 else x.copy()
    y[0] *= s
    return np.sum(x) * s


@program(X, 2.0, value=2.0 + 2 + 3 + 6, gradient=[[2.0 + 1, 2.0, 2.0], 1.0])
def rebinding_is_no_write(x, s):
    y = x
    y = y * 1.0
    t = np.sum(y)
    x[0] *= s
    return np.sum(x) + t


@program(X, 2.0, value=2.0 * 6, gradient=[[2.0] * 3, 6.0])
def augmented_write_through_an_alias(x, s):
    y = x
    y *= s
    return np.sum(x)


@program(X, 3.0, value=3.0 * 1 + 2 + 3, gradient=[[3.0, 1.0, 1.0], 1.0])
def alias_chosen_in_a_loop(x, s):
    a = np.zeros(3)
    for i in range(2):
        p = a if i == 0 else x
        p[0] *= s
    return np.sum(x) + a[0]


@program(X, 2.0, value=4.0 + 2 + 3, gradient=[[4.0, 1.0, 1.0], 4.0])
def alias_through_a_tuple(x, s):
    pair = (x, x)
    pair[0][0] *= s
    pair[1][0] *= s
    return np.sum(x)
