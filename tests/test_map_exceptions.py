"""What a map raises, and what it leaves undone, is what the plain function does: exception, text, line, printed output."""
from __future__ import annotations

import functools
import itertools
import math
import traceback
from pathlib import Path

import numpy as np
import pytest

import transad
from tests.map_form_programs import wave

GOOD = np.linspace(0.1, 2.0, 40)
BAD = GOOD.copy()
BAD[7], BAD[20] = -1.0, -5.0
EMPTY = GOOD[:0].copy()


class Refused(Exception):
    pass


def checked(x, a):
    if x < 0.0:
        raise ValueError(f"bad {x}")
    return wave(x, a)


def summed(xs, a):
    return sum(map(lambda x: checked(x, a), xs))


def by_condition(xs, a):
    return sum([wave(x, a) for x in xs if checked(x, a) > 0.0])


def item_before_condition(xs, a):
    return sum([checked(-abs(x), a) if x == xs[3] else wave(x, a) for x in xs if checked(x, a) > -9.0])


def past_the_end(xs, a):
    return sum(wave(xs[i + 3], a) for i in range(len(xs)))


def out_of_domain(xs, a):
    return sum(math.sqrt(x) * wave(x, a) for x in xs)


def raising_fold(xs, a):
    s = 1.0
    for y in map(lambda x: checked(x, a), xs):
        s = 0.5 * s + y
        if s > 1.1:
            raise Refused("too large", 3)
    return s


def any_decides(xs, a):
    return a if any(checked(x, a) > 0.3 for x in xs) else 2.0 * a


def best_of_none(xs, a):
    return min(wave(x, a) for x in xs if x > 100.0)


def reduced(xs, a):
    return functools.reduce(lambda p, q: p + q, map(lambda x: checked(x, a), xs))


def unpacked(xs, a):
    u, v = [wave(x, a) for x in xs]
    return u * v


def by_key(xs, a):
    return max(xs, key=lambda x: checked(x, a)) * a


def starmapped(xs, a):
    return sum(itertools.starmap(checked, zip(xs, xs * a)))


def nested(xs, a):
    return sum(sum(checked(x - y, a) for y in xs[:3]) for x in xs)


def caught(xs, a):
    try:
        return sum(checked(x, a) for x in xs)
    except ValueError:
        return 7.0 * a


def lazily(xs, a):
    ys = map(lambda x: checked(x, a), xs)
    return next(ys) + next(ys)


def stopping(xs, a):
    return sum(itertools.takewhile(lambda y: y < 1.0, map(lambda x: checked(x, a), xs)))


def printing(xs, a):
    def passes(x):
        print("tested", x)
        return x > 0.3

    def item(x):
        print("item", x)
        return checked(x, a)
    return sum([item(x) for x in xs[:9] if passes(x)])


def outcome(run, capsys):
    try:
        result = run()
    except Exception as problem:
        own = [f.lineno for f in traceback.extract_tb(problem.__traceback__) if Path(f.filename) == Path(__file__)]
        return type(problem), str(problem), own[-1], capsys.readouterr().out
    return result, capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::transad.TransadPerformanceWarning")
@pytest.mark.parametrize("xs", [GOOD, BAD, EMPTY], ids=["good", "bad", "empty"])
@pytest.mark.parametrize("f", [
    summed, by_condition, item_before_condition, past_the_end, out_of_domain, raising_fold, any_decides, best_of_none,
    reduced, unpacked, by_key, starmapped, nested, caught, lazily, stopping, printing], ids=lambda f: f.__name__)
def test_as_python_does(f, xs, capsys):
    expected = outcome(lambda: f(xs, 1.3), capsys)
    found = outcome(lambda: transad.value_and_grad(f, (0, 1))(xs, 1.3), capsys)
    if len(expected) == 4:
        assert found == expected
        return
    (y, gradients), printed = found
    assert y == pytest.approx(expected[0], rel=1e-12)
    assert printed == expected[1]
    recorded = transad.grad(f, (0, 1), path="recorded")(xs, 1.3)
    for g, known in zip(gradients, recorded, strict=True):
        np.testing.assert_allclose(g, known, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", [summed, raising_fold], ids=lambda f: f.__name__)
def test_compiled(f, capsys):
    for xs in (GOOD, BAD):
        expected = outcome(lambda xs=xs: f(xs, 1.3), capsys)
        found = outcome(lambda xs=xs: transad.value_and_grad(f, 1, jit=True)(xs, 1.3), capsys)
        if len(expected) == 4:
            assert found == expected
        else:
            assert found[0][0] == pytest.approx(expected[0], rel=1e-12)
