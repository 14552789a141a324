# Why: GARCH, the loop most people bring: one tape for the carried number, indexed, its entry and end share the slots.
import math

import numpy as np

ARGS = (0.1, 0.2, 0.6, np.array([0.5, -1.0, 0.3, 0.8]))


def f(omega, alpha, beta, r):
    h = omega / (1.0 - alpha - beta)
    loss = 0.0
    for t in range(len(r)):
        loss += math.log(h) + r[t] * r[t] / h
        h = omega + alpha * r[t] * r[t] + beta * h
    return 0.5 * loss


# ---- emitted
def f_fwd(omega, alpha, beta, r):
    h = omega / (1.0 - alpha - beta)
    loss = 0.0
    h_tape = np.empty(len(r) + 1)
    h_tape[0] = h
    for t in range(len(r)):
        loss += math.log(h) + r[t] * r[t] / h
        h = omega + alpha * r[t] * r[t] + beta * h
        h_tape[t + 1] = h
    return 0.5 * loss, (omega, alpha, beta, r, h_tape)


def f_rev(saved, d_y):
    omega, alpha, beta, r, h_tape = saved
    d_r = np.zeros_like(r)
    d_loss = 0.5 * d_y
    d_alpha = 0.0
    d_beta = 0.0
    d_h = 0.0
    d_omega = 0.0
    for t in range(len(r) - 1, -1, -1):
        h = h_tape[t]
        # h = omega + alpha * r[t] * r[t] + beta * h
        d_omega += d_h
        d_alpha += d_h * r[t] * r[t]
        d_beta += d_h * h
        d_r[t] += 2.0 * d_h * alpha * r[t]
        d_h *= beta
        # loss += math.log(h) + r[t] * r[t] / h
        d_h += d_loss * (1.0 / h - r[t] * r[t] / (h * h))
        d_r[t] += 2.0 * d_loss * r[t] / h
    # h = omega / (1.0 - alpha - beta)
    if d_h != 0.0:
        v = 1.0 - alpha - beta
        d_t = -d_h * omega / (v * v)
        d_omega += d_h / v
        d_alpha -= d_t
        d_beta -= d_t
    return d_omega, d_alpha, d_beta, d_r
