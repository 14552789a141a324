"""The Gaussian process of the examples: its gradient, its fit, the two forms of the likelihood."""
import importlib.util
import sys
from pathlib import Path

import numpy as np

import transad

PATH = Path(__file__).resolve().parent.parent / "examples" / "gaussian_process.py"


def load():
    spec = importlib.util.spec_from_file_location("example_gaussian_process", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_gradients_of_both_forms_agree_with_differences():
    gp = load()
    t, y, _ = gp.read(every=12)
    for loss in (gp.loss, gp.loss_by_solve):
        found = transad.grad(loss)(gp.START, t, y)
        shifts = 1e-5 * np.eye(6)
        wanted = [(loss(gp.START + s, t, y) - loss(gp.START - s, t, y)) / 2e-5 for s in shifts]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_fit_predicts_what_it_has_not_seen():
    gp = load()
    t, y, _ = gp.read(every=3)
    seen = (t < 1980) | (t > 1983)
    lines = []
    logs = gp.fit(t[seen], y[seen], show=lines.append)
    assert "log marginal likelihood" in lines[0]
    assert np.max(np.abs(transad.grad(gp.loss)(logs, t[seen], y[seen]))) < 0.5
    noise, cycle = np.exp(logs[5]), np.exp(logs[2])
    assert 0.1 < noise < 0.8 and 1.0 < cycle < 10.0
    mean, _ = gp.predict(logs, t[seen], y[seen], t[~seen])
    assert np.sqrt(np.mean((mean - y[~seen]) ** 2)) < 1.0
