# Why: the number of trips is not known before: a growing tape, and a reverse loop over the trips that were made.
import numpy as np

ARGS = (2.0,)


def f(a):
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


# ---- emitted
def f_fwd(a):
    x = a
    x_list = []
    trips = 0
    while abs(x * x - a) > 1e-10:
        trips += 1
        x_list.append(x)
        x = 0.5 * (x + a / x)
    x_tape = np.array(x_list)
    return x, (a, trips, x_tape)


def f_rev(saved, d_x):
    a, trips, x_tape = saved
    x_at = len(x_tape)
    d_a = 0.0
    for trip in range(trips):
        x_at -= 1
        x = x_tape[x_at]
        # x = 0.5 * (x + a / x)
        d_t = 0.5 * d_x
        d_a += d_t / x
        d_x = d_t * (1.0 - a / (x * x))
    # x = a
    d_a += d_x
    return d_a
