"""Rows of a matrix as the items of a map, and items that are differentiated forwards."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad
from transad import typed

numba = pytest.importorskip("numba")
RNG = np.random.default_rng(5)
Z = RNG.standard_normal((90, 6))
X = RNG.standard_normal(90)
P = np.array([1.1, 0.3, 0.7])


def mapped(z, s0, vol):
    def path(w):
        s = s0
        total = 0.0
        for k in range(w.size):
            s = s * math.exp(vol * w[k] - 0.5 * vol * vol)
            total += s
        mean = total / w.size - s0
        return mean if mean > 0 else 0.0
    return sum(map(path, z)) / len(z)


def iterated(z, s0, vol):
    def path(w):
        s = s0
        for x in w:
            s = s * math.exp(vol * x) - 0.1 * s * s
        return s
    return sum(path(w) for w in z)


def zipped(z, x, vol):
    def path(w, start):
        s = start
        for k in range(len(w)):
            s = s * math.exp(vol * w[k]) - 0.1 * math.sin(s)
        return s
    return sum(path(w, y) for w, y in zip(z, x, strict=False))


def numbered(z, vol):
    total = 0.0
    for i in numba.prange(len(z)):
        s = 1.0 + 0.01 * i
        for x in z[i]:
            s = s * math.exp(vol * x)
        total += s
    return total


def enumerated(z, vol):
    def path(i, w):
        s = 1.0 + 0.01 * i
        for k in range(w.shape[0]):
            s = s * math.exp(vol * w[k])
        return s
    return sum(path(i, w) for i, w in enumerate(z))


def parameters(p, z):
    """Elements of an array that all items share, one of them under two indices."""
    def path(w):
        s = p[0] + p[-3] * 0.1
        for x in w:
            s *= math.exp(p[1] * 0.1 + p[2] * x)
        return math.sin(s)
    return sum(map(path, z)) * math.cos(p[1])


def own_and_shared(x, a):
    """The first element is the item's own once, and read by all."""
    def path(e):
        v = 0.0
        for _ in range(12):
            v += 0.1 * (-a * math.sin(e) - 0.1 * v + 0.01 * x[0])
            e += 0.1 * v
        return e
    return sum(map(path, x))


def columns(z, a):
    """Two elements of the item's own row, one of them named twice."""
    def path(i):
        s = z[i, 0]
        for _ in range(5):
            s = s * math.cos(a * s) + z[i, 1] * 0.1 + z[i, -5] * 0.2
        return s
    return sum(path(i) for i in range(len(z)))


def parts(x, a):
    """Not all elements are the item's own: the others have no cotangent."""
    def path(i):
        s = x[i]
        for _ in range(5):
            s = s * math.cos(a * s)
        return s
    return sum(path(i) for i in range(3, len(x) - 2))


def entries(z, vol):
    """The rows themselves are differentiated."""
    def path(w):
        s = 1.0
        for x in w:
            s = s * math.exp(vol * x)
        return s
    return sum(map(path, z))


def counted(x, a):
    """A sum without a derivative beside one with: how many items went on to the end."""
    total, n = 0.0, 0
    for i in numba.prange(len(x)):
        s, k = x[i], 0
        while abs(s) > 0.2 and k < 9:
            s = s * math.cos(a + s)
            k += 1
        total += s
        n += k
    return total / n


def shared_element(p, x):
    def path(e):
        for _ in range(4):
            e = e * math.cos(p[1] * e)
        return e
    return sum(map(path, x))


PROGRAMS = [(mapped, (1, 2), (Z, 1.2, 0.3)), (iterated, (1, 2), (Z, 0.9, 0.3)), (zipped, (1, 2), (Z, X, 0.3)),
            (numbered, (1,), (Z, 0.2)), (enumerated, (1,), (Z, 0.2)), (parameters, (0,), (P, Z)),
            (own_and_shared, (0, 1), (X, 1.7)), (columns, (0, 1), (Z, 0.8)), (parts, (0, 1), (X, 0.8)),
            (counted, (0, 1), (X, 0.8))]


def flat(gradients):
    return np.concatenate([np.ravel(g) for g in gradients])


def text_of(function):
    return [e.built.chain.text for key, found in typed._BUILT.items() for e in found if key[0] is function][-1]


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
@pytest.mark.parametrize("function, which, args", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_items_forwards(function, which, args, jit):
    y, expected = transad.value_and_grad(function, which, path="recorded")(*args)
    value, gradients = transad.value_and_grad(function, which, jit=jit)(*args)
    assert "_slopes(" in text_of(function)
    assert value == pytest.approx(y, rel=1e-12)
    np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-10, atol=1e-13)
    value, back = transad.pullback(transad.differentiable(function, jit=jit), *args)
    for scale in (2.0, -1.0):
        found = flat([back(scale)[w] for w in which])
        np.testing.assert_allclose(found, scale * flat(expected), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("function, which, args", [PROGRAMS[0], PROGRAMS[6]], ids=["rows", "numbers"])
def test_items_backwards(function, which, args):
    """`mode="reverse"` keeps tapes, with the same gradient."""
    _, expected = transad.value_and_grad(function, which, jit=True)(*args)
    _, gradients = transad.value_and_grad(function, which, jit=True, mode="reverse")(*args)
    assert "_tape" in text_of(function)
    np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-10)


def test_the_rows_themselves():
    expected = transad.grad(entries, path="recorded")(Z, 0.3)
    np.testing.assert_allclose(transad.grad(entries, jit=True)(Z, 0.3), expected, rtol=1e-12)


def test_no_items_and_one():
    """Elements that all items share are not read where there are no items."""
    first = np.array([1.1, 0.3])
    gradient = transad.grad(shared_element, jit=True)
    np.testing.assert_allclose(gradient(first, X[:1]), transad.grad(shared_element, path="recorded")(first, X[:1]))
    assert gradient(first[:0], X[:0]).shape == (0,)
    np.testing.assert_array_equal(gradient(first, X[:0]), [0.0, 0.0])
    with pytest.raises(IndexError):
        gradient(first[:1], X[:1])


def test_a_row_past_the_end():
    def past(z, vol):
        return sum(math.exp(vol * z[i][2]) * math.sin(vol) for i in range(len(z) + 1))
    with pytest.raises(IndexError):
        transad.grad(past, 1, jit=True)(Z, 0.3)


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_items_with_negative_indices_are_not_their_own(jit):
    """Index -1 and the last one name the same entry: such maps are left to Python."""
    def twice(x, a):
        total = 0.0
        for i in numba.prange(-len(x), len(x)):
            s = x[i]
            for _ in range(4):
                s = s * math.cos(a * s)
            total += s
        return total
    y, expected = transad.value_and_grad(twice, (0, 1), path="recorded")(X, 0.8)
    value, gradients = transad.value_and_grad(twice, (0, 1), jit=jit)(X, 0.8)
    assert value == pytest.approx(y, rel=1e-12)
    np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-10)


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_entries_that_no_item_has(jit):
    """The cotangent of what a loop leaves out is zero, also where the rest is stored without clearing first."""
    def some(x, d, m):
        total = 0.0
        for i in numba.prange(2, len(x) - 1):
            total += math.exp(-x[i]) * d[i] + m[i].sum()
        return total
    longer = np.concatenate([X, X])
    rows = np.ones((100, 3))
    for args in ((X, longer, rows), (X[:3], X, rows), (X[:2], X, rows)):
        _, expected = transad.value_and_grad(some, (0, 1, 2), path="recorded")(*args)
        for _ in range(3):
            junk = [np.full_like(a, np.nan) for a in args]
            del junk                                       # memory that is not zero
            _, gradients = transad.value_and_grad(some, (0, 1, 2), jit=jit)(*args)
            np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-12)
