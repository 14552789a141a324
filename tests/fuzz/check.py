"""Runs one program through transad and judges it against the plain function and differences."""

from __future__ import annotations

import copy
import importlib.util
import signal
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from . import differences
from .differences import Unjudged, flat, leaves, unflat, weights

MAX_SECONDS = 0.05  # slower plain functions are not judged
LARGEST = 1e4


@dataclass
class Verdict:
    """`outcome` is right, wrong, crash, refused or skipped; `detail` says why."""

    outcome: str
    detail: str = ""
    expected: str = ""
    got: str = ""


class Wrong(Exception):
    """A value, gradient, or promise about memory that does not hold."""

    def __init__(self, what: str, expected=None, got=None) -> None:
        super().__init__(what)
        self.expected, self.got = expected, got


class OutOfTime(BaseException):
    """Not an Exception, so that a program's own `except Exception` does not swallow it."""


@contextmanager
def limit(seconds: int):
    def stop(signum, frame):
        raise OutOfTime

    held = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, held)


def load(source: str, name: str, folder: Path):
    """Imports the source from a real file, as a user's module would be."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def reference(module) -> tuple:
    """Result, arguments afterwards, gradient and its error, from the plain function."""
    f, args = module.f, module.ARGS
    after = copy.deepcopy(args)
    start = time.perf_counter()
    try:
        with np.errstate(over="raise", invalid="raise"):  # infinities inside are no subject of this comparison
            result = f(*after)
        if time.perf_counter() - start > MAX_SECONDS:
            raise Unjudged("slow")
        numbers = flat(result)
        if len(numbers) == 0 or not np.all(np.isfinite(numbers)) or np.max(np.abs(numbers)) > LARGEST:
            raise Unjudged("not a bounded result")
        expected, errors = differences.gradient(f, args)
    except Unjudged:
        raise
    except Exception as error:
        raise Unjudged(f"the plain function raises {type(error).__name__}: {error}") from error
    return result, after, expected, errors


def judge(
    source: str,
    name: str,
    folder: Path,
    *,
    jit: bool = False,
    plain: bool = False,
    order: int = 1,
    seconds: int = 20,
    forward: bool = False,
) -> Verdict:
    """The verdict on one program. `plain` only checks that the program itself can be judged."""
    try:
        with limit(seconds), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            module = load(source, name, folder)
            known = reference(module)
            if plain:
                return Verdict("right")
            if forward:
                compare_forward(module, known, jit, order)
            else:
                compare(module, known, jit, order)
            return Verdict("right")
    except Unjudged as reason:
        return Verdict("skipped", str(reason))
    except Wrong as fault:
        return Verdict("wrong", str(fault), repr(fault.expected), repr(fault.got))
    except OutOfTime:
        return Verdict("crash", f"no end within {seconds} s")
    except BaseException as error:
        return classify(error)
    finally:
        sys.modules.pop(name, None)


def classify(error: BaseException) -> Verdict:
    import transad

    if isinstance(error, transad.TransadError):
        first = str(error).strip().splitlines()
        return Verdict("refused", f"{type(error).__name__}: {first[0] if first else ''}", got=str(error))
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    where = traceback.extract_tb(error.__traceback__)[-1]
    detail = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return Verdict("crash", detail, got="".join(traceback.format_exception(error))[-3000:])


# ---- the promises
def compare(module, known, jit: bool, order: int) -> None:
    """Raises `Wrong` where transad breaks a promise about this program."""
    import transad

    f, args = module.f, module.ARGS
    result, after, expected, errors = known
    target = transad.differentiable(f, jit=True) if jit else f
    argnums = tuple(j for j, arg in enumerate(args) if leaves(arg))
    if isinstance(result, float) and argnums:
        by_value_and_grad(transad.value_and_grad(target, argnums=argnums), args, argnums, known, jit)
    by_pullback(transad, target, args, argnums, known, jit)
    by_jvp(transad, target, args, argnums, known, jit)
    if order > 1 and isinstance(result, float):
        second_order(transad, f, args, argnums)


def by_value_and_grad(function, args, argnums, known, jit: bool) -> None:
    result, after, expected, errors = known
    first = copy.deepcopy(args)
    value, grads = function(*first)
    same("value", result, value, jit)
    same("arguments after the call", after, first, jit)
    structure(tuple(args[j] for j in argnums), grads)
    fresh(grads, first)
    close("gradient", expected, flat(grads), errors)
    again_value, again = function(*copy.deepcopy(args))
    identical("second value", value, again_value)
    identical("second gradient", grads, again)


def by_pullback(transad, target, args, argnums, known, jit: bool) -> None:
    result, after, expected, errors = known
    first = copy.deepcopy(args)
    value, back = transad.pullback(target, *first)
    same("value of pullback", result, value, jit)
    same("arguments after pullback", after, first, jit)
    seed = unflat(result, differences.weights(result))
    kept = copy.deepcopy(seed)
    grads = tuple(back(seed)[j] for j in argnums)
    identical("the cotangent given to back", kept, seed)
    structure(tuple(args[j] for j in argnums), grads)
    fresh(grads, (first, seed, value))
    close("gradient of pullback", expected, flat(grads), errors)
    remembered = copy.deepcopy(grads)
    spoil((first, value, grads))
    second = tuple(back(kept)[j] for j in argnums)
    identical("back called again, after the arguments and results were overwritten", remembered, second)
    with ThreadPoolExecutor(2) as pool:
        for later in pool.map(lambda _: tuple(back(kept)[j] for j in argnums), range(4)):
            identical("back called in another thread", remembered, later)


def compare_forward(module, known, jit: bool, order: int) -> None:
    """The same for forward mode: pushed while the program runs, along a tape, and as gradients; nested for order 2."""
    import transad

    f, args = module.f, module.ARGS
    result, after, expected, errors = known
    target = transad.differentiable(f, jit=True) if jit else f
    argnums = tuple(j for j, arg in enumerate(args) if leaves(arg))
    direction, weights = np.cos(1.3 * np.arange(len(flat(args))) + 0.4), differences.weights(result)
    wanted, bound = np.array([expected @ direction]), np.array([errors @ np.abs(direction)])
    tangents = tuple(t if j in argnums else None for j, t in enumerate(unflat(args, direction)))
    first = copy.deepcopy(args)
    value, pushed = transad.jvp(target, first, tangents)
    same("value of jvp", result, value, jit)
    same("arguments after jvp", after, first, jit)
    fresh(pushed, (first, tangents))
    close("jvp", wanted, np.array([weights @ flat(pushed)]), bound)
    value, push = transad.linearize(target, *copy.deepcopy(args))
    same("value of linearize", result, value, jit)
    linear = push(*tangents)
    close("linearize", wanted, np.array([weights @ flat(linear)]), bound)
    identical("a second push", linear, push(*copy.deepcopy(tangents)))
    if isinstance(result, float) and argnums:
        grads = transad.grad(target, argnums, mode="forward")(*copy.deepcopy(args))
        structure(tuple(args[j] for j in argnums), grads)
        close("gradient forwards", expected, flat(grads), errors)
    if order > 1 and isinstance(result, float):
        nested(transad, f, args, argnums, tangents, direction)


def nested(transad, f, args, argnums, tangents, direction) -> None:
    """The second derivative along a line: forward over forward, forward over reverse and reverse over forward."""
    def forwards(*point):
        return transad.jvp(f, point, tangents)[1]

    expected, errors = differences.gradient(forwards, args, agreement=1e-5)
    wanted, bound = np.array([expected @ direction]), np.array([errors @ np.abs(direction)]) + 1e-6
    close("jvp of jvp", wanted, flat(transad.jvp(forwards, copy.deepcopy(args), tangents)[1]), bound)
    close("gradient of jvp", expected, flat(transad.grad(forwards, argnums)(*copy.deepcopy(args))), errors + 1e-6)
    grads = transad.jvp(transad.grad(f, argnums), copy.deepcopy(args), tangents)[1]
    close("jvp of gradient", expected, flat(grads), errors + 1e-6)


def by_jvp(transad, target, args, argnums, known, jit: bool) -> None:
    """The derivative in one direction agrees with the gradient, and changes nothing that the function does not."""
    result, after, expected, errors = known
    direction = np.cos(2.1 * np.arange(len(expected)) + 0.3)
    tangents = unflat(args, direction)
    first, given = copy.deepcopy(args), copy.deepcopy(tangents)
    value, slope = transad.jvp(target, first, tuple(t if j in argnums else None for j, t in enumerate(given)))
    same("value of jvp", result, value, jit)
    same("arguments after jvp", after, first, jit)
    identical("the tangents given to jvp", tangents, given)
    if [np.shape(leaf) for leaf in leaves(result)] != [np.shape(leaf) for leaf in leaves(slope)]:
        raise Wrong("jvp: shapes", result, slope)
    found = np.array([np.dot(weights(result), flat(slope))])
    close("jvp", np.array([expected @ direction]), found, np.array([errors @ np.abs(direction)]))


def spoil(tree) -> None:
    """Overwrites every writable array."""
    for leaf in leaves(tree):
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
            leaf[...] = 7.77


def second_order(transad, f, args, argnums) -> None:
    """grad of a weighted sum of grad, against differences of grad."""
    directions = np.cos(1.3 * np.arange(len(flat(args))) + 0.4)

    def slope(*point):
        grads = transad.grad(f, argnums=argnums)(*point)
        total, start = 0.0, 0
        for leaf in leaves(grads):
            part = directions[start : start + np.size(leaf)]
            total = total + (
                np.sum(leaf * part.reshape(leaf.shape)) if isinstance(leaf, np.ndarray) else leaf * part[0]
            )
            start += np.size(leaf)
        return total

    expected, errors = differences.gradient(slope, args, agreement=1e-5)
    grads = transad.grad(slope, argnums=argnums)(*copy.deepcopy(args))
    close("second derivative", expected, flat(grads), errors + 1e-6)


# ---- comparisons
def close(what: str, expected: np.ndarray, got: np.ndarray, errors: np.ndarray) -> None:
    if got.shape != expected.shape:
        raise Wrong(f"{what}: shape", expected, got)
    bound = 2e-6 * np.maximum(1.0, np.abs(expected)) + 10 * errors
    if not np.all(np.abs(got - expected) <= bound):
        raise Wrong(what, expected, got)


def same(what: str, expected, got, loose: bool) -> None:
    """Equal numbers and nesting. Rounding may differ: NumPy's vector loops round unlike its strided ones."""
    left, right = flat(expected), flat(got)
    bound = 1e-9 if loose else 1e-12
    if left.shape != right.shape or not np.allclose(left, right, bound, bound):
        raise Wrong(what, expected, got)
    if [np.shape(leaf) for leaf in leaves(expected)] != [np.shape(leaf) for leaf in leaves(got)]:
        raise Wrong(f"{what}: shapes", expected, got)


def identical(what: str, expected, got) -> None:
    if flat(expected).tobytes() != flat(got).tobytes():
        raise Wrong(f"{what} differs", expected, got)


def structure(args, grads) -> None:
    """A gradient has the nesting, shape and dtype of its argument."""
    if isinstance(args, float):
        if not isinstance(grads, float):
            raise Wrong("a gradient of a float is no float", float, type(grads))
    elif isinstance(args, np.ndarray):
        if not isinstance(grads, np.ndarray) or grads.shape != args.shape or grads.dtype != args.dtype:
            raise Wrong("shape or dtype of a gradient", (args.shape, args.dtype), grads)
    elif isinstance(args, dict):
        if not isinstance(grads, dict) or list(grads) != list(args):
            raise Wrong("structure of a gradient", args, grads)
        for key in args:
            structure(args[key], grads[key])
    elif isinstance(args, (list, tuple)):
        if type(grads) is not type(args) or len(grads) != len(args):
            raise Wrong("structure of a gradient", args, grads)
        for one, other in zip(args, grads):
            structure(one, other)


def fresh(grads, others) -> None:
    """Gradients are writable and share memory with nothing."""
    arrays = [leaf for leaf in leaves(grads) if isinstance(leaf, np.ndarray)]
    foreign = [leaf for leaf in leaves(others) if isinstance(leaf, np.ndarray)]
    for j, one in enumerate(arrays):
        if not one.flags.writeable:
            raise Wrong("a gradient is not writable")
        if any(np.shares_memory(one, other) for other in [*arrays[:j], *foreign]):
            raise Wrong("a gradient shares memory")


def check_function(f, *args, gradient=None, order: int = 1, jit: bool = False) -> None:
    """Every promise about `f` at `args`; `gradient`: values by hand, one for each float or array."""
    module = SimpleNamespace(f=f, ARGS=args)
    known = reference(module)
    if gradient is not None:
        result, after, expected, errors = known
        by_hand = flat(tuple(np.asarray(value, dtype=float) for value in gradient))
        close("the differences against the value by hand", by_hand, expected, errors)
        known = result, after, by_hand, np.zeros_like(by_hand)
    compare(module, known, jit, order)
