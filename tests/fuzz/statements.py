"""The table of statement kinds, and those that assign: floats, elements, slices, arrays, aliases, swaps."""

from __future__ import annotations

from collections.abc import Callable

from .builder import FLOAT, Builder, array
from .expressions import arrays, condition, element, fancy, index, place, scalar, slices

#: (feature, weight, writer); a writer returns False when it cannot write here.
STATEMENTS: list[tuple[str, float, Callable[[Builder], bool | None]]] = []


def statement(feature: str, weight: float = 1.0):
    """Registers a statement writer under a feature name."""

    def register(writer):
        STATEMENTS.append((feature, weight, writer))
        return writer

    return register


def one_statement(b: Builder) -> None:
    """Writes one random statement."""
    table = [entry for entry in STATEMENTS if b.on(entry[0])]
    for _ in range(12):
        feature, _, writer = b.rng.choices(table, [weight for _, weight, _ in table])[0]
        if writer(b) is not False:
            b.seen.add(feature)
            b.budget -= 1
            return
    assign_float(b)
    b.budget -= 1


def body(b: Builder, count: int) -> None:
    for _ in range(count):
        if b.budget <= 0:
            break
        one_statement(b)


def damped(b: Builder, value: str, vector: bool = False) -> str:
    """The value, squeezed more often inside loops so that nothing grows without bound."""
    if b.chance(0.55 if b.frame.loops else 0.3):
        return b.pick(
            ["np.tanh({})", "np.sin({})", "np.tanh({})" if vector or not b.on("math") else "math.tanh({})"]
        ).format(value)
    return value


# ---- floats
@statement("scalar", 3)
def assign_float(b: Builder) -> None:
    value = damped(b, scalar(b, 2))
    name = b.target(FLOAT)
    b.emit(f"{name} = {value}")
    b.define(name, FLOAT)


@statement("aug_scalar", 2)
def augmented_float(b: Builder) -> bool | None:
    names = b.own(FLOAT)
    if not names:
        return False
    name = b.pick(names)
    forms = [
        "{} += {} * 0.4",
        "{} -= {} * 0.3",
        "{} *= np.cos({})",
        "{} /= 1.3 + ({})**2",
        "{} *= 0.8 + 0.1 * np.sin({})",
    ]
    b.emit(b.pick(forms).format(name, scalar(b, 1)))


@statement("walrus", 0.5)
def walrus(b: Builder) -> None:
    value = damped(b, scalar(b, 1))
    inner, outer = b.fresh(), b.target(FLOAT)
    b.emit(f"{outer} = ({inner} := {value}) * 0.5 + np.sin({inner})")
    b.define(inner, FLOAT)
    b.define(outer, FLOAT)


@statement("ternary", 0.7)
def choose_float(b: Builder) -> None:
    text = f"{scalar(b, 1)} if {condition(b)} else {scalar(b, 1)}"
    name = b.target(FLOAT)
    b.emit(f"{name} = {text}")
    b.define(name, FLOAT)


@statement("swap", 0.8)
def swap_floats(b: Builder) -> bool | None:
    names = b.own(FLOAT)
    if len(names) < 2:
        return False
    chosen = b.rng.sample(names, min(len(names), b.pick([2, 2, 3])))
    rotated = chosen[1:] + chosen[:1]
    values = [b.pick([name, name, f"{name} * 0.7", f"np.sin({name})"]) for name in rotated]
    b.emit(f"{', '.join(chosen)} = {', '.join(values)}")


@statement("chain_assign", 0.3)
def chained(b: Builder) -> None:
    value = damped(b, scalar(b, 1))
    first, second = b.fresh(), b.target(FLOAT)
    b.emit(f"{first} = {second} = {value}")
    b.define(first, FLOAT)
    b.define(second, FLOAT)


# ---- elements
@statement("store", 2)
def store_element(b: Builder) -> bool | None:
    spot = element(b)
    if spot is None:
        return False
    b.emit(f"{spot} = {damped(b, scalar(b, 2))}")


@statement("augstore", 1.5)
def augmented_element(b: Builder) -> bool | None:
    spot = element(b)
    if spot is None:
        return False
    form = b.pick(["{} += {} * 0.4", "{} -= {} * 0.4", "{} *= np.sin({})", "{} /= 1.4 + ({})**2"])
    b.emit(form.format(spot, scalar(b, 1)))


@statement("store", 0.5)
def swap_elements(b: Builder) -> bool | None:
    first, second = element(b), element(b)
    if first is None:
        return False
    b.emit(f"{first}, {second} = {second}, {first}")


# ---- slices and whole arrays
def slice_target(b: Builder) -> tuple[str, tuple[int, ...]] | None:
    names = b.names("array")
    if not names:
        return None
    name = b.pick(names)
    shape = b.kind_of(name).shape
    if len(shape) == 2:
        forms = [
            (f"{name}[{index(b, shape[0])}]", shape[1:]),
            (f"{name}[:, {index(b, shape[1])}]", shape[:1]),
            (f"{name}[...]", shape),
            (f"{name}[{index(b, shape[0])}, 1:]", (shape[1] - 1,)),
        ]
        return b.pick(forms)
    length = b.rng.randrange(1, shape[0] + 1)
    return b.pick([(f"{name}[{slices(b, shape[0], length)}]", (length,)), (f"{name}[:]", shape)])


@statement("slice_store", 1.5)
def store_slice(b: Builder) -> bool | None:
    chosen = slice_target(b)
    if chosen is None:
        return False
    spot, shape = chosen
    value = arrays(b, shape, 2) if b.chance(0.75) else scalar(b, 1)
    b.emit(f"{spot} = {damped(b, value, vector=True)}")


@statement("augslice", 1.2)
def augmented_slice(b: Builder) -> bool | None:
    chosen = slice_target(b)
    if chosen is None:
        return False
    spot, shape = chosen
    value = arrays(b, shape, 1) if b.chance(0.75) else scalar(b, 1)
    b.emit(b.pick(["{} += {} * 0.4", "{} -= {} * 0.4", "{} *= np.cos({})", "{} /= 1.4 + ({})**2"]).format(spot, value))


@statement("aug_array", 1.2)
def augmented_array(b: Builder) -> bool | None:
    names = [name for name, kind in b.frame.env.items() if kind.tag == "array"]
    if not names:
        return False
    name = b.pick(names)
    shape = b.kind_of(name).shape
    value = arrays(b, shape, 1) if b.chance(0.7) else scalar(b, 1)
    b.emit(b.pick(["{} += {} * 0.4", "{} -= {} * 0.3", "{} *= np.cos({})", "{} /= 1.4 + ({})**2"]).format(name, value))


@statement("array", 2)
def assign_array(b: Builder) -> None:
    shape = random_shape(b)
    value = damped(b, arrays(b, shape, 2), vector=True)
    name = b.target(array(*shape))
    b.emit(f"{name} = {value}")
    b.define(name, array(*shape))


def random_shape(b: Builder) -> tuple[int, ...]:
    shapes: list[tuple[int, ...]] = [(b.n,)] * 6 + [(b.n - 1,)]
    if b.on("array2d"):
        shapes += [(b.n, b.n)] * 2 + [(2, b.n)]
    return b.pick(shapes)


@statement("alias", 1)
def alias(b: Builder) -> bool | None:
    names = b.names("array")
    if not names:
        return False
    source = b.pick(names)
    name = b.target(b.kind_of(source), fresh=0.6)
    b.emit(f"{name} = {source}")
    b.define(name, b.kind_of(source))


@statement("view", 1.2)
def view(b: Builder) -> bool | None:
    shape = random_shape(b)
    spot = place(b, shape)
    if spot is None:
        return False
    name = b.target(array(*shape), fresh=0.6)
    b.emit(f"{name} = {spot}")
    b.define(name, array(*shape))


@statement("reshape", 0.4)
def flattened(b: Builder) -> bool | None:
    names = b.names(lambda kind: kind.tag == "array" and len(kind.shape) == 2)
    if not names:
        return False
    source = b.pick(names)
    rows, columns = b.kind_of(source).shape
    name = b.fresh()
    b.emit(
        b.pick(["{} = {}.reshape(-1)", "{} = {}.ravel()", "{} = np.reshape({}, (-1,))", "{} = {}.flatten()"]).format(
            name, source
        )
    )
    b.define(name, array(rows * columns))


@statement("alias_choice", 0.6)
def alias_by_branch(b: Builder) -> bool | None:
    shape = random_shape(b)
    first, second = place(b, shape), place(b, shape)
    if first is None or second is None:
        return False
    second = b.pick([second, f"{second}.copy()"])
    name = b.target(array(*shape))
    b.emit(f"{name} = {first} if {condition(b)} else {second}")
    b.define(name, array(*shape))


@statement("buffer_swap", 0.8)
def swap_arrays(b: Builder) -> bool | None:
    shape = random_shape(b)
    names = b.own(array(*shape))
    if len(names) < 2:
        return False
    chosen = b.rng.sample(names, min(len(names), b.pick([2, 2, 3])))
    b.emit(f"{', '.join(chosen)} = {', '.join(chosen[1:] + chosen[:1])}")


@statement("fancy", 0.8)
def fancy_store(b: Builder) -> bool | None:
    names = b.names(lambda kind: kind.tag == "array" and len(kind.shape) == 1)
    if not names:
        return False
    name = b.pick(names)
    size = b.kind_of(name).shape[0]
    picked = fancy(b, size, size)
    value = b.pick([arrays(b, (size,), 1), scalar(b, 1)])
    b.emit(
        b.pick(
            [
                "{n}[{i}] = {v}",
                "{n}[{i}] += 0.4 * ({v})",
                "{n}[{i}] *= np.cos({v})",
                "np.add.at({n}, {i}, 0.3 * ({v}))",
            ]
        ).format(n=name, i=picked, v=value)
    )


@statement("mask", 0.8)
def masked_store(b: Builder) -> bool | None:
    names = b.names("array")
    if not names:
        return False
    name = b.pick(names)
    test = f"{name} > {b.const(-0.5, 0.5)}"
    value = b.pick([scalar(b, 1), f"({arrays(b, b.kind_of(name).shape, 1)})[MASK]"])
    if "MASK" in value:
        mask = b.fresh("mask")
        b.emit(f"{mask} = {test}")
        value, test = value.replace("MASK", mask), mask
    b.emit(
        b.pick(["{n}[{t}] = {v}", "{n}[{t}] *= np.sin({v})", "{n}[{t}] += 0.3 * ({v})"]).format(n=name, t=test, v=value)
    )


@statement("out", 0.5)
def out_argument(b: Builder) -> bool | None:
    shape = (b.n,)
    target, value, other = place(b, shape), arrays(b, shape, 1), arrays(b, shape, 0)
    if target is None:
        return False
    forms = [
        "np.add({v}, {o}, out={t})",
        "np.multiply({v}, {o}, out={t})",
        "np.sin({v}, out={t})",
        "np.copyto({t}, {v})",
        "{t}.fill({s})",
        "np.tanh({v}, out={t})",
    ]
    b.emit(b.pick(forms).format(t=target, v=value, o=other, s=scalar(b, 1)))
