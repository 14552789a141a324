"""vmap in one call gives what the items one by one give: values, dtypes, memory, exceptions, derivatives."""
import math

import numpy as np
import pytest

import transad
from transad.passes.specialise.values import NotTyped
from transad.samples.one_call import one_call
from transad.samples.vmap import stacked_items
from transad.tree import leaves_of

r = np.random.default_rng(2)
X, W, M = r.standard_normal((6, 4)), r.standard_normal((3, 4)), r.standard_normal((6, 4, 4))
OUTSIDE = r.standard_normal(4)


def dense(w, x): return np.tanh(w @ x) + 1.0


def of_matrices(a, b): return a @ b @ a.T, np.sum(a) * b, a[0] @ b[:, 1]


def loops(x):
    out, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i]
        out[i] = s * math.cos(s)
        if i > 2:
            out[i] -= out[i - 1]
    return out, s


def in_place(x):
    y = x.copy()
    y *= x
    y[1:] -= y[:-1].copy()
    y[0] = 3.0
    return y / np.max(y)


def shared_result(w, x): return w, x, 2, w[0]


def views(x):
    y = x.reshape(2, 2)
    z = y.T
    z = z + y[0]
    return z[:, ::-1], y[1], y[0, 1]


def outside(x): return x * OUTSIDE + OUTSIDE[1]


def counted(x): return len(x) * x.size + x.shape[0] * 1.0


def softmax(x):
    z = np.exp(x - np.max(x, axis=0))
    return np.where(x > 0, z / np.sum(z), -z)


def axes(m): return m.sum(axis=0), np.mean(m, axis=1), m.max(axis=1, keepdims=True)


def two_names(x):
    a = np.zeros(3)
    b = a
    b[1] = x[0]
    return a


def whole(k, x): return k * 2 + 1, x * k


CASES = [(dense, (W, X), (None, 0)), (of_matrices, (M, M[::-1].copy()), (0, 0)), (of_matrices, (M, M[0]), (0, None)),
         (of_matrices, (M[0], M), (None, 0)), (of_matrices, (M[:4], M[:4]), (1, 2)), (loops, (X,), (0,)), (in_place, (X,), (0,)),
         (shared_result, (W, X), (None, 0)), (views, (X,), (0,)), (outside, (X,), (0,)), (counted, (X,), (0,)),
         (softmax, (X,), (0,)), (axes, (M,), (0,)), (two_names, (X,), (0,)), (whole, (np.arange(6), X), (0, 0))]


@pytest.mark.parametrize("f, args, where", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_values(f, args, where):
    assert one_call(f, args, where)[0].text
    found = transad.vmap(f, where)(*args)
    expected = stacked_items(f, args, where)
    assert type(found) is type(expected)
    for a, b in zip(leaves_of(found), leaves_of(expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
        assert not any(np.may_share_memory(a, v) for v in args)


def test_some_items_at_a_time(monkeypatch):
    expected = transad.vmap(of_matrices)(M, M[::-1].copy())
    monkeypatch.setattr("transad.samples.one_call._MOST", 40)
    for a, b in zip(transad.vmap(of_matrices)(M, M[::-1].copy()), expected):
        np.testing.assert_array_equal(a, b)


def loss(w, x): return np.sum(np.tanh(w @ x) ** 2) + np.log1p(np.abs(x[0]))


def rough(x): return np.sum(np.sqrt(x * 0.0)) + x[0] ** 3


@pytest.mark.parametrize("verb", [transad.grad, transad.value_and_grad])
def test_gradients(verb):
    for f, args, where in ((verb(loss), (W, X), (None, 0)), (verb(loss, (0, 1)), (W, X), (None, 0)), (verb(rough), (X,), (0,))):
        assert "_items" in one_call(f, args, where)[0].text
        for a, b in zip(leaves_of(transad.vmap(f, where)(*args)), leaves_of(stacked_items(f, args, where)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_derivatives_of_the_call():
    def total(w):
        y, s = transad.vmap(loops)(X * w[0])
        return np.sum(transad.vmap(dense, (None, 0))(w, X) ** 2) + np.sum(y * y) + np.sum(transad.vmap(softmax)(X * w[1])) + s[2]

    def one_by_one(w):
        y = [loops(x * w[0]) for x in X]
        return sum(np.sum(dense(w, x) ** 2) + np.sum(softmax(x * w[1])) for x in X) + sum(np.sum(a * a) for a, _ in y) + y[2][1]
    np.testing.assert_allclose(transad.grad(total)(W), transad.grad(one_by_one)(W), rtol=1e-11, atol=1e-12)
    y, dy = transad.jvp(total, (W,), (np.ones_like(W),))
    assert y == pytest.approx(one_by_one(W)) and dy == pytest.approx(np.sum(transad.grad(one_by_one)(W)))


def square_root(x): return math.sqrt(x[0])


def branches(x): return x[0] * 2.0 if x[0] > 0 else x[1]


def chosen(i, x): return x[i]


def prints(x):
    print("item")
    return x[0]


def writes(x):
    x[0] = 1.0
    return x[1]


def test_exceptions_are_those_of_an_item():
    with pytest.raises(ValueError, match="math domain error"):
        transad.vmap(square_root)(np.array([[1.0], [-1.0], [4.0]]))
    np.testing.assert_allclose(transad.vmap(square_root)(np.array([[1.0], [4.0]])), [1, 2])


def test_items_that_have_to_be_taken_one_by_one(capsys):
    for f in (branches, prints, writes):
        with pytest.raises(NotTyped):
            one_call(f, (X,), (0,))
    np.testing.assert_array_equal(transad.vmap(branches)(X), [branches(x) for x in X])
    transad.vmap(prints)(X[:2])
    assert capsys.readouterr().out == "item\nitem\n"
    i = np.array([0, 3, -1, 1, 2, 0])
    np.testing.assert_array_equal(transad.vmap(chosen)(i, X), X[np.arange(6), i])
    with pytest.raises(IndexError):
        transad.vmap(chosen)(i + 2, X)


def test_functions_made_anew_share_their_text():
    def scaled(c):
        return lambda x: np.tanh(x) * c
    first, again = (one_call(scaled(c), (X,), (0,))[0] for c in (2.0, 3.0))
    assert first is again
    np.testing.assert_array_equal(transad.vmap(scaled(3.0))(X), np.tanh(X) * 3.0)
    np.testing.assert_array_equal(transad.vmap(scaled(np.arange(4.0)))(X), np.tanh(X) * np.arange(4.0))


def test_a_function_that_is_defined_again():
    global OUTSIDE
    before = OUTSIDE
    transad.vmap(outside)(X)
    OUTSIDE = np.ones(4)
    try:
        np.testing.assert_array_equal(transad.vmap(outside)(X), X + 1)
    finally:
        OUTSIDE = before
