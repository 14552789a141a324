"""Functions marked `fwddiff` in callers that are recorded: one entry of the tape each, taken forwards where they have loops."""
from __future__ import annotations

import functools

import numpy as np
import pytest

import transad
from tests.test_forward_marked import XS, Pair, differences, grown, pendulum, recurrence, running


class Registry:
    """What the typed path does not take."""

    def __init__(self, store):
        self.mark = functools.partial(transad.fwddiff, store=store)
        self.swing = transad.fwddiff(pendulum, store=store)
        self.step = transad.fwddiff(recurrence, store=store)
        self.grow = transad.fwddiff(grown, store=store)
        self.run = transad.fwddiff(running, store=store)

    def numbers(self, xs):
        return {"y": self.swing(xs[0], xs[1], n=20)}["y"] * xs[2]

    def arrays(self, xs):
        w = self.run(xs * 2.0, xs[1])
        w[0] = 3.0 * w[1]
        return {"y": self.step(w, 0.2)}["y"] * w[2] + self.step(xs, xs[0])

    def labelled(self, xs):
        def named(t, k):
            for _ in range(k):
                t = t * t + 0.1
            return "t", (t, None), t * k
        label, (a, nothing), b = self.mark(named)(xs[0] * xs[1], 2)
        return {"t": a, "u": b}[label] * xs[2] if nothing is None else b

    def structures(self, xs):
        r = self.grow(Pair(xs[0], 1.0 + xs[1]))
        return [r.u * r.v, xs[2]][0] * xs[2]


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("name", ["numbers", "arrays", "structures"])
def test_recorded_calls_are_one_entry(name, store, monkeypatch):
    from transad.runtime import marked
    f = getattr(Registry(store), name)
    calls = []
    swept = marked.Back.swept
    monkeypatch.setattr(marked.Back, "swept", lambda self: calls.append(1) or swept(self))
    np.testing.assert_allclose(transad.grad(f)(XS), differences(f, XS), rtol=1e-6)
    assert calls
    g = transad.grad(f)
    expected = np.array([(g(XS + h) - g(XS - h)) / 2e-5 for h in 1e-5 * np.eye(3)])
    np.testing.assert_allclose(transad.hessian(f)(XS), expected, rtol=1e-5, atol=1e-5)
    y, back = transad.pullback(f, XS)
    np.testing.assert_allclose(back(2.0)[0], 2.0 * g(XS), rtol=1e-12)
    np.testing.assert_allclose(transad.grad(lambda ct: np.sum(back(ct)[0]))(1.0), np.sum(g(XS)), rtol=1e-12)


@pytest.mark.parametrize("store", [False, True])
def test_recorded_calls_of_functions_made_inside(store):
    f = Registry(store).labelled
    np.testing.assert_allclose(transad.grad(f)(XS), differences(f, XS), rtol=1e-6)


def stepped(t, k):
    for _ in range(k):
        t = t * t + 0.1
    return "t", (t, None), t * k


stepped_forwards = transad.fwddiff(stepped)


def test_recorded_results_that_are_no_numbers():
    def f(xs):
        label, (a, nothing), b = stepped_forwards(xs[0] * xs[1], 2)
        return {"t": a, "u": b}[label] * xs[2] if nothing is None else b
    np.testing.assert_allclose(transad.grad(f, path="recorded")(XS), differences(f, XS), rtol=1e-6)


def test_recorded_calls_with_effects_run_once():
    seen = []

    def noted(t):
        for _ in range(3):
            seen.append(1)
            t = t * 0.5
        return t
    marked = transad.fwddiff(noted)
    assert transad.grad(lambda x: {"y": marked(x)}["y"] * x)(2.0) == 0.5
    assert len(seen) == 3
