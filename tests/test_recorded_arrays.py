"""NumPy on the recorded path beyond single rules: writing functions, ufunc methods, odd layouts, methods, dtypes."""
import math
import operator

import numpy as np
import pytest

import transad
from tests.differences import agree

X = np.array([0.7, -0.4, 0.9, 0.3])
Y = np.array([0.2, 0.8, -0.6, 0.5])
M = np.arange(12.0).reshape(3, 4) * 0.1 - 0.4
CASES = []


def case(*args):
    def register(f):
        CASES.append(pytest.param(f, args, id=f.__name__))
        return f
    return register


@pytest.fixture(autouse=True)
def recorded_path_only(monkeypatch):
    monkeypatch.setenv("TRANSAD_PATH", "recorded")


@case(X, 0.6)
def writing_functions(x, s):
    a = np.zeros((4, 4))
    np.fill_diagonal(a, x)
    np.copyto(a[0], x * s)
    np.copyto(a[1], s, where=x > 0)
    np.put(a, [5, 6], [s, s * s])
    np.putmask(a[2], x > 0.5, x * 2)
    np.place(a[3], x > 0, [s])
    b = x.copy()
    np.put_along_axis(b, np.array([2]), s ** 3, 0)
    b.put([0], s)
    c = np.empty(4)
    c.fill(s)
    return np.sum(a * a) + np.sum(b * x) + np.sum(c * x)


@case(X, 0.6)
def flat_and_real_and_views(x, s):
    a = np.outer(x, x)
    a.flat[3] = s
    a.T.flat[1:3] = x[:2]
    a.real[1] = x * s
    b = a[::-1, ::2]
    b *= s
    c = a.reshape(2, 8).T[3]
    c -= 1.0
    d = a.diagonal()
    e = a.ravel()
    e[0] = s * s
    z = 0.0
    for v in a.flat:
        z = z * 0.9 + v
    for i, v in np.ndenumerate(x):
        z += v * (i[0] + 1)
    return z + np.sum(d * d) + a.item(2) * a.item((1, 1)) + sum(a.tolist()[2])


@case(X, 0.6)
def overlapping_views(x, s):
    w = np.lib.stride_tricks.sliding_window_view(x, 2)
    t = np.sum(w * w * s)
    b = np.broadcast_to(x, (3, 4))
    g = np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
    return t + np.sum(b * M) + np.sum(g[:, 0] * g[:, 1])


@case(X, 0.6)
def methods_of_arrays(x, s):
    m = np.outer(x, x)
    y = x.copy()
    y.sort()
    z = m.astype(np.float64).clip(-0.2, 0.5).sum(axis=0).cumsum()
    p = x.repeat(2).reshape(4, 2).swapaxes(0, 1).transpose().squeeze().dot(np.array([1.0, s]))
    return (y * np.arange(4)).sum() + z.mean() + p.max() + x.prod() + x.std() + x.var() + m.trace() + x.min() \
        + x.take([1, 1]).sum() + x.ptp() if hasattr(x, "ptp") else z.mean() + p.max() + m.trace() + y[0] * y[3]


@case(X, 0.6)
def ufunc_methods(x, s):
    a = np.zeros(3)
    np.add.at(a, [0, 1, 0, 2], x)
    np.subtract.at(a, 1, s)
    np.multiply.at(a, [0, 0], x[:2])
    return (np.add.reduce(a * x[:3]) + np.multiply.reduce(x) + np.subtract.accumulate(x)[-1]
            + np.maximum.accumulate(x).sum() + np.hypot.outer(x, x).sum() + np.multiply.accumulate(x)[2]
            + np.logaddexp.reduce(x) * s)


@case(X, 0.6)
def positional_and_keyword_out(x, s):
    a, b = np.empty(4), np.ones(4)
    np.sin(x, a)
    np.multiply(a, s, out=b, where=x > 0)
    np.add(a, b, out=a)
    np.cumsum(a, out=a)
    np.dot(np.outer(x, x), a, out=b)
    np.sum(np.outer(x, x), axis=0, out=a)
    return np.sum(a * b)


@case(X, 0.6)
def numpy_functions_by_their_own_text(x, s):
    return (np.polyval(x, s) + np.trapezoid(x, dx=0.5) + np.sum(np.gradient(x)) + np.average(x, weights=x * x)
            + np.sum(np.apply_along_axis(lambda r: r * r.sum(), 1, np.outer(x, x))) + np.sum(np.vander(x, 3)[1])
            + np.sum(np.ediff1d(x)) + np.linalg.multi_dot([x, np.outer(x, x), x]))


@case(X, 0.6)
def structured_fields(x, s):
    r = np.zeros(4, dtype=[("p", float), ("q", float, (2,))])
    r["p"] = x * s
    r["q"][:, 0] = r["p"] ** 2
    r["q"][1] = x[:2]
    return np.sum(r["p"] * x) + np.sum(r["q"])


@case(X, 0.6)
def object_arrays_and_lists_of_arrays(x, s):
    a = np.empty(2, dtype=object)
    a[0], a[1] = x * s, [s, x[1]]
    parts = [np.sin(x[k:]) for k in range(3)]
    parts[1][0] *= s
    parts[0], parts[2] = parts[2], parts[0]
    return np.sum(a[0]) + a[1][0] * a[1][1] + sum(np.sum(p * p) for p in parts)


@case(X, 0.6)
def complex_inside(x, s):
    z = np.exp(1j * x) * (s + 2.0j)
    w = np.zeros(4, complex)
    w[1:] = z[:-1] * x[1:]
    w.imag[0] = s
    w.real += x
    f = np.fft.fft(w)
    u = complex(s, 0.3) * z[0]
    return np.sum(np.abs(f) ** 2) + np.sum(w.imag * x) + u.real * u.imag + abs(u) + (z[1] * z[1].conjugate()).real


@case(X, 0.6)
def scalars_of_all_kinds(x, s):
    t = np.float64(s) * x[0] + math.hypot(s, 2.0) + s // 0.25 + s % 0.25 + math.fmod(s, 0.4) + (-s) ** 2
    t += operator.add(s, x[1]) * operator.neg(s) + np.array(s)[()] * np.asarray(s).item() + np.array([s, 2.0 * s])[1]
    u = np.zeros(())
    u[()] = s
    u += x[2]
    return t * u + float(u) + math.fsum([s, x[0]]) if False else t * u + float(u)


@case(X, 0.6)
def boolean_masks_and_choices(x, s):
    y = np.where(x > 0, x * s, -x)
    y[(y > 0.2) & (x > 0)] *= 2.0
    k = np.select([x > 0.5, x > 0], [x, x * x], s)
    p = np.piecewise(x, [x > 0], [lambda v: v ** 2, lambda v: -v]) if False else np.choose([0, 1, 1, 0], [x, y])
    return np.sum(y * k + p) + np.count_nonzero(x > 0) + x[np.argsort(x)[::-1]][0] + np.max(x[x < 0.8])


@case(M, 0.6)
def reductions_and_rows(m, s):
    total = 0.0
    for row in m:
        row = row * s
        for v in row[::-1]:
            total = total * 0.5 + v
    a, b, c = m
    m[1] += a
    (p, q), *rest = m[:, :2]
    return total + np.dot(b, c) + p * q + rest[0][0] + m[1, 2] * s


@case(X, 0.6)
def vectorize_with_outputs(x, s):
    f = np.vectorize(lambda t, c: (t * c, t + c))
    g = np.vectorize(lambda t: t * t if t > 0 else -t, otypes=[float])
    a, b = f(x, s)
    return np.sum(a * b) + np.sum(g(np.outer(x, x)))


@pytest.mark.parametrize("f, args", CASES)
def test_arrays(f, args):
    agree(f, args)


def test_float32_and_integers():
    g = transad.grad(lambda x: np.sum(x * x) / 2)(np.array([1.0, 2.0], np.float32))
    assert g.dtype == np.float32 and g.tolist() == [1.0, 2.0]
    g = transad.grad(lambda n: np.sum(n * n) / 2)(np.array([1, 2], np.int32))
    assert g.dtype == np.float64 and g.tolist() == [1.0, 2.0]
    g = transad.grad(lambda n: n * n * 1.5)(3)
    assert type(g) is float and g == 9.0
    g = transad.grad(lambda x: x * x)(np.float32(3.0))
    assert type(g) is np.float32 and g == 6.0
    g = transad.grad(lambda n: np.sum(n[1:] * n[:-1] / 2.0))(np.array([[1, 2], [3, 4]]).T[::-1])
    assert g.dtype == np.float64 and g.shape == (2, 2)


def test_complex_convention():
    g = transad.grad(lambda z: abs(z) ** 2)(1.0 + 2.0j)
    assert g == 2.0 - 4.0j
    y, back = transad.pullback(lambda z: z * z, 1.0 + 2.0j)
    assert back(1.0)[0] == 2 * (1 + 2j)
    y, back = transad.pullback(lambda x: x * (1.0 + 2.0j), 3.0)
    assert back(1.0 + 0.0j)[0] == 1.0 and back(1j)[0] == -2.0


def test_layouts_of_arguments():
    f = lambda a: np.sum(a * np.arange(a.size).reshape(a.shape))  # noqa: E731
    want = np.arange(12.0).reshape(3, 4)
    for a in (M, np.asfortranarray(M), M[::-1], np.vstack([M, M])[::2], np.broadcast_to(M[0], (3, 4)), M.T.copy().T):
        g = transad.grad(f)(a)
        np.testing.assert_allclose(g, want)
        assert g.flags.writeable and not np.shares_memory(g, a)


def test_zero_cotangents_win():
    assert transad.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0))(np.float64(0.0)) == 0.0
    assert transad.grad(lambda x: math.sqrt(x))(0.0) == math.inf
    assert transad.grad(lambda x: x ** 0.5 if x > 0 else x)(0.0) == 1.0
    g = transad.grad(lambda x: np.sum((x ** 0.5)[x > 0]))(np.array([0.0, 4.0]))
    assert g.tolist() == [0.0, 0.25]
    assert math.isnan(transad.grad(lambda x: x * math.nan)(1.0))


def test_draws_of_location_and_scale():
    def f(m, s):
        rng = np.random.default_rng(1)
        return rng.normal(m, s) + np.sum(rng.uniform(m, s * 3, size=3) * rng.exponential(s, 3)) + rng.gumbel(m)
    agree(f, (0.3, 0.7))
    with pytest.raises(transad.MissingRule, match="gamma"):
        transad.grad(lambda a: np.random.default_rng(1).gamma(a))(2.0)


def test_numba_objects():
    numba = pytest.importorskip("numba")

    @numba.vectorize
    def square(a, b):
        return a * b * b

    @numba.njit
    def total(x):
        items = numba.typed.List()
        for v in x:
            items.append(v * v)
        return sum(items)
    agree(lambda x, s: np.sum(square(x, s)) + total(x) + square(s, 2.0), (X, 0.6), forward=False)

    @numba.guvectorize([(numba.float64[:], numba.float64[:])], "(n)->(n)")
    def double(a, out):
        for i in range(a.shape[0]):
            out[i] = a[i] * 2
    with pytest.raises(transad.MissingRule, match="double"):
        transad.grad(lambda x: np.sum(double(x)))(X)


def test_every_adjoint_can_be_differentiated_again():
    """A function on the tape outside the modules that are rewritten would lose second derivatives silently."""
    from transad.runtime import adjoints, calls
    for name in adjoints.__all__:
        assert getattr(adjoints, name).__module__.startswith(calls._DIFFERENTIATED_AGAIN)
