"""Writes a random program line by line and knows, at each point, which names are defined and what they hold.

Guarantee: every name that `Builder.names` offers is assigned on each path that reaches the current line, so
that a program raises nothing the generator did not ask for. Kinds are static: a name keeps its kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """What a name holds. `shape` is that of an array, or of the items of a container (`()`: floats)."""

    tag: str
    shape: tuple[int, ...] = ()
    bound: int = 0  # int: values in range(bound); tuple: its length
    keys: tuple[str, ...] = ()
    params: tuple[Kind, ...] = ()
    result: Kind | None = None


FLOAT = Kind("float")


def array(*shape: int) -> Kind:
    return Kind("array", shape)


def integer(bound: int) -> Kind:
    return Kind("int", bound=bound)


@dataclass
class Frame:
    """One function being written."""

    result: Kind
    env: dict[str, Kind] = field(default_factory=dict)
    outer: dict[str, Kind] = field(default_factory=dict)  # readable, not assignable: captured
    used: set[str] = field(default_factory=set)
    loops: list[str] = field(default_factory=list)
    pieces: int = 0


#: NumPy beyond elementwise functions, sums, products and basic views; left out without the feature "exotic".
EXOTIC = re.compile(
    r"np\.(prod|concatenate|cumsum|clip|sort|roll|flip|reshape|take|copyto|ascontiguousarray|asarray|linalg|stack|outer"
    r"|diagonal|fill_diagonal|transpose|add\.at|subtract|mean)|\.(cumsum|ravel|view|flatten|reshape|mean|transpose)\("
    r"|np\.\w+\([a-z], [a-z]\)$|\[(?:\[[\d, ]+\]|idx\d+)\] [*+]=|axis=|sorted\(|accumulate"
    r"|\*\*=|\[None\]|\[:, None\]|where=|\.(append|insert|pop|reverse)\(|\{'"
)


def usual(options: list) -> list:
    """The options without exotic texts (all of them, should nothing remain)."""
    return [option for option in options if not (isinstance(option, str) and EXOTIC.search(option))] or options


PLAIN_NAMES = "r s t u v w z p q e h k2 acc tmp val cur prev total res".split()
#: Names that a source transformation may want for itself.
NASTY_NAMES = "d_x d_y saved trip ret returned tape x_tape back g out d_ret t1 s_1 rt np_ trips".split()


class Builder:
    """Random choices, indentation, scopes and the budget of statements."""

    def __init__(self, rng: random.Random, features: frozenset[str], size: int) -> None:
        self.rng = rng
        self.features = features
        self.n = rng.choice([3, 4, 4, 5])
        self.budget = size
        self.lines: list[str] = []
        self.depth = 0
        self.frames: list[Frame] = []
        self.globals: dict[str, Kind] = {}
        self.seen: set[str] = set()
        self.iterating = 0  # lists are being iterated: they must not grow
        self.pending: list[list[str]] = []  # module-level text that has to come before

    # ---- choices
    def on(self, feature: str) -> bool:
        return feature in self.features

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, options):
        return self.rng.choice(list(options) if self.on("exotic") else usual(list(options)))

    def const(self, low: float = -1.0, high: float = 1.0) -> str:
        """A constant with an odd tail, so that comparisons rarely sit on a tie."""
        return repr(round(self.rng.uniform(low, high) + 0.0013, 4))

    # ---- text
    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @contextmanager
    def block(self, header: str) -> Iterator[dict[str, Kind]]:
        """An indented block; what it defines is forgotten afterwards, unless the caller uses the dict."""
        self.emit(header)
        before = dict(self.frame.env)
        inside: dict[str, Kind] = {}
        self.depth += 1
        start = len(self.lines)
        yield inside
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1
        inside.update(self.frame.env)
        self.frame.env = before

    def keep_common(self, *envs: dict[str, Kind]) -> None:
        """Names defined at the end of every one of the branches are defined after them."""
        for name, kind in envs[0].items():
            if all(env.get(name) == kind for env in envs[1:]):
                self.frame.env[name] = kind

    # ---- names
    def names(self, test) -> list[str]:
        """Readable names whose kind passes `test` (a tag or a predicate)."""
        check = (lambda kind: kind.tag == test) if isinstance(test, str) else test
        scope = {**self.globals, **self.frame.outer, **self.frame.env}
        return [name for name, kind in scope.items() if check(kind)]

    def kind_of(self, name: str) -> Kind:
        for scope in (self.frame.env, self.frame.outer, self.globals):
            if name in scope:
                return scope[name]
        raise KeyError(name)

    def fresh(self, stem: str = "") -> str:
        """A name not used in this function (nor captured by it)."""
        pool = PLAIN_NAMES + (NASTY_NAMES if self.on("names") and self.chance(0.3) else [])
        taken = self.frame.used | set(self.frame.outer) | set(self.globals)
        for _ in range(4):
            name = stem or self.pick(pool)
            if name not in taken:
                break
            stem = ""
        else:
            number = 2
            while f"{name}{number}" in taken:
                number += 1
            name = f"{name}{number}"
        self.frame.used.add(name)
        return name

    def own(self, kind: Kind) -> list[str]:
        """Assignable names of this kind."""
        return [name for name, held in self.frame.env.items() if held == kind]

    def target(self, kind: Kind, fresh: float = 0.4) -> str:
        """A name to assign: an existing one of the kind, or a new one; `define` it after the line."""
        existing = self.own(kind)
        if existing and not self.chance(fresh):
            return self.pick(existing)
        return self.fresh()

    def define(self, name: str, kind: Kind) -> None:
        self.frame.used.add(name)
        self.frame.env[name] = kind

    @contextmanager
    def function(
        self,
        name: str,
        params: list[tuple[str, Kind]],
        result: Kind,
        *,
        nested: bool,
        signature: str | None = None,
    ) -> Iterator[Frame]:
        """A function definition; module-level ones are collected in `pending` and printed first."""
        outer: dict[str, Kind] = {}
        if nested:
            outer = {**self.frame.outer, **self.frame.env}
            for parameter, _ in params:
                outer.pop(parameter, None)
        frame = Frame(result, dict(params), outer, {parameter for parameter, _ in params})
        held = (self.lines, self.depth, self.iterating)
        if not nested:
            self.lines, self.depth = [], 0
        self.iterating = 0
        self.frames.append(frame)
        self.emit(f"def {name}({signature or ', '.join(p for p, _ in params)}):")
        self.depth += 1
        yield frame
        self.depth -= 1
        self.frames.pop()
        self.iterating = held[2]
        if not nested:
            self.pending.append(self.lines)
            self.lines, self.depth = held[:2]
