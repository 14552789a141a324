"""The short way of elementwise functions of real arrays in a single sweep, forwards and back.

It records and computes what `apply` and `adjoints.partials_rule` do, without asking what cannot be: there is one sweep,
operands are arrays or constant numbers, the result is an array of its own. Anything else takes the general way.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..deferred import Product, computed
from ..pool import compute, multiply
from ..rules.registry import Rule
from .memory import Handle, root_of
from .records import Record
from .reverse import fitted, kept
from .rule_parts import PartialParts, constant_parts, partial_parts
from .sweep import Sweep, live

__all__ = ["back", "forth"]

_NATIVE = (np.ufunc, type(operator.add))
_plans: dict[tuple[int, int, bool], tuple[Rule, Any]] = {}


def _plan(rule: Rule, active: int, constant: bool) -> tuple | None:
    """([(partial derivative, whether it takes the result, position)], positions that they read, whether one takes the
    result); `active` has a bit for each active argument."""
    key = (id(rule), active, constant)
    found = _plans.get(key)
    if found is None or found[0] is not rule:
        parts: PartialParts = constant_parts(rule) if constant else partial_parts(rule)
        chosen = [(k, parts.part(k)) for k in range(active.bit_length()) if active >> k & 1]
        plan = None
        if all(part is not None for _, part in chosen):
            wanted = [(part.function, part.takes_out, k) for k, part in chosen if part is not None]
            read = [any(part is not None and part.reads(k) for _, part in chosen) for k in range(2)]
            plan = wanted, read, any(takes for _, takes, _ in wanted)
        found = _plans[key] = (rule, plan)
    return found[1]


def forth(function: Any, rule: Rule, args: tuple, sweep: Sweep) -> Any:
    """`function(*args)`, recorded in the only sweep; NotImplemented where it has to go the general way."""
    if type(function) not in _NATIVE or (type(function) is np.ufunc and function.nin != len(args)):
        return NotImplemented
    roots, active, bit = sweep.roots, 0, 1
    owners = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray and value.dtype.kind in "fiu":
            root = value if value.base is None else root_of(value)
            owners.append(root)
            if id(root) in roots:
                active |= bit
        elif kind is float or kind is int:
            owners.append(None)
        else:
            return NotImplemented
        bit += bit
    if not active or bit > 4:
        return NotImplemented
    plan = _plan(rule, active, rule.constant is not None and active == 1 and owners[1] is None)
    if plan is None:
        return NotImplemented
    out = compute(function, args, {})
    if type(out) is not np.ndarray or out.base is not None or out.dtype.kind != "f" or any(out is o for o in owners):
        return NotImplemented
    wanted, read, takes_out = plan
    handles, saved = sweep.handles, []
    for k, value in enumerate(args):
        if not read[k]:
            saved.append(None)
        elif owners[k] is None:
            saved.append(np.float64(value) if type(value) is float or abs(value) < 2 ** 63 else value)
        else:
            saved.append(Handle(value))
            handles.setdefault(id(owners[k]), []).append(saved[-1])
    key = id(out)
    roots[key] = out
    sweep.made.add(key)
    result = None
    if takes_out:
        result = Handle(out)
        handles.setdefault(key, []).append(result)
    record = Record([(part, takes, args[k]) for part, takes, k in wanted], saved, {}, out, result, rule.singular)
    record.short = True
    return record


def back(context: Any, record: Record) -> bool:
    """The adjoint of what `forth` recorded; False when other sweeps are live, which have to see it."""
    if live():
        return False
    first, buffers = context.shadows.first, context.shadows.buffers
    found = first.pop(id(record.out), None)
    if found is not None:
        g, own = found[1], found[2]
    else:
        pair = buffers.pop(id(record.out), None)
        if pair is None:
            return True
        g, own = pair[1], True
    args = [v.value if type(v) is Handle else v for v in record.args]
    saved = record.saved_out.value if record.saved_out is not None else None
    left = len(record.targets)
    for part, takes_out, target in record.targets:
        left -= 1
        p = part(*args, out=saved) if takes_out else part(*args)
        if p is None:
            continue
        if type(p) is float:
            c = g if g.shape == target.shape else fitted(g, target)
            fresh = own and not left
            if p != 1.0:
                c, fresh = _scaled(computed(c), p, fresh and c is g), True
            else:
                own = False                     # this target refers to it now
        else:
            g = computed(g)
            c = kept(g, p) if record.singular or context.masked else _times(g, p, own and not left)
            fresh = True
            if c.shape != target.shape:
                c = fitted(c, target)
        key = id(target)
        if (target.base is None and key not in first and key not in buffers and c.dtype is target.dtype
                and c.shape == target.shape and (type(c) is np.ndarray or type(c) is Product)):
            first[key] = (target, c, fresh and type(c) is np.ndarray and c.base is None)
        else:
            context.accumulate(target, c, fresh)
    return True


def _times(g: np.ndarray, p: Any, own: bool) -> Any:
    """`g * p`, in the memory of `g` if it may be written to."""
    if own and type(p) is np.ndarray and p.shape == g.shape and p.dtype is g.dtype and p is not g and g.flags.writeable:
        return np.multiply(g, p, out=g)
    return multiply(g, p)


def _scaled(c: Any, p: float, own: bool) -> Any:
    """`c * p`; where the elements of `c` repeat, only one of each is multiplied."""
    if type(c) is not np.ndarray:
        return c * p
    if own and c.base is None and c.flags.writeable:
        return np.multiply(c, p, out=c)
    if c.nbytes > 1 << 14 and 0 in c.strides:
        one = c[tuple([slice(0, 1) if s == 0 else slice(None) for s in c.strides])]
        return np.broadcast_to(one * p, c.shape)
    return multiply(c, p)
