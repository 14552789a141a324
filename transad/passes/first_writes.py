"""The first cotangent of an array is assigned, not added to zeros.

    d_t = np.zeros_like(x)
    d_t += d_y                      ->      d_x = 2.0 * d_y * x
    d_x = np.zeros_like(x)
    d_x += 2.0 * d_t * x

Only where the zeros and the first addition stand in one block and nothing mentions the array in between, so nobody can
hold the zeros under another name. What is added becomes the array itself if it is a new array of its shape; it is put in the
place of the array where that is read in arithmetic alone and stretches by itself; else it is stretched in fresh memory.
"""
from __future__ import annotations

from collections import Counter

from transad.ir import Block, Do, For, If, Let, Move, Statement, Store, While, assigned, blocks, expressions, reads, walk
from transad.kinds import Array, Scalar
from transad.nodes import gast
from transad.passes.regions import view_of
from transad.passes.reverse.pair import Pair
from transad.passes.ruled import is_adjoint
from transad.passes.specialise.numpy_table import BINARY, UNARY
from transad.quote import Node, call, expr, name, names_in, show, substitute

_ELEMENTWISE = frozenset({"keep_zero", *(f"np.{n}" for n in (*UNARY, *BINARY))})
_WRITES = frozenset({"scatter_add", "take_scattered", "copy_to"})


def first_writes(pair: Pair, compiled: bool = False) -> Pair:
    """The pair, with cotangents that are assigned where they were added to zeros."""
    if all(not isinstance(k, Array) or k.dtype in ("float64", "int64", "bool") for k in pair.kinds.values()):
        _Assigner(pair, compiled).block(pair.reverse)
    return pair


class _Assigner:
    """`like`: array -> the array whose shape it has; `owned`: those that one statement makes, and no name is bound to them;
    `numbers`: what is surely a number."""

    def __init__(self, pair: Pair, compiled: bool) -> None:
        self.kinds, self.compiled = pair.kinds, compiled
        self.like: dict[str, str] = {}
        self.numbers = {n for n, k in pair.kinds.items() if isinstance(k, Scalar)}
        seeded = dict(zip(pair.seeds, pair.results, strict=True)) if len(pair.seeds) == len(pair.results) else {}
        self.numbers |= {d for d, e in seeded.items() if isinstance(e, gast.Name) and isinstance(pair.kinds.get(e.id), Scalar)}
        self.results = {n for e in pair.cotangents for n in names_in(e)}
        self.times = Counter(pair.saved)
        self.seen: dict[int, tuple[Statement, frozenset[str]]] = {}
        bound: set[str] = set()
        self.shares = {s.name for s in walk(pair.reverse) if isinstance(s, Let) and _is_ruled(s.value)}
        forward = Counter([*pair.parameters, *(n for s in walk(pair.forward) for n in _made(s))])
        for s in walk(pair.forward):
            like = self.shape_of(s.value) if isinstance(s, Let) and forward[s.name] == 1 else None
            if isinstance(s, Let) and like is not None and forward[like] <= 1:
                self.like[s.name] = like
        for s in walk(pair.reverse):
            self.times.update(_made(s))
            bound.update([s.value.id] if isinstance(s, Let) and isinstance(s.value, gast.Name) else getattr(s, "sources", []))
        once = {s.name: s.value for s in walk(pair.reverse) if isinstance(s, Let) and self.times[s.name] == 1}
        self.views = {n: v for n, e in once.items() if (v := view_of(e)) is not None}
        self.allocated = {n for n, e in once.items() if isinstance(e, gast.Call) and show(e.func) in (
            "np.zeros", "np.zeros_like", "stretched")}
        self.owned = {n for n, count in self.times.items() if count == 1} - bound - set(pair.saved)

    def block(self, block: Block) -> None:
        """Rewrite a block in place, inner blocks first."""
        for s in block:
            for inner in blocks(s):
                self.block(inner)
            if isinstance(s, Let) and self.times[s.name] == 1:
                like = _born(s) or self.shape_of(s.value)
                if like is not None and self.times[like] <= 1:
                    self.like[s.name] = self.like.get(like, like)
        for k in range(len(block) - 1, -1, -1):         # the last one first: what is made of it may be handed over
            s = block[k]
            if isinstance(s, Let) and _born(s) is not None and s.name in self.owned:
                self.first(block, k)
        for k in range(len(block) - 1, -1, -1):
            self.only_summed(block, k)

    def names(self, s: Statement) -> frozenset[str]:
        """The names that a statement mentions, looked up once."""
        found = self.seen.get(id(s))
        if found is None or found[0] is not s:
            found = self.seen[id(s)] = (s, _names(s))
        return found[1]

    def first(self, block: Block, k: int) -> None:
        """Do away with the zeros at `k`, if the first mention of them is an addition to all of them."""
        birth = block[k]
        assert isinstance(birth, Let)
        at = next((j for j in range(k + 1, len(block)) if birth.name in self.names(block[j])), None)
        if at is None:
            return
        s = block[at]
        if not (isinstance(s, Store) and s.array == birth.name and not s.index and s.op in ("+", "-")):
            return
        like = show(birth.value.args[0])
        value = substitute(s.value, lambda n: name(like) if n.id == birth.name else None)
        if s.op == "-" or (birth.name in names_in(s.value) and not _only_like(s.value, birth.name)) or any(
                like in assigned([x]) for x in block[k + 1:at + 1]):
            return
        if not self.inlined(block, k, at, value) and not self.renamed(block, k, at):
            if not self.new(value, birth.name) and not self.handed_over(block, at, birth.name):
                value = call("filled" if self.ruled(value) or self.sum_of_new(value) else "stretched", value, name(like))
            block[at] = Let(birth.name, value, line=s.line, source=s.source)
            del block[k]

    def handed_over(self, block: Block, at: int, d: str) -> bool:
        """Whether what is added is a new array that nothing mentions afterwards and no view was made of."""
        s = block[at]
        v = s.value.id if isinstance(s, Store) and isinstance(s.value, gast.Name) else ""
        if v not in self.owned or v in self.results or d not in self.like or self.like.get(v) != self.like[d]:
            return False
        mentions = [j for j, x in enumerate(block) if v in self.names(x)]
        first = block[mentions[0]]
        if mentions[-1] == at and isinstance(first, Let) and first.name == v and _is_new(first.value) and all(
                isinstance(x, Store | Let) and (isinstance(x.value, gast.BinOp | gast.UnaryOp) or _sums(x.value))
                for x in (block[j] for j in mentions[1:-1])):
            self.views[d] = v
            return True
        return False

    def renamed(self, block: Block, k: int, at: int) -> bool:
        """Give the array that is added the name of the zeros, where nothing else reads it."""
        birth, s = block[k], block[at]
        assert isinstance(birth, Let) and isinstance(s, Store)
        v = s.value.id if isinstance(s.value, gast.Name) else ""
        made = next((x for x in block[:at] if isinstance(x, Let) and x.name == v), None)
        if made is None or v in self.results or self.times[v] != 1 or birth.name not in self.like or (
                self.like.get(v) != self.like[birth.name]) or not _is_new(made.value) or sum(
                    v in self.names(x) for x in block) != 2:
            return False
        made.name = birth.name
        self.seen.pop(id(made), None)
        block[at + 1:at + 2] = [_said(x, s.source) for x in block[at + 1:at + 2]]
        del block[at], block[k]
        return True

    def only_summed(self, block: Block, k: int) -> None:
        """Put what the adjoint of a rule gives where it is read, if that is one sum: it may be summed without being made."""
        s = block[k]
        if isinstance(s, Store) and s.op == "+" and (g := _unbroadcast(s.value)) is not None and isinstance(g, gast.UnaryOp):
            s.value = expr("-u", u=call("unbroadcast", g.operand, s.value.args[1]))
        if not (isinstance(s, Let) and isinstance(s.value, gast.Call) and show(s.value.func) == "filled"
                and s.name in self.owned - self.results and _is_ruled(s.value.args[0])):
            return
        made, uses = s.value.args[0], [j for j in range(k + 1, len(block)) if s.name in self.names(block[j])]
        use = block[uses[0]] if len(uses) == 1 else None
        if not isinstance(use, Store) or list(names_in(use.value)).count(s.name) != 1 or use.array == s.name:
            return
        inner = use.value.operand if isinstance(use.value, gast.UnaryOp) else use.value
        g = _unbroadcast(inner)
        if g is None or show(g.operand if isinstance(g, gast.UnaryOp) else g) != s.name or any(
                self.changes(x, set(names_in(made)), True) for x in block[k + 1:uses[0]]):
            return
        _put(use, s.name, made)
        self.seen.pop(id(use), None)
        _said(block[k + 1], s.source)
        del block[k]

    # -- shapes ----------------------------------------------------------------------------------------------------
    def shape_of(self, e: Node) -> str | None:
        """An array that an elementwise expression has the shape of, or stretches to; None if that is not known."""
        if isinstance(e, gast.Name):
            kind = self.kinds.get(e.id)
            return self.like.get(e.id, e.id if isinstance(kind, Array) else None)
        if isinstance(e, gast.UnaryOp):
            return self.shape_of(e.operand)
        if isinstance(e, gast.BinOp):
            found = {self.shape_of(e.left), self.shape_of(e.right)}
            parts = [x for x in (e.left, e.right) if not self.number(x)]
            if len(parts) == 1:
                return self.shape_of(parts[0])
            return found.pop() if len(found) == 1 else None
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in _ELEMENTWISE and len(e.args) <= 2:
            return self.shape_of(e.args[0]) if len(e.args) == 1 else self.shape_of(expr("a * b", a=e.args[0], b=e.args[1]))
        return None

    def number(self, e: Node) -> bool:
        """Whether an expression is surely a number."""
        if isinstance(e, gast.Name):
            return e.id in self.numbers
        if isinstance(e, gast.Constant):
            return True
        if isinstance(e, gast.UnaryOp):
            return self.number(e.operand)
        if isinstance(e, gast.BinOp):
            return self.number(e.left) and self.number(e.right)
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name):
            return e.func.id in ("summed", "np.sum", "len")
        return isinstance(e, gast.Subscript) and isinstance(e.value, gast.Attribute) and e.value.attr == "shape"

    def new(self, e: Node, d: str) -> bool:
        """Whether an expression is a new array of the shape of `d`: an operation that has an operand of that shape, and
        could not have been added if it were larger."""
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "np.dot":
            return True
        return d in self.like and isinstance(e, gast.BinOp | gast.UnaryOp) and any(
            self.like.get(x, x) == self.like[d] for x in _operands(e))

    def ruled(self, e: Node) -> bool:
        """Whether an expression is what the adjoint of a rule gives: a new array of the right shape, or a number."""
        if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name):
            return e.value.id in self.shares
        return _is_ruled(e) or (isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "total_of")

    def sum_of_new(self, e: Node) -> bool:
        """Whether an expression is the sum of a new array, or that array (compiled code copies, so that it has one type)."""
        g = _unbroadcast(e)
        return g is not None and not self.compiled and (_is_new(g) or self.ruled(g))

    # -- put in place ----------------------------------------------------------------------------------------------
    def inlined(self, block: Block, k: int, at: int, value: Node) -> bool:
        """Put a number, or a part stretched by new axes, in the place of an array that is only read in products."""
        birth = block[k]
        assert isinstance(birth, Let)
        d = birth.name
        if d in self.results or not (self.number(value) or _new_axes(value)) or not isinstance(
                value, gast.Name | gast.Subscript | gast.UnaryOp):
            return False
        leaves, arrays = set(names_in(value)), not self.number(value)
        last = next((j for j in range(len(block) - 1, at, -1) if d in self.names(block[j])), at)
        between = block[at + 1:last + 1]
        if not between or d not in self.like or not all(self.stretches(s, d) for s in between if d in self.names(s)) or any(
                self.changes(s, leaves, arrays) for s in between):
            return False
        for s in between:
            _put(s, d, value)
            self.seen.pop(id(s), None)
        _said(between[0], block[at].source)
        del block[at], block[k]
        return True

    def root(self, array: str) -> str | None:
        """The array that a name is a view of, if it is one that zeros were made for."""
        while array in self.views:
            array = self.views[array]
        return array if array in self.allocated else None

    def changes(self, s: Statement, leaves: set[str], arrays: bool) -> bool:
        """Whether a statement may give one of some names, or one of some arrays, another value."""
        if assigned([s]) & leaves or isinstance(s, For | While | If):
            return True
        if not arrays:
            return False
        if isinstance(s, Store):
            root = self.root(s.array)
            return root is None or root in {self.root(n) or n for n in leaves}
        return isinstance(s, Do) or any(n in _WRITES for e in expressions(s) for n in names_in(e))

    def stretches(self, s: Statement, d: str) -> bool:
        """Whether a statement reads `d` only as a factor beside an array of its shape, so that a part of it does as well."""
        if isinstance(s, Store):
            if s.array == d or any(d in names_in(i) for i in s.index):
                return False
            beside = _beside(s.value, d)
        elif isinstance(s, Let):
            beside = _beside(s.value, d)
        else:
            return False
        return beside is not None and any(self.like.get(x, x) == self.like[d] for x in beside)


def _born(s: Let) -> str | None:
    """The array that zeros are made like."""
    e = s.value
    if isinstance(e, gast.Call) and show(e.func) == "np.zeros_like" and len(e.args) == 1 and isinstance(e.args[0], gast.Name):
        return e.args[0].id
    return None


def _made(s: Statement) -> list[str]:
    """The names that a statement itself assigns."""
    return [s.name] if isinstance(s, Let) else [s.var] if isinstance(s, For) else s.targets if isinstance(s, Move) else []


def _names(s: Statement) -> frozenset[str]:
    """The names that a statement reads, assigns or stores into."""
    found = assigned([s])
    for x in walk([s]):
        found |= reads(x)
    return frozenset(found)


def _unbroadcast(e: Node) -> Node | None:
    """`g` of `unbroadcast(g, x)`."""
    return e.args[0] if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "unbroadcast" else None


def _is_ruled(e: Node) -> bool:
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and is_adjoint(e.func.id)


def _only_like(e: Node, d: str) -> bool:
    """Whether `e` is `unbroadcast(g, d)` with `d` for its shape alone."""
    return (isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "unbroadcast"
            and isinstance(e.args[1], gast.Name) and e.args[1].id == d and d not in names_in(e.args[0]))


def _operands(e: Node) -> list[str]:
    """The names that take part in an elementwise expression with their shapes."""
    if isinstance(e, gast.Name):
        return [e.id]
    if isinstance(e, gast.BinOp):
        return _operands(e.left) + _operands(e.right)
    if isinstance(e, gast.UnaryOp):
        return _operands(e.operand)
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in _ELEMENTWISE:
        return [n for a in e.args for n in _operands(a)]
    return []


def _new_axes(e: Node) -> bool:
    """`d[:, None]`: a name with new axes."""
    if not isinstance(e, gast.Subscript) or not isinstance(e.value, gast.Name):
        return False
    items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
    return all((isinstance(i, gast.Constant) and i.value is None) or (
        isinstance(i, gast.Slice) and i.lower is None and i.upper is None and i.step is None) for i in items)


def _beside(e: Node, d: str) -> list[str] | None:
    """The other operands of the product in which `d` stands; None if it stands elsewhere too."""
    if d not in names_in(e):
        return []
    if isinstance(e, gast.UnaryOp):
        return _beside(e.operand, d)
    if isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "keep_zero" and show(e.args[0]) == d and (
            d not in names_in(e.args[1])):
        return _operands(e.args[1])
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Mult | gast.Div):
        if list(names_in(e)).count(d) != 1 or (d in names_in(e.right) and isinstance(e.op, gast.Div)):
            return None
        inner = [x for x in (e.left, e.right) if d in names_in(x)]
        other = _operands(e.right if inner[0] is e.left else e.left)
        if isinstance(inner[0], gast.Name):
            return other
        found = _beside(inner[0], d)
        return None if found is None else found + other
    if isinstance(e, gast.BinOp) and isinstance(e.op, gast.Add | gast.Sub):
        found = [_beside(x, d) for x in (e.left, e.right)]
        return None if None in found else [n for part in found for n in part or []]
    return None


def _put(s: Statement, d: str, value: Node) -> None:
    def use(e: Node) -> Node:
        return substitute(e, lambda n: value if n.id == d else None)
    if isinstance(s, Let | Store):
        s.value = use(s.value)


def _sums(e: Node) -> bool:
    return isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id == "summed"


def _said(s: Statement, source: str) -> Statement:
    """The statement, under the user's line whose adjoint it completes."""
    s.source = s.source or source
    return s


def _is_new(e: Node) -> bool:
    """Whether an elementwise expression makes a new array (`unbroadcast` may hand back what it was given)."""
    return isinstance(e, gast.BinOp | gast.UnaryOp) or (
        isinstance(e, gast.Call) and isinstance(e.func, gast.Name) and e.func.id in _ELEMENTWISE)
