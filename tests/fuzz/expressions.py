"""Random expressions: floats, conditions, indices and arrays. Values stay within a few units."""

from __future__ import annotations

from .builder import FLOAT, Builder, Kind, array

SMOOTH = [
    "np.sin({})",
    "np.cos({})",
    "np.tanh({})",
    "np.exp(-({})**2)",
    "np.sqrt(1.0 + ({})**2)",
    "np.arctan({})",
    "np.log(1.0 + ({})**2)",
    "1.0 / (1.3 + ({})**2)",
    "np.log1p(({})**2) * 0.5",
    "np.square(0.5 * ({}))",
]
MATH = [
    "math.sin({})",
    "math.cos({})",
    "math.tanh({})",
    "math.exp(-abs({}))",
    "math.sqrt(abs({}) + 0.2)",
    "math.atan({})",
    "math.log(1.2 + ({})**2)",
    "math.hypot({}, 0.7)",
    "math.atan2({}, 1.6)",
]


# ---- indices
def index(b: Builder, size: int) -> str:
    """An index into an axis of `size` items: a constant, a loop variable, or something computed from one."""
    counters = b.names(lambda kind: kind.tag == "int" and kind.bound > 0)
    if counters and b.chance(0.6):
        name = b.pick(counters)
        if b.kind_of(name).bound <= size:
            return b.pick([name, name, f"{size - 1} - {name}", f"-1 - {name}", f"({name} + 1) % {size}"])
        return f"{name} % {size}"
    return str(b.rng.randrange(-size if b.chance(0.3) else 0, size))


def slices(b: Builder, size: int, length: int) -> str:
    """A slice that takes `length` of `size` items."""
    start = b.rng.randrange(size - length + 1)
    stop = start + length
    texts = [f"{start or ''}:{stop if stop < size else ''}", f"{start}:{stop}"]
    if stop < size:
        texts.append(f"{start or ''}:{stop - size}")
    if 2 * length - 1 <= size:
        texts.append("::2" if (size + 1) // 2 == length else f"0:{2 * length - 1}:2")
    backwards = f"{stop - 1 if stop < size else ''}:{start - 1 if start else ''}:-1"
    return b.pick([*texts, backwards])


# ---- places: texts that denote memory of a given shape
def place(b: Builder, shape: tuple[int, ...], depth: int = 2) -> str | None:
    """An array name or a view of one (assignable), or None if there is none of this shape."""
    options: list[str] = [*b.names(lambda kind: kind == array(*shape))] * 3
    for holder in b.names(lambda kind: kind.tag in ("list", "tuple", "dict") and kind.shape == shape != ()):
        options.append(item(b, holder))
    if b.on("view"):
        options += views(b, shape, depth)
    return b.pick(options) if options else None


def views(b: Builder, shape: tuple[int, ...], depth: int) -> list[str]:
    found: list[str] = []
    for name in b.names("array"):
        held = b.kind_of(name).shape
        if len(shape) == 1 and len(held) == 1 and held[0] >= shape[0]:
            found.append(f"{name}[{slices(b, held[0], shape[0])}]")
            if held == shape:
                found.append(f"{name}[::-1]")
        elif len(shape) == 1 and len(held) == 2:
            found += two_dimensional(b, name, held, shape[0])
        elif len(shape) == 2 and len(held) == 2:
            if b.on("transpose") and held == shape[::-1]:
                found.append(f"{name}.T")
            if held[0] >= shape[0] and held[1] >= shape[1] and held != shape:
                found.append(f"{name}[{slices(b, held[0], shape[0])}, {slices(b, held[1], shape[1])}]")
    return found


def two_dimensional(b: Builder, name: str, held: tuple[int, ...], length: int) -> list[str]:
    rows, columns = held
    found = []
    if columns >= length and b.on("row_view"):
        row = f"{name}[{index(b, rows)}]"
        found.append(row if columns == length else f"{row}[{slices(b, columns, length)}]")
    if rows == length and b.on("row_view"):
        found.append(f"{name}[:, {index(b, columns)}]")
        if b.on("transpose"):
            found.append(f"{name}.T[{index(b, columns)}]")
    if rows * columns == length and b.on("reshape"):
        found.append(f"{name}.reshape(-1)")
    return found


def item(b: Builder, holder: str) -> str:
    """An item of a list (never empty), tuple or dict."""
    kind = b.kind_of(holder)
    if kind.tag == "dict":
        return f'{holder}["{b.pick(kind.keys)}"]'
    if kind.tag == "tuple":
        return f"{holder}[{b.rng.randrange(-1, kind.bound)}]"
    return b.pick([f"{holder}[0]", f"{holder}[-1]", f"{holder}[{b.rng.randrange(9)} % len({holder})]"])


def element(b: Builder) -> str | None:
    """One element of an array, or an item of a container of floats; assignable unless from a tuple."""
    options = []
    for name in b.names("array"):
        shape = b.kind_of(name).shape
        if len(shape) == 2:
            row, column = index(b, shape[0]), index(b, shape[1])
            options.append(b.pick([f"{name}[{row}, {column}]"] * 3 + [f"{name}[{row}][{column}]"]))
        else:
            options.append(f"{name}[{index(b, shape[0])}]")
    return b.pick(options) if options else None


# ---- floats
def leaf(b: Builder) -> str:
    options = [name for name in b.names("float") if name not in b.globals] * 3 + ["SCALE"]
    holders = b.names(lambda kind: kind.tag in ("list", "tuple", "dict") and kind.shape == ())
    options += [item(b, holder) for holder in holders]
    spot = element(b)
    if spot is not None:
        options += [spot] * 2
    counters = b.names("int")
    if counters and b.chance(0.3):
        options.append(b.pick(["0.1 * {}", "float({})", "({} % 3)"]).format(b.pick(counters)))
    if not options or b.chance(0.08):
        return b.const()
    return b.pick(options)


def scalar(b: Builder, depth: int = 2) -> str:
    """A float expression."""
    if depth <= 0 or b.chance(0.15):
        return leaf(b)
    forms = [smooth, binary, binary, binary]
    if b.names("array"):
        forms.append(reduction)
    if b.on("ternary"):
        forms.append(lambda b, d: f"({scalar(b, d - 1)} if {condition(b, d - 1)} else {scalar(b, d - 1)})")
    if b.names(returns_float):
        forms += [call, call]
    if b.on("generators") or b.on("comprehension"):
        forms.append(iterated)
    return b.pick(forms)(b, depth)


def smooth(b: Builder, depth: int) -> str:
    pool = (SMOOTH if b.on("numpy") else []) + (MATH if b.on("math") else [])
    if b.chance(0.2) or not pool:
        return b.pick(["-({})", "abs({})", "float({})"]).format(scalar(b, depth - 1))
    return b.pick(pool).format(scalar(b, depth - 1))


def binary(b: Builder, depth: int) -> str:
    left, right = scalar(b, depth - 1), scalar(b, depth - 1)
    forms = [
        "{} + {}",
        "{} - {}",
        "{} * {}",
        "({}) * np.cos({})",
        "0.5 * ({}) * ({})",
        "({}) / (1.5 + ({})**2)",
        "{} * 0.7 + ({}) * 0.4",
    ]
    if b.on("minmax"):
        forms += ["max({}, {})", "min({}, {})", "np.maximum({}, {})"]
    if b.on("boolean") and b.chance(0.1):
        forms = ["({} or {})", "({} and {})"]
    return "(" + b.pick(forms).format(left, right) + ")"


def reduction(b: Builder, depth: int) -> str:
    vectors = {b.kind_of(name).shape for name in b.names("array")}
    shape = b.pick(sorted(vectors))
    value = arrays(b, shape, depth - 1)
    forms = [
        "np.sum({}) * 0.3",
        "np.mean({})",
        "({}).sum() * 0.2",
        "({}).mean()",
        "np.sum(np.tanh({}))",
        "np.linalg.norm({})*0.2" if b.chance(0.3) else "np.sum({})",
        "np.prod(np.cos({}))",
    ]
    if b.on("minmax"):
        forms += ["np.max({})", "({}).min()"]
    if len(shape) == 1:
        if b.chance(0.4):
            return f"np.dot({value}, {arrays(b, shape, depth - 1)}) * 0.3"
        if b.on("generators"):
            forms.append("sum({})")
    return b.pick(forms).format(value)


def returns_float(kind: Kind) -> bool:
    return kind.tag == "function" and kind.result == FLOAT


def call(b: Builder, depth: int) -> str:
    """A call of a function that returns a float."""
    name = b.pick(b.names(returns_float))
    return f"{name}({', '.join(arguments(b, b.kind_of(name), depth))})"


def arguments(b: Builder, function: Kind, depth: int) -> list[str]:
    """Arguments for a call; arrays are names or views mostly, so that callees see (overlapping) memory."""
    texts = []
    for kind in function.params:
        if kind.tag == "float":
            texts.append(scalar(b, depth - 1))
        elif kind.tag == "int":
            texts.append(str(b.rng.randrange(kind.bound)))
        else:
            spot = place(b, kind.shape)
            texts.append(spot if spot and b.chance(0.85) else arrays(b, kind.shape, 1))
    return texts


def iterated(b: Builder, depth: int) -> str:
    """A sum (max, ...) over a comprehension, a generator, a map or a zip."""
    shape = (b.n,)
    first, second = place(b, shape), place(b, shape)
    factor = leaf(b)
    loose = [
        "sum({f} * 0.1 * j for j in range(4))",
        "sum([np.sin({f} + 0.2 * j) for j in range(3)]) * 0.3",
        "max([{f} * j for j in range(1, 4)])",
    ]
    tight = [
        "sum(v * {f} for v in {a}) * 0.3",
        "sum([np.tanh(v) for v in {a}])",
        "sum(v * w for v, w in zip({a}, {c})) * 0.3",
        "sum(map(lambda v: v * {f}, {a})) * 0.3",
        "sum(map(lambda v, w: np.sin(v - w * {f}), {a}, {c})) * 0.3",
        "sum(v * (j + 1) for j, v in enumerate({a})) * 0.1",
        "max(np.sin(v) for v in {a})",
        "sum(v for v in {a} if v > {k}) * 0.3",
        "sum([v * w for v in {a} for w in {c}]) * 0.1",
        "functools.reduce(lambda p, v: p * 0.5 + v, {a}, {f})",
        "list(itertools.accumulate({a}))[-1] * 0.3",
        "sum(v**2 for v in reversed({a})) * 0.2",
        "sorted({a})[1]",
    ]
    texts = loose if first is None else loose + tight * 2
    return b.pick(texts).format(f=factor, a=first, c=second, k=b.const())


# ---- conditions
def condition(b: Builder, depth: int = 1) -> str:
    """A truth value, usually one that depends on the data."""
    value = scalar(b, min(depth, 1))
    forms = [f"{value} > {b.const()}", f"{value} < {b.const()}", f"{value} >= {scalar(b, 0)}"]
    counters = b.names("int")
    if counters:
        forms.append(f"{b.pick(counters)} % 2 == {b.rng.randrange(2)}")
    if b.on("boolean"):
        forms.append(f"{b.const(-1.5, -0.5)} < {value} < {b.const(0.3, 1.5)}")
        if depth > 0:
            joint = b.pick(["and", "or"])
            forms.append(f"({condition(b, 0)} {joint} {condition(b, 0)})")
            forms.append(f"not {value} > {b.const()}")
    return b.pick(forms)


# ---- arrays
def arrays(b: Builder, shape: tuple[int, ...], depth: int = 2) -> str:
    """An array expression of this shape: fresh memory or a view."""
    spot = place(b, shape)
    if depth <= 0:
        return spot if spot else f"np.full({shape}, {leaf(b)})"
    if spot is None or b.chance(0.1):
        return constructed(b, shape, depth)
    forms = [elementwise, elementwise, paired, paired, scaled]
    if b.on("numpy"):
        forms += [one_dimensional if len(shape) == 1 else matrix]
    if b.on("callee") and b.names(lambda kind: kind.tag == "function" and kind.result == array(*shape)):
        forms.append(array_call)
    return b.pick(forms)(b, shape, depth)


def elementwise(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    return b.pick([*SMOOTH, "-({})", "abs({})", "({}).copy()", "np.clip({}, -0.83, 0.91)"]).format(
        arrays(b, shape, depth - 1)
    )


def paired(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    left, right = arrays(b, shape, depth - 1), arrays(b, shape, depth - 1)
    forms = ["({} + {})", "({} - {})", "({} * {})", "({}) * np.sin({})", "({}) / (1.5 + ({})**2)"]
    if b.on("numpy"):
        forms += ["np.where({} > %s, {}, {})" % b.const(), "np.maximum({}, {})", "np.minimum({}, {})"]
    return b.pick(forms).format(left, right, arrays(b, shape, 0))


def scaled(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    value, factor = arrays(b, shape, depth - 1), scalar(b, depth - 1)
    return b.pick(["({}) * ({})", "({}) + ({})", "({}) - ({})", "({}) / (1.4 + abs({}))"]).format(value, factor)


def one_dimensional(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    length = shape[0]
    value = arrays(b, shape, depth - 1)
    forms = [
        "({})[::-1] * 0.7",
        "np.cumsum({}) * 0.3",
        "np.roll({}, 1)",
        "np.concatenate([({})[1:], ({})[:1]])",
        "np.flip({})",
        "({}).cumsum() * 0.2",
        "np.sort({})",
        "np.tanh(np.outer({}, {})).sum(axis=0) * 0.3",
    ]
    if b.on("fancy"):
        forms.append(f"({{}})[{fancy(b, length, length)}]")
        forms.append(f"np.take({{}}, {fancy(b, length, length)})")
    for name in b.names(lambda kind: kind == array(length, length)):
        forms += [f"{name} @ ({{}}) * 0.3", f"np.dot({{}}, {name}) * 0.3", f"{name}.sum(axis=1) * 0.3 + {{}}"]
    return b.pick(forms).format(value, value)


def matrix(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    rows, columns = shape
    value = arrays(b, shape, depth - 1)
    left, right = arrays(b, (rows,), depth - 1), arrays(b, (columns,), depth - 1)
    forms = [
        f"np.outer({left}, {right}) * 0.5",
        f"({left})[:, None] * ({right})",
        f"{value} + {right}",
        f"({value}) * ({left}).reshape(-1, 1)",
        f"np.cumsum({value}, axis=0) * 0.3",
    ]
    if rows == columns:
        forms += [
            f"({value}) @ ({arrays(b, shape, depth - 1)}) * 0.3",
            f"({value}).T.copy()",
            f"np.transpose({value}) * 0.8",
        ]
    return b.pick(forms)


def array_call(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    name = b.pick(b.names(lambda kind: kind.tag == "function" and kind.result == array(*shape)))
    return f"{name}({', '.join(arguments(b, b.kind_of(name), depth))})"


def constructed(b: Builder, shape: tuple[int, ...], depth: int) -> str:
    if len(shape) == 1:
        items = ", ".join(scalar(b, depth - 2) for _ in range(shape[0]))
        forms = [
            f"np.array([{items}])",
            f"np.zeros({shape[0]})",
            f"np.full({shape[0]}, {scalar(b, depth - 1)})",
            f"np.ones({shape[0]}) * ({scalar(b, depth - 1)})",
        ]
        if b.on("comprehension"):
            forms.append(f"np.array([{leaf(b)} * np.sin(0.3 * j) for j in range({shape[0]})])")
        return b.pick(forms)
    row = f"({arrays(b, shape[1:], depth - 1)})"
    return b.pick(
        [f"np.zeros({shape})", f"np.stack([{row}] * {shape[0]})", f"np.full({shape}, {scalar(b, depth - 1)})"]
    )


def fancy(b: Builder, size: int, count: int) -> str:
    """An index array with repeats, as a list or an array."""
    numbers = [b.rng.randrange(-1 if b.chance(0.1) else 0, size) for _ in range(count)]
    return b.pick([f"{numbers}", f"np.array({numbers})"])
