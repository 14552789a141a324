# Why: buffers that are swapped in a loop: shadows are swapped too, and no array is copied that nobody overwrites.
import numpy as np

from transad.runtime.typed import copy_to, stretched, unbroadcast

ARGS = (np.array([0.2, 1.0, 0.5]), 0.5)


def f(x, s):
    u, v = x.copy(), np.zeros(3)
    for _ in range(3):
        for i in range(3):
            v[i] = u[i] * u[i - 1] * s
        u, v = v, u
    return np.sum(u)


# ---- emitted
def f_fwd(x, s):
    u, v = x.copy(), np.zeros(3)
    u_1_tape = np.empty((3, x.shape[0]))
    for trip in range(3):
        copy_to(u_1_tape[trip], u)
        for i in range(3):
            v[i] = u[i] * u[i - 1] * s
        u, v = v, u
    t = np.sum(u)
    return t, (x, s, u, v, u_1_tape)


def f_rev(saved, d_t):
    x, s, u, v, u_1_tape = saved
    d_u = np.zeros_like(u)
    d_v = np.zeros_like(v)
    # return np.sum(u)
    d_u += d_t
    d_s = 0.0
    for trip in range(2, -1, -1):
        u_1 = u_1_tape[trip]
        d_v, d_u = d_u, d_v
        for i in range(2, -1, -1):
            # v[i] = u[i] * u[i - 1] * s
            d_v_1 = d_v[i]
            d_v[i] = 0.0
            d_s += d_v_1 * u_1[i] * u_1[i - 1]
            d_u[i] += d_v_1 * u_1[i - 1] * s
            d_u[i - 1] += d_v_1 * u_1[i] * s
    # u, v = x.copy(), np.zeros(3)
    d_x = stretched(unbroadcast(d_u, x), x)
    return d_x, d_s
