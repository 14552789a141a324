"""What README.md says beside its doctests: the printed derivative is what `transad show` prints, and the
continuous integration runs the very test command that is given there."""
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"```console\n\$ transad (.*?)\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("command, printed", COMMANDS)
def test_printed_derivative_is_what_the_command_prints(command, printed, tmp_path):
    program = re.search(r"Put this into `model.py`:\n\n```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "model.py").write_text(program.group(1))
    done = subprocess.run([sys.executable, "-m", "transad", *shlex.split(command)], cwd=tmp_path,
                          env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


def test_continuous_integration_runs_the_test_command():
    test_command = re.search(r"Run the tests:\n\n```\n(.*)\n```", README).group(1)
    assert test_command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_first_command_runs_an_example_that_exists():
    first = re.search(r"```\n(python3 -m venv .*)\n```", README).group(1)
    assert (ROOT / first.split()[-1]).is_file()
