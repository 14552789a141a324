"""Marked calls with `store=True`: their slopes are computed beside their bodies, for the inputs that are differentiated.

>>> from transad.passes.duals import by_dual, slopes_of
>>> from transad.quote import expr, show
>>> body = [Let("s", expr("c * x * x"))]
>>> dual = Dual("square", ["x", "c"], [Let("s", expr("c * x * x")), Let("r", expr("s"))], ["r"], body)
>>> program = Program("f", ["x", "c"], [*body, Let("y", by_dual(expr("s"), dual, 0))], [expr("y")],
...                   dict.fromkeys(["x", "c", "s", "r", "y"], FLOAT))
>>> made = with_slopes(program, ["x"], (), Names(program.kinds))
>>> from transad.ir import dump
>>> print(dump(made.body[:-1]), [(show(x), show(t)) for x, t in slopes_of(made.body[-1].value)], sep="; ")
t_s = 2.0 * c * x
s = c * x * x; [('x', 't_s')]
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from transad.ir import Block, For, If, Let, Program, While, walk
from transad.kinds import FLOAT, Array
from transad.names import Names
from transad.nodes import gast
from transad.passes.activity import activity
from transad.passes.duals import Dual, by_slopes, dual_of
from transad.passes.forward.lanes import item_lanes
from transad.passes.forward.push import Push, push
from transad.passes.regions import regions
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import versions
from transad.quote import name

_ROW = Array("float64", 1)


@dataclass
class _Stored:
    """A call with its slopes: one for each of `lanes`, of which `elements` assigns those that stand for elements."""

    push: Push
    lanes: list[str]
    elements: list[Let]


def with_slopes(program: Program, wanted: list[str], stopped: Iterable[str], names: Names) -> Program:
    """The program with the slopes of such calls, where `_lanes` finds them to be numbers; the other calls stay as they
    are, and are run again in the reverse sweep."""
    lanes = _lanes(program, wanted, stopped)
    return Program(**{**vars(program), "body": _block(program.body, program, lanes, names)}) if lanes else program


def _lanes(program: Program, wanted: list[str], stopped: Iterable[str]) -> dict[Dual, list[str]]:
    """The differentiated inputs of each such call. They and its results are numbers, or arrays of which the body reads
    elements under literal indices."""
    marked = [found[0] for s in walk(program.body) if isinstance(s, Let) and (found := dual_of(s.value)) is not None]
    if all(dual.statements is None for dual in marked):
        return {}
    versioned = versions(program)
    active = activity(versioned, regions(versioned), {f"{w}@0" for w in wanted}, stopped)
    out: dict[Dual, list[str]] = {}
    for s in walk(versioned.body):
        found = dual_of(s.value) if isinstance(s, Let) else None
        if found is None or found[0].statements is None or not isinstance(s, Let):
            continue
        dual = found[0]
        mine = [v for v, x in zip(dual.inputs, s.value.args[3:], strict=True) if isinstance(x, gast.Name) and x.id in active]
        arrays = [v for v in mine if program.kinds[v] == _ROW]
        if mine and all(program.kinds[v] == FLOAT for v in dual.results) and all(
                v in arrays or program.kinds[v] == FLOAT for v in mine) and all(
                item_lanes(_body(dual, program), [v], Names(program.kinds), {}) for v in arrays):
            out[dual] = mine
    return out


def _block(block: Block, program: Program, lanes: dict[Dual, list[str]], names: Names) -> Block:
    out: Block = []
    made: dict[Dual, _Stored] = {}
    place = {id(s): k for k, s in enumerate(block)}
    starts: dict[int, Dual] = {}
    for s in block:
        found = dual_of(s.value) if isinstance(s, Let) else None
        if found is not None and found[0] in lanes and found[0] not in made:
            dual = found[0]
            places = [place.get(id(x), -1) for x in dual.statements or []]
            first = places[0] if places else place[id(s)]
            if first >= 0 and places == list(range(first, first + len(places))):
                try:
                    made[dual] = _stored(dual, lanes[dual], program, names)
                except NotTyped:
                    continue
                starts[first] = dual
    skip = 0
    for k, s in enumerate(block):
        if k in starts:
            out += made[starts[k]].elements + made[starts[k]].push.body
            skip = len(starts[k].statements or [])
        if skip:
            skip -= 1
            continue
        found = dual_of(s.value) if isinstance(s, Let) else None
        if isinstance(s, Let) and found is not None and found[0] in made:
            dual, p = found[0], made[found[0]].push
            pairs = [(name(x), row[found[1]]) for x, row in zip(made[dual].lanes, p.tangents, strict=True)]
            value = by_slopes(p.results[found[1]], Dual(dual.label, dual.inputs, p.body, []), pairs)
            out.append(Let(s.name, value, line=s.line, source=s.source))
        elif isinstance(s, If):
            out.append(replace(s, then=_block(s.then, program, lanes, names), orelse=_block(s.orelse, program, lanes, names)))
        elif isinstance(s, For | While):
            out.append(replace(s, body=_block(s.body, program, lanes, names)))
        else:
            out.append(s)
    return out


def _body(dual: Dual, program: Program) -> Program:
    return Program(dual.label, dual.inputs, dual.body, [name(y) for y in dual.results], program.kinds, program.constants)


def _stored(dual: Dual, inputs: list[str], program: Program, names: Names) -> _Stored:
    """The body with tangents, under its own names; elements of arrays are variables before it."""
    body = _body(dual, program)
    lanes: list[str] = []
    elements: list[Let] = []
    for v in inputs:
        if program.kinds[v] == FLOAT:
            lanes.append(v)
            continue
        found = item_lanes(body, [v], names, {})
        assert found is not None
        body = found.program
        lanes += [lane.name for lane in found.lanes]
        elements += [Let(lane.name, lane.argument) for lane in found.lanes]
    program.kinds.update({s.name: FLOAT for s in elements})
    p = push(versions(body), [[v] for v in lanes], names, unit=True)
    program.kinds.update({n: k for n, k in p.kinds.items() if n not in program.kinds})
    return _Stored(p, lanes, elements)
