"""Every rule against central differences, at the points that it declares."""
import copy
import inspect

import numpy as np
import pytest

import transad
from transad.errors import Unsupported
from transad.rules import (
    building,
    elementwise,
    indexing,
    joining,
    linear,
    polynomials,
    quantiles,
    reductions,
    registry,
    scalars,
    scans,
    shapes,
)

MODULES = (building, elementwise, indexing, joining, linear, polynomials, quantiles, reductions, scalars,
           scans, shapes)
OWN = {module.__name__ for module in MODULES}


def declared_in(rule):
    function = rule.partials or next(iter(rule.adjoints.values()))
    return getattr(function, "function", function).__module__


RULES = [rule for rule in registry.registered() if not rule.nondiff and declared_in(rule) in OWN]


# Nested arguments: lists, tuples, arrays, numbers

def is_active(leaf):
    return not isinstance(leaf, (str, type, slice, type(None))) and np.asarray(leaf).dtype.kind in "fc"


def tree_map(function, tree, *rest):
    if isinstance(tree, (list, tuple)):
        return type(tree)(tree_map(function, *parts) for parts in zip(tree, *rest, strict=True))
    return function(tree, *rest)


def tree_leaves(tree):
    if not isinstance(tree, (list, tuple)):
        return [tree]
    return [leaf for part in tree for leaf in tree_leaves(part)]


def direction(rng, leaf):
    """A random direction of the leaf's shape and field; 0 where the leaf is not finite."""
    if not is_active(leaf):
        return 0
    step = rng.standard_normal(np.shape(leaf))
    if np.iscomplexobj(leaf):
        step = step + 1j * rng.standard_normal(np.shape(leaf))
    step = np.where(np.isfinite(leaf), step, 0.0)
    return step if np.ndim(leaf) else step.item()


def moved(value, step, h):
    """value + h * step, each array in its own memory layout."""
    def add(leaf, d):
        if not is_active(leaf):
            return leaf
        return np.add(leaf, h * d, out=np.empty_like(leaf)) if isinstance(leaf, np.ndarray) else leaf + h * d
    return tree_map(add, value, step)


def pairing(g, out):
    """Re(sum(g * out)), passing over what is not a number."""
    total = 0.0
    for weight, leaf in zip(tree_leaves(g), tree_leaves(out), strict=True):
        if is_active(leaf):
            total += np.sum(np.real(np.where(np.isfinite(leaf), weight * np.asarray(leaf), 0.0)))
    return total


def slope(function, g, value, step, h=1e-4):
    """The derivative of <g, function(value)> along step, of fourth order."""
    at = [pairing(g, function(moved(value, step, k * h))) for k in (-2, -1, 1, 2)]
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)


def seeded(function, args, kwargs):
    np.random.seed(3)
    return function(*args, **kwargs)


def arguments_of(rule, args, kwargs):
    """The arguments bound to the rule's parameters, how many come first, the names of those active."""
    function = rule.partials or next(iter(rule.adjoints.values()))
    signature = inspect.signature(getattr(function, "function", function))
    if rule.partials:
        bound = signature.bind(*args, **({"out": None} if "out" in signature.parameters else {}))
        return bound, 0, [name for name in bound.arguments if name != "out"]
    bound = signature.bind(None, None, *args, **kwargs)
    return bound, 2, [name for name in rule.adjoints if bound.arguments.get(name) is not None]


def call_with(rule, bound, skip, name, value):
    bound = inspect.BoundArguments(bound.signature, dict(bound.arguments))
    bound.arguments[name] = value
    kwargs = {key: each for key, each in bound.kwargs.items() if key != "out" or not rule.partials}
    return seeded(rule.function, bound.args[skip:], kwargs)


def pull_back(rule, bound, name, g, out, args, kwargs):
    """The cotangent of the argument `name`, or None where the rule says that it has none."""
    if not rule.partials:
        return rule.adjoints[name](g, out, *args, **kwargs)
    wants_out = "out" in inspect.signature(rule.partials).parameters
    found = rule.partials(*args, out=out) if wants_out else rule.partials(*args)
    partial = found[list(bound.arguments).index(name)] if isinstance(found, tuple) else found
    if partial is None:
        return np.zeros(np.shape(bound.arguments[name]))
    product = np.where(np.asarray(g) == 0, 0.0, g * np.asarray(partial))
    shape = np.shape(bound.arguments[name])
    extra = tuple(range(np.ndim(product) - len(shape)))
    product = np.sum(product, axis=extra)
    return np.sum(product, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def check(rule, args, kwargs=None):
    """Compare the rule with differences for each active argument."""
    kwargs = kwargs or {}
    rng = np.random.default_rng(5)
    bound, skip, names = arguments_of(rule, args, kwargs)
    checked = 0
    with np.errstate(all="ignore"):
        out = seeded(rule.function, args, kwargs)
        g = tree_map(lambda leaf: direction(rng, leaf), out)
        for name in names:
            value = bound.arguments[name]
            if not any(is_active(leaf) for leaf in tree_leaves(value)):
                continue
            step = tree_map(lambda leaf: direction(rng, leaf), value)
            expected = slope(lambda v: call_with(rule, bound, skip, name, v), g, value, step)
            try:
                cotangent = pull_back(rule, bound, name, g, out, args, kwargs)
            except Unsupported:
                continue
            if isinstance(cotangent, np.ndarray):
                value, step = np.asarray(value), np.asarray(step)
            got = 0.0
            leaves = zip(tree_leaves(value), tree_leaves(cotangent), tree_leaves(step), strict=True)
            for leaf, each, d in leaves:
                assert np.shape(each) == np.shape(leaf), (name, np.shape(each), np.shape(leaf))
                got += np.sum(np.real(np.asarray(each) * d)) if is_active(leaf) else 0.0
            where = f"{label(rule)}, argument {name} of {args}"
            np.testing.assert_allclose(got, expected, rtol=2e-7, atol=2e-8, err_msg=where)
            checked += 1
    return checked


def label(rule):
    module = getattr(rule.function, "__module__", None) or "numpy"
    return f"{module}.{rule.function.__name__}"


@pytest.mark.parametrize("rule", RULES, ids=label)
def test_rule_agrees_with_differences(rule):
    assert rule.points, "a rule without a point to test it at"
    for args, kwargs in zip(rule.points, rule.keywords or [{}] * len(rule.points), strict=True):
        assert check(rule, args, kwargs), f"nothing active in {args}"


TAKES_ARRAYS = [rule for rule in RULES if rule.partials and rule.function.__module__ != "math"]


@pytest.mark.parametrize("rule", TAKES_ARRAYS, ids=label)
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_elementwise_rule_on_arrays(rule, rank):
    """Ranks 0 to 3, the arguments broadcast against each other."""
    points = [point for point in rule.points if all(np.isrealobj(x) for x in point)]
    columns = [np.array(column) for column in zip(*points, strict=True)]
    if rank == 0:
        args = [column[0] * np.ones(()) if column.dtype.kind == "f" else column[0] for column in columns]
        args = [np.asarray(each) for each in args]
    else:
        layouts = [(-1,) + (1,) * (rank - 1), (1,) * (rank - 1) + (-1,)]
        args = [column.reshape(layout) for column, layout in zip(columns, layouts, strict=False)]
    assert check(rule, tuple(args))


# Through the public functions: forward mode, and second order both ways

def weighted(out, weights):
    """Re(sum(weights * out)) over the nested results; weights of None pass over a result."""
    if isinstance(out, (tuple, list)):
        total = 0.0
        for part, weight in zip(out, weights, strict=True):
            total = total + weighted(part, weight)
        return total
    if weights is None:
        return 0.0
    return np.sum(np.real(weights * out))


def objective(rule, bound, skip, name, weights):
    """The weighted result as a function of one argument."""
    marker = object()
    starred = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
    marked = inspect.BoundArguments(bound.signature, dict(bound.arguments))
    marked.arguments[name] = (marker,) if starred else marker
    args, kwargs, function = marked.args[skip:], marked.kwargs, rule.function
    kwargs.pop("out", None)
    place = next((i for i, each in enumerate(args) if each is marker), None)
    before, after = args[:place], args[place + 1:] if place is not None else ()

    def of_keyword(value):
        np.random.seed(3)
        return weighted(function(*args, **{**kwargs, name: value}), weights)

    def of_several(value):
        np.random.seed(3)
        return weighted(function(*before, *value, **kwargs), weights)

    def of_position(value):
        np.random.seed(3)
        return weighted(function(*before, value, *after, **kwargs), weights)

    return of_keyword if place is None else of_several if starred else of_position


def points_of(rule):
    """(objective, value, direction, direction) for each point and active argument."""
    rng = np.random.default_rng(7)
    for args, kwargs in zip(rule.points, rule.keywords or [{}] * len(rule.points), strict=True):
        bound, skip, names = arguments_of(rule, args, kwargs)
        for name in names:
            value = bound.arguments[name]
            if not all(is_active(leaf) for leaf in tree_leaves(value)):
                continue
            value = tree_map(copy.copy, value)     # the same array twice would receive both cotangents
            out = seeded(rule.function, args, kwargs)
            weights = tree_map(lambda leaf: direction(rng, leaf) if is_active(leaf) else None, out)
            steps = [tree_map(lambda leaf: direction(rng, leaf), value) for _ in range(2)]
            where = f"{label(rule)} {name} of {args} {kwargs}"
            yield objective(rule, bound, skip, name, weights), value, *steps, where


def differences(function, value, step, h):
    at = [function(moved(value, step, k * h)) for k in (-2, -1, 1, 2)]
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)


@pytest.mark.parametrize("rule", RULES, ids=label)
def test_forward_mode_and_second_order(rule):
    for function, value, d, e, name in points_of(rule):
        try:
            slope_at = transad.grad(function)
            first = weighted(slope_at(value), d)
        except Unsupported:
            continue
        expected = differences(function, value, d, 1e-4)
        np.testing.assert_allclose(first, expected, rtol=2e-7, atol=2e-8, err_msg=name)
        forward = transad.jvp(function, (value,), (d,))[1]
        np.testing.assert_allclose(forward, expected, rtol=2e-7, atol=2e-8, err_msg=name)

        def along(v):
            return weighted(slope_at(v), e)

        expected = differences(along, value, d, 1e-4)
        over = weighted(transad.grad(along)(value), d)
        np.testing.assert_allclose(over, expected, rtol=1e-6, atol=1e-7, err_msg=name)
        mixed = weighted(transad.jvp(slope_at, (value,), (d,))[1], e)
        np.testing.assert_allclose(mixed, expected, rtol=1e-6, atol=1e-7, err_msg=name)
