"""Functions as values: mapped over arrays and lists, passed on, stored, partially applied."""

from __future__ import annotations

from .builder import FLOAT, Builder, Kind, array
from .expressions import place, scalar
from .statements import statement


def of_floats(b: Builder, count: int) -> list[str]:
    """Functions of `count` floats that return a float."""
    wanted = (FLOAT,) * count
    return b.names(lambda kind: kind.tag == "function" and kind.params == wanted and kind.result == FLOAT)


@statement("map", 1.0)
def map_function(b: Builder) -> bool | None:
    """The items of an array or list through a function of one or two floats."""
    spot = place(b, (b.n,))
    if spot is None:
        return False
    ones, twos = of_floats(b, 1), of_floats(b, 2)
    one = b.pick(ones) if ones else f"(lambda v_: np.sin(v_ * {scalar(b, 1)}))"
    forms = [f"list(map({one}, {spot}))", f"[{one}(v_) for v_ in {spot}]"]
    if twos:
        two, other = b.pick(twos), place(b, (b.n,))
        forms += [
            f"list(map({two}, {spot}, {other}))",
            f"[{two}(v_, w_) for v_, w_ in zip({spot}, {other})]",
            f"[{two}(v_, {scalar(b, 1)}) for v_ in {spot}]",
            f"list(map(functools.partial({two}, {scalar(b, 1)}), {spot}))",
        ]
    if b.chance(0.5):
        name = b.target(array(b.n))
        b.emit(f"{name} = np.array({b.pick(forms)})")
        b.define(name, array(b.n))
    else:
        name = b.fresh("mapped")
        b.emit(f"{name} = {b.pick(forms)}")
        b.define(name, Kind("list"))


@statement("map", 0.6)
def sum_of_map(b: Builder) -> bool | None:
    spot, ones = place(b, (b.n,)), of_floats(b, 1)
    if spot is None or not ones:
        return False
    one, name = b.pick(ones), b.target(FLOAT)
    forms = [
        "sum({f}(v_) for v_ in {a})",
        "sum(map({f}, {a}))",
        "max(map({f}, {a}))",
        "sum([{f}(v_) * k_ for k_, v_ in enumerate({a})])",
        "sum({f}(v_) for v_ in {a} if v_ < {c})",
    ]
    b.emit(f"{name} = {b.pick(forms).format(f=one, a=spot, c=b.const())} * 0.3")
    b.define(name, FLOAT)


APPLY = """def twice(fn_, value_, times=2):
    for _ in range(times):
        value_ = 0.5 * value_ + 0.5 * fn_(value_)
    return value_
"""


@statement("function_argument", 0.6)
def pass_function(b: Builder) -> bool | None:
    ones, twos = of_floats(b, 1), of_floats(b, 2)
    if not ones and not twos:
        return False
    if APPLY.splitlines() not in b.pending:
        b.pending.append(APPLY.splitlines())
    forms = [b.pick(ones)] * 2 if ones else []
    if twos:
        two = b.pick(twos)
        forms += [f"functools.partial({two}, {scalar(b, 1)})", f"lambda v_: {two}(v_, {scalar(b, 1)})"]
    name = b.target(FLOAT)
    b.emit(f"{name} = twice({b.pick(forms)}, {scalar(b, 1)}{b.pick(['', ', 3', ', times=1'])})")
    b.define(name, FLOAT)


@statement("function_argument", 0.4)
def table_of_functions(b: Builder) -> bool | None:
    """Closures made in a comprehension or kept in a list or dict."""
    factor, target, name = scalar(b, 1), b.target(FLOAT), b.fresh("fns")
    forms = [
        (f"[np.sin, np.tanh, lambda v_: v_ * {factor}]", "sum(fn_({v}) for fn_ in {n}) * 0.4"),
        (f"[lambda v_, k_=k_: v_ * k_ + {factor} for k_ in range(3)]", "{n}[1]({v}) + {n}[-1]({v}) * 0.3"),
        (f"{{'sin': np.sin, 'own': lambda v_: v_ * {factor}}}", "{n}['own']({v}) * 0.5 + {n}['sin']({v})"),
    ]
    text, use = b.pick(forms)
    b.emit(f"{name} = {text}")
    b.emit(f"{target} = {use.format(n=name, v=scalar(b, 1))}")
    b.define(target, FLOAT)


@statement("closure", 0.6)
def made_function(b: Builder) -> bool | None:
    """A function that returns a function, over a float or an array that the caller may change afterwards."""
    name, maker, target = b.fresh("made_fn"), b.fresh("maker"), b.target(FLOAT)
    spot = place(b, (b.n,)) if b.chance(0.5) else None
    held = spot or scalar(b, 1)
    b.emit(f"def {maker}(held_):")
    if b.chance(0.4):
        b.emit("    count_ = 0.3")
        b.emit("    def inside(v_):")
        b.emit("        nonlocal count_")
        b.emit("        count_ = count_ * 0.5 + v_")
        b.emit(f"        return count_ * {'held_[1]' if spot else 'held_'}")
    else:
        b.emit("    def inside(v_):")
        b.emit(f"        return np.sin(v_ * {'held_[0]' if spot else 'held_'}) + {scalar(b, 0)}")
    b.emit("    return inside")
    b.emit(f"{name} = {maker}({held})")
    if spot and b.chance(0.6):
        b.emit(f"{spot}[{b.rng.randrange(2)}] = {scalar(b, 1)}")
    b.emit(f"{target} = {name}({scalar(b, 1)}) + {name}({scalar(b, 0)}) * 0.4")
    b.define(target, FLOAT)
    b.define(name, Kind("function", params=(FLOAT,), result=FLOAT))
