"""Every form of a map: value and gradient against differences, and whether it is a kernel."""
from __future__ import annotations

import numpy as np
import pytest

import transad
from tests.map_form_programs import FORMS
from transad import typed

BY_PYTHON = {
    # items depend on those before
    "stateful", "stateful_nonlocal", "appending", "histogram_that_items_see",
    # iterators that are used more than once, or item by item
    "lazy", "used_twice",
    # tests and items that see what others left
    "counted_tests", "marking_items",
    # the first item that decides ends the loop
    "under_any", "under_all", "all_of_filtered", "any_stops",
    # not compiled yet
    "under_fsum",
    "bound_method", "list_of_arrays", "writes_into_captured",
}
CHEAP = {"captured_gathered", "captured_matrix_gathered", "captured_tuple", "captured_dataclass"}


def differences(f, args):
    out = []
    for k, a in enumerate(args):
        a, h = np.asarray(a, float), 1e-6
        slope = np.zeros(a.shape)
        for index in np.ndindex(a.shape):
            ends = []
            for step in (h, -h):
                moved = a.copy()
                moved[index] += step
                ends.append(f(*args[:k], moved if a.ndim else float(moved), *args[k + 1:]))
            slope[index] = (ends[0] - ends[1]) / (2 * h)
        out.append(slope)
    return out


@pytest.mark.parametrize("function, args", FORMS, ids=lambda p: getattr(p, "__name__", ""))
def test_form(function, args):
    y, gradients = transad.value_and_grad(function, tuple(range(len(args))))(*args)
    assert y == pytest.approx(function(*args), rel=1e-12)
    for found, expected in zip(gradients, differences(function, args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
    chains = [getattr(e, "built", None) and e.built.chain for key, found in typed._BUILT.items() for e in found
              if key[0] is function]
    if function.__name__ not in CHEAP:
        assert (chains[-1] is None) == (function.__name__ in BY_PYTHON)


@pytest.mark.parametrize("name", ["under_stack", "tuple_items", "under_max", "prange_rows"])
def test_compiled(name):
    function, args = next((f, a) for f, a in FORMS if f.__name__ == name)
    y, gradients = transad.value_and_grad(function, tuple(range(len(args))), jit=True)(*args)
    expected = transad.value_and_grad(function, tuple(range(len(args))), path="recorded")(*args)
    assert y == pytest.approx(expected[0], rel=1e-12)
    for found, known in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-10, atol=1e-12)


def _rows_times(m, v):
    ys = [np.sin(r * v) for r in m]
    return np.sum(np.array(ys)[:, 1]) + np.sum(sum(np.cos(r * v) for r in m) ** 2)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("v", [np.array([0.3, 0.2, -0.5]), np.array([0.4])], ids=["equal", "broadcast"])
def test_shapes_that_only_the_call_tells(v, jit):
    m = np.arange(6.0).reshape(2, 3)
    y, g = transad.value_and_grad(_rows_times, 1, jit=jit)(m, v)
    assert y == pytest.approx(_rows_times(m, v), rel=1e-13)
    np.testing.assert_allclose(g, differences(_rows_times, (m, v))[1], rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_sum_of_no_arrays_is_zero(jit):
    def f(m, a):
        return np.sum(sum(np.sin(r * a) for r in m) ** 2) + 3.0 * a
    assert transad.value_and_grad(f, 1, jit=jit)(np.ones((0, 3)), 2.0) == (6.0, 3.0)
    assert transad.value_and_grad(f, 1, jit=jit)(np.ones((1, 3)), 2.0)[1] == pytest.approx(
        3.0 + 6.0 * np.sin(2.0) * np.cos(2.0))


def test_a_program_that_may_run_again_neither_writes_nor_prints(capsys):
    def writes(m, v):
        m[0, 0] = m[0, 0] * 2.0
        return np.sum(sum(np.sin(r * v) for r in m))

    def prints(m, v):
        print("once")
        return np.sum(sum(np.sin(r * v) for r in m))
    m = np.ones((2, 3))
    assert transad.value_and_grad(writes, 1)(m, np.array([0.5]))[1] == pytest.approx([2.0 * np.cos(1.0) + 5.0 * np.cos(0.5)])
    assert m[0, 0] == 2.0
    transad.grad(prints, 1)(m, np.array([0.5]))
    assert capsys.readouterr().out == "once\n"


def _statistics(xs, a):
    ys = [np.sin(x * a) * np.exp(-x) for x in xs if x > 0.4]
    return np.std(ys) + np.median(ys) + np.cumsum(ys)[3] + np.average(ys, weights=ys)


def _stacked(xs, w):
    rows = [np.sin(x * w) for x in xs if x > 0.4]
    return np.sum(np.vstack(rows) ** 2) + np.sum(np.column_stack(rows)[0]) + np.sum(np.concatenate(rows)[2:7] ** 2)


@pytest.mark.parametrize("f, b", [(_statistics, 1.3), (_stacked, np.array([0.5, -1.0, 2.0]))], ids=["statistics", "stacked"])
def test_library_of_lists(f, b):
    xs = np.linspace(0.15, 1.9, 23)
    y, gradients = transad.value_and_grad(f, (0, 1))(xs, b)
    assert y == pytest.approx(f(xs, b), rel=1e-12)
    for found, expected in zip(gradients, differences(f, (xs, b)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
