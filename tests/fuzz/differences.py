"""The reference: extrapolated central differences over nested arguments, or a refusal to judge.

`leaves` and `rebuild` walk arguments made of floats, arrays, lists, tuples and dicts; integers and strings
are no leaves (they are not differentiated).
"""

from __future__ import annotations

import copy

import numpy as np


class Unjudged(Exception):
    """The program is at a kink, blows up, is too slow or raises: no reference value."""


def leaves(tree) -> list:
    """Floats and arrays of the nested arguments, in order."""
    if isinstance(tree, (float, np.ndarray)):
        return [tree]
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in leaves(value)]
    return []


def rebuild(tree, values):
    """The same nesting with the leaves taken from the iterator `values`."""
    if isinstance(tree, (float, np.ndarray)):
        return next(values)
    if isinstance(tree, dict):
        return {key: rebuild(value, values) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(rebuild(value, values) for value in tree)
    return tree


def flat(tree) -> np.ndarray:
    parts = [np.ravel(np.asarray(leaf, dtype=float)) for leaf in leaves(tree)]
    return np.concatenate(parts) if parts else np.zeros(0)


def unflat(tree, numbers: np.ndarray):
    """The nesting `tree` with its leaves replaced by slices of `numbers`, as fresh memory."""
    values, start = [], 0
    for leaf in leaves(tree):
        size = np.size(leaf)
        part = numbers[start : start + size]
        values.append(part.reshape(leaf.shape).copy() if isinstance(leaf, np.ndarray) else float(part[0]))
        start += size
    return rebuild(tree, iter(values))


def weights(result) -> np.ndarray:
    """A fixed cotangent for the numbers in a result; 1 for a single float."""
    count = len(flat(result))
    return np.ones(1) if count == 1 else 0.5 + 0.37 * np.cos(1.7 * np.arange(count))


def weighted(f, args) -> float:
    """The number whose gradient is compared: `sum(weights * result)`."""
    result = f(*copy.deepcopy(args))
    numbers = flat(result)
    return float(np.dot(weights(result), numbers))


def central(f, args, point: np.ndarray, j: int, h: float) -> float:
    ahead, behind = point.copy(), point.copy()
    ahead[j] += h
    behind[j] -= h
    return (weighted(f, unflat(args, ahead)) - weighted(f, unflat(args, behind))) / (ahead[j] - behind[j])


def gradient(f, args, h: float = 2e-3, agreement: float = 2e-6) -> tuple[np.ndarray, np.ndarray]:
    """Gradient at `args`, flat, and an estimate of its error.

    Three step sizes, extrapolated twice; raises `Unjudged` where they do not agree.
    """
    point = flat(args)
    found, errors = np.zeros(len(point)), np.zeros(len(point))
    for j in range(len(point)):
        first, second, third = (central(f, args, point, j, h / 2**k) for k in range(3))
        coarse, fine = (4 * second - first) / 3, (4 * third - second) / 3
        found[j] = (16 * fine - coarse) / 15
        errors[j] = abs(fine - coarse)
        if not np.isfinite(found[j]) or errors[j] > agreement * max(1.0, abs(found[j])):
            raise Unjudged("differences disagree")
    return found, errors
