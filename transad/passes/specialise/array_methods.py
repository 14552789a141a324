"""Methods of arrays: those of NumPy's functions, and the ones that write."""
from __future__ import annotations

from typing import Any

import numpy as np

from transad import ir
from transad.passes.specialise.library import LIBRARY
from transad.passes.specialise.library_calls import LibraryCalls
from transad.passes.specialise.values import NotTyped, Obj, Val
from transad.quote import Node, show, slice_

_METHODS = {"sum", "mean", "prod", "max", "min", "dot", "copy", "transpose", "reshape", "ravel", "flatten", "cumsum",
            "argmax", "argmin", "any", "all", "fill", "astype", "item", "clip", "argsort", "trace", "std", "var",
            "cumprod", "ptp", "repeat", "round", "searchsorted", "take", "swapaxes", "squeeze", "sort"}


class ArrayMethods(LibraryCalls):
    """The part of the specialiser that calls methods of arrays."""

    def array_method(self, owner: Val, method: str, args: list[Any], keywords: dict[str, Any],
                     node: Node) -> Any:
        if method not in _METHODS:
            raise NotTyped(f"the array method {method}", node)
        if method == "fill":
            array = self.atom(owner, "row")
            self.emit(ir.Store(show(array.expr), [slice_(None, None)] * owner.kind.ndim, args[0].expr))
            return Obj(None)
        if method == "sort" and not args and not keywords:
            array = self.atom(owner, "row")
            value = self.call_numpy("np.sort", [array], {}, node)
            self.emit(ir.Store(show(array.expr), [slice_(None, None)] * owner.kind.ndim, value.expr))
            return Obj(None)
        if method == "astype":
            return self.cast(owner, self.dtype_of(args, keywords, node) or "float64", node)
        if not callable(getattr(self, f"np_{method}", None)) and f"np.{method}" not in LIBRARY:
            raise NotTyped(f"the array method {method}", node)
        return self.call_known(getattr(np, method, None), f"np.{method}", [owner, *args], keywords, node)
