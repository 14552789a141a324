"""The examples of maps and forward mode run as programs and print what they should."""
import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(*arguments, cwd):
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_asian_greeks(tmp_path):
    out = run(EXAMPLES / "asian_greeks.py", "--paths", 4000, "--steps", 20, "--output", tmp_path / "greeks.png",
              cwd=tmp_path)
    assert (tmp_path / "greeks.png").stat().st_size > 1000
    delta = float(re.search(r"delta\D+(\d+\.\d+)", out, re.IGNORECASE).group(1))
    assert 0.5 < delta < 0.7, out            # a call at the money


def test_sir_sweep(tmp_path):
    out = run(EXAMPLES / "sir_sweep.py", "--starts", 8, "--no-plot", cwd=tmp_path)
    assert re.search(r"1\.6[67]", out), out       # beta of examples/sir_influenza.py


def test_exponential_likelihood(tmp_path):
    out = run(EXAMPLES / "exponential_likelihood.py", cwd=tmp_path)
    ratio = float(re.search(r"forward in the map.* ([\d.]+) x", out).group(1))
    assert ratio > 76.0, out                      # against the interpreted reverse sweep
    constant = float(re.search(r"constant\s+(-?\d+\.\d+)", out).group(1))
    assert abs(constant - 0.2873) < 0.001, out
