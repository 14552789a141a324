"""Forward mode, the code side: the functions that are built for a signature, and the signature itself.

Code is built once for a signature; where small arrays become numbers, their lengths belong to it.
"""
from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transad import cache
from transad.describe import Shape, described, leaf_kinds
from transad.emit import HELPERS
from transad.function import unwrapped
from transad.ir import Do, For, Let, Program, While, walk
from transad.kinds import Array, Scalar
from transad.names import Names
from transad.options import Options
from transad.passes.forward import push, scalarise
from transad.passes.forward import text as texts
from transad.passes.forward.joint import joint
from transad.passes.prune import prune
from transad.passes.reverse import reverse
from transad.passes.specialise.values import NotTyped, Val
from transad.passes.versions import versions
from transad.pipeline import State, _kind_of_result, _leaf_names, _specialise
from transad.quote import name
from transad.runtime.sweep import live
from transad.typed import _ordered, _unchanged, plain_function

MOST = 32                  # lanes up to which a forward gradient is one sweep


@dataclass
class Signature:
    """One call, resolved: the function, the shapes of its arguments and captured variables, and all numbers."""

    function: types.FunctionType
    shapes: dict[str, Shape]
    captured: dict[str, Shape]
    wanted: list[str]
    leaves: dict[str, list[Any]]
    cells: list[Any]

    def key(self) -> tuple:
        return (self.function, tuple(self.shapes.values()), tuple(self.captured.values()), tuple(self.wanted))

    @property
    def inputs(self) -> list[Any]:
        return [*self.cells, *(v for row in self.leaves.values() for v in row)]


@dataclass
class Emitted:
    """Functions of forward mode for one signature. `functions`: by suffix (`push`, `forward`, `jacobian` ...)."""

    text: str
    label: str
    structure: Any
    held: list[Any]
    dependencies: list[Any]
    writes: bool
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    lanes: int = 1
    kinds: list[Any] = field(default_factory=list)
    refusal: NotTyped | None = None
    effects: bool = False               # it prints, or has another effect than its result
    loops: bool = False


_KNOWN: dict[Any, Emitted] = {}


def signature(function: Any, args: tuple, kwargs: dict, which: Sequence[int | str]) -> Signature | None:
    """The call as the typed path sees it; None where it has no such form."""
    plain = plain_function(unwrapped(function))
    if plain is None or live():
        return None
    f, bound = plain
    ordered = _ordered(f, (*bound, *args), kwargs)
    if ordered is None:
        return None
    slots = f.__code__.co_varnames[:f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
    shapes, leaves, captured = {}, {}, {}
    cells: list[Any] = []
    for slot, v in zip(slots, ordered, strict=True):
        shape, leaves[slot] = described(v)
        if shape is None:
            return None
        shapes[slot] = shape
    for label, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            shape, flat = described(cell.cell_contents)
        except ValueError:
            return None
        if shape is None:
            return None
        captured[label] = shape
        cells += flat
    wanted = [slots[len(bound) + w] if isinstance(w, int) else w for w in which]
    return Signature(f, shapes, captured, wanted, leaves, cells)


def known(sig: Signature, kind: tuple, options: Options, make: Callable[[], Emitted]) -> Emitted | None:
    """The code for a signature, built if need be; None where it cannot be typed."""
    key = (sig.key(), kind, options)
    try:
        found = _KNOWN.get(key)
    except TypeError:
        return None
    if found is None or not _unchanged(found.dependencies):
        try:
            for w in sig.wanted:
                if not all(k.real for k in leaf_kinds(sig.shapes[w])):
                    raise NotTyped(f"the argument {w} holds values without a derivative")
            found = make()
        except NotTyped as problem:
            found = Emitted("", "", None, [], getattr(problem, "dependencies", []), False, refusal=problem)
        _KNOWN[key] = found
    return None if found.refusal is not None else found


def refusal(sig: Signature, kind: tuple, options: Options) -> NotTyped | None:
    """Why there is no code for a signature for which `known` gave None."""
    found = _KNOWN.get((sig.key(), kind, options))
    return None if found is None else found.refusal


# -- building ---------------------------------------------------------------------------------------------------------
def _program(sig: Signature) -> tuple[State, list[str]]:
    """The normal form with a name for every result, and the parameters that are differentiated."""
    s = State(sig.function, sig.shapes, sig.captured, sig.wanted, marked=False)
    try:
        _specialise(s)
    except NotTyped as problem:
        if s.specialiser is not None:
            problem.dependencies = s.specialiser.dependencies
        raise
    program: Program = s.program
    results = []
    s.kinds = [_kind_of_result(e, program) for e in program.results]
    body = list(program.body)
    for e, kind in zip(program.results, s.kinds, strict=True):
        if type(e).__name__ in ("Name", "Constant"):
            results.append(e)
            continue
        y = s.specialiser.names.fresh("y")
        program.kinds[y] = kind
        body.append(Let(y, e))
        results.append(name(y))
    s.program = Program(**{**vars(program), "body": body, "results": results})
    leaves = [n for w in sig.wanted for n in _leaf_names(sig.shapes[w], s.specialiser, w)]
    return s, leaves


def _emitted(s: State, text: str, options: Options, parts: Sequence[str], *, writes: bool, lanes: int) -> Emitted:
    """The text made into functions."""
    made = Emitted(text, s.label, s.structure, list(s.specialiser.captures.values()),
                   list(s.specialiser.dependencies), writes, lanes=lanes, kinds=s.kinds)
    statements = list(walk(s.program.body))
    made.effects, made.loops = (any(isinstance(x, t) for x in statements) for t in (Do, For | While))
    path = cache.stored(text, s.label, repr(options))
    code = compile(text, path, "exec")
    from transad.runtime import typed as helpers
    space: dict[str, Any] = {"np": np, "math": math, "__name__": f"transad_generated_{s.label}", "__file__": path,
                             **{h: getattr(helpers, h) for h in HELPERS if hasattr(helpers, h)},
                             **s.program.constants}
    if options.jit:
        from transad.compiled import module_of
        space = module_of(code, s.program.constants, options, path, [f"{s.label}_{p}" for p in parts])
    else:
        exec(code, space)
    made.functions = {p: space[f"{s.label}_{p}"] for p in parts}
    return made


def build_push(sig: Signature, lanes: int, options: Options) -> Emitted:
    s, leaves = _program(sig)
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    p = push(versions(s.program), [leaves] * lanes, names, s.specialiser.stopped)
    return _emitted(s, texts.push_text(p), options, ["push"], writes=p.writes, lanes=lanes)


def sizes_of(sig: Signature) -> dict[str, int]:
    """The lengths of the array arguments of rank one."""
    return {w: row[0].shape[0] for w, row in sig.leaves.items() if sig.shapes[w].kind == "leaf" and isinstance(
        sig.shapes[w].leaf, Array) and row[0].ndim == 1}


def _apart(sig: Signature, sizes: dict[str, int]) -> tuple[State, Any, Names, list[str], list[tuple[str, int]]]:
    """The program with small arrays as numbers, and what is differentiated: all numbers, and how they were packed."""
    s, _ = _program(sig)
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    given = {_leaf_names(sig.shapes[w], s.specialiser, w)[0]: n for w, n in sizes.items()}
    small = scalarise(s.program, given, names)
    numbers: list[str] = []
    packed: list[tuple[str, int]] = []
    for w in sig.wanted:
        if sig.shapes[w].kind != "leaf":
            raise NotTyped(f"the argument {w} is a structure")
        leaf = _leaf_names(sig.shapes[w], s.specialiser, w)[0]
        if isinstance(sig.shapes[w].leaf, Scalar):
            numbers.append(leaf)
            packed.append((leaf, -1))
            continue
        if leaf not in small.arguments:
            raise NotTyped(f"the elements of {w} are not read one by one")
        numbers += small.arguments[leaf]
        packed.append((leaf, len(small.arguments[leaf])))
    s.program = small.program
    return s, small, names, numbers, packed


def build_gradient(sig: Signature, sizes: dict[str, int], options: Options) -> Emitted:
    """`f_forward`: all lanes in one sweep, seeded with ones."""
    s, small, names, numbers, packed = _apart(sig, sizes)
    if len(numbers) > MOST:
        raise NotTyped("too many inputs for one forward sweep")
    if len(small.program.results) != 1 or small.results != [None] or not isinstance(s.kinds[0], Scalar):
        raise NotTyped("a result that is not one number")
    p = push(versions(small.program), [[n] for n in numbers], names, s.specialiser.stopped, unit=True)
    text = texts.forward_text(p, small.arguments, packed, names)
    return _emitted(s, text, options, ["forward"], writes=p.writes, lanes=len(numbers))


def build_jacobian(sig: Signature, sizes: dict[str, int], options: Options, way: str) -> Emitted:
    """`f_jacobian`: one reverse sweep for each row, or one lane for each column, whichever are fewer."""
    s, small, names, numbers, packed = _apart(sig, sizes)
    if not isinstance(s.structure, Val) or len(small.results) != 1 or not s.kinds[0].real:
        raise NotTyped("a result that is not one number or one array")
    row = small.results[0]
    if row is None and not isinstance(s.kinds[0], Scalar):
        raise NotTyped("a result whose elements are not written one by one")
    columns = [max(n, 1) for _, n in packed]
    rows = 1 if row is None else len(row)
    given, lines = texts.unpacked(small.program.parameters, small.arguments)
    program = versions(small.program)
    if way == "rows" or (way == "auto" and rows <= len(numbers)):
        pair = prune(reverse(program, numbers, names, s.specialiser.stopped))
        body, writes = texts.rows_body(pair, columns, names), pair.writes
    else:
        p = push(program, [[n] for n in numbers], names, s.specialiser.stopped, unit=True)
        body, writes = texts.columns_body(p, columns), p.writes
    text = texts.jacobian_text(s.label, given, lines + body, rows, columns, row is None,
                               [n < 0 for _, n in packed], names)
    return _emitted(s, text, options, ["jacobian_into", "jacobian"], writes=writes, lanes=len(numbers))


def build_hessian(sig: Signature, sizes: dict[str, int], options: Options) -> Emitted:
    """`f_hessian`: a lane for each number through both sweeps."""
    s, small, names, numbers, _packed = _apart(sig, sizes)
    if len(numbers) > MOST or len(small.program.results) != 1 or small.results != [None]:
        raise NotTyped("a Hessian of another form")
    if not isinstance(s.kinds[0], Scalar) or not s.kinds[0].real:
        raise NotTyped("a result that is not one number")
    pair = prune(reverse(versions(small.program), numbers, Names(names.taken), s.specialiser.stopped))
    if pair.writes:
        raise NotTyped("an argument that is written into")
    names.taken |= {*pair.kinds, *pair.seeds, *pair.saved}
    program = joint(pair, names)
    names.taken |= set(program.kinds)
    p = push(versions(program), [[n] for n in numbers], names, unit=True, skip=1)
    return _emitted(s, texts.hessian_text(p, small.arguments, names), options, ["hessian"], writes=p.writes,
                    lanes=len(numbers))


def build_hvp(sig: Signature, options: Options, lanes: int = 1) -> Emitted:
    """`f_push` of the gradient: every lane goes through both sweeps."""
    s, leaves = _program(sig)
    if len(s.kinds) != 1 or not isinstance(s.kinds[0], Scalar) or not s.kinds[0].real:
        raise NotTyped("a result that is not one number")
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    pair = prune(reverse(versions(s.program), leaves, Names(names.taken), s.specialiser.stopped))
    names.taken |= {*pair.kinds, *pair.seeds, *pair.saved}
    program = joint(pair, names)
    names.taken |= set(program.kinds)
    p = push(versions(_named(program, names)), [leaves] * lanes, names)
    return _emitted(s, texts.push_text(p), options, ["push"], writes=p.writes, lanes=lanes)


def _named(program: Program, names: Names) -> Program:
    """The program with a variable for every result."""
    results, body = [], list(program.body)
    for e in program.results:
        if type(e).__name__ not in ("Name", "Constant"):
            y = names.fresh("d_x")
            program.kinds[y] = _kind_of_result(e, program)
            body.append(Let(y, e))
            e = name(y)
        results.append(e)
    return Program(**{**vars(program), "body": body, "results": results})
