"""Shrinks a failing program: drops statements, unwraps blocks, and puts operands in place of expressions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

BODIES = ("body", "orelse", "finalbody")


def shrink(source: str, fails: Callable[[str], bool], rounds: int = 8) -> str:
    """The smallest program found for which `fails(source)` still holds; `fails` must hold for `source`."""
    for _ in range(rounds):
        before = source
        source = shrink_statements(source, fails)
        source = shrink_expressions(source, fails)
        if source == before:
            break
    return source


def shrink_statements(source: str, fails: Callable[[str], bool]) -> str:
    """Tries every single edit of a statement list, the last statements first, until none helps."""
    position = 0
    while True:
        edits = list(statement_edits(ast.parse(source)))
        if position >= len(edits):
            return source
        smaller = edits[position]
        if smaller != source and len(smaller) < len(source) and fails(smaller):
            source = smaller
        else:
            position += 1


def statement_edits(tree: ast.Module) -> Iterator[str]:
    places = [(node, name) for node in ast.walk(tree) for name in BODIES if isinstance(getattr(node, name, None), list)]
    for node, name in reversed(places):
        block = getattr(node, name)
        for j in reversed(range(len(block))):
            statement = block[j]
            for replacement in replacements(statement):
                block[j : j + 1] = replacement
                filled = not block and name == "body" and not isinstance(node, ast.Module)
                if filled:
                    block.append(ast.Pass())
                yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                del block[j : j + max(len(replacement), filled)]
                block.insert(j, statement)


def replacements(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Nothing; or the inside of the statement in its place."""
    if isinstance(statement, ast.Pass):
        return
    yield []
    for name in BODIES:
        inside = getattr(statement, name, None)
        if isinstance(inside, list) and inside and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield list(inside)
    if isinstance(statement, ast.Try):
        for handler in statement.handlers:
            yield list(handler.body)


def shrink_expressions(source: str, fails: Callable[[str], bool]) -> str:
    position = 0
    while True:
        edits = expression_edits(source)
        if position >= len(edits):
            return source
        smaller = edits[position]
        if len(smaller) < len(source) and fails(smaller):
            source = smaller
        else:
            position += 1


def expression_edits(source: str) -> list[str]:
    """The source with one expression replaced by one of its operands."""
    tree = ast.parse(source)
    texts = []
    for parent in (node for top in tree.body if not is_arguments(top) for node in ast.walk(top)):
        for name, value in ast.iter_fields(parent):
            children = value if isinstance(value, list) else [value]
            for j, child in enumerate(children):
                if isinstance(child, ast.expr) and not isinstance(child, (ast.Name, ast.Constant)):
                    for operand in operands(child):
                        texts.append(edited(tree, parent, name, j if isinstance(value, list) else None, operand))
    return texts


def is_arguments(statement: ast.stmt) -> bool:
    """`ARGS = ...`: the kinds of the arguments stay as they are."""
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "ARGS"


def edited(tree: ast.Module, parent: ast.AST, name: str, j: int | None, operand: ast.expr) -> str:
    held = getattr(parent, name)
    if j is None:
        setattr(parent, name, operand)
    else:
        setattr(parent, name, [*held[:j], operand, *held[j + 1 :]])
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    setattr(parent, name, held)
    return text


def operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return []
    found = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        found = [*node.args]
        if isinstance(node.func, ast.Attribute):
            found.append(node.func.value)
    if isinstance(node, ast.BoolOp) and len(node.values) > 2:
        found.append(ast.BoolOp(node.op, node.values[1:]))
    return [copy.deepcopy(child) for child in found if not isinstance(child, (ast.Slice, ast.Starred))]
