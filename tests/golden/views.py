# Why: take, clear, add on views: the shadow of a view is a view of the shadow, whatever aliases whatever.
import numpy as np

from transad.runtime.typed import summed

ARGS = (np.array([1.0, 2.0, 3.0, 4.0]), 0.5)


def f(x, s):
    v = x[1:3]
    v *= s
    x[0] = v[1] * x[3]
    return np.sum(x)


# ---- emitted
def f_fwd(x, s):
    v = x[1:3]
    v_1 = v.copy()
    v *= s
    x_i = x[3]
    v_i = v[1]
    x[0] = v_i * x_i
    t = np.sum(x)
    return t, (x, s, v_1, v_i, x_i)


def f_rev(saved, d_t):
    x, s, v_1, v_i, x_i = saved
    d_x = np.zeros_like(x)
    d_v = d_x[1:3]
    # return np.sum(x)
    d_x += d_t
    # x[0] = v[1] * x[3]
    d_v_1 = d_x[0]
    d_x[0] = 0.0
    d_v[1] += d_v_1 * x_i
    d_x[3] += d_v_1 * v_i
    # v *= s
    d_v_2 = d_v.copy()
    d_v[:] = d_v_2 * s
    d_s = summed(d_v_2 * v_1)
    return d_x, d_s
