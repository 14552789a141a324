"""What a call leaves behind may be written to before the pullback runs: what was saved is what the call computed with."""

from __future__ import annotations

import types

import numpy as np
import pytest

import transad
from transad.runtime import leaks, run

X = np.array([0.7, -1.2, 0.4])
STATE = types.SimpleNamespace(h=np.zeros(3))
KEPT: list = []
BUFFER = np.zeros(3)


def attribute(x):
    STATE.h = np.tanh(x * 2.0)
    return np.sum(STATE.h * STATE.h)


def container(x):
    y = x * x
    KEPT.append(y)
    return np.sum(y * y)


def view(x):
    y = x * 2.0
    KEPT.append(y[1:])
    return np.sum(np.exp(y))


def argument(x):
    KEPT.append(x)
    return np.sum(x * x * x)


def closure(x):
    y = np.sin(x)
    KEPT.append(lambda: y)
    return np.sum(y * x)


def in_place(x):
    STATE.h = x * 1.0
    STATE.h *= x
    z = np.sum(STATE.h ** 2)
    STATE.h += 1.0
    return z * np.sum(STATE.h ** 3)


def buffer(x):
    BUFFER[:] = x * x
    return np.sum(BUFFER * BUFFER)


def overwrite():
    """Write into everything that was left behind."""
    for array in [STATE.h, BUFFER, *(k() if callable(k) else k for k in KEPT)]:
        array[:] = 99.0
    KEPT.clear()


@pytest.mark.parametrize("f", [attribute, container, view, argument, closure, in_place, buffer])
def test_overwritten_before_back(f):
    KEPT.clear()
    expected = transad.grad(f)(X)
    _, back = transad.pullback(f, X.copy())
    overwrite()
    assert np.allclose(back(1.0)[0], expected, 1e-14)
    transad.check_grads(f, (X,), order=1)


def test_two_calls_that_share_a_state():
    STATE.h = np.zeros(3)

    def step(x):
        STATE.h *= 0.5
        STATE.h += x * x
        return np.sum(STATE.h ** 2)
    pullbacks = [transad.pullback(step, x)[1] for x in (X, 2.0 * X, 3.0 * X)]
    h = np.zeros(3)
    for back, x in zip(pullbacks, (X, 2.0 * X, 3.0 * X), strict=True):
        h = 0.5 * h + x * x
        assert np.allclose(back(1.0)[0], 4.0 * h * x)


def test_what_nobody_holds_is_not_copied(monkeypatch):
    found = []

    def spy(sweep, before):
        found.append(leaks.held_by_others(sweep, before))
        return found[-1]
    monkeypatch.setattr(run, "held_by_others", spy)

    def f(x):
        d = {"h": np.tanh(x @ x)}
        for k in range(3):
            d["h"] = np.sin(d["h"]) * d["h"] + x[k]
        part = d["h"][1:].T
        return np.sum(part * part) + np.linalg.norm(np.concatenate([d["h"], part.T]))
    transad.pullback(f, np.outer(X, X))
    assert found == [[]]
