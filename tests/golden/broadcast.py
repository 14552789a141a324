# Why: a number stretched over an array gets the sum of its cotangents, once.
import numpy as np

from transad.runtime.typed import summed

ARGS = (0.7, np.array([1.0, 2.0, 3.0]), 0.3)


def f(x, a, y):
    e = a + y - x * y
    return np.sum(e * e)


# ---- emitted
def f_fwd(x, a, y):
    e = a + y - x * y
    t = e * e
    t_1 = np.sum(t)
    return t_1, (x, y, e)


def f_rev(saved, d_t_1):
    x, y, e = saved
    # return np.sum(e * e)
    d_e = 2.0 * d_t_1 * e
    # e = a + y - x * y
    d_t_2 = summed(-d_e)
    d_y = summed(d_e) + d_t_2 * x
    d_x = d_t_2 * y
    d_a = d_e
    return d_x, d_a, d_y
