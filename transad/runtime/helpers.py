"""The functions that rewritten text calls, by the names it knows them under."""
from __future__ import annotations

from collections.abc import Callable

from . import builtin_handlers, cmath_handlers  # noqa: F401  (their import declares the handlers)
from .calls import call
from .indexing import getitem, iterate, setitem, unpack
from .methods import get_attribute, method, set_attribute
from .operators import BINARY, INPLACE, UNARY
from .protocols import COMPARE, contains, delitem, entered

__all__ = ["HELPERS"]

HELPERS: dict[str, Callable] = {
    **BINARY, **INPLACE, **UNARY, **COMPARE, "call": call, "method": method, "getattr": get_attribute, "setattr": set_attribute,
    "getitem": getitem, "setitem": setitem, "iterate": iterate, "unpack": unpack, "slice": slice,
    "contains": contains, "delitem": delitem, "entered": entered}
