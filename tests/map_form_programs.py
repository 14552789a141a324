"""Every form in which a map is written, each as a small function of arrays and numbers.

`FORMS` holds `(function, arguments)`; the arguments are all differentiated.
"""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numba import prange

import transad

N = 23
X = np.linspace(0.15, 1.9, N)
Y = np.cos(np.arange(N + 4.0))
M = np.sin(np.arange(4.0 * N)).reshape(N, 4)
V = np.array([0.4, -0.7, 1.1, 0.3])
W = np.array([0.5, -1.0, 2.0])


def wave(x, a):
    s = 0.0
    for k in range(1, 4):
        s += math.sin(k * a * x) / k
    return s


# -- what a map stands under ------------------------------------------------------------------------------------------
def under_sum(xs, a):
    return sum(map(lambda e: wave(e, a), xs))


def under_sum_from(xs, a):
    return sum(map(lambda e: wave(e, a), xs), 2.0 * a)


def under_list(xs, a):
    ys = list(map(lambda e: wave(e, a), xs))
    return ys[3] * ys[-1] + len(ys)


def under_tuple(xs, a):
    ys = tuple(map(lambda e: wave(e, a), xs))
    return ys[0] - ys[5] ** 2


def under_min(xs, a):
    return min(map(lambda e: wave(e, a), xs))


def under_max(xs, a):
    return max(map(lambda e: wave(e, a), xs)) * a


def under_array(xs, a):
    return np.sum(np.array(list(map(lambda e: wave(e, a), xs))) ** 2)


def under_fromiter(xs, a):
    return np.sum(np.fromiter(map(lambda e: wave(e, a), xs), dtype=float) ** 2)


def under_fromiter_count(xs, a):
    return np.sum(np.fromiter((wave(e, a) for e in xs), float, count=len(xs)) ** 2)


def under_stack(xs, a):
    rows = np.stack(list(map(lambda e: np.array([e * a, wave(e, a)]), xs)))
    return np.sum(rows[:, 0] * rows[:, 1])


def under_stack_comprehension(xs, a):
    rows = np.stack([np.array([e * a, wave(e, a), 1.0]) for e in xs])
    return np.sum(rows ** 2)


def under_for(xs, a):
    total = 1.0
    for y in map(lambda e: wave(e, a), xs):
        total += y * y
    return total


def under_for_product(xs, a):
    total = 1.0
    for y in map(lambda e: wave(e, a), xs):
        total = 0.5 * total + y
    return total


def under_mean(xs, a):
    return np.mean([wave(e, a) for e in xs]) * a


def under_any(xs, a):
    return a * a if any(wave(e, a) > 0.5 for e in xs) else a


def under_all(xs, a):
    return a * a if all(wave(e, a) > -5.0 for e in xs) else a


def under_sum_of_list(xs, a):
    return sum([wave(e, a) for e in xs]) / len(xs)


def under_np_sum(xs, a):
    return np.sum(np.array([wave(e, a) for e in xs]))


def under_fsum(xs, a):
    return math.fsum(wave(e, a) for e in xs)


# -- comprehensions ---------------------------------------------------------------------------------------------------
def two_fors(xs, w):
    return sum([wave(x, b) for x in xs for b in w])


def two_fors_two_ifs(xs, w):
    return sum(wave(x, b) for x in xs if x > 0.5 for b in w if b < 1.0 if b > -0.9)


def if_on_item(xs, a):
    return sum(wave(x, a) for x in xs if x > 0.8)


def list_with_if(xs, a):
    ys = [wave(x, a) for x in xs if x > 0.8]
    return sum(ys) + ys[0] * len(ys)


def array_of_list_with_if(xs, a):
    return np.sum(np.array([wave(x, a) for x in xs if x > 0.8]) ** 2)


def nested_comprehension(xs, w):
    rows = [[wave(x, b) for b in w] for x in xs]
    return np.sum(np.array(rows) ** 2)


def max_of_generator(xs, a):
    return max(wave(x, a) for x in xs)


def min_of_filtered(xs, a):
    return min(wave(x, a) for x in xs if x > 0.5)


def conditional_items(xs, a):
    return sum([wave(x, a) if x > 1.0 else a * x for x in xs])


def returns_from_its_loop(xs, a):
    def item(x):
        y = x
        for _ in range(5):
            y = y + 0.1 * math.sin(a * y)
            if y > 1.5:
                return y * a
        return y
    return sum(map(item, xs))


def after_a_guard(xs, a):
    if len(xs) == 0:
        return 0.0
    ys = [wave(x, a) for x in xs[1:]]
    if ys[0] > 100.0:
        return a
    mean = sum(ys) / len(ys)
    return sum(wave(y - mean, a) for y in ys)


def in_both_arms(xs, a):
    if a > 2.0:
        s = 0.0
        for v in map(lambda x: wave(x, a), xs):
            s += v
    elif a > 1.0:
        s = 1.0
        for v in map(lambda x: wave(x, 2.0 * a), xs):
            s += v
    else:
        s = a
    return s * s


def reassigned_between(xs, a):
    b = a
    s = sum(wave(x, b) for x in xs)
    if s > 0.1:
        b = b * s
    t = sum(wave(x, b) for x in xs)
    for _ in range(3):
        b = b * 0.5 + t
        t = t - 0.01 * b
    return sum(wave(x, b * t) for x in xs)


def three_levels(xs, w, a):
    ys = [wave(x, b) * c * a for x in xs if x < 1.0 for b in w for c in w if b < c]
    return max(ys) + ys[2]


def triangle(xs, a):
    ys = [wave(xs[i] - xs[j], a) for i in range(len(xs)) for j in range(i - 2) if (i + j) % 3 == 0]
    return sum(ys) * ys[-1]


def named_in_a_test(xs, a):
    ys = [y * x for x in xs if (y := wave(x, a)) > 0.2]
    return sum(ys) + ys[0]


def list_of_filter(xs, a):
    ys = list(map(lambda x: wave(x, a), filter(lambda x: x > 0.7, xs)))
    return ys[0] + sum(ys)


def filter_of_map(xs, a):
    ys = list(filter(lambda y: y > 0.2, map(lambda x: wave(x, a), xs)))
    return sum(ys) * ys[2]


def none_pass(xs, a):
    ys = [wave(x, a) for x in xs if x > 50.0]
    return sum(ys) + len(ys) + a


def counted_tests(xs, a):
    n = 0

    def odd(x):
        nonlocal n
        n += 1
        return n % 2 == 1
    ys = [wave(x, a) * n for x in xs if odd(x)]
    return sum(ys) * ys[1]


def marking_items(xs, a):
    seen = np.zeros(len(xs))

    def mark(i):
        seen[(2 * i) % len(xs)] = 1.0
        return wave(xs[i], a)
    ys = [mark(i) for i in range(len(xs)) if seen[i] == 0.0]
    return sum(ys) * len(ys)


def all_of_filtered(xs, a):
    return a * a if all(wave(x, a) > -5.0 for x in xs if x > 0.5) else a


def any_stops(xs, a):
    return a * a if any(wave(xs[i], a) > 9.0 or (i > 2 and xs[i - 3] < 1.0) or xs[i + len(xs) - 4] > 0
                        for i in range(len(xs))) else a


def best_by_key(xs, a):
    return max(xs, key=lambda x: wave(x, a)) * a


def best_pair(xs, a):
    return min(((wave(x, a), x) for x in xs), key=lambda p: p[0])[1] * a


def best_or_default(xs, a):
    return max((wave(x, a) for x in xs), default=0.0) + max((wave(x, a) for x in xs if x > 90.0), default=2.0 * a)


def starmapped(xs, a):
    return sum(itertools.starmap(lambda i, x: i * wave(x, a), enumerate(xs)))


def reduced(xs, a):
    return functools.reduce(lambda p, q: p + q, map(lambda x: wave(x, a), xs))


def list_items(xs, a):
    rows = [[wave(x, a), x * a, 2] for x in xs]
    return np.sum(np.array(rows) ** 2) + rows[2][1] + len(rows[0]) + sum(sum(r) for r in rows)


def list_items_unpacked(xs, a):
    s = 0.0
    for p, q in [[wave(x, a), x * a] for x in xs]:
        s += p * q
    return s


def columns_as_arrays(xs, a):
    us, vs = map(np.array, zip(*[(wave(x, a), wave(x, 2.0 * a)) for x in xs]))
    return np.sum(us * vs)


def folded_in_order(xs, a):
    total, best = 1.0, -9.0
    for y, x in zip(map(lambda e: wave(e, a), xs), xs):
        if y > best:
            best = y * x
        total = 0.5 * total + y
    return total * best


def raising_fold(xs, a):
    s = 0.0
    for y in map(lambda e: wave(e, a), xs):
        s = s * 0.5 + y
        if s > 100.0:
            raise ValueError("too much")
    return s


def filling_fold(xs, a):
    out = np.zeros(len(xs))
    level = 0.0
    for i, y in enumerate(map(lambda e: wave(e, a), xs)):
        level = 0.5 * level + y
        out[i] = level * level
    return np.sum(out * out)


def histogram(xs, a):
    h = np.zeros(5)
    for y in map(lambda e: wave(e, a), xs):
        h[int(abs(y) * 3.0) % 5] += y
    return np.sum(h ** 2)


def histogram_that_items_see(xs, a):
    h = np.zeros(5)
    g = h[1:]
    for y in map(lambda e: wave(e, a) + g[0], xs):
        h[int(abs(y) * 3.0) % 5] += y
    return np.sum(h ** 2)


def running_moments(xs, a):
    n, mean, m2 = 0, 0.0, 0.0
    for y in map(lambda e: wave(e, a), xs):
        n += 1
        d = y - mean
        mean += d / n
        m2 += d * (y - mean)
    return mean + m2 / n


def rows_accumulated(m, v):
    acc = np.zeros(4)
    for r in map(lambda r: np.sin(r * v), m):
        acc += r
    return np.sum(acc ** 2)


def rows_summed(m, v):
    return np.sum(sum(np.sin(r * v) for r in m) ** 2)


def rows_summed_from(m, v):
    return np.sum(sum((np.sin(r * v) for r in m), v) ** 2)


def product_of_items(xs, a):
    return math.prod(1.0 + 0.1 * wave(x, a) for x in xs)


# -- iterables --------------------------------------------------------------------------------------------------------
def enumerated(xs, a):
    return sum(wave(x, a) * i for i, x in enumerate(xs))


def enumerated_from(xs, a):
    return sum(map(lambda p: wave(p[1], a) / p[0], enumerate(xs, 2)))


def zipped(xs, ys, a):
    return sum(wave(x, a) * y for x, y in zip(xs, ys))


def zipped_enumerated(xs, ys, a):
    return sum(wave(x, a) * y * i for i, (x, y) in enumerate(zip(xs, ys)))


def several(xs, ys, a):
    return sum(map(lambda x, y: wave(x, a) * y, xs, ys))


def ranged(xs, a):
    return sum(map(lambda i: wave(xs[i], a) * i, range(len(xs))))


def ranged_step(xs, a):
    return sum(wave(xs[i], a) for i in range(1, len(xs), 3))


def ranged_down(xs, a):
    return sum(wave(xs[i], a) * i for i in range(len(xs) - 1, -1, -1))


def reverse_order(xs, a):
    ys = [wave(x, a) for x in reversed(xs)]
    return ys[0] + 2.0 * ys[1]


def sliced(xs, a):
    return sum(wave(x, a) for x in xs[2:-3])


def sliced_step(xs, a):
    return sum(wave(x, a) for x in xs[::2])


def sliced_back(xs, a):
    ys = [wave(x, a) for x in xs[::-1]]
    return ys[0] - ys[2]


def neighbours(xs, a):
    return sum(wave(u - v, a) for u, v in zip(xs[1:], xs[:-1]))


# -- items ------------------------------------------------------------------------------------------------------------
def rows_of_matrix(m, v):
    return sum(map(lambda r: math.sin(np.sum(r * v)), m))


def rows_dot(m, v):
    return sum(np.dot(r, v) ** 2 for r in m)


def rows_loop(m, v):
    def item(r):
        s = 0.0
        for j in range(len(r)):
            s += r[j] * math.exp(v[j])
        return math.tanh(s)
    return sum(map(item, m))


def columns_of_matrix(m, a):
    return sum(math.sin(a * np.sum(c)) for c in m.T)


def list_of_arrays(p, q, r):
    return sum(math.sin(np.sum(u * u)) for u in [p, q, r])


def tuple_items(xs, a):
    pairs = list(map(lambda x: (wave(x, a), x * a), xs))
    return sum(p * q for p, q in pairs)


def tuple_items_unzipped(xs, a):
    us, vs = zip(*map(lambda x: (wave(x, a), x * a), xs))
    return sum(us) * vs[2]


def tuple_items_in_for(xs, a):
    total = 0.0
    for u, v in map(lambda x: (wave(x, a), x * a), xs):
        total += u * v
    return total


def array_items_summed(xs, w):
    return np.sum(sum(map(lambda x: x * w, xs)) ** 2)


def array_items(xs, w):
    rows = np.array([np.sin(x * w) for x in xs])
    return np.sum(rows[:, 0] * rows[:, 2])


def array_items_local(xs, w):
    def item(x):
        out = np.zeros(3)
        for j in range(3):
            out[j] = math.cos(x * w[j])
        return out
    return np.sum(np.array(list(map(item, xs))) ** 2)


def vectorized(xs, a):
    return np.sum(np.vectorize(lambda e: wave(e, a))(xs) ** 2)


def vectorized_two(xs, a):
    return np.sum(np.vectorize(wave)(xs, a))


def nested_maps(xs, w):
    return sum(map(lambda x: sum(map(lambda b: wave(x, b), w)), xs))


def nested_lists(xs, w):
    return sum(map(lambda x: max([wave(x, b) for b in w]), xs))


# -- prange -----------------------------------------------------------------------------------------------------------
def prange_sum(xs, a):
    s = 0.0
    for i in prange(len(xs)):
        s += wave(xs[i], a)
    return s


def prange_two_sums(xs, a):
    s, t = 0.0, 1.0
    for i in prange(len(xs)):
        s += wave(xs[i], a)
        t -= xs[i] * a
    return s * t


def prange_stores(xs, a):
    out = np.zeros(len(xs))
    for i in prange(len(xs)):
        out[i] = wave(xs[i], a)
    return np.sum(out * out)


def prange_rows(m, v):
    out = np.empty((len(m), 4))
    for i in prange(len(m)):
        for j in range(4):
            out[i, j] = math.sin(m[i, j] * v[j])
    return np.sum(out * out)


def prange_product(xs, a):
    s = 1.0
    for i in prange(len(xs)):
        s *= 1.0 + 0.1 * wave(xs[i], a)
    return s


def prange_max(xs, a):
    s = -10.0
    for i in prange(len(xs)):
        s = max(s, wave(xs[i], a))
    return s


def prange_branches(xs, a):
    s = 0.0
    for i in prange(len(xs)):
        if xs[i] > 1.0:
            s += wave(xs[i], a)
        else:
            s -= a * xs[i]
    return s


# -- transad.map ------------------------------------------------------------------------------------------------------
def explicit(xs, a):
    return np.sum(transad.map(lambda e: wave(e, a), xs) ** 2)


def explicit_two(xs, ys, a):
    return np.sum(transad.map(lambda x, y: wave(x, a) * y, xs, ys) ** 2)


def explicit_tuples(xs, a):
    u, v = transad.map(lambda x: (wave(x, a), x * a), xs)
    return np.sum(u * v)


def explicit_rows(m, v):
    return np.sum(transad.map(lambda r: np.sum(r * v) ** 2, m))


def explicit_gradients(xs, a):
    return np.sum(transad.map(transad.grad(lambda e: wave(e, 1.3)), xs)) * a


# -- what an item refers to -------------------------------------------------------------------------------------------
@dataclass
class Model:
    amplitude: float
    rates: np.ndarray


def captured_whole(xs, w):
    return sum(map(lambda x: np.sum(w * w) * math.sin(x), xs))


def captured_by_index(xs, ys, a):
    return sum(map(lambda i: xs[i] * wave(ys[i], a), range(len(xs))))


def captured_gathered(xs, w):
    return sum(map(lambda i: w[(i * i) % 3] * xs[i] ** 2, range(len(xs))))


def captured_matrix_gathered(xs, m):
    return sum(map(lambda i: m[i % 5, (3 * i) % 4] * xs[i], range(len(xs))))


def captured_tuple(xs, a, b):
    pair = (a * b, a - b)
    return sum(map(lambda x: math.sin(pair[0] * x) + pair[1], xs))


def captured_dataclass(xs, a, w):
    model = Model(a, w)
    return sum(map(lambda x: model.amplitude * math.exp(-model.rates[1] * x) + model.rates[0], xs))


def captured_closure(xs, a, b):
    def scaled(x):
        return a * math.sin(b * x)

    def item(x):
        return scaled(x) + scaled(2.0 * x)
    return sum(map(item, xs))


def captured_partial(xs, a):
    return sum(map(functools.partial(wave, a=a), xs))


def bound_default(xs, a):
    return sum(map(lambda x, scale=a: scale * math.sin(x), xs))


class Curve:
    def __init__(self, a):
        self.a = a

    def at(self, x):
        return math.sin(self.a * x)


def bound_method(xs, a):
    return sum(map(Curve(a).at, xs))


def data_dependent_exit(xs, a):
    def item(x):
        y, k = x, 0
        while y < 50.0 and k < 40:
            y = y * a + 1.0
            k += 1
        return y
    return sum(map(item, xs))


# -- chains of maps ---------------------------------------------------------------------------------------------------
def map_of_map(xs, a):
    return sum(map(lambda y: y * y, map(lambda x: wave(x, a), xs)))


def two_maps(xs, a):
    ys = [wave(x, a) for x in xs]
    mean = sum(ys) / len(ys)
    return sum((y - mean) ** 2 for y in ys)


def filtered(xs, a):
    return sum(map(lambda x: wave(x, a), filter(lambda x: x > 0.7, xs)))


# -- state, chance, printing ------------------------------------------------------------------------------------------
def stateful(xs, a):
    state = [0.0]

    def step(x):
        state[0] = 0.5 * state[0] + a * x
        return state[0]
    return list(map(step, xs))[-1]


def stateful_nonlocal(xs, a):
    level = 1.0

    def step(x):
        nonlocal level
        level = 0.5 * level + a * x
        return level
    return sum(map(step, xs))


def appending(xs, a):
    seen = []

    def step(x):
        seen.append(a * x)
        return len(seen) * a * x
    return sum(map(step, xs)) + seen[0]


def lazy(xs, a):
    ys = map(lambda x: wave(x, a), xs)
    first = next(ys)
    return first * 3.0 + sum(ys)


def used_twice(xs, a):
    ys = map(lambda x: wave(x, a), xs)
    return sum(ys) + 2.0 * sum(ys)


def writes_into_captured(xs, a):
    seen = np.zeros(len(xs))

    def step(i):
        seen[i] = a * xs[i]
        return seen[i] * xs[i]
    return sum(map(step, range(len(xs)))) + np.sum(seen * seen)


FORMS = [
    *[(f, (X, 1.3)) for f in (
        under_sum, under_sum_from, under_list, under_tuple, under_min, under_max, under_array, under_fromiter,
        under_fromiter_count, under_stack, under_stack_comprehension, under_for, under_for_product, under_mean,
        under_any, under_all, under_sum_of_list, under_np_sum, under_fsum, if_on_item, list_with_if,
        array_of_list_with_if, max_of_generator, min_of_filtered, conditional_items, enumerated, enumerated_from,
        ranged, ranged_step, ranged_down, reverse_order, sliced, sliced_step, sliced_back, neighbours, tuple_items,
        tuple_items_unzipped, tuple_items_in_for, vectorized, vectorized_two, prange_sum, prange_two_sums,
        prange_stores, prange_product, prange_max, prange_branches, explicit, explicit_tuples, explicit_gradients,
        captured_partial, bound_default, bound_method, data_dependent_exit, map_of_map, two_maps, filtered,
        returns_from_its_loop, after_a_guard, in_both_arms, reassigned_between, triangle, named_in_a_test,
        list_of_filter, filter_of_map, none_pass, counted_tests, marking_items, all_of_filtered, any_stops, best_by_key,
        best_pair, best_or_default, starmapped, reduced, list_items, list_items_unpacked, columns_as_arrays,
        folded_in_order, raising_fold, filling_fold, histogram, histogram_that_items_see, running_moments,
        product_of_items, stateful, stateful_nonlocal, appending, lazy, used_twice, writes_into_captured)],
    *[(f, (X, W)) for f in (two_fors, two_fors_two_ifs, nested_comprehension, array_items_summed, array_items,
                            array_items_local, nested_maps, nested_lists, captured_whole, captured_gathered)],
    *[(f, (X, Y, 1.3)) for f in (zipped, zipped_enumerated, several, explicit_two, captured_by_index)],
    *[(f, (M, V)) for f in (rows_of_matrix, rows_dot, rows_loop, prange_rows, explicit_rows, rows_accumulated,
                            rows_summed, rows_summed_from)],
    (three_levels, (X, W, 1.3)),
    (columns_of_matrix, (M, 0.7)),
    (list_of_arrays, (X[:4].copy(), Y[:5].copy(), V)),
    (captured_matrix_gathered, (X, M)),
    (captured_tuple, (X, 1.3, 0.4)),
    (captured_dataclass, (X, 1.3, W)),
    (captured_closure, (X, 1.3, 0.4)),
]
