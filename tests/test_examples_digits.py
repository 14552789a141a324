"""The digits example trains, privately too, and names influential samples."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_per_sample_digits(tmp_path):
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, EXAMPLES / "per_sample_digits.py", "--steps", "150", "--output",
                           tmp_path / "digits.png"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    plain, private = (float(x) for x in re.findall(r": (0\.\d+)$", done.stdout, re.MULTILINE))
    assert plain > 0.94 and 0.85 < private < plain, done.stdout
    label, guess, _, helpful, _, harmful = (int(x) for x in re.search(
        r"a (\d), is taken for a (\d); most helpful: training digit (\d+), a (\d); most harmful: (\d+), a (\d)",
        done.stdout).groups())
    assert label != guess and harmful == guess, done.stdout          # what pulls a digit over looks like its guess
    assert (tmp_path / "digits.png").stat().st_size > 5000
