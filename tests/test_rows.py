"""Functions of a batch: the gradient of every loss equals that of a loop of `grad`, whether the function of one row is
found or not, and where a row depends on others it is not."""
import collections
import dataclasses

import numpy as np
import pytest

import transad
from transad.passes.rows import Mixed
from transad.tree import leaves_of

rng = np.random.default_rng(1)
W = rng.standard_normal(4)
W[0] = abs(W[0])
X = rng.standard_normal((5, 4))
SQUARE = rng.standard_normal((4, 4))


def jacobian_rows(f, args):
    """A loop of `grad`, one loss at a time."""
    out = []
    for i in range(len(f(*args))):
        g = transad.grad(lambda p, *rest: f(p, *rest)[i], path="recorded")(*args)
        out.append([leaf for leaf in leaves_of(g) if leaf is not None])
    return [np.stack([o[k] for o in out]) for k in range(len(out[0]))]


def check(f, args):
    values, grads = transad.per_sample_value_and_grad(f, batched=True)(*args)
    np.testing.assert_allclose(values, f(*args), rtol=1e-12, atol=1e-14)
    found = [leaf for leaf in leaves_of(grads) if leaf is not None]
    for a, b in zip(found, jacobian_rows(f, args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.fixture
def interpreted(monkeypatch):
    """Kernels run by Python: the same text, without the time of compiling it."""
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    monkeypatch.setattr("transad.samples.per_sample._KERNELS", {})


def count_used(w, X): return (X @ w) ** 2 / len(X)


def time_loop(w, X):
    h = np.zeros(len(X))
    for t in range(X.shape[1]):
        h = np.tanh(h * 0.5 + X[:, t] * w[t])
    return h


def recurrent(w, X):
    h, U = np.zeros((len(X), 3)), 0.1 * np.ones((3, 3))
    for t in range(X.shape[1]):
        h = np.tanh(h @ U + X[:, t:t + 1] * w[:3])
    return np.sum(h, axis=1)


def swapped(w, X):
    a = X @ w
    b = np.sin(a)
    for t in range(3):
        a, b = b, a * w[0]
    return a + b


def branch_of_all(w, X):
    Z = X @ w
    if w[0] > 0:
        Z = Z * w[1]
    else:
        Z = Z + 1
    return Z ** 2


def branch_of_one(w, X):
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        if x[0] > 0:
            out[i] = np.sum(x * w) ** 2
            continue
        for k in range(len(x)):
            if x[k] > 1:
                break
            out[i] += x[k] * w[k]
    return out


def comprehension(w, X): return np.array([np.sin(x @ w) for x in X])


def other_way_round(w, X):
    Z = (X * w).T
    P = np.exp(Z - Z.max(axis=0))
    P /= P.sum(axis=0)
    return -np.log(P[1])


def choice(w, X):
    Z = X @ w
    m = Z > 0
    return np.where(Z > 0, Z, 0.1 * Z) + ~m * Z + m * Z ** 2


def norms(w, X): return np.linalg.norm(X * w, axis=1) + np.maximum(X @ w, 0.0)


def sorted_rows(w, X): return np.sort(X * w, axis=1)[:, 0]


def softmax(w, X):
    Z = X * w
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P = P / P.sum(axis=1, keepdims=True)
    return -np.log(P[np.arange(len(X)), np.argmax(X, axis=1)])


def reshaped(w, X): return (X.reshape(len(X), 2, 2) * w.reshape(2, 2)).sum(axis=(1, 2))


def convolved(w, X):
    out = np.zeros((len(X), 3))
    for k in range(3):
        out[:, k] = X[:, k] * w[0] + X[:, k + 1] * w[1]
    return np.maximum(out, 0).mean(axis=1)


def standardised(w, X):
    Z = X * w
    return ((Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True))[:, 0]


def three_axes(w, X): return (X[:, :, None] * w[None, None, :]).sum(axis=2).sum(axis=1)


def embedded(w, X):
    rows = np.abs(X[:, 0] * 10).astype(int) % 4
    return w[rows] * (X @ w)


def layers(p, X):
    H = np.tanh(X @ p["a"]["W"].T + p["a"]["b"])
    for V, b in p["more"]:
        H = np.tanh(H @ V + b)
    return np.sum(H ** 2, axis=1)


NET = {"a": {"W": rng.standard_normal((3, 4)), "b": np.ones(3)},
       "more": [(rng.standard_normal((3, 4)), np.ones(4)), (rng.standard_normal((4, 2)), np.ones(2))]}

ROW_BY_ROW = [count_used, time_loop, recurrent, swapped, branch_of_all, branch_of_one, comprehension, other_way_round, choice,
              norms, sorted_rows, softmax, reshaped, convolved, standardised, three_axes, embedded]


@pytest.mark.parametrize("f", ROW_BY_ROW, ids=lambda f: f.__name__)
def test_the_function_of_one_row(f, interpreted):
    check(f, (W, X))
    assert transad.per_sample_grad(f, batched=True).kernel(W, X).text


def test_structures(interpreted):
    check(layers, (NET, X))
    assert transad.per_sample_grad(layers, batched=True).kernel(NET, X).fused.left == 0


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    name: str = "dense"


class Model:
    def __init__(self, scale, layers):
        self.scale, self.layers = scale, layers

    def predict(self, X):
        for layer in self.layers:
            X = np.tanh(X @ layer.w.T + layer.b)
        return self.scale * X


class Slots:
    __slots__ = ("b", "w")

    def __init__(self, w, b):
        self.w, self.b = w, b


Pair = collections.namedtuple("Pair", "w b")


def of_model(m, X): return m.predict(X)[:, 0] ** 2


def of_fields(p, X): return np.sum(np.tanh(X @ p.w.T + p.b) ** 2, axis=1)


def of_numbers(p, X): return p["lam"] * np.sum(X * X, axis=1) + p["a b"] * X[:, 0] + p["deep"][0][1]["z"]


def of_counted(p, X): return np.sum((X @ p[0].T) ** 2, axis=1) + p[1]


V, B = rng.standard_normal((3, 4)), rng.standard_normal(3)
STRUCTURES = [(of_model, Model(1.5, [Layer(V, B), Layer(V[:, :3].copy(), B.copy())])), (of_fields, Layer(V, B)),
              (of_fields, Slots(V, B)), (of_fields, Pair(V, B)),
              (of_numbers, {"lam": 0.3, "a b": 2.0, "deep": [(1.0, {"z": 0.5, "name": "x"})]}), (of_counted, {0: V, 1: 2.0})]


@pytest.mark.parametrize("f, p", STRUCTURES, ids=lambda v: type(v).__name__)
def test_parameters_of_any_structure(f, p, interpreted):
    check(f, (p, X))
    found = transad.per_sample_grad(f, batched=True)
    assert type(found(p, X)) is type(p) and found.kernel(p, X).text

    def of_one(p, x):
        return f(p, x[None])[0]
    for a, b in zip(leaves_of(transad.per_sample_grad(of_one)(p, X)), leaves_of(found(p, X)), strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert transad.per_sample_grad(of_one).kernel(p, X).text


def centred(w, X): return (X - X.mean(axis=0)) @ w


def normalised(w, X):
    Z = X @ w
    return (Z - Z.mean()) ** 2


def cumulative(w, X): return np.cumsum(X @ w)


def neighbour(w, X):
    Z = X @ w
    out = np.empty(len(X))
    for i in range(len(X)):
        out[i] = Z[i] * Z[i - 1]
    return out


def carried(w, X):
    out, s = np.empty(len(X)), 0.0
    for i in range(len(X)):
        s = s * 0.5 + X[i] @ w
        out[i] = s * s
    return out


def last_of_loop(w, X):
    out = np.empty(len(X))
    for i in range(len(X)):
        m = X[i] @ w
        out[i] = m
    return out * m


def pairwise(w, X):
    Z = X @ w
    return np.sum(np.exp(-(Z[:, None] - Z[None, :]) ** 2), axis=1)


def backwards(w, X): return (X @ w)[::-1] ** 2


def shared_sum(w, X):
    t, out = np.zeros(4), np.empty(len(X))
    for i in range(len(X)):
        t += X[i] * w
        out[i] = np.sum(t)
    return out


def shared_view(w, X):
    buf, out = np.zeros(4), np.empty(len(X))
    for i in range(len(X)):
        v = buf[:]
        v[0] = v[0] + X[i, 0] * w[0]
        out[i] = np.sum(buf) ** 2
    return out


def two_names(w, X):
    a = np.zeros(len(X))
    b = a
    Z = X @ w
    for i in range(len(X)):
        b[i] = Z[i] ** 2
    a += Z
    return a + b


def column(w, X):
    Z = X * w
    c = Z[:, 0]
    c += 1.0
    return np.sum(Z * Z, axis=1)


def ends_for_all(w, X):
    out = np.zeros(len(X))
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            break
        out[i] = X[i] @ w
    return out + X @ w


def decided_by_first(w, X):
    Z = X @ w
    return Z * 2 if Z[0] > 0 else Z ** 2


def numbered(w, X):
    out = np.empty(len(X))
    for i in range(len(X)):
        out[i] = i * (X[i] @ w)
    return out


def every_pair(w, X):
    out = np.zeros(len(X))
    for i in range(len(X)):
        for j in range(len(X)):
            out[i] += (X[i] @ w) * (X[j] @ w)
    return out


def first_row_set(w, X):
    Z = X * w
    Z[0] = 1.0
    return Z.sum(axis=1)


def kernel_matrix(w, X): return (X @ X.T) @ (X @ w)


MIXED = [centred, normalised, cumulative, neighbour, carried, last_of_loop, pairwise, backwards, shared_sum, shared_view,
         two_names, column,
         ends_for_all, decided_by_first, numbered, every_pair, first_row_set, kernel_matrix]


@pytest.mark.parametrize("f", MIXED, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::transad.TransadPerformanceWarning")
def test_rows_that_depend_on_others_are_found(f):
    check(f, (W, X))
    with pytest.raises(Mixed) as problem:
        transad.per_sample_grad(f, batched=True).kernel(W, X)
    code = f.__code__
    lines = {line for *_, line in code.co_lines() if line}
    assert problem.value.line in lines or not problem.value.line


def as_wide_as_long(w, X): return np.sum(X * w + X.T * w, axis=1)


def weights_of_rows(w, X): return (X @ w) * w


@pytest.mark.filterwarnings("ignore::transad.TransadPerformanceWarning")
@pytest.mark.parametrize("f", [as_wide_as_long, weights_of_rows])
def test_lengths_that_agree_by_accident(f):
    check(f, (W, SQUARE))
    with pytest.raises(Mixed):
        transad.per_sample_grad(f, batched=True).kernel(W, SQUARE)


def columns_are_samples(w, X): return np.sin(w @ X)


def test_samples_along_another_axis(interpreted):
    g = transad.per_sample_grad(columns_are_samples, in_axes=(None, 1), batched=True)
    np.testing.assert_allclose(g(W, X.T), np.cos(X @ W)[:, None] * X, rtol=1e-12)
    assert g.kernel(W, X.T).text


def of_samples(w, X): return np.sum(np.sin(X * w), axis=1)


def test_the_gradient_of_the_samples_themselves(interpreted):
    d_w, d_X = transad.per_sample_grad(of_samples, (0, 1), (None, 0), batched=True)(W, X)
    np.testing.assert_allclose(d_w, np.cos(X * W) * X, rtol=1e-12)
    np.testing.assert_allclose(d_X, np.cos(X * W) * W, rtol=1e-12)
    with pytest.warns(transad.TransadPerformanceWarning), pytest.raises(transad.InvalidArgument, match="other samples"):
        transad.per_sample_grad(normalised, (0, 1), (None, 0), batched=True)(W, X)


def network(W1, b1, W2, b2, X, Y):
    Z = np.tanh(X @ W1.T + b1) @ W2.T + b2
    m = np.max(Z, axis=1, keepdims=True)
    return m[:, 0] + np.log(np.sum(np.exp(Z - m), axis=1)) - Z[np.arange(len(X)), Y]


def of_one(W1, b1, W2, b2, x, y):
    z = W2 @ np.tanh(W1 @ x + b1) + b2
    m = np.max(z)
    return m + np.log(np.sum(np.exp(z - m))) - z[y]


def test_a_network_compiled():
    weights = (rng.standard_normal((6, 4)), rng.standard_normal(6), rng.standard_normal((3, 6)), rng.standard_normal(3))
    Y = rng.integers(0, 3, 5)
    batch = transad.per_sample_value_and_grad(network, (0, 1, 2, 3), batched=True)
    values, grads = batch(*weights, X, Y)
    expected_values, expected = transad.per_sample_value_and_grad(of_one, (0, 1, 2, 3))(*weights, X, Y)
    np.testing.assert_allclose(values, expected_values, rtol=1e-13)
    for a, b in zip(grads, expected):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    text = batch.kernel(*weights, X, Y).text
    assert "np.zeros" not in text and "= W1.T" not in text          # every sample writes into its rows
    with pytest.raises(IndexError):
        batch(*weights, X, Y + 3)
    with pytest.raises(ValueError):
        batch(weights[0][:, :3], *weights[1:], X, Y)


def in_python(p, X):
    seen = {}
    for k in range(X.shape[1]):
        seen[str(k)] = np.sin(p * X[:, k])
    return sum(seen.values())


def test_python_answers_where_nothing_is_typed():
    with pytest.warns(transad.TransadPerformanceWarning):
        g = transad.per_sample_grad(in_python, batched=True, chunk=2)(0.7, X)
    np.testing.assert_allclose(g, np.sum(X * np.cos(0.7 * X), axis=1), rtol=1e-12)
    with pytest.warns(transad.TransadPerformanceWarning), pytest.raises(transad.NotScalar, match="one real loss per sample"):
        transad.per_sample_grad(lambda p, X: {"a": p * X}["a"], batched=True)(0.7, X)


def test_explain_says_what_a_batch_becomes():
    from transad.command.explain import explained
    from transad.command.plan import planned
    kinds = "float64[:], float64[:,:]"
    said = explained(planned(softmax, signature=kinds, options={"jit": True}), ["X"])
    assert "each loss depends on its row alone" in said and "one compiled loop" in said
    said = explained(planned(normalised, signature=kinds), ["X"])
    assert "a cotangent for each loss" in said and "`np.sum(Z)` takes all rows" in said and "Z - Z.mean()" in said
    assert "one run of the reverse sweep, with a leading axis" in said
    said = explained(planned(lambda A, b: np.linalg.solve(A, b) * b, signature="float64[:,:], float64[:]"))
    assert "called for each cotangent: linalg_solve_adjoint" in said
    with pytest.raises(transad.InvalidArgument, match="no argument Q"):
        explained(planned(normalised, signature=kinds), ["Q"])


def by_einsum(W, X):
    return np.sum(np.tanh(np.einsum("bi,hi->bh", X, W)) ** 2, axis=1) + np.einsum("hi,bi->bh", W, X)[:, 0]


def by_logsumexp(W, X):
    from scipy.special import logsumexp
    Z = X @ W.T
    return logsumexp(Z, axis=1) - Z[np.arange(len(X)), np.argmax(X[:, :3], axis=1)]


def of_one_by_rule(W, x):
    from scipy.special import logsumexp
    return logsumexp(W @ x) * x[1]


@pytest.mark.parametrize("f", [by_einsum, by_logsumexp])
def test_what_numba_cannot_compile_is_left_to_numpy(f):
    from transad.samples.one_call import one_call
    made, _ = one_call(f, (V, X), (None, 0), (0,), True)
    assert "[:, :, None]" in made.text                          # the outer products of all samples
    with pytest.warns(transad.TransadPerformanceWarning, match="by NumPy's functions"):
        check(f, (V, X))
    with pytest.warns(transad.TransadPerformanceWarning, match="by NumPy's functions"):
        grads = transad.per_sample_grad(of_one_by_rule)(V, X)
    np.testing.assert_allclose(grads, np.stack([transad.grad(of_one_by_rule)(V, x) for x in X]), rtol=1e-12, atol=1e-14)
