"""Random programs: a leading axis for items, cotangents and directions, and the function of one row, against one by one."""
import importlib.util

import numpy as np
import pytest

import transad
from tests.random_arrays import Program
from transad.api import run_pullback
from transad.forwards.columns import all_columns
from transad.passes.specialise.values import NotTyped
from transad.runtime import jacobians
from transad.samples.vmap import stacked_items
from transad.tree import leaves_of

ALL = [0, 1, 2, 3]


def loaded(source, name, folder):
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def arguments(seed):
    r = np.random.default_rng(seed)
    return r.standard_normal(4), 1.3, 0.5 * r.standard_normal((4, 4)), 0.7


def same(found, expected):
    for a, b in zip(leaves_of(found), leaves_of(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_items_cotangents_and_directions(seed, tmp_path):
    f, args = loaded(Program(seed).source(), f"items{seed}", tmp_path), arguments(seed)
    axes = [(0, 0, 0, 0), (0, None, None, None), (None, 0, None, None), (0, None, 0, None), (None, None, 0, 0)][seed % 5]
    r = np.random.default_rng(seed)
    items = tuple(a if k is None else np.stack([np.asarray(a) * (1 + 0.1 * r.standard_normal()) for _ in range(3)])
                  for a, k in zip(args, axes))
    same(transad.vmap(f, axes)(*items), stacked_items(f, items, axes))
    y, back = run_pullback(f, args, {}, ALL)
    if isinstance(y, float):
        same(transad.vmap(transad.grad(f, ALL), axes)(*items), stacked_items(transad.grad(f, ALL), items, axes))
    found = jacobians.from_rows(y, back, ALL)
    columns = all_columns(f, args, {}, ALL, None)
    if hasattr(back, "at_once"):
        del back.at_once
    expected = jacobians.from_rows(y, back, ALL)
    same(found, expected)
    if columns is not None:
        same(columns[1], expected)


def test_a_cotangent_that_does_not_vary_and_whose_rank_is_not_known():
    def f(x, M):
        v = np.max(M + x[:, None], axis=0)
        m = M.copy()
        m[0] += v
        return np.sum(M * x, axis=1)
    args = (np.array([0.3, -1.0, 2.0, 0.5]), arguments(1)[2])
    same(transad.jacrev(f)(*args), args[1])


@pytest.mark.filterwarnings("ignore::transad.TransadPerformanceWarning")
def test_rows(tmp_path, monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    derived = 0
    for seed in range(60):
        f, args = loaded(Program(seed).of_rows(), f"rows{seed}", tmp_path), arguments(seed)
        gradients = transad.per_sample_grad(f, (0, 1, 3), (None, None, 0, None), batched=True)
        try:
            gradients.kernel(*args)
            derived += 1
        except NotTyped:
            pass
        found = gradients(*args)
        for i in range(4):
            expected = transad.grad(lambda *a: f(*a)[i], (0, 1, 3), path="recorded")(*args)      # noqa: B023
            same([g[i] for g in found], list(expected))
    assert derived >= 5
