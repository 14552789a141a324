"""What a map with `store=True` keeps of every item for the reverse sweep, and how.

Numbers go into an array with one entry for each item. Arrays whose shape follows from the inputs go into one array with
an axis for the items; a tape of such a shape is written there from the start. Arrays of any other shape are appended to
one list of numbers for each chunk, joined after the map, with the place and the shape of each. The inputs are still
there, and so is what only picks from them.
"""
from __future__ import annotations

import copy
from dataclasses import dataclass, field

from transad.ir import Block, For, Let, Move, Store, walk
from transad.kinds import Array, Kind
from transad.names import Names
from transad.nodes import gast
from transad.passes.bounds import Bounds
from transad.passes.reverse import Pair
from transad.passes.specialise.values import NotTyped
from transad.quote import Node, name, show

_RANKS = (1, 2, 3)          # of arrays of any shape


def dtype(kind: Kind) -> str:
    """The argument that says what an array holds."""
    return "" if kind.dtype == "float64" else ", np.bool_" if kind.dtype == "bool" else f", np.{kind.dtype}"


@dataclass
class Residual:
    """One value of an item that its reverse sweep reads.

    how  "again": `value` picks it from the inputs; "number"; "slot": an array of the item that is a row of `variable`
         from the start; "row": one that is copied there; "any": one of any shape; "list": a tape that grows, in the list
         of the chunk from the start"""

    name: str
    kind: Kind
    how: str
    value: str = ""
    shape: list[str] = field(default_factory=list)
    variable: str = ""
    dims: str = ""
    values_list: str = ""
    dims_list: str = ""
    first: str = ""

    @property
    def varies(self) -> bool:
        """Whether its shape differs from item to item."""
        return self.how in ("any", "list")

    @property
    def kept(self) -> list[str]:
        """The arrays of the map that hold it."""
        return [] if self.how == "again" else [self.variable, self.dims] if self.varies else [self.variable]

    @property
    def lists(self) -> list[str]:
        """The lists of a chunk."""
        return [self.values_list, self.dims_list] if self.varies else []

    def allocated(self, n: str, chunks: str, c: str) -> list[str]:
        """Before the map."""
        if self.varies:
            return [f"{self.variable} = [np.empty(0{dtype(self.kind)}) for {c} in range({chunks})]",
                    f"{self.dims} = [np.empty(0, np.int64) for {c} in range({chunks})]"]
        if self.how == "again":
            return []
        size = f"({', '.join([n, *self.shape])})" if self.shape else n
        return [f"{self.variable} = np.empty({size}{dtype(self.kind)})"]

    def joined(self) -> list[str]:
        """After the map."""
        rank = self.kind.ndim if isinstance(self.kind, Array) else 0
        return [f"{self.variable}, {self.dims} = joined({self.variable}, {self.dims}, {rank + 1})"] if self.varies else []

    def begun(self, at: str) -> list[str]:
        """At the start of an item's forward sweep."""
        if self.how == "list":
            return [f"{self.first} = len({self.values_list})"]
        return [f"{self.name} = {self.variable}[{at}]"] if self.how == "slot" else []

    def ended(self, at: str) -> list[str]:
        """At its end."""
        if self.how == "number":
            return [f"{self.variable}[{at}] = {self.name}"]
        if self.how == "row":
            return [f"copy_to({self.variable}[{at}], {self.name})"]
        if self.how == "list":
            return [f"{self.dims_list}.append({self.first})", f"{self.dims_list}.append(len({self.values_list}) - {self.first})"]
        return [f"record_array({self.values_list}, {self.dims_list}, {self.name})"] if self.how == "any" else []

    def read(self, at: str) -> str:
        """In the reverse sweep."""
        if self.varies:
            return f"replayed_{self.kind.ndim}({self.variable}, {self.dims}, {at})"      # type: ignore[union-attr]
        return self.value if self.how == "again" else f"{self.variable}[{at}]"

    def opened(self) -> list[str]:
        """The lists, at the start of a chunk."""
        zero = {"bool": "False", "float64": "0.0"}.get(self.kind.dtype, f"np.{self.kind.dtype}(0)")
        return [f"{self.values_list} = [{zero} for _ in range(0)]",
                f"{self.dims_list} = [0 for _ in range(0)]"] if self.varies else []

    def closed(self, c: str) -> list[str]:
        """The lists, at its end."""
        return [f"{self.variable}[{c}] = np.array({self.values_list}{dtype(self.kind)})",
                f"{self.dims}[{c}] = np.array({self.dims_list}, np.int64)"] if self.varies else []


def residuals(pair: Pair, bounds: Bounds, names: Names) -> list[Residual]:
    """What the reverse sweep reads of an item. Tapes that are rows of an array of the map, or grow in a list of the chunk,
    are no longer made by the forward sweep."""
    once = _once(pair)
    shapes = copy.copy(bounds)
    shapes.lets = {**bounds.lets, **{v: s.value for v, s in once.items()}}
    shapes.lets = {v: e for v, e in shapes.lets.items() if v in once}
    out = [_residual(v, pair, once, shapes) for v in pair.saved if v not in pair.parameters]
    for r in out:
        made = {"slot": [r.name], "list": [r.name, r.values_list]}.get(r.how, [])
        pair.forward = [s for s in pair.forward if not (isinstance(s, Let) and s.name in made)]
        if r.how != "again":
            r.variable = names.fresh(f"{r.name}s" if r.name.endswith("_tape") else f"{r.name}_kept")
        if r.varies:
            r.dims, r.dims_list, r.first = (names.fresh(f"{r.variable}_{x}") for x in ("dims", "dims_list", "first"))
            r.values_list = names.reserve(r.values_list) if r.how == "list" else names.fresh(f"{r.variable}_list")
    return out


def _once(pair: Pair) -> dict[str, Let]:
    """The variables of the forward sweep that one statement sets, on every path."""
    count: dict[str, int] = dict.fromkeys(pair.parameters, 1)
    for s in walk(pair.forward):
        for v in [s.name] if isinstance(s, Let) else s.targets if isinstance(s, Move) else [s.var] if isinstance(s, For) else []:
            count[v] = count.get(v, 0) + 1
    return {s.name: s for s in pair.forward if isinstance(s, Let) and count[s.name] == 1}


def _residual(v: str, pair: Pair, once: dict[str, Let], shapes: Bounds) -> Residual:
    kind = pair.kinds.get(v)
    if kind is None:
        raise NotTyped(f"the kind of {v}, which the reverse sweep reads, is not known")
    made = once[v].value if v in once else None
    written = {s.array for s in walk(pair.forward) if isinstance(s, Store)}
    if made is not None and v not in written and _picked(made, set(pair.parameters) - _assigned(pair.forward)):
        return Residual(v, kind, "again", show(made))
    if not isinstance(kind, Array):
        return Residual(v, kind, "number")
    dims = [shapes.dimension(name(v), k) for k in range(kind.ndim)]
    if all(d is not None for d in dims):
        empty = made is not None and isinstance(made, gast.Call) and show(made.func) == "np.empty"
        return Residual(v, kind, "slot" if empty else "row", shape=[show(d) for d in dims])
    grown = _grown(made, once)
    if grown:
        return Residual(v, kind, "list", values_list=grown)
    if kind.ndim not in _RANKS:
        raise NotTyped(f"the shape of {v}, an array of {kind.ndim} axes, is not known before the map")
    return Residual(v, kind, "any")


def _grown(made: Node | None, once: dict[str, Let]) -> str:
    """The list that a tape is made of, which starts empty; "" for another array."""
    made = made if made is not None and isinstance(made, gast.Call) and show(made.func) == "np.array" else None
    if made is None or not isinstance(made.args[0], gast.Name):
        return ""
    source = made.args[0].id
    return source if source in once and show(once[source].value) == "[]" else ""


def _assigned(block: Block) -> set[str]:
    from transad.ir import assigned
    return assigned(block)


def _picked(e: Node, given: set[str]) -> bool:
    """Whether an expression only picks from what is given."""
    if isinstance(e, gast.Name):
        return e.id in given
    if isinstance(e, gast.Constant):
        return True
    if isinstance(e, gast.Subscript):
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        return _picked(e.value, given) and all(_picked(i, given) for i in items)
    return isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub) and _picked(e.left, given) and _picked(
        e.right, given)
