"""Values as the adjoint may read them.

An adjoint statement reads values of the forward sweep. A sub-expression whose operands are still there is read as it
is; an element that is overwritten later, or the result of an expensive call, is read under a *pseudo* version: a
value that the forward sweep names, and keeps if the adjoint really reads it.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.ir import For, If, Let, Program, Statement, While
from transad.kinds import BOOL, FLOAT, INT, Array, Kind, Scalar, divided, result_kind
from transad.names import Names
from transad.nodes import gast
from transad.passes.regions import Regions
from transad.passes.reverse.scopes import Definition, Scopes
from transad.passes.ruled import is_ruled
from transad.passes.specialise.values import NotTyped
from transad.passes.versions import base
from transad.quote import Node, expr, name, names_in, rebuilt, show

CHEAP = {"abs", "np.abs", "np.absolute", "np.fabs", "math.fabs", "float", "int", "len", "min", "max", "np.sign",
         "bool", "np.float64", "np.int64", "np.maximum", "np.minimum", "range", "round"}
ALLOCATIONS = {"np.zeros", "np.ones", "np.empty", "np.zeros_like", "np.ones_like", "np.empty_like", "np.arange",
               "np.linspace", "np.eye"}
_INTEGER_CALLS = {"len", "int", "round", "math.floor", "math.ceil", "math.trunc", "np.argmax", "np.argmin", "np.int64"}
_TESTS = {"np.isnan", "np.isinf", "np.isfinite", "math.isnan", "math.isinf", "math.isfinite", "np.any", "np.all",
          "bool", "np.logical_not"}


@dataclass(eq=False)
class Pseudo:
    """A value that the adjoint reads and the user did not name."""

    version: str
    value: Node
    before: Statement
    replaced: str = ""
    after: bool = False


@dataclass
class Values:
    """What the adjoint reads from the forward sweep."""

    program: Program
    regions: Regions
    scopes: Scopes
    names: Names
    pseudos: dict[tuple[int, str], Pseudo] = field(default_factory=dict)
    counts: dict[int, str] = field(default_factory=dict)
    unbounded: set[str] | None = None

    # -- kinds of expressions -------------------------------------------------------------------------------------
    def kind(self, e: Node) -> Kind:
        """The kind of an expression over versions."""
        if isinstance(e, gast.Name):
            known = self.program.kinds.get(base(e.id))
            if known is None:
                raise NotTyped(f"the kind of {base(e.id)} is not known")
            return known
        if isinstance(e, gast.Constant):
            return {bool: BOOL, int: INT, complex: Scalar("complex128")}.get(type(e.value), FLOAT)
        if isinstance(e, gast.Subscript):
            return self.subscript_kind(e)
        if isinstance(e, gast.BinOp):
            kind = result_kind(self.kind(e.left), self.kind(e.right))
            return divided(kind) if isinstance(e.op, gast.Div) else kind
        if isinstance(e, gast.UnaryOp):
            return BOOL if isinstance(e.op, gast.Not) else self.kind(e.operand)
        if isinstance(e, gast.Compare):
            kinds = [self.kind(v) for v in (e.left, *e.comparators)]
            ndim = max(k.ndim if isinstance(k, Array) else 0 for k in kinds)
            return Array("bool", ndim) if ndim else BOOL
        if isinstance(e, gast.BoolOp):
            return BOOL
        if isinstance(e, gast.Attribute):
            return self.kind(e.value) if e.attr == "T" else INT
        assert isinstance(e, gast.Call), show(e)
        return self.call_kind(e)

    def subscript_kind(self, e: Node) -> Kind:
        if isinstance(e.value, gast.Attribute):
            return INT
        if isinstance(e.value, gast.Call):
            return Array("int64", 1)            # the rows or the columns of a triangle
        owner = self.kind(e.value)
        assert isinstance(owner, Array)
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        left = owner.ndim
        for i in items:
            if isinstance(i, gast.Constant) and i.value is None:
                left += 1
            elif not isinstance(i, gast.Slice):
                left -= 1
        return Array(owner.dtype, left) if left else owner.element

    def call_kind(self, e: Node) -> Kind:
        if isinstance(e.func, gast.Attribute):
            return self.kind(e.func.value)
        f = e.func.id
        if is_ruled(e):
            raise NotTyped(f"{show(e)} inside another expression")
        if f in self.program.recursive:
            return self.program.recursive[f].kind
        if f in _INTEGER_CALLS:
            return INT
        if f in ALLOCATIONS:
            return self.allocation_kind(e)
        if f == "reshaped":
            return Array(self.kind(e.args[0]).dtype, len(e.args[1].elts))
        if f == "np.argsort":
            return Array("int64", 1)
        if f == "np.transpose":
            return self.kind(e.args[0])
        if f == "gather":
            return self.gathered_kind(*e.args)
        kinds = [self.kind(a) for a in e.args]
        if f in _TESTS:
            return Array("bool", kinds[0].ndim) if isinstance(kinds[0], Array) and f not in ("np.any", "np.all") else BOOL
        if f in ("np.sum", "np.max", "np.min"):
            return Scalar(kinds[0].dtype)
        if f == "float" or f.startswith("math.") or f == "np.float64":
            return FLOAT
        kind = kinds[0]
        for k in kinds[1:]:
            kind = result_kind(kind, k)
        return kind if f in CHEAP else divided(kind)

    def gathered_kind(self, array: Node, index: Node) -> Kind:
        """The kind of `array[index]` for an array of integers or truth values, or a tuple of arrays and integers."""
        parts = [self.kind(i) for i in (index.elts if isinstance(index, gast.Tuple) else [index])]
        new = max(1 if p.dtype == "bool" else p.ndim for p in parts if isinstance(p, Array))
        used = sum(p.ndim if isinstance(p, Array) and p.dtype == "bool" else 1 for p in parts)
        owner = self.kind(array)
        assert isinstance(owner, Array)
        return Array(owner.dtype, owner.ndim - used + new)

    def allocation_kind(self, e: Node) -> Kind:
        """The kind of `np.zeros(shape, dtype)` and the like."""
        if e.func.id.endswith("_like"):
            return self.kind(e.args[0])
        dtype = "float64"
        if len(e.args) > 1 and isinstance(e.args[1], gast.Name) and e.args[1].id.startswith("np."):
            dtype = e.args[1].id[3:].rstrip("_")
        if e.func.id == "np.arange":
            kinds = [self.kind(a) for a in e.args]
            dtype = "int64" if all(k.dtype in ("int64", "bool") for k in kinds) else "float64"
        rank = len(e.args[0].elts) if isinstance(e.args[0], gast.Tuple) else 2 if e.func.id == "np.eye" else 1
        return Array(dtype, rank)

    # -- reading --------------------------------------------------------------------------------------------------
    def of(self, e: Node, s: Statement) -> Node:
        """The expression with which the adjoint of `s` reads the value of `e`."""
        if isinstance(e, gast.Constant):
            return e
        if isinstance(e, gast.Name):
            return self.whole(e, s)
        if isinstance(e, gast.Subscript):
            return self.load(e, s)
        if _extent(e) and not self.at_hand(e):
            return self.pseudo(e, s)
        if isinstance(e, gast.Attribute) or _extent(e):
            return e
        if isinstance(e, gast.Call) and getattr(e.func, "id", "") in ALLOCATIONS and not e.func.id.endswith("_like"):
            return rebuilt(e, {"args": [self.index(a, s) for a in e.args]})
        if isinstance(e, gast.Call) and not self.cheap_call(e):
            return self.pseudo(e, s)
        return self.inside(e, s)

    def cheap_form(self, e: Node, s: Statement, wanted: set[str]) -> Node | None:
        """The value of `e` at `s` from values that the adjoint has anyway and from arrays that are still there;
        None if it would take an expensive call or an element that is overwritten."""
        known = self.pseudos.get((id(s), show(e)))
        if known is not None and known.version in wanted:
            return name(known.version)
        if isinstance(e, gast.Constant) or (isinstance(e, gast.Attribute) and e.attr != "T"):
            return e
        if _extent(e):
            return e if self.at_hand(e) else None
        if isinstance(e, gast.Name):
            stable = not isinstance(self.program.kinds.get(base(e.id)), Array) or self.regions.stable(e.id, s)
            return e if stable else None
        if isinstance(e, gast.Subscript) and not isinstance(e.value, gast.Attribute):
            if isinstance(self.kind(e), Array):
                return None
            if self.regions.stable(e.value.id, s):
                return rebuilt(e, {"slice": self.index(e.slice, s)})
            loop = self.reading_loop(e, s)
            return self.load(e, s) if loop is not None else None
        if isinstance(e, gast.Call) and not self.cheap_call(e):
            return None
        changed: dict[str, Any] = {}
        for f in e._fields:
            v = getattr(e, f, None)
            if isinstance(v, gast.AST) and f not in ("op", "func", "ctx"):
                changed[f] = self.cheap_form(v, s, wanted)
            elif isinstance(v, list) and f in ("args", "comparators", "values", "elts"):
                changed[f] = [self.cheap_form(x, s, wanted) for x in v]
                if any(x is None for x in changed[f]):
                    return None
        if any(v is None for v in changed.values()):
            return None
        return rebuilt(e, changed)

    def at_hand(self, extent: Node) -> bool:
        """Whether the reverse sweep has the array whose length is asked for: one made before all loops."""
        return all(not self.scopes.defined[n].scope.in_loop for n in names_in(extent) if "@" in n)

    def inside(self, e: Node, s: Statement) -> Node:
        changed: dict[str, Any] = {}
        for f in e._fields:
            v = getattr(e, f, None)
            if isinstance(v, gast.AST) and f not in ("op", "func", "ctx"):
                new = self.of(v, s)
                if new is not v:
                    changed[f] = new
            elif isinstance(v, list) and f in ("args", "comparators", "values", "elts"):
                items = [self.of(x, s) for x in v]
                if any(a is not b for a, b in zip(items, v, strict=True)):
                    changed[f] = items
        return rebuilt(e, changed) if changed else e

    def cheap_call(self, e: Node) -> bool:
        if isinstance(e.func, gast.Name) and e.func.id in CHEAP:
            return isinstance(self.kind(e), Scalar)
        return False

    def whole(self, e: Node, s: Statement) -> Node:
        """An array as a value: itself if nothing overwrites it later, else a copy made before `s`."""
        if not isinstance(self.program.kinds.get(base(e.id)), Array) or self.regions.stable(e.id, s):
            return e
        return self.pseudo(expr("a.copy()", a=e), s, replaced="")

    def load(self, e: Node, s: Statement) -> Node:
        if isinstance(e.value, gast.Attribute):
            return e
        array = e.value.id
        if self.regions.stable(array, s):
            return rebuilt(e, {"slice": self.index(e.slice, s)})
        if isinstance(self.kind(e), Array):
            return self.pseudo(expr("a.copy()", a=e), s, replaced="")
        loop = self.reading_loop(e, s)
        if loop is not None:
            copy = self.pseudo(expr("a.copy()", a=e.value), loop, replaced="")
            return rebuilt(e, {"value": copy, "slice": self.index(e.slice, s)})
        return self.pseudo(e, s)

    def index(self, i: Node, s: Statement) -> Node:
        if isinstance(i, gast.Name) and "." in i.id:
            return i
        if isinstance(i, gast.Tuple | gast.Slice):
            parts = {f: [self.index(x, s) for x in i.elts] for f in ("elts",) if isinstance(i, gast.Tuple)}
            if isinstance(i, gast.Slice):
                parts = {f: self.index(v, s) for f in ("lower", "upper", "step")
                         if (v := getattr(i, f, None)) is not None}
            return rebuilt(i, parts)
        return self.of(i, s)

    def reading_loop(self, e: Node, s: Statement) -> Statement | None:
        """The outermost loop that only reads this array and walks over all of it: one copy at its entry is worth
        more than one saved element for each read."""
        if "snapshots" in self.program.off:
            return None
        found = None
        loops = self.scopes.of_statement[id(s)].loops
        for loop in reversed(loops):
            made_inside = self.scopes.defined[e.value.id].scope.within(self.scopes.of_block[id(loop.body)])
            if made_inside or self.regions.written_in(e.value.id, loop):
                break
            found = loop
        if found is None:
            return None
        inner = {lp.var for lp in loops[loops.index(found):] if isinstance(lp, For)}
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        used = [inner & set(names_in(i)) for i in items]
        affine = all(isinstance(i, gast.Name | gast.Constant | gast.BinOp) for i in items)
        covered = len(set().union(*used)) == len(items) and all(len(u) == 1 for u in used)
        return found if affine and covered else None

    def pseudo(self, e: Node, s: Statement, replaced: str | None = None) -> Node:
        """The name of a value that the forward sweep computes just before (or in) `s`."""
        after = False
        if isinstance(s, Let) and show(s.value) == show(e):
            if not isinstance(self.program.kinds[base(s.name)], Array) or self.regions.stable(s.name, s, after=True):
                return name(s.name)
            e, replaced, after = expr("a.copy()", a=name(s.name)), "", True
        key = (id(s), show(e))
        if key not in self.pseudos:
            kind = self.kind(e)
            variable = self.names.fresh(_wanted(e, kind))
            self.program.kinds[variable] = kind
            version = f"{variable}@0"
            self.pseudos[key] = Pseudo(version, e, s, show(e) if replaced is None else replaced, after)
            scope = self.scopes.of_statement[id(s)]
            position = self.scopes.position[id(s)] + (0.1 if after else -0.5) + 0.1 * len(self.pseudos) / (len(self.pseudos) + 1)
            self.scopes.defined[version] = Definition(version, "pseudo", scope, position, s)
            if isinstance(kind, Array):
                self.regions.parent.setdefault(version, version)
                self.regions.births.setdefault(version, []).append(self.regions.loops[id(s)])
        return name(self.pseudos[key].version)

    def count(self, loop: Statement) -> Node:
        """How many trips a loop made, for one that may end early."""
        if id(loop) not in self.counts:
            variable = self.names.fresh("trips")
            self.program.kinds[variable] = INT
            version = self.counts[id(loop)] = f"{variable}@0"
            scope = self.scopes.of_statement[id(loop)]
            self.scopes.defined[version] = Definition(version, "count", scope,
                                                      self.scopes.position[id(loop)] + 0.25, loop)
        return name(self.counts[id(loop)])

    def test(self, e: Node, s: If | While) -> Node:
        """A condition: recomputed, or kept as a flag where it reads what is overwritten or expensive."""
        if self.plain(e, s):
            return e
        return self.pseudo(e, s)

    def plain(self, e: Node, s: Statement) -> bool:
        if (_extent(e) and self.at_hand(e)) or (isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute)
                          and e.value.attr == "shape"):
            return True
        if isinstance(e, gast.Subscript) and not isinstance(e.value, gast.Attribute):
            return self.regions.stable(e.value.id, s) and self.plain(e.slice, s)
        if isinstance(e, gast.Call) and not self.cheap_call(e):
            return False
        if isinstance(e, gast.Name) and isinstance(self.program.kinds.get(base(e.id)), Array):
            return self.regions.stable(e.id, s)
        return all(self.plain(c, s) for c in gast.iter_child_nodes(e)
                   if not isinstance(c, gast.operator | gast.unaryop | gast.boolop | gast.cmpop | gast.expr_context)
                   and not (isinstance(e, gast.Call) and c is e.func))


def _extent(e: Node) -> bool:
    """`len(a)` or `a.size`: what an array holds does not matter."""
    return (isinstance(e, gast.Call) and getattr(e.func, "id", "") == "len" and isinstance(e.args[0], gast.Name)) or (
        isinstance(e, gast.Attribute) and e.attr in ("size", "shape"))


def _wanted(e: Node, kind: Kind) -> str:
    if isinstance(kind, Array):
        return next((base(n) for n in names_in(e) if "." not in n), "a")
    if kind == BOOL:
        return "cond"
    if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name):
        return f"{base(e.value.id)}_i"
    return "t"
