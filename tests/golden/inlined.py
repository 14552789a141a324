# Why: callees are part of the text, with their own names kept apart; a user's t, d_t and saved stay what they are.
import math

ARGS = (0.4, 0.9)


def wave(t, saved):
    d_t = math.sin(t)
    return d_t * saved


def f(t, d_t):
    saved = wave(t, d_t) + wave(d_t, t)
    return saved * t


# ---- emitted
def f_fwd(t, d_t):
    d_t_1 = math.sin(t)
    d_t_2 = math.sin(d_t)
    saved = d_t_1 * d_t + d_t_2 * t
    return saved * t, (t, d_t, d_t_1, d_t_2, saved)


def f_rev(saved, d_y):
    t, d_t, d_t_1, d_t_2, saved = saved
    d_saved = d_y * t
    d_t_3 = d_y * saved
    # saved = wave(t, d_t) + wave(d_t, t)
    d_d_t_1 = d_saved * d_t
    d_d_t = d_saved * d_t_1
    d_d_t_2 = d_saved * t
    d_t_3 += d_saved * d_t_2
    # d_t = math.sin(t)
    d_d_t += d_d_t_2 * math.cos(d_t)
    d_t_3 += d_d_t_1 * math.cos(t)
    return d_t_3, d_d_t
