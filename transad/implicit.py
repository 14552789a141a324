"""Derivatives of what a solver finds, from the conditions that the solution fulfils.

>>> import numpy as np
>>> def babylonian(a):
...     x = 1.0
...     while abs(x * x - a) > 1e-15 * a:
...         x = 0.5 * (x + a / x)
...     return x
>>> root = implicit(babylonian, lambda x, a: x * x - a)
>>> from transad import grad
>>> grad(root)(4.0), grad(grad(root))(4.0)
(0.25, -0.03125)

The solver runs as it is, once, and may be anything: iterative, compiled, random. If c(x, a) = 0 holds at the solution
then dx = -(dc/dx)^-1 (dc/da) da. The text below says so as Newton steps with a constant Jacobian,

    x <- x - J^-1 (c(x, a) - c(x0, a0)),

which change nothing in the value, and each of which gives one order of derivative more. Whatever `conditions` reads
(arguments, captured variables, attributes) is thereby differentiated, in both modes.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.runtime.plainly import orders, plainly
from transad.tree import children, is_number, leaves_of, map_tree
from transad.verbs import stop_gradient

__all__ = ["Implicit", "implicit", "solution"]


class Implicit:
    """See `implicit`."""

    def __init__(self, solver: Callable, conditions: Callable) -> None:
        functools.update_wrapper(self, solver)
        self.__wrapped__ = solver
        self.conditions = conditions

    @property
    def _called_inside(self) -> Callable:
        return functools.partial(_solved, self.__wrapped__, self.conditions)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


def implicit(solver: Callable, conditions: Callable | None = None, *, objective: Callable | None = None) -> Implicit:
    """The solver with the derivative that the implicit function theorem gives its solution.

    solver      solver(*args, **kwargs) -> x: a number, an array, or a list, tuple or dict of those
    conditions  conditions(x, *args, **kwargs) -> as many numbers as x has, all zero at the solution
    objective   instead of conditions, where the solver minimises: objective(x, *args, **kwargs) -> a number, whose
                gradient is the conditions

    A solution at which the conditions are far from zero, or singular in x, has no derivative: `InvalidArgument`.
    """
    if (conditions is None) == (objective is None):
        raise TypeError("implicit takes either the conditions of a solution or the objective that it minimises")
    if conditions is None:
        from transad.api import grad
        conditions = grad(objective)  # type: ignore[arg-type]
    return Implicit(solver, conditions)


def _solved(solver: Callable, conditions: Callable, *args: Any, **kwargs: Any) -> Any:
    x = plainly(solver, *args, **kwargs)
    return solution(lambda x: conditions(x, *args, **kwargs), x)


def solution(conditions: Callable, x: Any) -> Any:
    """`x`, at which `conditions(x)` is zero, with its derivative."""
    if children(x) is not None:
        return _structured(conditions, x)
    x = stop_gradient(x) if isinstance(x, np.ndarray) else x * 1.0
    start = None
    inverse = plainly(inverse_jacobian, conditions, x)
    for _ in range(orders()):
        found = np.ravel(np.asarray(conditions(x)))
        if start is None:
            start = stop_gradient(found)
            check_solution(inverse @ start, x)
        step = inverse @ (found - start)
        x = x - (np.reshape(step, np.shape(x)) if isinstance(x, np.ndarray) else step[0])
    return x


def _structured(conditions: Callable, x: Any) -> Any:
    """A solution of several parts, as one vector."""
    flat = np.concatenate([np.ravel(leaf) for leaf in leaves_of(x)])

    def of_vector(vector: Any) -> Any:
        return np.concatenate([np.ravel(leaf) for leaf in leaves_of(conditions(in_parts(vector, x)))])
    return in_parts(solution(of_vector, flat), x)


def in_parts(vector: Any, like: Any) -> Any:
    """The numbers of a vector in the structure of `like`."""
    parts = []
    position = 0
    for leaf in leaves_of(like):
        if is_number(leaf):
            parts.append(vector[position])
        else:
            parts.append(np.reshape(vector[position:position + np.size(leaf)], np.shape(leaf)))
        position += np.size(leaf)
    return filled(like, parts)


def filled(like: Any, parts: list) -> Any:
    """`like` with other leaves."""
    remaining = iter(parts)
    return map_tree(lambda _: next(remaining), like)


def inverse_jacobian(conditions: Callable, x: Any) -> np.ndarray:
    """The inverse of the derivative of the conditions at the solution (plain numbers)."""
    from transad.forwards.matrices import jacobian
    size = np.size(x)

    def of_vector(vector: Any) -> Any:
        return np.ravel(np.asarray(conditions(np.reshape(vector, np.shape(x)) if np.ndim(x) else vector[0])))
    matrix = jacobian(of_vector)(np.ravel(np.asarray(x) * 1.0))
    if np.shape(matrix) != (size, size):
        raise InvalidArgument(f"the conditions have {np.shape(matrix)[0]} entries, the solution {size}",
                              instead="give as many conditions as unknowns")
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.full((size, size), np.nan)
    if not np.all(np.isfinite(inverse)):
        raise InvalidArgument("the conditions do not determine the solution to first order (their Jacobian is "
                              "singular there), so it has no derivative")
    return inverse


def check_solution(step: np.ndarray, x: Any) -> None:
    """Refuse a point that a Newton step would move noticeably: it is not the solution."""
    worst = float(np.max(np.abs(step), initial=0.0))
    if not worst <= 1e-3 * (1.0 + float(np.max(np.abs(x), initial=0.0))):
        raise InvalidArgument("the conditions are not zero at the solution that the solver returned (a Newton step "
                              f"would move it by {worst:.3g}), so it has no derivative",
                              instead="let the solver converge, or give the conditions that it solves")
