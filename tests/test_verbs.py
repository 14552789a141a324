"""The verbs of Jacobians and second derivatives: shapes, structures, empty arrays, refusals; JAX's conventions."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transad as ta
from transad.errors import TransadError
from transad.runtime.memory import laid_out_alike

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


ROWS = np.arange(12.0).reshape(4, 3)
LAYOUTS = {"rows": np.arange(6.0).reshape(2, 3), "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
           "gaps": ROWS[::2], "gaps turned": ROWS[::2].T, "backwards": ROWS[:2, ::-1]}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_an_argument_is_kept(order: Any, layout: str) -> None:
    def f(a: Any) -> Any:
        return np.sum(np.ravel(a, order=order) ** 2 * np.arange(6.0))
    a = LAYOUTS[layout]
    y, g = ta.value_and_grad(f)(a)
    assert y == f(a) and np.array_equal(np.ravel(g, "C"), 2 * np.ravel(a, "C") * _weights(a, order))
    ta.check_grads(f, (a,))


def _weights(a: Any, order: Any) -> Any:
    """The weight of each element of `a`, row by row."""
    places = np.empty(6)
    numbers = laid_out_alike(a)
    numbers[...] = np.arange(6.0).reshape(a.shape)
    places[np.ravel(numbers, order=order).astype(int)] = np.arange(6.0)
    return places


Z = np.array([1.0 + 2.0j, 2.0 - 1.0j])


@pytest.mark.parametrize("verb", [ta.jacfwd, ta.jacrev, ta.jacobian])
def test_jacobians_of_complex_functions(verb: Any) -> None:
    assert np.array_equal(verb(lambda z: z * z)(Z), np.diag(2.0 * Z))
    assert np.array_equal(verb(lambda x: x * (1.0 + 2.0j))(V), np.eye(2) * (1.0 + 2.0j))
    assert np.array_equal(verb(lambda z: np.abs(z) ** 2)(Z), np.diag(2.0 * np.conj(Z)))
    assert verb(lambda z: z * z)(2j) == 4j
    with pytest.raises(TransadError, match="holomorphic"):
        verb(np.conj)(Z)


def test_forward_gradients_of_complex_arguments() -> None:
    assert ta.grad(lambda z: abs(z) ** 2, mode="forward")(1 + 2j) == 2 - 4j
    assert np.array_equal(ta.grad(lambda z: np.sum(np.abs(z) ** 2), mode="forward")(Z), 2.0 * np.conj(Z))


@pytest.mark.parametrize("refused", [
    lambda: ta.linearize(lambda x: x * 2, V)[1](V, 2.0), lambda: ta.linearize(lambda x: x * 2, V)[1](np.ones(1)),
    lambda: ta.hvp(lambda x: x * x, (1.0,), ()), lambda: ta.hvp(lambda x: np.sum(x * x), (V,), (np.ones(1),)),
    lambda: ta.jvp(lambda x: x * 2, (1.0,), (V,))])
def test_tangents_that_do_not_fit_are_refused(refused: Any) -> None:
    with pytest.raises(TransadError):
        refused()


@pytest.mark.parametrize("verb", [ta.jacrev, ta.jacfwd, ta.jacobian])
def test_the_rows_and_columns_of_a_jacobian_share_one_run(verb: Any) -> None:
    runs = []

    def f(v: Any) -> Any:
        runs.append(None)
        return {"out": np.cumsum(v * v)}
    found = verb(f)(np.arange(1.0, 13.0))["out"]
    assert np.array_equal(found, np.tril(np.ones((12, 12))) * 2 * np.arange(1.0, 13.0))
    assert len(runs) == 1


def test_arguments_that_the_function_changes_have_gradients_of_what_they_were() -> None:
    def f(values: list) -> Any:
        total = values[0] * values[1]
        values.append(total)
        values[0] = 5.0
        return total * values[0]
    given = [2.0, 3.0]
    assert ta.grad(f, mode="forward")(given) == [15.0, 10.0] and given == [5.0, 3.0, 6.0]
    assert ta.jacfwd(f)([2.0, 3.0]) == [15.0, 10.0] and ta.linearize(f, [2.0, 3.0])[1]([1.0, 0.0]) == 15.0


def not_compiled(v: Any) -> Any:
    class Holder:
        def __init__(self) -> None:
            self.v = v
    return np.sum(Holder().v ** 2)


@pytest.mark.parametrize("verb", [
    lambda f: ta.jvp(f, (V,), (V,)), lambda f: ta.linearize(f, V), lambda f: ta.hvp(f, (V,), (V,)), lambda f: ta.hessian(f)(V),
    lambda f: ta.jacfwd(f)(V), lambda f: ta.jacrev(f)(V), lambda f: ta.value_grad_and_hessian(f)(V),
    lambda f: ta.grad(f, mode="forward")(V)])
def test_every_verb_compiles_or_says_why_not(verb: Any) -> None:
    with pytest.raises(ta.errors.CannotCompile, match="classdef"):
        verb(ta.differentiable(not_compiled, jit=True))


def test_an_auxiliary_result_stands_beside_the_tangent() -> None:
    assert ta.jvp(lambda x: (x * x, {"x": x}), (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, {"x": 3.0})
    assert ta.jvp(lambda x: (x * x, x + 1.0), (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, 4.0)
    with pytest.raises(TransadError, match="pair"):
        ta.jvp(lambda x: x * x, (3.0,), (1.0,), has_aux=True)


@pytest.mark.parametrize("verb", [ta.jacfwd, ta.jacrev, ta.jacobian])
def test_jacobians_with_something_beside(verb: Any) -> None:
    found, aux = verb(lambda x: (x * x, {"sum": np.sum(x), "name": "squares"}), has_aux=True)(V)
    assert found.tolist() == [[2.0, 0.0], [0.0, 4.0]] and aux == {"sum": 3.0, "name": "squares"}
    blocks, aux = verb(lambda x, y: (x * y, x), (0, 1), has_aux=True)(2.0, 3.0)
    assert blocks == (3.0, 2.0) and aux == 2.0
    with pytest.raises(TransadError, match="pair"):
        verb(lambda x: x * x, has_aux=True)(V)


def test_second_derivatives_and_linear_maps_with_something_beside() -> None:
    found, aux = ta.hessian(lambda x: (np.sum(x ** 3), len(x)), has_aux=True)(V)
    assert found.tolist() == [[6.0, 0.0], [0.0, 12.0]] and aux == 2
    y, push, aux = ta.linearize(lambda x: (x * x, "squares"), V, has_aux=True)
    assert y.tolist() == [1.0, 4.0] and push(V).tolist() == [2.0, 8.0] and aux == "squares"
