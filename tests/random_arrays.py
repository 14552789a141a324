"""Random straight-line programs over arrays of length four: two sources that know nothing of batches."""
import random

HEAD = "import numpy as np\n\n\ndef f(x, s, M, t):\n"


class Program:
    """`scalars`, `vectors`, `matrices`: the names that there are; `own`: arrays that may be written."""

    def __init__(self, seed):
        self.rng, self.lines, self.count = random.Random(seed), [], 0
        self.names = {"s": ["s", "t"], "v": ["x"], "m": ["M"]}
        self.own = {"v": [], "m": []}
        for _ in range(self.rng.randrange(4, 10)):
            self.statement()

    def pick(self, options):
        return self.rng.choice(options)

    def var(self, sort):
        return self.pick(self.names[sort])

    def scalar(self, depth=0):
        r = self.pick(["var", "constant", "op", "f", "sum", "max", "dot", "item", "len"] if depth < 2 else ["var", "constant"])
        return {"var": lambda: self.var("s"), "constant": lambda: f"{self.rng.uniform(0.3, 2):.2f}",
                "op": lambda: f"({self.scalar(depth + 1)} {self.pick('+-*')} {self.scalar(depth + 1)})",
                "f": lambda: f"np.{self.pick(['sin', 'tanh', 'exp'])}(0.3 * {self.scalar(depth + 1)})",
                "sum": lambda: f"np.sum({self.pick([self.vector, self.matrix])(depth + 1)})",
                "max": lambda: f"np.max({self.vector(depth + 1)})",
                "dot": lambda: f"({self.vector(depth + 1)} @ {self.vector(depth + 1)})",
                "item": lambda: f"{self.var('v')}[{self.rng.randrange(4)}]", "len": lambda: f"len({self.var('v')})"}[r]()

    def vector(self, depth=0):
        r = self.pick(["var", "op", "scaled", "f", "product", "row", "column", "reversed", "where", "axis", "gathered"]
                      if depth < 2 else ["var"])
        return {"var": lambda: self.var("v"),
                "op": lambda: f"({self.vector(depth + 1)} {self.pick('+-*')} {self.vector(depth + 1)})",
                "scaled": lambda: f"({self.vector(depth + 1)} / (1.5 + {self.scalar(depth + 1)} ** 2))",
                "f": lambda: f"np.{self.pick(['sin', 'tanh', 'abs'])}({self.vector(depth + 1)})",
                "product": lambda: f"({self.var('m')}{self.pick(['', '.T'])} @ {self.vector(depth + 1)})",
                "row": lambda: f"{self.var('m')}[{self.rng.randrange(4)}]",
                "column": lambda: f"{self.var('m')}[:, {self.rng.randrange(4)}]", "reversed": lambda: f"{self.var('v')}[::-1]",
                "where": lambda: f"np.where({self.var('v')} > 0.1, {self.vector(depth + 1)}, {self.vector(depth + 1)})",
                "axis": lambda: f"np.{self.pick(['sum', 'mean', 'max'])}({self.matrix(depth + 1)}, axis={self.rng.randrange(2)})",
                "gathered": lambda: f"{self.var('v')}[np.array([0, 2, 2, 1])]"}[r]()

    def matrix(self, depth=0):
        r = self.pick(["var", "op", "wide", "tall", "outer", "product", "turned", "f"] if depth < 2 else ["var"])
        return {"var": lambda: self.var("m"),
                "op": lambda: f"({self.matrix(depth + 1)} {self.pick('+-*')} {self.matrix(depth + 1)})",
                "wide": lambda: f"({self.matrix(depth + 1)} * {self.vector(depth + 1)})",
                "tall": lambda: f"({self.matrix(depth + 1)} + {self.var('v')}[:, None])",
                "outer": lambda: f"({self.var('v')}[:, None] * {self.var('v')}[None, :])",
                "product": lambda: f"({self.var('m')} @ {self.var('m')})", "turned": lambda: f"{self.var('m')}.T",
                "f": lambda: f"np.tanh({self.matrix(depth + 1)})"}[r]()

    def named(self, sort, value, owned=False):
        self.count += 1
        new = f"{sort}{self.count}"
        self.lines.append(f"    {new} = {value}")
        self.names[sort].append(new)
        if owned:
            self.own[sort].append(new)
        return new

    def statement(self):
        r = self.pick(["s", "v", "m", "copy", "copies", "entry", "part", "row", "augmented", "loop", "swap", "view"])
        if r in "svm":
            self.named(r, {"s": self.scalar, "v": self.vector, "m": self.matrix}[r]())
        elif r == "copy":
            self.named("v", f"({self.vector()}).copy()", owned=True)
        elif r == "copies":
            self.named("m", f"({self.matrix()}).copy()", owned=True)
        elif r == "view" and self.own["m"]:
            self.named("v", f"{self.pick(self.own['m'])}[{self.pick(['1', ':, 2'])}]")
        elif r == "swap" and len(self.own["v"]) > 1:
            a, b = self.rng.sample(self.own["v"], 2)
            self.lines.append(f"    {a}, {b} = {b}, {a}")
        elif r == "loop":
            new = self.named("s", self.scalar())
            self.lines.append(f"    for i in range({self.pick(['3', 'len(x)'])}):")
            self.lines.append(f"        {new} = {new} * 0.5 + {self.var('v')}[i % 4] * {self.scalar(1)}")
            if self.own["v"]:
                w = self.pick(self.own["v"])
                self.lines.append(f"        {w}[i % 4] {self.pick(['', '+'])}= {new} * {w}[{self.rng.randrange(4)}]")
        elif r in ("entry", "augmented") and self.own["v"]:
            place = self.pick(self.own["v"]) + (f"[{self.rng.randrange(4)}]" if r == "entry" else "")
            value = self.scalar(1) if r == "entry" else self.pick([self.vector, self.scalar])(1)
            self.lines.append(f"    {place} {self.pick('+-*')}= {value}")
        elif r in ("part", "row") and self.own["m"]:
            place = self.pick(["1", "0, 2", ":, 1", "2:"]) if r == "part" else str(self.rng.randrange(4))
            value = self.scalar(1) if r == "part" else self.vector(1)
            self.lines.append(f"    {self.pick(self.own['m'])}[{place}] {self.pick(['', '+'])}= {value}")

    def source(self):
        """A program that returns a number, a vector, or a tuple."""
        result = self.pick([self.scalar(), self.vector(), f"({self.vector()}, {self.scalar()}, {self.matrix()})"])
        return HEAD + "\n".join([*self.lines, f"    return {result}"]) + "\n"

    def of_rows(self):
        """A program that returns four numbers, perhaps one for each row of M."""
        made = [f"np.sum({n} * M, axis=1)" for n in self.names["m"]] + self.names["v"][1:] * 2 + ["(M @ x)"]
        return HEAD + "\n".join([*self.lines, f"    return {self.pick(made)}"]) + "\n"
