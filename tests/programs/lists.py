"""Lists: append, extend, pop, item stores, slices, lists of arrays, lists as arguments."""
import numpy as np

from tests.programs import program


@program(2.0, value=2 + 4 + 8.0, gradient=[1 + 4 + 12.0], typed=False)
def append_in_a_loop(x):
    out, y = [], 1.0
    for _ in range(3):
        y *= x
        out.append(y)
    return sum(out)


@program(2.0, 3.0, value=3.0 * 4, gradient=[3.0 * 4.0, 4.0], typed=False)
def item_store_pop_extend(x, y):
    items = [x, y]
    items.extend([x * x, 1.0])
    items.pop()
    items[0] = items.pop()
    return items[0] * items[-1]


@program([1.0, 2.0, 3.0], value=1 + 4 + 9.0, gradient=[2.0, 4.0, 6.0], typed=False)
def as_an_argument(values):
    return sum(v * v for v in values)


@program(np.array([1.0, 2.0]), value=1 * 3 + 2 * 6.0, gradient=[[6.0, 12.0]], typed=False)
def arrays_in_a_list(x):
    kept = [x, x * 2.0]
    kept.append(kept[0] + kept[1])
    return np.dot(kept[0], kept[-1])


@program(2.0, 3.0, value=[9.0, 6.0], typed=False)
def as_a_result(x, y):
    out = [x * y]
    out.insert(0, y * y)
    return out


@program(2.0, 3.0, value=-1.0 * 2, gradient=[2 * 2.0 - 3.0, -2.0], typed=False)
def reversed_and_sliced(x, y):
    items = [x, y, x * y]
    items.reverse()
    a, b = items[1:]
    return (b - a) * x


@program(3.0, 2.0, value=4.0 * 1 + 3.0, gradient=[1.0, 4.0], typed=False)
def sorted_by_value(x, y):
    low, high = sorted([x, y])
    return low * low + high
