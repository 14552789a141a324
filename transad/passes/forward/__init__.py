"""Forward mode: tangents are variables beside the primals, one per lane; no dual class, no tape.

`scalarise` turns small arrays into numbers, `linear` finds the linear part of one statement, `push` walks the program,
`text` prints the functions. `transad.forward` is the call side.
"""
from transad.passes.forward.push import Push, push
from transad.passes.forward.scalarise import Scalarised, scalarise

__all__ = ["Push", "Scalarised", "push", "scalarise"]
