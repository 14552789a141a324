"""The examples find the parameters that their published sources print, compiled and uncompiled."""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transad

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = ["sir_influenza", "lynx_hare", "garch_sp500"]


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def central_differences(f, x, step=1e-6):
    x = np.asarray(x, float)
    shifts = step * np.eye(len(x))
    return np.array([(f(x + shift) - f(x - shift)) / (2 * step) for shift in shifts])


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "python"])
def test_sir_finds_the_published_reproduction_number(jit):
    lines = []
    beta, gamma = load("sir_influenza").fit(jit=jit, show=lines.append)
    assert beta == pytest.approx(1.6692, rel=2e-3)
    assert gamma == pytest.approx(0.4435, rel=2e-3)
    assert beta / gamma == pytest.approx(3.65, rel=0.05)             # Keeling and Rohani 2008
    assert len(lines) >= 3 and "squared error" in lines[0]


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "python"])
def test_lynx_and_hare_agree_with_carpenter(jit):
    example = load("lynx_hare")
    found = example.fit(jit=jit, show=lambda line: None)
    np.testing.assert_allclose(found, [0.5402, 0.02720, 0.7964, 0.02368, 34.59, 5.84], rtol=5e-3)
    np.testing.assert_allclose(found[:4], list(example.CARPENTER.values()), rtol=0.05)


def test_garch_reaches_the_maximum_that_arch_reports():
    example = load("garch_sp500")
    dates, returns = example.load_returns()
    assert len(dates) == len(returns) == 5030 and str(dates[-1]) == "2018-12-31"
    backcast = example.variance_before_the_first_day(returns)
    params, log_likelihood = example.fit(returns, backcast, show=lambda line: None)
    np.testing.assert_allclose(params, [0.056353, 0.017507, 0.102150, 0.885206], rtol=5e-3)
    assert log_likelihood == pytest.approx(-6936.7185, abs=2e-3)


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "python"])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_matches_differences(name, jit):
    example = load(name)
    if name == "sir_influenza":
        loss, x, data = example.loss, [1.5, 0.4], (example.IN_BED,)
    elif name == "lynx_hare":
        loss, x, data = example.loss, np.log([0.5, 0.03, 0.8, 0.02, 30.0, 4.0]), (example.HARES, example.LYNX)
    else:
        loss, x, data = example.negative_log_likelihood, [0.05, 0.02, 0.1, 0.85], (
            example.load_returns()[1][:300], 1.8)
    x = np.asarray(x)
    value, gradient = transad.value_and_grad(transad.differentiable(loss, jit=jit))(x, *data)
    assert value == pytest.approx(loss(x, *data), rel=1e-12)
    expected = central_differences(lambda p: loss(p, *data), x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_program_prints_both_columns_and_saves_a_plot(name, tmp_path):
    picture = tmp_path / "plot.png"
    done = run(name, "--output", str(picture))
    assert done.returncode == 0, done.stderr
    assert "iteration" in done.stdout and "fitted" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_help_names_the_options(name):
    done = run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert all(option in done.stdout for option in ("--no-jit", "--no-plot", "--output"))


def run(name, *options):
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONPATH": str(EXAMPLES.parent)}
    return subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py"), *options], env=environment,
                          capture_output=True, text=True, timeout=300)
