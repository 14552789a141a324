"""Print a pair of sweeps as a module: the text that `transad show` prints is the text that runs."""
from __future__ import annotations

from transad.ir import Block, Do, Exit, For, If, Let, Move, Statement, Store, While, exits
from transad.kinds import Array
from transad.nodes import gast
from transad.passes.reverse.sweeps import Pair
from transad.quote import Node, names_in, show

HELPERS = ("stop_gradient", "share_of_larger", "share_of_sum", "quotient", "power_x", "power_y", "unbroadcast",
           "filled", "stretched", "total_of", "summed", "copy_to", "gather", "scatter_add", "take_scattered", "share_of_extreme",
           "keep_zero", "digamma", "record_array", "replayed_1", "replayed_2", "replayed_3", "shadow_at", "part_of",
           "det_of", "log_det", "sign_of_det", "cofactors", "solve_transposed", "outer_of", "inverse_adjoint",
           "cholesky_adjoint", "ramp", "reshaped", "eigvalsh_adjoint")


class _Lines:
    def __init__(self, pair: Pair, comments: bool) -> None:
        self.kinds, self.comments = pair.kinds, comments
        self.out: list[str] = []
        self.last = ""

    def add(self, indent: int, text: str) -> None:
        self.out.append("    " * indent + text)

    def block(self, block: Block, indent: int) -> None:
        if not block and indent > 1:            # the body of a function has its return
            self.add(indent, "pass")
        together: dict[int, list[Let]] = {} if self.comments else _together(block)
        skip = 0
        for k, s in enumerate(block):
            if skip:
                skip -= 1
                continue
            self.comment(s, indent)
            if k in together:
                row = together[k]
                self.add(indent, f"{', '.join(x.name for x in row)} = {', '.join(show(x.value) for x in row)}")
                skip = len(row) - 1
                continue
            if isinstance(s, If) and s.orelse and exits(s.then) and not self.comments:
                self.add(indent, f"if {show(s.test)}:")
                self.block(s.then, indent + 1)
                self.block([*s.orelse, *block[k + 1:]], indent)
                return
            self.statement(s, indent)

    def comment(self, s: Statement, indent: int) -> None:
        """Above the adjoint of a user's statement, the statement."""
        if self.comments and s.source and s.source != self.last:
            self.add(indent, f"# {s.source}")
            self.last = s.source

    def statement(self, s: Statement, indent: int) -> None:
        if isinstance(s, Let):
            self.add(indent, _assignment(s.name, s.value, not isinstance(self.kinds.get(s.name), Array)))
        elif isinstance(s, Move):
            self.add(indent, f"{', '.join(s.targets)} = {', '.join(s.sources)}")
        elif isinstance(s, Store):
            self.add(indent, _stored(s))
        elif isinstance(s, Do):
            self.add(indent, show(s.value))
        elif isinstance(s, Exit):
            self.add(indent, s.how + (f" {show(s.value)}" if s.value is not None else ""))
        elif isinstance(s, For):
            self.add(indent, f"for {s.var} in {_range(s)}:")
            self.block(s.body, indent + 1)
        elif isinstance(s, While):
            self.add(indent, f"while {show(s.test)}:")
            self.block(s.body, indent + 1)
        elif isinstance(s, If):
            self.branch(s, indent, "if")

    def branch(self, s: If, indent: int, word: str) -> None:
        then, orelse, test = s.then, s.orelse, show(s.test)
        if not then and orelse:
            then, orelse = orelse, []
            test = f"not {test}" if test.replace("_", "a").isalnum() else _inverse(s.test)
        self.add(indent, f"{word} {test}:")
        self.block(then, indent + 1)
        if len(orelse) == 1 and isinstance(orelse[0], If) and not (self.comments and orelse[0].source):
            self.branch(orelse[0], indent, "elif")
        elif orelse:
            self.add(indent, "else:")
            self.block(orelse, indent + 1)


def _together(block: Block) -> dict[int, list[Let]]:
    """Assignments that the user wrote as one, `a, b = x, y`: the first one's index -> all of them."""
    found: dict[int, list[Let]] = {}
    k = 0
    while k < len(block):
        row: list[Let] = []
        for s in block[k:]:
            if not isinstance(s, Let) or "," not in _target(s.source) or (
                    row and (s.source != row[0].source or s.line != row[0].line)):
                break
            if any(t.name in names_in(s.value) or t.name == s.name for t in row):
                break
            row.append(s)
        if len(row) > 1 and sum(len(show(x.value)) + len(x.name) + 4 for x in row) < 100:
            found[k] = row
        k += max(len(row), 1)
    return found


def _target(source: str) -> str:
    """What a line assigns, as text."""
    left = source.split("=")[0]
    return "" if set(left) & set("([") or left.startswith("return ") else left


def _inverse(test: Node) -> str:
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return show(test.operand)
    shown = show(test)
    return f"not {shown}" if isinstance(test, gast.Compare | gast.Name | gast.Call | gast.Subscript) else f"not ({shown})"


def _range(s: For) -> str:
    start, stop = show(s.start), show(s.stop)
    if s.step != 1:
        return f"range({start}, {stop}, {s.step})"
    return f"range({stop})" if start == "0" else f"range({start}, {stop})"


_SIGNS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/"}


def _assignment(target: str, value: Node, number: bool) -> str:
    """`x = x op e` as `x op= e` where that means the same: for numbers."""
    if number and isinstance(value, gast.BinOp) and type(value.op).__name__ in _SIGNS:
        if isinstance(value.left, gast.Name) and value.left.id == target:
            return f"{target} {_SIGNS[type(value.op).__name__]}= {show(value.right)}"
        left = value.left
        chain = []
        while isinstance(left, gast.BinOp) and type(left.op) is type(value.op) and isinstance(value.op, gast.Mult):
            chain.append(left)
            left = left.left
        if chain and isinstance(left, gast.Name) and left.id == target:
            rest = show(value)[len(target) + 3:]
            return f"{target} *= {rest}"
    return f"{target} = {show(value)}"


def _stored(s: Store) -> str:
    value, op = s.value, s.op
    if op == "+" and isinstance(value, gast.UnaryOp) and isinstance(value.op, gast.USub):
        value, op = value.operand, "-"
    elif op == "+" and show(value).startswith("-") and isinstance(value, gast.BinOp) and isinstance(
            value.op, gast.Mult | gast.Div):
        from transad.passes.reverse.signs import leading_minus, negated
        if leading_minus(value):
            value, op = negated(value), "-"
    if not s.index:
        return f"{s.array} {op}= {show(value)}" if op else f"{s.array}[...] = {show(value)}"
    items = ", ".join(show(i) for i in s.index)
    return f"{s.array}[{items}] {op}= {show(value)}"


def emit(pair: Pair) -> str:
    """The module text of a pair: `f_fwd`, `f_rev` and their joint sweep."""
    forward, rev = forward_lines(pair), reverse_lines(pair)
    unpacked = [f"    {', '.join(pair.saved)}{',' if len(pair.saved) == 1 else ''} = saved"] if pair.saved else []
    saved = f"({', '.join(pair.saved)}{',' if len(pair.saved) == 1 else ''})"
    outs = ", ".join(show(c) for c in pair.cotangents)
    ones = ", ".join("1.0" for _ in pair.seeds)
    return "\n".join([
        f"def {pair.name}_fwd({', '.join(pair.parameters)}):", *forward, f"    return {result(pair)}, {saved}", "", "",
        f"def {pair.name}_rev(saved, {', '.join(pair.seeds)}):", *unpacked, *rev, f"    return {outs}", "", "",
        f"def {pair.name}_joint({', '.join(pair.parameters)}):",
        f"    y, saved = {pair.name}_fwd({', '.join(pair.parameters)})",
        f"    return y, {pair.name}_rev(saved, {ones})"]) + "\n"


def result(pair: Pair) -> str:
    """What the forward sweep returns first: a value or a tuple of them."""
    y = ", ".join(show(e) for e in pair.results)
    return y if len(pair.results) == 1 else f"({y})"


def forward_lines(pair: Pair) -> list[str]:
    """The body of the forward sweep."""
    forward = _Lines(pair, comments=False)
    forward.block(pair.forward, 1)
    return forward.out


def reverse_lines(pair: Pair) -> list[str]:
    """The body of the reverse sweep, which reads the saved values by name."""
    rev = _Lines(pair, comments=True)
    if pair.reverse:
        rev.block(pair.reverse, 1)
    return rev.out
