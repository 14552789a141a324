"""Values that were silently wrong once: what a call does besides its plain form, on every path and in both modes."""
import numpy as np
import pytest

import transad
from transad import grad, jvp, pullback

X, Y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])


@pytest.mark.parametrize("options", [{}, {"jit": True}], ids=["python", "jit"])
def test_arange_moves_with_its_start_and_step(options):
    def f(x, y, h):
        return np.arange(2 * x, y, h + 0.1)
    out, back = transad.differentiable(f, **options).pullback(0.3, 2.2, 0.2)
    assert np.array_equal(out, np.arange(0.6, 2.2, 0.2 + 0.1))
    assert back(np.arange(1.0, 7.0)) == pytest.approx((42.0, 0.0, 70.0))


def test_arange_forward():
    assert jvp(lambda x: np.arange(x, 2.0, 0.5), (0.3,), (1.0,))[1].tolist() == [1.0] * 4
    assert jvp(lambda x: np.arange(0.0, x, 0.5), (2.2,), (1.0,))[1].tolist() == [0.0] * 5


@pytest.mark.parametrize("options", [{}, {"jit": True}], ids=["python", "jit"])
def test_out_of_a_fresh_array(options):
    def f(x, y):
        return np.multiply(x, y, out=np.empty(3))
    g = transad.differentiable(f, **options)
    out, back = g.pullback(X, Y)
    assert out.tolist() == (X * Y).tolist()
    assert [c.tolist() for c in back(np.ones(3))] == [Y.tolist(), X.tolist()]
    assert jvp(f, (X, Y), (X, X))[1].tolist() == (X * Y + X * X).tolist()


@pytest.mark.parametrize("function, expected", [(np.fmax, 2.0), (np.fmin, 1.0), (np.maximum, 2.0), (np.minimum, 1.0)])
def test_extrema_of_float32_and_a_number(function, expected):
    x = np.array([1.0, -0.3, 0.5], np.float32)
    g, number = grad(lambda a, b: np.sum(function(a, b)), (0, 1))(x, 0.6)
    assert g.dtype == np.float32 and number == expected and np.sum(g) == 3.0 - expected


def test_sinc_of_complex_numbers():
    z = 1.3 - 0.8j
    t = np.pi * z
    expected = np.pi * (np.cos(t) / t - np.sin(t) / t ** 2)
    assert pullback(np.sinc, z)[1](1.0 + 0.0j)[0] == pytest.approx(expected, rel=1e-13)


def test_quantile_in_q_at_the_ends():
    x = np.array([3.0, 1.0, 2.0, 5.0])
    assert grad(lambda q: np.quantile(x, q, method="weibull"))(0.05) == 0.0
    assert grad(lambda q: np.quantile(x, q))(0.0) == pytest.approx(3.0)
    assert grad(lambda q: np.quantile(x, q, method="lower"))(0.4) == 0.0


def test_vectors_that_the_complete_forms_add():
    def space(x):
        u, _, _ = np.linalg.svd(x)
        q, _ = np.linalg.qr(x, "complete")
        n, m = u[:, 2:], q[:, 2:]
        return n @ n.T + m @ m.T
    x = np.array([[1.0, 0.3], [-2.0, 0.7], [0.5, 1.1], [0.2, -0.4]])
    transad.check_grads(space, (x,), rtol=1e-6, atol=1e-7, modes=("rev",), order=1)
    with pytest.raises(transad.Unsupported, match="one basis of many"):
        grad(lambda x: np.sum(np.linalg.svd(x)[0]))(x)


@pytest.mark.parametrize("path", ["auto", "recorded"])
@pytest.mark.parametrize("function", [
    lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)),
    lambda x: np.sum((x * np.log(x))[x > 0]),
    lambda x: np.sum(np.select([x > 0], [x * np.log(x)], 0.0)),
    lambda x: np.sum(np.where(x > 0, x * (3.0 * np.log(x)) / 3.0, 0.0)),
], ids=["where", "mask", "select", "scaled"])
def test_products_with_what_a_mask_leaves_out(function, path, monkeypatch):
    monkeypatch.setenv("TRANSAD_PATH", path)
    x = np.array([0.0, 2.0, 0.5])
    expected = [0.0, 1 + np.log(2.0), 1 + np.log(0.5)]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(grad(function)(x), expected, rtol=1e-14)
        assert jvp(function, (x,), (np.ones(3),))[1] == pytest.approx(sum(expected))


def test_products_with_what_a_mask_leaves_out_compiled():
    def f(x):
        return np.sum(np.where(x > 0, x * np.log(x), 0.0))
    assert grad(f, jit=True)(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_angles_at_the_origin():
    assert grad(np.arctan2, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert grad(lambda y: np.sum(np.arctan2(y, 0.0)))(np.zeros(2)).tolist() == [0.0, 0.0]


def test_arrays_of_objects_are_refused_in_both_modes():
    x = np.array([1.0, 2.0], dtype=object)
    for derivative in (lambda: grad(lambda v: np.sum(v * v))(x), lambda: jvp(lambda v: np.sum(v * v), (x,), (x,))):
        with pytest.raises(transad.InvalidArgument, match="object"):
            derivative()
