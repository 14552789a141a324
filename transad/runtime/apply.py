"""Apply a function that has a rule, and record it in every live sweep in which an argument is active."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingRule, Unsupported
from ..pool import compute
from ..rules.registry import Rule
from .activity import active_in, deepest, lower
from .adjoints import adjoint_rule, copied, element, partials_rule, unary
from .memory import before_write, refuse_subclasses, root_of
from .records import Record, snapshot, store
from .rule_parts import AdjointParts, PartialParts, adjoint_parts, constant_parts, partial_parts
from .short_arrays import forth
from .strided import clear_overlap
from .sweep import Sweep, live
from .var import KIND, VAR_OF, VARS, VarFloat, VarFloat32, VarFloat64, make_var

__all__ = ["apply", "filler", "register"]

# Arguments of functions with adjoints through which no derivative flows even when they are active.
_CONDITIONS = frozenset({"condition", "where", "indices", "mask", "axis", "shape", "condlist", "choicelist_index",
                         "dtype", "k", "decimals", "ord", "tol", "rtol", "atol", "bins", "q_index", "repeats",
                         "indices_or_sections", "side", "sorter", "kth"})
_WRITERS = ("out", "where")


def apply(function: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`, recorded by `rule`."""
    stack = live()
    if not stack:
        return function(*lower(args, 0, stack), **lower(kwargs, 0, stack))
    first: Any = args[0] if len(args) == 1 else None
    if type(first) in _SHORT and not kwargs and rule.partials is not None and first.sweep.fast:
        return _unary(function, rule, first)
    if len(stack) == 1 and not kwargs and rule.partials is not None:
        record = forth(function, rule, args, stack[0])
        if record is not NotImplemented:
            stack[0].tape.append((record, None, partials_rule))
            return record.out
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        outs: Any = args[function.nin:]
        args, kwargs = args[:function.nin], {**kwargs, "out": outs if len(outs) > 1 else outs[0]}
    if rule.adjoints:
        args, kwargs = _kept_whole(rule, args, kwargs)
    if "out" in kwargs:
        if kwargs["out"] is not None:
            return _into(function, rule, args, kwargs)
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    return _apply(function, rule, args, kwargs, stack, len(stack))


def _kept_whole(rule: Rule, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Without `overwrite_a=True` and its like: the argument is needed again. An `out` given by position gets its name."""
    parts = adjoint_parts(rule)
    at = parts.out_position
    if at is not None and len(args) > at:
        if args[at] is not None:
            kwargs = {**kwargs, "out": args[at]}
        kwargs = {**kwargs, **dict(zip(parts.names[at + 1:], args[at + 1:], strict=False))}
        args = args[:at]
    positions = parts.overwrites
    if positions and positions[0] < len(args):
        args = tuple([False if k in positions else a for k, a in enumerate(args)])
    if kwargs and any(name.startswith("overwrite_") for name in kwargs):
        kwargs = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}
    return args, kwargs


def _into(function: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The `out=` form: compute, then store through the same machinery as an assignment."""
    from .indexing import load, setitem
    rest = {k: v for k, v in kwargs.items() if k not in _WRITERS}
    out = kwargs["out"]
    where = kwargs.get("where", True)
    if isinstance(function, np.ufunc) or where is True:
        pass
    else:
        rest["where"], where = where, True
    outs: Any = out if isinstance(out, tuple) else (out,)
    stack = live()
    if deepest([args, list(rest.values()), outs], stack, len(stack)) < 0:
        for each in outs:
            if each is not None:
                before_write(each)
        return function(*lower(args, 0, stack), **lower(kwargs, 0, stack))
    result = apply(function, rule, args, rest)
    results = result if isinstance(result, tuple) else (result,)
    for each, value in zip(outs, results, strict=False):
        if each is None:
            continue
        if not np.can_cast(np.result_type(value), each.dtype, "same_kind"):
            raise TypeError(f"cannot cast the result of {_name(function)} to {each.dtype} of out=")
        if where is True:
            setitem(value, each, Ellipsis)
        else:
            mask = np.broadcast_to(where, each.shape)
            from .calls import call
            setitem(load(call(np.broadcast_to, value, each.shape), mask) if np.ndim(value) else value, each, mask)
    return outs if len(outs) > 1 else outs[0]


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)


def _apply(function: Callable, rule: Rule, args: tuple, kwargs: dict, stack: list[Sweep], limit: int) -> Any:
    if limit == 1:
        level = _level(args, stack[0].roots)
        if kwargs and level >= 0:
            level = max(level, more) if (more := _level(kwargs.values(), stack[0].roots)) >= 0 else more
        if level == 0:
            return compute(function, args, kwargs)
        if level == 1:
            out = compute(function, args, kwargs)
            return _recorded(function, rule, (args, kwargs), (args, kwargs), out, stack[0])
    depth = deepest(args, stack, limit)
    if kwargs and depth < limit - 1:
        depth = deepest(list(kwargs.values()), stack, limit, depth)
    if depth < 0:
        return compute(function, lower(args, 0, stack), lower(kwargs, 0, stack))
    refuse_subclasses(args)
    sweep = stack[depth]
    inner_args = lower(args, depth, stack)
    inner_kwargs = lower(kwargs, depth, stack) if kwargs else kwargs
    if depth:
        out = _apply(function, rule, inner_args, inner_kwargs, stack, depth)
    else:
        out = compute(function, inner_args, inner_kwargs)
    here = (inner_args, inner_kwargs) if rule.nondiff else (
        lower(args, depth + 1, stack), lower(kwargs, depth + 1, stack) if kwargs else kwargs)
    return _recorded(function, rule, here, (inner_args, inner_kwargs), out, sweep)


_CONSTANT = frozenset({float, int, bool, str, type(None), np.float64, np.int64, slice, type(Ellipsis)})


def _level(values: Any, roots: dict) -> int:
    """1 where one of several arrays is active in the only sweep, 0 where none is; -1 for what has to be looked at closely."""
    found = 0
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            if id(value if value.base is None else root_of(value)) in roots:
                found = 1
        elif kind is tuple:
            inner = _level(value, roots)
            if inner < 0:
                return inner
            found = max(found, inner)
        elif kind not in _CONSTANT:
            return -1
    return found


def _recorded(function: Callable, rule: Rule, here: tuple, inner: tuple, out: Any, sweep: Sweep) -> Any:
    """The result of a call, recorded in the innermost sweep in which an argument is active: `here` are the arguments as that
    sweep sees them, `inner` as those outside it do."""
    if rule.nondiff or not _carries(out):
        if KIND[type(out)] == 2 and out.dtype.kind == "O" and not rule.nondiff:
            raise Unsupported(f"{_name(function)} gives an array of objects, which carries no derivative",
                              instead="convert inside it to float, or write it with np.vectorize")
        return out
    if _whole(out) and not _counts(here, sweep):
        return out
    if rule.partials is not None:
        return _record_partials(sweep, rule, function, here[0], inner[0], out)
    return _record_adjoints(sweep, rule, function, here, inner, out)


def _carries(out: Any) -> bool:
    """Whether a result can carry derivative at all."""
    kind = type(out)
    if kind in VAR_OF or kind in VARS:
        return True
    if KIND[kind] == 2:
        return out.dtype.kind in "fciu"
    return isinstance(out, (tuple, list)) and any(_carries(v) for v in out)


def _whole(out: Any) -> bool:
    """Whether a result holds whole numbers."""
    return isinstance(out, (int, np.integer)) or (KIND[type(out)] == 2 and out.dtype.kind in "iu")


def _counts(value: Any, sweep: Sweep) -> bool:
    """Whether whole numbers are differentiated; those that are made from real numbers are cut off, and constant."""
    if isinstance(value, (list, tuple)):
        return any(_counts(v, sweep) for v in value)
    if isinstance(value, dict):
        return any(_counts(v, sweep) for v in value.values())
    return _whole(value) and active_in(value, sweep)


def filler(context: Any, slot: int, entry: tuple) -> None:
    """The slot of a further result of one record."""


def register(sweep: Sweep, out: Any, arguments: Any) -> Any:
    """Make a result active: a Var with a slot, or memory entered in the registry. None when `out` is only a view of
    an argument (its shadow is then a view too, and nothing has to be recorded)."""
    if KIND[type(out)] == 2:
        root = root_of(out)
        if any(root is owner for owner in arguments):
            return None
        if root is not out and clear_overlap(out):      # np.broadcast_to of a number
            out = root = np.array(out)
        sweep.roots[id(root)] = root
        sweep.made.add(id(root))
        return out
    sweep.tape.append((None, None, filler))
    return make_var(sweep, len(sweep.tape) - 1, out)


def _owners(values: Any, found: list) -> list:
    for value in values:
        if KIND[type(value)] == 2:
            found.append(root_of(value))
        elif isinstance(value, (list, tuple)):
            _owners(value, found)
    return found


_NUMBERS = frozenset({int, float, np.float64, np.int64})
_FLOATS = frozenset({float, np.float64, np.float32})
_SHORT = frozenset({VarFloat, VarFloat64, VarFloat32})


def _scalar(value: Any) -> Any:
    """Scalars as NumPy's, whose division and powers never raise."""
    kind = type(value)
    if kind is float:
        return np.float64(value)
    if kind is int:
        return np.float64(value) if abs(value) < 2 ** 63 else value
    return np.complex128(value) if kind is complex else value


def _record_partials(sweep: Sweep, rule: Rule, function: Callable, here: tuple, inner: tuple, out: Any) -> Any:
    parts: PartialParts = partial_parts(rule)
    active = [k for k, value in enumerate(here) if active_in(value, sweep)]
    if rule.constant is not None and active == [0] and type(inner[1]) in _NUMBERS and KIND[type(out)] == 2:
        parts = constant_parts(rule)
    wanted = [(k, part) for k in active if (part := parts.part(k)) is not None]
    if len(wanted) < len(active):
        raise MissingRule(f"{_name(function)} has no derivative rule for argument {active[0]}")
    if KIND[type(out)] != 2 and not any(KIND[type(v)] == 2 for v in inner):
        return _scalar_partials(sweep, rule, here, inner, out, wanted)
    args = tuple(_saved(sweep, value, any(part.reads(k) for _, part in wanted)) for k, value in enumerate(inner))
    uses_out = any(part.takes_out for _, part in wanted)
    made = register(sweep, out, _owners(inner, []))
    if made is None:
        return out
    record = Record([(part.function, part.takes_out, here[k]) for k, part in wanted], args, {}, made,
                    store(sweep, out) if uses_out else None, rule.singular)
    sweep.tape.append((record, None, partials_rule))
    return made


def _saved(sweep: Sweep, value: Any, needed: bool) -> Any:
    if not needed:
        return None
    if KIND[type(value)] == 2:
        return store(sweep, value)
    if isinstance(value, (list, tuple)):
        from .calls import call
        return store(sweep, call(np.asarray, value))
    return _scalar(value)


def _scalar_partials(sweep: Sweep, rule: Rule, here: tuple, inner: tuple, out: Any, wanted: list) -> Any:
    """Scalars: the partial derivatives are evaluated in the reverse sweep, where NumPy's warnings are off."""
    values = inner if _is_exact(rule) else tuple([_scalar(v) for v in inner])
    result = out if _is_exact(rule) else _scalar(out)
    if len(inner) == 1 and type(out) in _FLOATS and _plain_slot(here[0]):
        part = wanted[0][1]
        sweep.tape.append((here[0].index, (part.function, part.takes_out, values[0], result), unary))
    else:
        targets = [(part.function, part.takes_out, here[k]) for k, part in wanted]
        sweep.tape.append((targets, (values, result), element))
    return make_var(sweep, len(sweep.tape) - 1, out)


def _is_exact(rule: Rule) -> bool:
    """Rules of the math module take Python's numbers as they are; the others NumPy's, which never raise."""
    return getattr(rule.function, "__module__", "") == "math"


def _plain_slot(target: Any) -> bool:
    """Whether a target is a Var of a plain real number: its entry needs no projection."""
    return type(target) in VARS and type(target.outer) in _FLOATS


def _unary(function: Callable, rule: Rule, var: Any) -> Any:
    """The short way of one number of the outermost sweep."""
    x = var.outer
    out = function(x)
    part = partial_parts(rule).part(0)
    if part is None or type(out) not in _FLOATS:
        return _apply(function, rule, (var,), {}, live(), len(live()))
    sweep = var.sweep
    tape = sweep.tape
    if _is_exact(rule):
        tape.append((var.index, (part.function, part.takes_out, x, out), unary))
    else:
        tape.append((var.index, (part.function, part.takes_out, _scalar(x), _scalar(out)), unary))
    return make_var(sweep, len(tape) - 1, out)


def _record_adjoints(sweep: Sweep, rule: Rule, function: Callable, here: tuple, inner: tuple, out: Any) -> Any:
    parts: AdjointParts = adjoint_parts(rule)
    owners = _owners(inner[0], _owners(inner[1].values(), []))
    several = isinstance(out, (tuple, list))
    if several:
        made = [register(sweep, o, owners) if _carries(o) else o for o in out]
        views = [m is None for m in made]
        if all(v or not _carries(o) for v, o in zip(views, out, strict=True)):
            return out
    else:
        made = register(sweep, out, owners)
        if made is None:
            return out
    targets, names = [], []
    for name, value in parts.bind(here[0], here[1]):
        if not active_in(value, sweep):
            continue
        adjoint = parts.adjoints.get(name)
        if adjoint is None:
            if name in _CONDITIONS or isinstance(value, (int, np.integer)):      # how many, which: no derivative
                continue
            raise MissingRule(f"{_name(function)} has no derivative rule for its argument {name!r}",
                              instead=f"compute {_name(function)} from operations that have rules, or declare the "
                                      f"rule with @transad.adjoint")
        targets.append((*adjoint, snapshot(value)))
        names.append(name)
    keep_out = out if parts.reads_out else _stand_in(out)
    record = Record(targets, parts.kept_args(sweep, inner[0]), parts.kept_kwargs(sweep, inner[1]),
                    _without_views(made, out) if several else made,
                    store(sweep, keep_out), rule.singular, several, parts.ours)
    if targets:
        record.call = (function, names, parts)
        sweep.tape.append((record, None, adjoint_rule))
    if not several:
        return made
    made = [o if m is None else m for m, o in zip(made, out, strict=True)]
    return type(out)(*made) if hasattr(out, "_fields") else type(out)(made)  # type: ignore[arg-type]


def _without_views(made: Any, out: Any) -> tuple:
    """The results that are views of arguments have their shadow there, and a zero cotangent in the record."""
    return tuple([np.broadcast_to(np.zeros((), o.dtype), o.shape) if m is None else m
                  for m, o in zip(made, out, strict=True)])


def _stand_in(out: Any) -> Any:
    return out


def record_copy(sweep: Sweep, source: Any, copy: np.ndarray) -> None:
    """Record that `copy` is a fresh copy of the array `source`, perhaps of another dtype."""
    sweep.roots[id(copy)] = copy
    sweep.made.add(id(copy))
    sweep.tape.append((source, copy, copied))
