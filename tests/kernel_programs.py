"""Maps as people write them, for `test_kernels`: each with the arguments to differentiate."""
from __future__ import annotations

import math

import numba
import numpy as np

import transad

RNG = np.random.default_rng(0)
XS, YS = RNG.standard_normal(400), RNG.standard_normal(380)
W3, V5, ROWS = RNG.standard_normal(3), RNG.standard_normal(5), RNG.standard_normal((120, 5))


def captured_number(xs, a):
    return sum(map(lambda e: math.sin(a * e) * math.exp(-e * e), xs))


def gathered(w, xs):
    return sum(map(lambda i: math.sin(w[i % 3]) * xs[i] ** 2, range(len(xs))))


def shortest(a, b, c):
    return sum(map(lambda p, q: math.sin(p * q) + c * math.cos(p), a, b))


def filtered(xs, k):
    return sum(math.exp(-k * x * x) * math.sin(x) for x in xs if x > 0)


def nested_generator(m, v):
    return sum(math.tanh(m[i, j] * v[j]) * math.cos(v[j]) for i in range(m.shape[0]) for j in range(m.shape[1]))


def rows(m, v):
    return np.sum(np.array([math.sin(np.dot(r, v)) for r in m]) ** 2)


def comprehension(xs, a):
    ys = np.array([math.sin(a * x) * math.exp(-x * x) for x in xs])
    return np.sum(ys * ys) + np.mean(ys)


def one_after_another(xs, a):
    b = sum(map(lambda x: math.sin(a * x) * math.cos(x), xs)) / len(xs)
    return sum(map(lambda x: math.sin(b * x) * math.exp(-x * a * a), xs))


def enumerated(xs, a):
    return sum(math.sin(a * x) * math.exp(-i * 0.01) for i, x in enumerate(reversed(xs)))


def slices(xs, a):
    return sum(math.sin(a * x) * math.exp(-y * y) for x, y in zip(xs[1:], xs[:-1], strict=False))


def extremes(xs, a):
    return min(map(lambda x: math.sin(a * x) + math.exp(-x * x), xs)) + max([math.sin(a * x) * x for x in xs])


def newton(x, a):
    u = x
    for _ in range(40):
        s = (u * u * u - a * u - x) / (3 * u * u + 1.0)
        if s * s < 1e-24:
            break
        u = u - 0.5 * s
    return math.sin(a * u)


def data_dependent_exit(xs, a):
    return sum(map(lambda e: newton(e, a), xs))


def halved(x, a):
    u, n = x, 0
    while abs(u) > 0.1 and n < 50:
        u = u * 0.5 * math.cos(a)
        n += 1
    return u * a


def while_inside(xs, a):
    return sum(map(lambda e: halved(e, a), xs))


def nested(m, v):
    return sum(map(lambda r: math.exp(sum(map(lambda x, y: x * y * 0.1, r, v))), m))


def neighbours(xs, a):
    n = len(xs)
    return sum(math.sin(a * xs[i] * xs[(i * 7) % n]) * math.exp(-xs[i - 1] ** 2) for i in range(n))


def started(xs, a):
    return sum(map(lambda e: math.sin(a * e) * math.exp(-e * e), xs), a * 3.0)


def loop_with_continue(xs, a):
    s, c = 0.0, a * a
    for i in range(1, len(xs) - 1):
        d = xs[i + 1] - 2 * xs[i] + xs[i - 1]
        if d > 0:
            s += c * d * d
        else:
            continue
    return s * math.sin(a)


def stored(xs, a):
    y = np.zeros(len(xs))
    for i in range(len(xs)):
        y[i] = math.sin(a * xs[i]) * xs[i]
    return np.dot(y, y)


def piece(x, a):
    if x < 0:
        return a * x
    if x > 1:
        return math.exp(-a * x)
    return math.sin(x) * a


def early_return(xs, a):
    return sum(map(lambda e: piece(e, a), xs))


def counted(xs, a):
    n = sum(1 for x in xs if x > 0)
    return a * n + sum(math.sin(x * a) * math.cos(x) for x in xs) / n


def explicit(xs, a):
    return np.sum(transad.map(lambda e: math.sin(a * e) * e * math.exp(-e), xs) ** 2)


def parallel_range(xs, a):
    s = 0.0
    y = np.zeros(len(xs))
    for i in numba.prange(len(xs)):
        s += math.sin(a * xs[i])
        y[i] = math.exp(-xs[i] * a) * xs[i]
    return s * s + np.dot(y, y)


def recurrence(xs, a):
    """No map: every trip needs the one before."""
    s = 0.0
    for i in range(len(xs)):
        s = math.sin(s * a) + xs[i]
    return s


def products(ms, w):
    return sum(map(lambda m: np.sum(np.dot(m, w) ** 2), ms))


PROGRAMS = [
    (captured_number, (XS, 1.3)), (gathered, (W3, XS)), (shortest, (XS, YS, 0.7)), (filtered, (XS, 0.7)),
    (nested_generator, (ROWS, V5)), (rows, (ROWS, V5)), (comprehension, (XS, 1.2)), (one_after_another, (XS, 0.3)),
    (enumerated, (XS, 1.1)), (slices, (XS, 1.1)), (extremes, (XS, 1.1)), (data_dependent_exit, (XS, 1.4)),
    (while_inside, (XS, 0.3)), (nested, (ROWS, V5)), (neighbours, (XS, 1.1)), (started, (XS, 1.1)),
    (loop_with_continue, (XS, 0.8)), (stored, (XS, 0.8)), (early_return, (XS, 0.8)), (counted, (XS, 0.8)),
    (explicit, (XS, 0.8)), (parallel_range, (XS, 0.8)), (recurrence, (XS, 0.8))]


def checked(x):
    if x < -1.0:
        raise ValueError("below the range")
    return math.sqrt(x + 1.0) * math.exp(-x)


def failing(xs):
    return sum(map(checked, xs))


def past_the_end(xs, n):
    return sum(math.sin(xs[i]) * math.exp(xs[i]) for i in range(n))


def past_the_end_gathered(xs, index):
    return sum(math.sin(xs[i]) * math.exp(xs[i]) for i in index)
