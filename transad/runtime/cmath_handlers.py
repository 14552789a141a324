"""Functions of `math` that go through an iterable, and of `cmath` that are two functions in one."""
from __future__ import annotations

import cmath
import functools
import math
from typing import Any

from ..rules.registry import find
from .apply import apply
from .calls import call, handles
from .indexing import iterate
from .operators import BINARY


@handles(cmath.polar)
def _polar(z: Any, /) -> tuple:
    """The absolute value and the phase."""
    return call(abs, z), call(cmath.phase, z)


@handles(cmath.log)
def _log(z: Any, *base: Any) -> Any:
    """`log(z)`, or `log(z) / log(base)`."""
    rule = find(cmath.log)
    assert rule is not None
    logs = [apply(cmath.log, rule, (v,), {}) for v in (z, *base)]
    return BINARY["truediv"](*logs) if base else logs[0]


@handles(math.fsum)
def _fsum(iterable: Any, /) -> Any:
    rule = find(math.fsum)
    assert rule is not None
    return apply(math.fsum, rule, (list(iterate(iterable)),), {})


@handles(math.prod)
def _prod(iterable: Any, /, *, start: Any = 1) -> Any:
    return functools.reduce(BINARY["mul"], iterate(iterable), start)


__all__: list[str] = []
