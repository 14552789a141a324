"""Compare value, gradient, forward mode of a function with the plain run and with differences."""
import copy

import numpy as np

import transad


def real(a):
    return isinstance(a, (float, np.floating, list, dict, tuple)) or isinstance(a, np.ndarray) and a.dtype.kind == "f"


def slope(f, args, k, direction, h=1e-3):
    def at(t):
        moved = copy.deepcopy(list(args))
        moved[k] = moved[k] + t * direction
        return float(f(*moved))
    d = [(at(s) - at(-s)) / (2 * s) for s in (h, h / 2, h / 4)]
    a, b = (4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3
    return (16 * b - a) / 15


def gradient(f, args, k):
    a = args[k]
    if not isinstance(a, np.ndarray):
        return slope(f, args, k, 1.0)
    out = np.zeros(a.shape)
    for i in np.ndindex(a.shape):
        unit = np.zeros(a.shape)
        unit[i] = 1.0
        out[i] = slope(f, args, k, unit)
    return out


def agree(f, args, forward=True, rtol=1e-6, atol=1e-7):
    """Value, gradients of all real arguments, arguments afterwards, and a directional derivative."""
    which = tuple(k for k, a in enumerate(args) if real(a))
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    y, grads = transad.value_and_grad(f, which)(*mine)
    want = f(*theirs)
    assert np.array_equal(y, want), (y, want)
    assert type(y) is type(want) or isinstance(want, (int, np.ndarray))
    for a, b in zip(mine, theirs):
        np.testing.assert_array_equal(a, b)
    total = 0.0
    for k, g in zip(which, grads):
        expected = gradient(f, args, k)
        np.testing.assert_allclose(g, expected, rtol=rtol, atol=atol)
        assert np.shape(g) == np.shape(args[k])
        total += np.sum(expected)
    if forward:
        tangents = tuple(np.ones_like(a) if isinstance(a, np.ndarray) and k in which else
                         1.0 if k in which else None for k, a in enumerate(args))
        y, dy = transad.jvp(f, copy.deepcopy(args), tangents)
        np.testing.assert_allclose(dy, total, rtol=rtol * 10, atol=atol * 10)
