"""Colour for the terminal, with Pygments where it is installed; plain text otherwise."""
from __future__ import annotations

import os
from typing import Any

__all__ = ["coloured", "wanted"]


def wanted(choice: str, stream: Any) -> bool:
    """Whether to colour: always, never, or only on a terminal (and never where NO_COLOR is set)."""
    if choice != "auto":
        return choice == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and bool(
        getattr(stream, "isatty", lambda: False)())


def coloured(text: str) -> str:
    """Python text with escape codes; as it is without Pygments."""
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return text
    return highlight(text, PythonLexer(stripnl=False, ensurenl=False), TerminalFormatter())
