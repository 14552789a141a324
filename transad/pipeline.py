"""The passes of the typed path, in order. Start reading here.

    function -> specialise -> rows -> kernelize -> versions -> recursion -> regions, activity -> reverse -> prune -> emit

Each pass is one file under `passes/`, named after what it does; data between them is the program in normal form
(`ir`) and the tables that the analyses return.
"""
from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transad import cache
from transad.describe import Shape
from transad.emit import HELPERS, emit
from transad.errors import InvalidArgument
from transad.ir import Do, For, dump, walk
from transad.kinds import Array, Kind
from transad.maps.kernels import Chain, chain
from transad.names import Names
from transad.options import Options
from transad.passes import ruled
from transad.passes.activity import used_as_number
from transad.passes.duals import hidden
from transad.passes.first_writes import first_writes
from transad.passes.forward.by_element import swept_by_element
from transad.passes.forward.stored import with_slopes
from transad.passes.prune import prune
from transad.passes.recursion import PARTS, emit_recursion, recursion
from transad.passes.regions import regions
from transad.passes.reverse import Pair, reverse
from transad.passes.rows import one_row
from transad.passes.specialise import NotTyped, specialise
from transad.passes.specialise.values import Inlined, Obj, Record, Tup, Val
from transad.passes.versions import versions
from transad.quote import name


@dataclass
class Built:
    """What the passes made of one signature of one function."""

    pair: Pair
    text: str
    structure: Any
    result_kinds: list[Kind]
    held: list[Any]
    dependencies: list[Any]
    writes: bool
    filename: str = ""
    line: int = 0
    chain: Chain | None = None
    gives_up: bool = False              # the sweeps may raise `ItemFailed`: the recorded path is to answer
    prints: bool = False
    by_element: list[tuple[str, int, int]] = field(default_factory=list)     # marked functions that take a sweep for each
    #                             element of an array, and the argument whose shape it has but for leading axes
    recursive: list[str] = field(default_factory=list)          # the functions of the text besides the sweeps

    @property
    def repeatable(self) -> bool:
        """Whether the function can be run again without a trace: it neither prints nor writes into its arguments."""
        return not (self.writes or self.prints)

    def result(self, flat: tuple) -> Any:
        """The user's result from its numbers and arrays."""
        return _assembled(self.structure, iter(flat))

    def flatten_cotangent(self, cotangent: Any, results: tuple, exact: bool = True) -> list[Any]:
        """The seeds of `f_rev` from a cotangent with the structure of the result (None is zero).

        exact: numbers and arrays of the result's shapes and dtypes; else as they are given."""
        seeds: list[Any] = []
        _flatten(self.structure, cotangent, iter(results) if exact else None, seeds)
        return seeds


@dataclass
class State:
    """What the passes work on. `after` collects the program as text after each pass, when `watch` is set."""

    function: Any
    arguments: dict[str, Shape]
    captured: dict[str, Shape]
    wanted: list[str]
    watch: bool = False
    options: Options = field(default_factory=Options)
    marked: bool = True                 # calls of functions marked `fwddiff` are taken forwards
    rows: dict[str, int] | None = None  # the arguments of a function of a batch that have rows, and along which axis
    program: Any = None
    specialiser: Any = None
    structure: Any = None
    kinds: list[Kind] = field(default_factory=list)
    pair: Any = None
    chain: Chain | None = None
    text: str = ""
    unmarked: tuple[str, str] = ("", "")       # a marked function that is inlined all the same, and why
    after: dict[str, str] = field(default_factory=dict)
    prints: bool = False

    @property
    def recursive(self) -> dict[str, Any]:
        """The recursive functions that the program calls by name."""
        known = self.specialiser.recursive
        return known.by_name() if known is not None else {}

    @property
    def label(self) -> str:
        return self.function.__name__ if self.function.__name__.isidentifier() else "f"


def _specialise(s: State) -> None:
    """Inline and resolve: normal form, every name of one kind. (`lower_exits` runs on each function first.)"""
    s.program, s.specialiser, s.structure = specialise(
        s.function, {k: _builder(v) for k, v in s.arguments.items()},
        {k: _builder(v) for k, v in s.captured.items()}, s.label, s.options.jit,
        s.marked)
    leaves = [n for w in s.wanted for n in _leaf_names(s.arguments[w], s.specialiser, w)]
    s.program = with_slopes(s.program, leaves, s.specialiser.stopped, s.specialiser.names)
    s.specialiser.stopped |= hidden(s.program.body)


def _rows(s: State) -> None:
    """Of a function of a batch the function of one row."""
    if s.rows is not None:
        leaves = {n: axis for w, axis in s.rows.items() for n in _leaf_names(s.arguments[w], s.specialiser, w)}
        s.program = one_row(s.program, leaves)
        s.specialiser.names.taken.update(s.program.parameters)


def _kernelize(s: State) -> None:
    """Loops whose trips are independent as maps of their own, run by threads where that pays."""
    if any(isinstance(x, For) and x.mapped and ruled.has_ruled(x.body) for x in walk(s.program.body)):
        raise NotTyped("a map whose items call the library; its kernel has loops instead")
    if s.options.parallel and not s.recursive:
        leaves = [n for w in s.wanted for n in _leaf_names(s.arguments[w], s.specialiser, w)]
        s.chain = chain(s.program, leaves, s.specialiser.names, s.specialiser.stopped, s.options.jit,
                        s.options.mode, s.options.deterministic, s.options.store)


def _versions(s: State) -> None:
    """One version per assignment."""
    s.program = versions(s.program)
    s.program.off = s.options.without
    s.program.recursive = s.recursive
    s.kinds = [_kind_of_result(e, s.program) for e in s.program.results]


def _integers(s: State) -> None:
    """Refuse integers that are differentiated and used as numbers; one that only counts has a zero cotangent."""
    integers = {f"{n}@0" for w in s.wanted for n in _leaf_names(s.arguments[w], s.specialiser, w)
                if not s.program.kinds[n].real}
    if integers and used_as_number(s.program, regions(s.program), integers):
        given = ", ".join(sorted(n.removesuffix("@0") for n in integers))
        raise NotTyped(f"a differentiated argument is an integer that is used as a number ({given}); give a float, or leave "
                       f"it out of argnums")


def _recursion(s: State) -> None:
    """Sweeps of their own for functions that call themselves, which only compiled code calls by name."""
    recursion(s.program, s.recursive, s.options.without)
    _integers(s)


def _reverse(s: State) -> None:
    """The two sweeps."""
    leaves = [n for w in s.wanted for n in _leaf_names(s.arguments[w], s.specialiser, w)]
    s.prints = any(isinstance(x, Do) for x in walk(s.program.body))
    s.pair = reverse(s.program, leaves, Names(s.specialiser.names.taken), s.specialiser.stopped)
    if s.specialiser.gives_up and (s.pair.writes or s.prints):
        raise NotTyped(f"{s.specialiser.gives_up}, in a function that prints or writes into its arguments")


def _first_writes(s: State) -> None:
    """Cotangents of arrays are assigned where they were added to zeros."""
    if "first_writes" not in s.options.without:
        s.pair = first_writes(s.pair, s.options.jit)


def _prune(s: State) -> None:
    """Without what nobody reads."""
    if "prune" not in s.options.without:
        s.pair = prune(s.pair)


def _emit(s: State) -> None:
    """As text."""
    s.text = emit_recursion(s.recursive) + emit(s.pair)


PASSES: tuple[tuple[str, Callable[[State], None]], ...] = (
    ("specialise", _specialise),
    ("rows", _rows),
    ("kernelize", _kernelize),
    ("versions", _versions),
    ("recursion", _recursion),
    ("reverse", _reverse),
    ("first_writes", _first_writes),
    ("prune", _prune),
    ("emit", _emit),
)


def run(state: State) -> State:
    """All passes, in order."""
    try:
        for label, step in PASSES:
            step(state)
            if state.watch:
                state.after[label] = state.text or (emit(state.pair) if state.pair else dump(state.program.body))
    except Inlined as problem:
        again = State(state.function, state.arguments, state.captured, state.wanted, state.watch, state.options, False,
                      state.rows)
        vars(state).update(vars(run(again)), unmarked=(problem.label, problem.reason))
    except NotTyped as problem:
        if state.specialiser is not None:
            problem.dependencies = state.specialiser.dependencies
        raise
    return state


def build(f: types.FunctionType, arguments: dict[str, Shape], captured: dict[str, Shape],
          wanted: list[str], options: Options = Options(), marked: bool = True) -> Built:
    """The sweeps of `f` for arguments of these shapes, with cotangents for those in `wanted`.

    marked: whether calls of functions marked `fwddiff` are taken forwards"""
    s = run(State(f, arguments, captured, wanted, options=options, marked=marked))
    leaves = [n for w in wanted for n in _leaf_names(s.arguments[w], s.specialiser, w)]
    return Built(s.pair, s.text, s.structure, s.kinds, list(s.specialiser.captures.values()),
                 _distinct(s.specialiser.dependencies), s.pair.writes,
                 f.__code__.co_filename, f.__code__.co_firstlineno, s.chain, bool(s.specialiser.gives_up), s.prints,
                 swept_by_element(s.program, leaves),
                 [f"{r.name}{part}" for r in s.recursive.values() for part in PARTS if r.pair.wanted or not part])


def _builder(shape: Shape) -> Callable[[Any, str], Any]:
    """How an argument of this shape appears to the specialiser: numbers and arrays become parameters."""
    def make(s: Any, label: str) -> Any:
        if shape.kind == "leaf":
            new = s.names.fresh("".join(c if c.isalnum() else "_" for c in label))
            s.kinds[new] = shape.leaf
            s.parameter_of[label] = new
            return Val(name(new), shape.leaf)      # type: ignore[arg-type]
        if shape.kind == "static":
            return Obj(shape.value)
        if shape.kind == "tuple":
            return Tup([_builder(p)(s, f"{label}_{k}") for k, p in enumerate(shape.parts)], shape.cls or tuple)
        return Record(shape.cls or object, {n: _builder(p)(s, f"{label}_{n}") for n, p in
                                            zip(shape.names, shape.parts, strict=True)})
    return make


def _leaf_names(shape: Shape, s: Any, label: str) -> list[str]:
    """The parameters that an argument became, in order."""
    if shape.kind == "leaf":
        return [s.parameter_of[label]]
    if shape.kind == "static":
        return []
    keys = range(len(shape.parts)) if shape.kind == "tuple" else shape.names
    return [n for k, p in zip(keys, shape.parts, strict=True) for n in _leaf_names(p, s, f"{label}_{k}")]


def _kind_of_result(e: Any, program: Any) -> Kind:
    from transad.passes.regions import Regions
    from transad.passes.reverse.scopes import Scope, Scopes
    from transad.passes.reverse.values import Values
    return Values(program, Regions(), Scopes(Scope([])), Names()).kind(e)


def _distinct(dependencies: list[Any]) -> list[Any]:
    seen: dict[tuple[int, str], Any] = {}
    for holder, label, value in dependencies:
        seen.setdefault((id(holder), label), (holder, label, value))
    return list(seen.values())


def _assembled(structure: Any, flat: Any) -> Any:
    if isinstance(structure, Val):
        return next(flat)
    if isinstance(structure, Obj):
        return structure.value
    if isinstance(structure, Tup):
        parts = [_assembled(v, flat) for v in structure.items]
        return structure.cls(parts) if structure.cls in (tuple, list) else structure.cls(*parts)
    parts = {k: _assembled(v, flat) for k, v in structure.fields.items()}
    new = object.__new__(structure.cls)
    for k, v in parts.items():
        object.__setattr__(new, k, v)
    return new


def _flatten(structure: Any, cotangent: Any, results: Any, seeds: list[Any], where: str = "result") -> None:
    if isinstance(structure, Val):
        if results is None:
            seeds.append(0.0 if cotangent is None else cotangent)
            return
        seeds.append(_seed(structure.kind, cotangent, next(results), where))
    elif isinstance(structure, Tup):
        parts = [None] * len(structure.items) if cotangent is None else _entries(cotangent, where)
        if len(parts) != len(structure.items):
            raise InvalidArgument(f"the cotangent has {len(parts)} entries, the {where} {len(structure.items)}")
        for k, (v, c) in enumerate(zip(structure.items, parts, strict=True)):
            _flatten(v, c, results, seeds, f"{where}[{k}]")
    elif isinstance(structure, Record):
        for k, v in structure.fields.items():
            part = None if cotangent is None else cotangent.get(k) if isinstance(cotangent, dict) else getattr(
                cotangent, k)
            _flatten(v, part, results, seeds, f"{where}.{k}")


def _entries(cotangent: Any, where: str) -> list[Any]:
    try:
        return list(cotangent)
    except TypeError:
        raise InvalidArgument(f"the cotangent of {where} does not have its structure") from None


def _seed(kind: Kind, cotangent: Any, value: Any, where: str) -> Any:
    """The cotangent of one number or array of the result."""
    if cotangent is None:
        return np.zeros(value.shape) if isinstance(kind, Array) else 0.0
    given = np.asarray(cotangent)
    if given.dtype.kind not in ("biufc" if kind.dtype.startswith("complex") else "biuf"):
        raise InvalidArgument(f"the cotangent of {where} holds {given.dtype} values, the result {kind.dtype}")
    if isinstance(kind, Array):
        if given.shape != value.shape:
            raise InvalidArgument(f"the cotangent of {where} has shape {given.shape}, the result {value.shape}")
        return np.asarray(given, dtype=_float(value.dtype))
    if given.ndim:
        raise InvalidArgument(f"the cotangent of {where} has shape {given.shape}, the result is a number")
    return float(given)


def _float(dtype: Any) -> Any:
    return dtype if dtype.kind in "fc" else np.float64


@dataclass
class Code:
    """The functions of an emitted module."""

    forward: Callable[..., Any]
    reverse: Callable[..., Any]
    joint: Callable[..., Any]
    plain_reverse: Callable[..., Any]
    path: str


def load(built: Built, options: Options) -> Code:
    """The functions of the emitted text, from a real file; compiled if asked for."""
    if built.chain is not None:
        from transad.maps.launch import load_chain
        return Code(*load_chain(built.chain, options))
    label = built.pair.name
    path = cache.stored(built.text, label, repr(options))
    code = compile(built.text, path, "exec")
    from transad.runtime import typed as helpers
    plain: dict[str, Any] = {"np": np, "math": math, "__name__": f"transad_generated_{label}", "__file__": path,
                             **{h: getattr(helpers, h) for h in HELPERS if hasattr(helpers, h)},
                             **ruled.helpers(code), **built.pair.constants}
    exec(code, plain)
    space = plain
    if options.jit:
        from transad.compiled import compiled_module
        space = compiled_module(code, built, options, path)
    return Code(space[f"{label}_fwd"], space[f"{label}_rev"], space[f"{label}_joint"], plain[f"{label}_rev"], path)
