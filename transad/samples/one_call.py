"""A function of one item as one call for all items: its text with a leading axis for what varies, run by NumPy.

It serves `vmap`, of functions and of their gradients. The typed path has to take the function, and no branch, place in an
array or number of trips may depend on the item: then the items are taken one by one (`NotTyped` says why).

>>> import numpy as np
>>> def affine(w, x):
...     return np.tanh(w @ x) + 1.0
>>> w, x = np.ones((2, 3)), np.zeros((5, 3))
>>> made, _ = one_call(affine, (w, x), (None, 0))
>>> print(made.text)
def affine_items(items, w, x):
    t = np.dot(x, w.T)
    return np.tanh(t) + 1.0,
<BLANKLINE>
>>> all_items(affine, (w, x), (None, 0), 5).shape
(5, 2)
"""
from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transad import cache, pipeline
from transad.describe import Shape
from transad.emit import HELPERS, _Lines
from transad.function import unwrapped
from transad.ir import Block, Do, Let, Store, walk
from transad.kinds import Array, Kind, Scalar, kind_of
from transad.names import Names
from transad.options import Options
from transad.passes import ruled
from transad.passes.batch import Batched, batched
from transad.passes.regions import view_of
from transad.passes.specialise.values import NotTyped, Val
from transad.quote import constant, names_in, show
from transad.runtime.calls import call
from transad.runtime.sweep import live
from transad.runtime.var import plain
from transad.samples.kernel import refuse_mutation, shape_of
from transad.tree import children
from transad.tree import rebuilt as tree_rebuilt
from transad.typed import _ordered, _unchanged, plain_function

__all__ = ["OneCall", "all_items", "loaded", "one_call", "sample_loop"]

_NEAR = 1 << 18                 # numbers of a block of samples: the processor's cache
_MOST = 1 << 24                 # numbers that one array of a call may have (128 MiB)
_KNOWN: dict[Any, Any] = {}     # function and kinds of its items -> OneCall, or why there is none


class OneCall:
    """The text of one signature. `wanted`: the arguments that are differentiated, for `grad` and `value_and_grad`; `rows`:
    the function is one of a batch, whose rows are the items (the axis of the rows in each argument, None for none)."""

    def __init__(self, f: types.FunctionType, shapes: Sequence[Shape], cells: Sequence[Shape], varying: Sequence[bool],
                 wanted: tuple[int, ...], verb: str, rows: tuple[int | None, ...] | None = None) -> None:
        slots = f.__code__.co_varnames[:f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
        refuse_mutation(f.__code__)
        arguments, captured = dict(zip(slots, shapes, strict=True)), dict(zip(f.__code__.co_freevars, cells, strict=True))
        self.verb, self.wanted = verb, wanted
        axes = None if rows is None else {slot: a for slot, a in zip(slots, rows, strict=True) if a is not None}
        s = self.made(f, arguments, captured, [slots[w] for w in wanted], axes)
        parameters = [p.split("@")[0] for p in s.program.parameters]
        leaves = [n for slot in slots for n in pipeline._leaf_names(arguments[slot], s.specialiser, slot)]
        kinds: dict[str, Kind] = s.program.kinds
        self.structure = s.structure
        self.held = list(s.specialiser.captures.values())
        self.dependencies = s.specialiser.dependencies
        self.counted = rows is not None and parameters[-1] not in s.specialiser.kinds
        body, results = self.block(s)
        _refuse_effects(body, parameters)
        ranks = {p: k.ndim if isinstance(k := kinds[p], Array) else 0 for p in parameters}
        ranks |= {v: np.ndim(x) for v, x in s.program.constants.items() if kind_of(x) is not None}
        names = Names({*kinds, *s.program.constants, *HELPERS, "np", "math", *(s.pair.kinds if s.pair else ())})
        self.count = names.fresh("items")
        self.batched = batched(body, results, ranks, {n for n, v in zip(leaves, varying, strict=True) if v}, self.count, names,
                               {v: k.ndim if isinstance(k, Array) else 0 for v, k in kinds.items()})
        label = s.label
        self.text = _text(label, kinds, [self.count, *parameters], self.batched)
        self.run = loaded(self.text, f"{label}_items", s.program.constants)

    def made(self, f: Any, arguments: dict[str, Shape], captured: dict[str, Shape], wanted: list[str],
             rows: dict[str, int] | None) -> pipeline.State:
        """The program; with NumPy's functions written out where they are not known as they are."""
        first: NotTyped | None = None
        for jit in (False, True):
            s = pipeline.State(f, arguments, captured, wanted, options=Options(parallel=False, jit=jit), rows=rows)
            try:
                if wanted:
                    return pipeline.run(s)
                pipeline._specialise(s)
                if s.recursive:
                    raise NotTyped("the function calls itself")
                return s
            except NotTyped as problem:
                problem.dependencies = getattr(s.specialiser, "dependencies", [])
                first = first or problem
        assert first is not None
        raise first

    def block(self, s: pipeline.State) -> tuple[Block, list[Any]]:
        if not self.verb:
            return s.program.body, s.program.results
        kind = getattr(s.structure, "kind", None)
        one = isinstance(kind, Scalar) if s.rows is None else isinstance(kind, Array) and kind.ndim == 1
        if not isinstance(s.structure, Val) or not one or not getattr(kind, "real", False) or s.pair.writes or s.recursive:
            raise NotTyped("the result of an item is not one real number")
        pair = s.pair
        results = [*pair.results, *pair.cotangents]
        return [*pair.forward, Let(pair.seeds[0], constant(1.0)), *pair.reverse], results

    def current(self) -> bool:
        return _unchanged(self.dependencies)

    def result(self, flat: Sequence[Any], args: tuple, given: Sequence[Any], single: bool) -> Any:
        """The results of all items, with the structure of one."""
        if not self.verb:
            return pipeline._assembled(self.structure, iter(flat))
        rest = iter(flat[1:])
        grads = [_gradient(given[w], rest) for w in self.wanted]
        found = grads[0] if single else tuple(grads)
        return (flat[0], found) if self.verb == "value_and_grad" else found


def one_call(function: Any, args: tuple, axes: Sequence[Any], wanted: tuple[int, ...] | None = None, batch: bool = False
             ) -> tuple[OneCall, list[Any]]:
    """The call for arguments like these, and all that is passed to it; NotTyped where there is none.

    wanted  value and gradient with respect to these arguments; batch: the function takes all items and gives an entry each"""
    if wanted is None:
        f, bound, verb, wanted = _target(function)
    else:
        f, bound, verb = *_target(unwrapped(function))[:2], "value_and_grad"
    given = _ordered(f, (*bound, *args), {})
    if given is None:
        raise NotTyped("it has *args or **kwargs, or arguments are missing")
    axes = [*([None] * len(bound)), *axes, *([None] * (len(given) - len(bound) - len(axes)))]
    shapes: list[Shape] = []
    varying: list[bool] = []
    captured: list[Any] = []
    values: list[Any] = []
    for v, axis in zip(given, axes, strict=True):
        shapes.append(shape_of(_first(v, None if batch else axis), []))
        for leaf, a in _leaves(v, axis):
            if kind_of(plain(leaf)) is not None:
                varying.append(a is not None)
                values.append(leaf if not a else call(np.moveaxis, leaf, a, 0))
    cells = [shape_of(_first(c.cell_contents, None), captured) for c in f.__closure__ or ()]
    rows = tuple(axes) if batch else None
    # A function made anew from the same text is the same: what it captures and its defaults are passed as values.
    key = (f.__code__, id(f.__globals__), tuple(shapes), tuple(cells), tuple(varying), wanted, verb, rows)
    found = _KNOWN.get(key)
    if found is None or (isinstance(found, OneCall) and not found.current()):
        try:
            found = OneCall(f, shapes, cells, varying, tuple(len(bound) + w for w in wanted), verb, rows)
        except NotTyped as problem:
            found = problem
        _KNOWN[key] = found
    if isinstance(found, NotTyped):
        raise found
    items = [len(v) for v, a in zip(values, varying, strict=True) if a][:1]
    return found, [*captured, *values, *found.held, *(items if found.counted else ())]


def sample_loop(function: Any, args: tuple, axes: Sequence[Any], wanted: Sequence[int], batch: bool) -> Callable[..., Any]:
    """`fill(first, last, rows, values)`: gradients of samples, by NumPy, into rows, and values; NotTyped where that cannot be."""
    made, given = one_call(function, args, axes, tuple(wanted), batch)
    parameters = list(made.run.__code__.co_varnames[1:made.run.__code__.co_argcount])
    varies = [p in made.batched.varying for p in parameters]
    size = max(1, max((int(np.size(v)) // max(1, len(v)) if a else int(np.size(v)) for v, a in zip(given, varies, strict=True))))
    step = max(1, _NEAR // size)

    def fill(first: int, last: int, rows: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        for a in range(first, last, step):
            b = min(a + step, last)
            flat = made.run(b - a, *(v[a:b] if lane else v for v, lane in zip(given, varies, strict=True)))
            values = values.astype(flat[0].dtype, copy=False)
            values[a:b] = flat[0]
            for row, g in zip(rows, flat[1:], strict=True):
                row[a - first:b - first] = g
        return values
    return fill


def all_items(function: Any, args: tuple, axes: Sequence[Any], items: int) -> Any:
    """The function of every item in one call; NotTyped where they have to be taken one by one."""
    try:
        made, values = one_call(function, args, axes)
    except (TypeError, ValueError) as problem:      # a value that cannot be hashed, a captured variable that is not set
        raise NotTyped(str(problem)) from problem
    flat = [_own(y, values) for y in _in_blocks(made, values, items)]
    bound = len(_target(function)[1])
    return made.result(flat, args, [None] * bound + list(args), _single(function))


def _in_blocks(made: OneCall, values: list[Any], items: int) -> Sequence[Any]:
    """The results of all items; some at a time where what is in between may be large."""
    longest = max((n for v in values if isinstance(v, np.ndarray) for n in v.shape[1:] or v.shape), default=1)
    step = max(1, _MOST // longest ** max(made.batched.ranks.values(), default=0))
    if step >= items or live():
        return call(made.run, items, *values)
    varies = [p in made.batched.varying for p in made.run.__code__.co_varnames[1:made.run.__code__.co_argcount]]
    parts = []
    for a in range(0, items, step):
        b = min(a + step, items)
        parts.append(made.run(b - a, *(v[a:b] if lane else v for v, lane in zip(values, varies, strict=True))))
    return [np.concatenate(p) for p in zip(*parts, strict=True)]


def _target(function: Any) -> tuple[types.FunctionType, tuple, str, tuple[int, ...]]:
    """The Python function, the arguments that it already has, and which gradient is asked for ("" for none)."""
    verb, wanted = "", ()
    fast = getattr(function, "_fast", None)
    if getattr(function, "_verb", "") in ("grad", "value_and_grad") and fast is not None and fast.options == Options():
        verb, wanted, function = function._verb, fast.positions, function._function
    found = plain_function(unwrapped(function))
    if found is None:
        raise NotTyped("it is no Python function")
    return *found, verb, wanted


def _single(function: Any) -> bool:
    fast = getattr(function, "_fast", None)
    return fast is None or fast.single


def _own(y: Any, values: list[Any]) -> Any:
    """A result in memory of its own."""
    shared = isinstance(y, np.ndarray) and any(isinstance(v, np.ndarray) and np.may_share_memory(y, v) for v in values)
    return call(np.copy, y) if shared else y


def _leaves(tree: Any, axes: Any) -> list[tuple[Any, Any]]:
    from transad.samples.vmap import _pairs
    return _pairs(tree, axes)


def _first(tree: Any, axes: Any) -> Any:
    """The first item, of plain numbers and arrays: an example of its kind."""
    from transad.samples.vmap import _below
    kids = children(tree)
    if kids is not None:
        return tree_rebuilt(tree, [_first(child, axis) for (_, child), axis in zip(kids, _below(axes, kids), strict=True)])
    value = plain(tree)
    return value if axes is None or not isinstance(value, np.ndarray) else np.moveaxis(value, axes, 0)[0]


def _gradient(like: Any, rest: Any) -> Any:
    kids = children(like)
    if kids is not None:
        return tree_rebuilt(like, [_gradient(child, rest) for _, child in kids])
    return next(rest) if kind_of(plain(like)) is not None else None


def _refuse_effects(body: Block, parameters: list[str]) -> None:
    """Refuse what the items do besides giving results: printing, writing into an argument."""
    parent: dict[str, str] = {}

    def find(v: str) -> str:
        while v in parent:
            v = parent[v]
        return v
    for s in walk(body):
        source = view_of(s.value) if isinstance(s, Let) else None
        if source is not None and find(s.name) != find(source):      # type: ignore[union-attr]
            parent[find(s.name)] = find(source)                      # type: ignore[union-attr]
    roots = {find(p) for p in parameters}
    for s in walk(body):
        if isinstance(s, Store) and find(s.array) in roots:
            raise NotTyped(f"{s.array}, an argument, is written")
        if isinstance(s, Do) and any("print" in n or "append" in n or "extend" in n for n in names_in(s.value)):
            raise NotTyped(f"`{show(s.value)}` is done for each item")


def _text(label: str, kinds: dict[str, Kind], parameters: list[str], made: Batched) -> str:
    shown = {**kinds, **{v: Array("float64", made.ranks.get(v, 0) + 1) for v in made.varying}}
    lines = _Lines(types.SimpleNamespace(kinds=shown), comments=False)      # type: ignore[arg-type]
    if made.block:
        lines.block(made.block, 1)
    notes = [f"    # item by item: {', '.join(made.looped)}"] if made.looped else []
    return "\n".join([f"def {label}_items({', '.join(parameters)}):", *notes, *lines.out,
                      f"    return {''.join(show(e) + ', ' for e in made.results).rstrip(' ')}"]) + "\n"


def loaded(text: str, label: str, constants: dict[str, Any]) -> Callable[..., Any]:
    """The function `label` of emitted text with a leading axis, from a real file."""
    from transad.runtime import batch
    from transad.runtime import typed as helpers
    path = cache.stored(text, label)
    code = compile(text, path, "exec")
    space: dict[str, Any] = {"np": np, "math": math, **{h: getattr(helpers, h) for h in HELPERS if hasattr(helpers, h)},
                             **{h: getattr(batch, h) for h in batch.HELPERS}, **ruled.helpers(code), **constants,
                             "__name__": f"transad_generated_{label}", "__file__": path}
    exec(code, space)
    return space[label]
