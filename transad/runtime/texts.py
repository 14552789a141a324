"""Numbers that leave through text: `float(str(x))` must not count as a constant.

What an active number is printed as is remembered; reading a number from a text that holds it is refused. Printing alone,
and reading any other text, is free.
"""
from __future__ import annotations

import ast
import decimal
import fractions
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Unsupported
from .sweep import live
from .var import PLAIN_OF, VARS

__all__ = ["NOTED", "check_read", "note"]

NOTED: list[bool] = []          # not empty once any active number was printed
_READERS: dict[int, Any] = {id(f): f for f in (
    float, int, complex, float.fromhex, decimal.Decimal, fractions.Fraction, json.loads, ast.literal_eval,
    np.fromstring, np.loadtxt, np.genfromtxt, np.array, np.asarray, *(t for t in PLAIN_OF.values() if issubclass(t, np.generic)))}
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


def note(text: Any) -> Any:
    """Remember a text that active numbers were written to, in every live sweep."""
    if isinstance(text, str) and live():
        if not NOTED:
            NOTED.append(True)
        found = {t for t in _NUMBER.findall(text) if len(t) > 2}
        for sweep in live():
            sweep.texts |= found
    return text


def check_read(function: Any, args: tuple) -> None:
    """Refuse to read a number from a text that an active number was written to."""
    if id(function) not in _READERS or not args:
        return
    given = args[0].getvalue() if isinstance(args[0], io.StringIO) else args[0]
    given = " ".join(given) if isinstance(given, list | tuple) and given and all(isinstance(v, str) for v in given) else given
    given = given.decode("latin-1") if isinstance(given, bytes) else given
    if not isinstance(given, str):
        return
    for sweep in live():
        if any(t in given for t in sweep.texts):
            from .calls import user_place
            raise Unsupported("a number is read from a text that an active number was written to, which hides a dependence",
                              instead="use the number itself (`round(x, 3)` for its digits), or `stop_gradient(x)` for the text",
                              place=user_place())


def _noting(native: Callable) -> Callable:
    def written(self: Any, *args: Any) -> str:
        text = native(self, *args)
        if live():
            note(text)
        return text
    return written


for _cls in VARS:
    for _name in ("__repr__", "__str__", "__format__"):
        setattr(_cls, _name, _noting(getattr(_cls, _name)))
