"""Values of rules at zeros, ties, infinities and empty arrays, derived by hand."""
import math
import operator
import re

import numpy as np
import pytest

import transad
from transad.errors import Unsupported
from transad.rules import (  # noqa: F401
    building,
    elementwise,
    indexing,
    joining,
    nondiff,
    quantiles,
    reductions,
    scalars,
    scans,
    shapes,
)
from transad.rules.elementwise import constant_power
from transad.rules.registry import find


def stable_id(value):
    """A name without memory addresses: every process collects the same tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


INF, NAN = np.inf, np.nan


def partials(function, *args):
    """The partial derivatives at scalars, as a tuple."""
    rule = find(function)
    with np.errstate(all="ignore"):
        out = function(*args)
        names = rule.partials.__code__.co_varnames[:rule.partials.__code__.co_kwonlyargcount + len(args)]
        found = rule.partials(*args, out=out) if "out" in names else rule.partials(*args)
    return found if isinstance(found, tuple) else (found,)


def pull(function, name, *args, g=1.0, **kwargs):
    """The cotangent of one argument for the cotangent g of the result."""
    with np.errstate(all="ignore"):
        return find(function).adjoints[name](g, function(*args, **kwargs), *args, **kwargs)


@pytest.mark.parametrize("function, args, expected", [
    (np.power, (0.0, 0.0), (0.0, 0.0)),
    (np.power, (0.0, 1.0), (1.0, 0.0)),
    (np.power, (0.0, 2.0), (0.0, 0.0)),
    (np.power, (0.0, 0.5), (INF, 0.0)),
    (np.power, (-2.0, 3.0), (12.0, NAN)),
    (np.power, (3.0, 0.0), (0.0, math.log(3.0))),
    (operator.pow, (np.float64(0.0), 2), (0.0, 0.0)),
    (math.pow, (0.0, 2.0), (0.0, 0.0)),
    (np.sqrt, (0.0,), (INF,)),
    (math.sqrt, (0.0,), (INF,)),
    (np.cbrt, (0.0,), (INF,)),
    (math.cbrt, (0.0,), (INF,)),
    (np.log, (0.0,), (INF,)),
    (np.absolute, (0.0,), (0.0,)),
    (np.absolute, (3.0 + 4.0j,), (0.6 - 0.8j,)),
    (np.absolute, (0.0j,), (0.0,)),
    (np.fabs, (0.0,), (0.0,)),
    (math.fabs, (0.0,), (0.0,)),
    (np.maximum, (2.0, 2.0), (0.5, 0.5)),
    (np.minimum, (2.0, 2.0), (0.5, 0.5)),
    (np.fmax, (2.0, 2.0), (0.5, 0.5)),
    (np.fmax, (NAN, 2.0), (0.0, 1.0)),
    (np.fmin, (2.0, NAN), (1.0, 0.0)),
    (np.logaddexp, (-INF, -INF), (0.5, 0.5)),
    (np.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    (np.logaddexp, (1.0, -INF), (1.0, 0.0)),
    (np.logaddexp, (800.0, 0.0), (1.0, 0.0)),
    (np.logaddexp2, (-INF, -INF), (0.5, 0.5)),
    (np.logaddexp2, (3.0, 3.0), (0.5, 0.5)),
    (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    (np.hypot, (3e200, 4e200), (0.6, 0.8)),
    (np.arctan2, (0.0, 1e-200), (1e200, 0.0)),
    (np.arctan2, (0.0, 2.0), (0.5, 0.0)),
    (math.atan2, (0.0, 2.0), (0.5, 0.0)),
    (np.sinc, (0.0,), (0.0,)),
    (np.exp, (-INF,), (0.0,)),
    (np.arcsin, (1.0,), (INF,)),
    (math.asin, (1.0,), (INF,)),
    (math.acos, (-1.0,), (-INF,)),
    (math.acosh, (1.0,), (INF,)),
    (np.arctanh, (1.0,), (INF,)),
    (np.heaviside, (0.0, 0.5), (None, 1.0)),
    (np.copysign, (0.0, -1.0), (0.0, None)),
    (np.remainder, (7.0, -2.5), (1.0, 3.0)),
    (np.divide, (np.float64(1.0), np.float64(0.0)), (INF, -INF)),
    (np.square, (0.0,), (0.0,)),
], ids=stable_id)
def test_partials(function, args, expected):
    got = partials(function, *args)
    for one, other in zip(got, expected, strict=True):
        assert (one is None) is (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_the_constant_exponent_agrees_with_the_general_rule():
    for x in (0.0, 0.7, -1.5):
        for exponent in (0, 1, 2, 3):
            assert constant_power(x, exponent) == partials(np.power, x, float(exponent))[0]


def test_digamma_at_known_points():
    euler = 0.57721566490153286
    assert scalars.digamma(1.0) == pytest.approx(-euler, rel=1e-15)
    assert scalars.digamma(0.5) == pytest.approx(-euler - 2 * math.log(2), rel=1e-15)
    assert scalars.digamma(-0.5) == pytest.approx(2 - euler - 2 * math.log(2), rel=1e-13)


def same(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert np.shape(got) == np.shape(expected)


def test_ties_of_extrema_are_shared_evenly():
    x = np.array([1.0, 3.0, 3.0, 2.0])
    same(pull(np.max, "a", x), [0.0, 0.5, 0.5, 0.0])
    same(pull(np.ptp, "a", np.array([1.0, 3.0, 1.0])), [-0.5, 1.0, -0.5])
    same(pull(np.max, "a", x, initial=3.0), [0.0, 1 / 3, 1 / 3, 0.0])
    same(pull(np.max, "initial", x, initial=3.0), 1 / 3)
    same(pull(np.max, "a", x, initial=5.0), np.zeros(4))
    same(pull(np.nanmin, "a", np.array([NAN, 2.0, 2.0])), [0.0, 0.5, 0.5])
    same(pull(np.min, "a", np.ones((2, 2)), axis=1, g=np.array([1.0, 2.0])), [[0.5, 0.5], [1.0, 1.0]])


def test_products_with_zeros():
    same(pull(np.prod, "a", np.array([2.0, 0.0, 3.0])), [0.0, 6.0, 0.0])
    same(pull(np.prod, "a", np.array([0.0, 0.0, 3.0])), np.zeros(3))
    same(pull(np.prod, "a", np.zeros(0)), np.zeros(0))
    weights = np.array([2.0, -1.0, 3.0, 0.5])
    same(pull(np.cumprod, "a", np.array([1.5, 0.0, 2.0, 3.0]), g=weights), [2.0, 12.0, 0.0, 0.0])
    assert find(math.prod).adjoints["iterable"](1.0, 0.0, [0.0, 4.0]) == [4.0, 0.0]


def test_deviation_of_equal_numbers():
    same(pull(np.std, "a", np.ones(3)), np.zeros(3))
    same(pull(np.var, "a", np.ones(3)), np.zeros(3))


def test_deviation_without_degrees_of_freedom_is_not_a_number_rather_than_an_error():
    with pytest.warns(RuntimeWarning):
        assert np.isnan(pull(np.var, "a", np.array([0.5, 0.5]), ddof=2)).all()
    with pytest.warns(RuntimeWarning):
        assert np.shape(pull(np.mean, "a", np.zeros(0))) == (0,)


def test_clip_at_its_bounds():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    same(pull(np.clip, "a", x, 0.0, 1.0, g=np.ones(5)), [0.0, 0.5, 1.0, 0.5, 0.0])
    same(pull(np.clip, "a_min", x, 0.0, 1.0, g=np.ones(5)), 1.5)
    same(pull(np.clip, "a_max", x, 0.0, 1.0, g=np.ones(5)), 1.5)


def test_masked_branches_stay_out():
    x = np.array([NAN, 2.0])
    same(pull(np.where, "x", np.array([False, True]), x, 0.0, g=np.ones(2)), [0.0, 1.0])
    same(pull(np.nansum, "a", x), [0.0, 1.0])
    same(pull(np.nanmean, "a", x), [0.0, 1.0])
    same(pull(np.nanprod, "a", x), [0.0, 1.0])
    same(pull(np.nan_to_num, "x", x, g=np.ones(2)), [0.0, 1.0])
    same(pull(np.nanmedian, "a", x), [0.0, 1.0])


def test_repeated_and_negative_indices_add_up():
    same(pull(np.take, "a", np.arange(3.0), [1, 1, -1], g=np.array([1.0, 2.0, 4.0])), [0.0, 3.0, 4.0])
    same(pull(np.repeat, "a", np.arange(2.0), [2, 0], g=np.array([1.0, 2.0])), [3.0, 0.0])


def test_interpolation_outside_and_at_a_knot():
    knots, table = np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, 2.0])
    same(pull(np.interp, "x", np.array([-1.0, 1.0, 4.0]), knots, table, g=np.ones(3)), [0.0, -0.5, 0.0])
    same(pull(np.interp, "fp", np.array([-1.0, 1.0, 4.0]), knots, table, g=np.ones(3)), [1.0, 1.0, 1.0])


def test_empty_arrays():
    empty = np.zeros((2, 0))
    same(pull(np.sum, "a", empty, axis=1, g=np.ones(2)), empty)
    same(pull(np.cumsum, "a", empty, axis=1, g=empty), empty)
    same(pull(np.sort, "a", empty, g=empty), empty)
    same(pull(np.diff, "a", np.ones(1), g=np.zeros(0)), np.zeros(1))
    same(pull(np.diff, "a", np.ones(2), n=5, g=np.zeros(0)), np.zeros(2))
    same(pull(np.concatenate, "arrays", [np.zeros(0), np.ones(1)], g=np.ones(1))[0], np.zeros(0))


def test_float32_stays():
    x = np.array([[0.5, -1.25], [3.0, 0.25]], dtype=np.float32)
    g = np.ones(2, dtype=np.float32)
    for function in (np.sum, np.mean, np.prod, np.max, np.var, np.nanmean, np.nanstd):
        assert pull(function, "a", x, axis=1, g=g).dtype == np.float32, function
    for function in (np.sin, np.exp, np.sqrt, np.square, np.tanh, np.log1p, np.arctan):
        assert np.result_type(partials(function, np.abs(x))[0]) == np.float32, function


@pytest.mark.parametrize("function, name, args, kwargs", [
    (np.unique, "ar", (np.ones((2, 2)),), {"axis": 0}),
    (np.nan_to_num, "x", (np.ones(2), False), {}),
], ids=stable_id)
def test_options_without_a_rule_are_refused_by_name(function, name, args, kwargs):
    with pytest.raises(Unsupported, match=f"np.{function.__name__}.*") as caught:
        pull(function, name, *args, **kwargs)
    assert caught.value.instead


# Second derivatives at the same points: a mask that gives the right slope must not give a wrong curvature.

@pytest.mark.parametrize("function, x, first, second", [
    (lambda x: x ** 2, 0.0, 0.0, 2.0),
    (lambda x: x ** 3, 0.0, 0.0, 0.0),
    (lambda x: x ** 1, 0.0, 1.0, 0.0),
    (lambda x: x ** 0, 0.0, 0.0, 0.0),
    (lambda x: np.power(x, 2.0), 0.0, 0.0, 2.0),
    (lambda x: math.pow(x, 2), 0.0, 0.0, 2.0),
    (lambda x: np.square(x), 0.0, 0.0, 2.0),
    (lambda x: 0.0 ** x, 2.0, 0.0, 0.0),
    (lambda x: 3.0 ** x, 0.0, math.log(3.0), math.log(3.0) ** 2),
    (lambda x: np.sinc(x), 0.0, 0.0, -math.pi ** 2 / 3),
    (lambda x: np.logaddexp(x, 1.5), 1.5, 0.5, 0.25),
    (lambda x: np.logaddexp(x, -INF), 1.0, 1.0, 0.0),
    (lambda x: np.logaddexp2(x, 1.5), 1.5, 0.5, math.log(2.0) / 4),
    (lambda x: np.prod(np.array([x, 0.0, 3.0]) + x), 0.0, 0.0, 12.0),
    (lambda x: np.sum(np.cumprod(np.array([1.0, 0.0]) + x)), 0.0, 2.0, 2.0),
    (lambda x: np.abs(x), 0.0, 0.0, 0.0),
    (lambda x: np.where(x > 0.5, np.sqrt(x), x * x), 0.0, 0.0, 2.0),
    (lambda x: np.var(np.array([1.0, 1.0]) * x), 1.0, 0.0, 0.0),
    (lambda x: np.vander(np.array([1.0, 2.0]) * x, 3).sum(), 0.0, 3.0, 10.0),
    (lambda x: np.polyval(np.array([1.0, 2.0, 3.0]), x), 0.0, 2.0, 2.0),
    (lambda x: math.log(x), 2.0, 0.5, -0.25),
    (lambda x: math.log(x, 2.0), 2.0, 0.5 / math.log(2.0), -0.25 / math.log(2.0)),
    (lambda x: math.log(2.0, x), 2.0, -0.5 / math.log(2.0), 0.25 / math.log(2.0) + 0.5 / math.log(2.0) ** 2),
])
def test_first_and_second_derivative(function, x, first, second):
    slope = transad.grad(function)
    np.testing.assert_allclose(slope(x), first, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(transad.grad(slope)(x), second, rtol=1e-12, atol=1e-14)


def test_mixed_second_derivative_of_a_power_at_exponent_zero():
    """d/dy (y x**(y - 1)) at y = 0 is 1 / x, although the slope in x is 0 there."""
    def slope_in_x(y):
        return transad.grad(lambda x: x ** y)(2.0)
    assert transad.grad(slope_in_x)(0.0) == pytest.approx(0.5)


def test_a_branch_not_taken_leaves_no_trace():
    x = np.array([0.0, 1000.0, -1000.0])
    with np.errstate(all="ignore"):
        same(transad.grad(lambda x: np.sum(np.where(x > 30, x, np.log1p(np.exp(x)))))(x), [0.5, 1.0, 0.0])
        same(transad.grad(lambda x: np.sum(np.where(x > 0, np.log(x) + np.sqrt(x), 0.0)))(x[:1]), [0.0])
