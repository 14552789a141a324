"""Arrays of no dimension made inside of a function: read, stored into, changed in place, under two names."""

from __future__ import annotations

import numpy as np
import pytest

import transad
from tests.fuzz.check import check_function

X = np.array([0.7, -1.2, 0.4])
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def read(x):
    v = np.array(x[0])
    return v[()] * v + v[...] * x[1] + v.item()


@program
def stored(x):
    v, w = np.array(x[0]), np.asarray(x[1] * 1.0)
    v[...] = x[1] * x[2]
    w = np.array(w)
    w[()] = v * v
    return v * 2.0 + w


@program
def in_place(x):
    v = np.array(x[0])
    w = v
    w += x[1]
    w *= v
    return v * x[2]


@program
def copied(x):
    v = np.array(x[0])
    x[0] = 5.0
    return v * v + np.sum(x)


@program
def view_of_one_entry(x):
    v = np.sum(x, keepdims=True)
    w = v.reshape(())
    w += 1.0
    return v[0] * w


@pytest.mark.parametrize("path", ["auto", "recorded"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f, path):
    check_function(transad.differentiable(f, path=path), X)
