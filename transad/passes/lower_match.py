"""Lower `match` to `if`, where its patterns are values, alternatives, captures and tuples of them.

A pattern of another sort (classes, mappings, a rest `*others`) leaves the statement as it is, for who comes next to refuse.

>>> import gast
>>> from transad.names import Names
>>> tree = gast.parse('''
... def f(x, kind):
...     match kind:
...         case "sin" | "sine":
...             return math.sin(x)
...         case None if x > 0.0:
...             return x
...         case other:
...             return x * other
... ''').body[0]
>>> print(gast.unparse(lower_match(tree, Names({"x", "kind"}))).strip())
def f(x, kind):
    if kind == 'sin' or kind == 'sine':
        return math.sin(x)
    elif kind is None and x > 0.0:
        return x
    else:
        other = kind
        return x * other
"""
from __future__ import annotations

from dataclasses import dataclass, field

from transad.names import Names
from transad.nodes import gast
from transad.quote import Node, block, expr, name, rebuilt, with_line

_MOST = 3         # cases that are written twice after one with captures and a guard


class _Other(Exception):
    """A pattern that is not lowered."""


@dataclass
class _Found:
    """What a pattern asks for: all the tests, and the names that it binds."""

    tests: list[Node] = field(default_factory=list)
    binds: list[Node] = field(default_factory=list)

    @property
    def test(self) -> Node | None:
        test = None
        for t in self.tests:
            test = t if test is None else expr("a and b", a=test, b=t)
        return test


def lower_match(function: Node, names: Names) -> Node:
    """`function` without the `match` statements that are conditions; nested functions are left alone."""
    if isinstance(function, gast.Lambda):
        return function
    return rebuilt(function, {"body": _block(function.body, names)})


def _block(stmts: list[Node], names: Names) -> list[Node]:
    return [new for s in stmts for new in _statement(s, names)]


def _statement(s: Node, names: Names) -> list[Node]:
    if isinstance(s, gast.Match):
        try:
            return with_line(_lowered(s, names), s)
        except _Other:
            return [s]
    if isinstance(s, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
        return [s]
    changed = {f: _block(v, names) for f in ("body", "orelse", "finalbody")
               if isinstance(v := getattr(s, f, None), list) and v}
    return [rebuilt(s, changed)] if any(a is not b for f, v in changed.items() for a, b in zip(v, getattr(s, f), strict=False)
                                        ) or any(len(v) != len(getattr(s, f)) for f, v in changed.items()) else [s]


def _lowered(s: Node, names: Names) -> list[Node]:
    before: list[Node] = []

    def named(e: Node) -> Node:
        if isinstance(e, gast.Name | gast.Constant):
            return e
        subject = names.fresh("subject")
        before.extend(block("t = e", t=name(subject), e=e))
        return name(subject)
    subjects = [named(e) for e in s.subject.elts] if isinstance(s.subject, gast.Tuple) else named(s.subject)
    found = [(_pattern(c.pattern, subjects), c) for c in s.cases]
    return before + _chain(found, names)


def _chain(cases: list[tuple[_Found, Node]], names: Names) -> list[Node]:
    if not cases:
        return []
    (found, case), rest = cases[0], cases[1:]
    test, body = found.test, _block(case.body, names)
    if case.guard is not None and found.binds:
        inner = [*found.binds, _if(case.guard, body, _chain(rest, names))]      # bound also where the guard fails
        if test is not None and len(rest) > _MOST:
            raise _Other
        return inner if test is None else [_if(test, inner, _chain(rest, names))]
    if case.guard is not None:
        test = case.guard if test is None else expr("a and b", a=test, b=case.guard)
    if test is None:
        return [*found.binds, *body]
    return [_if(test, [*found.binds, *body], _chain(rest, names))]


def _if(test: Node, body: list[Node], orelse: list[Node]) -> Node:
    return rebuilt(block("if t:\n    pass", t=test)[0], {"body": body, "orelse": orelse})


def _pattern(p: Node, subject: Node | list[Node]) -> _Found:
    if isinstance(p, gast.MatchAs) and p.pattern is None and p.name is None:
        return _Found()
    if isinstance(subject, list):
        return _sequence(p, subject)
    if isinstance(p, gast.MatchValue):
        return _Found([expr("a == b", a=subject, b=p.value)])
    if isinstance(p, gast.MatchSingleton):
        return _Found([expr(f"a is {p.value!r}", a=subject)])
    if isinstance(p, gast.MatchOr):
        parts = [_pattern(q, subject) for q in p.patterns]
        if any(part.binds or part.test is None for part in parts):
            raise _Other
        test = parts[0].test
        for part in parts[1:]:
            test = expr("a or b", a=test, b=part.test)
        return _Found([test])
    if isinstance(p, gast.MatchAs):
        inner = _Found() if p.pattern is None else _pattern(p.pattern, subject)
        return _Found(inner.tests, [*inner.binds, *block("t = e", t=name(p.name), e=subject)])
    raise _Other


def _sequence(p: Node, subjects: list[Node]) -> _Found:
    if not isinstance(p, gast.MatchSequence) or len(p.patterns) != len(subjects) or any(
            isinstance(q, gast.MatchStar) for q in p.patterns):
        raise _Other
    parts = [_pattern(q, e) for q, e in zip(p.patterns, subjects, strict=True)]
    return _Found([t for part in parts for t in part.tests], [b for part in parts for b in part.binds])
