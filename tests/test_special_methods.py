"""Special methods of users' classes that Python calls by itself are recorded like any other method."""

from __future__ import annotations

import contextlib
import itertools
import types

import numpy as np
import pytest

from tests.fuzz.check import check_function

X = np.array([0.7, -1.2, 0.4])
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


class Scaled:
    """A context manager that computes on the way in and out."""

    def __init__(self, v):
        self.v = v

    def __enter__(self):
        self.v = self.v * 2.0
        return self.v

    def __exit__(self, kind, problem, trace):
        self.v = self.v / 3.0 + 1.0
        return kind is KeyError


class Values:
    def __init__(self, x):
        self.x = x

    def __contains__(self, k):
        self.seen = self.x * k
        return True

    def __delitem__(self, k):
        self.x = self.x * self.x[k]

    def __len__(self):
        self.size = self.x * 2.0
        return 3

    def __lt__(self, other):
        return self.x * other.x

    def __eq__(self, other):
        return self.x + other

    __hash__ = None  # type: ignore[assignment]

    def __round__(self, digits=0):
        return self.x * (2.0 + digits)

    def __divmod__(self, other):
        return self.x * other, self.x / other

    def __rdivmod__(self, other):
        return other - self.x, other * self.x

    def __complex__(self):
        return complex(self.x[0] * 2.0, self.x[1])

    def __array__(self, dtype=None, copy=None):
        return self.x * 2.0


class Squared:
    """A data descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        return getattr(obj, self.name) * 2.0

    def __set__(self, obj, value):
        setattr(obj, self.name, value * value)


class Described:
    value = Squared()


class Doubling:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 3.0)

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found if name.startswith("__") else found * 2.0


@program
def manager(x):
    m = Scaled(x)
    with m as doubled:
        y = doubled * doubled
    return y + m.v


@program
def two_managers_and_an_exception(x):
    m = Scaled(x)
    y = x
    with Scaled(x) as first, m as second:
        y = first * second
        raise KeyError
    return y * m.v


@program
def managers_of_the_library(x):
    with contextlib.ExitStack() as stack:
        a = stack.enter_context(Scaled(x))
        with contextlib.nullcontext(x * a) as b:
            return a * b


@program
def membership(x):
    v = Values(x)
    k = 1.0 if 3.0 in v else 0.0
    k += 4.0 not in v
    return v.seen * k


@program
def deletion(x):
    v, d, xs = Values(x), {"a": x[0], "b": x[1]}, list(x)
    del v[0], d["a"], xs[:1]
    return v.x * d["b"] + xs[0] * len(d)


@program
def length(x):
    v = Values(x)
    return len(v) * v.size


@program
def comparisons(x):
    return (Values(x) < Values(x * 2.0)) * (Values(x) == x)


@program
def rounding_and_division(x):
    a, b = divmod(Values(x), 2.0)
    c, d = divmod(2.0, Values(x))
    return round(Values(x)) + round(Values(x), 3) * a * b + c * d


@program
def conversions(x):
    return abs(complex(Values(x))) + np.sum(Values(x)) * np.asarray(Values(x)) + np.sin(Values(x))


@program
def descriptors(x):
    d = Described()
    d.value = x
    d.value += x[0]
    return d.value * x


@program
def attributes(x):
    d = Doubling()
    d.a = x
    d.b = x[0]
    return d.a * d.b


@program
def iterators_and_dictionaries(x):
    p = types.SimpleNamespace()
    p.a, p.b = x[0], x
    first, second = itertools.tee(x)
    return vars(p)["a"] * vars(p)["b"] * sum(first) * max(second)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_recorded(f):
    check_function(f, X)


def test_second_order():
    check_function(lambda x: np.sum(manager(x) * deletion(x)), X, order=2)
