"""Forward mode, the call side: directional derivatives, gradients with few inputs, small Jacobians.

Each function here answers None where the typed path does not apply; then the recorded path answers. Code is built
once for a signature; where small arrays become numbers, their lengths belong to the signature.

>>> import numpy as np
>>> def f(x, y):
...     return x * np.sin(y)
>>> y, push = linearize(f, 2.0, 0.0)
>>> push(1.0, 1.0)
2.0
>>> print(forward_text(f, (2.0, 0.0)))
def f_push(x, y, t_x, t_y):
    v = np.sin(y)
    t_y_1 = v * t_x + x * np.cos(y) * t_y
    y_1 = x * v
    return y_1, t_y_1
<BLANKLINE>
"""
from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transad import cache
from transad.describe import Shape, described, leaf_kinds, rebuilt
from transad.emit import HELPERS
from transad.errors import InvalidArgument
from transad.function import options_of, unwrapped
from transad.ir import Let, Program
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
from transad.pipeline import State, _assembled, _kind_of_result, _leaf_names, _specialise
from transad.quote import name
from transad.runtime.sweep import live
from transad.typed import _ordered, _unchanged, plain_function

__all__ = ["FEW", "Emitted", "chosen", "forward_text", "gradient", "hessian", "jacobian", "jvp", "linearize", "pushforward"]

FEW = 8                    # lanes up to which mode="auto" may choose a forward sweep
MOST = 32                  # lanes up to which a forward gradient is one sweep
CHUNK = 8                  # lanes of a sweep where there are more


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


def _known(sig: Signature, kind: tuple, options: Options, make: Callable[[], Emitted]) -> Emitted | None:
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


def _build_push(sig: Signature, lanes: int, options: Options) -> Emitted:
    s, leaves = _program(sig)
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    p = push(versions(s.program), [leaves] * lanes, names, s.specialiser.stopped)
    return _emitted(s, texts.push_text(p), options, ["push"], writes=p.writes, lanes=lanes)


def _sizes(sig: Signature) -> dict[str, int]:
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


def _build_gradient(sig: Signature, sizes: dict[str, int], options: Options) -> Emitted:
    """`f_forward`: all lanes in one sweep, seeded with ones."""
    s, small, names, numbers, packed = _apart(sig, sizes)
    if len(numbers) > MOST:
        raise NotTyped("too many inputs for one forward sweep")
    if len(small.program.results) != 1 or small.results != [None] or not isinstance(s.kinds[0], Scalar):
        raise NotTyped("a result that is not one number")
    p = push(versions(small.program), [[n] for n in numbers], names, s.specialiser.stopped, unit=True)
    text = texts.forward_text(p, small.arguments, packed, names)
    return _emitted(s, text, options, ["forward"], writes=p.writes, lanes=len(numbers))


def _build_jacobian(sig: Signature, sizes: dict[str, int], options: Options, way: str) -> Emitted:
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


def _build_hessian(sig: Signature, sizes: dict[str, int], options: Options) -> Emitted:
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


def _build_hvp(sig: Signature, options: Options) -> Emitted:
    """`f_push` of the gradient: a lane through both sweeps."""
    s, leaves = _program(sig)
    if len(s.kinds) != 1 or not isinstance(s.kinds[0], Scalar) or not s.kinds[0].real:
        raise NotTyped("a result that is not one number")
    names = Names({*s.specialiser.names.taken, *s.program.kinds})
    pair = prune(reverse(versions(s.program), leaves, Names(names.taken), s.specialiser.stopped))
    names.taken |= {*pair.kinds, *pair.seeds, *pair.saved}
    program = joint(pair, names)
    names.taken |= set(program.kinds)
    p = push(versions(_named(program, names)), [leaves], names)
    return _emitted(s, texts.push_text(p), options, ["push"], writes=p.writes, lanes=1)


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


# -- calls ------------------------------------------------------------------------------------------------------------
def _options(function: Any, given: dict[str, Any] | None) -> Options | None:
    chosen = Options.of({**options_of(function), **(given or {})})
    return None if chosen.path == "recorded" else chosen


def _arguments(made: Emitted, sig: Signature) -> list[Any] | None:
    """All arguments of emitted code; None where overlapping memory is written."""
    values = [*sig.inputs, *made.held]
    if made.writes:
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        for k, a in enumerate(arrays):
            if not a.flags.writeable or any(np.may_share_memory(a, b) for b in arrays[:k]):
                return None
    return values


def pushforward(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
                options: dict | None = None) -> tuple[Any, Callable] | None:
    """`(y, push)`; push(tangents of the chosen arguments) is the tangent of y.

    The function runs again for each push; a function that writes into its arguments is left to the recorded path."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    made = _known(sig, ("push", 1), opts, lambda: _build_push(sig, 1, opts))
    if made is None or made.writes:
        return None
    values = [*sig.inputs, *made.held]
    values = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    count = len(made.kinds)
    zeros = [z for w in sig.wanted for z in _flat_tangent(sig.shapes[w], None, sig.leaves[w])]
    y = _assembled(made.structure, iter(_run(made, values, zeros)[:count]))

    def tangent(tangents: tuple) -> Any:
        seeds = [t for w, given in zip(sig.wanted, tangents, strict=True)
                 for t in _flat_tangent(sig.shapes[w], given, sig.leaves[w], w)]
        return _result(made, _run(made, values, seeds), values, seeds)
    return y, tangent


def jvp(function: Any, args: tuple, tangents: tuple, options: dict | None = None) -> tuple[Any, Any] | None:
    """`(y, dy)` in one sweep."""
    opts = _options(function, options)
    which = [k for k, t in enumerate(tangents) if t is not None]
    sig = None if opts is None else signature(function, args, {}, which)
    if sig is None or opts is None or not which:
        return None
    made = _known(sig, ("push", 1), opts, lambda: _build_push(sig, 1, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    seeds = [t for w, k in zip(sig.wanted, which, strict=True)
             for t in _flat_tangent(sig.shapes[w], tangents[k], sig.leaves[w], k)]
    found = _run(made, values, seeds)
    return _assembled(made.structure, iter(found[:len(made.kinds)])), _result(made, found, values, seeds)


def _run(made: Emitted, values: list[Any], seeds: list[Any]) -> tuple:
    with np.errstate(all="ignore"):
        return made.functions["push"](*values, *seeds)


def _result(made: Emitted, found: tuple, values: list[Any], seeds: list[Any]) -> Any:
    """The tangent with the structure of the result, in memory of its own."""
    count = len(made.kinds)
    held = [v for v in (*values, *seeds) if isinstance(v, np.ndarray)]

    def own(y: Any, t: Any) -> Any:
        if isinstance(y, np.ndarray):
            shared = any(np.may_share_memory(t, v) for v in held)
            return t.astype(y.dtype, copy=shared)
        return type(y)(t) if isinstance(y, np.floating) and not isinstance(y, float) else float(t)
    return _assembled(made.structure, iter([own(y, t) for y, t in zip(
        found[:count], found[count:2 * count], strict=True)]))


def _flat_tangent(shape: Shape, tangent: Any, leaves: list[Any], which: Any = "") -> list[Any]:
    """The tangents of the numbers and arrays of one argument, in order."""
    rest = iter(leaves)

    def walk(shape: Shape, t: Any) -> list[Any]:
        if shape.kind == "static":
            return []
        if shape.kind == "leaf":
            value = next(rest)
            if not isinstance(shape.leaf, Array):
                return [0.0 if t is None else float(t)]
            if t is not None and np.shape(t) != value.shape:
                raise InvalidArgument(f"the tangent of argument {which!r} has shape {np.shape(t)}, the argument "
                                      f"{value.shape}")
            return [np.zeros_like(value) if t is None else np.array(t, dtype=value.dtype)]
        if shape.kind == "tuple":
            parts = [None] * len(shape.parts) if t is None else list(t)
            if len(parts) != len(shape.parts):
                raise InvalidArgument(f"the tangent of argument {which!r} has {len(parts)} entries, the argument "
                                      f"{len(shape.parts)}")
        else:
            parts = [None if t is None else getattr(t, n) for n in shape.names]
        return [v for p, x in zip(shape.parts, parts, strict=True) for v in walk(p, x)]
    return walk(shape, tangent)


def gradient(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
             options: Options) -> Callable[[tuple], Any] | None:
    """`f_forward` as a function of the arguments, for arrays of these lengths: (y, gradient), or None."""
    if options.path == "recorded":
        return None
    sig = signature(function, args, kwargs, chosen)
    if sig is None:
        return None
    sizes = _sizes(sig)
    made = _known(sig, ("forward", tuple(sizes.items())), options, lambda: _build_gradient(sig, sizes, options))
    if made is None or made.writes or made.held or sig.cells or len(sig.inputs) != len(args):
        return None
    return made.functions["forward"]


def chosen(fast: Any, args: tuple, typed: Any) -> Callable[..., Any] | None:
    """The short way (`transad.fast`) in forward mode; the lengths of small arrays choose the sweep."""
    rows = [k for k, a in enumerate(args) if type(a) is np.ndarray and a.ndim == 1]
    known: dict[tuple, Callable[..., Any]] = {}

    def sweep(args: tuple) -> Callable[..., Any] | None:
        lanes = sum(np.size(args[p]) for p in fast.positions)
        if fast.options.mode == "auto" and lanes > FEW:
            return None
        found = gradient(fast.function, args, {}, fast.positions, fast.options)
        if found is not None and fast.options.jit:
            from transad.compiled import ready
            ready(found, args, typed.built)
        return found

    first = sweep(args)
    if first is None:
        return None
    if not rows:
        return fast.runner(typed, first)

    def by_length(*args: Any) -> Any:
        key = tuple([len(args[k]) for k in rows])
        run = known.get(key)
        if run is None:
            run = known[key] = fast.runner(typed, sweep(args) or typed.code.joint)
        return run(*args)
    return by_length


def jacobian(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], way: str = "auto",
             options: dict | None = None) -> tuple[Any, list[Any]] | None:
    """`(y, blocks)` of a small function in one call of emitted code."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    made = jacobian_code(sig, opts, way)
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    with np.errstate(all="ignore"):
        y, blocks = made.functions["jacobian"](*values)
    blocks = [blocks] if len(sig.wanted) == 1 else list(blocks)
    return y, [float(b) if isinstance(b, float) else b for b in blocks]


def jacobian_code(sig: Signature, options: Options, way: str = "auto") -> Emitted | None:
    """`f_jacobian` and `f_jacobian_into` for a signature."""
    sizes = _sizes(sig)
    return _known(sig, ("jacobian", way, tuple(sizes.items())), options,
                  lambda: _build_jacobian(sig, sizes, options, way))


def hessian(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str],
            options: dict | None = None) -> tuple[Any, list[Any], list[list[Any]]] | None:
    """`(y, gradients, blocks of second derivatives)` by forward mode over the reverse sweep."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, kwargs, chosen)
    if sig is None or opts is None:
        return None
    sizes = _sizes(sig)
    made = _known(sig, ("hessian", tuple(sizes.items())), opts, lambda: _build_hessian(sig, sizes, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    with np.errstate(all="ignore"):
        y, grad, hess = made.functions["hessian"](*values)
    spans, at = [], 0
    for w in sig.wanted:
        n = -1 if isinstance(sig.shapes[w].leaf, Scalar) else sizes[w]
        spans.append(at if n < 0 else slice(at, at + n))
        at += max(n, 1)

    def part(v: Any) -> Any:
        return v.copy() if isinstance(v, np.ndarray) else float(v)
    return y, [part(grad[a]) for a in spans], [[part(hess[a, b]) for b in spans] for a in spans]


def hvp(function: Any, args: tuple, tangents: tuple, options: dict | None = None) -> list[Any] | None:
    """The Hessian times a direction, one entry per argument."""
    opts = _options(function, options)
    sig = None if opts is None else signature(function, args, {}, range(len(args)))
    if sig is None or opts is None or any(t is None for t in tangents):
        return None
    made = _known(sig, ("hvp",), opts, lambda: _build_hvp(sig, opts))
    values = None if made is None else _arguments(made, sig)
    if made is None or values is None:
        return None
    seeds = [t for w, k in zip(sig.wanted, range(len(args)), strict=True)
             for t in _flat_tangent(sig.shapes[w], tangents[k], sig.leaves[w], k)]
    found = _run(made, values, seeds)
    rest = iter(found[len(found) // 2 + 1:])
    return [rebuilt(sig.shapes[w], (_own(t, v) for t, v in zip(rest, sig.leaves[w], strict=False)), a)
            for w, a in zip(sig.wanted, args, strict=True)]


def _own(t: Any, like: Any) -> Any:
    """A derivative in memory of its own, of the dtype of its argument."""
    return t.astype(like.dtype) if isinstance(t, np.ndarray) else float(t)


def linearize(function: Callable, *primals: Any) -> tuple[Any, Callable]:
    """`(y, push)`: the value, and the linear map from tangents (one per primal) to the tangent of y."""
    found = pushforward(function, primals, {}, range(len(primals)))
    if found is None:
        from transad.runtime.forward import pushforward as recorded
        found = recorded(function, primals, {}, None, False)
    y, push_ = found
    return y, lambda *tangents: push_(tangents)


def forward_text(function: Any, args: tuple, chosen: Sequence[int | str] | None = None, kwargs: dict | None = None,
                 options: dict | None = None) -> str:
    """What `mode="forward"` prints: `f_forward` where the gradient is one sweep, else `f_push`.

    Raises NotTyped where the typed path does not apply."""
    opts = Options.of({**options_of(function), **(options or {}), "jit": False})
    which = list(range(len(args))) if chosen is None else list(chosen)
    sig = signature(function, args, kwargs or {}, which)
    if sig is None:
        raise NotTyped("the arguments are not numbers, arrays and tuples of them")
    if chosen is not None:
        made = _known(sig, ("forward", tuple(_sizes(sig).items())), opts,
                      lambda: _build_gradient(sig, _sizes(sig), opts))
        if made is not None:
            return made.text
    return _build_push(sig, 1, opts).text
