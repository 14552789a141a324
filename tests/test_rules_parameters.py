"""Derivatives of distribution and zeta functions in their parameters, against values of 40 digits (computed with mpmath)."""
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import transad
from transad import grad

GAMMA = [
    (0.05, 1e-09, -7.371565151541292),
    (0.4, 0.1, -0.9998257117926908),
    (1.0, 1.0, -0.4317297106348987),
    (2.5, 9.0, -0.004741679548193881),
    (17.0, 1.7, -1.0960699324973e-11),
    (150.0, 151.0, -0.03237582729030996),
    (3000.0, 2900.0, -0.0013470386615686632),
]
BETA = [
    (0.02, 0.6, 1e-10, -14.82935634824915, 0.04383186459839019),
    (0.6, 3.0, 0.3, -0.36604795138819707, 0.08732552224689362),
    (2.0, 0.02, 0.99, -0.011740154941384398, 3.380233705246115),
    (40.0, 60.0, 0.2, -1.939902031843783e-06, 8.047039546324659e-07),
    (1000.0, 1500.0, 0.41, -0.005750489446813693, 0.003913869107321508),
    (1.5, 2.5, 0.9999999990686774, -6.576695030771399e-23, 1.113065496952844e-21),
]
STUDENT = [
    (0.7, -3.0, -0.16972340353742751),
    (2.5, 0.4, 0.005761084382893981),
    (40.0, 1.7, 9.690411902557723e-05),
    (1000.0, -2.0, -1.351049489460594e-07),
]
ZETA = [
    (1.5, None, -3.9322397374311016),
    (0.3, None, -1.9618608600898817),
    (-0.7, None, -0.26183048810080056),
    (-6.3, None, -0.005469879401204084),
    (12.0, None, -0.00017138284585435377),
    (1.2, 0.4, -22.285851285349978),
    (3.5, 7.0, -0.008386012927050953),
]


@pytest.mark.parametrize("a, x, expected", GAMMA)
def test_incomplete_gamma(a, x, expected):
    assert grad(sp.gammainc)(a, x) == pytest.approx(expected, rel=1e-11)
    assert grad(sp.gammaincc)(a, x) == pytest.approx(-expected, rel=1e-11)
    assert grad(lambda a: st.gamma.cdf(x, a))(a) == pytest.approx(expected, rel=1e-11)
    assert grad(lambda df: st.chi2.cdf(2 * x, df))(2 * a) == pytest.approx(0.5 * expected, rel=1e-11)
    assert transad.jvp(lambda a: sp.gammainc(a, x), (a,), (1.0,))[1] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("a, b, x, on_a, on_b", BETA)
def test_incomplete_beta(a, b, x, on_a, on_b):
    assert grad(sp.betainc, (0, 1))(a, b, x) == pytest.approx((on_a, on_b), rel=1e-11)
    assert grad(lambda a, b: st.beta.sf(x, a, b), (0, 1))(a, b) == pytest.approx((-on_a, -on_b), rel=1e-11)


@pytest.mark.parametrize("df, t, expected", STUDENT)
def test_student(df, t, expected):
    assert grad(lambda df: st.t.cdf(t, df))(df) == pytest.approx(expected, rel=1e-9)
    assert grad(sp.stdtr)(df, t) == pytest.approx(expected, rel=1e-9)


def test_student_at_zero_and_outside_the_support():
    assert grad(lambda df: st.t.cdf(0.0, df))(3.0) == 0.0
    slope = grad(lambda t: grad(lambda df: st.t.cdf(t, df))(3.0))(0.0)
    assert slope == pytest.approx(grad(lambda df: st.t.pdf(0.0, df))(3.0), rel=1e-12)
    assert grad(lambda a: st.gamma.cdf(-1.0, a))(2.0) == 0.0
    assert grad(lambda a, b: st.beta.cdf(1.5, a, b), (0, 1))(2.0, 3.0) == (0.0, 0.0)
    assert np.isnan(grad(sp.gammainc)(-1.0, 2.0))


def test_quantiles_undo_distribution_functions():
    def there_and_back(a):
        return st.gamma.cdf(st.gamma.ppf(0.3, a), a) + sp.betainc(a, 2.0, sp.betaincinv(a, 2.0, 0.4))
    assert grad(there_and_back)(1.7) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("s, q, expected", ZETA)
def test_zeta(s, q, expected):
    assert grad(lambda s: sp.zeta(s) if q is None else sp.zeta(s, q))(s) == pytest.approx(expected, rel=1e-11)
    if q is None:
        assert grad(sp.zetac)(s) == pytest.approx(expected, rel=1e-11)


def test_polygamma_of_complex_numbers():
    z = 1.3 + 0.8j
    first = grad(lambda z: np.real(sp.psi(z)))(z)
    assert first == pytest.approx(np.sum(1 / (z + np.arange(400000.0)) ** 2), abs=3e-6)
