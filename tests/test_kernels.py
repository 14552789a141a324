"""Maps as kernels: right values in every form, the same bits at any number of threads, the items' own exceptions."""
from __future__ import annotations

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import transad
from tests import kernel_programs as programs
from transad import typed

numba = pytest.importorskip("numba")


def flat(gradients):
    return np.concatenate([np.ravel(g) for g in gradients])


def chain_of(function):
    """The chain of kernels that was built last for a function."""
    found = [e.built.chain for key, entries in typed._BUILT.items() for e in entries
             if key[0] is function and hasattr(e, "built")]
    return found[-1] if found else None


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
@pytest.mark.parametrize("function, args", programs.PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_against_the_recorded_path(function, args, jit):
    which = tuple(range(len(args)))
    y, expected = transad.value_and_grad(function, which, path="recorded")(*args)
    marked = transad.differentiable(function, jit=jit)
    value, gradients = transad.value_and_grad(marked, which)(*args)
    assert value == pytest.approx(y, rel=1e-11)
    np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-9, atol=1e-11)
    value, back = transad.pullback(marked, *args)
    assert value == pytest.approx(y, rel=1e-11)
    for scale in (2.0, -1.0, 2.0):
        np.testing.assert_allclose(flat(back(scale)), scale * flat(expected), rtol=1e-9, atol=1e-11)
    carried = function is programs.recurrence               # no map: a trip needs the one before
    arithmetic = function is programs.loop_with_continue    # a `for` too cheap to be worth a kernel
    if jit or carried:
        assert (chain_of(function) is None) == (carried or arithmetic)


@pytest.mark.parametrize("function", [programs.captured_number, programs.comprehension, programs.early_return])
@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_few_items(function, count):
    args = (programs.XS[:count], 0.7)
    if function is programs.comprehension and count == 0:
        pytest.skip("the mean of nothing")
    y, expected = transad.value_and_grad(function, (0, 1), path="recorded")(*args)
    value, gradients = transad.value_and_grad(function, (0, 1), jit=True)(*args)
    assert value == pytest.approx(y, rel=1e-12)
    np.testing.assert_allclose(flat(gradients), flat(expected), rtol=1e-10)


def test_the_same_bits_at_any_number_of_threads():
    """Captured numbers and arrays, gathered by a computed index: nothing is lost, nothing depends on the schedule."""
    xs = np.cos(np.arange(100_000.0))
    w = np.array([0.5, -1.0, 2.0])
    gradient = transad.value_and_grad(programs.gathered, (0, 1), jit=True)
    exact = np.array([math.fsum(xs[k::3] ** 2) * math.cos(w[k]) for k in range(3)])
    seen = set()
    most = numba.config.NUMBA_NUM_THREADS
    for repetition in range(30):
        numba.set_num_threads(1 + repetition % min(most, 4))
        value, (d_w, d_xs) = gradient(w, xs)
        seen.add((value, d_w.tobytes(), d_xs.tobytes()))
    numba.set_num_threads(most)
    assert len(seen) == 1
    np.testing.assert_allclose(d_w, exact, rtol=1e-12)


def test_fewer_chunks_where_the_bits_may_depend_on_threads():
    xs = np.cos(np.arange(20_000.0))
    w = np.array([0.5, -1.0, 2.0])
    value, (d_w, d_xs) = transad.value_and_grad(programs.gathered, (0, 1), jit=True)(w, xs)
    free = transad.value_and_grad(programs.gathered, (0, 1), jit=True, deterministic=False)(w, xs)
    assert "as_many_as_threads" in chain_of(programs.gathered).text
    assert free[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(flat(free[1]), flat((d_w, d_xs)), rtol=1e-12)


def test_many_python_threads_at_once():
    gradient = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True)
    xs = np.tile(programs.XS, 20)
    expected = gradient(xs, 1.4)[1][1]
    found = []

    def work():
        for _ in range(5):
            found.append(gradient(xs, 1.4)[1][1])
    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert set(found) == {expected} and len(found) == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_a_forked_child(layer):
    """In a child of a process whose threads run, and from several Python threads, with each threading library."""
    program = """
import os, sys, threading
import numpy as np, transad
from tests import kernel_programs as programs
gradient = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True)
xs = np.tile(programs.XS, 20)
expected = gradient(xs, 1.4)[1][1]
threads = [threading.Thread(target=lambda: [gradient(xs, 1.4) for _ in range(5)]) for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
child = os.fork()
if child == 0:
    os._exit(0 if gradient(xs, 1.4)[1][1] == expected else 1)
_, status = os.waitpid(child, 0)
print("layer", __import__("numba").threading_layer(), "status", status)
"""
    environment = {**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2",
                   "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True,
                          text=True, timeout=240, check=False)
    if "No threading layer" in done.stderr:
        pytest.skip(f"{layer} is not there")
    assert done.stdout.split() == ["layer", layer, "status", "0"], done.stdout + done.stderr


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_the_exception_of_the_first_failing_item(jit):
    xs = np.linspace(-0.5, 2.0, 3000)
    xs[1700], xs[2500] = -3.0, -4.0
    gradient = transad.value_and_grad(programs.failing, jit=jit)
    for _ in range(2):
        with pytest.raises(ValueError, match="below the range") as caught:
            gradient(xs)
    assert any(frame.name == "checked" for frame in caught.traceback)
    assert gradient(xs[:1000])[0] == pytest.approx(programs.failing(xs[:1000]), rel=1e-12)


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_past_the_end(jit):
    xs = programs.XS
    with pytest.raises(IndexError):
        transad.value_and_grad(programs.past_the_end, jit=jit)(xs, len(xs) + 1)
    index = np.arange(len(xs))
    assert transad.grad(programs.past_the_end_gathered, jit=jit)(xs, index) == pytest.approx(
        np.exp(xs) * (np.sin(xs) + np.cos(xs)))
    index[7] = len(xs)
    with pytest.raises(IndexError):
        transad.grad(programs.past_the_end_gathered, jit=jit)(xs, index)


def test_a_small_map_is_not_compiled(monkeypatch):
    from transad.maps import launch

    def refuse(*args):
        raise AssertionError("compiled")
    monkeypatch.setattr(launch, "compiled_space", refuse)
    assert transad.grad(programs.nested, 1)(programs.ROWS, programs.V5).shape == (5,)


def test_a_large_map_is_compiled_without_jit():
    xs = np.tile(programs.XS, 400)
    value, (d_xs, d_a) = transad.value_and_grad(programs.data_dependent_exit, (0, 1))(xs, 1.4)
    expected = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True)(xs, 1.4)
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert d_a == pytest.approx(expected[1][1], rel=1e-10)
    np.testing.assert_allclose(d_xs, expected[1][0], rtol=1e-10)


def test_threads_and_parallel_are_options():
    args = (np.tile(programs.XS, 20), 1.4)
    results = [transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True, **options)(*args)
               for options in ({}, {"threads": 1}, {"threads": 2})]
    assert len({r[0] for r in results}) == 1 and len({r[1][0].tobytes() for r in results}) == 1
    off = transad.value_and_grad(programs.data_dependent_exit, (0, 1), jit=True, parallel=False)(*args)
    assert off[0] == pytest.approx(results[0][0], rel=1e-12)
