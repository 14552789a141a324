"""Functions of `cmath` that are two functions in one."""
from __future__ import annotations

import cmath
from typing import Any

from .calls import call, handles
from .operators import BINARY


@handles(cmath.polar)
def _polar(z: Any, /) -> tuple:
    """The absolute value and the phase."""
    return call(abs, z), call(cmath.phase, z)


@handles(cmath.log)
def _log(z: Any, *base: Any) -> Any:
    """`log(z)`, or `log(z) / log(base)`."""
    from ..rules.registry import find
    from .apply import apply
    rule = find(cmath.log)
    assert rule is not None
    logs = [apply(cmath.log, rule, (v,), {}) for v in (z, *base)]
    return BINARY["truediv"](*logs) if base else logs[0]


__all__: list[str] = []
