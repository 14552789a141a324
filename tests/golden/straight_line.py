# Why: the smallest pair. No temporaries beside the user's names, the seed named after the result, one comment for a line.
import math

ARGS = (0.5, 2.0)


def f(x, y):
    s = math.sin(x)
    return s * y


# ---- emitted
def f_fwd(x, y):
    s = math.sin(x)
    return s * y, (x, y, s)


def f_rev(saved, d_y):
    x, y, s = saved
    d_s = d_y * y
    d_y_1 = d_y * s
    # s = math.sin(x)
    d_x = d_s * math.cos(x)
    return d_x, d_y_1
