"""What a name can mean while a program is specialised: a residual expression or something known already."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from transad.kinds import Array, Scalar
from transad.quote import Node


class Part:
    """A part of the specialiser; each part sees the state and the methods of the others."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class NotTyped(Exception):
    """The typed path cannot express this; the recorded path can, or an error tells the user."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = getattr(node, "lineno", None) or 0
        self.column = getattr(node, "col_offset", None) or 0
        self.filename = ""
        self.dependencies: list[Any] = []


class Undefined(NotTyped):
    """A variable of `frame` is read before anything has set it."""

    def __init__(self, identifier: str, frame: Frame, node: Node | None = None) -> None:
        super().__init__(f"the name {identifier} is not defined here", node)
        self.identifier, self.frame = identifier, frame


class Inlined(NotTyped):
    """A call of `label`, marked `fwddiff`, cannot be taken forwards: the program is made once more with the bodies
    inlined."""

    label = ""


UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()


@dataclass
class Val:
    """A number or an array: its expression in the residual program, its kind, and its value where that is known."""

    expr: Node
    kind: Any        # Scalar | Array
    const: Any = UNKNOWN


@dataclass
class Obj:
    """An object known now: a function, a module, a class, None, a text, a dtype."""

    value: Any


@dataclass
class Tup:
    """A tuple (or namedtuple, or a list that never changes its length) whose items are tracked one by one."""

    items: list[Any]
    cls: Any = tuple


@dataclass
class Lazy(Tup):
    """The items of a `map`, `zip` or generator over a tuple: to be gone through at once. `late`: an item is the result
    of a call, which Python makes when the item is asked for."""

    late: bool = False


@dataclass
class Record:
    """A dataclass instance or another object whose attributes are tracked one by one.

    `home`: where it was made and how often it was bound; None for one that came from elsewhere or from several paths."""

    cls: type
    fields: dict[str, Any]
    home: Home | None = None


@dataclass(eq=False)
class Home:
    """The block in which an object was made, and the number of names and containers that hold it."""

    block: Any
    bound: int = 0


@dataclass
class Span:
    """A slice object."""

    lower: Any
    upper: Any
    step: Any


@dataclass
class Partial:
    """A function with some of its arguments."""

    function: Any
    args: list[Any]
    keywords: dict[str, Any]


@dataclass
class Method:
    """A method that has not been called yet."""

    owner: Any
    name: str


@dataclass(eq=False)
class Closure:
    """A function of the user: its tree, and the frame in which it was defined."""

    node: Node
    frame: Frame
    defaults: dict[str, Any]
    name: str
    key: Any = None


@dataclass(eq=False)
class Marked:
    """A function marked `fwddiff`."""

    function: Any
    store: bool

    @property
    def label(self) -> str:
        inner = getattr(self.function, "value", self.function)
        return getattr(inner, "__name__", None) or getattr(inner, "name", "f")


@dataclass(eq=False)
class Frame:
    """The variables of one activation of a function."""

    name: str
    globals: dict[str, Any]
    parent: Frame | None = None
    vars: dict[str, Any] = field(default_factory=dict)
    slots: dict[Any, str] = field(default_factory=dict)
    outer_names: dict[str, Frame | None] = field(default_factory=dict)
    inlined: bool = False
    filename: str = ""
    own: frozenset[str] = frozenset()       # the names that the function's text assigns


@dataclass
class Iter:
    """Something to iterate over by index: its length and its item at an index.

    `span` is [start, stop, step] where the items are just these integers. `drive`, where set, runs its own loops
    (a generator expression, a filter) and calls back once per item; it has no length.

    `over`: what it goes over, each value in a list of its own, so that it can be named when a variable is to hold the
    iterator. `once`: it is exhausted when it has been gone through (all but a range); `loop`: the loop in which a
    variable got it, `read`: the variables by which it was read since."""

    length: Any = None        # () -> Node
    item: Any = None          # Node -> abstract value
    span: list[Any] | None = None
    drive: Any = None         # runs its own loops: (item -> None) -> None
    name: str = "i"
    over: list[list[Any]] = field(default_factory=list)
    once: bool = True
    calls: bool = False       # an item is the result of a call: a map, a generator
    chosen: Any = None        # of one without a length: () -> Iter, which finds out first which items there are
    levels: int = 0           # how many loops `drive` makes, one in the other; 0 where that is not known
    apart: Any = None         # the variables from before, where the items are computed after tests of others
    loop: Any = None
    read: set[Any] = field(default_factory=set)


def is_array(v: Any) -> TypeGuard[Val]:
    return isinstance(v, Val) and isinstance(v.kind, Array)


def is_scalar(v: Any) -> TypeGuard[Val]:
    return isinstance(v, Val) and isinstance(v.kind, Scalar)


@dataclass
class Lst:
    """A list made at run time and only read, held in an array whose first `depth` axes are lists: of numbers, of arrays
    of one shape, of lists of one length."""

    array: Val
    depth: int = 1


@dataclass
class Table:
    """A list of tuples made at run time and only read: a list for each of their parts."""

    columns: Tup
    length: Node
