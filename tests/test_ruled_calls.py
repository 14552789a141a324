"""Calls that stay calls on the typed path: at every test point of every rule, the same cotangents as on the recorded path,
and tangents that belong to them."""
import linecache

import numpy as np
import pytest
import scipy.special

import transad
from transad.passes.ruled import ruled_name
from transad.rules import load
from transad.rules.registry import registered

load()
RULES = [rule for rule in registered() if rule.adjoints and callable(rule.function) and ruled_name(rule.function)]


def named(rule):
    """The function as text."""
    return (ruled_name(rule.function) or "").removeprefix("ruled.")


def written(value, arrays):
    """An argument as text, its arrays by name; None for what is neither array nor constant."""
    if isinstance(value, np.ndarray) and value.ndim:
        arrays.append(value)
        return f"x{len(arrays) - 1}"
    if isinstance(value, tuple | list):
        parts = [written(v, arrays) for v in value]
        return None if None in parts else "[" + ", ".join(parts) + "]" if isinstance(value, list) else (
            "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")")
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else None


def as_program(rule, args, keywords):
    """A function with a source that makes the call: its arrays are arguments, the rest is written out."""
    arrays: list = []
    places = [written(value, arrays) for value in args]
    words = {key: written(value, arrays) for key, value in keywords.items()}
    if None in places or None in words.values() or not arrays or any(a.dtype.kind != "f" for a in arrays):
        return None
    label = named(rule)
    given = ", ".join([*places, *(f"{k}={v}" for k, v in words.items())])
    text = f"def program({', '.join(f'x{k}' for k in range(len(arrays)))}):\n    return {label}({given}) * 1.0\n"
    filename = f"<ruled {label} {text!r}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space = {"np": np, "scipy": scipy}
    exec(compile(text, filename, "exec"), space)
    return space["program"], arrays


def pulled(f, arrays, path, **options):
    y, back = transad.pullback(transad.differentiable(f, path=path, **options), *[a.copy() for a in arrays])
    return y, back(seed_of(y))


def seed_of(y):
    seed = np.random.default_rng(0).standard_normal(np.shape(y))
    return seed if np.ndim(y) else float(seed)


def pushed(f, arrays, found):
    """Both sides of <cotangent, tangent of the result> = <cotangents of the arguments, their tangents>."""
    rng = np.random.default_rng(1)
    tangents = [rng.standard_normal(a.shape).astype(a.dtype) for a in arrays]
    y, t = transad.jvp(f, [a.copy() for a in arrays], tangents)
    return np.sum(seed_of(y) * t), sum(np.sum(d * t) for d, t in zip(found, tangents, strict=True))


@pytest.mark.parametrize("rule", RULES, ids=[named(r) for r in RULES])
def test_as_on_the_recorded_path(rule):
    seen = 0
    for args, keywords in zip(rule.points, rule.keywords, strict=False):
        made = as_program(rule, args, keywords)
        if made is None:
            continue
        f, arrays = made
        try:
            y, found = pulled(f, arrays, "typed")
        except transad.TransadError:
            continue
        seen += 1
        wanted_y, wanted = pulled(f, arrays, "recorded")
        np.testing.assert_array_equal(y, wanted_y)
        assert type(y) is type(wanted_y) or np.ndim(y) == 0
        found, wanted = [c if len(arrays) > 1 else (c,) for c in (found, wanted)]
        np.testing.assert_allclose(*pushed(f, arrays, found), rtol=1e-9, atol=1e-9, err_msg=str(f.__code__.co_filename))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=str(f.__code__.co_filename))
    if not seen:
        pytest.skip("no call of arrays and constants alone that makes a new array")
