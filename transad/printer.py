"""Print gast expressions as a person would write them.

A subclass of `astunparse.Unparser` (its one public extension point) that writes parentheses only where precedence
asks for them, indices without a stray tuple, and numbers by `repr`.

>>> import gast
>>> text(gast.parse("((a*b) + (c[(1), 2:]))**2 - (-(x))", mode="eval").body)
'(a * b + c[1, 2:]) ** 2 - -x'
"""
from __future__ import annotations

import io
from typing import Any

import astunparse

from transad.nodes import gast

_BINARY = {"Add": ("+", 12), "Sub": ("-", 12), "Mult": ("*", 13), "Div": ("/", 13), "FloorDiv": ("//", 13),
           "Mod": ("%", 13), "MatMult": ("@", 13), "Pow": ("**", 15), "LShift": ("<<", 11), "RShift": (">>", 11),
           "BitAnd": ("&", 10), "BitXor": ("^", 9), "BitOr": ("|", 8)}
_UNARY = {"USub": ("-", 14), "UAdd": ("+", 14), "Invert": ("~", 14), "Not": ("not ", 6)}
_COMPARE = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is",
            "IsNot": "is not", "In": "in", "NotIn": "not in"}

RULED = "ruled."            # before the name of a function whose calls stay calls: see `passes.ruled`


class _Printer(astunparse.Unparser):
    """Writes one expression; each method receives the tightest precedence around it through `self.outer`."""

    def __init__(self) -> None:
        self.f = io.StringIO()
        self.future_imports: list[str] = []
        self._indent = 0
        self.outer = 0

    def at(self, precedence: int, node: Any) -> None:
        saved, self.outer = self.outer, precedence
        self.dispatch(node)
        self.outer = saved

    def grouped(self, precedence: int, write: Any) -> None:
        needs = self.outer > precedence
        saved, self.outer = self.outer, 0
        if needs:
            self.write("(")
        write()
        if needs:
            self.write(")")
        self.outer = saved

    def listed(self, nodes: list[Any]) -> None:
        for k, node in enumerate(nodes):
            if k:
                self.write(", ")
            self.at(1, node)

    def _BinOp(self, t: Any) -> None:
        sign, level = _BINARY[type(t.op).__name__]
        left, right = (level + 1, level) if sign == "**" else (level, level + 1)

        def write() -> None:
            self.at(left, t.left)
            self.write(f" {sign} ")
            self.at(right, t.right)
        self.grouped(level, write)

    def _UnaryOp(self, t: Any) -> None:
        sign, level = _UNARY[type(t.op).__name__]

        def write() -> None:
            self.write(sign)
            self.at(level, t.operand)
        self.grouped(level, write)

    def _BoolOp(self, t: Any) -> None:
        sign, level = (" and ", 5) if isinstance(t.op, gast.And) else (" or ", 4)

        def write() -> None:
            for k, value in enumerate(t.values):
                if k:
                    self.write(sign)
                self.at(level + 1, value)
        self.grouped(level, write)

    def _Compare(self, t: Any) -> None:
        def write() -> None:
            self.at(8, t.left)
            for op, right in zip(t.ops, t.comparators, strict=True):
                self.write(f" {_COMPARE[type(op).__name__]} ")
                self.at(8, right)
        self.grouped(7, write)

    def _IfExp(self, t: Any) -> None:
        def write() -> None:
            self.at(3, t.body)
            self.write(" if ")
            self.at(3, t.test)
            self.write(" else ")
            self.at(2, t.orelse)
        self.grouped(2, write)

    def _Tuple(self, t: Any) -> None:
        self.write("(")
        self.listed(t.elts)
        self.write(",)" if len(t.elts) == 1 else ")")

    def _List(self, t: Any) -> None:
        self.write("[")
        self.listed(t.elts)
        self.write("]")

    def _Subscript(self, t: Any) -> None:
        self.at(17, t.value)
        self.write("[")
        if isinstance(t.slice, gast.Tuple) and t.slice.elts:
            self.listed(t.slice.elts)
            if len(t.slice.elts) == 1:
                self.write(",")
        else:
            self.at(1, t.slice)
        self.write("]")

    def _Slice(self, t: Any) -> None:
        if t.lower is not None:
            self.at(1, t.lower)
        self.write(":")
        if t.upper is not None:
            self.at(1, t.upper)
        if t.step is not None:
            self.write(":")
            self.at(1, t.step)

    def _Attribute(self, t: Any) -> None:
        if isinstance(t.value, gast.Constant) and isinstance(t.value.value, int | float):
            self.write("(")
            self.at(0, t.value)
            self.write(")")
        else:
            self.at(17, t.value)
        self.write("." + t.attr)

    def _Call(self, t: Any) -> None:
        self.at(17, t.func)
        self.write("(")
        saved, self.outer = self.outer, 0
        self.listed(t.args)
        for k, word in enumerate(t.keywords):
            self.write(", " if k or t.args else "")
            self.write(f"{word.arg}=")
            self.at(1, word.value)
        self.outer = saved
        self.write(")")

    def _Constant(self, t: Any) -> None:
        shown = repr(t.value)
        if shown in ("inf", "nan"):
            shown = f"np.{shown}"
        elif isinstance(t.value, int | float) and not isinstance(t.value, bool) and shown.startswith("-"):
            shown = f"({shown})" if self.outer > 14 else shown
            shown = shown.replace("-inf", "-np.inf")
        elif isinstance(t.value, complex):
            shown = shown if shown.startswith("(") or self.outer <= 12 else f"({shown})"
        self.write(shown)

    def _Name(self, t: Any) -> None:
        self.write(t.id.removeprefix(RULED))


def text(node: Any) -> str:
    """The source of one expression."""
    printer = _Printer()
    printer.dispatch(node)
    return printer.f.getvalue()
