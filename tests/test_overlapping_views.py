"""Views whose elements share memory: each element read adds to the same place; stores into them are refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import transad
from tests.fuzz.check import check_function

X = np.array([0.7, -1.2, 0.4])
MASK = np.array([[True, False, False], [True, False, True]])


def masked(x):
    return np.broadcast_to(x, (2, 3))[MASK]


def masked_column(x):
    return np.broadcast_to(x[:, None], (3, 2))[MASK.T]


def masked_windows(x):
    return sliding_window_view(x * x, 2)[np.array([[True, True], [True, False]])]


def gathered(x):
    return np.broadcast_to(x, (2, 3))[[0, 1, 1], [2, 2, 0]]


def copied_where(x):
    b = np.zeros((2, 3))
    np.copyto(b, x * x, where=[True, False, True])
    return b


def stored_in_parts(x):
    y = np.zeros(3)
    w = as_strided(y, (2, 2), (8, 8))
    w[0] = x[:2] * 2.0
    w[1] = x[1:] * w[0]
    w[0, 1] += x[0]
    return y


@pytest.mark.parametrize("f", [masked, masked_column, masked_windows, gathered, copied_where, stored_in_parts])
def test_every_element_counts(f):
    check_function(f, X)


def whole(w, x):
    w[:] = x[:2]


def augmented(w, x):
    w += x[:2]


def by_mask(w, x):
    w[w >= 0.0] = x[0]


@pytest.mark.parametrize("store", [whole, augmented, by_mask])
def test_stores_are_refused(store):
    def f(x):
        y = np.zeros(3)
        store(as_strided(y, (2, 2), (8, 8)), x)
        return np.sum(y * x)
    with pytest.raises(transad.Unsupported, match="elements share memory"):
        transad.grad(f)(X)
