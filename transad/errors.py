"""Errors of transad, written for the person who sees them.

Every refusal is a `TransadError` with a stable `code` (documented in docs/errors.md), the place in the user's own
source where it arose, and what to write instead:

>>> e = Unsupported("eval() hides what it computes", instead="call the function directly",
...                 place=Place("model.py", 3, 11, 20, "    return eval('x * x')"))
>>> print(e)
[TA201] eval() hides what it computes
  --> model.py:3
    3 |     return eval('x * x')
      |            ^^^^^^^^^
  Instead: call the function directly

An exception that the user's own program raises is never wrapped.
"""
from __future__ import annotations

import linecache
from dataclasses import dataclass

__all__ = ["CannotCompile", "InvalidArgument", "MissingRule", "NoSource", "NotScalar", "Place", "TransadError",
           "TransadPerformanceWarning", "TransadWarning", "Unsupported"]


@dataclass(frozen=True)
class Place:
    """A position in the user's source: line from 1, columns from 0 (end exclusive; None when unknown)."""

    filename: str
    line: int
    column: int | None = None
    end_column: int | None = None
    text: str | None = None

    def excerpt(self) -> str:
        """The line with a caret below the place; only file and line where the text is not at hand."""
        head = f"  --> {self.filename}:{self.line}"
        text = self.text if self.text is not None else linecache.getline(self.filename, self.line)
        text = text.rstrip("\n").replace("\t", " ")
        if not text.strip():
            return head
        number = f"{self.line:>5}"
        shown = f"{head}\n{number} | {text}"
        if self.column is None:
            return shown
        end = self.end_column if self.end_column is not None and self.end_column > self.column else len(text)
        width = max(1, min(end, len(text)) - self.column)
        return f"{shown}\n{' ' * len(number)} | {' ' * self.column}{'^' * width}"


class TransadError(Exception):
    """Base class: nothing was computed, and the message says why and what to write instead."""

    code = "TA000"

    def __init__(self, message: str, *, instead: str | None = None, place: Place | None = None,
                 code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.instead, self.place = message, instead, place
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        parts = [f"[{self.code}] {self.message}"]
        if self.place is not None:
            parts.append(self.place.excerpt())
        if self.instead:
            parts.append(f"  Instead: {self.instead}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.message, self.instead, self.place, self.code)


def _rebuild(cls: type[TransadError], message: str, instead: str | None, place: Place | None,
             code: str) -> TransadError:
    return cls(message, instead=instead, place=place, code=code)


class NoSource(TransadError, ValueError):
    """The source text of a function is not available, or is no longer the text it was compiled from."""

    code = "TA101"


class Unsupported(TransadError, NotImplementedError):
    """A construct that cannot be differentiated correctly, or not yet."""

    code = "TA201"


class MissingRule(Unsupported):
    """A function without Python source and without a derivative rule met an active value."""

    code = "TA202"


class NotScalar(TransadError, TypeError):
    """`grad` of a function whose result is not one real number."""

    code = "TA301"


class InvalidArgument(TransadError, TypeError):
    """An argument that cannot be differentiated, or does not fit (a seed of another structure, a bad argnums)."""

    code = "TA302"


class CannotCompile(TransadError):
    """Numba cannot compile the derivative code; the message names the user's line and Numba's reason."""

    code = "TA401"


class TransadWarning(UserWarning):
    """Base class of the warnings of transad."""


class TransadPerformanceWarning(TransadWarning):
    """The result is right, but was computed in a slow way for a reason that the message names."""
