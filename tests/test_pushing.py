"""The forward sweep of the recorded path: functions that are linear, lists among the arguments, rules by adjoints."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transad as ta

X = np.array([0.7, -1.2, 1.9])
T = np.array([0.3, -1.0, 0.5])
M = np.array([[1.0, 0.4], [0.2, 2.0], [-0.3, 0.6]])


def held(v: Any) -> Any:
    """Keeps a program on the recorded path."""
    return {"v": v}["v"]


LINEAR: list[Any] = [
    lambda v: np.sum([v[0], 3.0, v[1]]), lambda v: np.dot([v[0], 2.0, v[2]], v), lambda v: np.array([v[0], 4.0, v[1] * v[2]]),
    lambda v: np.array([[v[0], 1.0], [2.0, v[1]]], dtype=np.float64), lambda v: np.where(v > 0, v, 5.0),
    lambda v: np.where(v > 0, 5.0, v * v), lambda v: np.concatenate([v, [1.0, v[0]], np.ones(2)]),
    lambda v: np.stack([v, X, v * v], axis=1), lambda v: np.append(v, [7.0, v[2]]), lambda v: np.append(X, v[0]),
    lambda v: np.einsum("i,ij,k->jk", v, M, v), lambda v: np.einsum("i,i->", [v[0], 1.0, 2.0], v), lambda v: v @ M,
    lambda v: M.T @ (v * v), lambda v: np.sum(np.outer(v, v), axis=0, keepdims=True), lambda v: np.mean(v * v),
    lambda v: np.sum(v, initial=3.0) ** 2, lambda v: np.mean(v, where=v > 0), lambda v: np.cumsum(v)[::2] * v[0],
    lambda v: np.tensordot(v, M, axes=1), lambda v: np.kron(v, X), lambda v: np.cross(v, X), lambda v: np.vdot(v, v + 1j * X),
    lambda v: np.convolve(v, X, mode="same"), lambda v: np.diff(v, n=2), lambda v: np.diff(v, prepend=v[1] * v[1]),
    lambda v: np.block([[v, v * v], [np.ones(3), v]]), lambda v: np.fft.rfft(v * v), lambda v: np.real(np.fft.ifft(v)),
    lambda v: np.tile(v, (2, 2)), lambda v: np.repeat(v, [1, 0, 2]), lambda v: np.take(v, [0, 0, 2]), lambda v: np.roll(v, 1),
    lambda v: np.prod(v) * np.max(v), lambda v: np.linalg.solve(np.diag(v) + 0.1, X), lambda v: np.sort(v)[::-1] * v,
    lambda v: np.trapezoid(v, np.cumsum(v)), lambda v: np.linalg.norm(v), lambda v: np.hstack([v[:1], v]).astype(complex) * 1j]


@pytest.mark.parametrize("f", LINEAR)
def test_pushed_as_differences_say(f: Any) -> None:
    def program(v: Any) -> Any:
        return f(held(v))
    step = 1e-6
    wanted = (np.asarray(f(X + step * T)) - np.asarray(f(X - step * T))) / (2 * step)
    y, pushed = ta.jvp(program, (X,), (T,))
    assert np.array_equal(y, f(X))
    np.testing.assert_allclose(pushed, wanted, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ta.linearize(program, X)[1](T), pushed, rtol=1e-14)


@pytest.mark.parametrize("f", LINEAR)
def test_second_directional_derivatives(f: Any) -> None:
    """Forward over forward, and reverse over forward, against differences of the pushforward."""
    def once(v: Any) -> Any:
        t = ta.jvp(lambda w: f(held(w)), (v,), (T,))[1]
        return np.sum(np.real(t)) + np.sum(np.imag(t))
    step = 1e-6
    wanted = (once(X + step * T) - once(X - step * T)) / (2 * step)
    np.testing.assert_allclose(ta.jvp(once, (X,), (T,))[1], wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.dot(ta.grad(once)(X), T), wanted, rtol=1e-6, atol=1e-7)
