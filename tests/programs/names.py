"""Names that the derivative's own text could want: d_x, x_tape, saved, trip, t, w, y."""
import math

import numpy as np

from tests.programs import program


@program(2.0, 3.0, value=2.0 * 3 + 4, gradient=[3.0 + 4.0, 2.0])
def cotangents(d_x, x):
    d_y = d_x * x
    d_d_x = d_x * d_x
    return d_y + d_d_x


@program(0.5, value=4 * 0.5**4 / 4 + 3 * 0.5, gradient=[4 * 0.5**3 + 3.0])
def tapes(x):
    x_tape, saved, trip, trips = x, 1.0, 0, 0.0
    for i in range(4):
        saved = saved * x_tape
        trip += 1 if i < 3 else 0
    return saved + x * trip + trips


@program(0.5, 2.0, value=math.sin(0.5) * 2 + 4, gradient=[2 * math.cos(0.5), math.sin(0.5) + 4.0], jit=True)
def temporaries(t, w):
    g = math.sin(t)
    d = g * w
    v = w * w
    return d + v


@program(np.array([1.0, 2.0]), 3.0, value=9.0 + 15.0 - 9.0, gradient=[[6.0, 6.0], 2 * 3.0 + 2.0])
def arrays(w, t):
    d_w = w * t
    g = np.sum(d_w)
    d_t = np.zeros(2)
    d_t[0] = g + w[0] * 0.0
    return d_t[0] + 2.0 * t + np.sum(d_w) - 9.0


@program(2.0, value=16.0, gradient=[32.0])
def seeds(y):
    d_y, y_1, y1, ret, returned = y, y, y, 1.0, 1.0
    return d_y * y_1 * y1 * y * ret * returned


@program(3.0, value=12.0, gradient=[7.0 + 0.0])
def modules(math):
    np = math + 1.0
    return np * math
