"""Random deterministic programs from an integer seed: source text with `f` and `ARGS`."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass, field

from . import calls, containers, flow, maps  # noqa: F401 (each registers its statements)
from .builder import FLOAT, Builder, Kind, array
from .expressions import arrays, scalar
from .statements import STATEMENTS, body

#: Features without a statement of their own: they add forms of expressions.
EXPRESSION_FEATURES = (
    "numpy math minmax boolean array2d row_view transpose generators for_enumerate for_zip for_reversed "
    "break continue loop_else mutating_callee tuple_callee recursion nonlocal starred array_containers "
    "names int_argument container_argument array_result exotic"
).split()
FEATURES = sorted({feature for feature, _, _ in STATEMENTS} | set(EXPRESSION_FEATURES))

HEADER = [
    "import collections",
    "import functools",
    "import itertools",
    "import math",
    "",
    "import numpy as np",
    "",
]

#: What can have known kinds throughout, and of that what Numba compiles as well.
NUMBA = """
    scalar aug_scalar ternary swap chain_assign store augstore slice_store augslice aug_array array alias view
    reshape alias_choice buffer_swap if return for for_items for_enumerate for_zip while break continue
    loop_else callee mutating_callee tuple_callee recursion numpy math minmax array2d row_view transpose names
    int_argument array_result
""".split()
TYPED = (
    NUMBA
    + """
    walrus boolean mask fancy out tuple starred nested_function lambda closure defaults for_reversed for_rows
    comprehension generators map function_argument nonlocal list array_containers match with assert
""".split()
)
CORE = [name for name in NUMBA if name not in ("int_argument", "recursion", "reshape")]
PRESETS = {"core": CORE, "numba": [*NUMBA, "exotic"], "typed": [*TYPED, "exotic"]}


@dataclass(frozen=True)
class Program:
    """A module's text that defines `f` and `ARGS`."""

    seed: int
    source: str
    features: frozenset[str] = field(default=frozenset(), compare=False)


def select(spec: str | None) -> frozenset[str]:
    """The features named in a comma list; with a leading `-`, all but those; or a preset."""
    if not spec:
        return frozenset(FEATURES)
    if spec in PRESETS:
        return frozenset(PRESETS[spec])
    named = {word.strip().lstrip("-") for word in spec.split(",")}
    unknown = named - set(FEATURES)
    if unknown:
        raise SystemExit(f"unknown features {sorted(unknown)}; known: {' '.join(FEATURES)}")
    return frozenset(set(FEATURES) - named if spec.startswith("-") else named | {"scalar"})


def generate(seed: int, features: frozenset[str] | None = None, size: int = 12) -> Program:
    """The program of this seed: `size` statements or so, in one to four functions."""
    rng = random.Random(f"programs {seed}")
    chosen = features or frozenset(FEATURES)
    if features is None and rng.random() < 0.6:  # a subset lets each feature dominate sometimes
        chosen = frozenset(feature for feature in FEATURES if rng.random() < 0.7) | {"scalar", "numpy"}
    b = Builder(rng, chosen, rng.randrange(max(2, size // 2), size + size // 2))
    b.globals["SCALE"] = FLOAT
    for number in range(rng.choice([0, 1, 1, 2]) if b.on("callee") else 0):
        calls.module_function(b, f"helper{number}")
    if b.on("recursion") and b.chance(0.2):
        calls.recursive_function(b, "again")
    params, values = main_parameters(b)
    returned = FLOAT
    if b.on("array_result") and b.chance(0.2):
        returned = b.pick([array(b.n), Kind("results", params=(FLOAT, array(b.n)))])
    with b.function("f", params, returned, nested=False):
        body(b, 100)
        b.emit(f"return {final(b)}")
    text = list(HEADER)
    text += [f"SCALE = {b.const(0.4, 0.9)}"]
    for piece in b.pending:
        text += ["", "", *piece]
    text += ["", "", f"ARGS = ({', '.join(values)},)", ""]
    return Program(seed, tidy("\n".join(text)), frozenset(b.seen))


def tidy(text: str) -> str:
    """The same program without needless parentheses."""
    return ast.unparse(ast.parse(text)) + "\n"


def main_parameters(b: Builder) -> tuple[list[tuple[str, Kind]], list[str]]:
    """Names, kinds and values of the main function's parameters."""
    scalars = b.rng.sample(["x", "y", "s"], b.pick([1, 2, 2, 3]))
    params = [(name, FLOAT) for name in scalars]
    values = [repr(round(b.rng.uniform(-1.2, 1.4), 5)) for _ in scalars]
    if b.on("array"):
        for name in ["a", "c"][: b.pick([0, 1, 1, 2])]:
            params.append((name, array(b.n)))
            values.append(vector(b, b.n))
        if b.on("array2d") and b.chance(0.4):
            params.append(("m", array(b.n, b.n)))
            values.append("np.array([" + ", ".join(vector(b, b.n)[9:-1] for _ in range(b.n)) + "])")
    if b.on("int_argument") and b.chance(0.2):
        params.append(("count_", Kind("int", bound=3)))
        values.append(str(b.rng.randrange(3)))
    if b.on("container_argument") and b.chance(0.15):
        add_container(b, params, values)
    order = list(range(len(params)))
    b.rng.shuffle(order)
    return [params[j] for j in order], [values[j] for j in order]


def add_container(b: Builder, params: list, values: list) -> None:
    shape = (b.n,) if b.on("array") and b.chance(0.5) else ()
    one = (lambda: vector(b, b.n)) if shape else (lambda: repr(round(b.rng.uniform(-1, 1), 5)))
    if b.chance(0.4):
        params.append(("table_", Kind("dict", shape, keys=("a", "b"))))
        values.append(f'{{"a": {one()}, "b": {one()}}}')
    elif b.chance(0.5):
        params.append(("pair_", Kind("tuple", shape, bound=2)))
        values.append(f"({one()}, {one()})")
    else:
        params.append(("list_", Kind("list", shape)))
        values.append(f"[{one()}, {one()}]")


def vector(b: Builder, size: int) -> str:
    return "np.array([" + ", ".join(repr(round(b.rng.uniform(-1.2, 1.2), 5)) for _ in range(size)) + "])"


def final(b: Builder) -> str:
    """A result that most live names contribute to."""
    terms = []
    for name, kind in b.frame.env.items():
        if not b.chance(0.75):
            continue
        weight = b.const(0.4, 1.3)
        if kind.tag == "float":
            terms.append(f"{weight} * {name}")
        elif kind.tag == "array":
            terms.append(
                b.pick(
                    [
                        f"np.sum({name} * {weight})",
                        f"np.sum({name} * {name}) * {weight}",
                        f"{name}[0] * {weight}" if len(kind.shape) == 1 else f"{name}[0, -1]",
                    ]
                )
            )
        elif kind.tag in ("list", "tuple") and kind.shape == ():
            terms.append(f"sum({name}) * {weight}")
        elif kind.tag in ("list", "tuple"):
            terms.append(f"np.sum({name}[-1]) * {weight}")
    total = " + ".join(terms) or scalar(b, 2)
    wanted = b.frame.result
    if wanted.tag == "float":
        return total
    value = arrays(b, (b.n,), 1)
    return value if wanted.tag == "array" else f"{total}, {value}"
