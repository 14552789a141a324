"""dataclasses and other objects: fields, methods, properties, changed attributes."""
from dataclasses import dataclass, field, replace

import numpy as np

from tests.programs import program


@dataclass
class Body:
    mass: float
    speed: float = 2.0

    def energy(self):
        return 0.5 * self.mass * self.speed**2

    @property
    def momentum(self):
        return self.mass * self.speed


@dataclass(frozen=True)
class Law:
    k: float
    offsets: list = field(default_factory=list)

    def __call__(self, u):
        return self.k * u


class Counter:
    def __init__(self, start):
        self.total = start
        self.history = []

    def add(self, v):
        self.total = self.total * v
        self.history.append(v)
        return self


@program(3.0, 4.0, value=24.0, gradient=[8.0, 12.0])
def methods(m, v):
    return Body(m, v).energy()


@program(3.0, value=6.0, gradient=[2.0], typed=False)
def property_and_default(m):
    return Body(m).momentum


@program(3.0, 4.0, value=3.0 * 16, gradient=[16.0, 24.0], typed=False)
def changed_attribute(m, v):
    b = Body(m, v)
    b.speed *= v
    return b.momentum


@program(3.0, 4.0, value=12.0, gradient=[4.0, 3.0], typed=False)
def callable_object(k, u):
    return Law(k)(u)


@program(3.0, 4.0, value=0.5 * 4 * 4, gradient=[0.0, 2.0], typed=False)
def replaced(m, v):
    return replace(Body(m), mass=v).energy()


@program(3.0, 4.0, value=3.0 * 16 + 2 * 4, gradient=[16.0, 24.0 + 2.0], typed=False)
def object_with_state(x, v):
    c = Counter(x).add(v).add(v)
    return c.total + sum(c.history)


@program(np.array([1.0, 2.0]), 3.0, value=9.0, gradient=[[3.0, 3.0], 3.0], typed=False)
def array_in_an_attribute(a, s):
    c = Counter(a)
    c.total[:] = a * s
    return np.sum(c.total)
