"""The typed path around the text: files and caches, several processes, tracebacks, changed functions, `back`."""
import os
import subprocess
import sys
import textwrap
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import transad

ROOT = Path(__file__).parent.parent
MODULE = textwrap.dedent("""
    import math
    import sys
    import transad

    def f(a, w, t):
        s = 0.0
        for i in range(4):
            g = math.sin(a * w) + t
            s += g * g * w if s < 2.0 else t * a
        return s

    if __name__ == "__main__":
        if sys.argv[1] == "text":
            print(transad.differentiable(f, path="typed").source(0.3, 0.4, 0.5, wrt=[0, 1, 2]))
        else:
            print(transad.grad(f, (0, 1, 2), jit=True)(0.3, 0.4, 0.5))
""")


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(MODULE)

    def run(what, code=None, **variables):
        given = {**os.environ, "PYTHONPATH": str(ROOT), "TRANSAD_CACHE_DIR": str(tmp_path / "cache"), **variables}
        command = [sys.executable, "-W", "error", *(["-c", code] if code else [str(path), what])]
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout
    run.cache = tmp_path / "cache"
    return run


def test_the_same_text_in_every_process(program):
    assert program("text", PYTHONHASHSEED="1") == program("text", PYTHONHASHSEED="2")


def compiled_files(cache):
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(cache.glob("__pycache__/*.nbc"))}


def test_a_second_process_compiles_nothing(program):
    first = program("run")
    known = compiled_files(program.cache)
    assert known
    assert program("run") == first
    assert compiled_files(program.cache) == known


def test_a_damaged_compiled_cache_is_built_again(program):
    first = program("run")
    for p in program.cache.glob("__pycache__/*.nb*"):
        p.write_bytes(b"damaged")
    for p in program.cache.glob("*.py"):
        p.write_text("raise SystemExit('damaged')")
    assert program("run") == first


def test_a_folder_that_cannot_be_written_falls_back_to_memory(program, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    code = "import program, transad; print(transad.grad(program.f, path='typed')(0.3, 0.4, 0.5))"
    assert program("", code, TRANSAD_CACHE_DIR=str(tmp_path / "file" / "cache")) == program("", code)


def test_a_damaged_file_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSAD_CACHE_DIR", str(tmp_path))

    def made():
        def f(x):
            return x * x * x
        return transad.differentiable(f, path="typed")
    assert made().grad(2.0) == 12.0
    files = list(tmp_path.glob("*.py"))
    texts = {p: p.read_text() for p in files}
    assert files
    for p in files:
        p.write_text("damaged")
    assert made().grad(2.0) == 12.0
    assert {p: p.read_text() for p in files} == texts


def test_tracebacks_show_the_generated_line():
    def f(x, i):
        return x[0] * x[i]
    with pytest.raises(IndexError) as caught:
        transad.grad(transad.differentiable(f, path="typed"))(np.ones(2), 7)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert "x[i]" in (last.line or "")


SCALE = 2.0


def helper(x):
    return x * x


def uses_both(x):
    return SCALE * helper(x)


def test_changed_callees_and_constants_are_seen(monkeypatch):
    g = transad.grad(transad.differentiable(uses_both, path="typed"))
    assert g(3.0) == 12.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert g(3.0) == 30.0
    monkeypatch.setitem(globals(), "helper", lambda x: 7.0 * x)
    assert g(3.0) == 35.0


def test_back_twice_after_overwriting_and_from_threads():
    def f(x, s):
        x[1] *= s
        return x * x[1], np.sum(x)
    x = np.array([1.0, 2.0, 3.0])
    y, back = transad.pullback(transad.differentiable(f, path="typed"), x, 2.0)
    seed = (np.array([1.0, 10.0, 100.0]), 0.5)
    first = back(seed)
    x[:], y[0][:] = 9.0, 9.0
    with ThreadPoolExecutor(4) as pool:
        for again in pool.map(lambda _: back(seed), range(16)):
            assert again[0].tobytes() == first[0].tobytes() and again[1] == first[1]
    # x -> (x0 u, u^2, x2 u), x0 + u + x2 with u = s x1 = 4
    d_u = 1.0 + 2 * 4 * 10.0 + 3 * 100.0 + 0.5
    assert first[0].tolist() == [4.5, 2.0 * d_u, 400.5] and first[1] == 2.0 * d_u


def test_back_inside_another_derivative():
    def cube(u):
        return u * u * u
    y, back = transad.pullback(transad.differentiable(cube, path="typed"), 2.0)
    assert transad.grad(lambda c: back(c)[0] * c)(3.0) == 2 * 12.0 * 3.0


def test_number_of_ones_and_arrays_made_within_a_trip_compile():
    def f(x):
        s = 1.0
        for i in range(2):
            t = np.ones(3) * x[i]
            t[0] = x[1]
            s *= np.sum(t)
        return s
    x = np.array([2.0, 3.0])                  # (2 * 2 + 3) * (3 * 3)
    for options in ({"path": "typed"}, {"jit": True}):
        assert np.allclose(transad.grad(f, **options)(x), [2 * 9.0, 9.0 + 7 * 3.0])


def test_variables_called_like_helpers_of_emitted_code():
    def f(x, gather):
        summed = 0.0
        for i in range(len(x)):
            unbroadcast = x[i] * gather
            summed += unbroadcast**2
        ramp = np.where(x > 0, x, summed * x)
        return np.sum(ramp) + np.sum(x[np.array([0, 0])])
    x, h = np.array([0.5, -0.3, 1.2]), 1e-6
    differences = [(f(x + h * e, 1.3) - f(x - h * e, 1.3)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(transad.grad(transad.differentiable(f, path="typed"))(x, 1.3), differences, rtol=1e-7)
