"""Whole numbers made from real ones are constant, in every function that takes a dtype."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad

CUT = [
    lambda x: np.sum(np.array([2.7 * x], dtype=int)) * 1.0,
    lambda x: np.sum(np.asarray([2.7 * x], int)) * 1.0,
    lambda x: np.sum(np.full(2, 2.7 * x, dtype=int)) * 1.0,
    lambda x: np.sum(np.full_like(np.arange(3), x * 2.7)) * 1.0,
    lambda x: np.sum(np.stack([np.array([x * 2.7])], dtype=int, casting="unsafe")) * 1.0,
    lambda x: np.sum(np.concatenate([np.array([x * 2.7])], dtype=int, casting="unsafe")) * 1.0,
    lambda x: np.sum(np.vectorize(lambda v: v * 2.7, otypes=[int])(np.array([x]))) * 1.0,
    lambda x: np.sum(np.array([x * 2.7]), dtype=int) * 1.0,
    lambda x: np.sum(np.fromiter((2.7 * x for _ in range(3)), int)) * 1.0,
]


@pytest.mark.parametrize("path", ["auto", "recorded"])
@pytest.mark.parametrize("function", CUT)
def test_cut_off(function, path):
    assert transad.value_and_grad(function, path=path)(1.9) == (function(1.9), 0.0)


def test_whole_numbers_that_are_differentiated_count_as_real():
    assert transad.grad(lambda n: np.sum(np.array([n, 2 * n])), path="recorded")(3) == 3.0
    np.testing.assert_array_equal(transad.grad(lambda n: np.sum(n * n))(np.array([1, 2])), [2.0, 4.0])


def test_fromiter_takes_as_many_as_asked_for():
    def first(x, count):
        return np.sum(np.fromiter((k * x for k in range(5)), float, count))
    assert transad.value_and_grad(first)(2.0, 3) == (6.0, 3.0)
    with pytest.raises(ValueError, match="too short"):
        transad.grad(first)(2.0, 6)

    def endless(x):
        def powers():
            y = 1.0
            while True:
                yield y
                y = y * x
        return np.sum(np.fromiter(powers(), float, 4))
    assert transad.value_and_grad(endless)(2.0) == (15.0, 1.0 + 4.0 + 12.0)


def test_fsum_of_a_generator():
    assert transad.grad(lambda x: math.fsum(k * x for k in range(4)))(2.0) == 6.0
