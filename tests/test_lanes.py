"""Many cotangents at once give what one sweep after another gives."""
import math

import numpy as np
import pytest

import transad
from transad.api import run_pullback
from transad.runtime import jacobians
from transad.tree import leaves_of

r = np.random.default_rng(0)


def softmax(W, b, x):
    h = np.tanh(W @ x + b)
    z = np.exp(h - np.max(h))
    return z / np.sum(z)


def recurrence(x, w):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        out[i] = out[i - 1] * w + np.sqrt(x[i])
    y = out.copy()
    y[1:] -= x[:-1] ** 2
    return y


def solved(A, b): return np.linalg.solve(A, b) * np.where(b > 0, b, 0.0)


def several(x, w): return np.sin(x) * w, np.sum(x) * w, np.outer(x, x)[:2]


def products(A, B): return A @ B @ A


def strided(x):
    y = x[::2] * x[1::2]
    return y[:, None] * x[None, :3]


def gathered(x, s):
    z = x[np.array([0, 2, 2, 1])]
    return z * z * s


def numbers(x):
    s, out = 0.0, np.empty(4)
    for k in range(4):
        s = s + x[k] ** 2
        if s > 2:
            s = s * 0.5
        out[k] = math.exp(-s) + max(s, 1.0)
    return out


def elementwise(x): return x / np.sum(x ** 2) + np.abs(x) ** 1.5 + np.log1p(x * x) + np.maximum(x, 0.3)


def in_place(x):
    y = x.copy()
    y *= x
    y /= 1 + x[0]
    y -= np.sum(y)
    return y


def infinite_slopes(x): return np.sqrt(x * 0) * x + x


def swapped(x):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(3):
        b[1:] = a[:-1] * x[1:]
        a, b = b, a
    return a + b


def inverse(A): return np.linalg.inv(A) @ A[:, 0]


def constant(x): return np.ones(5)


def made_in_a_loop(x, M):
    a = x @ x
    for i in range(3):
        a = a * 0.5 + x[i % 4] * a
        m = (M @ M) - (M + M)
    return M.T[1] * a + m[0, 0]


def turned(x): return x.T


A3, x4, x5, x6 = r.standard_normal((3, 3)), r.standard_normal(4), r.standard_normal(5), r.standard_normal(6)
CASES = [(softmax, (r.standard_normal((5, 4)), x5, x4)), (recurrence, (x6 ** 2 + 0.5, 0.7)), (solved, (A3, x4[:3])),
         (several, (x4, 0.3)), (products, (r.standard_normal((3, 2)), r.standard_normal((2, 3)))), (strided, (x6,)),
         (gathered, (x4, 2.0)), (numbers, (x4,)), (elementwise, (x5,)), (in_place, (x5,)), (infinite_slopes, (x5,)),
         (swapped, (x5,)), (made_in_a_loop, (x4, r.standard_normal((4, 4)))), (inverse, (A3,)),
         (constant, (x4,)), (turned, (r.standard_normal((2, 3)),))]


@pytest.mark.parametrize("f, args", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_all_rows_at_once(f, args):
    numbers = list(range(len(args)))
    y, back = run_pullback(f, args, {}, numbers)
    assert jacobians._at_once(y, back) is not None
    found = leaves_of(jacobians.from_rows(y, back, numbers))
    del back.at_once
    expected = leaves_of(jacobians.from_rows(y, back, numbers))
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_more_rows_than_one_block(monkeypatch):
    monkeypatch.setattr(jacobians, "_BLOCK", 5)
    x = r.standard_normal(4)
    d_x, d_w = transad.jacrev(lambda x, w: (np.outer(x, x) * w, x * w * w), (0, 1))(x, 0.5)[0]
    np.testing.assert_allclose(d_w, np.outer(x, x), rtol=1e-14)
    np.testing.assert_allclose(d_x, 0.5 * (np.eye(4)[:, None] * x[:, None] + np.eye(4)[None] * x[:, None, None]), rtol=1e-14)


def test_the_public_verb_and_its_derivative():
    J = transad.jacrev(softmax, (0, 1, 2))(*CASES[0][1])
    assert [j.shape for j in J] == [(5, 5, 4), (5, 5), (5, 4)]
    d = transad.grad(lambda x: np.sum(transad.jacrev(elementwise)(x) ** 2))(x5)
    e = 1e-6 * np.eye(5)[1]

    def total(x):
        return np.sum(transad.jacrev(elementwise)(x) ** 2)
    assert d[1] == pytest.approx((total(x5 + e) - total(x5 - e)) / 2e-6, rel=1e-6)


def test_a_branch_that_a_cotangent_decides_is_taken_one_by_one():
    from transad.ir import Block, If, Let
    from transad.names import Names
    from transad.passes.batch import batched
    from transad.passes.specialise.values import NotTyped
    from transad.quote import constant, expr, name
    block: Block = [If(expr("d > 0.0"), [Let("t", constant(1.0))], [Let("t", constant(2.0))])]
    with pytest.raises(NotTyped, match="decided by what varies"):
        batched(block, [name("t")], {"d": 0}, {"d"}, "n", Names())


def normalised(w, X):
    Z = X @ w
    return (Z - np.mean(Z)) ** 2


@pytest.mark.filterwarnings("ignore::transad.TransadPerformanceWarning")
def test_losses_that_depend_on_other_rows():
    X = r.standard_normal((150, 4))
    found = transad.per_sample_grad(normalised, batched=True, chunk=70)(x4, X)
    Z, C = X @ x4, X - X.mean(axis=0)
    np.testing.assert_allclose(found, 2 * (Z - Z.mean())[:, None] * C, rtol=1e-10, atol=1e-12)


ROW_BY_ROW = (solved, inverse, gathered, infinite_slopes, made_in_a_loop)


@pytest.mark.parametrize("f, args", [c for c in CASES if c[0] not in ROW_BY_ROW], ids=lambda v: getattr(v, "__name__", ""))
def test_all_columns_at_once(f, args):
    from transad.forwards.columns import all_columns
    which = list(range(len(args)))
    found = all_columns(f, args, {}, which, None)
    assert found is not None
    expected = jacobians.from_rows(*run_pullback(f, args, {}, which), which)
    for a, b in zip(leaves_of(found[1]), leaves_of(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    for a, b in zip(leaves_of(found[0]), leaves_of(f(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_columns_in_blocks_and_of_several_arguments(monkeypatch):
    monkeypatch.setattr("transad.forwards.columns._NEAR", 100)
    found = transad.jacfwd(softmax, (0, 1, 2))(*CASES[0][1])
    for a, b in zip(found, transad.jacrev(softmax, (0, 1, 2))(*CASES[0][1])):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
