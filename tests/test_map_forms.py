"""Every form of a map: value and gradient against differences, and whether it is a kernel."""
from __future__ import annotations

import numpy as np
import pytest

import transad
from tests.map_form_programs import FORMS
from transad import typed

BY_PYTHON = {
    # items depend on those before
    "under_for_product", "prange_product", "prange_max", "stateful", "stateful_nonlocal", "appending",
    # iterators that are used more than once, or item by item
    "lazy", "used_twice",
    # tests and items that see what others left
    "counted_tests", "marking_items",
    # the first item that decides ends the loop
    "under_any", "under_all", "all_of_filtered", "any_stops",
    # not compiled yet
    "under_fsum", "array_items_summed", "vectorized", "vectorized_two",
    "explicit_gradients", "bound_method", "list_of_arrays", "writes_into_captured",
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
