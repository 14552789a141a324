"""Functions whose result carries no derivative: integers, booleans, shapes, text, piecewise constant values.

A function belongs here only if this holds for every one of its arguments. Functions that pass values on
(`np.union1d`) or depend smoothly on an argument (`np.kaiser` on beta) do not: these need a rule.
"""
from __future__ import annotations

import math
import operator

import numpy as np

from transad.rules.registry import nondiff

# Piecewise constant
nondiff(np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.floor_divide, np.spacing,
        math.floor, math.ceil, math.trunc, math.ulp, operator.floordiv)

# Positions and counts
nondiff(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.lexsort,
        np.argwhere, np.nonzero, np.flatnonzero, np.count_nonzero, np.searchsorted, np.digitize,
        np.unravel_index, np.ravel_multi_index, np.diag_indices, np.diag_indices_from, np.tril_indices,
        np.tril_indices_from, np.triu_indices, np.triu_indices_from, np.mask_indices, np.indices, np.ix_,
        operator.index, operator.countOf, operator.indexOf, operator.length_hint)

# Comparisons and logic
nondiff(np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.logical_and,
        np.logical_or, np.logical_xor, np.logical_not, np.all, np.any, np.allclose, np.isclose,
        np.array_equal, np.array_equiv, np.isfinite, np.isinf, np.isnan, np.isneginf, np.isposinf, np.isnat,
        np.signbit, np.isin, np.isreal, np.iscomplex, np.isrealobj, np.iscomplexobj, np.isscalar,
        np.isfortran, np.iterable, np.shares_memory, np.may_share_memory, math.isclose, math.isfinite,
        math.isinf, math.isnan, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
        operator.ge, operator.not_, operator.truth, operator.is_, operator.is_not, operator.contains)

# Integers
nondiff(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
        np.bitwise_count, np.gcd, np.lcm, np.packbits, np.unpackbits, math.comb, math.perm, math.factorial,
        math.gcd, math.lcm, math.isqrt, operator.and_, operator.or_, operator.xor, operator.invert,
        operator.lshift, operator.rshift)

# Shapes and types
nondiff(np.shape, np.ndim, np.size, np.broadcast_shapes, np.result_type, np.can_cast, np.promote_types,
        np.common_type, np.min_scalar_type, np.mintypecode, np.typename, np.isdtype, np.issubdtype)

# Fresh arrays that take over no value
nondiff(np.zeros, np.ones, np.empty, np.zeros_like, np.ones_like, np.empty_like, np.eye, np.identity,
        np.tri, np.bartlett, np.blackman, np.hamming, np.hanning)

# Random numbers that depend on no parameter, or are integers
nondiff(np.random.seed, np.random.rand, np.random.randn, np.random.random, np.random.random_sample,
        np.random.randint, np.random.standard_normal, np.random.standard_exponential,
        np.random.standard_cauchy)

# Text
nondiff(np.array2string, np.array_repr, np.array_str, np.base_repr, np.binary_repr,
        np.format_float_positional, np.format_float_scientific)
