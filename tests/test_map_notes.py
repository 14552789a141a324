"""What the user sees of maps: the kernels, why a map is none, and one warning where that is slow."""
from __future__ import annotations

import contextlib
import io
import math
import random
import warnings

import numpy as np
import pytest

import transad
from transad.command import cli
from transad.command.plan import planned
from transad.command.show import NotReached, source
from transad.maps import notes as map_notes

X = np.linspace(0.1, 1.0, 25_000)
KINDS = "float64[:], float64"
WHY = "`level` goes from one item to the next, and not as a sum"


def kernel(xs, a):
    return sum(map(lambda x: math.sin(a * x) * math.exp(x), xs))


def recurrence(xs, a):
    """The items of the second map are apart, what follows from them is in order."""
    ys = [math.sin(a * x) * math.exp(x) for x in xs]
    level = 0.0
    for y in map(math.sqrt, ys):
        level = 0.5 * level + y
    return level


def feedback(xs, a):
    ys = [math.sin(a * x) * math.exp(x) for x in xs]
    level = 0.0

    def follow(y):
        nonlocal level
        level = 0.5 * level + y
        return level
    return sum(map(follow, ys))


def drawing(xs, a):
    def item(x):
        return math.sin(a * x) * random.gauss(0, 1)
    return sum(map(item, xs))


def printing(xs, a):
    def item(x):
        print(x)
        return math.sin(a * x)
    return sum(map(item, xs))


def stateful(xs, a):
    count = 0.0

    def item(x):
        nonlocal count
        count = 0.5 * count + a * x
        return count
    return sum(map(item, xs))


def collecting(xs, a):
    seen = []
    return sum([seen.append(x) or a * x for x in xs])


def few_operations(xs, a):
    return sum(a * x for x in xs)


@pytest.mark.parametrize("function, why", [
    (kernel, [""]), (recurrence, ["", ""]),
    (feedback, ["", WHY]),
    (drawing, ["it draws random numbers"]), (printing, ["something is printed"]),
    (stateful, ["`count` goes from one item to the next, and not as a sum"]), (collecting, ["it changes a list"]),
    (few_operations, ["an item is only a few operations"])], ids=lambda p: getattr(p, "__name__", ""))
def test_each_map_is_explained(function, why):
    notes = map_notes.noted(planned(function, signature=KINDS))
    assert [n.why for n in notes] == why and [n.kernel for n in notes] == [not w for w in why]


def test_explain_and_show(capsys):
    target = f"{__file__}:{{}}"
    assert cli.main(["explain", target.format("feedback"), "--signature", KINDS]) == 0
    said = capsys.readouterr().out
    assert "`ys = [math.sin(a * x) * math.exp(x) for x in xs]`: threaded kernel" in said
    assert "ordinary Python: `level` goes from one item to the next" in said
    assert cli.main(["show", target.format("kernel"), "--signature", KINDS, "--mode", "kernel"]) == 0
    text = capsys.readouterr().out
    assert "def kernel_item1_fwd(i, xs, a):" in text and "for c in prange(chunks):" in text and "kernel_joint" not in text
    assert cli.main(["show", target.format("drawing"), "--signature", KINDS, "--mode", "kernel"]) == 1
    assert "it draws random numbers" in capsys.readouterr().err
    with pytest.raises(NotReached, match="no map of drawing is a kernel"):
        source(drawing, signature=KINDS, mode="kernel")


@pytest.mark.parametrize("function, why", [(drawing, "draws random numbers"), (printing, "is printed"),
                                           (stateful, "`count` goes from one item to the next"),
                                           (collecting, "changes a list")], ids=lambda p: getattr(p, "__name__", ""))
def test_one_warning_where_it_is_slow(function, why, monkeypatch):
    monkeypatch.setattr(map_notes, "_WARNED", set())
    with contextlib.redirect_stdout(io.StringIO()):
        transad.grad(function, 1)(X[:50], 1.3)                 # a small map is not worth a word
        with pytest.warns(transad.TransadPerformanceWarning, match=why) as caught:
            transad.pullback(function, X, 1.3)
            transad.pullback(function, X, 1.3)
    assert len(caught) == 1


@pytest.mark.parametrize("function", [kernel, few_operations], ids=lambda f: f.__name__)
def test_no_warning(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transad.pullback(function, X, 1.3)


def test_no_warning_where_python_was_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transad.pullback(transad.differentiable(collecting, path="recorded"), X, 1.3)
