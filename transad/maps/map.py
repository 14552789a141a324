"""`transad.map(f, *xs)`: the items of arrays through a compiled function, by threads, collected into arrays.

>>> import numpy as np
>>> import transad
>>> transad.map(transad.grad(lambda x: x * x * x), np.array([1.0, 2.0]))
array([ 3., 12.])

`f` is a function of numbers and arrays, or one of its derivatives (`grad`, `value_and_grad`, `jacobian`,
`value_and_jacobian`). What cannot be compiled raises; the plain `map` runs anything.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transad.errors import CannotCompile, InvalidArgument
from transad.function import options_of, unwrapped
from transad.kinds import Scalar
from transad.options import Options
from transad.runtime.sweep import live

__all__ = ["map"]

_builtin_map = map
_WORTH_THREADS = 4e-5           # seconds of a whole map
_CHUNKS = 64
_KNOWN: dict[Any, _Prepared] = {}


@dataclass
class _Item:
    """One item as compiled code. `call` is the text of its call with `{0}`, `{1}` ... for the arguments; `names` are
    its results in order; `fixed`: arguments after (`before`: ahead of) those of the item, the same for all items."""

    function: Any
    lines: str
    names: list[str]
    count: int
    before: list[Any]
    fixed: list[Any]
    dependencies: Sequence[Any]
    assemble: Callable[[list[np.ndarray]], Any]
    shapes: list[tuple[int, ...]] | None = None
    path: str = ""
    plain: Any = None


@dataclass
class _Prepared:
    item: _Item
    run: Callable[..., Any]
    cells: list[Any]
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    dtypes: list[Any] = field(default_factory=list)
    seconds: float = 0.0


def map(f: Callable[..., Any], *xs: Any, threads: int | None = None, store: bool = False) -> Any:
    """`f` of the items (along the first axis) of `xs`, which stops at the shortest, as arrays with one more axis.

    Results that are tuples give tuples of arrays, arrays of one shape give arrays of rows. An exception of an item is
    the exception of the call. `threads`: at most so many (default: as many as Numba has). `store`: where the map is part of
    a function that is differentiated, its reverse sweep reads what was kept of every item, and does not compute the items
    again; without a derivative nothing is kept."""
    if not xs:
        raise InvalidArgument("transad.map needs at least one array to map over")
    if live():
        return _recorded(f, xs)
    arrays = [_array(x) for x in xs]
    n = min(len(a) for a in arrays)
    if n == 0:
        return _nothing(f, arrays)
    prepared = _prepared(f, arrays)
    outs = [np.empty((n, *s), d) for s, d in zip(prepared.shapes, prepared.dtypes, strict=True)]
    failed = np.full(_CHUNKS, -1, np.int64)
    wide = prepared.seconds * n > _WORTH_THREADS and threads != 1
    inputs = [*arrays, *prepared.item.before, *prepared.item.fixed, *outs, failed]
    _limited(prepared.run, threads)(n, min(n, _CHUNKS), wide, *inputs)
    if failed.max() >= 0:
        first = int(min(i for i in failed if i >= 0))
        f(*(a[first] for a in arrays))
        raise CannotCompile(f"item {first} of transad.map failed when compiled, and does not when run by Python",
                            instead="use the plain map, or make the items the same in shape")
    return prepared.item.assemble(outs)


def _limited(run: Callable[..., Any], threads: int | None) -> Callable[..., Any]:
    from transad.runtime.threads import guarded
    return guarded(run, threads) if threads is not None else run


def _array(x: Any) -> np.ndarray:
    a = x if isinstance(x, np.ndarray) else np.asarray(list(x) if not isinstance(x, list | tuple) else x)
    if a.ndim == 0 or a.dtype.kind not in "fiub":
        raise InvalidArgument(f"transad.map maps over arrays of numbers, not over a {type(x).__name__}",
                              instead="give arrays, or lists of numbers or of rows of one length")
    return a


def _first(a: np.ndarray) -> Any:
    v = a[0]
    return v if isinstance(v, np.ndarray) else v.item() if v.dtype.name in ("float64", "int64") else v


def _recorded(f: Callable[..., Any], xs: tuple) -> Any:
    """Inside a function that is being differentiated: item by item, recorded."""
    from transad.runtime.calls import call
    from transad.runtime.indexing import getitem
    n = min(len(x) for x in xs)
    items = [call(f, *(getitem(x, i) for x in xs)) for i in range(n)]

    def together(values: list[Any]) -> Any:
        if values and isinstance(values[0], tuple):
            return tuple(together([v[k] for v in values]) for k in range(len(values[0])))
        return call(np.array, values)
    return together(items)


def _nothing(f: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """No items: empty arrays in the structure that one item would give, if that can be told without running one."""
    ones = [np.ones((1, *a.shape[1:]), a.dtype) for a in arrays]
    item = _item(f, [_first(a) for a in ones])
    shapes = item.shapes or [(0,) * (0 if isinstance(k, Scalar) else k.ndim) for k in item.dependencies and []]
    return item.assemble([np.empty((0, *s)) for s in shapes or [()] * len(item.names)])


def _prepared(f: Callable[..., Any], arrays: list[np.ndarray]) -> _Prepared:
    """The compiled map for items like these; what `f` refers to is checked at every call."""
    from transad.typed import _unchanged
    key = (f, tuple((a.dtype.name, a.ndim, a.shape[1:], a.flags.c_contiguous) for a in arrays))
    try:
        found = _KNOWN.get(key)
    except TypeError as problem:
        raise InvalidArgument("transad.map needs a function that can be hashed") from problem
    cells = _cells(f)
    if found is not None and _unchanged(found.item.dependencies) and len(cells) == len(found.cells) and all(
            a is b for a, b in zip(cells, found.cells, strict=True)):
        return found
    firsts = [_first(a) for a in arrays]
    item = _item(f, firsts)
    made = _Prepared(item, _compiled(item, len(arrays)), cells)
    _measure(made, f, firsts)
    _KNOWN[key] = made
    return made


def _cells(f: Any) -> list[Any]:
    inner = unwrapped(getattr(f, "__wrapped__", f))
    return [c.cell_contents for c in getattr(inner, "__closure__", None) or ()]


def _measure(made: _Prepared, f: Any, firsts: list[Any]) -> None:
    """The shapes of an item's results, and how long one takes."""
    item = made.item
    if item.shapes is not None:
        made.shapes, made.dtypes = item.shapes, [np.float64] * len(item.shapes)
        made.seconds = 1e-7 * sum(int(np.prod(s)) + 1 for s in item.shapes)
        return
    given = [*item.before, *firsts, *item.fixed]
    try:
        results = _flat(item.function(*given), item)
        start = time.perf_counter()
        item.function(*given)
        made.seconds = time.perf_counter() - start
    except Exception:
        f(*firsts)              # the exception of the first item, from the user's own text
        raise
    made.shapes = [np.shape(r) for r in results]
    made.dtypes = [np.asarray(r).dtype for r in results]


def _flat(found: Any, item: _Item) -> list[Any]:
    space: dict[str, Any] = {"found": found}
    exec(item.lines.format(call="found"), space)
    return [space[v] for v in item.names]


# -- items -----------------------------------------------------------------------------------------------------------
def _item(f: Any, firsts: list[Any]) -> _Item:
    verb = getattr(f, "_verb", None)
    if verb is None:
        return _typed(f, firsts, (), value=True, single=True)
    function = f._function
    cells = dict(zip(f._call.__code__.co_freevars, f._call.__closure__ or (), strict=True))
    selection = cells["selection"].cell_contents if "selection" in cells else None
    if selection is None or any(cells[c].cell_contents for c in ("has_aux", "captured") if c in cells):
        raise CannotCompile(f"transad.map cannot compile this {verb}",
                            instead="map over a grad, value_and_grad, jacobian or value_and_jacobian of a function")
    chosen = selection.resolve(tuple(firsts), {})
    if verb in ("grad", "value_and_grad"):
        return _typed(function, firsts, chosen, value=verb == "value_and_grad", single=selection.single)
    if verb in ("value_and_jacobian", "jacobian", "jacrev", "jacfwd"):
        return _jacobian(function, firsts, chosen, value=verb == "value_and_jacobian", single=selection.single)
    raise CannotCompile(f"transad.map cannot compile {verb}",
                        instead="map over a grad, value_and_grad, jacobian or value_and_jacobian of a function")


def _typed(f: Any, firsts: list[Any], chosen: Sequence[int], value: bool, single: bool) -> _Item:
    """A function, or its gradient (`chosen` arguments), by the pair of sweeps."""
    from transad.describe import described
    from transad.typed import Refusal, find
    options = Options.of({**options_of(f), "jit": True, "parallel": False})
    found = find(unwrapped(f), tuple(firsts), {}, chosen, (), options)
    if found is None or isinstance(found[0], Refusal):
        raise options.refused(unwrapped(f), None if found is None else found[0])
    typed, leaves, cells, _ = found
    if len(leaves) != len(firsts) or typed.built.writes:
        raise CannotCompile(f"{getattr(f, '__name__', f)} has defaults, or writes into its arguments",
                            instead="give all arguments, and return what the function computes")
    structure = typed.built.structure
    if chosen and not isinstance(getattr(structure, "kind", None), Scalar):
        from transad.errors import NotScalar
        raise NotScalar("grad needs a function that returns one real number", instead="use value_and_jacobian")
    before = [leaf for c in cells for leaf in described(c.cell_contents)[1]]
    ys = [f"y{k}" for k in range(len(typed.built.result_kinds))]
    y = ys[0] if len(ys) == 1 else f"({', '.join(ys)})"
    if not chosen:
        return _Item(typed.code.forward, f"{y}, _ = {{call}}", ys, len(firsts), before, list(typed.built.held),
                     typed.dependencies, lambda outs: typed.built.result(tuple(outs)), path=typed.code.path, plain=f)
    ds = [f"d{k}" for k in range(len(typed.wanted))]
    d = ds[0] if len(ds) == 1 else f"({', '.join(ds)})"

    def assemble(outs: list[np.ndarray]) -> Any:
        grads = outs[1:] if value else outs
        g = grads[0] if single else tuple(grads)
        return (outs[0], g) if value else g
    return _Item(typed.code.joint, f"{y}, {d} = {{call}}", [*(ys if value else []), *ds], len(firsts), before,
                 list(typed.built.held), typed.dependencies, assemble, path=typed.code.path, plain=f)


def _jacobian(f: Any, firsts: list[Any], chosen: Sequence[int], value: bool, single: bool) -> _Item:
    """The Jacobian of a small function, written where it belongs."""
    from transad.forwards.forward import jacobian_code, signature
    options = Options.of({**options_of(f), "jit": True})
    sig = signature(unwrapped(f), tuple(firsts), {}, chosen)
    made = None if sig is None else jacobian_code(sig, options)
    if sig is None or made is None or made.writes or len(sig.inputs) - len(sig.cells) != len(firsts):
        raise options.refused(unwrapped(f), None)
    y, blocks = made.functions["jacobian"](*sig.inputs, *made.held)
    blocks = [blocks] if len(chosen) == 1 else list(blocks)
    rows = int(np.size(y))
    columns = [int(np.size(firsts[c])) for c in chosen]
    ends = [np.shape(b) for b in blocks]

    def assemble(outs: list[np.ndarray]) -> Any:
        n = len(outs[0])
        jacs = [j.reshape(n, *end) for j, end in zip(outs[1:], ends, strict=True)]
        j = jacs[0] if single else tuple(jacs)
        return (outs[0].reshape(n, *np.shape(y)), j) if value else j
    names = ["y", *(f"j{k}" for k in range(len(chosen)))]
    path = getattr(made.functions["jacobian_into"], "py_func", made.functions["jacobian_into"]).__code__.co_filename
    return _Item(made.functions["jacobian_into"], "", names, len(firsts), list(sig.cells), list(made.held),
                 made.dependencies, assemble, [(rows,), *((rows, c) for c in columns)], path, plain=f)


# -- the loop --------------------------------------------------------------------------------------------------------
def _text(item: _Item, count: int) -> str:
    xs, outs = [f"x{k}" for k in range(count)], [f"out_{v}" for v in item.names]
    before = [f"b{k}" for k in range(len(item.before))]
    fixed = [f"f{k}" for k in range(len(item.fixed))]
    given = ", ".join([*before, *(f"{x}[i]" for x in xs), *fixed])
    if item.shapes is not None:
        body = [f"item({', '.join([given, *(f'{o}[i]' for o in outs)])})"]
    else:
        body = [item.lines.format(call=f"item({given})"),
                *[f"store({o}, i, {v})" for o, v in zip(outs, item.names, strict=True)]]
    arguments = ", ".join([*xs, *before, *fixed, *outs])
    lines = "\n".join(f"        {x}" for x in body)
    return f"""# the items of {item.path}
def one(i, {arguments}):
    try:
{lines}
        return True
    except Exception:
        return False


def chunk(first, last, c, {arguments}, failed):
    for i in range(first, last):
        if not one(i, {arguments}):
            failed[c] = i
            break


def spread(n, chunks, {arguments}, failed):
    for c in prange(chunks):
        chunk(c * n // chunks, (c + 1) * n // chunks, c, {arguments}, failed)


def mapped(n, chunks, wide, {arguments}, failed):
    if wide:
        spread(n, chunks, {arguments}, failed)
    else:
        for c in range(chunks):
            chunk(c * n // chunks, (c + 1) * n // chunks, c, {arguments}, failed)
"""


def _compiled(item: _Item, count: int) -> Callable[..., Any]:
    from transad.maps.kernels import Chain
    from transad.maps.launch import compiled_space
    from transad.runtime.threads import guarded
    text = _text(item, count)
    functions = [("one", frozenset()), ("chunk", frozenset()), ("spread", frozenset({"threaded"})),
                 ("mapped", frozenset())]
    from transad import cache
    from transad.runtime.map_store import store
    inner = getattr(item.function, "dispatcher", item.function)
    chain = Chain("mapped", [], {"item": inner, "store": store}, text, functions, [], True)
    path = cache.stored(text, "mapped")
    space = compiled_space(chain, compile(text, path, "exec"), path, Options(jit=True))
    return guarded(space["mapped"])
