"""Per-sample gradients equal a loop of `grad`, whatever the parameters are and wherever the result goes."""
import dataclasses

import numpy as np
import pytest

import transad
from transad.tree import leaves_of

rng = np.random.default_rng(3)
W1, b1 = rng.standard_normal((5, 4)) / 2, 0.1 * rng.standard_normal(5)
W2, b2 = rng.standard_normal((3, 5)) / 2, 0.1 * rng.standard_normal(3)
X, Y = rng.standard_normal((37, 4)), rng.integers(0, 3, 37)
NET = (W1, b1, W2, b2)


def network(W1, b1, W2, b2, x, y):
    z = W2 @ np.tanh(W1 @ x + b1) + b2
    m = np.max(z)
    return m + np.log(np.sum(np.exp(z - m))) - z[y]


def loop(f, args, argnums, mapped):
    both = transad.value_and_grad(f, argnums)
    n = next(len(a) for a, m in zip(args, mapped) if m)
    found = [both(*(a[i] if m else a for a, m in zip(args, mapped))) for i in range(n)]
    return np.array([v for v, _ in found]), [g for _, g in found]


def check(f, args, argnums, **options):
    """Against a loop of value_and_grad, to 1e-12."""
    nums = (argnums,) if isinstance(argnums, int) else argnums
    mapped = [k not in nums for k in range(len(args))]
    values, grads = transad.per_sample_value_and_grad(f, argnums, **options)(*args)
    expected_values, expected = loop(f, args, argnums, mapped)
    np.testing.assert_allclose(values, expected_values, rtol=1e-12, atol=1e-14)
    rows = [x for x in leaves_of(grads) if x is not None]
    wanted = [[x for x in leaves_of(g) if x is not None] for g in expected]
    assert len(rows) == len(wanted[0])
    for k, row in enumerate(rows):
        np.testing.assert_allclose(row, np.stack([w[k] for w in wanted]), rtol=1e-12, atol=1e-14)
    return grads


FOUR = transad.per_sample_value_and_grad(network, (0, 1, 2, 3))


def test_network():
    check(network, (*NET, X, Y), (0, 1, 2, 3))
    kernel = FOUR.kernel(*NET, X, Y)
    assert kernel.fused.left == 0                               # every array statement is a loop over a buffer
    assert "np.zeros" not in kernel.text and "d_W1 = rows_W1[sample]" in kernel.text


def test_repeated_calls_of_other_shapes_and_values():
    for scale, n in ((1.0, 37), (0.5, 37), (2.0, 5), (1.0, 1)):
        weights = tuple(scale * w for w in NET)
        values, grads = FOUR(*weights, X[:n], Y[:n])
        expected_values, expected = loop(network, (*weights, X[:n], Y[:n]), (0, 1, 2, 3), [False] * 4 + [True] * 2)
        np.testing.assert_allclose(values, expected_values, rtol=1e-12)
        for k in range(4):
            np.testing.assert_allclose(grads[k], np.stack([e[k] for e in expected]), rtol=1e-12, atol=1e-14)


def test_result_is_fresh_and_out_is_filled():
    gradients = transad.per_sample_grad(network, (0, 1, 2, 3))
    first = gradients(*NET, X, Y)
    out = tuple(np.full((37, *w.shape), np.nan) for w in NET)
    again = gradients(*NET, X, Y, out=out)
    assert all(a is b for a, b in zip(again, out))
    assert all(np.array_equal(a, b) for a, b in zip(first, out))
    assert not any(np.may_share_memory(a, b) for a, b in zip(gradients(*NET, X, Y), first))
    with pytest.raises(transad.InvalidArgument, match="out does not have"):
        gradients(*NET, X, Y, out=out[:3])
    with pytest.raises(transad.InvalidArgument, match="shares memory"):
        transad.per_sample_grad(lambda w, x: np.sum(w * x))(X[0], X[:4], out=X[:4])


@pytest.mark.parametrize("chunk", [None, 5])
def test_reductions(chunk):
    full = transad.per_sample_grad(network, (0, 1, 2, 3))(*NET, X, Y)
    flat = np.concatenate([g.reshape(37, -1) for g in full], axis=1)

    def reduced(how):
        return transad.per_sample_grad(network, (0, 1, 2, 3), reduce=how, chunk=chunk)(*NET, X, Y)
    for g, total, mean in zip(full, reduced("sum"), reduced("mean")):
        np.testing.assert_allclose(total, g.sum(0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(mean, g.mean(0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(reduced("gram"), flat @ flat.T, rtol=1e-12, atol=1e-13)
    factor = np.minimum(1.0, 0.7 / np.linalg.norm(flat, axis=1))
    assert 0 < np.sum(factor < 1) < 37
    clipped = np.concatenate([c.ravel() for c in reduced(("clipped_sum", 0.7))])
    np.testing.assert_allclose(clipped, factor @ flat, rtol=1e-12, atol=1e-13)
    largest = reduced(lambda state, g: np.concatenate([[] if state is None else state, np.abs(g[0]).max(axis=(1, 2))]))
    np.testing.assert_array_equal(largest, np.abs(full[0]).max(axis=(1, 2)))


def test_bits_do_not_depend_on_threads_or_chunks():
    one = transad.per_sample_grad(network, 0, (None, None, None, None, 0, 0), threads=1)(*NET, X, Y)
    two = transad.per_sample_grad(network, 0, (None, None, None, None, 0, 0), threads=2)(*NET, X, Y)
    cut = transad.per_sample_grad(network, 0, (None, None, None, None, 0, 0), chunk=7)(*NET, X, Y)
    assert np.array_equal(one, two) and np.array_equal(one, cut)


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    name: str = "dense"


class Model:
    def __init__(self, scale, layers):
        self.scale, self.layers = scale, layers

    def predict(self, x):
        for layer in self.layers:
            x = np.tanh(layer.w @ x + layer.b)
        return self.scale * x


def by_dict(p, x, y):
    h = np.tanh(p["first"]["w"] @ x + p["first"]["b"])
    r = p["second"]["w"] @ h + p["second"]["b"]
    return r @ r * (y + 1)


def by_list(layers, x, y):
    for w, b in layers:
        x = np.tanh(w @ x + b)
    return x[y]


def by_object(model, x, y):
    return np.sum(model.predict(x)) * y


def test_parameters_in_structures():
    grads = check(by_dict, ({"first": {"w": W1, "b": b1}, "second": {"w": W2, "b": b2}}, X[:6], Y[:6]), 0)
    assert grads["first"]["w"].shape == (6, 5, 4) and list(grads["second"]) == ["w", "b"]
    grads = check(by_list, ([(W1, b1), (W2, b2)], X[:6], Y[:6]), 0)
    assert isinstance(grads, list) and grads[1][0].shape == (6, 3, 5)
    model = Model(1.5, [Layer(W1, b1), Layer(W2, b2)])
    grads = check(by_object, (model, X[:6], Y[:6]), 0)
    assert isinstance(grads, Model) and grads.scale.shape == (6,) and grads.layers[1].b.shape == (6, 3)
    assert grads.layers[0].name is None and model.layers[0].w is W1


def two_names(p, q, x):
    return np.sum(p * x) * np.sum(q * x)


def test_one_array_under_two_names_has_one_gradient():
    w = b1[:4].copy()
    with pytest.warns(transad.TransadPerformanceWarning, match="share memory"):
        d_p, d_q = transad.per_sample_grad(two_names, (0, 1))(w, w, X[:3])
    for i in range(3):
        e_p, e_q = transad.grad(two_names, (0, 1), path="recorded")(w, w, X[i])
        np.testing.assert_allclose(d_p[i], e_p, rtol=1e-13)
        np.testing.assert_allclose(d_q[i], e_q, rtol=1e-13)


def branching(w, x, y):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0:
            total += np.sin(w[k] * x[k])
        elif k > 0:
            total -= w[k] * w[k - 1] * x[k]
    t = abs(total)
    while t > 0.5:
        t = t * 0.5
        total = total * 1.1
    return total + y


def test_control_flow_of_the_sample():
    check(branching, (b1[:4], X, Y), 0)


def assigns_its_parameter(s, w, x):
    s *= x[0]
    if s > 0:
        s = s + 1.0
        w = w * x
    return s * np.sum(w)


def test_every_sample_starts_with_the_parameters_that_were_given():
    check(assigns_its_parameter, (0.7, b1[:4], X[:9]), (0, 1))


def outside(w, x, y):
    return w[y] * x[0]


def test_exceptions_are_those_of_the_sample():
    bad = Y.copy()
    bad[11] = 9
    with pytest.raises(IndexError):
        transad.per_sample_grad(outside)(b2, X, bad)
    bad[11] = -1                                # counted from the end
    check(outside, (b2, X, bad), 0)


def test_shapes_that_do_not_fit_raise_as_in_numpy():
    with pytest.raises(ValueError):
        FOUR(W1, b1[:3], W2, b2, X, Y)


def broadcast(w, b, x):
    return np.sum((w * x + b) ** 2)


def test_a_parameter_of_length_one_is_broadcast():
    check(broadcast, (b1[:4], b2[:1], X[:5]), (0, 1))
    check(broadcast, (b1[:4], W1[0], X[:5]), (0, 1))


def in_python(p, x):
    seen = {}
    for k, v in enumerate(x):
        seen[k] = v * p
    return sum(seen.values())


def test_python_answers_where_nothing_compiles():
    with pytest.warns(transad.TransadPerformanceWarning, match="sample by sample in Python"):
        grads = transad.per_sample_grad(in_python)(2.0, X[:4])
    np.testing.assert_allclose(grads, X[:4].sum(1), rtol=1e-12)


def test_axes():
    grads = transad.per_sample_grad(network, 0, (None, None, None, None, 1, 0))(*NET, np.asfortranarray(X.T.copy()), Y)
    np.testing.assert_allclose(grads, transad.per_sample_grad(network, 0, (None,) * 4 + (0, 0))(*NET, X, Y), rtol=1e-12)
    with pytest.raises(transad.InvalidArgument, match="different numbers of samples"):
        FOUR(*NET, X, Y[:5])


def test_composes_with_grad():
    def penalty(w):
        g = transad.per_sample_grad(lambda w, x: np.sin(np.dot(w, x)))(w, X[:5])
        return np.sum(g * g)
    w = b1[:4].copy()
    expected = sum(-2 * np.cos(x @ w) * np.sin(x @ w) * (x @ x) * x for x in X[:5])
    np.testing.assert_allclose(transad.grad(penalty)(w), expected, rtol=1e-10)


def extremes(w, x):
    z = w * x
    return np.max(z) + np.min(z) * 2 + np.max(np.outer(z, z))


def test_extremes_of_what_is_not_finite_and_of_nothing():
    S = X[:5].copy()
    S[2, 1], S[3, 0] = np.nan, np.inf
    with np.errstate(all="ignore"):
        grads = check(extremes, (b1[:4], S), 0)
    assert np.isnan(grads[2]).all() and not np.isfinite(grads[3]).any()
    with pytest.raises(ValueError, match="zero-size"):
        transad.per_sample_grad(extremes)(b1[:0], S[:, :0])


def test_single_precision_stays():
    small = tuple(a.astype(np.float32) for a in NET)
    values, grads = FOUR(*small, X.astype(np.float32), Y)
    assert values.dtype == np.float32 and all(g.dtype == np.float32 for g in grads)
    assert FOUR.kernel(*small, X.astype(np.float32), Y).fused.left == 0
    expected_values, expected = FOUR(*NET, X, Y)
    np.testing.assert_allclose(values, expected_values, rtol=2e-6)
    for g, e in zip(grads, expected):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-6)
    again, _ = FOUR(*small, X.astype(np.float32), Y)            # the short way
    assert again.dtype == np.float32 and np.array_equal(again, values)
