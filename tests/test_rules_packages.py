"""Rules that another package brings, and what the error of a missing rule says."""
import subprocess
import sys

import numpy as np
import pytest
import scipy.special as sp

from transad import grad
from transad.errors import MissingRule

PACKAGE = """
import numpy as np
softer = np.frompyfunc(lambda t: t ** 3, 1, 1)
"""
RULES = """
import fakelab, transad
@transad.rules.partials(fakelab.softer, at=[(0.5,)])
def _(x):
    return 3.0 * x * x
"""
USE = """
import fakelab, sys, transad
assert "fakelab_rules" not in sys.modules
print(transad.grad(lambda x: fakelab.softer(x))(2.0))
"""


def test_rules_by_entry_point(tmp_path):
    (tmp_path / "fakelab.py").write_text(PACKAGE)
    (tmp_path / "fakelab_rules.py").write_text(RULES)
    info = tmp_path / "fakelab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fakelab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[transad.rules]\nfakelab = fakelab_rules\n")
    script = tmp_path / "use.py"
    script.write_text(f"import sys\nsys.path[:0] = {[str(tmp_path), *[p for p in sys.path if p]]!r}\n{USE}")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.strip(), done.stderr) == ("12.0", "")


def test_a_missing_rule_names_the_nearest_and_shows_how_to_add_one():
    with pytest.raises(MissingRule) as caught:
        grad(lambda x: np.sum(sp.airye(x)[0]))(np.array([1.5, 2.5]))
    text = str(caught.value)
    assert "airye" in text and "airy" in text.replace("airye", "")
    assert "@transad.rules.partials(" in text and "def _(x): return ..." in text and "sp.airye(x)" in text
