"""Lists, dicts, tuples, comprehensions; of floats and of arrays."""

from __future__ import annotations

from .builder import FLOAT, Builder, Kind, array
from .expressions import arrays, condition, item, place, scalar
from .statements import statement


def held(b: Builder, shape: tuple[int, ...]) -> str:
    """Something to put into a container; arrays are mostly references to existing memory."""
    if shape == ():
        return scalar(b, 1)
    spot = place(b, shape)
    return spot if spot and b.chance(0.75) else arrays(b, shape, 1)


def item_shape(b: Builder) -> tuple[int, ...]:
    return (b.n,) if b.on("array_containers") and b.chance(0.35) else ()


def item_kind(shape: tuple[int, ...]) -> Kind:
    return array(*shape) if shape else FLOAT


@statement("list", 0.9)
def make_list(b: Builder) -> None:
    shape, name = item_shape(b), b.fresh(b.pick(["items", "xs", "parts"]))
    items = ", ".join(held(b, shape) for _ in range(b.pick([1, 2, 3])))
    b.emit(f"{name} = [{items}]")
    b.define(name, Kind("list", shape))


@statement("list", 1.2)
def use_list(b: Builder) -> bool | None:
    names = b.names("list")
    if not names:
        return False
    name = b.pick(names)
    shape = b.kind_of(name).shape
    value = held(b, shape)
    fixed = [
        f"{item(b, name)} = {value}",
        f"{name}[0], {name}[-1] = {name}[-1], {name}[0]",
        f"{name}.reverse()",
    ]
    if shape == ():
        fixed += [f"{item(b, name)} += {value} * 0.3", f"{name}[-1] *= np.sin({value})"]
    else:
        fixed += [
            f"{item(b, name)}[0] = {scalar(b, 1)}",
            f"{name}[-1][1:] *= {scalar(b, 1)}",
            f"{name}[0] += 0.3 * {value}",
        ]
    grows = (
        []
        if b.iterating
        else [
            f"{name}.append({value})",
            f"{name} += [{value}]",
            f"{name}.insert(0, {value})",
            f"{name}.extend([{value}, {held(b, shape)}])",
        ]
    )
    if name not in b.frame.env:
        grows = [line for line in grows if "+=" not in line]
    shrinks = (
        [] if b.iterating else [f"if len({name}) > 1:\n    {name}.pop()", f"if len({name}) > 2:\n    del {name}[0]"]
    )
    for line in b.pick(fixed + grows * 2 + shrinks).split("\n"):
        b.emit(line)


@statement("list", 0.5)
def pop_list(b: Builder) -> bool | None:
    names = b.names("list")
    if not names or b.iterating:
        return False
    name = b.pick(names)
    kind = item_kind(b.kind_of(name).shape)
    target = b.target(kind)
    b.emit(f"{target} = {name}.pop() if len({name}) > 1 else {name}[0]")
    b.define(target, kind)


@statement("list", 0.6)
def collect(b: Builder) -> bool | None:
    """Appends in a loop, then uses the list as an array."""
    names = b.own(FLOAT)
    if not names or len(b.frame.loops) + len(b.frames) >= 4:
        return False
    name, i, state, target = b.fresh("trace"), b.fresh("i"), b.pick(names), b.target(array(b.n))
    b.emit(f"{name} = []")
    b.emit(f"for {i} in range({b.n}):")
    b.emit(f"    {state} = np.sin({state} * 0.9 + {scalar(b, 1)})")
    b.emit(f"    {name}.append({state} * {scalar(b, 0)})")
    b.emit(f"{target} = " + b.pick(["np.array({})", "np.asarray({})", "np.stack({})"]).format(name))
    b.define(target, array(b.n))


@statement("dict", 0.6)
def make_dict(b: Builder) -> None:
    shape, name = item_shape(b), b.fresh(b.pick(["table", "state", "params"]))
    keys = ("a", "b") if b.chance(0.6) else ("u", "v", "w")
    pairs = ", ".join(f'"{key}": {held(b, shape)}' for key in keys)
    b.emit(f"{name} = {{{pairs}}}")
    b.define(name, Kind("dict", shape, keys=keys))


@statement("dict", 0.8)
def use_dict(b: Builder) -> bool | None:
    names = b.names("dict")
    if not names:
        return False
    name = b.pick(names)
    kind = b.kind_of(name)
    spot, value = item(b, name), held(b, kind.shape)
    if kind.shape == ():
        lines = [
            f"{spot} = {value}",
            f"{spot} += {value} * 0.4",
            f"{spot} *= np.cos({value})",
            f"{name}.update({kind.keys[0]}={value})",
            f"for key_, value_ in {name}.items():\n    {name}[key_] = np.sin(value_ + {value})",
        ]
    else:
        lines = [
            f"{spot} = {value}",
            f"{spot} += {value} * 0.4",
            f"{spot}[0] = {scalar(b, 1)}",
            f"for value_ in {name}.values():\n    value_ *= 0.9",
        ]
    for line in b.pick(lines).split("\n"):
        b.emit(line)


@statement("dict", 0.3)
def sum_dict(b: Builder) -> bool | None:
    names = b.names(lambda kind: kind.tag == "dict" and kind.shape == ())
    if not names:
        return False
    target = b.target(FLOAT)
    b.emit(
        f"{target} = "
        + b.pick(
            [
                "sum({0}.values()) * 0.4",
                '{0}.get("a", 0.3) * 0.5',
                "max({0}.values())",
                "sum(value_ * len(key_) for key_, value_ in {0}.items()) * 0.3",
            ]
        ).format(b.pick(names))
    )
    b.define(target, FLOAT)


@statement("tuple", 0.7)
def make_tuple(b: Builder) -> None:
    shape, count = item_shape(b), b.pick([2, 3])
    name = b.fresh(b.pick(["pair", "triple", "group"]))
    b.emit(f"{name} = ({', '.join(held(b, shape) for _ in range(count))})")
    b.define(name, Kind("tuple", shape, bound=count))


@statement("tuple", 0.6)
def unpack(b: Builder) -> bool | None:
    """Unpacks a tuple, an array or a nested display, with a star sometimes."""
    names = b.names(lambda kind: kind.tag == "tuple" and kind.shape == ())
    sources = [(name, b.kind_of(name).bound) for name in names]
    spot = place(b, (b.n,))
    if spot is not None:
        sources += [(spot, b.n), (f"({spot} * 0.5)", b.n)]
    sources.append((f"({scalar(b, 1)}, {scalar(b, 1)})", 2))
    source, count = b.pick(sources)
    if b.on("starred") and count > 2 and b.chance(0.5):
        first, rest = b.fresh(), b.fresh("rest")
        b.emit(f"{first}, *{rest} = {source}")
        b.define(first, FLOAT)
        b.define(rest, Kind("list"))
        return None
    targets = [b.fresh() for _ in range(count)]
    b.emit(f"{', '.join(targets)} = {source}")
    for target in targets:
        b.define(target, FLOAT)
    return None


@statement("tuple", 0.3)
def nested_unpack(b: Builder) -> bool | None:
    first, second, third = b.fresh(), b.target(FLOAT), b.fresh()
    b.emit(f"{first}, ({second}, {third}) = {scalar(b, 1)}, ({scalar(b, 1)}, {scalar(b, 0)})")
    for name in (first, second, third):
        b.define(name, FLOAT)


@statement("namedtuple", 0.3)
def named(b: Builder) -> None:
    line = "Point = collections.namedtuple('Point', ['px', 'py'])"
    if [line] not in b.pending:
        b.pending.append([line])
    name, target = b.fresh("point"), b.target(FLOAT)
    b.emit(f"{name} = Point({scalar(b, 1)}, py={scalar(b, 1)})")
    if b.chance(0.4):
        b.emit(f"{name} = {name}._replace(px=np.sin({name}.px) * {scalar(b, 0)})")
    b.emit(f"{target} = {name}.px * {name}.py + {name}[0]")
    b.define(target, FLOAT)


@statement("comprehension", 0.8)
def comprehend(b: Builder) -> None:
    """A list of floats (never empty), made from a range or from another list or array."""
    name, factor = b.fresh("made"), scalar(b, 1)
    sources = ["range(3)", "(0.2, 0.5)"]
    spot = place(b, (b.n,))
    if spot:
        sources += [spot] * 3
    sources += b.names(lambda kind: kind.tag == "list" and kind.shape == ())
    source = b.pick(sources)
    forms = [
        f"[np.sin(v_ * {factor}) for v_ in {source}]",
        f"list(map(lambda v_: v_ * {factor} * 0.5, {source}))",
        f"[v_ if v_ > {b.const()} else {factor} for v_ in {source}]",
        f"[{factor}] + [v_ * 0.6 for v_ in {source} if v_ > {b.const()}]",
        f"[v_ * w_ for v_, w_ in zip({source}, {b.pick(sources)})]",
        f"list({{k_: v_ * {factor} for k_, v_ in enumerate({source})}}.values())",
    ]
    b.emit(f"{name} = {b.pick(forms)}")
    b.define(name, Kind("list"))


@statement("list", 0.5)
def for_list(b: Builder) -> bool | None:
    """Iterates over a list; it must not grow meanwhile."""
    from .flow import loop_body, may_loop

    names = b.names("list")
    if not names or not may_loop(b):
        return False
    name, v = b.pick(names), b.fresh("v")
    kind = item_kind(b.kind_of(name).shape)
    b.iterating += 1
    loop_body(
        b,
        f"for {v} in {b.pick(['{}', 'reversed({})', '{}[:]', 'list({})']).format(name)}:",
        "for",
        [(v, kind)],
    )
    b.iterating -= 1


@statement("alias_list", 0.3)
def alias_list(b: Builder) -> bool | None:
    names = b.names("list")
    if not names:
        return False
    source, name = b.pick(names), b.fresh("same")
    b.emit(f"{name} = {b.pick(['{}', '{}', 'list({})', '{}.copy()', '{}[:]']).format(source)}")
    b.define(name, b.kind_of(source))


@statement("delete_branch", 0.2)
def conditional_list(b: Builder) -> bool | None:
    names = b.names("list")
    if len(names) < 2 or b.kind_of(names[0]) != b.kind_of(names[-1]):
        return False
    name = b.fresh("either")
    b.emit(f"{name} = {names[0]} if {condition(b)} else {names[-1]}")
    b.define(name, b.kind_of(names[0]))
