"""The command line: targets, modes, exit codes, messages. main() is run in this process."""
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transad
from transad import errors
from transad.command import cli
from transad.command.plan import planned
from transad.rules import catalogue
from transad.signatures import assumed, parsed, spelled

MODEL = '''
import math
import numpy as np


def garch(theta, r):
    omega, alpha, beta = theta[0], theta[1], theta[2]
    s = r[0] ** 2
    ll = 0.0
    for t in range(1, len(r)):
        s = omega + alpha * r[t - 1] ** 2 + beta * s
        ll += math.log(s) + r[t] ** 2 / s
    return 0.5 * ll


def table(x):
    by_name = {"a": x}
    by_name["b"] = by_name["a"] * x
    return by_name["b"]


def wrong(x):
    return _floored(x)


_floored = __import__("transad").custom_rule(lambda x: x * x, lambda x: (x * x, lambda ct: (ct * x,)))


def impolite(x):
    raise ValueError("not today")


class Model:
    def __init__(self):
        self.k = 2.0

    def energy(self, x):
        return self.k * x * x

    def __call__(self, x):
        return self.energy(x)


model = Model()
CONSTANT = 3.0
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a module, a package and a second file that shares a name."""
    (tmp_path / "models_of_cli.py").write_text(MODEL)
    (tmp_path / "other_of_cli.py").write_text("def twice(x):\n    return 2.0 * x\n\n\ndef impolite(x):\n    return x\n")
    package = tmp_path / "package_of_cli"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("from .helper import k\n\n\ndef scaled(x):\n    return k * x\n")
    (package / "helper.py").write_text("k = 4.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [n for n in sys.modules if "of_cli" in n]:
        del sys.modules[name]


def run(capsys, *argv):
    code = cli.main([str(a) for a in argv])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


@pytest.mark.parametrize("target", ["models_of_cli:garch", "models_of_cli.py:garch", "models_of_cli.py::garch", "garch",
                                    "models_of_cli.garch", "./models_of_cli.py:garch"])
def test_every_form_of_target(folder, capsys, target):
    code, out, err = run(capsys, "show", target)
    assert code == 0 and not err
    assert "def garch_fwd(theta, r):" in out and "def garch_rev(saved, " in out


def test_files_of_packages_may_use_relative_imports(folder, capsys):
    code, out, _ = run(capsys, "show", "package_of_cli/inner.py:scaled", "--signature", "float")
    assert code == 0 and "4.0 * " in out


def test_methods_and_callable_objects(folder, capsys):
    code, out, _ = run(capsys, "show", "models_of_cli:model.energy")
    assert code == 0 and "energy" in out
    code, out, _ = run(capsys, "show", "models_of_cli:model")
    assert code == 0 and "energy" in out


@pytest.mark.parametrize("target, said", [
    ("garhc", "garch"), ("models_of_cli:garhc", "garch"), ("models_of_cly:garch", "models_of_cli"),
    ("models_of_cli.py", "models_of_cli.py:garch"), ("model_of_cli.py:garch", "models_of_cli.py"),
    ("impolite", "other_of_cli.py:impolite"), ("models_of_cli:CONSTANT", "float"),
    ("no_such_thing_anywhere", "no function"), ("math:sin", "with a derivative rule"), ("numpy:sum", "transad rules")])
def test_misses_list_what_is_near(folder, capsys, target, said):
    code, out, err = run(capsys, "show", target)
    assert code == 2 and not out and said in err


def test_a_module_that_cannot_be_imported_is_named(folder, capsys):
    Path("broken_of_cli.py").write_text("def f(x):\n    return x\n\n\n1 / 0\n")
    code, _, err = run(capsys, "show", "broken_of_cli.py:f")
    assert code == 2 and "ZeroDivisionError" in err and "line 5" in err


@pytest.mark.parametrize("options", [
    ("--wrt", "omega"), ("--signature", "float[:"), ("--signature", "float, float, float"), ("--mode", "sideways"),
    ("--after", "lunch"), ("--color", "sometimes"), ("--side-by-side", "--mode", "joint"),
    ("-o", "no/such/folder/f.py"), ("--signature", "x=float")])
def test_wrong_options_are_usage_errors(folder, capsys, options):
    code, out, err = run(capsys, "show", "garch", *options)
    assert code == 2 and not out and err


def test_no_command_and_help(capsys):
    assert run(capsys)[0] == 2
    for argv in ([], ["show"], ["check"], ["explain"], ["rules"]):
        code, out, _ = run(capsys, *argv, "--help")
        assert code == 0 and "usage: transad" in out


def test_modes_print_programs_that_run(folder, capsys):
    sys.path.insert(0, str(folder))
    import models_of_cli as module
    theta, r = np.array([0.1, 0.2, 0.7]), np.linspace(-1.0, 1.0, 9)
    expected = transad.grad(module.garch)(theta, r)
    for mode in ("primal", "reverse", "pullback", "joint"):
        _, text, _ = run(capsys, "show", "garch", "--mode", mode)
        space = {"np": np, "math": math}
        exec(text, space)
        if mode == "primal":
            assert space["garch"](theta, r) == module.garch(theta, r)
            continue
        y, saved = space["garch_fwd"](theta, r)
        assert y == module.garch(theta, r)
        np.testing.assert_allclose(space["garch_rev"](saved, 1.0), expected, rtol=1e-12)
        if mode == "joint":
            np.testing.assert_allclose(space["garch_joint"](theta, r)[1], expected, rtol=1e-12)
        if mode == "pullback":
            y, back = space["garch_pullback"](theta, r)
            np.testing.assert_allclose(back(2.0), 2.0 * expected, rtol=1e-12)


def test_forward_mode_prints_a_program_that_runs(folder, capsys):
    sys.path.insert(0, str(folder))
    import models_of_cli as module

    from transad.runtime.typed import keep_zero
    theta, r = np.array([0.1, 0.2, 0.7]), np.linspace(-1.0, 1.0, 9)
    expected = transad.grad(module.garch, mode="reverse")(theta, r)
    space = {"np": np, "math": math, "keep_zero": keep_zero}
    exec(transad.api.source(module.garch, theta, r, mode="forward"), space)
    np.testing.assert_allclose(space["garch_forward"](theta, r)[1], expected, rtol=1e-12)
    code, text, _ = run(capsys, "show", "garch", "--mode", "forward")
    exec(text, space)
    assert code == 0
    assert space["garch_push"](theta, r, np.array([0.0, 1.0, 0.0]))[1] == pytest.approx(expected[1])


def test_what_is_shown_is_what_runs(folder, capsys):
    sys.path.insert(0, str(folder))
    import models_of_cli as module

    from transad import options, typed
    found = typed.find(module.garch, (np.ones(3), np.ones(5)), {}, [0], (), options.Options())
    _, text, _ = run(capsys, "show", "garch", "--mode", "joint")
    assert text.split("\n", 1)[1] == found[0].built.text


def test_after_prints_the_program_after_each_pass(folder, capsys):
    from transad.pipeline import PASSES
    for label in ("lower_exits", *(name for name, _ in PASSES)):
        code, out, _ = run(capsys, "show", "garch", "--after", label)
        assert code == 0 and "theta" in out, label
    assert run(capsys, "show", "garch", "--after", "record")[0] == 1
    assert run(capsys, "show", "table", "--after", "emit")[0] == 1
    assert "ta_setitem" in run(capsys, "show", "table", "--after", "record")[1]


def test_recorded_functions_are_shown_with_the_reason(folder, capsys):
    code, out, _ = run(capsys, "show", "table")
    assert code == 0 and "# Recorded on a tape, because:" in out and "(models_of_cli.py, line 17)" in out
    assert "ta_getitem" in out
    compile(out, "shown", "exec")


def test_wrt_takes_names_and_positions(folder, capsys):
    both = run(capsys, "show", "garch", "--wrt", "theta,r")[1]
    assert both == run(capsys, "show", "garch", "--wrt", "0, -1")[1]
    assert "d_theta" in both and "d_r" in both
    assert "d_r[" not in run(capsys, "show", "garch")[1]


def test_side_by_side_pairs_statements_with_their_adjoints(folder, capsys):
    code, out, _ = run(capsys, "show", "garch", "--side-by-side")
    assert code == 0
    forward, reverse = out.split("def garch_rev")
    rows = [line.split("│") for line in forward.splitlines() if "│" in line]
    pairs = [(a[4:].strip(), b.strip()) for a, b in rows if a.strip() and b.strip()]
    assert ("for t in range(1, len(r)):", "for t in range(1, len(r)):") in pairs
    assert "#" not in reverse
    adjoint = next(line for line in reverse.splitlines() if "ll += math.log(s)" in line)
    assert "d_" in adjoint.split("│")[1]
    numbers = [int(line[:4]) for line in forward.splitlines() if line[:4].strip().isdigit()]
    assert numbers == list(range(6, 14))


def test_side_by_side_of_a_recorded_function(folder, capsys):
    code, out, _ = run(capsys, "show", "table", "--side-by-side")
    row = next(line for line in out.splitlines() if 'by_name["b"] = ' in line)
    assert code == 0 and "ta_setitem" in row


def test_output_file_and_colour(folder, capsys, monkeypatch):
    plain = run(capsys, "show", "garch")[1]
    assert run(capsys, "show", "garch", "-o", "out.py", "--color", "always") == (0, "", "")
    assert Path("out.py").read_text() == plain
    assert "\x1b[" not in run(capsys, "show", "garch", "--color", "never")[1]
    pytest.importorskip("pygments")
    bright = run(capsys, "show", "garch", "--color", "always")[1]
    assert "\x1b[" in bright
    import re
    assert re.sub(r"\x1b\[[0-9;]*m", "", bright).split() == plain.split()
    from transad.command import colour

    class Terminal:
        def isatty(self):
            return True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour.wanted("auto", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.wanted("auto", Terminal()) and colour.wanted("always", Terminal())


def test_explain_names_path_and_reason(folder, capsys):
    code, out, _ = run(capsys, "explain", "garch")
    assert code == 0 and "path: typed" in out and "taped in loops:" in out and "for t in range(1, len(r))" in out
    code, out, _ = run(capsys, "explain", "table")
    assert code == 0 and "path: recorded" in out and "because:" in out
    assert 'by_name = {"a": x}' in out and "to have it emitted:" in out


def test_check_agrees(folder, capsys):
    code, out, err = run(capsys, "check", "garch", "--args", "np.array([0.1, 0.2, 0.7]), np.linspace(-1, 1, 9)")
    assert code == 0 and not err
    assert [line.split()[-1] for line in out.splitlines()[1:]] == ["ok", "ok"]
    assert run(capsys, "check", "table", "--args", "CONSTANT", "--order", "2")[0] == 0


def test_check_finds_a_wrong_derivative(folder, capsys):
    code, out, err = run(capsys, "check", "wrong", "--args", "1.5")
    assert code == 1 and "DIFFERS" in out and "with respect to x differs" in err


@pytest.mark.parametrize("argv, code, said", [
    (("models_of_cli:impolite", "--args", "1.0"), 1, "ValueError: not today"), (("garch",), 2, "missing"),
    (("garch", "--args", "1.0, oops"), 2, "NameError"), (("table", "--args", "1.0, 2.0, 3.0"), 2, "too many"),
    (("twice", "--args", "3"), 2, "holds floats")])
def test_check_says_what_is_wrong(folder, capsys, argv, code, said):
    found, _, err = run(capsys, "check", *argv)
    assert found == code and said in err


def test_rules_by_part_and_by_pattern(capsys):
    code, out, _ = run(capsys, "rules", "math.erf")
    assert code == 0 and out.splitlines()[1].split()[:2] == ["math.erf", "partials"]
    assert "np.absolute" in run(capsys, "rules", "abs")[1]
    names = [line.split()[0] for line in run(capsys, "rules", "np.linalg.*norm")[1].splitlines()[1:]]
    assert "np.linalg.norm" in names and all("norm" in n for n in names)
    code, out, err = run(capsys, "rules", "coss")
    assert code == 2 and not out and "np.cos" in err
    assert "np.einsum" in run(capsys, "rules")[1]


def test_python_dash_m_is_the_same(folder):
    done = subprocess.run([sys.executable, "-m", "transad", "show", "twice"], capture_output=True, text=True,
                          env={**__import__("os").environ, "PYTHONPATH": str(Path(transad.__file__).parent.parent)})
    assert done.returncode == 0 and "def twice_fwd(x):" in done.stdout, done.stderr


def items(a, xs):
    return sum(math.exp(-a * x) * math.sin(a * x) * math.cos(x) for x in xs)


def test_maps_are_shown_as_they_run():
    parallel = transad.api.source(items, 0.5, np.ones(3), jit=True)
    sequential = transad.api.source(items, 0.5, np.ones(3), jit=True, parallel=False)
    assert "def items_fwd(a, xs):" in parallel and "def items_fwd(a, xs):" in sequential
    assert "prange" in parallel and "prange" not in sequential
    from transad.command.explain import explained
    assert "kernels: 1 loop" in explained(planned(items, (0.5, np.ones(3)), options={"jit": True}))


def newton(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


def smoothed(start, n):
    u = start.copy()
    v = start.copy()
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = u[i - 1] * u[i + 1]
        u, v = v, u
    return u[1]


def test_explain_says_what_is_taped():
    from transad.command.explain import explained
    text = explained(planned(newton))
    assert "x  one number a trip of `while abs(x * x - a) > tol`, 8 bytes each" in text
    assert "trips  how many trips the loop made" in text
    assert "a copy of the array a trip of `for _ in range(n)`, 8 bytes an element" in explained(planned(smoothed))


# Signatures

@pytest.mark.parametrize("text, expected", [
    ("float", ["float64"]), ("f8[:], i8", ["float64[:]", "int64"]), ("float32[:, :]", ["float32[:,:]"]),
    ("(f8, f8[:]), bool", ["(float64, float64[:])", "bool"]), ("float64(float64[:], int64)", ["float64[:]", "int64"]),
    ("complex", ["complex128"]), ("float64[::1]", ["float64[:]"]), ("", [])])
def test_signatures_are_read(text, expected):
    assert [spelled(shape) for _, shape in parsed(text)] == expected


@pytest.mark.parametrize("text", ["float[3]", "quaternion", "float[:", "1.0", "float[:]]"])
def test_bad_signatures_are_refused(text):
    with pytest.raises(errors.InvalidArgument):
        parsed(text)


def helper(grid, k):
    return grid[k, k]


def guessed(theta, grid, data, n, index, scale: float, weights: "np.ndarray", steps=10, mode="fast"):
    rows, columns = grid.shape
    moved = theta.copy()
    total = np.sum((data - scale) ** 2)
    for i in range(n):
        total += moved[i] * grid[i, 0] * weights[i] + helper(grid, i)
    for row in data:
        total += row
    return total + theta[index[0]]


def test_kinds_are_guessed_from_use_annotations_and_defaults():
    found = {a.name: (spelled(a.shape), a.origin) for a in assumed(guessed)}
    assert found == {
        "theta": ("float64[:]", "use"), "grid": ("float64[:,:]", "use"), "data": ("float64[:]", "use"),
        "n": ("int64", "use"), "index": ("int64[:]", "use"), "scale": ("float64", "annotation"),
        "weights": ("float64[:]", "annotation"), "steps": ("int64", "default"), "mode": ("'fast'", "default")}


def rows(m, s):
    for i in range(3):
        row = m[i]
        row[1:] = row[:-1] * s
    return np.sum(m ** 2)


def computed(x, s):
    a = np.exp(x * s)
    a[1:] += a[:-1]
    return a[0]


def sums(p):
    return np.sum(p * p)


@pytest.mark.parametrize("f, expected", [
    (rows, ["float64[:,:]", "float64"]), (computed, ["float64[:]", "float64"]), (sums, ["float64[:]"])])
def test_ranks_are_followed_through_variables(f, expected):
    assert [spelled(a.shape) for a in assumed(f)] == expected


def calls(f, x):
    return f(x)


def test_what_cannot_be_guessed_is_said():
    plan = planned(calls)
    assert plan.path == "recorded" and "it is called" in plan.refused.reason
    assert planned(calls, (np.sin, 2.0), wrt="x").arguments[0].origin == "argument"


# f.source()

@transad.differentiable
def cube(x, n):
    y = 1.0
    for _ in range(n):
        y *= x
    return y


def test_source_of_a_differentiable_function():
    assert cube.source(2.0, 3) == cube.source(signature="float, int")
    assert cube.source(2.0, 3).startswith("def cube_fwd(x, n):")
    assert "def cube_joint(" in cube.source(2.0, 3, mode="joint")
    assert "def cube_pullback(" in cube.source(2.0, 3, mode="pullback", wrt=0)
    assert "ta_imul" in cube.source(2.0, 3, path="recorded")
    assert cube.source().splitlines()[0].startswith("# Assumed from its use: ")
    with pytest.raises(errors.InvalidArgument, match="modes are"):
        cube.source(2.0, 3, mode="forwards")


# The documentation

DOCS = Path(transad.__file__).parent.parent / "docs"


def test_the_catalogue_page_is_current():
    page = (DOCS / "catalogue.md").read_text()
    if f"<!-- {catalogue._versions()} -->" not in page:
        pytest.skip("the page was written with other versions of NumPy and SciPy")
    # Rules that other tests declare are not part of the package.
    assert catalogue.markdown() == page, "run python -m transad.rules.catalogue > docs/catalogue.md"


def test_every_compiled_elementwise_function_has_a_typed_derivative():
    """What the catalogue calls compiled is emitted by the typed path, and agrees with the recorded one."""
    from transad.passes.specialise.library import LIBRARY
    from transad.passes.specialise.numpy_table import NAMES
    from transad.rules import load, registry
    load()
    checked = 0
    for rule in registry.registered():
        if not rule.partials or rule.function not in NAMES or not catalogue.compiles(rule):
            continue
        if NAMES[rule.function] in LIBRARY:         # typed in compiled code only: tests/test_compiled_numpy.py
            continue
        point = next((p for p in rule.points if all(type(v) is float for v in p)), None)
        if point is None:
            continue
        f = _calling(NAMES[rule.function], len(point))
        plan = planned(f, point)
        assert plan.path == "typed", (NAMES[rule.function], plan.refused)
        typed = transad.grad(f, path="typed")(*point)
        assert typed == pytest.approx(transad.grad(f, path="recorded")(*point), nan_ok=True), NAMES[rule.function]
        checked += 1
    assert checked > 40


def _calling(name, count):
    import linecache
    args = ", ".join("xyz"[:count])
    text = f"def f({args}):\n    return {name}({args})\n"
    file = f"<test {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np, "math": math}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def test_every_error_code_has_an_entry():
    import re
    package = Path(transad.__file__).parent
    codes = {c for f in package.rglob("*.py") for c in re.findall(r"code ?= ?\"(TA\d+)\"", f.read_text())}
    page = (DOCS / "errors.md").read_text()
    assert codes and not {c for c in codes if f"## {c}" not in page}
    described = set(re.findall(r"^## (TA\d+)", page, re.M))
    assert described == codes


def test_functions_inside_functions_are_shown_from_the_margin():
    def inner(x):
        return {"x": x}["x"]
    lines = transad.api.source(inner, mode="primal").splitlines()
    assert lines[-2:] == ["def inner(x):", '    return {"x": x}["x"]']
