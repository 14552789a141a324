"""Statements that steer: if, for, while, exits, try, match, with."""

from __future__ import annotations

from .builder import FLOAT, Builder, integer
from .expressions import arrays, condition, place, scalar
from .statements import body, statement


@statement("if", 2.5)
def branch(b: Builder) -> bool | None:
    if b.depth > 4:
        return False
    with b.block(f"if {condition(b)}:") as first:
        body(b, b.pick([1, 2, 2]))
    envs = [first]
    if b.chance(0.3):
        with b.block(f"elif {condition(b)}:") as middle:
            body(b, b.pick([1, 2]))
        envs.append(middle)
    if b.chance(0.6):
        with b.block("else:") as last:
            body(b, b.pick([1, 2]))
        b.keep_common(*envs, last)


def exits(b: Builder) -> None:
    """Sometimes leaves the loop, the trip or the function."""
    options = [name for name in ("break", "continue", "return") if b.on(name)]
    if not options or not b.chance(0.5):
        return
    how = b.pick(options)
    b.seen.add(how)
    with b.block(f"if {condition(b)}:"):
        if b.chance(0.5):
            body(b, 1)
        b.emit(how if how != "return" else f"return {result(b)}")
        if b.chance(0.2) and b.depth < 5:
            b.depth -= 1
            with b.block("else:"):
                body(b, 1)
            b.depth += 1


def result(b: Builder) -> str:
    """An expression of the kind that the current function returns."""
    kind = b.frame.result
    if kind.tag == "float":
        return scalar(b, 1)
    if kind.tag == "array":
        return arrays(b, kind.shape, 1)
    return "(" + ", ".join(scalar(b, 1) if k == FLOAT else arrays(b, k.shape, 1) for k in kind.params) + ")"


@statement("return", 0.6)
def early_return(b: Builder) -> bool | None:
    with b.block(f"if {condition(b)}:"):
        if b.chance(0.4):
            body(b, 1)
        b.emit(f"return {result(b)}")


def loop_body(b: Builder, header: str, loop: str, names: list, first: str = "") -> None:
    with b.block(header):
        b.frame.loops.append(loop)
        for name, kind in names:
            b.define(name, kind)
        if first:
            b.emit(first)
        body(b, b.pick([1, 2, 2, 3]))
        exits(b)
        if b.chance(0.4):
            body(b, 1)
        b.frame.loops.pop()
    if b.on("loop_else") and b.chance(0.15):
        b.seen.add("loop_else")
        with b.block("else:"):
            body(b, 1)


def may_loop(b: Builder) -> bool:
    return len(b.frame.loops) + len(b.frames) < 4 and b.depth < 5


@statement("for", 2.2)
def for_range(b: Builder) -> bool | None:
    if not may_loop(b):
        return False
    count = b.pick([2, 3, 3, 4, 0 if b.chance(0.2) else 3])
    name = b.fresh(b.pick(["i", "j", "k"]))
    plain = [f"range({count})", f"range(0, {count})", f"range({count - 1}, -1, -1)" if count else "range(0)"]
    if count == b.n:
        for vector in b.names("array"):
            plain.append(f"range({vector}.shape[0])" if b.kind_of(vector).shape[0] == count else plain[0])
    loop_body(b, f"for {name} in {b.pick(plain)}:", "for", [(name, integer(max(count, 1)))])


@statement("for_items", 1.2)
def for_items(b: Builder) -> bool | None:
    """Iterates over arrays, their rows, and the usual wrappers."""
    if not may_loop(b):
        return False
    shape = (b.n,)
    first, second = place(b, shape), place(b, shape)
    if first is None:
        return False
    v, w = b.fresh(b.pick(["v", "xi", "item"])), b.fresh("w")
    i = b.fresh("i")
    forms = [(f"for {v} in {first}:", [(v, FLOAT)])]
    if b.on("for_enumerate"):
        forms.append((f"for {i}, {v} in enumerate({first}):", [(i, integer(b.n)), (v, FLOAT)]))
    if b.on("for_zip"):
        forms.append((f"for {v}, {w} in zip({first}, {second}):", [(v, FLOAT), (w, FLOAT)]))
        forms.append(
            (
                f"for {i}, ({v}, {w}) in enumerate(zip({first}, {second})):",
                [(i, integer(b.n)), (v, FLOAT), (w, FLOAT)],
            )
        )
    if b.on("for_reversed"):
        forms.append((f"for {v} in reversed({first}):", [(v, FLOAT)]))
    header, names = b.pick(forms)
    loop_body(b, header, "for", names)


@statement("for_rows", 0.6)
def for_rows(b: Builder) -> bool | None:
    names = b.names(lambda kind: kind.tag == "array" and len(kind.shape) == 2)
    if not names or not may_loop(b):
        return False
    source, row, i = b.pick(names), b.fresh("row"), b.fresh("i")
    kind = b.kind_of(source)
    row_kind = type(kind)("array", kind.shape[1:])
    header = b.pick([f"for {row} in {source}:", f"for {i}, {row} in enumerate({source}):"])
    names_ = [(row, row_kind)] + ([(i, integer(kind.shape[0]))] if "enumerate" in header else [])
    loop_body(b, header, "for", names_)


@statement("while", 1.2)
def while_counted(b: Builder) -> bool | None:
    """At most a few trips; how many depends on the data."""
    if not may_loop(b):
        return False
    count = b.fresh(b.pick(["n", "m", "count"]))
    limit = b.pick([3, 4, 5])
    b.emit(f"{count} = 0")
    header = f"while {count} < {limit} and {condition(b, 0)}:" if b.chance(0.6) else f"while {count} < {limit}:"
    if b.on("walrus") and b.chance(0.15):
        name = b.fresh()
        header = f"while ({name} := {scalar(b, 1)}) > {b.const()} and {count} < {limit}:"
    loop_body(b, header, "while", [], f"{count} += 1")


@statement("while", 0.5)
def while_true(b: Builder) -> bool | None:
    if not may_loop(b) or not b.on("break"):
        return False
    count, name = b.fresh("n"), b.target(FLOAT)
    b.emit(f"{count} = 0")
    b.emit(f"{name} = {scalar(b, 1)}")
    b.define(name, FLOAT)
    with b.block("while True:"):
        b.frame.loops.append("while")
        b.emit(f"{count} += 1")
        body(b, b.pick([1, 2]))
        if name in b.frame.env:
            b.emit(f"{name} = {name} * 0.8 + 0.3 * np.sin({scalar(b, 0)})")
        b.emit(f"if {count} >= 4 or {condition(b, 0)}:")
        b.emit("    break")
        body(b, b.pick([0, 1]))
        b.frame.loops.pop()


@statement("for", 0.4)
def set_in_one_trip_read_in_the_next(b: Builder) -> bool | None:
    if not may_loop(b):
        return False
    i, held, total = b.fresh("i"), b.fresh(), b.target(FLOAT, 0.2)
    b.emit(f"{total} = {scalar(b, 1)}")
    b.define(total, FLOAT)
    with b.block(f"for {i} in range({b.pick([2, 3, 4])}):"):
        b.frame.loops.append("for")
        b.define(i, integer(2))
        b.emit(f"if {i} > 0:")
        b.emit(f"    {total} = np.tanh({total} + {held} * {b.const()})")
        b.emit(f"{held} = {scalar(b, 2)}")
        b.frame.env.pop(i)
        b.define(held, FLOAT)
        body(b, 1)
        b.frame.loops.pop()


@statement("try", 0.7)
def attempt(b: Builder) -> bool | None:
    """Raises on a condition of the data, or by a wrong index or key, and recovers."""
    if b.depth > 4:
        return False
    before = dict(b.frame.env)
    faults = [
        f"if {condition(b, 0)}:\n    raise ValueError('too far')",
        "{}['missing']",
        "1 / 0",
        "[1.0, 2.0][7]",
    ]
    with b.block("try:") as tried:
        body(b, b.pick([0, 1]))
        fault = b.pick(faults[:1] * 3 + faults[1:])
        for line in fault.split("\n"):
            b.emit(line)
        body(b, 1)
    error = {"{": "KeyError", "1": "ZeroDivisionError", "[": "IndexError", "i": "ValueError"}[fault[0]]
    with b.block(b.pick([f"except {error}:", f"except ({error}, TypeError) as error:", "except Exception:"])) as caught:
        b.frame.env = {name: kind for name, kind in b.frame.env.items() if name in before}
        body(b, b.pick([1, 2]))
    b.keep_common(tried, caught)
    if b.chance(0.25):
        b.emit("finally:")
        b.depth += 1
        b.frame.env = {name: kind for name, kind in b.frame.env.items() if name in before}
        names = b.own(FLOAT)
        b.emit(f"{b.pick(names)} *= 0.9" if names else "pass")
        b.depth -= 1


@statement("match", 0.3)
def match(b: Builder) -> bool | None:
    counters = b.names("int")
    if not counters or b.depth > 3:
        return False
    b.emit(f"match {b.pick(counters)} % 3:")
    b.depth += 1
    with b.block("case 0:") as zero:
        body(b, 1)
    with b.block("case 1 | 2:" if b.chance(0.5) else "case n_ if n_ > 0:") as other:
        body(b, 1)
    with b.block("case _:"):
        body(b, 1)
    b.depth -= 1
    del zero, other


@statement("with", 0.2)
def with_block(b: Builder) -> bool | None:
    if b.depth > 4:
        return False
    with b.block("with np.errstate(all='ignore'):") as inside:
        body(b, 2)
    b.keep_common(inside)


@statement("assert", 0.2)
def assertion(b: Builder) -> None:
    b.emit(f"assert abs({scalar(b, 0)}) < 1e6, 'far'")
