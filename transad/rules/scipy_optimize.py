"""`scipy.optimize`: the solver runs as it is, the derivative of what it finds comes from the conditions it solves.

The functions given may capture whatever they like. Approximations that a solver makes on its way (`hess_inv`, counts of
iterations) are constants. Constraints are refused: state their optimality conditions with `transad.implicit`.
"""
# Parameters mirror SciPy's and are not annotated, whence:
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as so

from transad.api import grad
from transad.errors import Unsupported
from transad.implicit import solution
from transad.rules.registry import composite
from transad.runtime.plainly import plainly
from transad.verbs import stop_gradient


def _applied(function: Any, args: Any, first: bool = False) -> Any:
    """The function of x alone; its first result where it returns its derivative too."""
    args = args if isinstance(args, tuple) else (args,)
    if first:
        return lambda x: function(x, *args)[0]
    return lambda x: function(x, *args)


def _like(value: Any, active: Any) -> Any:
    """A value that the solver returned, with the derivative of the same value computed here."""
    return value + (active - stop_gradient(active))


# Roots

def _bracketed(solver: Any, f: Any, bracket: Any, args: Any, full_output: Any, **options: Any) -> Any:
    found = plainly(solver, f, *bracket, args=args, full_output=full_output, **options)
    conditions = _applied(f, args)
    if not full_output:
        return solution(conditions, found)
    root, report = found
    root = solution(conditions, root)
    report["root"] = root
    return root, report


@composite(so.brentq)
def _(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _bracketed(so.brentq, f, (a, b), args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@composite(so.brenth)
def _(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _bracketed(so.brenth, f, (a, b), args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@composite(so.bisect)
def _(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _bracketed(so.bisect, f, (a, b), args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@composite(so.ridder)
def _(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _bracketed(so.ridder, f, (a, b), args, full_output, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@composite(so.toms748)
def _(f, a, b, args=(), k=1, xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _bracketed(so.toms748, f, (a, b), args, full_output, k=k, xtol=xtol, rtol=rtol, maxiter=maxiter, disp=disp)


@composite(so.newton)
def _(func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False,
      disp=True):
    found = plainly(so.newton, func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol, full_output, disp)
    conditions = _applied(func, args)
    if full_output and np.size(x0) > 1:
        return type(found)(solution(conditions, found[0]), *found[1:])
    if full_output:
        found[1]["root"] = solution(conditions, found[0])
        return found[1]["root"], found[1]
    return solution(conditions, found)


@composite(so.root_scalar)
def _(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None,
      maxiter=None, options=None):
    found = plainly(so.root_scalar, f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options)
    found["root"] = solution(_applied(f, args, fprime is True), found["root"])
    return found


@composite(so.root)
def _(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    found = plainly(so.root, fun, x0, args, method, jac, tol, callback, options)
    found["x"] = solution(_applied(fun, args, jac is True), found["x"])
    return found


@composite(so.fsolve)
def _(func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None, epsfcn=None,
      factor=100, diag=None):
    found = plainly(so.fsolve, func, x0, args, fprime, full_output, col_deriv, xtol, maxfev, band, epsfcn, factor, diag)
    conditions = _applied(func, args)
    if full_output:
        return solution(conditions, found[0]), *found[1:]
    return solution(conditions, found)


@composite(so.fixed_point)
def _(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    image = _applied(func, args)
    return solution(lambda x: image(x) - x, plainly(so.fixed_point, func, x0, args, xtol, maxiter, method))


# Minima

def _ends(bounds: Any, size: int) -> tuple[Any, Any]:
    """Lower and upper bounds as arrays."""
    if isinstance(bounds, so.Bounds):
        return np.broadcast_to(np.asarray(bounds.lb), (size,)), np.broadcast_to(np.asarray(bounds.ub), (size,))
    pairs = list(bounds)
    return (np.array([-np.inf if low is None else low for low, _ in pairs]),
            np.array([np.inf if high is None else high for _, high in pairs]))


def _stationary(slope: Any, bounds: Any, x: Any) -> Any:
    """The conditions of a minimum: the slope vanishes, but where x lies on a bound that it is pushed against."""
    if bounds is None:
        return slope
    low, high = _ends(bounds, np.size(x))
    g = np.ravel(stop_gradient(slope(x)))
    at_low = (np.abs(x - low) <= 1e-9 * (1.0 + np.abs(low))) & (g > 0)
    at_high = (np.abs(x - high) <= 1e-9 * (1.0 + np.abs(high))) & (g < 0)
    low_there, high_there = np.where(at_low, low, 0.0), np.where(at_high, high, 0.0)
    return lambda x: np.where(at_low, x - low_there, np.where(at_high, x - high_there, slope(x)))


@composite(so.minimize)
def _(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
      callback=None, options=None):
    if constraints is not None and constraints != ():
        raise Unsupported("scipy.optimize.minimize with constraints, differentiated",
                          instead="give the optimality conditions with their multipliers to transad.implicit")
    found = plainly(so.minimize, fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)
    objective = _applied(fun, args, jac is True)
    found["x"] = solution(_stationary(grad(objective), bounds, found["x"]), found["x"])
    found["fun"] = _like(found["fun"], objective(found["x"]))
    return found


@composite(so.minimize_scalar)
def _(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    found = plainly(so.minimize_scalar, fun, bracket, bounds, args, method, tol, options)
    objective = _applied(fun, args)
    found["x"] = solution(grad(objective), found["x"])
    found["fun"] = _like(found["fun"], objective(found["x"]))
    return found


@composite(so.least_squares)
def _(fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8, x_scale=None,
      loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None, jac_sparsity=None, max_nfev=None,
      verbose=0, args=(), kwargs=None, callback=None, workers=None):
    if loss != "linear":
        raise Unsupported("scipy.optimize.least_squares with a loss of its own, differentiated",
                          instead="give transad.implicit the objective that it minimises")
    given = {"x_scale": x_scale, "tr_options": tr_options, "callback": callback, "workers": workers}
    found = plainly(so.least_squares, fun, x0, jac, bounds, method, ftol, xtol, gtol, loss=loss, f_scale=f_scale,
                    diff_step=diff_step, tr_solver=tr_solver, jac_sparsity=jac_sparsity, max_nfev=max_nfev,
                    verbose=verbose, args=args, kwargs=kwargs or {}, **{k: v for k, v in given.items() if v is not None})

    def residuals(x: Any) -> Any:
        return fun(x, *args, **(kwargs or {}))

    def objective(x: Any) -> Any:
        return 0.5 * np.sum(np.asarray(residuals(x)) ** 2)
    limits = None if np.all(np.isinf(bounds[0])) and np.all(np.isinf(bounds[1])) else so.Bounds(*bounds)
    found["x"] = solution(_stationary(grad(objective), limits, found["x"]), found["x"])
    found["fun"] = _like(found["fun"], np.ravel(np.asarray(residuals(found["x"]))))
    found["cost"] = _like(found["cost"], objective(found["x"]))
    return found
