"""Alias torture: few array names, aliased, viewed, rebound, swapped, overwritten, passed on, in nested flow.

All names hold arrays of one length, so that any of them can take the place of any other; nothing is said
about which memory a name denotes at any point, and that is the purpose.
"""

from __future__ import annotations

import random

from .programs import Program, tidy
from .references import References


class Torture(References):
    """Writes the body of one function over a few names."""

    def statement(self) -> None:
        table = [
            ("alias", 3),
            ("rebind", 3),
            ("swap", 3),
            ("element", 3),
            ("slices", 3),
            ("augmented", 3),
            ("fancy", 1.5),
            ("mask", 1),
            ("out", 1.5),
            ("choice", 1.5),
            ("read", 1),
        ]
        if self.depth < 4:
            table += [("branch", 3), ("loop", 3)]
        if self.callees:
            table += [("call", 4)]
        if self.main:
            table += [("box", 2)]
        if self.matrix:
            table += [("rows", 2)]
        kind = self.rng.choices([name for name, _ in table], [weight for _, weight in table])[0]
        getattr(self, f"write_{kind}")()

    def body(self, count: int) -> None:
        start = len(self.lines)
        for _ in range(count):
            self.statement()
        if len(self.lines) == start:
            self.emit("pass")

    def write_alias(self) -> None:
        self.emit(f"{self.name()} = {self.view()}")

    def write_rebind(self) -> None:
        self.emit(f"{self.name()} = {self.whole(0.9)}")

    def write_swap(self) -> None:
        names = self.rng.sample(self.arrays, min(len(self.arrays), self.pick([2, 2, 3])))
        self.emit(f"{', '.join(names)} = {', '.join(names[1:] + names[:1])}")

    def write_element(self) -> None:
        a, b = self.name(), self.name()
        i, j = self.at(), self.at()
        self.emit(
            self.pick(
                [
                    f"{a}[{i}] = {self.number()}",
                    f"{a}[{i}] = np.sin({b}[{j}] * {self.number()})",
                    f"{a}[{i}] += {self.number()} * 0.5",
                    f"{a}[{i}] *= {self.number()}",
                    f"{a}[{i}] -= {b}[{j}] * 0.4",
                    f"{a}[{i}], {b}[{j}] = {b}[{j}], {a}[{i}]",
                    f"{a}[{i}] /= 1.5 + {b}[{j}] ** 2",
                ]
            )
        )

    def write_slices(self) -> None:
        a = self.name()
        span, length = self.span()
        self.emit(
            self.pick(
                [
                    f"{a}[{span}] = {self.part(length)}",
                    f"{a}[{span}] = {self.part(length)} * {self.number()}",
                    f"{a}[{span}] += {self.part(length)} * 0.6",
                    f"{a}[{span}] *= {self.part(length)}",
                    f"{a}[{span}] = {self.number()}",
                    f"{a}[{span}] -= {self.number()} * 0.3",
                    f"{a}[:] = {self.whole()}",
                    f"{a}[...] = {self.number()}",
                    f"{a}[{span}] = np.tanh({self.part(length)} + {self.part(length)})",
                    f"{a}[{span}], {self.name()}[:1] = {self.part(length)}, {self.part(1)}",
                ]
            )
        )

    def write_augmented(self) -> None:
        a = self.name()
        self.emit(
            self.pick(
                [
                    f"{a} += {self.whole(0.3)} * 0.5",
                    f"{a} *= {self.whole(0.2)}",
                    f"{a} -= {self.view()}",
                    f"{a} *= {self.number()}",
                    f"{a} += {self.number()} * 0.4",
                    f"{a} /= 1.4 + {self.view()} ** 2",
                    f"{a} += {a}[0] * 0.3",
                    f"{a} *= {a}",
                    f"{a} += {a}[::-1] * 0.5",
                    f"{a} **= 2",
                ]
            )
        )

    def indices(self) -> str:
        return str([self.rng.randrange(self.n) for _ in range(self.n)])

    def write_fancy(self) -> None:
        a, idx = self.name(), self.indices()
        if self.chance(0.4):
            fixed = self.new("idx")
            self.emit(f"{fixed} = np.array({idx})")
            idx = fixed
        self.emit(
            self.pick(
                [
                    f"{a}[{idx}] = {self.whole(0.3)}",
                    f"{a}[{idx}] += {self.whole(0.3)} * 0.4",
                    f"{a}[{idx}] *= {self.view()}",
                    f"{a}[{idx}] = {self.number()}",
                    f"np.add.at({a}, {idx}, {self.view()})",
                    f"{a} = {self.name()}[{idx}]",
                    f"{a}[{idx}] = {self.name()}[{self.indices()}]",
                ]
            )
        )

    def write_mask(self) -> None:
        a, mask = self.name(), self.new("mask")
        self.emit(f"{mask} = {self.name()} > {self.const()}")
        self.emit(
            self.pick(
                [
                    f"{a}[{mask}] = {self.number()}",
                    f"{a}[{mask}] *= {self.number()}",
                    f"{a}[{mask}] = {self.view()}[{mask}]",
                    f"{a}[{mask}] += {self.view()}[{mask}] * 0.5",
                    f"np.copyto({a}, {self.view()}, where={mask})",
                ]
            )
        )

    def write_out(self) -> None:
        a, b, c = self.name(), self.name(), self.view()
        span, length = self.span()
        self.emit(
            self.pick(
                [
                    f"np.add({b}, {c}, out={a})",
                    f"np.multiply({b}, {c}, out={a})",
                    f"np.sin({b}, out={a})",
                    f"np.copyto({a}, {c})",
                    f"{a}.fill({self.number()})",
                    f"np.tanh({b}, {a})",
                    f"np.multiply({self.part(length)}, {self.number()}, out={a}[{span}])",
                    f"{a} = np.subtract({b}, {c}, out={a})",
                    f"np.exp(-{b} ** 2, out={a})",
                ]
            )
        )

    def write_choice(self) -> None:
        self.emit(f"{self.name()} = {self.view()} if {self.test()} else {self.whole(0.4)}")

    def write_read(self) -> None:
        """A float kept while the memory that it came from changes."""
        name = self.new("t")
        self.emit(f"{name} = {self.number()}")
        self.emit(f"s = np.sin(s + {name})" if self.chance(0.4) else f"s = 0.5 * s + 0.4 * {name}")

    def write_branch(self) -> None:
        boxes = dict(self.boxes)
        self.emit(f"if {self.test()}:")
        self.depth += 1
        self.body(self.pick([1, 2]))
        self.boxes = dict(boxes)
        if self.chance(0.5):
            self.depth -= 1
            self.emit("else:")
            self.depth += 1
            self.body(self.pick([1, 2]))
        self.depth -= 1
        self.boxes = boxes

    def write_loop(self) -> None:
        boxes, counters = dict(self.boxes), list(self.counters)
        name, trips = self.new("i"), self.pick([2, 3, 3, 4])
        form = self.rng.randrange(3 + (len(self.arrays) > 1) * 2 + (self.matrix and len(self.arrays) > 1))
        if form <= 2:
            self.emit(f"for {name} in range({trips}):")
            self.counters.append(name)
        elif form == 3:
            self.emit(f"{name} = 0", f"while {name} < {trips} and {self.test()}:", f"    {name} += 1")
            self.counters.append(name)
        elif form == 4:
            one, other = self.rng.sample(self.arrays, 2)
            self.emit(f"for {one} in [{one}, {self.view()}, {other}]:")
        else:
            self.emit(f"for {self.name()} in {self.pick(['m', 'm', 'm.T', 'm[::-1]'])}:")
        self.depth += 1
        self.body(self.pick([1, 2, 3]))
        if self.chance(0.2) and (self.exotic or form != 4):
            self.emit(f"if {self.test()}:", f"    {self.pick(['break', 'continue'])}")
            self.body(1)
        self.depth -= 1
        self.boxes, self.counters = boxes, counters

    def write_call(self) -> None:
        name = self.pick(self.callees)
        given = [self.view() if self.chance(0.6) else self.name() for _ in range(self.callees[name])]
        if self.chance(0.3):
            given = given[:1] * len(given)  # the same memory through each parameter
        text = f"{name}({', '.join(given)}, {self.number()})"
        self.emit(self.pick([f"{self.name()} = {text}", text]))

    def write_box(self) -> None:
        lists = [box for box, kind in self.boxes.items() if kind == "list"]
        if not self.boxes or self.chance(0.35):
            kind = self.pick(["list", "list", "tuple", "dict"] if self.exotic else ["list", "tuple"])
            box = self.new("box")
            first, second = self.view(), self.whole(0.4)
            text = {
                "list": f"[{first}, {second}]",
                "tuple": f"({first}, {second})",
                "dict": f"{{'u': {first}, 'v': {second}}}",
            }[kind]
            self.emit(f"{box} = {text}")
            self.boxes[box] = kind
            return
        box, kind = self.pick(self.boxes.items())
        spot = self.item(box, kind)
        forms = [
            f"{spot}[{self.at()}] = {self.number()}",
            f"{spot}[1:] *= {self.number()}",
            f"{self.name()} = {spot}",
            f"for v in {box}{'.values()' if kind == 'dict' else ''}: v *= 0.9",
        ]
        if kind == "tuple":
            forms.append(f"{self.arrays[0]}, {self.arrays[1]} = {box}")
        else:
            forms += [f"{spot} = {self.view()}", f"{spot} += {self.view()} * 0.5", f"{spot} = {self.whole()}"]
        if lists:
            box = self.pick(lists)
            forms += [
                f"{box}.append({self.view()})",
                f"{box}[0], {box}[1] = {box}[1], {box}[0]",
                f"{box}.insert(0, {box}.pop())",
                f"{box}.reverse()",
                f"{self.name()} = {box}.pop() if len({box}) > 2 else {box}[0]",
            ]
        self.emit(self.pick(forms))

    def write_rows(self) -> None:
        i, j = self.row(), self.row()
        self.emit(
            self.pick(
                [
                    f"m[{i}] = {self.whole()}",
                    f"m[:, {i}] = {self.view()}",
                    f"m[{i}] *= {self.view()}",
                    "m = m.T",
                    "m = m[::-1]",
                    f"m[{i}], m[{j}] = m[{j}], m[{i}]",
                    "m[[0, 1]] = m[[1, 0]]",
                    "m += m.T * 0.5",
                    f"m *= {self.number()}",
                    f"m[{i}, {j}] = {self.number()}",
                    "m = m * np.cos(m)",
                    "m[1:] += m[:-1] * 0.5",
                    f"m[{i}][{j}] += {self.number()} * 0.4",
                    f"np.fill_diagonal(m, {self.number()})",
                    f"m = np.outer({self.name()}, {self.view()})",
                    f"m += {self.view()} * 0.3",
                    "m[:, 1:] = m[:, :-1]",
                    f"m = m.reshape({self.n}, {self.n})",
                    "m = m.transpose().copy()",
                    f"m[{i}] = m[:, {j}]",
                    f"m -= {self.name()}[:, None] * 0.3",
                ]
            )
        )


def callee(rng: random.Random, number: int, n: int, exotic: bool) -> tuple[str, int, str]:
    """A helper that writes to its parameters and returns one of them, a view, or new memory."""
    params = ["p", "q", "r"][: rng.choice([1, 2, 2, 3])]
    writer = Torture(rng, n, params, main=False, matrix=False)
    writer.exotic = exotic
    writer.body(rng.choice([1, 2, 3]))
    writer.emit(f"return {writer.whole(0.25)}")
    header = f"def step{number}({', '.join(params)}, s):"
    return f"step{number}", len(params), "\n".join([header, *writer.lines])


def generate(seed: int, size: int = 10, exotic: bool = True) -> Program:
    """The torture of this seed: about `size` statements, nested ones not counted.

    Not exotic: only what basic indexing and elementwise arithmetic can do to memory.
    """
    rng = random.Random(f"torture {seed}")
    n = rng.choice([3, 4, 4, 5])
    matrix, arrays = rng.random() < 0.4, ["a", "b", "c", "d"][: rng.choice([2, 3, 3, 4])]
    writer = Torture(rng, n, arrays, main=True, matrix=matrix)
    writer.exotic = exotic
    pieces = []
    for number in range(rng.choice([0, 1, 2])):
        name, count, text = callee(rng, number, n, exotic)
        writer.callees[name] = count
        pieces.append(text)
    start_names(writer)
    writer.body(max(1, rng.randrange(size // 2, size + size // 2)))
    writer.emit(f"return {outcome(writer)}")
    params = ["x", "y"] + ["m"] * matrix + ["s"]
    values = [vector_of(rng, n), vector_of(rng, n)]
    if matrix:
        values.append("np.array([" + ", ".join(vector_of(rng, n)[9:-1] for _ in range(n)) + "])")
    values.append(repr(round(rng.uniform(-1, 1.2), 5)))
    text = [
        "import numpy as np",
        "",
        *pieces,
        f"def f({', '.join(params)}):",
        *writer.lines,
        f"ARGS = ({', '.join(values)},)",
    ]
    return Program(seed, tidy("\n".join(text)))


def vector_of(rng: random.Random, n: int) -> str:
    return "np.array([" + ", ".join(repr(round(rng.uniform(-1.1, 1.1), 5)) for _ in range(n)) + "])"


def start_names(writer: Torture) -> None:
    """Binds each name, and a longer buffer that overlapping windows are taken from."""
    if not writer.chance(0.7):
        writer.emit(f"big = np.zeros({2 * writer.n})")
    elif writer.exotic:
        writer.emit("big = np.concatenate((x, y))")
    else:
        writer.emit(f"big = np.zeros({2 * writer.n})", f"big[:{writer.n}] = x", f"big[{writer.n}:] = y")
    sources = [
        "x",
        "x",
        "y",
        "y",
        "x * s",
        "x.copy()",
        "x[::-1]",
        "big[1:%d]" % (writer.n + 1),
        "big[::2]",
        "np.zeros_like(x)",
        "y * x",
        "np.sin(y)",
    ]
    if writer.matrix:
        sources += ["m[0]", "m[1]", "m[:, 1]", "m.T[0]"]
    for name in writer.arrays:
        writer.emit(f"{name} = {writer.pick(sources)}")


def outcome(writer: Torture) -> str:
    terms = [f"np.sum({name} * {name}) * {writer.const()}" for name in writer.arrays]
    terms += [f"{name}[0] * {writer.const()}" for name in ["x", "y", "big"]]
    terms += ["s"] + (["np.sum(m * np.cos(m)) * 0.4"] if writer.matrix else [])
    total = " + ".join(terms)
    return writer.pick(
        [
            total,
            total,
            total,
            f"({total}, {writer.name()})",
            writer.name(),
            f"({writer.name()}, x, {writer.name()})",
        ]
    )
