"""The rule of `np.einsum`: every form of its subscripts, repeated indices, broadcasting, the ellipsis.

The cotangent of an operand is itself an einsum: the cotangent of the result with all the other operands, an
identity matrix for each index repeated within the operand, and ones for an index that nothing else carries.
Along an axis of size 1 that was stretched, the sum is taken by leaving the index out. Products of two factors go to
`np.matmul` or to a plain product, which are many times faster than the loops of `np.einsum`.
"""
from __future__ import annotations

import math
from string import ascii_letters
from typing import Any

import numpy as np

from transad.pool import matmul, multiply
from transad.rules.registry import adjoint

__all__ = ["contracted", "einsum_cotangent", "parse"]


def _letters(indices: Any) -> str:
    return "".join("..." if k is Ellipsis else ascii_letters[int(k)] for k in indices)


def _split(operands: tuple[Any, ...]) -> tuple[str, list[Any], list[int]]:
    """The subscripts as text, the arrays, and where these stand among the arguments."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:]), list(range(1, len(operands)))
    places = list(range(0, len(operands) - 1, 2))
    text = ",".join(_letters(operands[k + 1]) for k in places)
    if len(operands) % 2:
        text += "->" + _letters(operands[-1])
    return text, [operands[k] for k in places], places


def parse(text: str, ranks: list[int]) -> tuple[list[str], str]:
    """Subscripts with the ellipses spelled out and the result explicit.

    >>> parse("...ij,jk", [3, 2])
    (['Zij', 'jk'], 'Zik')
    """
    given, arrow, result = text.partition("->")
    terms = given.split(",")
    spare = [c for c in reversed(ascii_letters) if c not in text]
    widths = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    widest = max((w for term, w in zip(terms, widths, strict=True) if "..." in term), default=0)
    dots = "".join(reversed(spare[:widest]))
    spelled = [term.replace("...", dots[widest - width:]) for term, width in zip(terms, widths, strict=True)]
    if arrow:
        return spelled, result.replace("...", dots)
    plain = given.replace("...", "").replace(",", "")
    return spelled, dots + "".join(c for c in sorted(set(plain)) if plain.count(c) == 1)


def _sizes(terms: list[str], arrays: list[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, size in zip(term, np.shape(array), strict=True):
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
    return sizes


def _aligned(term: str, array: Any, order: str) -> Any:
    """The array with its axes in the order of these letters, of size 1 for those that it does not have."""
    turned = np.transpose(array, [term.index(c) for c in order if c in term])
    missing = tuple(k for k, c in enumerate(order) if c not in term)
    return np.expand_dims(turned, missing) if missing else turned


def _length(letters: str, sizes: dict[str, int]) -> int:
    return math.prod(sizes[c] for c in letters)


def contracted(terms: list[str], wanted: str, arrays: list[Any], optimize: bool) -> Any:
    """`np.einsum` of `terms -> wanted`; two factors without repeated or lone indices as products of matrices.

    >>> contracted(["ij", "kj"], "ki", [np.ones((2, 3)), np.ones((4, 3))], False).shape
    (4, 2)
    """
    text = ",".join(terms) + "->" + wanted
    if len(terms) != 2 or any(len(set(t)) < len(t) for t in terms) or not set(terms[0]) ^ set(terms[1]) <= set(wanted):
        return np.einsum(text, *arrays, optimize=optimize or len(terms) > 2)
    sizes = _sizes(terms, arrays)
    if any(sizes[c] != n for t, a in zip(terms, arrays, strict=True) for c, n in zip(t, np.shape(a), strict=True)):
        return np.einsum(text, *arrays, optimize=optimize)
    left, right = terms
    summed = "".join(c for c in left if c in right and c not in wanted)
    if not summed:
        return multiply(_aligned(left, arrays[0], wanted), _aligned(right, arrays[1], wanted))
    batch = "".join(c for c in wanted if c in left and c in right)
    rows, columns = "".join(c for c in wanted if c not in right), "".join(c for c in wanted if c not in left)
    if _length(rows + columns + summed, sizes) < 256:
        return np.einsum(text, *arrays, optimize=optimize)
    stack, inner = [sizes[c] for c in batch], _length(summed, sizes)
    first = np.reshape(_aligned(left, arrays[0], batch + rows + summed), (*stack, _length(rows, sizes), inner))
    second = np.reshape(_aligned(right, arrays[1], batch + summed + columns), (*stack, inner, _length(columns, sizes)))
    found = batch + rows + columns
    product = np.reshape(matmul(first, second), [sizes[c] for c in found])
    return np.transpose(product, [found.index(c) for c in wanted])


def einsum_cotangent(g: Any, k: int, terms: list[str], result: str, arrays: list[Any], optimize: bool) -> Any:
    """The cotangent of the k-th array."""
    sizes = _sizes(terms, arrays)
    target, shape = terms[k], np.shape(arrays[k])
    factors, subscripts = [g], [result]
    for position, array in enumerate(arrays):
        if position != k:
            factors.append(array)
            subscripts.append(terms[position])
    carried = {letter for term, array in zip(subscripts, factors, strict=True)
               for letter, size in zip(term, np.shape(array), strict=True) if size == sizes[letter]}
    spare = [c for c in ascii_letters if c not in sizes]
    wanted = ""
    for letter, size in zip(target, shape, strict=True):
        if size == 1:
            continue
        if letter in wanted:
            other = spare.pop()
            factors.append(np.eye(size))
            subscripts.append(letter + other)
            wanted += other
            continue
        if letter not in carried:
            factors.append(np.ones(size))
            subscripts.append(letter)
        wanted += letter
    return np.reshape(contracted(subscripts, wanted, factors, optimize), shape)


_M22, _M23 = np.array([[1.0, 2.0], [3.0, -0.5]]), np.array([[1.0, -2.0, 0.4], [0.5, 1.5, -0.3]])
_V2, _T = np.array([0.5, 1.5]), np.arange(24.0).reshape(2, 3, 4) / 11 - 1.0
_POINTS = [
    ("ij,jk->ik", _M22, _M23), ("ij,jk", _M22, _M23), ("ii", _M22), ("ii->i", _M22), ("nd,nn->d", _M23, _M22),
    ("ii->", _M22), ("i,i", _V2, np.array([2.0])), ("i,i->i", np.array([2.0]), _V2), ("ij->ji", _M23),
    ("ij->", _M23), ("ij->j", _M23), ("...ij,jk->...ik", _T, np.ones((4, 2))), ("...i,...i", _T, _T[:1]),
    ("i...->...", _T), ("...", _M23), ("ij,kj,i->k", _M23, _M23[:1] * 2, _V2), ("i,j,k->kji", _V2, _V2 + 1,
                                                                                _V2 - 2),
    ("ba,", _M23, 2.0), ("ij,ij->ij", _M23 + 1j, _M23), ("iij->ji", np.arange(12.0).reshape(2, 2, 3) / 5),
           ("ij, jk", _M22, _M23),
    (_M22, [0, 1], _M23, [1, 2], [0, 2]), (_M22, [0, 1], _M23, [1, 2]), (_T, [Ellipsis, 0], _T + 1, [Ellipsis, 0],
                                                                         [Ellipsis]),
    ("iii->", np.arange(8.0).reshape(2, 2, 2)), ("...ab,...bc", _T, np.ones((2, 4, 2)) / 3)]


@adjoint(np.einsum, "operands", at=_POINTS, keywords=[{}, {"optimize": True}])
def _(g, out, *operands, optimize=False):
    text, arrays, places = _split(operands)
    terms, result = parse(text, [np.ndim(array) for array in arrays])
    cotangents = [None for _ in operands]
    for k in range(len(arrays)):
        same = [j for j in range(len(arrays)) if arrays[j] is arrays[k] and terms[j] == terms[k]]
        if same[0] == k:           # an array given twice in the same way gets both cotangents at once
            share = g if len(same) == 1 else len(same) * g
            cotangents[places[k]] = einsum_cotangent(share, k, terms, result, arrays, bool(optimize))
    return cotangents
