"""The user's source on the left, the derivative on the right.

The forward sweep runs down the user's lines. The reverse sweep runs up them, so there the left column shows, beside
the adjoint of each statement, the statement: the comments of the right column become the left one.
"""
from __future__ import annotations

import ast
import difflib
import textwrap

from transad.command.plan import Plan

__all__ = ["columns", "joined"]

Row = tuple[str, str]
_MARK = "transad line "


def columns(plan: Plan, text: str) -> list[Row]:
    """Rows of (user's text, derivative) for `text`, the emitted pair or the recorded text."""
    numbered = _numbered(plan)
    if plan.refused:
        return _recorded(plan, numbered)
    forward, mark, reverse = text.partition(f"\n\n\ndef {plan.label}_rev(")
    rows = _down(numbered, forward.splitlines())
    if mark:
        rows += [("", ""), ("", "")] + _up(numbered, (mark.lstrip("\n") + reverse).rstrip("\n").splitlines())
    return rows


def joined(rows: list[Row], width: int = 0) -> str:
    """The rows as text, the left column as wide as it needs to be (at most half of `width`, if given)."""
    need = max((len(left) for left, _ in rows), default=0)
    room = min(need, max(24, width // 2 - 2)) if width else need
    return "\n".join(f"{_cut(left, room):<{room}} │ {right}".rstrip() for left, right in rows) + "\n"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[:room - 1] + "…"


def _numbered(plan: Plan) -> list[tuple[int, str]]:
    lines = textwrap.dedent(plan.source.text).rstrip("\n").splitlines()
    return [(plan.source.first_line + k, line) for k, line in enumerate(lines)]


def _left(number: int, line: str) -> str:
    return f"{number:>4}  {line}".rstrip()


def _down(numbered: list[tuple[int, str]], right: list[str]) -> list[Row]:
    """Equal lines side by side, the others where they fall between."""
    ours = [*(_bare(line) for _, line in numbered[:-1]), "last"]
    theirs = [*(_bare(line) for line in right[:-1]), "last"]
    rows: list[Row] = []
    for _, a0, a1, b0, b1 in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        pending = right[b0:b1]
        for k in range(a0, a1):
            # A changed line goes beside the line that assigns the same variable, if there is one.
            target = numbered[k][1].split()[:2]
            while any(line.split()[:2] == target for line in pending[1:]) and pending[0].split()[:2] != target:
                rows.append(("", pending.pop(0)))
            rows.append((_left(*numbered[k]), pending.pop(0) if pending else ""))
        rows += [("", line) for line in pending]
    return rows


def _bare(line: str) -> str:
    """A line without what the forward sweep may write otherwise: comments, `x = x * y` as `x *= y`."""
    line = line.split("  #")[0].strip()
    if line.startswith("def "):
        return "def"
    words = line.split(" ")
    if len(words) > 4 and words[1] == "=" and words[2] == words[0] and words[3] in ("+", "-", "*", "/"):
        return " ".join([words[0], words[3] + "=", *words[4:]])
    return line


def _up(numbered: list[tuple[int, str]], right: list[str]) -> list[Row]:
    """The statement named by each comment, beside what follows the comment."""
    places = _places(numbered)
    rows: list[Row] = []
    waiting: list[str] = []
    for line in right:
        comment = line.strip()
        if comment.startswith("# "):
            rows += [(left, "") for left in waiting]
            waiting = places.get(comment[2:], [f"      {comment[2:]}"]).copy()
            continue
        rows.append((waiting.pop(0) if waiting else "", line))
    return rows + [(left, "") for left in waiting]


def _places(numbered: list[tuple[int, str]]) -> dict[str, list[str]]:
    """The numbered lines of each simple statement, by its text as the comments spell it."""
    first = numbered[0][0] if numbered else 1
    try:
        tree = ast.parse("\n".join(line for _, line in numbered))
    except SyntaxError:
        return {}
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            compound = isinstance(node, ast.For | ast.While | ast.If | ast.FunctionDef)
            end = node.lineno if compound else node.end_lineno or node.lineno
            own = numbered[node.lineno - 1:end]
            text = " ".join(line.strip() for _, line in own)
            key = text.split("  #")[0].strip() if len(text) < 100 else text[:97].strip() + "..."
            found.setdefault(key, [_left(n - numbered[0][0] + first, line) for n, line in own])
    return found


def _recorded(plan: Plan, numbered: list[tuple[int, str]]) -> list[Row]:
    """Each line of the user beside what was made of it."""
    node = plan.recorded()
    if isinstance(node, ast.Lambda):
        return [(_left(*numbered[0]), ast.unparse(node))]
    tree = ast.Module(_Marked().marked(_Marked().visit(node)), [])
    lines = dict(numbered)
    rows: list[Row] = []
    shown = plan.source.first_line - 1
    waiting = 0
    for line in ast.unparse(ast.fix_missing_locations(tree)).splitlines():
        mark = line.strip().strip("'\"")
        if mark.startswith(_MARK):
            waiting = int(mark.removeprefix(_MARK))
            continue
        if not line.strip():
            continue
        left = ""
        if waiting > shown:
            rows += [(_left(n, lines[n]), "") for n in range(shown + 1, waiting) if n in lines]
            left, shown = _left(waiting, lines.get(waiting, "")), waiting
        rows.append((left, line))
    return rows + [(_left(n, t), "") for n, t in numbered if n > shown]


class _Marked(ast.NodeTransformer):
    """Puts the number of the user's line before each statement."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.Module):
                setattr(node, name, [s for statement in block for s in self.marked(statement)])
        return node

    def marked(self, statement: ast.stmt) -> list[ast.stmt]:
        line = getattr(statement, "lineno", 0)
        return [ast.copy_location(ast.Expr(ast.Constant(f"{_MARK}{line}")), statement), statement]
