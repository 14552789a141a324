"""Reverse mode: a program in normal form with versions becomes a pair of sweeps.

The core is the classical one: the adjoint of each statement, in reverse order, with everything it reads either still
there, computed again or recorded. `sweeps` puts the pair together; start reading there.
"""
from transad.passes.reverse.sweeps import Pair, reverse

__all__ = ["Pair", "reverse"]
