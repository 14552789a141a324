"""What the text shows of the shapes of arrays: which have one shape whatever the run."""
from __future__ import annotations

from typing import Any

from transad.ir import For, If, Let, Move, Phi, While
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.duals import value_of
from transad.passes.regions import view_of
from transad.passes.ruled import is_ruled
from transad.passes.specialise.values import Part
from transad.passes.versions import base
from transad.quote import Node, names_in, show

ZEROS = {"np.zeros", "np.empty", "np.ones"}


class Shapes(Part):
    """The part of the shadows that compares shapes."""

    def shape_class(self, version: str) -> str:
        """Arrays of one class have one shape, whatever the run."""
        version = self.shapes.get(version, version)
        seen = set()
        while version not in seen:
            seen.add(version)
            found = self.scopes.defined.get(version)
            s = found.statement if found is not None else None
            if isinstance(s, Let) and found is not None and found.how == "let":
                like = self.shape_like(s.value)
                if like is None:
                    return version
                version = like
            elif isinstance(s, Move) and found is not None and found.how == "move":
                version = s.sources[s.targets.index(version)]
            elif isinstance(s, For | While) and found is not None and found.how in ("head", "out"):
                return self.carried_class(version, s)
            else:
                return version
        return version

    def carried_class(self, version: str, s: For | While) -> str:
        """The shape class of a carried name: that of the entries, where a trip only trades arrays of one class."""
        by_head = {p.head: p for p in s.phis}
        phi = next(p for p in s.phis if version in (p.head, p.out))
        ring = []
        while phi not in ring:
            ring.append(phi)
            following = by_head.get(self.resolved(phi.end))
            if following is None:
                return version
            phi = following
        classes = {self.shape_class(p.entry) for p in ring}
        return classes.pop() if len(classes) == 1 else version

    def shape_like(self, e: Node) -> str | None:
        """An array that has the shape of the result, where the text shows one."""
        e = value_of(e)
        if isinstance(e, gast.Name):
            return e.id
        if is_ruled(e):
            return None
        if isinstance(e, gast.Call):
            if isinstance(e.func, gast.Attribute) and e.func.attr in ("copy", "astype"):
                return self.shape_like(e.func.value)
            if isinstance(e.func, gast.Name) and e.func.id.endswith("_like"):
                return self.shape_like(e.args[0])
            if isinstance(e.func, gast.Name) and e.func.id in ZEROS:
                return self.length_of(e.args[0])
            if isinstance(e.func, gast.Name) and e.func.id in ("np.where", "gather", "np.dot", "np.transpose", "reshaped"):
                return None
        if isinstance(e, gast.BinOp | gast.UnaryOp | gast.Call):
            arrays = {n for n in names_in(e) if isinstance(self.program.kinds.get(base(n)), Array)}
            made = any(n in ZEROS and not n.endswith("_like") for n in names_in(e))      # may stretch the array
            if len(arrays) == 1 and not made and not any(isinstance(n, gast.Subscript | gast.Attribute) for n in gast.walk(e)):
                array = arrays.pop()
                same = self.program.kinds[base(array)]
                kind = self.values.kind(e)
                if isinstance(same, Array) and isinstance(kind, Array) and same.ndim == kind.ndim:
                    return array
        return None

    def length_of(self, e: Node) -> str | None:
        """The array of rank 1 whose length an expression is."""
        found = self.scopes.defined.get(e.id) if isinstance(e, gast.Name) else None
        if found is not None and found.how == "let" and isinstance(found.statement, Let):
            e = found.statement.value
        shown = show(e) if isinstance(e, gast.Subscript | gast.Attribute) else ""
        if isinstance(e, gast.Call) and getattr(e.func, "id", "") == "len":
            e = e.args[0]
        elif shown.endswith(".shape[0]"):
            e = e.value.value
        elif shown.endswith(".size"):
            e = e.value
        else:
            return None
        kind = self.program.kinds.get(base(e.id)) if isinstance(e, gast.Name) else None
        return e.id if isinstance(kind, Array) and kind.ndim == 1 else None

    def keeps_shape(self, phi: Phi) -> bool:
        """Whether a carried array may be taken to have one shape in all trips: nothing in the text says otherwise. What
        operators and products give, and buffers that every trip trades, have the shape they had, or the forward sweep
        raises."""
        kind = self.program.kinds[base(phi.end)]
        seen: set[str] = set()
        chosen = False
        if self.filler(phi.entry):
            return False
        pending, inside = [phi.end], self.scopes.defined[phi.head].scope
        allowed = {self.shape_class(phi.entry), self.shape_class(phi.head)}
        while pending:
            v = self.resolved(pending.pop())
            found = self.scopes.defined.get(v)
            s = found.statement if found is not None else None
            if v in seen or self.shape_class(v) in allowed or found is None:
                continue
            seen.add(v)
            if isinstance(s, If) and found.how == "branch":
                chosen = True
                pending += [w for p in s.phis if p.out == v for w in (p.then, p.orelse)]
            elif isinstance(s, For | While) and found.how in ("head", "out"):
                pending += [w for p in s.phis if v in (p.head, p.out) for w in (p.entry, p.end)]
            elif found.scope.within(inside) or chosen:
                combined = isinstance(s, Let) and found.how == "let" and self.combines(s.value, kind)
                if not combined and not self.alike(v, phi.entry):
                    return False
        return True

    def filler(self, version: str) -> bool:
        """Whether an array is the empty one that a name has before anything sets it."""
        found = self.scopes.defined.get(self.resolved(version))
        value: Any = found.statement.value if found is not None and isinstance(found.statement, Let) else None
        return isinstance(value, gast.Call) and getattr(value.func, "id", "") == "np.empty" and show(value.args[0]) in (
            "0", "(0, 0)", "(0, 0, 0)")

    def combines(self, e: Node, kind: object) -> bool:
        """Whether an array is the result of operators, elementwise functions or products."""
        if not isinstance(e, gast.BinOp | gast.UnaryOp | gast.Call) or view_of(e) is not None:
            return False
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and (
                is_ruled(e) or e.func.id in ZEROS or e.func.id == "gather" or e.func.id in self.program.recursive):
            return False
        return not any(isinstance(n, gast.Slice) for n in gast.walk(e)) and kind == self.values.kind(e)

    def alike(self, a: str, b: str) -> bool:
        """Whether two arrays are allocated with the same text."""
        texts = []
        for v in (self.shape_class(a), self.shape_class(b)):
            found = self.scopes.defined.get(v)
            value: Any = found.statement.value if found is not None and isinstance(found.statement, Let) else None
            if not (isinstance(value, gast.Call) and isinstance(value.func, gast.Name) and value.func.id in ZEROS):
                return False
            texts.append(show(value.args[0]))
        return texts[0] == texts[1]
