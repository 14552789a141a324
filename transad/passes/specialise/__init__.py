"""Specialise a function to the kinds of its arguments: inline calls, track tuples, resolve what is known.

The result is a `Program`: the same computation in normal form, where every name has one kind.
"""
from transad.passes.specialise.program import specialise
from transad.passes.specialise.values import NotTyped

__all__ = ["NotTyped", "specialise"]
