"""Fresh names: readable, deterministic, and never one that the text already uses.

>>> names = Names({"x"})
>>> names.fresh("x"), names.fresh("x"), names.fresh("d_x")
('x_1', 'x_2', 'd_x')
"""
from __future__ import annotations

import keyword
from collections.abc import Iterable


class Names:
    """Hands out names that are not taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def reserve(self, name: str) -> str:
        self.taken.add(name)
        return name

    def fresh(self, wanted: str) -> str:
        """`wanted` if it is free, else `wanted_1`, `wanted_2` ..."""
        new, k = wanted, 0
        while new in self.taken or keyword.iskeyword(new):
            k += 1
            new = f"{wanted}_{k}"
        return self.reserve(new)

    def copy(self) -> Names:
        return Names(self.taken)
