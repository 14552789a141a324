"""Maps with exp, log ... of several items at once: the values of the scalar functions to some units in the last place, the
same bits at any number of threads, and three switches that turn it off."""
from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import transad
from transad.command.plan import planned
from transad.ir import Let
from transad.kinds import FLOAT, Array
from transad.maps.text import of_numbers
from transad.options import Options
from transad.quote import call, expr, name
from transad.runtime import vector_maps

numba = pytest.importorskip("numba")
needs_library = pytest.mark.skipif(not vector_maps.available(), reason="no libmvec here")
XS = np.concatenate([np.linspace(0.1, 3.0, 20_003), [1e-300, 700.0, 1e5]])


def smooth(a, xs):
    return sum(np.log(a * x) - math.exp(-a * x) + np.tanh(x) * math.sin(a * x) for x in xs)


def assembly(folder, function):
    """Of a function of the modules in a folder, all that there is."""
    modules = [sys.modules.get(f"transad_generated_{path.stem}") for path in folder.glob("*.py")]
    return "".join(text for m in modules if m is not None for text in getattr(m, function).inspect_asm().values())


@needs_library
def test_values_and_bits(monkeypatch, tmp_path):
    """The loop over the items of a kernel calls the library; the results are those of the scalar functions."""
    monkeypatch.setenv("TRANSAD_CACHE_DIR", str(tmp_path))
    fast = transad.value_and_grad(smooth, (0, 1), jit=True)
    plain = transad.value_and_grad(smooth, (0, 1), jit=True, without="vector_math")
    expected, (d_a, d_xs) = plain(0.7, XS)
    bits, before = set(), numba.get_num_threads()
    for threads in (1, before):
        numba.set_num_threads(threads)
        value, (e_a, e_xs) = fast(0.7, XS)
        bits.add((value, e_a, e_xs.tobytes()))
    assert len(bits) == 1
    assert "_ZGV" in assembly(tmp_path, "smooth_chunk1")
    assert value == pytest.approx(expected, rel=1e-13)
    assert e_a == pytest.approx(d_a, rel=1e-13)
    np.testing.assert_allclose(e_xs, d_xs, rtol=1e-14)


@needs_library
def test_what_is_called():
    """`math` everywhere, NumPy in the functions of numbers only; a loop over several items calls the library."""
    text = planned(smooth, (0.7, XS), wrt="a, xs", options={"jit": True}).text
    _, all_of_them = vector_maps.rewritten(text, "<text>", ["smooth_item1_fwd", "smooth_item1_rev"])
    assert {"vector_exp", "vector_log", "vector_tanh", "vector_sin", "vector_cos"} <= set(all_of_them)
    _, of_math = vector_maps.rewritten(text, "<text>", [])
    assert "vector_log" not in of_math and "vector_exp" in of_math
    vector_exp = all_of_them["vector_exp"]

    @numba.njit(fastmath={"reassoc"})
    def loop(xs, out):
        for k in range(len(xs)):
            out[k] = vector_exp(xs[k])
    xs = np.append(XS[:-1], [-800.0, np.nan, -np.inf, 0.0])
    out = np.empty(len(xs))
    loop(xs, out)
    assert "_ZGV" in next(iter(loop.inspect_asm().values()))
    np.testing.assert_allclose(out, np.exp(xs), rtol=1e-15)
    loop.py_func(xs, out)           # as where Numba's compiler is switched off
    np.testing.assert_array_equal(out, np.exp(xs))


def test_arrays_keep_numpys_functions():
    """Only where NumPy's functions are applied to numbers are they taken by another name."""
    kinds = {"x": FLOAT, "r": Array("float64", 1), "y": FLOAT}
    assert of_numbers([Let("y", call("np.exp", name("x")))], kinds) == {"numbers"}
    assert of_numbers([Let("y", call("np.exp", expr("r[0]")))], kinds) == {"numbers"}
    assert of_numbers([Let("y", call("np.exp", name("r")))], kinds) == frozenset()


def test_switches():
    assert not vector_maps.wanted(Options(without=frozenset({"vector_math"})))
    assert not vector_maps.wanted(Options(strict=True))
    program = ("from transad.options import Options; from transad.runtime.vector_maps import wanted; print(wanted(Options()))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "TRANSAD_VECTOR_MATH": "0", "PYTHONPATH": os.getcwd()})
    assert done.stdout.strip() == "False", done.stderr
    assert vector_maps.wanted(Options()) == bool(vector_maps.available())
