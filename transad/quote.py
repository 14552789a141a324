"""Source text to gast nodes: the one place where nodes are made.

`gast` renames its nodes between releases, so nothing else in the package builds one; passes quote source with holes.

>>> show(expr("a * b + f(a)", a=expr("x + 1"), b=name("y")))
'(x + 1) * y + f(x + 1)'
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from transad.nodes import gast
from transad.printer import text

Node = Any
show = text


@lru_cache(maxsize=4096)
def _parsed(source: str) -> Node:
    return gast.parse(source, mode="eval").body


def expr(source: str, **holes: Node) -> Node:
    """The expression `source`, with each name that is a hole replaced by the given node.

    Nodes are shared, never changed in place: whoever receives an expression treats it as a value."""
    tree = _parsed(source)
    return substitute(tree, lambda n: holes.get(n.id)) if holes else tree


@lru_cache(maxsize=65536)
def name(identifier: str) -> Node:
    """A reference to a variable, or to a library function by its dotted path (`np.exp`).

    A dotted path is one name here: passes look functions up by it."""
    node = rebuilt(_parsed("x"), {})
    node.id = identifier
    return node


def constant(value: Any) -> Node:
    """A literal number, string or None."""
    node = rebuilt(_parsed("0"), {})
    node.value = value
    return node


def call(function: str, *args: Node, **keywords: Node) -> Node:
    """A call of a function by dotted path."""
    holes = {f"a{k}": a for k, a in enumerate(args)} | {f"k_{w}": v for w, v in keywords.items()}
    shown = [f"a{k}" for k in range(len(args))] + [f"{w}=k_{w}" for w in keywords]
    return expr(f"function_({', '.join(shown)})", function_=name(function), **holes)


def index(array: Node, items: list[Node]) -> Node:
    """`array[items]`; several items make one index."""
    if len(items) == 1:
        return expr("a[i]", a=array, i=items[0])
    holes = {f"i{k}": item for k, item in enumerate(items)}
    return expr(f"a[{', '.join(holes)}]", a=array, **holes)


def slice_(lower: Node | None, upper: Node | None, step: Node | None = None) -> Node:
    """The index `lower:upper:step`."""
    holes = {k: v for k, v in (("l", lower), ("u", upper), ("s", step)) if v is not None}
    shown = ("l" if lower is not None else "") + ":" + ("u" if upper is not None else "") + (
        ":s" if step is not None else "")
    return expr(f"a[{shown}]", **holes).slice


def tuple_(items: list[Node]) -> Node:
    """A tuple display."""
    holes = {f"i{k}": item for k, item in enumerate(items)}
    return expr("(" + "".join(f"{h}, " for h in holes) + ")", **holes)


def list_(items: list[Node]) -> Node:
    """A list display."""
    holes = {f"i{k}": item for k, item in enumerate(items)}
    return expr("[" + ", ".join(holes) + "]", **holes)


def rebuilt(node: Node, changed: dict[str, Any]) -> Node:
    """A copy of `node` with some fields replaced; it keeps its place in the user's text."""
    new = type(node)(**{f: changed.get(f, getattr(node, f, None)) for f in node._fields})
    for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(new, place, getattr(node, place, None))
    return new


def substitute(node: Node, replacement: Callable[[Node], Node | None]) -> Node:
    """`node` with every name for which `replacement` gives a node replaced by it."""
    if isinstance(node, gast.Name):
        new = replacement(node)
        return node if new is None else new
    return mapped(node, lambda child: substitute(child, replacement))


def mapped(node: Node, change: Callable[[Node], Node]) -> Node:
    """`node` with `change` applied to each of its children; itself where none changes."""
    changed: dict[str, Any] = {}
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, gast.AST):
            new = change(value)
            if new is not value:
                changed[field] = new
        elif isinstance(value, list):
            items = [change(v) if isinstance(v, gast.AST) else v for v in value]
            if any(a is not b for a, b in zip(items, value, strict=True)):
                changed[field] = items
    return rebuilt(node, changed) if changed else node


def names_in(node: Node) -> Iterator[str]:
    """The names that an expression reads, in order, with repeats."""
    if isinstance(node, gast.Name):
        yield node.id
        return
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, gast.AST):
            yield from names_in(value)
        elif isinstance(value, list):
            for v in value:
                if isinstance(v, gast.AST):
                    yield from names_in(v)


@lru_cache(maxsize=1024)
def _parsed_block(source: str) -> list[Node]:
    return gast.parse(source).body


def block(source: str, **holes: Any) -> list[Node]:
    """Statements; a hole that stands alone on a line takes a list of statements, any other an expression.

    >>> print(gast.unparse(block("if c:\\n    body", c=name("x"), body=block("y = 1"))[0]).strip())
    if x:
        y = 1
    """
    lists = {k: v for k, v in holes.items() if isinstance(v, list)}
    single = {k: v for k, v in holes.items() if not isinstance(v, list)}

    def expand(stmts: list[Node]) -> list[Node]:
        out: list[Node] = []
        for s in stmts:
            if isinstance(s, gast.Expr) and isinstance(s.value, gast.Name) and s.value.id in lists:
                out += lists[s.value.id]
                continue
            changed = {f: expand(getattr(s, f)) for f in ("body", "orelse", "finalbody") if getattr(s, f, None)}
            s = rebuilt(s, changed)
            out.append(substitute(s, lambda n: single.get(n.id)) if single else s)
        return out
    return expand(_parsed_block(source))


def with_line(stmts: list[Node], origin: Node) -> list[Node]:
    """The statements, told to come from the place of `origin`."""
    return [_placed(s, origin) for s in stmts]


def _placed(s: Node, origin: Node) -> Node:
    new = rebuilt(s, {})
    for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(new, place, getattr(origin, place, None))
    return new
