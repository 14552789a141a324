"""`scipy.integrate`: solutions of initial-value problems and integrals of functions.

The value is SciPy's. Its derivative is that of the same problem solved on steps (or nodes) that are chosen beforehand on
plain numbers: a Runge-Kutta method of order 8 for differential equations, 21 Gauss points for each interval that
`quad` made. Times, limits and whatever the functions capture are differentiated, to any order.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.integrate as si

from transad.errors import Unsupported
from transad.rules.registry import composite
from transad.runtime.plainly import as_written, plainly
from transad.verbs import stop_gradient

A, B, C = si.DOP853.A, si.DOP853.B, si.DOP853.C
STAGES = si.DOP853.n_stages
LONGEST = 20000


# Differential equations

def steps_between(rhs: Any, y0: Any, times: Any, rtol: float, atol: Any) -> list[list[float]]:
    """For each interval of `times` the fractions of it that the steps take (plain numbers)."""
    y = np.array(y0, dtype=float if np.isrealobj(y0) else complex)
    plan, size, total = [], None, 0
    for start, stop in itertools.pairwise(times):
        if start == stop:
            plan.append([])
            continue
        first = None if size is None else min(size, abs(stop - start))
        solver = si.DOP853(rhs, start, y, stop, rtol=rtol, atol=atol, first_step=first)
        reached = [start]
        while solver.status == "running":
            solver.step()
            reached.append(solver.t)
            total += 1
            if total > LONGEST or solver.status == "failed":
                raise Unsupported("the derivative of a stiff differential equation solved by SciPy's compiled methods",
                                  instead='scipy.integrate.solve_ivp with method="Radau", or a solver written in '
                                          "Python")
            size = solver.step_size if len(reached) == 2 or solver.status == "running" else size
        plan.append([float(d) for d in np.diff(np.array(reached)) / (stop - start)])
        y = solver.y
    return plan


def step(rhs: Any, t: Any, y: Any, h: Any) -> Any:
    """One step of the method of Dormand and Prince of order 8."""
    slopes = [rhs(t, y)]
    for s in range(1, STAGES):
        slopes.append(rhs(t + C[s] * h, y + h * (A[s, :s] @ np.stack(slopes))))
    return y + h * (B @ np.stack(slopes))


def flow(rhs: Any, y0: Any, times: Any, rtol: float, atol: Any) -> list[Any]:
    """The solution at each of `times`, every operation of it differentiable."""
    plan = plainly(steps_between, rhs, y0, times, rtol, atol)
    states = [y0]
    for k in range(len(plan)):
        y, t = states[-1], times[k]
        length = times[k + 1] - times[k]
        for fraction in plan[k]:
            h = length * fraction
            y = step(rhs, t, y, h)
            t = t + h
        states.append(y)
    return states


def _tight(tolerance: Any, at_most: float) -> Any:
    return at_most if tolerance is None else np.minimum(tolerance, at_most)


def _with_derivative(value: Any, active: Any) -> Any:
    return value + (active - stop_gradient(active))


@composite(si.odeint)
def _(func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None, tcrit=None,
      h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0, tfirst=False):
    found = plainly(si.odeint, func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax,
                    hmin, ixpr, mxstep, mxhnil, mxordn, mxords, printmessg, tfirst)
    args = args if isinstance(args, tuple) else (args,)
    start = np.atleast_1d(np.array(y0)) * 1.0

    def rhs(time: Any, y: Any) -> Any:
        return np.reshape(np.asarray(func(time, y, *args) if tfirst else func(y, time, *args)), np.shape(start))
    states = np.stack(flow(rhs, start, np.asarray(t), float(np.min(_tight(rtol, 1e-9))), _tight(atol, 1e-10)))
    if full_output:
        return _with_derivative(found[0], states), found[1]
    return _with_derivative(found, states)


@composite(si.solve_ivp)
def _(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None,
      **options):
    if method != "LSODA" or dense_output or events is not None:          # SciPy's own text is Python
        return as_written(si.solve_ivp, fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args,
                          **options)
    found = plainly(si.solve_ivp, fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)
    start = np.array(y0) * 1.0
    more = () if args is None else tuple(args)

    def rhs(time: Any, y: Any) -> Any:
        return np.reshape(np.asarray(fun(time, y, *more)), np.shape(start))
    begin, end = t_span
    if t_eval is None:
        fractions = (found.t - plainly(float, begin)) / plainly(float, end - begin)
        times = begin + fractions * (end - begin)
        found["t"] = _with_derivative(found.t, times)
    else:
        times = np.asarray(t_eval)[:len(found.t)]
        found["t"] = times * 1.0
    leading = np.stack([begin * 1.0, times[0] * 1.0]) if len(found.t) else times
    rtol, atol = float(np.min(_tight(options.get("rtol"), 1e-9))), _tight(options.get("atol"), 1e-10)
    first = flow(rhs, start, leading, rtol, atol)[-1]
    states = flow(rhs, first, times, rtol, atol)
    found["y"] = _with_derivative(found.y, np.stack(states, axis=1))
    return found


# Integrals

NODES, WEIGHTS = (np.asarray(part) for part in np.polynomial.legendre.leggauss(21))


def intervals(report: dict) -> list[tuple[float, float]]:
    """The intervals that `quad` ended with."""
    last = report["last"]
    return [(float(a), float(b)) for a, b in zip(report["alist"][:last], report["blist"][:last], strict=True)]


def on_unit(f: Any, a: Any, b: Any) -> Any:
    """The integrand over t in (0, 1] where a limit is infinite, as QUADPACK transforms it: x = a + (1 - t) / t."""
    if np.isinf(a) and np.isinf(b):
        return lambda t: (f((1.0 - t) / t) + f(-(1.0 - t) / t)) / (t * t)
    if np.isinf(b):
        return lambda t: f(a + (1.0 - t) / t) / (t * t)
    return lambda t: f(b - (1.0 - t) / t) / (t * t)


@composite(si.quad)
def _(func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None,
      wopts=None, maxp1=50, limlst=50, complex_func=False):
    if weight is not None or complex_func:
        raise Unsupported("scipy.integrate.quad with a weight or a complex function, differentiated",
                          instead="write the weight into the function; integrate real and imaginary part separately")
    found = plainly(si.quad, func, a, b, args, 1, epsabs, epsrel, limit, points)
    args = args if isinstance(args, tuple) else (args,)

    def f(x: Any) -> Any:
        return func(x, *args)
    low, high = plainly(float, a), plainly(float, b)
    sign = 1.0
    if low > high:
        a, b, low, high, sign = b, a, high, low, -1.0
    parts = plainly(intervals, found[2])
    infinite = np.isinf(low) or np.isinf(high)
    g = on_unit(f, a, b) if infinite else f
    total = 0.0
    for left, right in parts:
        if not infinite:
            if low == high:
                break
            left, right = a + (b - a) * ((left - low) / (high - low)), a + (b - a) * ((right - low) / (high - low))
        half, middle = 0.5 * (right - left), 0.5 * (right + left)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            total = total + weight * half * g(middle + half * node)
    value = _with_derivative(found[0], sign * total)
    return (value, *found[1:]) if full_output else (value, found[1])
