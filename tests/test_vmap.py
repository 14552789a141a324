"""vmap, Gauss-Newton products and Fisher matrices against what they stand for."""
import numpy as np
import pytest

import transad

rng = np.random.default_rng(5)
X, W = rng.standard_normal((6, 4)), rng.standard_normal((3, 4))


def affine(w, x):
    return w @ x + 1.0


def both(p, x):
    return {"sum": np.sum(p["w"] * x), "outer": (x[:2], p["w"] @ x)}


def test_axes_of_arguments():
    np.testing.assert_allclose(transad.vmap(affine, (None, 0))(W, X), X @ W.T + 1, rtol=1e-14)
    np.testing.assert_allclose(transad.vmap(affine, (None, 1))(W, X.T), X @ W.T + 1, rtol=1e-14)
    np.testing.assert_allclose(transad.vmap(affine, (None, -2))(W, X), X @ W.T + 1, rtol=1e-14)
    np.testing.assert_allclose(transad.vmap(affine, (None, 0), out_axes=1)(W, X), (X @ W.T + 1).T, rtol=1e-14)
    np.testing.assert_allclose(transad.vmap(np.dot)(X, X), np.sum(X * X, axis=1), rtol=1e-14)
    np.testing.assert_allclose(transad.vmap(transad.vmap(lambda x: x * x))(X), X * X)


def test_structures():
    p = {"w": rng.standard_normal((6, 4))}
    found = transad.vmap(both, ({"w": 0}, 0), out_axes={"sum": 0, "outer": (1, 0)})(p, X)
    np.testing.assert_allclose(found["sum"], np.sum(p["w"] * X, axis=1), rtol=1e-14)
    np.testing.assert_array_equal(found["outer"][0], X[:, :2].T)
    np.testing.assert_allclose(found["outer"][1], np.sum(p["w"] * X, axis=1), rtol=1e-14)
    shared = transad.vmap(both, (None, 0))({"w": X[0]}, X)
    np.testing.assert_allclose(shared["sum"], X @ X[0], rtol=1e-14)


def test_control_flow_of_the_item():
    found = transad.vmap(lambda x: x if x > 0 else -2.0 * x)(X[:, 0])
    np.testing.assert_allclose(found, np.where(X[:, 0] > 0, X[:, 0], -2 * X[:, 0]))


def test_large_maps_give_the_same():
    big = rng.standard_normal(10_001)
    np.testing.assert_allclose(transad.vmap(cube)(big), big ** 3, rtol=1e-13)


def cube(x):
    return x * x * x


def test_derivatives():
    grads = transad.vmap(transad.grad(cube))(X[:, 1])
    np.testing.assert_allclose(grads, 3 * X[:, 1] ** 2, rtol=1e-14)

    def total(w):
        return np.sum(transad.vmap(affine, (None, 0))(w, X) ** 2)
    expected = 2 * (X @ W.T + 1).T @ X
    np.testing.assert_allclose(transad.grad(total)(W), expected, rtol=1e-12)
    y, dy = transad.jvp(total, (W,), (np.ones_like(W),))
    assert y == pytest.approx(np.sum((X @ W.T + 1) ** 2)) and dy == pytest.approx(np.sum(expected))
    rows = transad.jacobian(lambda x: transad.vmap(cube)(x))(X[0])
    np.testing.assert_allclose(rows, np.diag(3 * X[0] ** 2), rtol=1e-14)


def test_errors():
    with pytest.raises(transad.InvalidArgument, match="different numbers of items"):
        transad.vmap(affine)(W, X)
    with pytest.raises(transad.InvalidArgument, match="no argument has an axis"):
        transad.vmap(affine, None)(W, X[0])
    with pytest.raises(transad.InvalidArgument, match="axis 2 of an argument of shape"):
        transad.vmap(cube, 2)(X)
    with pytest.raises(transad.InvalidArgument, match="2 arguments"):
        transad.vmap(affine, (0,))(W, X)


def predict(w):
    return np.tanh(w @ X[0]) * np.sum(w)


def quartic(z):
    return np.sum(z ** 4) + z[0] * z[1]


def test_gauss_newton_product():
    v = rng.standard_normal(W.shape)
    J = transad.jacobian(predict)(W).reshape(3, -1)
    z = predict(W)
    H = np.diag(12 * z ** 2)
    H[0, 1] = H[1, 0] = 1.0
    expected = (J.T @ H @ J @ v.ravel()).reshape(W.shape)
    np.testing.assert_allclose(transad.ggn_vp(predict, quartic, W, v), expected, rtol=1e-10)


def test_gauss_newton_of_structures():
    p, v = {"a": 0.3, "b": X[1]}, {"a": 1.0, "b": X[2]}
    found = transad.ggn_vp(lambda p: p["a"] * np.sin(p["b"]), lambda z: np.sum(np.exp(z)), p, v)
    s, c = np.sin(X[1]), np.cos(X[1])
    J = np.column_stack([s, np.diag(0.3 * c)])
    expected = J.T @ (np.exp(0.3 * s) * (J @ np.concatenate([[1.0], X[2]])))
    assert found["a"] == pytest.approx(expected[0])
    np.testing.assert_allclose(found["b"], expected[1:], rtol=1e-12)


def normal(p, x):
    return -0.5 * ((x - p[0]) / p[1]) ** 2 - np.log(p[1])


def test_fisher():
    p, x = np.array([0.5, 1.7]), rng.standard_normal(50)
    r = (x - 0.5) / 1.7
    g = np.column_stack([r / 1.7, (r * r - 1) / 1.7])
    for chunk in (None, 7):
        np.testing.assert_allclose(transad.fisher(normal, p, x, chunk=chunk), g.T @ g / 50, rtol=1e-12)
