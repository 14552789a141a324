"""The functions of forward mode as text: `f_push`, `f_forward` and `f_jacobian`."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from transad.emit import _Lines
from transad.ir import Block
from transad.passes.forward.push import Push
from transad.passes.reverse import Pair
from transad.quote import show


def _lines(body: Block, kinds: dict[str, Any], indent: int, comments: bool = False) -> list[str]:
    out = _Lines(SimpleNamespace(kinds=kinds), comments)          # type: ignore[arg-type]
    if body:
        out.block(body, indent)
    return out.out


def _tuple(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def unpacked(parameters: list[str], arguments: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """The arguments as the caller gives them, and the lines that take small arrays apart."""
    owner = {row[0]: a for a, row in arguments.items()}
    inner = {e for row in arguments.values() for e in row}
    given = [owner.get(p, p) for p in parameters if p in owner or p not in inner]
    lines = [f"    {e} = {a}[{k}]" for a, row in arguments.items() for k, e in enumerate(row)]
    return given, lines


def push_text(p: Push) -> str:
    """`f_push(arguments, tangents of lane 0, of lane 1 ...) -> results, tangents of lane 0 ...`, all in one row."""
    given = [*p.parameters, *(t for lane in p.seeds for t in lane)]
    out = [show(e) for e in [*p.results, *(t for lane in p.tangents for t in lane)]]
    return "\n".join([f"def {p.name}_push({', '.join(given)}):", *_lines(p.body, p.kinds, 1),
                      f"    return {', '.join(out)}{',' if len(out) == 1 else ''}"]) + "\n"


def forward_text(p: Push, arguments: dict[str, list[str]], gradients: list[tuple[str, int]], names: Any) -> str:
    """`f_forward(arguments) -> y, gradient`: one lane for each number that is differentiated.

    gradients  for each differentiated argument its name and its length (-1: a number)"""
    given, lines = unpacked(p.parameters, arguments)
    outs, packing, lane = [], [], 0
    for label, n in gradients:
        if n < 0:
            outs.append(show(p.tangents[lane][0]))
            lane += 1
            continue
        d = names.fresh(f"d_{label}")
        outs.append(d)
        packing.append(f"    {d} = np.empty({n})")
        packing += [f"    {d}[{k}] = {show(p.tangents[lane + k][0])}" for k in range(n)]
        lane += n
    return "\n".join([f"def {p.name}_forward({', '.join(given)}):", *lines, *_lines(p.body, p.kinds, 1), *packing,
                      f"    return {show(p.results[0])}, {_tuple(outs)}"]) + "\n"


def hessian_text(p: Push, arguments: dict[str, list[str]], names: Any) -> str:
    """`f_hessian(arguments) -> value, gradient, matrix of second derivatives`, over all numbers in a row.

    Lane k gives column k from the diagonal down; above it the matrix is its mirror image."""
    given, lines = unpacked(p.parameters, arguments)
    n = len(p.tangents)
    grad, hess = names.fresh("grad"), names.fresh("hess")
    filled = [f"    {grad} = np.empty({n})", f"    {hess} = np.empty(({n}, {n}))"]
    filled += [f"    {grad}[{k}] = {show(e)}" for k, e in enumerate(p.results[1:])]
    for k, lane in enumerate(p.tangents):
        for row in range(k, n):
            both = f"{hess}[{row}, {k}]" if row == k else f"{hess}[{row}, {k}] = {hess}[{k}, {row}]"
            filled.append(f"    {both} = {show(lane[row + 1])}")
    return "\n".join([f"def {p.name}_hessian({', '.join(given)}):", *lines, *_lines(p.body, p.kinds, 1), *filled,
                      f"    return {show(p.results[0])}, {grad}, {hess}"]) + "\n"


def jacobian_text(label: str, given: list[str], body: list[str], rows: int, columns: list[int], scalar: bool,
                  numbers: list[bool], names: Any) -> str:
    """`f_jacobian_into(arguments, y, jac ...)`, which fills arrays of its caller, and `f_jacobian(arguments)`.

    body  the lines that fill `{y}` and `{jac[k]}`"""
    y = names.fresh("y")
    jacs = [names.fresh("jac" if len(columns) == 1 else f"jac_{k}") for k in range(len(columns))]
    filled = [line.format(y=y, jac=jacs) for line in body]
    made = [f"    {j} = np.empty(({rows}, {n}))" for j, n in zip(jacs, columns, strict=True)]
    outs = [j if not scalar and not number else f"{j}[0, 0]" if scalar and number else f"{j}[0]" if scalar
            else f"{j}[:, 0].copy()" for j, number in zip(jacs, numbers, strict=True)]
    return "\n".join([
        f"def {label}_jacobian_into({', '.join([*given, y, *jacs])}):", *filled, "", "",
        f"def {label}_jacobian({', '.join(given)}):", f"    {y} = np.empty({rows})", *made,
        f"    {label}_jacobian_into({', '.join([*given, y, *jacs])})",
        f"    return {y}{'[0]' if scalar else ''}, {_tuple(outs)}"]) + "\n"


def _braced(line: str) -> str:
    return line.replace("{", "{{").replace("}", "}}")


def rows_body(pair: Pair, columns: list[int], names: Any) -> list[str]:
    """One forward sweep, then the reverse sweep once for each number of the result."""
    lines = [_braced(x) for x in _lines(pair.forward, pair.kinds, 1)]
    lines += [f"    {{y}}[{k}] = {_braced(show(e))}" for k, e in enumerate(pair.results)]
    row, rows = names.fresh("row"), len(pair.results)
    lines.append(f"    for {row} in range({rows}):")
    lines += [f"        {seed} = 1.0 if {row} == {k} else 0.0" if rows > 1 else f"        {seed} = 1.0"
              for k, seed in enumerate(pair.seeds)]
    lines += [_braced(x) for x in _lines(pair.reverse, pair.kinds, 2, comments=True)]
    place = [(j, k) for j, n in enumerate(columns) for k in range(n)]
    lines += [f"        {{jac[{j}]}}[{row}, {k}] = {_braced(show(c))}"
              for (j, k), c in zip(place, pair.cotangents, strict=True)]
    return lines


def columns_body(p: Push, columns: list[int]) -> list[str]:
    """One sweep with a lane for each number of the arguments."""
    lines = [_braced(x) for x in _lines(p.body, p.kinds, 1)]
    lines += [f"    {{y}}[{k}] = {_braced(show(e))}" for k, e in enumerate(p.results)]
    place = [(j, k) for j, n in enumerate(columns) for k in range(n)]
    return lines + [f"    {{jac[{j}]}}[{r}, {k}] = {_braced(show(t))}" for (j, k), lane in zip(
        place, p.tangents, strict=True) for r, t in enumerate(lane)]
