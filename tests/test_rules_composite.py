"""Solvers, integrators, sparse matrices, splines; what callables hold; rules from outside."""
import math

import numpy as np
import pytest
import scipy.fft as sf
import scipy.integrate as si
import scipy.interpolate as ip
import scipy.linalg as sl
import scipy.optimize as so
import scipy.sparse as sps
import scipy.sparse.linalg as spl
import scipy.spatial.distance as sd
import scipy.special as sp
import scipy.stats as st
from scipy.special import itstruve0, struve

import transad
from transad import check_grads, grad, implicit, rules
from transad.errors import InvalidArgument, MissingRule

V = np.array([0.3, 0.7, 0.45, 0.62])
W = np.array([1.3, 1.8, 1.45, 1.62])
D, R, C = np.array([1.3, 1.8, 1.1, 1.6, 0.7, 0.4]), np.array([0, 1, 2, 3, 0, 0]), np.array([0, 1, 2, 3, 2, 2])
A = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1


def babylonian(a):
    x = 1.0
    while abs(x * x - a) > 1e-15 * a:
        x = 0.5 * (x + a / x)
    return x


def rhs(p):
    return lambda y, t: np.array([p[0] * y[0] - p[1] * y[0] * y[1], y[0] * y[1] - p[0] * y[1]])


def exponential_at(x, index):
    y = x * 0.5
    np.exp.at(y, index)
    return y


T = np.linspace(0, 1, 3)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
CASES = {
    "implicit": (lambda a: implicit(babylonian, lambda x, a: x * x - a)(a), 4.0),
    "implicit objective": (implicit(lambda a: np.array([a, 2 * a]), objective=lambda x, a: np.sum(
        (x - a * np.array([1.0, 2.0])) ** 2 * (1 + a * a))), 1.3),
    "implicit dict": (lambda a: implicit(lambda a: {"x": a ** 0.5, "y": np.array([a, a * a])}, lambda z, a: [
        z["x"] ** 2 - a, z["y"] - np.stack([a, a * a])])(a)["x"], 1.3),
    "brentq": (lambda a: so.brentq(lambda x: x ** 3 - a, 0.0, 3.0, xtol=1e-13), 1.7),
    "newton": (lambda a: so.newton(lambda x: x ** 3 - a, 1.0, tol=1e-13), 1.7),
    "root_scalar": (lambda a: so.root_scalar(lambda x: x ** 3 - a, bracket=(0.0, 3.0), xtol=1e-13).root, 1.7),
    "root": (lambda a, p: so.root(lambda x: x ** 3 + p * x - a, np.ones(4), tol=1e-13).x, W, 0.7),
    "fsolve": (lambda a: so.fsolve(lambda x: x ** 3 - a, np.ones(4), xtol=1e-13), W),
    "fixed_point": (lambda a: so.fixed_point(lambda x: np.cos(a * x), 0.7, xtol=1e-12), 0.9),
    "quad": (lambda a, b, p: si.quad(lambda x: np.exp(-p * x * x), a, b)[0], 0.2, 1.3, 0.7),
    "quad infinite": (lambda p: si.quad(lambda x: np.exp(-p * x * x), -np.inf, np.inf)[0], 0.7),
    "spline": (lambda y, x: ip.CubicSpline(np.arange(4.0), y)(x), V, np.array([0.3, 2.2])),
    "spline slope": (lambda y: ip.CubicSpline(np.arange(4.0), y, bc_type="natural")(1.3, 1), V),
    "spline integral": (lambda y: ip.CubicSpline(np.arange(4.0), y).integrate(0.3, 2.2), V),
    "spline knots": (lambda k, y: ip.CubicSpline(np.cumsum(k), y)(3.0), W, V),
    "sparse": (lambda d, x: sps.csr_array((d, (R, C)), shape=(4, 4)) @ x, D, V),
    "sparse left": (lambda d, x: x @ sps.csc_array((d, (R, C)), shape=(4, 4)), D, V),
    "sparse constant": (lambda x: sps.csr_matrix(A) @ x, V),
    "sparse sum": (lambda d, x: (sps.coo_array((d, (R, C)), shape=(4, 4)) + sps.eye_array(4)) @ x, D, V),
    "spsolve": (lambda d, x: spl.spsolve(sps.csc_array((d, (R, C)), shape=(4, 4)), x), D, V),
    "splu": (lambda x: spl.splu(sps.csc_array(A)).solve(x), V),
    "cdist": (lambda a, b: sd.cdist(a, b), np.arange(6.0).reshape(3, 2) ** 1.5, np.array([[0.3, 0.9]])),
    "pdist": (sd.pdist, np.arange(6.0).reshape(3, 2) ** 1.5),
    "frozen": (lambda q, m, s: st.norm(m, s).logpdf(q), V, 0.3, 1.2),
    "lognorm": (lambda x, s: st.lognorm.logpdf(x, s), V, 0.8),
    "weibull": (lambda x, c: st.weibull_min.cdf(x, c, scale=1.3), V, 1.7),
    "nbinom": (lambda p: st.nbinom.logpmf(np.array([1, 3]), 5, p), 0.4),
    "dctn": (lambda x: sf.dctn(x), A),
    "hfft": (lambda x: sf.hfft(x), V + 1j * W),
    "reduceat": (lambda x: np.multiply.reduceat(x, [0, 2]), V),
    "overwrite": (lambda a, b: sl.solve(a * 1.0, b * 1.0, overwrite_a=True, overwrite_b=True), A, V),
    "broadcast together": (lambda a, b: np.broadcast_arrays(a, b), V, 0.5),
    "log base": (lambda x, b: math.log(x, b), 3.0, 2.0),
    "compress": (lambda x: x.compress([True, False, True, True]), V),
    "out none": (lambda x: np.sum(x * x, out=None), V),
    "pad constant": (lambda x, c: np.pad(x, ((1, 2), (0, 1)), constant_values=(c, 2.0)), A[:2], 0.4),
    "pad mean": (lambda x: np.pad(x, (2, 1), "mean", stat_length=((2, 3), (1, 2))), A[:3]),
    "pad maximum": (lambda x: np.pad(x, 2, "maximum"), V),
    "pad median": (lambda x: np.pad(x, (1, 2), "median"), V[:3]),
    "pad ramp": (lambda x, e: np.pad(x, ((2, 3),), "linear_ramp", end_values=e), V, 0.7),
    "pad reflect": (lambda x: np.pad(x, {0: 1, -1: (5, 2)}, "reflect"), A[:, :3]),
    "pad odd": (lambda x: np.pad(x, 5, "symmetric", reflect_type="odd"), V[:3]),
    "pad wrap": (lambda x: np.pad(x, 6, "wrap"), V),
    "gradient": (lambda x: np.gradient(x), A),
    "gradient spacing": (lambda x, h: np.gradient(x, h, axis=1, edge_order=2), A, 0.7),
    "gradient coordinates": (lambda x, s: np.gradient(x, 0.5, np.cumsum(s)), A[:2], W),
    "gradient ends": (lambda x, s: np.gradient(x, np.cumsum(s), edge_order=2), V, W),
    "voigt": (lambda x, s, g: sp.voigt_profile(x, s, g), V, 0.8, 0.3),
    "fdtr": (lambda x, p: sp.fdtr(p, 2 * p, x) + sp.fdtrc(p, 2.0, x), V, 2.3),
    "gdtr": (lambda x, a, b: sp.gdtr(a, b, x) + sp.gdtrc(a, b, 2 * x), V, 1.3, 0.8),
    "spherical": (lambda x: sp.spherical_in(2, x) + sp.spherical_kn(1, x, derivative=True), W),
    "moments": (lambda a, s: st.gamma.stats(a, scale=s, moments="mvsk"), 1.3, 0.7),
    "mean and deviation": (lambda a, s: st.beta.mean(a, s) + st.norm.std(a, s) + st.poisson.var(a), 1.3, 0.7),
    "reduce axes": (lambda x: np.logaddexp.reduce(x, axis=(0, 1)), A),
    "reduce where": (lambda x: np.hypot.reduce(x, axis=1, where=np.array([True, False, True, True])), A),
    "at twice": (lambda x: exponential_at(x, [1, 3, 1]), V),
    "integer result": (lambda x: (3, np.arange(2), x * x), 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_both_orders_and_modes(name):
    function, *args = CASES[name]
    check_grads(function, args, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("function, args", [
    (lambda y, p: si.odeint(rhs(p), y, T, **TIGHT), (V[:2], W[:2])),
    (lambda y, t: si.odeint(lambda y, t, p: [p * y[1], -y[0] * t], y, t, args=(1.3,), **TIGHT), (V[:2], T + 0.1)),
    (lambda y, p: si.solve_ivp(lambda t, y: p * y, (0.0, 1.0), y, method="LSODA", t_eval=T, **TIGHT).y, (V[:2], 0.7)),
    (lambda a: so.minimize(lambda x: np.sum((x ** 2 - a) ** 2) + np.sum(x), np.ones(2), tol=1e-12).x, (W[:2],)),
    (lambda a: so.minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), bounds=[(0, 1.5)] * 2, tol=1e-12).x, (W[:2],)),
], ids=["odeint", "odeint times", "lsoda", "minimize", "bounds"])
def test_first_order(function, args):
    check_grads(function, args, order=1, rtol=2e-5, atol=2e-6)


def test_not_a_solution_and_no_unique_solution():
    with pytest.raises(InvalidArgument, match="not zero"):
        grad(implicit(lambda a: 2.0, lambda x, a: x - a))(1.0)
    with pytest.raises(InvalidArgument, match="singular"):
        grad(implicit(lambda a: 0.0, lambda x, a: x * x - a))(0.0)


def doubled(x, give):
    return np.asarray(x) * give()


rules.adjoint(doubled, "x")(lambda g, out, x, give: g * give())


def tripled(x):
    return 3.0 * x


rules.adjoint(tripled, "x")(lambda g, out, x: 7.0 * g)


def test_a_callable_with_an_active_value_is_not_dropped():
    with pytest.raises(MissingRule, match="holds an active value"):
        grad(lambda x, y: np.sum(doubled(x, lambda: y)), (0, 1))(V, 2.0)
    assert grad(lambda x: np.sum(doubled(x, lambda: 2.0)))(V).tolist() == [2.0] * 4


def test_a_list_that_grows_after_the_call():
    def f(x):
        parts = [x]
        y = np.stack(parts)
        parts.append(x)
        parts[0] = 3 * x
        return np.sum(y)
    assert grad(f)(V).tolist() == [1.0] * 4


objects = np.frompyfunc(lambda x: x ** 3, 1, 1)
rules.partials(objects)(lambda x: 3 * x * x)


def test_a_rule_from_outside_and_what_its_absence_says():
    with pytest.raises(MissingRule, match="itstruve0") as caught:
        grad(lambda x: np.sum(itstruve0(x)))(1 + W)
    assert "@transad.rules.partials" in str(caught.value)
    rules.partials(itstruve0)(lambda x: struve(0.0, x))
    assert grad(itstruve0)(2.5) == pytest.approx(struve(0.0, 2.5), rel=1e-12)
    rules.registry._RULES.pop(rules.registry._key(itstruve0))          # the catalogue is not to list it
    with pytest.raises(transad.Unsupported, match="objects"):
        grad(lambda x: np.sum(objects(x)))(W)


def test_the_rule_of_a_python_function_comes_before_its_text():
    assert grad(lambda x: np.sum(tripled(x)) * 1.0)(V).tolist() == [7.0] * 4


def test_ragged_tangents():
    y, dy = transad.jvp(lambda l: l[0] * np.sum(l[1]), ([1.0, np.arange(3.0)],), ([1.0, np.ones(3)],))
    assert (y, dy) == (3.0, 6.0)
