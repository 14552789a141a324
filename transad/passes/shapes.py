"""The shapes of array expressions as text over the shapes of the parameters.

>>> from transad.quote import expr, name
>>> s = Shapes({}, {"W": ("W.shape[0]", "W.shape[1]"), "x": ("x.shape[0]",)})
>>> s.shape(expr("dot_(W, x)", dot_=name("np.dot"))), s.equal
(('W.shape[0]',), [('W.shape[1]', 'x.shape[0]')])
"""
from __future__ import annotations

from transad.kinds import Array, Kind, Scalar
from transad.nodes import gast
from transad.quote import Node, names_in, show

Dims = tuple[str, ...]

# Functions that work entry by entry, under the name that the normal form gives them; the same call serves numbers.
ELEMENTWISE = frozenset({f"np.{f}" for f in (
    "tanh", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "arctan", "arcsin", "arccos", "arctan2", "expm1",
    "log1p", "log2", "log10", "exp2", "abs", "absolute", "fabs", "sign", "square", "maximum", "minimum", "power", "divide",
    "multiply", "subtract", "add", "negative", "logaddexp", "isnan", "hypot", "where", "copy", "float64")}
    | {"keep_zero", "power_x", "power_y", "share_of_larger", "share_of_sum", "quotient", "stop_gradient", "digamma"})
_MAKERS = ("np.zeros", "np.empty", "np.ones", "np.full", "np.linspace", "np.arange", "np.eye")


class Shapes:
    """`shapes`: of arrays, `scalars`: names of numbers, `equal`: lengths that must be the same."""

    def __init__(self, kinds: dict[str, Kind], shapes: dict[str, Dims]) -> None:
        self.kinds, self.shapes = kinds, dict(shapes)
        self.scalars: set[str] = set()
        self.equal: list[tuple[str, str]] = []
        self.parents: dict[str, str] = {}
        self.roots: dict[str, str] = {}

    def root(self, d: str) -> str:
        while d in self.parents:
            d = self.parents[d]
        return d

    def join(self, a: str, b: str) -> bool:
        """Whether two lengths can be taken as the same, from now on."""
        a, b = self.root(a), self.root(b)
        if a == b:
            return True
        if "1" in (a, b):
            return False
        self.parents[b] = a
        self.equal.append((a, b))
        return True

    def same_memory(self, a: str, b: str) -> bool:
        return self.owner(a) == self.owner(b)

    def owner(self, a: str) -> str:
        while a in self.roots:
            a = self.roots[a]
        return a

    def fits(self, inner: Dims, shape: Dims) -> bool:
        """Whether a value of one shape fills another without a sum."""
        if len(inner) > len(shape):
            return False
        return all(a == "1" or self.root(a) == self.root(b) or (b != "1" and self.join(a, b))
                   for a, b in zip(inner[::-1], shape[::-1], strict=False))

    def together(self, shapes: list[Dims | None]) -> Dims | None:
        """The shape to which these broadcast."""
        out: list[str] = []
        for shape in shapes:
            if shape is None:
                return None
            for k, d in enumerate(shape[::-1]):
                if k == len(out):
                    out.append(d)
                elif out[k] == "1":
                    out[k] = d
                elif d != "1" and not self.join(out[k], d):
                    return None
        return tuple(out[::-1])

    def shape(self, e: Node) -> Dims | None:
        """The shape of an expression, () for a number, None where it does not follow."""
        if isinstance(e, gast.Constant):
            return ()
        if isinstance(e, gast.Name):
            return self.shape_of(e.id)
        if isinstance(e, gast.BinOp):
            if type(e.op).__name__ not in ("Add", "Sub", "Mult", "Div", "Pow", "Mod", "FloorDiv"):
                return None
            return self.together([self.shape(e.left), self.shape(e.right)])
        if isinstance(e, gast.UnaryOp):
            inner = self.shape(e.operand)
            return inner if inner == () or isinstance(e.op, gast.USub | gast.UAdd) else None
        if isinstance(e, gast.Compare):
            return self.together([self.shape(x) for x in (e.left, *e.comparators)]) if len(e.ops) == 1 else (
                () if all(self.shape(x) == () for x in (e.left, *e.comparators)) else None)
        if isinstance(e, gast.BoolOp | gast.IfExp):
            return () if all(self.shape(x) == () for x in gast.iter_child_nodes(e) if isinstance(x, gast.expr)) else None
        if isinstance(e, gast.Attribute):
            if e.attr == "T" and isinstance(e.value, gast.Name) and self.shape(e.value):
                return self.shapes[e.value.id][::-1]
            return () if e.attr in ("size", "ndim") else None
        if isinstance(e, gast.Subscript):
            return self.shape_of_part(e)
        if isinstance(e, gast.Call) and isinstance(e.func, gast.Name):
            return self.shape_of_call(e)
        return None

    def shape_of(self, v: str) -> Dims | None:
        if v in self.shapes:
            return self.shapes[v]
        if v in self.scalars or isinstance(self.kinds.get(v), Scalar) or v.startswith(("np.", "math.")):
            return ()
        return None

    def shape_of_part(self, e: Node) -> Dims | None:
        if isinstance(e.value, gast.Attribute) and e.value.attr == "shape":
            return ()
        items = e.slice.elts if isinstance(e.slice, gast.Tuple) else [e.slice]
        if not isinstance(e.value, gast.Name):
            return None
        dims = self.shape_of(e.value.id)
        if not dims:
            kind = self.kinds.get(e.value.id)
            ints = all(self.shape(i) == () and not (isinstance(i, gast.Constant) and i.value is None) for i in items
                       if not isinstance(i, gast.Slice)) and not any(isinstance(i, gast.Slice) for i in items)
            return () if isinstance(kind, Array) and ints and kind.ndim == len(items) else None
        rest, out = list(dims), []
        for i in items:
            if isinstance(i, gast.Constant) and i.value is None:
                out.append("1")
            elif isinstance(i, gast.Slice):
                if i.lower is not None or i.upper is not None or i.step is not None:
                    return None
                out.append(rest.pop(0))
            elif self.shape(i) == ():
                rest.pop(0)
            else:
                return None
        return (*out, *rest)

    def shape_of_call(self, e: Node) -> Dims | None:
        label = e.func.id
        if label in ("np.zeros_like",) and len(e.args) == 1 and isinstance(e.args[0], gast.Name):
            return self.shapes.get(e.args[0].id)
        if e.keywords or label in _MAKERS:
            return None
        if label in ("len", "np.sum", "summed", "np.max", "np.min") and len(e.args) == 1:
            return ()
        if label == "np.dot":
            return self.shape_of_product(*[self.shape(a) for a in e.args])
        shapes = [self.shape(a) for a in e.args]
        if label == "share_of_extreme":
            return shapes[0]
        if label == "unbroadcast":
            return shapes[0] if shapes[0] == () or None in shapes else shapes[1]
        if label in ELEMENTWISE:
            return self.together(shapes)
        return () if shapes and all(s == () for s in shapes) else None

    def shape_of_product(self, a: Dims | None, b: Dims | None) -> Dims | None:
        if a is None or b is None or len(a) not in (1, 2) or len(b) not in (1, 2):
            return None
        (*left, inner), (first, *right) = a, b
        if inner != first and not self.join(inner, first):
            return None
        return (*left, *right)

    def plain_use(self, e: Node, array: str, shape: Dims) -> bool:
        """Whether an expression reads an array that is being written only at the entry that is written."""
        if isinstance(e, gast.Name):
            return not self.same_memory(e.id, array) or self.shapes.get(e.id) == shape
        if isinstance(e, gast.BinOp):
            return self.plain_use(e.left, array, shape) and self.plain_use(e.right, array, shape)
        if isinstance(e, gast.UnaryOp):
            return self.plain_use(e.operand, array, shape)
        return not any(self.same_memory(n, array) for n in names_in(e))


__all__ = ["ELEMENTWISE", "Shapes", "show"]
