"""The verbs of Jacobians and second derivatives: shapes, structures, empty arrays, refusals; JAX's conventions."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transad as ta
from transad.errors import TransadError

V = np.array([1.0, 2.0])


@pytest.mark.parametrize(("found", "shape"), [
    (lambda: ta.jacobian(lambda x: x * 2)(np.zeros(0)), (0, 0)),
    (lambda: ta.jacfwd(lambda x: np.ones(3) * np.sum(x))(np.zeros(0)), (3, 0)),
    (lambda: ta.jacrev(lambda x: x[:0])(np.ones(3)), (0, 3)),
    (lambda: ta.hessian(lambda x: np.sum(x ** 2))(np.zeros(0)), (0, 0)),
    (lambda: ta.jacfwd(lambda x, y: np.append(x, y), (0, 1))(np.zeros(0), V)[0], (2, 0)),
    (lambda: ta.jacfwd(lambda x, y: np.append(x, y), (0, 1))(np.zeros(0), V)[1], (2, 2)),
    (lambda: ta.jacrev(lambda d: d["a"] * np.sum(d["b"]))({"a": np.ones((2, 0)), "b": V})["b"], (2, 0, 2)),
    (lambda: ta.grad(lambda x: np.sum(x ** 2), mode="forward")(np.zeros(0)), (0,))])
def test_arrays_without_numbers(found: Any, shape: tuple[int, ...]) -> None:
    assert found().shape == shape


STRUCTURES: list[tuple[Any, tuple, Any]] = [
    (lambda x: {"a": x * x, "b": np.sum(x)}, (V,), {"a": [[2.0, 0.0], [0.0, 4.0]], "b": [1.0, 1.0]}),
    (lambda d: d["u"] * d["w"], ({"u": V, "w": 3.0},), {"u": [[3.0, 0.0], [0.0, 3.0]], "w": [1.0, 2.0]}),
    (lambda p: (p[0] * p[1], p[1]), ((2.0, 3.0),), ((3.0, 2.0), (0.0, 1.0))),
    (lambda x: np.ones(2), (V,), [[0.0, 0.0], [0.0, 0.0]])]


def plain(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: plain(v) for k, v in tree.items()}
    if isinstance(tree, tuple):
        return tuple(plain(v) for v in tree)
    return tree.tolist() if isinstance(tree, np.ndarray) else tree


@pytest.mark.parametrize("verb", [ta.jacfwd, ta.jacrev, ta.jacobian])
@pytest.mark.parametrize(("f", "args", "wanted"), STRUCTURES)
def test_structures_nest_as_in_jax(verb: Any, f: Any, args: tuple, wanted: Any) -> None:
    assert plain(verb(f)(*args)) == wanted


def test_blocks_of_several_arguments() -> None:
    assert ta.jacfwd(lambda x, y: (x * y, x + y), (0, 1))(2.0, 3.0) == ((3.0, 2.0), (1.0, 1.0))
    assert ta.jacrev(lambda x, y: (x * y, x + y), (0, 1))(2.0, 3.0) == ((3.0, 2.0), (1.0, 1.0))
    assert ta.hessian(lambda d: d["x"] ** 2 * d["y"])({"x": 2.0, "y": 3.0}) == {
        "x": {"x": 6.0, "y": 4.0}, "y": {"x": 4.0, "y": 0.0}}
    assert ta.hvp(lambda d: d["x"] ** 2 * d["y"], ({"x": 2.0, "y": 3.0},), ({"x": 1.0, "y": 0.5},)) == {"x": 8.0, "y": 4.0}


@pytest.mark.parametrize("refused", [
    lambda: ta.jacfwd(lambda s: s)(np.array([True])), lambda: ta.hessian(lambda s: np.sum(s))(np.array([True])),
    lambda: ta.jvp(lambda x: x, (V,), (np.ones(1),)), lambda: ta.jvp(lambda d: d["a"], ({"a": 1.0},), ({"b": 1.0},)),
    lambda: ta.jvp(lambda x: x, (1.0,), ()), lambda: ta.hessian(lambda v: v)(V), lambda: ta.hessian(lambda x: x * 1j)(1.0),
    lambda: ta.grad(lambda v: v, mode="forward")(V), lambda: ta.jacrev(lambda x: "a")(1.0)])
def test_what_has_no_meaning_is_refused(refused: Any) -> None:
    with pytest.raises(TransadError):
        refused()
