"""Jacobians and second derivatives, under JAX's names and conventions.

>>> import numpy as np
>>> jacobian(lambda v: v * v)(np.array([1.0, 2.0]))
array([[2., 0.],
       [0., 4.]])
>>> hessian(lambda v: np.sum(v ** 3))(np.array([1.0, 2.0]))
array([[ 6.,  0.],
       [ 0., 12.]])

For several arguments and results with structure: the structure of the result outside, the tuple of arguments inside.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transad.api import Argnums, _check_differentiable, _Derivative, _Selection, _split, grad, jvp, run_pullback, value_and_grad
from transad.errors import InvalidArgument

__all__ = ["hessian", "hvp", "jacfwd", "jacobian", "jacrev", "value_and_jacobian", "value_grad_and_hessian"]


def jacrev(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
           has_aux: bool = False) -> Callable:
    """The Jacobian, one reverse sweep per number of the result; shape `y.shape + x.shape`, structures nest.

    has_aux  the function returns (value, aux); the result is (Jacobian, aux)
    """
    return _jacobian("jacrev", function, argnums, argnames, with_value=False, has_aux=has_aux)


def jacfwd(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
           has_aux: bool = False, chunk: int | None = None) -> Callable:
    """The Jacobian in forward mode, column by column; shape `y.shape + x.shape`.

    has_aux  the function returns (value, aux); the result is (Jacobian, aux)
    chunk    how many columns one sweep computes (default: all of a small function, else as many as is good)
    """
    selection = _Selection(function, argnums, argnames)
    options = _chunked(chunk)

    def by_columns(*args: Any, **kwargs: Any) -> Any:
        from transad.forwards.forward import jacobian as typed
        from transad.forwards.sweeps import columns
        from transad.runtime.jacobians import by_result
        chosen = selection.resolve(args, kwargs)
        for which in chosen:
            _check_differentiable(args[which] if isinstance(which, int) else kwargs[which], which)
        found = typed(function, args, kwargs, chosen, "columns") if chunk is None and not has_aux else None
        y, blocks = found or columns(function, args, kwargs, chosen, options, has_aux=has_aux)  # type: ignore[misc]
        y, aux = y if has_aux else (y, None)
        result = blocks[0] if selection.single else by_result(y, blocks)
        return (result, aux) if has_aux else result
    return _Derivative("jacfwd", function, by_columns)


def _chunked(chunk: int | None) -> dict[str, Any]:
    """The option, checked at once."""
    from transad.options import Options
    Options.of({"chunk": chunk})
    return {} if chunk is None else {"chunk": chunk}


def jacobian(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
             has_aux: bool = False, chunk: int | None = None, sparsity: Any = None) -> Callable:
    """The Jacobian, by rows or by columns, whichever are fewer; shape `y.shape + x.shape`.

    has_aux   the function returns (value, aux); the result is (Jacobian, aux)
    chunk     how many columns one forward sweep computes (default: as many as is good)
    sparsity  where it may be non-zero, a matrix (dense or of scipy.sparse) of shape (y.size, x.size) for one array
              argument and an array result; columns that share no row are computed together, and the Jacobian is a
              scipy.sparse.csr_array. An entry outside the pattern would be lost: give every place that can be non-zero
    """
    if sparsity is not None:
        if has_aux:
            raise InvalidArgument("jacobian with sparsity and has_aux", instead="leave out one of them")
        from transad.forwards.sparse import sparse_jacobian
        return _Derivative("jacobian", function, sparse_jacobian(function, _Selection(function, argnums, argnames), sparsity,
                                                                 _chunked(chunk)))
    return _jacobian("jacobian", function, argnums, argnames, with_value=False, chunk=chunk, has_aux=has_aux)


def value_and_jacobian(function: Callable, argnums: Argnums = 0, *,
                       argnames: str | Sequence[str] | None = None) -> Callable:
    """Value and Jacobian in one run."""
    return _jacobian("value_and_jacobian", function, argnums, argnames, with_value=True)


def _beside(y: Any, back: Callable, has_aux: bool) -> tuple[Any, Callable, Any]:
    """The value that is differentiated, its pullback, and what came along with it."""
    if not has_aux:
        return y, back, None
    from transad.forwards.sweeps import first
    return first(y), lambda cotangent: back((cotangent, None)), y[1]


def _jacobian(verb: str, function: Callable, argnums: Argnums, argnames: Any, with_value: bool,
              chunk: int | None = None, has_aux: bool = False) -> Callable:
    selection = _Selection(function, argnums, argnames)
    options = _chunked(chunk)

    def rows(*args: Any, **kwargs: Any) -> Any:
        from transad.forwards.forward import jacobian as typed
        from transad.runtime.jacobians import by_result, from_rows, numbers
        chosen = selection.resolve(args, kwargs)
        for which in chosen:
            _check_differentiable(args[which] if isinstance(which, int) else kwargs[which], which)
        found = None if has_aux else typed(function, args, kwargs, chosen, "rows" if verb == "jacrev" else "auto")
        if found is not None:
            result = found[1][0] if selection.single else tuple(found[1])
            return (found[0], result) if with_value else result
        positions, names = _split(chosen)
        y, back, aux = _beside(*run_pullback(function, args, kwargs, positions, names), has_aux)
        wide = None
        if verb != "jacrev" and numbers(y) > numbers([args[c] if isinstance(c, int) else kwargs[c] for c in chosen]):
            from transad.forwards.sweeps import columns
            wide = columns(function, args, kwargs, chosen, options, True, has_aux)
        order = [[*positions, *names].index(which) for which in chosen]
        blocks = from_rows(y, back, order) if wide is None else wide[1]
        result = blocks[0] if selection.single else by_result(y, blocks)
        result = (y, result) if with_value else result
        return (result, aux) if has_aux else result
    return _Derivative(verb, function, rows)


def hessian(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
            has_aux: bool = False, chunk: int | None = None) -> Callable:
    """The matrix of second derivatives of a function that returns one real number; shape `x.shape + x.shape`.

    has_aux  the function returns (value, aux); the result is (Hessian, aux)
    chunk    how many columns one sweep (forward over reverse) computes (default: all of a small function)
    """
    general = jacobian(grad(function, argnums, argnames=argnames, has_aux=has_aux), argnums, argnames=argnames, has_aux=has_aux)
    selection = _Selection(function, argnums, argnames)
    options = _chunked(chunk)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        found = None if has_aux else _second(function, args, kwargs, selection.resolve(args, kwargs), options)
        if found is None:
            return general(*args, **kwargs)
        return found[2][0][0] if selection.single else tuple(tuple(row) for row in found[2])
    return _Derivative("hessian", function, matrix)


def _second(function: Any, args: tuple, kwargs: dict, chosen: list[int | str], options: dict) -> Any:
    """(value, gradients, blocks of second derivatives) by emitted code, in one sweep where the function is small."""
    from transad.forwards.forward import compiled_or
    from transad.forwards.forward import hessian as small
    from transad.forwards.sweeps import hessian as general
    found = small(function, args, kwargs, chosen) if not options else None
    found = found or general(function, args, kwargs, chosen, options)
    if found is None:
        compiled_or(function, args, kwargs, chosen)
    return found


def value_grad_and_hessian(function: Callable, argnums: Argnums = 0, *, argnames: str | Sequence[str] | None = None,
                           chunk: int | None = None) -> Callable:
    """`(value, gradient, Hessian)`, arranged as `value_and_grad` and `hessian` do."""
    selection = _Selection(function, argnums, argnames)
    first = value_and_grad(function, argnums, argnames=argnames)
    second = hessian(function, argnums, argnames=argnames, chunk=chunk)
    options = _chunked(chunk)

    def all_three(*args: Any, **kwargs: Any) -> Any:
        found = _second(function, args, kwargs, selection.resolve(args, kwargs), options)
        if found is None:
            return (*first(*args, **kwargs), second(*args, **kwargs))
        y, grads, blocks = found
        if selection.single:
            return y, grads[0], blocks[0][0]
        return y, tuple(grads), tuple(tuple(row) for row in blocks)
    return _Derivative("value_grad_and_hessian", function, all_three)


def hvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian times `tangents`: the derivative of the gradient (of all primals) in that direction."""
    numbers = tuple(range(len(primals)))
    if len(primals) != len(tangents):
        raise InvalidArgument(f"hvp got {len(primals)} primals and {len(tangents)} tangents")
    from transad.forwards.forward import compiled_or
    from transad.forwards.forward import hvp as typed
    found = typed(function, tuple(primals), tuple(tangents))
    if found is not None:
        return found[0] if len(numbers) == 1 else tuple(found)
    compiled_or(function, tuple(primals), {}, numbers)
    result = jvp(grad(function, numbers), primals, tangents)[1]
    return result[0] if len(numbers) == 1 else result
