"""Pieces of alias torture: names, elements, spans, views and arrays of one common length."""

from __future__ import annotations

import random

from .builder import usual


class References:
    """The names of one function, and random texts that denote their memory."""

    def __init__(self, rng: random.Random, n: int, arrays: list[str], *, main: bool, matrix: bool) -> None:
        self.rng, self.n, self.arrays, self.main, self.matrix = rng, n, arrays, main, matrix
        self.exotic = True
        self.lines: list[str] = []
        self.depth = 1
        self.scalars = ["s"]
        self.callees: dict[str, int] = {}
        self.boxes: dict[str, str] = {}
        self.counters: list[str] = []
        self.count = 0

    # ---- pieces
    def pick(self, options):
        return self.rng.choice(list(options) if self.exotic else usual(list(options)))

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def emit(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    def const(self) -> str:
        return repr(round(self.rng.uniform(-0.9, 0.9) + 0.0013, 4))

    def name(self) -> str:
        return self.pick(self.arrays)

    def new(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def at(self) -> str:
        if self.counters and self.chance(0.5):
            return f"{self.pick(self.counters)} % {self.n}"
        return str(self.rng.randrange(-1, self.n))

    def number(self) -> str:
        """A float."""
        a, b = self.name(), self.name()
        return self.pick(
            [
                f"{a}[{self.at()}]",
                f"{a}[{self.at()}]",
                f"{a}[{self.at()}] * {b}[{self.at()}]",
                self.pick(self.scalars),
                f"{self.pick(self.scalars)} * {a}[{self.at()}]",
                f"np.sum({a} * {b}) * 0.3",
                f"np.sin({a}[{self.at()}])",
                f"np.dot({a}, {b}) * 0.2",
                self.const(),
                f"{a}.sum() * 0.2",
            ]
        )

    def span(self) -> tuple[str, int]:
        """A slice and its length, often one that overlaps others."""
        n = self.n
        return self.pick(
            [
                ("1:", n - 1),
                (":-1", n - 1),
                (f"0:{n - 1}", n - 1),
                (":2", 2),
                ("1:3", 2),
                ("-2:", 2),
                ("::2", (n + 1) // 2),
                ("1::2", n // 2),
                ("2:0:-1", 2),
                (f"{n - 2}::-1", n - 1),
            ]
        )

    def part(self, length: int) -> str:
        """A slice of some name with this many items."""
        n, a = self.n, self.name()
        starts = range(n - length + 1)
        start = self.pick(starts)
        texts = [f"{a}[{start}:{start + length}]"]
        if (n + 1) // 2 == length:
            texts.append(f"{a}[::2]")
        last = start + length - 1
        texts.append(f"{a}[{last}:{start - 1 if start else ''}:-1]")
        return self.pick(texts)

    def whole(self, fresh: float = 0.5) -> str:
        """An array of the common length: a reference to existing memory, or new memory."""
        a, b = self.name(), self.name()
        if not self.chance(fresh):
            return self.view()
        return self.pick(
            [
                f"{a} * {b}",
                f"np.sin({a})",
                f"{a} * {self.number()}",
                f"np.tanh({a} + {b})",
                f"{a}.copy()",
                f"{a} * 0.7 + {b} * 0.4",
                f"np.zeros_like({a})",
                f"{a} * np.cos({b})",
                f"{a}[::-1] * {b}",
                f"np.where({a} > {self.const()}, {a}, {b})",
                f"np.full({self.n}, {self.number()})",
                f"np.concatenate(({self.part(self.n - 1)}, {self.part(1)}))",
                f"-{a}",
                f"np.cumsum({a}) * 0.3",
                f"np.exp(-{a} * {b})" if self.chance(0.2) else f"np.roll({a}, 1)",
            ]
        )

    def view(self) -> str:
        a = self.name()
        forms = [
            a,
            a,
            f"{a}[::-1]",
            f"{a}[:]",
            f"{a}.reshape(-1)",
            f"{a}.ravel()",
            f"np.asarray({a})",
            f"{a}.T",
            f"np.ascontiguousarray({a})",
            f"{a}.reshape(1, -1)[0]",
            f"{a}[None].T[:, 0]",
            f"{a}.view()",
            f"np.flip({a})",
        ]
        if self.main:
            forms += [f"big[{k}:{k + self.n}]" for k in (0, 1, 2)] + [
                "big[::2]",
                f"big[{self.n}:]",
                "big[1::2]",
                f"big[{self.n}:0:-1]",
            ]
        if self.matrix:
            forms += [
                f"m[{self.row()}]",
                f"m[:, {self.row()}]",
                f"m.T[{self.row()}]",
                f"m[{self.row()}][::-1]",
                "np.diagonal(m).copy()",
                f"m.reshape(-1)[{self.n}:{2 * self.n}]",
                f"m[::-1, {self.row()}]",
            ]
        for box, kind in self.boxes.items():
            forms += [self.item(box, kind)] * 2
        return self.pick(forms)

    def row(self) -> str:
        return (
            f"{self.pick(self.counters)} % {self.n}"
            if self.counters and self.chance(0.4)
            else str(self.rng.randrange(-1, self.n))
        )

    def item(self, box: str, kind: str) -> str:
        if kind == "dict":
            return f"{box}['{self.pick('uv')}']"
        return f"{box}[{self.pick([0, -1, 0, 1])}]"

    def test(self) -> str:
        forms = [
            f"{self.name()}[{self.at()}] > {self.const()}",
            f"{self.pick(self.scalars)} < {self.const()}",
            f"np.sum({self.name()}) > {self.const()}",
            f"{self.name()}[0] < {self.name()}[1] + {self.const()}",
        ]
        if self.counters:
            forms += [f"{self.pick(self.counters)} % 2 == {self.rng.randrange(2)}"] * 3
        return self.pick(forms)
