"""What `back` and the verbs say to cotangents and choices that do not fit; the same on every path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import transad

X = np.array([0.7, -1.2, 0.4])
WAYS = [{}, {"path": "recorded"}, {"path": "typed"}, {"jit": True}]


def square(x):
    return x * x


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_of_an_array(way):
    _, back = transad.pullback(transad.differentiable(square, **way), X)
    for wrong in (1.0, np.ones(1), np.ones((3, 1)), np.ones((1, 3)), np.ones(2), 1j * X, "abc", ["a", "b", "c"]):
        with pytest.raises(transad.InvalidArgument, match="the cotangent of result"):
            back(wrong)
    for fits in ([1.0, 1.0, 1.0], np.ones(3, int), np.ones(6)[::2], np.ones(3, np.float32)):
        assert back(fits)[0].tolist() == (2.0 * X).tolist()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_of_a_number(way):
    _, back = transad.pullback(transad.differentiable(square, **way), 1.5)
    for wrong in (np.ones(1), [1.0], 1j):
        with pytest.raises(transad.InvalidArgument, match="the cotangent of result"):
            back(wrong)
    for fits in (1, np.float32(1.0), np.array(1.0)):
        assert back(fits) == (3.0,)


def test_no_argument_and_no_numbers():
    assert transad.grad(lambda x, y: x * y, ())(1.0, 2.0) == ()
    assert transad.value_and_grad(lambda x, y: x * y, (), jit=True)(1.0, 2.0) == (2.0, ())
    for wrong in (0.5, None, "x"):
        with pytest.raises(transad.InvalidArgument, match="argnums"):
            transad.grad(square, wrong)  # type: ignore[arg-type]
    with pytest.raises(transad.InvalidArgument, match="Fraction"):
        transad.grad(square)(Fraction(1, 2))
    assert transad.grad(lambda x: Fraction(1, 2) * x * x)(3.0) == 3.0


def test_of_the_other_byte_order():
    big = X.astype(">f8")
    assert transad.grad(lambda x: np.sum(x * x))(big).tolist() == (2.0 * X).tolist()
    with pytest.raises(transad.CannotCompile):
        transad.grad(lambda x: np.sum(x * x), jit=True)(big)


@pytest.mark.parametrize("way", [{}, {"jit": True}], ids=str)
def test_calls_that_python_refuses(way):
    with pytest.raises(TypeError, match="argument"):
        transad.grad(square, **way)(1.0, 2.0)
