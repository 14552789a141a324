"""namedtuple: fields, replacement, as argument and inside."""
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from tests.programs import program

Pair = namedtuple("Pair", "a b")


class Motor(NamedTuple):
    speed: float
    gain: float = 2.0


@program(2.0, 3.0, value=6.0, gradient=[3.0, 2.0])
def made_inside(x, y):
    p = Pair(x, b=y)
    return p.a * p.b


@program(2.0, 3.0, value=2.0 * 3 + 4, gradient=[3.0 + 2.0, 2.0])
def unpacked_and_default(x, y):
    m = Motor(x)
    speed, gain = m
    return speed * y + speed * gain


@program(2.0, 3.0, value=9.0, gradient=[0.0, 6.0])
def replaced(x, y):
    return Pair(x, y)._replace(a=y).a * y


@program(np.array([1.0, 2.0]), value=3.0 * 5.0, gradient=[[3.0 * 2 + 5, 3.0 * 4 + 5]])
def holds_arrays(x):
    p = Pair(x * x, x)
    return np.sum(p.a) * np.sum(p.b)
