# Why: a branch saves what only it needs, and the reverse sweep asks the same condition; nothing is recorded twice.
import math

ARGS = (0.5, 2.0)


def f(x, y):
    if x > 0.0:
        t = math.exp(x)
    else:
        t = x * y
    return t * y


# ---- emitted
def f_fwd(x, y):
    t_1 = 0.0
    if x > 0.0:
        t = math.exp(x)
        t_1 = t
    else:
        t = x * y
    return t * y, (x, y, t_1, t)


def f_rev(saved, d_y):
    x, y, t_1, t = saved
    d_t = d_y * y
    d_y_1 = d_y * t
    if x > 0.0:
        # t = math.exp(x)
        d_x = d_t * t_1
    else:
        # t = x * y
        d_x = d_t * y
        d_y_1 += d_t * x
    return d_x, d_y_1
