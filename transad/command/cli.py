"""The command line: `transad show`, `explain`, `check` and `rules`; `python -m transad` is the same.

Exit codes: 0, all is well; 1, a check failed or the function cannot be differentiated; 2, the command line was wrong.
"""
from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transad.command.targets import Usage

__all__ = ["main"]

_TARGET = ("module:qualname, path.py:name, path.py::name, or a bare name that is unique in the modules below the "
           "working directory")
_SIGNATURE = ("the kinds of the arguments, such as \"float64[:], int\" (f8, float, int, complex, tuples in "
              "parentheses, name=kind); default: annotations, defaults, else guessed from use")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="transad", description="Derivatives of plain Python, NumPy and Numba code by source transformation.",
        epilog="Exit codes: 0 fine, 1 a check failed or the function cannot be differentiated, 2 wrong usage.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    show = commands.add_parser("show", help="print the derivative of a function as the text that runs",
                               formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_SHOW_EXAMPLES)
    _target(show)
    show.add_argument("--mode", default="reverse", metavar="MODE",
                      help="reverse (default): the pair of sweeps; joint: with value and gradient in one; pullback: "
                           "with a function that returns (y, back); primal: what the forward sweep is made from; "
                           "forward: tangents beside the primals; kernel: the functions of the maps")
    show.add_argument("--after", metavar="PASS", help="print the program after one pass of the compiler")
    show.add_argument("--side-by-side", action="store_true", help="your source left, the derivative right")
    show.add_argument("-o", "--output", metavar="FILE", help="write the text to a file")
    show.add_argument("--color", "--colour", choices=("auto", "always", "never"), default="auto",
                      help="default auto: on a terminal, unless NO_COLOR is set (needs Pygments)")
    show.set_defaults(run=_show)

    explain = commands.add_parser("explain", help="which path the derivative takes and why, and what it keeps")
    _target(explain)
    explain.add_argument("--rows", metavar="NAMES", help="arguments with the rows of a batch: whether each loss depends on its "
                         "row alone")
    explain.set_defaults(run=_explain)

    check = commands.add_parser("check", help="compare the derivative of a function with differences")
    check.add_argument("target", metavar="TARGET", help=_TARGET)
    check.add_argument("--args", default="", metavar="EXPRS",
                       help="the arguments as Python expressions: --args 'np.ones(3), 0.5'; np, math and the names of "
                            "the function's module can be used")
    check.add_argument("--order", type=int, choices=(1, 2), default=1, help="2 checks second derivatives too")
    check.add_argument("--rtol", type=float, default=1e-5, help="relative tolerance (default %(default)g)")
    check.add_argument("--atol", type=float, default=1e-6, help="absolute tolerance (default %(default)g)")
    check.set_defaults(run=_check)

    rules = commands.add_parser("rules", help="the functions with a derivative rule")
    rules.add_argument("pattern", metavar="PATTERN", nargs="?", help="part of a name, or a pattern with * and ?")
    rules.add_argument("--markdown", action="store_true", help="the catalogue page of the documentation")
    rules.set_defaults(run=_rules)
    return parser


_SHOW_EXAMPLES = """examples:
  transad show model.py:loss
  transad show model.py:loss --signature "float64[:], float64[:,:], int" --wrt 0,1
  transad show package.module:Class.method --mode pullback
  transad show loss --side-by-side
  transad show loss --after versions -o loss_versions.txt
"""


def _target(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="TARGET", help=_TARGET)
    command.add_argument("--wrt", metavar="NAMES",
                         help="the arguments to differentiate, by name or position: x,y (default: the first)")
    command.add_argument("--signature", metavar="KINDS", help=_SIGNATURE)
    command.add_argument("--jit", action="store_true", help="as with jit=True: small maps too become kernels")
    command.add_argument("--without", metavar="NAMES", default="",
                         help="optimisations to leave out, such as recompute,prune")
    command.add_argument("--sequential", action="store_true", help="as with parallel=False: no maps on threads")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    from transad.errors import TransadError
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:          # argparse prints help (0) or the mistake (2)
        return int(stop.code or 0)
    try:
        return options.run(options)
    except Usage as problem:
        return _said(problem, 2)
    except TransadError as problem:
        return _said(problem, 1)
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _said(problem: Exception, code: int) -> int:
    print(f"transad: {problem}", file=sys.stderr)
    return code


def _plan(options: argparse.Namespace) -> Any:
    """The plan for the target; a wrong --wrt or --signature is a mistake in the command line."""
    from transad.command.plan import planned
    from transad.command.targets import found
    from transad.errors import InvalidArgument
    function = found(options.target)
    chosen: dict[str, Any] = {**({"jit": True} if options.jit else {}), **({"parallel": False} if options.sequential else {})}
    if options.without:
        chosen["without"] = tuple(w.strip() for w in options.without.split(","))
    try:
        return planned(function, signature=options.signature, wrt=options.wrt, options=chosen)
    except InvalidArgument as problem:
        raise Usage(str(problem)) from None


def _show(options: argparse.Namespace) -> int:
    from transad.command.show import header, text_of
    from transad.errors import InvalidArgument
    options.sequential |= options.side_by_side          # the adjoint of a map is not in the order of the lines
    plan = _plan(options)
    try:
        text = text_of(plan, options.mode, options.after)
    except InvalidArgument as problem:
        raise Usage(str(problem)) from None
    head = "".join(f"# {line}\n" for line in header(plan))
    if options.side_by_side:
        if options.after or options.mode != "reverse":
            raise Usage("--side-by-side shows the pair of sweeps; leave out --mode and --after")
        from transad.command.side_by_side import columns, joined
        rows = columns(plan, text)
        return _written(head, joined(rows, 0 if options.output else _width()), options, rows)
    return _written(head, text, options)


def _width() -> int:
    return shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0


def _written(head: str, text: str, options: argparse.Namespace, rows: Any = None) -> int:
    from transad.command.colour import coloured, wanted
    if options.output:
        try:
            Path(options.output).write_text(head + text, encoding="utf-8")
        except OSError as problem:
            raise Usage(f"{options.output} cannot be written: {problem.strerror}") from None
        return 0
    if wanted(options.color, sys.stdout):
        head = coloured(head)
        text = _by_column(text, coloured) if rows is not None else coloured(text)
    print(head + text, end="")
    return 0


def _by_column(text: str, coloured: Any) -> str:
    """Colour each column by itself, so that the left one keeps its width."""
    lines = [line.partition(" │") for line in text.splitlines()]
    right = coloured("\n".join(after for _, _, after in lines)).split("\n")
    return "\n".join(f"{coloured(left)}{bar}{after}" for (left, bar, _), after in zip(
        lines, right, strict=False)) + "\n"


def _explain(options: argparse.Namespace) -> int:
    from transad.command.explain import explained
    rows = [r.strip() for r in options.rows.split(",")] if options.rows else []
    print(explained(_plan(options), rows))
    return 0


def _check(options: argparse.Namespace) -> int:
    import inspect

    from transad.checking import arguments, checked, failures, table
    from transad.command.targets import found
    from transad.errors import TransadError
    from transad.function import unwrapped
    function = found(options.target)
    args = arguments(options.args, unwrapped(function))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise Usage(f"{options.target} has no signature that can be read") from None
    try:
        bound = signature.bind(*args)
    except TypeError as problem:
        raise Usage(f"{options.target}{signature}: {problem}; give the arguments with --args") from None
    names = [n for n in bound.arguments if signature.parameters[n].kind is not inspect.Parameter.VAR_POSITIONAL]
    names += [f"#{k}" for k in range(len(names), len(args))]
    try:
        rows = checked(function, args, names, options.rtol, options.atol)
        bad = failures(function, args, options.order, options.rtol, options.atol) if rows else []
    except TransadError:
        raise
    except Exception as problem:          # the user's own function raised
        return _said(RuntimeError(f"{options.target} raised {type(problem).__name__}: {problem}{_where(problem)}"), 1)
    if not rows:
        raise Usage(f"no argument of {options.target} holds floats or complex numbers")
    print(table(rows))
    wrong = [f"the derivative with respect to {r.name}" for r in rows if not r.agrees] or bad
    for what in wrong:
        print(f"{what} differs from differences", file=sys.stderr)
    return 1 if wrong else 0


def _where(problem: Exception) -> str:
    """The last line of the user's own code in a traceback."""
    import traceback
    own = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if own not in Path(f.filename).parents]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _rules(options: argparse.Namespace) -> int:
    from transad.command.targets import near
    from transad.rules.catalogue import every_name, markdown, matching
    if options.markdown:
        print(markdown(), end="")
        return 0
    found = matching(options.pattern)
    if not found:
        raise Usage(f"no rule matches {options.pattern}",
                    near(options.pattern.strip("*?"), every_name()))
    rows = [("function", "rule", "modes", "compiled", "notes")]
    rows += [(e.name, e.form, e.modes, "yes" if e.compiled else "no", e.notes) for e in found]
    wide = [max(len(r[c]) for r in rows) for c in range(4)]
    for row in rows:
        print("  ".join([*(f"{cell:<{w}}" for cell, w in zip(row[:4], wide, strict=True)), row[4]]).rstrip())
    return 0
