"""How functions with rules are called: `out` by position, subclasses, np.vectorize, cotangents that are shared."""
import gc
import tracemalloc

import numpy as np
import pytest
import scipy.special as sp

import transad
from transad import check_grads, grad
from transad.errors import TransadError

M = np.arange(12.0).reshape(3, 4) + 0.3


def into(function, shape):
    """`function(v, out)` into new memory, squared."""
    def f(v):
        out = np.empty(shape)
        function(v, out)
        return np.sum(out * out)
    return f


@pytest.mark.parametrize("function, shape", [
    (lambda v, out: np.dot(v, v.T, out), (3, 3)), (lambda v, out: np.outer(v, v, out), (12, 12)),
    (lambda v, out: np.round(2 * v, 1, out), (3, 4)), (lambda v, out: np.clip(v, 1, 5, out), (3, 4)),
    (lambda v, out: np.take(v, [0, 1], 0, out), (2, 4)), (lambda v, out: np.concatenate([v, v], 0, out), (6, 4)),
    (lambda v, out: v.sum(0, None, out), 4), (lambda v, out: v.mean(1, None, out), 3),
    (lambda v, out: v.var(1, None, out, 1), 3), (lambda v, out: v.max(0, out), 4),
    (lambda v, out: v.cumsum(0, None, out), (3, 4)), (lambda v, out: np.prod(v, 0, None, out, False, 2.0), 4)])
def test_out_by_position(function, shape):
    check_grads(into(function, shape), (M,), order=1)


class Odd(np.ndarray):
    pass


@pytest.mark.parametrize("f, x", [
    (lambda v: np.sum(v), M.view(Odd)), (lambda v: np.sum(v * 2.0), np.ma.masked_array(M, M > 2)),
    (lambda v: np.sum(np.ma.masked_array(v, [True, False])), M[0, :2]), (lambda v: np.sum(v * M.view(Odd)), M),
    (lambda v: np.sum(v.view(Odd) * 2.0), M)])
def test_arrays_of_other_classes_are_refused(f, x):
    with pytest.raises(TransadError):
        grad(f)(x)


@pytest.mark.parametrize("f", [sp.gammaln, sp.digamma, lambda v: sp.erfinv(1 - v / 4), lambda v: sp.kv(1, v),
                               lambda v: sp.ndtri(v / 8), sp.y0, sp.expi])
def test_a_zero_cotangent_wins_at_poles(f):
    g = grad(lambda v: np.sum(np.where(v > 0, f(v), 0.0)))(np.array([0.0, 3.9]))
    assert g[0] == 0.0 and np.isfinite(g[1]) and g[1] != 0.0


def test_vectorize():
    rows = np.vectorize(lambda row, s: s * row @ row, signature="(n),()->()")
    check_grads(lambda a, b: rows(a, b), (M, 2.0))
    shifted = np.vectorize(lambda row: row - row[0], signature="(n)->(n)")
    check_grads(lambda a: shifted(a) ** 2, (M,))
    apart = np.vectorize(lambda x, p: x * p[0] + p[1], excluded=[1, "p"])
    check_grads(lambda a, p: apart(a, p), (M, M[0]))
    check_grads(lambda a, p: apart(a, p=p), (M, M[0]))


def test_an_array_given_twice_to_einsum():
    check_grads(lambda a: np.einsum("ij,ij->i", a, a), (M / 10,))
    check_grads(lambda a: np.einsum("ij,jk,ij->ik", a, a.T, a), (M / 10,))
    check_grads(lambda a: np.einsum("ij,kj->ik", a, a), (M / 10,))
    big = np.random.default_rng(0).standard_normal((2, 20, 20))
    check_grads(lambda a, b: np.einsum("kij,nkj->nki", a, b), (big, big[:, :, :2].transpose(2, 0, 1)), order=1)


def test_a_cotangent_read_twice_is_not_changed():
    """Both operands of a sum share one cotangent; adding to one does not change the other, nor what the user gave."""
    def f(a, b):
        c = a + b
        return c + a * 2.0, b * c
    a, b, ct = M, M + 1, (np.ones((3, 4)), np.full((3, 4), 0.5))
    _, back = transad.pullback(f, a, b)
    first = back(ct)
    second = back(ct)
    for g, h in zip(first, second, strict=True):
        assert np.array_equal(g, h) and not np.shares_memory(g, h)
    assert np.allclose(first[0], 3.0 + 0.5 * b) and np.allclose(first[1], 1.0 + 0.5 * (a + 2 * b))
    assert not np.shares_memory(first[0], first[1])
    assert np.array_equal(ct[0], np.ones((3, 4))) and np.array_equal(ct[1], np.full((3, 4), 0.5))


def test_rules_of_users_may_write_into_their_cotangent():
    class Twice:
        def __call__(self, x):
            return x + x
    twice = Twice()

    @transad.adjoint(twice, "x", at=[(M,)])
    def _(g, out, x):
        g *= 2.0
        return g
    assert np.allclose(grad(lambda v: np.sum(twice(v) + v * v))(M), 2.0 + 2 * M)
    assert np.allclose(grad(lambda v: np.sum((twice(v) + v) * 1.0))(M), 3.0)


def test_memory_is_let_go_without_the_garbage_collector():
    def f(v):
        table = {"a": np.exp(v)}
        return np.sum(np.sin(table["a"]))
    x = np.linspace(0.0, 1.0, 100_000)
    grad(f, path="recorded")(x)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        grad(f, path="recorded")(x)
        assert tracemalloc.get_traced_memory()[0] < x.nbytes
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 0, -1, 0.5, 2.5])
def test_constant_exponents(exponent):
    x = np.array([0.7, 1.3, 2.0])
    check_grads(lambda v: {"y": v}["y"] ** exponent, (x,))
    assert grad(lambda v: np.sum({"y": v}["y"] ** exponent))(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("order", [1, 2])
def test_a_cotangent_that_is_a_list_of_an_array(order):
    """Rules of functions of sequences return lists, also where an array was given; rules of users may."""
    import math
    own = transad.custom_rule(lambda v: float(np.sum(v * v)),
                              lambda v: (float(np.sum(v * v)), lambda ct: ([2.0 * ct * t for t in v],)))
    x = np.array([0.7, -1.2, 0.4])
    check_grads(lambda v: math.dist(v[:2], v[1:]) + own(v) * v[0], (x,), order=order)
