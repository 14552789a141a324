# Why: break, continue and return stay in the forward text; the reverse runs from the last trip without flags for them.
import numpy as np

ARGS = (np.array([0.3, -0.2, 0.8, 0.4]), 0.6)


def f(a, y):
    s = 1.0
    for i in range(4):
        if a[i] < 0.0:
            continue
        s = s * y + a[i] * s * s
        if s > 5.0:
            return s * y
    return s


# ---- emitted
def f_fwd(a, y):
    ret_1 = 0.0
    s = 1.0
    returned_1 = False
    s_tape = np.empty(4)
    s_tape_1 = np.empty(5)
    trips = 0
    s_tape_1[0] = s
    for i in range(4):
        trips += 1
        if a[i] < 0.0:
            s_tape_1[i + 1] = s
            continue
        s = s * y + a[i] * s * s
        s_tape[i] = s
        if s > 5.0:
            ret_1 = s * y
            returned_1 = True
            s_tape_1[i + 1] = s
            break
        s_tape_1[i + 1] = s
    if not returned_1:
        ret_1 = s
    return ret_1, (a, y, returned_1, trips, s_tape, s_tape_1)


def f_rev(saved, d_ret_1):
    a, y, returned_1, trips, s_tape, s_tape_1 = saved
    d_a = np.zeros_like(a)
    if returned_1:
        d_s = 0.0
    else:
        # return s
        d_s = d_ret_1
        d_ret_1 = 0.0
    d_y = 0.0
    for i in range(trips - 1, -1, -1):
        s = s_tape_1[i]
        if not a[i] < 0.0:
            s_1 = s_tape[i]
            if s_1 > 5.0:
                # return s * y
                d_s += d_ret_1 * y
                d_y += d_ret_1 * s_1
                d_ret_1 = 0.0
            # s = s * y + a[i] * s * s
            d_y += d_s * s
            d_a[i] += d_s * s * s
            d_s *= y + 2.0 * a[i] * s
    return d_a, d_y
