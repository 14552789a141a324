"""Cotangents of a function by way of another text for the same value."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["through"]


def through(text: Callable[..., Any], g: Any, *arguments: Any) -> tuple[Any, ...]:
    """The cotangents of all arguments of `text`, whose operations have rules: for forms of a function that a formula of
    their own would not pay for. Higher derivatives go through the text as well."""
    from transad.api import pullback
    return pullback(text, *arguments)[1](g)
