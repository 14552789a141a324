"""Every rule of contractions, linear algebra, FFT and SciPy against differences, called directly (no
runtime)."""
import importlib
import inspect

import numpy as np
import pytest

from transad.errors import MissingRule
from transad.rules import registry
from transad.runtime.rule_parts import partial_parts

MODULES = ["contractions", "einsum", "convolutions", "covariance", "linalg", "norms", "decompositions", "fft",
           "scipy_special", "scipy_special_more", "scipy_bessel", "scipy_incomplete", "scipy_zeta", "scipy_orders",
           "scipy_probability", "scipy_linalg", "scipy_matrices", "scipy_toeplitz", "scipy_stats", "scipy_multivariate",
            "scipy_signal", "scipy_integrate", "scipy_fft"]
OWN = []
for name in MODULES:
    try:
        OWN.append(importlib.import_module(f"transad.rules.{name}").__name__)
    except ModuleNotFoundError as missing:
        if "scipy" not in str(missing.name):
            print("MISSING", missing)


def leaves(x):
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in leaves(item)]
    if x is None or isinstance(x, str | bool):
        return []
    x = np.asarray(x)
    return [x] if x.dtype.kind in "fc" else []


def like(x, rng, real=False):
    """Random numbers in the structure of x; None for what is not a number."""
    if isinstance(x, tuple | list):
        return [like(item, rng, real) for item in x]
    if x is None or isinstance(x, str | bool) or callable(x):
        return None
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return None
    r = rng.standard_normal(a.shape)
    if a.dtype.kind == "c" and not real:
        r = r + 1j * rng.standard_normal(a.shape)
    return r if a.ndim else r[()]


def moved(x, t, h):
    if t is None:
        return x
    if isinstance(x, tuple | list):
        return type(x)(moved(a, b, h) for a, b in zip(x, t))
    return np.asarray(x) + h * t if np.ndim(x) else x + h * t


def pair(g, t):
    """Re(sum(g * t)) over corresponding leaves."""
    if g is None or t is None:
        return 0.0
    if isinstance(t, tuple | list):
        return sum(pair(a, b) for a, b in zip(g, t))
    return float(np.real(np.sum(np.asarray(g) * np.asarray(t))))


def zeros_where_none(g, out):
    if isinstance(out, tuple | list):
        return tuple(zeros_where_none(a, b) for a, b in zip(g, out))
    return np.zeros(np.shape(out)) if g is None else g


def owner(rule):
    made = rule.partials or next(iter(rule.adjoints.values()), None)
    made = getattr(made, "function", made)
    return getattr(made, "__module__", "")


def cases():
    for rule in registry.registered():
        if owner(rule) not in OWN:
            continue
        keywords = rule.keywords + [{}] * (len(rule.points) - len(rule.keywords))
        name = getattr(rule.function, "__name__", "?")
        if not rule.points:
            yield pytest.param(rule, None, None, id=f"{owner(rule)}-{name}-none")
        for k, (args, kw) in enumerate(zip(rule.points, keywords)):
            yield pytest.param(rule, args, kw, id=f"{owner(rule)}-{name}-{k}")


def scaled(out):
    return sum(np.sum(np.abs(leaf)) for leaf in leaves(out)) + 1


def slope(f, args, kw, place, t, g, h=2e-3):
    """d/dh Re<g, f(... + h t)> by an eighth-order difference."""
    total = 0.0
    for k, c in zip((1, 2, 3, 4), (4 / 5, -1 / 5, 4 / 105, -1 / 280)):
        for sign in (1, -1):
            now = list(args)
            keyed = dict(kw)
            if isinstance(place, str):
                keyed[place] = moved(kw[place], t, sign * k * h)
            elif isinstance(place, slice):
                now[place] = moved(tuple(args[place]), t, sign * k * h)
            else:
                now[place] = moved(args[place], t, sign * k * h)
            total += sign * c * pair(g, f(*now, **keyed)) / h
    return total


def places(rule_function, args, kw, names):
    """(name, where in args or keywords, value) of the differentiable arguments that are given."""
    parameters = list(inspect.signature(rule_function).parameters.values())[2:]
    for name in names:
        position = [p.name for p in parameters].index(name)
        if parameters[position].kind is inspect.Parameter.VAR_POSITIONAL:
            yield name, slice(position, None), list(args[position:])
        elif position < len(args) and parameters[position].kind is not inspect.Parameter.KEYWORD_ONLY:
            yield name, position, args[position]
        elif name in kw:
            yield name, name, kw[name]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("rule,args,kw", list(cases()))
def test_against_differences(rule, args, kw):
    assert args is not None, "a rule without test points"
    rng = np.random.default_rng(5)
    f = rule.function
    out = f(*args, **kw)
    g = zeros_where_none(like(tuple(out) if isinstance(out, tuple) else out, rng), out)
    if rule.partials:
        return check_partials(rule, args, kw, out, g, rng)
    some = next(iter(rule.adjoints.values()))
    checked = 0
    for name, place, value in places(getattr(some, "function", some), args, kw, rule.adjoints):
        t = like(value, rng)
        if not leaves(value):
            continue
        cotangent = rule.adjoints[name](g, out, *args, **kw)
        if isinstance(value, tuple | list):
            for c, v in zip(cotangent, value):
                assert c is None or np.shape(c) == np.shape(v)
        else:
            assert np.shape(cotangent) == np.shape(value), (name, np.shape(cotangent), np.shape(value))
        expected = slope(f, args, kw, place, t, g)
        got = pair(cotangent, t)
        assert abs(got - expected) <= 1e-7 * (abs(expected) + scaled(out)), (name, got, expected)
        checked += 1
    assert checked, "no differentiable argument at this point"


def partial_derivatives(rule, args, out):
    """One by one, as they are asked for; None for those that nobody knows."""
    found = []
    for position in range(len(args)):
        part = partial_parts(rule).part(position)
        try:
            found.append(part and part.function(*args, **({"out": out} if part.takes_out else {})))
        except MissingRule:
            found.append(None)
    return found


def check_partials(rule, args, kw, out, g, rng):
    with np.errstate(all="ignore"):
        slopes = partial_derivatives(rule, args, out)
    checked = 0
    for position, (value, partial) in enumerate(zip(args, slopes)):
        if partial is None or not leaves(value):
            continue
        t = like(value, rng)
        expected = slope(rule.function, args, kw, position, t, g, 1e-3)
        got = pair(g, partial * t)
        assert abs(got - expected) <= 1e-7 * (abs(expected) + scaled(out)), (position, got, expected)
        checked += 1
    assert checked, "no differentiable argument at this point"


def actives(rule, args, kw):
    """The function of the differentiable arguments alone (the members of lists singly), and their values."""
    if rule.partials:
        slopes = partial_derivatives(rule, args, rule.function(*args))
        chosen = [k for k, s in enumerate(slopes) if s is not None]
    else:
        some = next(iter(rule.adjoints.values()))
        found = [place for _, place, _ in places(getattr(some, "function", some), args, kw, rule.adjoints)]
        chosen = [k for place in found if not isinstance(place, str)
                  for k in (range(place.start, len(args)) if isinstance(place, slice) else [place])]
    spots = [(k, j) for k in chosen if isinstance(args[k], tuple | list) for j in range(len(args[k]))
             if leaves(args[k][j])]
    spots += [(k, None) for k in chosen if not isinstance(args[k], tuple | list) and leaves(args[k])]
    function = rule.function

    def alone(*values):
        given = [list(a) if isinstance(a, list | tuple) else a for a in args]
        for (k, j), value in zip(spots, values):
            if j is None:
                given[k] = value
            else:
                given[k][j] = value
        given = [tuple(g) if isinstance(a, tuple) else g for a, g in zip(args, given)]
        out = function(*given, **kw)
        if isinstance(out, tuple | list):
            return [part for part in out if np.asarray(part).dtype.kind in "fc"]
        return out
    return alone, tuple(args[k] if j is None else args[k][j] for k, j in spots)


# SciPy has no second derivative of complex psi, differences none where vectors flip their signs, and the
# second derivative at a pole of gamma would need constants that nobody needs.
FIRST_ORDER_ONLY = ["loggamma-1", "rgamma-3", "rgamma-4", "rgamma-5", "scipy_matrices-eigh-1"]


def second_order_cases():
    return [case for case in cases() if not any(case.id.endswith(name) for name in FIRST_ORDER_ONLY)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule,args,kw", second_order_cases())
def test_second_order_and_forward(rule, args, kw):
    import transad
    f, values = actives(rule, args, kw)
    if not values:
        pytest.skip("only keywords")
    transad.check_grads(f, values, rtol=1e-4, atol=1e-5)
