"""NumPy functions in compiled code: each form as text run by CPython, a chosen part compiled, against differences."""
import linecache
import types
from itertools import count

import numba
import numpy as np
import pytest

import transad
from transad import differentiable
from transad.errors import CannotCompile

_rng = np.random.default_rng(3)
NAMES = ("x", "y", "m", "n", "q", "s")
ARGS = (_rng.random(5), _rng.random(5), _rng.random((4, 3)), _rng.random((3, 3)), _rng.random((4, 3, 2)), 0.37)
_files = count()

# Expressions in x, y of length 5, m of 4 x 3, n of 3 x 3, q of 4 x 3 x 2 and a number s.
FORMS = """
np.sum(m, axis=0)
m.sum(axis=1)
np.sum(m, 1, keepdims=True) * m
q.sum(axis=1)
q.sum(axis=(0, 2))
np.sum(q, axis=-1)
x.sum(axis=0)
np.sum(m, axis=0, initial=s)
np.sum(m, where=m > 0.5)
np.mean(m, axis=1, where=m > 0.1)
np.max(m, axis=1, initial=s)
np.min(x, initial=s)
np.prod(m, axis=0, initial=s, where=m > 0.1)
np.where(s > 0.0, s * x[0], 2.0)
np.logspace(s, x[0], 4, base=s + 1.5)
np.asarray(s) * x
np.arange(s, 3.0, 0.5)
np.mean(m, axis=0)
m.mean(axis=-1, keepdims=True)
q.mean(axis=(1, 2))
np.max(m, axis=0)
m.max(axis=1)
np.amax(q, axis=1)
m.min(axis=0, keepdims=True)
np.prod(x)
m.prod(axis=0)
np.prod(m)
np.std(x)
m.std(axis=0)
np.std(x, ddof=1)
np.var(m)
m.var(axis=1, ddof=1)
np.var(q, axis=0)
np.ptp(x)
np.median(x)
np.median(m, axis=0)
np.average(x, weights=y)
np.average(m, axis=0)
np.average(m, axis=1, weights=np.abs(m))
x[np.argmax(m, axis=1)]
x * np.any(m > 0.5, axis=0)[0]
x * np.all(x > 0.0)
x * np.count_nonzero(x > 0.5)
np.cumsum(x)
np.cumsum(m, axis=0)
m.cumsum(axis=1)
m.cumsum()
np.cumprod(x)
np.cumprod(m, axis=1)
np.diff(x)
np.diff(x, 2)
np.diff(m, axis=0)
np.ediff1d(x)
np.trapezoid(y, x)
np.trapezoid(y, dx=0.1)
np.trapezoid(m, axis=0)
np.interp(s, np.cumsum(np.abs(x) + 0.1), y)
np.interp(x, np.linspace(0.0, 2.0, 5), y)
np.convolve(x, y)
np.convolve(x, y[:3], 'same')
np.correlate(x, y, 'full')
np.nan_to_num(x)
np.concatenate((x, y))
np.concatenate([m, n], axis=0)
np.concatenate((m, m * 2.0), axis=1)
np.concatenate((np.array([s]), x, y[1:3]))
np.hstack((x, y))
np.hstack([m, m])
np.vstack((x, y))
np.stack((x, y))
np.stack([x, y], axis=1)
np.column_stack((x, y))
np.dstack((m, m))
np.append(x, s)
np.append(x, y)
np.repeat(x, 3)
np.tile(x, 2)
np.flip(x)
np.flip(m, axis=1)
np.flipud(m) * m
np.fliplr(m) * m
np.roll(x, 1) * x
np.roll(m, -1, axis=0) * m
np.roll(m, 2) * m
np.roll(m, 1, axis=1) * m
np.rot90(m)
np.reshape(m, (3, 4))
m.reshape(2, 6)
m.reshape(-1, 2)
m.reshape((6, -1))
m.ravel()
np.ravel(m)
m.flatten()
m.T.flatten()
np.expand_dims(x, 1)
np.expand_dims(x, 0)
np.squeeze(m[:, :1], axis=1)
np.atleast_2d(x)
np.swapaxes(m, 0, 1)
np.transpose(m)
m.transpose()
np.take(x, np.array([0, 2, 2]))
np.take(m, np.array([0, 2]), axis=1)
np.diag(x)
np.diag(n)
np.diag(n, 1)
np.tril(n)
np.triu(n, 1)
np.diagflat(x)
np.eye(3) * n
np.eye(4, 3, k=-1) * m
np.identity(3) + n
np.full((2, 3), s)
np.full(3, s) * 2.0
np.full_like(x, s)
np.ones_like(x, dtype=np.float64) * x
np.linspace(s, 2.0, 5)
np.linspace(0.0, s, 5, endpoint=False)
np.linspace(0, 1, num=5) * x
np.arange(5) * x
np.arange(0.0, 1.0, 0.2) * x
np.arange(5, dtype=np.float64) * x
np.vander(x, 3)
np.sort(x) * y
np.sort(m, axis=0) * m
np.sort(m) * m
x[np.argsort(y)] * y
x * np.searchsorted(np.sort(x), 0.5)
x[np.minimum(np.searchsorted(np.sort(x), y), 4)]
x * np.digitize(y, np.array([0.2, 0.5]))
np.clip(x, 0.1, 0.8)
np.clip(m, s, None)
x.clip(0.0, 0.5)
np.clip(s, 0.0, 1.0) * x
np.clip(x, min=0.2)
np.clip(x, y, 2.0)
np.round(x, 2) * x
np.round(x) * x
np.outer(x, y)
np.outer(m, x)
np.kron(m, n)
np.cross(x[:3], y[:3])
np.cross(m, n[0])
np.vdot(x, y)
np.inner(x, y)
np.inner(m, n)
np.trace(n)
n.trace()
np.dot(m, n)
m.dot(n)
m @ n
q.reshape(4, 2, 3) @ q
np.linalg.norm(x)
np.linalg.norm(m)
np.linalg.norm(m, axis=1)
np.linalg.norm(x, 1)
np.linalg.norm(x, np.inf)
np.linalg.norm(x, ord=3)
np.linalg.inv(n + 3.0 * np.eye(3))
np.linalg.solve(n + 3.0 * np.eye(3), y[:3])
np.linalg.solve(n + 3.0 * np.eye(3), n.T)
np.linalg.det(n)
np.linalg.slogdet(n)[1]
np.linalg.cholesky(n @ n.T + np.eye(3))
np.linalg.matrix_power(n, 3)
np.where(x > 0.5, x, y)
np.where(m > 0.5, m * m, 0.0)
np.maximum(x, y)
np.minimum(m, 0.5)
np.sign(x) * y
np.where(np.isnan(x), 0.0, x)
np.where(np.logical_and(x > 0.2, y < 0.8), x, y)
np.where((x > 0.2) & (y < 0.8), x, y)
np.sinc(x)
np.nansum(x)
np.nansum(m, axis=0)
np.nanmean(x)
np.nanmax(x)
np.nanmin(x)
np.nanstd(x)
np.nanvar(x)
np.nanprod(x)
np.nanmedian(x)
np.percentile(x, 30.0)
np.quantile(x, 0.25)
np.quantile(x, np.array([0.25, 0.5]))
np.cov(x, y)
np.corrcoef(x, y)
np.tri(3) * n
np.delete(x, 2)
np.unwrap(x * 9.0)
x[np.nonzero(x > 0.5)[0]]
x[np.flatnonzero(x > 0.5)]
np.split(x[:4], 2)[1]
np.array_split(x, 2)[0]
np.linalg.eigvalsh(n + n.T)
np.bincount(np.array([0, 1, 1, 2, 0]), weights=x)
np.polyval(x, s)
np.fmax(x, y)
np.fmin(x, y)
np.select([x > 0.5, x > 0.2], [x, y], 0.0)
x * np.isclose(x, y)
x * np.allclose(x, y)
np.add(x, y)
np.sum(np.exp(m - m.max(axis=1, keepdims=True)), axis=1)
np.log(np.sum(np.exp(m - np.max(m)), axis=0))
np.geomspace(1.0, 8.0, 5) * x
np.logspace(0.0, s, 5)
np.meshgrid(x, y)[0]
x.astype(np.float64) * x
np.nanmean(np.where(m > 0.4, m, np.nan), axis=0)
np.nanmedian(np.where(x > 0.4, x, np.nan))
np.logspace(0.0, 1.0, 4) * s
m[np.nonzero(m > 0.5)[0]]
np.mean(m) + m.mean()
np.dot(m.T, m)
x * m.size + np.size(m)
"""

# What is compiled: each line is one program.
COMPILED = {
    "reductions": ["m.sum(axis=1)", "np.mean(m, axis=0)", "np.max(m, axis=1)", "np.std(x)", "np.median(x)"],
    "scans and joins": ["np.cumsum(x)", "np.diff(x)", "np.concatenate((x, y))", "np.clip(x, 0.1, 0.8)",
                        "np.linalg.norm(x)", "m.reshape(2, 6)", "np.stack((x, y))"],
    "linear algebra": ["np.linalg.solve(n + 3.0 * np.eye(3), y[:3])", "np.linalg.det(n)", "np.linalg.slogdet(n)[1]",
                       "np.linalg.cholesky(n @ n.T + np.eye(3))", "np.sort(x) * y"],
}


def function_of(forms):
    """A function of the arguments that adds up something of each form."""
    lines = [f"def f({', '.join(NAMES)}):", "    t = 0.0"]
    for k, form in enumerate(forms):
        lines += [f"    r{k} = {form}", f"    t += np.sum(np.cos(r{k}) * (1.5 + np.sin(r{k})))"]
    text = "\n".join([*lines, "    return t", ""])
    file = f"<compiled form {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def differences(f, k, eps=1e-6):
    def at(v):
        return f(*[v if i == k else a for i, a in enumerate(ARGS)])
    a = np.asarray(ARGS[k], dtype=float)
    g = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        up, down = a.copy(), a.copy()
        up[i] += eps
        down[i] -= eps
        g[i] = (at(up if a.ndim else float(up)) - at(down if a.ndim else float(down))) / (2 * eps)
    return g


def agrees(f):
    value, found = transad.value_and_grad(differentiable(f, jit=True), tuple(range(len(ARGS))))(*ARGS)
    np.testing.assert_allclose(value, f(*ARGS), rtol=1e-9)
    for k, g in enumerate(found):
        np.testing.assert_allclose(g, differences(f, k), rtol=1e-4, atol=1e-6, err_msg=NAMES[k])


@pytest.fixture
def as_text(monkeypatch):
    """The text for Numba, run by CPython."""
    import transad.compiled
    import transad.runtime.typed_numba as _helpers  # noqa: F401  (made before Numba is set aside)

    def plain(function=None, **options):
        return function if isinstance(function, types.FunctionType) else plain
    monkeypatch.setattr(numba, "njit", plain)
    monkeypatch.setattr(transad.compiled, "ready", lambda *args: None)


@pytest.mark.parametrize("form", [line.strip() for line in FORMS.strip().splitlines()])
def test_form(form, as_text):
    agrees(function_of([form]))


@pytest.mark.parametrize("family", COMPILED)
def test_compiled(family):
    agrees(function_of(COMPILED[family]))


@pytest.mark.parametrize("form", ["np.unique(x)", "np.linalg.svd(n)[1]", "np.linalg.norm(n, 'nuc')",
                                  "np.swapaxes(q, 0, 2)", "np.std(x, where=x > 0.5)"])
def test_what_is_refused_is_named(form):
    with pytest.raises(CannotCompile, match=form.split("(")[0].rpartition(".")[2]):
        differentiable(function_of([form]), jit=True).grad(*ARGS)


def test_a_reshaped_array_is_the_array(as_text):
    def f(x):
        rows = x.reshape(2, 3)
        rows[0] *= x[3]
        flat = rows.ravel()
        flat[5] = flat[0]
        return np.sum(x * x)
    x = np.arange(1.0, 7.0)
    with pytest.raises(ValueError, match="row by row"):
        differentiable(lambda m: np.sum(m.reshape(3, 2)), jit=True).grad(np.ones((2, 3)).T)
    want = transad.grad(f)(x.copy())
    np.testing.assert_allclose(differentiable(f, jit=True).grad(x.copy()), want)
    assert want[0] != 0.0


def test_items_of_a_comprehension_over_a_tuple():
    def f(x, y):
        rows = [a[None, :] for a in (x, y)]
        return np.sum(rows[0] * rows[1] ** 2)
    g = transad.grad(f, (0, 1))(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    np.testing.assert_array_equal(g[0], [9.0, 25.0])
    np.testing.assert_array_equal(g[1], [6.0, 20.0])


def test_length_of_two_arrays():
    def f(x, y):
        out = np.empty(x.shape[0] + y.shape[0])
        out[:x.shape[0]] = x
        out[x.shape[0]:] = 2.0 * y
        return np.sum(out * out)
    g = transad.grad(f, (0, 1))(np.array([1.0, 2.0]), np.array([3.0]))
    np.testing.assert_array_equal(g[0], [2.0, 4.0])
    np.testing.assert_array_equal(g[1], [24.0])


@pytest.mark.parametrize("form", ["np.cumprod(z)", "np.prod(z)", "np.linalg.det(z.reshape(1, 4) * np.ones((4, 1)))",
                                  "np.linalg.norm(z * 0.0)", "np.max(np.zeros(3) + z[2])"])
def test_edges_are_those_of_the_recorded_path(form, as_text):
    text = f"def f(z):\n    return np.sum({form})\n"
    file = f"<compiled edge {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    z = np.array([2.0, 0.0, 0.5, 0.0])
    want = transad.grad(differentiable(space["f"], path="recorded"))(z)
    np.testing.assert_allclose(differentiable(space["f"], jit=True).grad(z), want, atol=1e-12)


@pytest.mark.parametrize("helper", ["reshaped", "shadow_at", "part_of", "replayed_2"])
def test_numba_keeps_stores_into_the_views_that_helpers_return(helper):
    """Numba's removal of dead code must not take such a store for one that nobody reads."""
    from numba.core import ir, ir_utils
    from numba.core.compiler import run_frontend

    from transad.runtime import typed_numba
    view_of = getattr(typed_numba, helper)

    def stored(m):
        a = np.zeros(6)
        b = view_of(a, 2, 3)
        b[:, :] = m
        return a
    text = run_frontend(stored)
    ir_utils.dead_code_elimination(text)
    assert any(isinstance(s, ir.SetItem) for block in text.blocks.values() for s in block.body)
