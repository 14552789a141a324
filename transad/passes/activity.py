"""Which versions depend on the arguments that are differentiated.

Arrays are active by region: once something active is stored into a region, every name for it is active.

>>> from transad.passes.regions import regions
>>> from transad.quote import expr, name
>>> from transad.kinds import FLOAT
>>> program = Program("f", ["x@0", "c@0"], [Let("y@1", expr("x * c", x=name("x@0"), c=name("c@0"))),
...                   Let("z@1", expr("c + 1.0", c=name("c@0")))], [], dict.fromkeys("xcyz", FLOAT))
>>> sorted(activity(program, regions(program), {"x@0"}))
['x@0', 'y@1']
"""
from __future__ import annotations

from collections.abc import Iterable

from transad.ir import Block, For, If, Let, Move, Program, Store, While
from transad.kinds import Array, Scalar, kind_of
from transad.nodes import gast
from transad.passes.duals import inputs_of, is_marked
from transad.passes.regions import Regions
from transad.passes.ruled import arguments, is_ruled
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, names_in, rebuilt

# Calls and attributes whose result carries no derivative.
FLAT = {"len", "int", "bool", "round", "np.sign", "np.floor", "np.ceil", "np.trunc", "np.rint", "math.floor",
        "math.ceil", "math.trunc", "np.argmax", "np.argmin", "np.zeros", "np.empty", "np.ones", "np.zeros_like",
        "np.empty_like", "np.ones_like", "np.arange", "np.eye", "np.isnan", "np.isinf", "np.isfinite", "math.isnan",
        "math.isinf", "math.isfinite", "np.any", "np.all", "np.int64", "stop_gradient", "range", "np.logical_not"}


def carries(kind: object) -> bool:
    """Whether a value of this kind can carry a derivative."""
    return isinstance(kind, Scalar | Array) and kind.real


def activity(program: Program, found: Regions, wanted: set[str], stopped: Iterable[str] = ()) -> set[str]:
    """The active versions, given the active parameters (`name@0`)."""
    active = {v for v in wanted if carries(program.kinds.get(base(v)))}
    walker = _Activity(program, found, active, set(stopped))
    while True:
        before = len(active)
        walker.block(program.body)
        for result in program.results:
            walker.refuse_complex(_kind_of_value(result, program), carriers(result))
        roots = {found.find(v) for v in active if v in found.parent}
        active |= {v for v in found.parent if found.find(v) in roots}
        if len(active) == before:
            return active


def _kind_of_value(e: Node, program: Program) -> object:
    """The kind of a result; of an expression, complex if one of its parts is."""
    parts = [n for n in gast.walk(e) if isinstance(n, gast.Name | gast.Constant)]
    kinds = [program.kinds.get(base(n.id)) if isinstance(n, gast.Name) else kind_of(n.value) for n in parts]
    return next((k for k in kinds if k is not None and k.dtype.startswith("complex")), None)


def used_as_number(program: Program, found: Regions, integers: set[str]) -> bool:
    """Whether integer parameters (`name@0`) reach a real number or a result: not only a range, an index or a shape."""
    walker = _Activity(program, found, set(integers), set(), integers=True)
    before = -1
    while len(walker.active) != before:
        before = len(walker.active)
        walker.block(program.body)
    reached = any(carries(program.kinds.get(base(v))) for v in walker.active)
    return reached or any(v in walker.active for e in program.results for v in carriers(e))


class _Activity:
    def __init__(self, program: Program, found: Regions, active: set[str], stopped: set[str],
                 integers: bool = False) -> None:
        self.program, self.regions, self.active, self.stopped = program, found, active, stopped
        self.integers = integers

    def refuse_complex(self, kind: object, sources: list[str]) -> None:
        """A complex number that depends on an active one has a derivative, which these sweeps would leave out."""
        if isinstance(kind, Scalar | Array) and kind.dtype.startswith("complex") and not self.integers and any(
                v in self.active for v in sources):
            raise NotTyped("complex numbers that depend on a differentiated argument")

    def mark(self, version: str, sources: list[str]) -> None:
        kind = self.program.kinds.get(base(version))
        if base(version) not in self.stopped:
            self.refuse_complex(kind, sources)
        if base(version) not in self.stopped and (carries(kind) or self.integers):
            if any(v in self.active for v in sources):
                self.active.add(version)

    def without_counters(self, e: Node) -> Node:
        """A recursive call as it is, less the integers that only count in the function."""
        entry = self.program.recursive.get(e.func.id) if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) else None
        if entry is None:
            return e
        return rebuilt(e, {"args": [a for k, a in enumerate(e.args) if k not in entry.counted]})

    def block(self, block: Block) -> None:
        for s in block:
            if isinstance(s, Let):
                self.mark(s.name, carriers(self.without_counters(s.value) if self.integers else s.value))
            elif isinstance(s, Move):
                for t, v in zip(s.targets, s.sources, strict=True):
                    self.mark(t, [v])
            elif isinstance(s, Store):
                self.mark(s.array, carriers(s.value))
            elif isinstance(s, If):
                self.block(s.then)
                self.block(s.orelse)
                for phi in s.phis:
                    self.mark(phi.out, [phi.then, phi.orelse])
            elif isinstance(s, For | While):
                for phi in s.phis:
                    self.mark(phi.head, [phi.entry, phi.end])
                self.block(s.body)
                for phi in s.phis:
                    self.mark(phi.head, [phi.end])
                    self.mark(phi.out, [phi.entry, phi.end])


def carriers(e: Node) -> list[str]:
    """The names through which an expression's value can carry a derivative: no index, shape, test or flat call."""
    if isinstance(e, gast.Name):
        return [e.id]
    if isinstance(e, gast.Subscript):
        return carriers(e.value)
    if isinstance(e, gast.Attribute):
        return carriers(e.value) if e.attr == "T" else []
    if isinstance(e, gast.BinOp):
        return [] if isinstance(e.op, gast.FloorDiv) else carriers(e.left) + carriers(e.right)
    if isinstance(e, gast.UnaryOp):
        return [] if isinstance(e.op, gast.Not | gast.Invert) else carriers(e.operand)
    if isinstance(e, gast.Call):
        if isinstance(e.func, gast.Name):
            if e.func.id in FLAT:
                return []
            if is_marked(e):
                return [v for a in inputs_of(e) for v in carriers(a)]
            if is_ruled(e):
                return [v for a in arguments(e).values() for v in carriers(a)]
            args = e.args[1:] if e.func.id == "np.where" else e.args[:1] if e.func.id == "gather" else e.args
            return [v for a in args for v in carriers(a)]
        return carriers(e.func.value) if isinstance(e.func, gast.Attribute) else list(names_in(e))
    if isinstance(e, gast.Tuple):
        return [v for x in e.elts for v in carriers(x)]
    return []
