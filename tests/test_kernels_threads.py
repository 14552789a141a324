"""Threads under maps: the same bits at any number of them, and each library that runs them."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")

STRESS = """
import numba, numpy as np, transad
from tests import kernel_programs as programs
xs = np.cos(np.arange(100_000.0))
w = np.array([0.5, -1.0, 2.0])
both = transad.value_and_grad(programs.gathered, (0, 1), jit=True), transad.value_and_grad(programs.gathered, (0, 1))
captured = transad.value_and_grad(programs.captured_number, (0, 1), jit=True)
seen = [set(), set(), set()]
for repetition in range(200):
    numba.set_num_threads((1, 2, 4)[repetition % 3])
    for k, gradient in enumerate(both if repetition < 30 else both[:1]):
        value, (d_w, d_xs) = gradient(w, xs)
        seen[k].add((value, d_w.tobytes(), d_xs.tobytes()))
    value, (d_xs, d_a) = captured(xs, 1.3)
    seen[2].add((value, d_a, d_xs.tobytes()))
print("patterns", *map(len, seen))
"""

LAYER = """
import math, os, threading
import numba, numpy as np, transad
from tests import kernel_programs as programs
gradient = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True)
other = transad.value_and_grad(programs.captured_number, (0, 1))
xs, many = np.tile(programs.XS, 20), np.tile(programs.XS, 500)
gradient(xs, 1.4)                       # starts the threads; set_num_threads would start Numba's own choice before
numba.set_num_threads(1)
expected, second = gradient(xs, 1.4)[1][1], other(many, 1.3)[1][1]
numba.set_num_threads(2)
wrong = []
def work():
    for _ in range(8):
        if gradient(xs, 1.4)[1][1] != expected or other(many, 1.3)[1][1] != second:
            wrong.append(1)
work()
workers = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in workers]; [t.join() for t in workers]
child = os.fork() if hasattr(os, "fork") else None
if child == 0:
    work()
    os._exit(len(wrong))
status = os.waitpid(child, 0)[1] if child else 0
work()
print("layer", numba.threading_layer(), "wrong", len(wrong), "child", status)
"""

BLAS = """
import numba, numpy as np, transad
from transad.runtime import blas_threads
from tests.kernel_programs import products as loss
ms, w = np.ones((40, 60, 60)), np.eye(60)
numba.set_num_threads(2)
get = blas_threads._library()[0] if blas_threads._library() else lambda: 1
before, during, limit = get(), [], blas_threads.limit
def watched():
    limit()
    during.append(get())
blas_threads.limit = watched
value, gradient = transad.value_and_grad(loss, 1, jit=True)(ms, w)
right = value == 40 * 60 * 60 and np.allclose(gradient, 2 * 40 * 60)
print("right", right, "during", *sorted(set(during)), "kept", get() == before)
"""

WITHOUT_COMPILER = """
import numpy as np, transad
from tests import kernel_programs as programs
xs, w = np.cos(np.arange(40.0)), np.array([0.5, -1.0, 2.0])
same = []
for f, args in ((programs.gathered, (w, xs)), (programs.captured_number, (xs, 1.3)), (programs.data_dependent_exit, (xs, 1.4))):
    expected = transad.value_and_grad(f, (0, 1), path="recorded")(*args)
    for options in ({}, {"threads": 2}, {"parallel": False}, {"mode": "reverse"}):
        value, grads = transad.value_and_grad(f, (0, 1), jit=True, **options)(*args)
        same.append(abs(value - expected[0]) < 1e-12 and all(map(np.allclose, grads, expected[1])))
    value, back = transad.pullback(f, *args)
    same.append(np.allclose(back(1.0)[0], expected[1][0]))
rows = transad.map(transad.grad(programs.captured_number), xs.reshape(4, 10), np.full(4, 1.3))
same.append(np.allclose(rows.ravel(), transad.grad(programs.captured_number, path="recorded")(xs, 1.3)))
print("same", len(same), all(same))
"""

INTERRUPT = """
import os, signal, threading, time
import numpy as np, transad
from tests import kernel_programs as programs
gradient = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True)
xs = np.tile(programs.XS, 500)
expected = gradient(xs, 1.4)[1][1]
began, calls = time.monotonic(), 0
try:
    while time.monotonic() < began + 60.0:
        gradient(xs, 1.4)
        calls += 1
        if calls == 2:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("never")
except KeyboardInterrupt:
    soon = time.monotonic() < began + 30.0
    print("interrupted after some", calls >= 2, "soon", soon, "same", gradient(xs, 1.4)[1][1] == expected)
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": path, **environment}, check=False)


def test_one_bit_pattern():
    """200 gradients of captured and gathered parameters over 100,000 items, at 1, 2 and 4 threads."""
    done = run(STRESS, NUMBA_NUM_THREADS="4")
    assert done.stdout.split("\n")[0] == "patterns 1 1 1", done.stdout + done.stderr


@pytest.mark.parametrize("layer", ["tbb", "omp", "workqueue"])
def test_each_library_of_threads(layer):
    """One after the other, from several Python threads at once, in a forked child, and in the parent afterwards."""
    done = run(LAYER, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "No threading layer" in done.stderr:
        pytest.skip(f"{layer} is not installed")
    said = (done.stdout.strip().splitlines() or [""])[-1]           # TBB prints a warning of its own before a fork
    assert said.split() == ["layer", layer, "wrong", "0", "child", "0"], done.stdout + done.stderr


def test_products_in_items_take_one_thread():
    done = run(BLAS, NUMBA_NUM_THREADS="2")
    assert done.stdout.strip() == "right True during 1 kept True", done.stdout + done.stderr


def test_numba_without_its_compiler():
    """NUMBA_DISABLE_JIT=1 runs the same text by Python, as Numba's users expect."""
    done = run(WITHOUT_COMPILER, NUMBA_DISABLE_JIT="1")
    assert done.stdout.strip() == "same 16 True", done.stdout + done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_interrupted_between_kernels(layer):
    """Ctrl-C ends a loop over gradients, and the next gradient is right."""
    done = run(INTERRUPT, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "No threading layer" in done.stderr:
        pytest.skip(f"{layer} is not installed")
    assert done.stdout.strip() == "interrupted after some True soon True same True", done.stdout + done.stderr
