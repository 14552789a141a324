"""What must hold before a map starts so that no index of an item can run past the end of an array.

Indices that are affine in loop variables, with bounds that do not change from item to item, are in range if a few
comparisons of shapes hold; these are made once. Where an index is computed in another way the item is `checked`:
compiled with a test of every index.

The same resolution of bounds gives an estimate of the work of an item.
"""
from __future__ import annotations

from transad.ir import Block, For, If, Let, Move, Program, Statement, Store, While, assigned, expressions, walk
from transad.kinds import Array, Scalar
from transad.nodes import gast
from transad.quote import Node, constant, expr, name, names_in, show

_GUESS = 16             # trips of a loop whose length is not known before the item runs
_MADE = ("np.empty", "np.zeros", "np.ones", "np.full")
_LIKE = ("np.empty_like", "np.zeros_like", "np.ones_like", "np.full_like", "np.copy")
_CALL = 12.0            # nanoseconds of a library function, one of any other operation
_FEW = 10               # entries of an array whose size is not known before the item runs
_PRODUCTS = ("np.dot", "np.matmul", "np.vdot")


class Bounds:
    """Bounds of an item's program; `start`, `stop`: the range of the map, as expressions over variables outside."""

    def __init__(self, item: Program, start: Node, stop: Node) -> None:
        self.item = item
        self.inputs = set(item.parameters[1:])
        self.ranges: dict[str, tuple[Node, Node] | None] = {item.parameters[0]: (start, stop)}
        self.lets: dict[str, Node] = {}
        self.conditions: list[str] = []
        self.checked = self.raises = self.blas = False
        self.collect()
        for s in walk(item.body):
            for e in expressions(s):
                self.visit(e)
                self.blas |= any(isinstance(x, gast.Call) and _multiplies(show(x.func)) for x in gast.walk(e))
            if isinstance(s, Store):
                self.access(s.array, s.index)
            self.raises |= self.may_raise(s)

    def collect(self) -> None:
        several: set[str] = set()
        for s in walk(self.item.body):
            for v in assigned([s]) if isinstance(s, Let | Move) else {s.var} if isinstance(s, For) else ():
                if v in self.lets or v in self.ranges:
                    several.add(v)
                if isinstance(s, For):
                    self.ranges[v] = self.span(s)
                elif isinstance(s, Let):
                    self.lets[v] = s.value
                else:
                    several.add(v)
        for v in several:
            self.lets.pop(v, None)
            if v in self.ranges:
                self.ranges[v] = None

    def span(self, s: For) -> tuple[Node, Node] | None:
        start, stop = self.fixed(s.start), self.fixed(s.stop)
        if start is None or stop is None or abs(s.step) != 1:
            return None
        return (start, stop) if s.step == 1 else (expr("a + 1", a=stop), expr("a + 1", a=start))

    def may_raise(self, s: Statement) -> bool:
        """Whether a statement can raise in compiled code: an explicit raise, shapes that do not fit."""
        if type(s).__name__ == "Exit":
            return s.how == "raise"     # type: ignore[attr-defined]
        whole = isinstance(s, Let) and isinstance(self.item.kinds.get(s.name), Array) and not self.row(s.value)
        names = {n for e in expressions(s) for n in names_in(e)}
        whole |= any(isinstance(self.item.kinds.get(n), Array) for n in names) and any(
            isinstance(x, gast.Call) and show(x.func) not in ("len",) and any(
                isinstance(self.item.kinds.get(n), Array) for a in x.args for n in bare(a))
            for e in expressions(s) for x in gast.walk(e))
        return whole or (isinstance(s, Store) and len(s.index) != self.rank(s.array))

    def row(self, e: Node) -> bool:
        """Whether an expression is an array, or the part of one under integers, whose range is tested elsewhere."""
        if isinstance(e, gast.Subscript):
            items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
            return self.row(e.value) and all(self.is_index(i) for i in items)
        return isinstance(e, gast.Name)

    def is_index(self, e: Node) -> bool:
        """Whether an index is one integer."""
        if isinstance(e, gast.Name):
            return isinstance(self.item.kinds.get(e.id), Scalar)
        if isinstance(e, gast.Constant):
            return type(e.value) is int
        if isinstance(e, gast.BinOp | gast.UnaryOp):
            return all(self.is_index(x) for x in gast.iter_child_nodes(e) if isinstance(x, gast.expr))
        return False

    def rank(self, a: str) -> int:
        kind = self.item.kinds.get(a)
        return kind.ndim if isinstance(kind, Array) else 0

    # -- expressions that do not change from item to item ---------------------------------------------------------
    def fixed(self, e: Node) -> Node | None:
        """The integer expression over the inputs alone, if it is one."""
        if isinstance(e, gast.Constant):
            return e if type(e.value) is int else None
        if isinstance(e, gast.Name):
            if e.id in self.inputs:
                return e if isinstance(self.item.kinds.get(e.id), Scalar) else None
            return self.fixed(self.lets[e.id]) if e.id in self.lets else None
        if isinstance(e, gast.UnaryOp) and isinstance(e.op, gast.USub):
            inner = self.fixed(e.operand)
            return None if inner is None else expr("-a", a=inner)
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub | gast.Mult | gast.FloorDiv):
            a, b = self.fixed(e.left), self.fixed(e.right)
            sign = {"Add": "+", "Sub": "-", "Mult": "*", "FloorDiv": "//"}[type(e.op).__name__]
            return None if a is None or b is None else expr(f"a {sign} b", a=a, b=b)
        if isinstance(e, gast.Call) and show(e.func) == "len" and isinstance(e.args[0], gast.Name):
            return self.dimension(e.args[0], 0)
        if isinstance(e, gast.Call) and show(e.func) in ("min", "max") and not e.keywords:
            parts = [self.fixed(a) for a in e.args]
            if all(p is not None for p in parts):
                holes = {f"p{k}": p for k, p in enumerate(parts)}
                return expr(f"{show(e.func)}({', '.join(holes)})", **holes)
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute) and e.value.attr == "shape" and (
                isinstance(e.slice, gast.Constant)):
            return self.dimension(e.value.value, e.slice.value)
        if isinstance(e, gast.Attribute) and e.attr == "size" and isinstance(e.value, gast.Name):
            sizes = [self.dimension(e.value, k) for k in range(self.rank(e.value.id))]
            if len(sizes) == 1 or all(x is not None for x in sizes):
                return sizes[0] if len(sizes) == 1 else expr(" * ".join(f"n{k}" for k in range(len(sizes))), **{
                    f"n{k}": x for k, x in enumerate(sizes)})
        return None

    def dimension(self, e: Node, k: int) -> Node | None:
        """The length of an array along an axis."""
        if isinstance(e, gast.Name):
            if e.id in self.inputs:
                return expr(f"a.shape[{k}]", a=e) if 0 <= k < self.rank(e.id) else None
            return self.dimension(self.lets[e.id], k) if e.id in self.lets else None
        if isinstance(e, gast.Subscript):
            items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
            return self.dimension(e.value, k + len(items)) if all(self.is_index(i) for i in items) else None
        if isinstance(e, gast.Call):
            label = show(e.func)
            if label in _MADE:
                size = e.args[0]
                if isinstance(size, gast.Tuple):
                    return self.fixed(size.elts[k]) if k < len(size.elts) else None
                return self.fixed(size) if k == 0 else None
            if label in _LIKE:
                return self.dimension(e.args[0], k)
            if label.endswith(".copy") and isinstance(e.func, gast.Attribute):
                return self.dimension(e.func.value, k)
        return None

    # -- the item's own entries -----------------------------------------------------------------------------------
    def own_indices(self) -> dict[str, Node]:
        """The variables that have another value in every item: the item's index, itself or shifted. Each with its
        value in terms of the index and the inputs."""
        own = {self.item.parameters[0]: name(self.item.parameters[0])}
        while True:
            new = {v: shifted for v, e in self.lets.items() if v not in own and (
                shifted := self.shifted(e, own)) is not None}
            if not new:
                return own
            own |= new

    def shifted(self, e: Node, own: dict[str, Node]) -> Node | None:
        """A shifted index, resolved."""
        if isinstance(e, gast.Name):
            return own.get(e.id)
        if not isinstance(e, gast.BinOp) or not isinstance(e.op, gast.Add | gast.Sub):
            return None
        for one, other in ((e.left, e.right), (e.right, e.left)):
            found, fixed = self.shifted(one, own), self.fixed(other)
            if found is not None and fixed is not None and (one is e.left or isinstance(e.op, gast.Add)):
                return expr(f"a {'+' if isinstance(e.op, gast.Add) else '-'} b", a=found, b=fixed)
        return None

    # -- indices ----------------------------------------------------------------------------------------------------
    def visit(self, e: Node) -> None:
        for x in gast.walk(e):
            if isinstance(x, gast.Subscript) and not (isinstance(x.value, gast.Attribute) and x.value.attr == "shape"):
                array, items = x, list[Node]()
                while isinstance(array, gast.Subscript):                   # m[i][j]
                    new = list(array.slice.elts) if isinstance(array.slice, gast.Tuple) else [array.slice]
                    items, array = [*new, *items], array.value
                if isinstance(array, gast.Name) and (array is x.value or all(self.is_index(i) for i in items)):
                    self.access(array.id, items)
                else:
                    self.checked = True

    def access(self, a: str, index: list[Node]) -> None:
        for k, i in enumerate(index):
            if isinstance(i, gast.Slice):
                self.raises = True
                continue
            size = self.dimension(name(a), k)
            found = self.index_range(i)
            if size is None or found is None:
                self.checked = True
                continue
            low, high = found
            if not (isinstance(low, gast.Constant) and low.value >= 0):
                self.require(expr("a >= -n", a=low, n=size))
            if show(high) != show(size):
                self.require(expr("b <= n", b=high, n=size))

    def require(self, test: Node) -> None:
        shown = show(test)
        if shown not in self.conditions:
            self.conditions.append(shown)

    def index_range(self, e: Node) -> tuple[Node, Node] | None:
        """The least value of an index, and one more than its greatest."""
        if isinstance(e, gast.Name) and e.id in self.ranges:
            return self.ranges[e.id]
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub):
            a, b = self.index_range(e.left), self.fixed(e.right)
            if a is not None and b is not None:
                sign = "+" if isinstance(e.op, gast.Add) else "-"
                return expr(f"a {sign} b", a=a[0], b=b), expr(f"a {sign} b", a=a[1], b=b)
            return None
        if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mod):
            size = self.fixed(e.right)
            if size is not None and not (isinstance(size, gast.Constant) and size.value > 0):
                self.require(expr("a > 0", a=size))
            return None if size is None else (constant(0), size)
        fixed = self.fixed(e)
        if fixed is not None:
            high = constant(fixed.value + 1) if isinstance(fixed, gast.Constant) else expr("a + 1", a=fixed)
            return fixed, high
        if isinstance(e, gast.Name) and e.id in self.lets:
            return self.index_range(self.lets[e.id])
        return None

    # -- work ---------------------------------------------------------------------------------------------------------
    def work(self, block: Block | None = None) -> str:
        """The nanoseconds of an item, about, as an expression over the inputs."""
        fixed, parts = self.cost(self.item.body if block is None else block)
        return " + ".join([f"{fixed:.0f}", *parts])

    def cost(self, block: Block) -> tuple[float, list[str]]:
        fixed, parts = 1.0, []
        for s in block:
            for e in expressions(s):
                fixed += sum(_CALL if isinstance(x, gast.Call) else 1.0 for x in gast.walk(e)
                             if isinstance(x, gast.BinOp | gast.Call | gast.Subscript | gast.Compare))
                parts += [self.array_work(x) for x in gast.walk(e) if isinstance(x, gast.Call) and self.of_arrays(x)]
                if isinstance(s, Let) and isinstance(self.item.kinds.get(s.name), Array) and not self.row(e):
                    fixed += 100.0
                    parts.append(self.size(e))
            if isinstance(s, If):
                for arm in (s.then, s.orelse):
                    more, inner = self.cost(arm)
                    fixed += more
                    parts += inner
            elif isinstance(s, For | While):
                more, inner = self.cost(s.body)
                span = self.span(s) if isinstance(s, For) else None
                trips = show(expr("b - a", a=span[0], b=span[1])) if span is not None else str(_GUESS)
                if span is not None and show(span[0]) == "0":
                    trips = show(span[1])
                parts.append(f"{_factor(' + '.join([f'{more:.0f}', *inner]))} * {_factor(trips)}")
        return fixed, parts

    def of_arrays(self, x: Node) -> bool:
        """Whether a call goes through whole arrays."""
        return show(x.func) != "len" and any(isinstance(self.item.kinds.get(n), Array) for a in x.args for n in bare(a))

    def array_work(self, x: Node) -> str:
        """The nanoseconds of a call that goes through arrays, about."""
        first = self.size(x.args[0])
        if not _multiplies(show(x.func)):
            return f"2 * {first}"
        last = x.args[-1]
        while isinstance(last, gast.Name) and last.id in self.lets and isinstance(self.lets[last.id], gast.Name):
            last = self.lets[last.id]
        wide = isinstance(last, gast.Name) and self.rank(last.id) > 1
        across = self.dimension(last, self.rank(last.id) - 1) if wide else None
        return first if not wide else f"{first} * {_factor(show(across) if across is not None else str(_FEW))}"

    def size(self, e: Node) -> str:
        """The number of entries of an array, about."""
        if isinstance(e, gast.BinOp | gast.UnaryOp):
            parts = [self.size(x) for x in gast.iter_child_nodes(e) if isinstance(x, gast.expr)]
            return next((p for p in parts if p != str(_FEW)), str(_FEW))
        names = [n for n in bare(e) if isinstance(self.item.kinds.get(n), Array)]
        rank = max([self.rank(n) for n in names], default=0)
        dims = [self.dimension(e if not names else name(names[0]), k) for k in range(rank)]
        if not dims or any(d is None for d in dims):
            return str(_FEW)
        return " * ".join(_factor(show(d)) for d in dims)


def _factor(text: str) -> str:
    """An expression as part of a product."""
    return f"({text})" if " " in text else text


def _multiplies(function: str) -> bool:
    """Whether a function of arrays is computed by the BLAS."""
    return function in _PRODUCTS or function.startswith("np.linalg.")


def bare(e: Node) -> list[str]:
    """The names that stand for whole arrays in an expression: not under an index."""
    if isinstance(e, gast.Name):
        return [e.id]
    if isinstance(e, gast.Subscript):
        return [n for x in gast.walk(e.slice) if isinstance(x, gast.Slice) for n in names_in(e.value)]
    return [n for c in gast.iter_child_nodes(e) for n in bare(c)]
