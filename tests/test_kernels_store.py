"""`store=True`: what a map keeps of its items for the reverse sweep. The same values and gradients as without it, the
same bits at any number of threads, and no item is computed twice."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad
from transad.command.plan import planned

numba = pytest.importorskip("numba")

XS = np.cos(np.arange(600.0)) + 1.2
ROWS = np.sin(np.arange(1200.0)).reshape(200, 6)
W = np.array([0.5, -0.3, 0.8, 0.2, -0.6, 0.4])
PLACES = np.arange(600) * 7 % 6


def loops_of_known_length(a, xs, w):
    def item(x):
        s = x
        for k in range(len(w)):
            s = s * math.tanh(w[k] * s) + a
        return s
    return np.sum(np.array([item(x) for x in xs]) ** 2)


def exits_that_depend_on_values(a, xs):
    def item(x):
        y, steps = x, 0
        while y < 3.0:
            y = y * 1.3 + a * math.sin(y) ** 2
            steps += 1
        return y / (1.0 + steps)
    return np.sum(np.sqrt(np.array([item(x) for x in xs])))


def whole_arrays(w, rows):
    def item(r):
        t = np.tanh(w * r)
        return np.sum(t * t[::-1]), np.max(t)
    pairs = np.array([item(r)[0] * item(r)[1] for r in rows])
    return np.sum(pairs * pairs)


def rows_as_results(m, rows):
    def item(r):
        h = np.tanh(m @ r)
        return h / np.sum(h * h)
    return np.sum(np.array([item(r) for r in rows]) ** 3)


def two_sums_from_one(a, xs):
    s, t = 0.0, 0.0
    for i in numba.prange(1, len(xs)):
        s += math.sin(a * xs[i])
        t += math.exp(a * xs[i - 1])
    return s * t


def from_below_zero(a, xs):
    s, t = 0.0, 0.0
    for i in numba.prange(-2, 4):
        s += math.sin(a * xs[i]) ** 2
        t += math.exp(a * xs[i + 2])
    return s * t


def gathered(w, places, xs):
    return np.sum(np.array([math.tanh(w[i] * x) * w[i] for i, x in zip(places, xs)]) ** 2)


def branches(a, xs):
    def item(x):
        if x > 1.0:
            y, flag = math.exp(a * x), True
        else:
            y, flag = a * x, False
        z = y * y + 1.0
        return math.log(z) if flag else z * y
    return np.sum(np.array([item(x) for x in xs]) ** 2)


def grown_in_a_branch(a, xs):
    def item(x):
        y = x
        if x > 1.0:
            while y < 4.0:
                y = y + a * math.exp(-y)
        return y * y
    return np.sum(np.array([item(x) for x in xs]) ** 1.5)


def explicit(a, xs):
    return np.sum(transad.map(lambda x: math.sin(a * x) * math.exp(-x), xs, store=True) ** 2)


PROGRAMS = {f.__name__: (f, args, wrt) for f, args, wrt in (
    (loops_of_known_length, (0.3, XS, W), (0, 1, 2)),
    (exits_that_depend_on_values, (1.1, XS / 2.5), (0, 1)),
    (whole_arrays, (W, ROWS), (0, 1)),
    (rows_as_results, (np.cos(np.arange(18.0)).reshape(3, 6), ROWS), (0, 1)),
    (two_sums_from_one, (0.3, XS), (0, 1)),
    (from_below_zero, (0.4, XS[:9]), (0, 1)),
    (gathered, (W, PLACES, XS), (0, 2)),
    (branches, (0.7, XS), (0, 1)),
    (grown_in_a_branch, (0.7, XS), (0, 1)),
    (explicit, (0.7, XS), (0, 1)))}


def same(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    for d, known in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(d, known, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_by_python(name):
    f, args, wrt = PROGRAMS[name]
    expected = transad.value_and_grad(f, wrt, path="recorded")(*args)
    same(transad.value_and_grad(f, wrt, store=True)(*args), expected)
    _, back = transad.pullback(transad.differentiable(f, store=True), *args)
    again = [back(2.0), back(2.0)][1]
    same((expected[0], [again[k] for k in wrt]), (expected[0], [2.0 * np.asarray(d) for d in expected[1]]))


@pytest.mark.parametrize("name", ["loops_of_known_length", "exits_that_depend_on_values", "rows_as_results", "explicit"])
def test_compiled(name):
    f, args, wrt = PROGRAMS[name]
    gradient = transad.value_and_grad(f, wrt, jit=True, store=True)
    same(gradient(*args), transad.value_and_grad(f, wrt, path="recorded")(*args))
    args = [np.tile(v, (20,) + (1,) * (v.ndim - 1)) if getattr(v, "shape", ())[:1] == ROWS.shape[:1] or
            getattr(v, "shape", ()) == XS.shape else v for v in args]
    bits, before = set(), numba.get_num_threads()
    for threads in (1, before):
        numba.set_num_threads(threads)
        value, grads = gradient(*args)
        bits.add((value, *(np.asarray(d).tobytes() for d in grads)))
    assert len(bits) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_items_are_not_computed_again(name):
    """The item's forward sweep is called where its results are made, and not by the reverse sweep."""
    f, args, wrt = PROGRAMS[name]
    options = {"jit": True} if name == "explicit" else {"jit": True, "store": True}
    text = planned(f, args, wrt=wrt, options=options).text
    label = next(x for x in text.splitlines() if "_item" in x and "_rev(" in x).split("(")[0].removeprefix("def ")
    item = label.removesuffix("_rev")
    reverse = [part for part in text.split("\n\n\n") if "_rev(" in part.split("(", 1)[0] + "("]
    assert any(f"{item}_fwd(" in part for part in text.split("\n\n\n"))
    assert not any(f"{item}_fwd(" in part or f"{item}(" in part for part in reverse)


def test_picked_values_and_inputs_are_not_kept():
    text = planned(gathered, (W, PLACES, XS), wrt=(0, 2), options={"jit": True, "store": True}).text
    returned = next(x for x in text.splitlines() if x.startswith("def gathered_item") and "_fwd(" in x)
    assert returned.count("_kept") == 1            # the tanh


def test_one_sum_has_nothing_to_keep():
    """Value and gradient take one sweep: the text is the same."""
    def f(a, xs):
        return sum(math.exp(-a * x) for x in xs)
    assert planned(f, (0.5, XS), options={"jit": True, "store": True}).text == planned(
        f, (0.5, XS), options={"jit": True}).text


def test_no_items():
    for name in ("exits_that_depend_on_values", "loops_of_known_length", "rows_as_results"):
        f, args, wrt = PROGRAMS[name]
        args = [v[:0] if np.ndim(v) and len(v) in (200, 600) else v for v in args]
        value, grads = transad.value_and_grad(f, wrt, store=True)(*args)
        assert value == 0.0
        assert all(not np.any(d) and np.shape(d) == np.shape(args[k]) for k, d in zip(wrt, grads, strict=True))


def positive(x):
    if x < 0.0:
        raise ValueError(f"{x} is below zero")
    return math.log(x) * math.sqrt(x)


def test_a_failing_item_raises_its_own_exception():
    def f(xs):
        return np.sum(np.array([positive(x) for x in xs]) ** 2)
    for jit in (False, True):
        gradient = transad.grad(f, store=True, jit=jit)
        np.testing.assert_allclose(gradient(np.array([2.0, 3.0])), transad.grad(f, path="recorded")(np.array([2.0, 3.0])))
        with pytest.raises(ValueError, match="-2.0 is below zero"):
            gradient(np.array([1.0, -2.0, 3.0]))
