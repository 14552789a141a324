"""Store an item's result under its index, in compiled code: a number, or an array into the row."""
from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload


def store(out: np.ndarray, i: int, value: object) -> None:
    """`out[i] = value`."""
    out[i] = value


@overload(store)
def _store(out, i, value):      # type: ignore[no-untyped-def]
    if not isinstance(value, types.Array):
        def number(out, i, value):      # type: ignore[no-untyped-def]
            out[i] = value
        return number
    if value.ndim == 1:
        def row(out, i, value):      # type: ignore[no-untyped-def]
            if out.shape[1] != value.shape[0]:
                raise ValueError("items of different shapes")
            for k in range(value.shape[0]):
                out[i, k] = value[k]
        return row

    def rows(out, i, value):      # type: ignore[no-untyped-def]
        if out.shape[1:] != value.shape:
            raise ValueError("items of different shapes")
        out[i] = value
    return rows
