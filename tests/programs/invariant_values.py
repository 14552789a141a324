"""Values made in loops that only some of these loops change."""
import math

import numpy as np

from tests.programs import program


@program(0.3, 0.2, 3, value=2.4609859101101508, jit=True)
def by_no_loop(a, b, n):
    t = 1.0
    for i in range(n):
        t += math.exp(a) * t * math.sin(b * t)
    return t


@program(0.3, 0.2, 0, value=1.0, gradient=[0.0, 0.0])
def by_no_loop_that_makes_no_trip(a, b, n):
    t = 1.0
    for i in range(n):
        t += math.exp(a) * t * math.sin(b * t)
    return t


@program(np.array([0.1, 0.2, 0.3]), 0.3, 3, value=57.43841116806473, jit=True)
def by_the_outer_or_the_inner_loop(x, a, n):
    t = 1.0
    for i in range(n):
        for j in range(len(x)):
            t += math.exp(x[j]) * math.exp(a) * t * math.sin(i * a) + math.sqrt(0.02) * t
    return t


@program(0.3, 0.2, 0.4, 5, value=32.41935772789484)
def by_no_loop_in_a_variable_with_other_values(x, a, b, n):
    t = 1.0
    w = b
    for i in range(n):
        w = b * 2.0
        if i % 2 == 0:
            w = math.exp(a)
            t = t * w * t
        t = t + math.sin(w * x)
    return t * w


@program(0.3, 0.2, 0.4, 4, value=0.6232351881324886)
def by_no_loop_and_overwritten_when_its_branch_is_not_taken(x, a, b, n):
    t = 1.0
    for i in range(n):
        w = b * i
        t += w * w * t
        if i < 2:
            w = math.exp(a)
            t *= w * x
    return t


@program(np.array([0.5, 0.2, 0.3]), 0.3, value=10.446772727548916)
def elements_that_the_loop_overwrites(x, a):
    x = x.copy()
    t = 1.0
    for i in range(3):
        t *= math.exp(x[0]) * t
        x[0] = x[0] * a
    return t + x[0]


@program(np.array([0.5, 0.2, 0.3]), 0.3, value=1.468177060000162)
def elements_that_only_the_outer_loop_overwrites(x, a):
    x = x.copy()
    t = 1.0
    for i in range(2):
        for j in range(3):
            t *= 1.0 + 0.1 * math.exp(x[i]) * t * a
        x[1] = x[0] * a
    return t + x[1]


@program(0.3, 1.1, value=1.304196931541078)
def by_the_loop_through_a_carried_variable(x, a):
    t, k = 1.0, a
    for i in range(3):
        t += 0.1 * math.exp(k) * t * x
        k = t
    return t


@program(1.2, 30.0, value=90.03974551978568)
def by_no_loop_in_a_while(a, limit):
    t = 1.0
    while t < limit:
        w = math.exp(a)
        if t > 3.0:
            w = math.cos(a) + 2.0
        t = t * w + math.exp(a * 0.5) * t
    return t
