"""Put the two sweeps together: `f_fwd`, the user's text plus recording lines, and `f_rev`."""
from __future__ import annotations

from collections.abc import Iterable

from transad.ir import Block, Do, Let, Program, Statement
from transad.kinds import Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import activity
from transad.passes.regions import regions
from transad.passes.reverse.adjoint import Adjoint
from transad.passes.reverse.assembly import Assembly
from transad.passes.reverse.availability import Availability
from transad.passes.reverse.pair import Pair
from transad.passes.reverse.references import number_references
from transad.passes.reverse.ruled_calls import refuse_written
from transad.passes.reverse.scopes import scopes
from transad.passes.reverse.shadows import Shadows
from transad.passes.reverse.terms import Term
from transad.passes.reverse.values import Values
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, call, constant, expr, name, tuple_


def reverse(program: Program, wanted: list[str], names: Names, stopped: Iterable[str] = ()) -> Pair:
    """The pair of sweeps of a program with versions, for the cotangents of the parameters `wanted` (plain names)."""
    names.taken |= program.kinds.keys()
    end = Do(constant(None))
    program.body.append(end)
    found = regions(program)
    refuse_written(program.body, found.written)
    active = activity(program, found, {f"{w}@0" for w in wanted}, stopped)
    for p in program.parameters:
        if p in active and base(p) not in wanted:
            raise NotTyped(f"a value that depends on the arguments is stored into {base(p)}")
    values = Values(program, found, scopes(program), names)
    tables = number_references(program, Shadows(program, values, active, Names()), names)
    if tables:
        found = regions(program)
        values = Values(program, found, scopes(program), names)
    shadows = Shadows(program, values, active, names)
    shadows.use_tables(tables)
    available = Availability(program, values, values.scopes, found, names, active)
    shadows.resolve = available.resolve_early
    adjoint = Adjoint(program, values, active, shadows, names, available.resolve)
    root = values.scopes.root
    parameters = [p for p in program.parameters if shadows.is_active_array(p)]
    births: Block = [Let(shadows.of(p), call("np.zeros_like", name(p))) for p in parameters]
    births += shadows.births(root)
    seeds, seeding = _seeds(program, adjoint, names, end)
    shadows.done.add(id(root.block))
    body = births + seeding + adjoint.plain_block(root)
    cotangents = [_result(w, program, adjoint, shadows, active) for w in wanted]
    body.append(Do(tuple_(cotangents)))
    body = available.resolve(root, body)
    body.pop()
    pair = Assembly(program, values, available, found.position, names).pair(seeds, body, cotangents, wanted)
    pair.taped = bool(available.tapes)
    pair.writes = any(found.written(p) for p in program.parameters if p in found.parent)
    return pair


def _seeds(program: Program, adjoint: Adjoint, names: Names, end: Statement) -> tuple[list[str], Block]:
    """The cotangents of the results: parameters of `f_rev`, and how they enter."""
    seeds: list[str] = []
    out: Block = []
    sure = "set" if len(program.results) == 1 else "maybe"          # of several, some may be zero
    for k, e in enumerate(program.results):
        plain = isinstance(e, gast.Name) and "@" in e.id
        if plain and e.id in adjoint.active and not isinstance(program.kinds[base(e.id)], Array):
            if base(e.id) not in adjoint.cotangents:
                d = adjoint.d(e.id)
                seeds.append(d)
                adjoint.live[d] = sure
                continue
        wanted = f"d_{base(e.id)}" if plain else "d_y" if len(program.results) == 1 else f"d_y{k}"
        seed = names.fresh(wanted)
        seeds.append(seed)
        if not adjoint.uses(e, end):
            continue
        kind = adjoint.values.kind(e)
        if isinstance(kind, Array):
            adjoint.shadows.variables[seed] = kind.ndim
        work = adjoint.differentiate(e, Term(1.0, (name(seed),)), end)
        out += adjoint.added(work, end, "", sure)
    return seeds, out


def _result(w: str, program: Program, adjoint: Adjoint, shadows: Shadows, active: set[str]) -> Node:
    kind = program.kinds[w]
    v = f"{w}@0"
    if isinstance(kind, Array):
        if v in active:
            return name(shadows.of(v))
        return call("np.zeros", expr("a.shape", a=name(v))) if not kind.real else call("np.zeros_like", name(v))
    d = adjoint.cotangents.get(w)
    return name(d) if d is not None and d in adjoint.live else constant(0.0)


__all__ = ["Pair", "reverse"]
