"""Functions: plain, mutating, recursive, nested, lambdas, nonlocal state, tuple results, objects."""

from __future__ import annotations

from .builder import FLOAT, Builder, Kind, array
from .expressions import arguments, arrays, condition, place, scalar
from .flow import result
from .statements import body, statement


def function_kind(params: list[tuple[str, Kind]], returned: Kind) -> Kind:
    return Kind("function", params=tuple(kind for _, kind in params), result=returned)


def parameters(b: Builder) -> list[tuple[str, Kind]]:
    """One to three parameters; their names repeat those of the caller."""
    letters = b.rng.sample(["x", "y", "a", "c", "s", "p"], 3)
    kinds = [FLOAT, FLOAT, array(b.n), array(b.n), array(b.n - 1)]
    return [(letters[j], b.pick(kinds)) for j in range(b.pick([1, 2, 2, 3]))]


def returned_kind(b: Builder) -> Kind:
    kinds = [FLOAT, FLOAT, FLOAT, array(b.n)]
    if b.on("tuple_callee"):
        kinds.append(Kind("results", params=(FLOAT, FLOAT)))
        kinds.append(Kind("results", params=(FLOAT, array(b.n))))
    return b.pick(kinds)


def module_function(b: Builder, name: str) -> None:
    """A helper beside the main function, written before it."""
    params, returned = parameters(b), returned_kind(b)
    with b.function(name, params, returned, nested=False) as frame:
        spend(b, b.pick([2, 3, 4]))
        vectors = [p for p, kind in params if kind.tag == "array"]
        if b.on("mutating_callee") and vectors and b.chance(0.6):
            mutate(b, b.pick(vectors))
        if returned.tag == "array" and b.chance(0.4) and (spot := place(b, returned.shape)):
            b.emit(f"return {spot}")
        else:
            b.emit(f"return {result(b)}")
        del frame
    b.globals[name] = function_kind(params, returned)


def spend(b: Builder, count: int) -> None:
    """A function body with a budget of its own."""
    held, b.budget = b.budget, count + 2
    body(b, count)
    b.budget = held


def mutate(b: Builder, name: str) -> None:
    size = b.kind_of(name).shape[0]
    forms = [
        f"{name}[0] = {scalar(b, 1)}",
        f"{name}[1:] += {name}[:-1] * 0.4",
        f"{name} *= {scalar(b, 1)}",
        f"{name}[:] = {arrays(b, (size,), 1)}",
        f"{name}[-1] *= {scalar(b, 1)}",
    ]
    b.emit(b.pick(forms))


def recursive_function(b: Builder, name: str) -> None:
    """f(s, k) or f(a, s, k), to a depth of a few calls."""
    vector = b.chance(0.4)
    params = [("a", array(b.n))] * vector + [("s", FLOAT), ("depth", Kind("int", bound=4))]
    with b.function(name, params, FLOAT, nested=False):
        with b.block(f"if depth <= 0{f' or {condition(b, 0)}' if b.chance(0.4) else ''}:"):
            b.emit(f"return {scalar(b, 1)}")
        spend(b, 1)
        first = "a, " if vector else ""
        if vector and b.chance(0.5):
            b.emit("a[depth % 3] *= np.cos(s)")
        again = f"{name}({first}np.sin({scalar(b, 1)}), depth - 1)"
        other = f" + 0.3 * {name}({first}s * 0.5, depth - 2)" if b.chance(0.3) else ""
        b.emit(f"return {scalar(b, 1)} * 0.6 + {again}{other}")
    b.globals[name] = function_kind(params, FLOAT)


@statement("callee", 1.2)
def call_statement(b: Builder) -> bool | None:
    """A call that stands alone or whose array or tuple result is bound."""
    names = b.names("function")
    if not names:
        return False
    name = b.pick(names)
    kind = b.kind_of(name)
    text = f"{name}({', '.join(arguments(b, kind, 2))})"
    assert kind.result is not None
    if b.chance(0.15):
        b.emit(text)
    elif kind.result.tag in ("float", "array"):
        target = b.target(kind.result)
        b.emit(f"{target} = {text}")
        b.define(target, kind.result)
    else:
        targets = [b.target(part, 0.7) for part in kind.result.params]
        if len(set(targets)) < len(targets):
            return False
        b.emit(f"{', '.join(targets)} = {text}")
        for target, part in zip(targets, kind.result.params):
            b.define(target, part)


def may_nest(b: Builder) -> bool:
    return len(b.frames) < 3 and b.depth < 4


@statement("nested_function", 0.7)
def nested_function(b: Builder) -> bool | None:
    """A closure over floats and arrays; with `nonlocal` it changes a float of its parent."""
    if not may_nest(b):
        return False
    name, params, returned = b.fresh("inner"), parameters(b), b.pick([FLOAT, FLOAT, array(b.n)])
    own = b.own(FLOAT)
    captured = b.pick(own) if own and b.on("nonlocal") and b.chance(0.5) else None
    if captured in [parameter for parameter, _ in params]:
        captured = None
    with b.function(name, params, returned, nested=True) as frame:
        if captured:
            b.seen.add("nonlocal")
            b.emit(f"nonlocal {captured}")
            b.define(captured, FLOAT)
            b.emit(f"{captured} = np.sin({captured} + {scalar(b, 1)})")
        spend(b, b.pick([0, 1, 2]))
        b.emit(f"return {result(b)}")
        del frame
    b.define(name, function_kind(params, returned))


@statement("lambda", 0.6)
def lambda_function(b: Builder) -> bool | None:
    if not may_nest(b):
        return False
    name, parameter = b.fresh("fn"), b.fresh(b.pick(["x", "v", "a"]))
    kind = b.pick([FLOAT, FLOAT, array(b.n)])
    before = dict(b.frame.env)
    b.define(parameter, kind)
    text = scalar(b, 2)
    b.frame.env = before
    if ":=" in text:
        return False
    b.emit(f"{name} = lambda {parameter}: {text}")
    b.define(name, function_kind([(parameter, kind)], FLOAT))


@statement("defaults", 0.4)
def keyword_function(b: Builder) -> bool | None:
    """Defaults bound when the function is made, keywords, *args and **kwargs."""
    if not may_nest(b):
        return False
    name, target, held = b.fresh("shaped"), b.target(FLOAT), scalar(b, 1)
    forms = [
        (f"def {name}(u_, *, w_={held}):", "return np.sin(u_) * w_", f"{name}({scalar(b, 1)})"),
        (
            f"def {name}(u_, w_={held}):",
            "return u_ * 0.5 - w_ * u_",
            f"{name}(w_={scalar(b, 1)}, u_={scalar(b, 1)})",
        ),
        (
            f"def {name}(*parts):",
            "return parts[0] * 0.5 + sum(parts[1:]) * 0.3",
            f"{name}({scalar(b, 1)}, {scalar(b, 1)}, *({scalar(b, 0)}, {held}))",
        ),
        (
            f"def {name}(**parts):",
            "return parts['u_'] * np.cos(parts['w_'])",
            f"{name}(u_={scalar(b, 1)}, **{{'w_': {held}}})",
        ),
    ]
    header, line, use = b.pick(forms)
    b.emit(header)
    b.emit(f"    {line}")
    b.emit(f"{target} = {use}")
    b.define(target, FLOAT)


@statement("lambda", 0.4)
def late_closure(b: Builder) -> bool | None:
    """A closure sees the captured name's value at the time of the call."""
    names = b.own(FLOAT)
    if not names:
        return False
    name, captured, target = b.fresh("late"), b.pick(names), b.target(FLOAT)
    b.emit(f"{name} = lambda: {captured} * {b.const()} + np.sin({captured})")
    b.emit(f"{captured} = {scalar(b, 2)}")
    b.emit(f"{target} = {name}() * 0.7")
    b.define(target, FLOAT)


@statement("generator_function", 0.4)
def generator(b: Builder) -> bool | None:
    spot = place(b, (b.n,))
    if not may_nest(b) or spot is None:
        return False
    name, target, factor = b.fresh("walk"), b.target(FLOAT), scalar(b, 1)
    b.emit(f"def {name}(items, rate):")
    b.emit("    carried = rate")
    b.emit("    for item_ in items:")
    b.emit("        carried = 0.5 * carried + np.sin(item_ * rate)")
    b.emit("        yield carried")
    b.emit(
        b.pick(
            [
                f"{target} = sum({name}({spot}, {factor})) * 0.4",
                f"{target} = max(list({name}({spot}, {factor})))",
                f"{target} = next({name}({spot}, {factor}))",
            ]
        )
    )
    b.define(target, FLOAT)


OBJECT = """class Cell:
    def __init__(self, level, store):
        self.level = level
        self.store = store

    def step(self, push):
        self.level = np.tanh(self.level + push * 0.5)
        self.store[0] += self.level * 0.3
        return self.level * self.store[1]

    @property
    def energy(self):
        return self.level**2 + np.sum(self.store * self.store) * 0.2

    def __call__(self, push):
        return self.energy * np.sin(push)
"""


@statement("object", 0.5)
def an_object(b: Builder) -> bool | None:
    spot = place(b, (b.n,))
    if spot is None:
        return False
    if OBJECT.splitlines() not in b.pending:
        b.pending.append(OBJECT.splitlines())
    name, target = b.fresh("cell"), b.target(FLOAT)
    b.emit(f"{name} = Cell({scalar(b, 1)}, {spot})")
    if b.chance(0.5):
        b.emit(f"{name}.step({scalar(b, 1)})")
    if b.chance(0.4):
        b.emit(b.pick(["{}.level *= {}", "{}.level = {}", "{}.store[1] += {} * 0.3"]).format(name, scalar(b, 0)))
    b.emit(
        f"{target} = "
        + b.pick(["{n}.step({v})", "{n}.energy", "{n}.level + {n}.store[-1]", "{n}({v})"]).format(
            n=name, v=scalar(b, 1)
        )
    )
    b.define(target, FLOAT)
