"""Give every assignment its own version of the variable, and phis where versions meet.

Afterwards each name in an expression is `variable@version`, assigned once; branches and loops carry the phis of the
variables that are read later. A variable that one path leaves unset and a later statement reads is set to zero first.

>>> from transad.quote import expr
>>> program = Program("f", ["x"], [Let("s", expr("0.0")), For("i", expr("0"), expr("3"), 1,
...                   [Let("s", expr("s + x"))])], [expr("s")], {"x": FLOAT, "s": FLOAT, "i": INT})
>>> print(dump(versions(program).body))
s@1 = 0.0
for i@1 in range(0, 3):
    s@3 = s@2 + x@0
"""
from __future__ import annotations

from transad.ir import Block, Do, Exit, For, If, Let, Move, Phi, Program, Statement, Store, While, assigned, dump, reads
from transad.kinds import FLOAT, INT, Array
from transad.passes.overlaps import apart
from transad.quote import Node, call, constant, name, names_in, substitute

Env = dict[str, str]


def base(version: str) -> str:
    """The variable of a version."""
    return version.split("@")[0]


def versions(program: Program) -> Program:
    """The program with versioned names and phis; unset variables get a first value."""
    live = {n for e in program.results for n in names_in(e)}
    for _ in range(2):
        pass_ = _Versions(program)
        env = {p: f"{p}@0" for p in (*program.parameters, *program.constants)}
        body = pass_.block(program.body, env, set(live))
        results = [pass_.use(e, env) for e in program.results]
        if not pass_.unset:
            break
        fillers: Block = [Let(v, _filler(program.kinds[v]), source="") for v in sorted(pass_.unset)]
        program = Program(**{**vars(program), "body": fillers + program.body})
    made = Program(**{**vars(program), "body": body, "results": results,
                      "parameters": [f"{p}@0" for p in program.parameters]})
    return apart(made)


def _filler(kind: object) -> Node:
    if isinstance(kind, Array):
        return call("np.empty", constant((0,) * kind.ndim if kind.ndim > 1 else 0), name(f"np.{kind.dtype}"))
    dtype = getattr(kind, "dtype", "float64")
    return constant(False if dtype == "bool" else 0 if dtype.startswith(("int", "uint")) else 0.0)


class _Versions:
    def __init__(self, program: Program) -> None:
        self.count: dict[str, int] = {}
        self.unset: set[str] = set()
        self.program = program

    def new(self, variable: str) -> str:
        self.count[variable] = self.count.get(variable, 0) + 1
        return f"{variable}@{self.count[variable]}"

    def read(self, variable: str, env: Env) -> str:
        if variable not in env:
            if variable not in self.program.kinds:
                return variable
            self.unset.add(variable)
            env[variable] = f"{variable}@unset"
        return env[variable]

    def use(self, e: Node, env: Env) -> Node:
        return substitute(e, lambda n: None if "." in n.id else name(self.read(n.id, env)))

    def block(self, block: Block, env: Env, after: set[str]) -> Block:
        """The renamed block; `env` is updated, `after` are the variables read after it."""
        lives = [after]
        for s in reversed(block):
            lives.append(live_before(s, lives[-1]))
        lives.reverse()
        return [self.statement(s, env, lives[k + 1]) for k, s in enumerate(block)]

    def statement(self, s: Statement, env: Env, after: set[str]) -> Statement:
        place = {"line": s.line, "source": s.source}
        if isinstance(s, Let):
            value = self.use(s.value, env)
            env[s.name] = self.new(s.name)
            return Let(env[s.name], value, **place)
        if isinstance(s, Move):
            sources = [self.read(n, env) for n in s.sources]
            for t in s.targets:
                env[t] = self.new(t)
            return Move([env[t] for t in s.targets], sources, **place)
        if isinstance(s, Store):
            return Store(self.read(s.array, env), [self.use(i, env) for i in s.index], self.use(s.value, env), s.op,
                         **place)
        if isinstance(s, Do):
            return Do(self.use(s.value, env), **place)
        if isinstance(s, Exit):
            return Exit(s.how, None if s.value is None else self.use(s.value, env), **place)
        if isinstance(s, If):
            return self.branch(s, env, after)
        assert isinstance(s, For | While)
        return self.loop(s, env, after)

    def branch(self, s: If, env: Env, after: set[str]) -> If:
        test = self.use(s.test, env)
        arms, envs = [], []
        for arm in (s.then, s.orelse):
            inner = dict(env)
            arms.append(self.block(arm, inner, after))
            envs.append(inner)
        a, b = envs
        raised = [_raised(s.then), _raised(s.orelse)]
        phis = []
        for v in sorted(assigned(s.then) | assigned(s.orelse)):
            if raised[0] or raised[1]:
                kept = b if raised[0] else a
                if v in kept:
                    env[v] = kept[v]
            elif v not in after:
                env.pop(v, None)
            elif a.get(v) != b.get(v):
                phis.append(Phi(self.new(v), self.read(v, a), self.read(v, b)))
                env[v] = phis[-1].out
            elif v in a:
                env[v] = a[v]
        return If(test, arms[0], arms[1], phis, line=s.line, source=s.source)

    def loop(self, s: For | While, env: Env, after: set[str]) -> Statement:
        own = {s.var} if isinstance(s, For) else set()
        changed = assigned(s.body) | own
        head_live = live_head(s, after)
        carried = sorted(v for v in changed if v in head_live or v in after)
        bounds = [self.use(s.start, env), self.use(s.stop, env)] if isinstance(s, For) else []
        inner, phis = dict(env), []
        for v in changed:
            inner.pop(v, None)
        for v in carried:
            entry = self.read(v, env)
            phis.append(Phi("", entry=entry, head=self.new(v)))
            inner[v] = phis[-1].head
        test = self.use(s.test, inner) if isinstance(s, While) else None
        var = ""
        if isinstance(s, For):
            var = inner[s.var] = self.new(s.var)
        body = self.block(s.body, inner, head_live | after)
        for v in changed:
            env.pop(v, None)
        for v, phi in zip(carried, phis, strict=True):
            phi.end, phi.out = inner[v], self.new(v)
            env[v] = phi.out
        place = {"line": s.line, "source": s.source}
        if isinstance(s, For):
            return For(var, bounds[0], bounds[1], s.step, body, phis, **place)
        return While(test, body, phis, **place)


def _raised(block: Block) -> bool:
    last = block[-1] if block else None
    if isinstance(last, Exit):
        return last.how == "raise"
    return isinstance(last, If) and _raised(last.then) and _raised(last.orelse)


def live_head(s: For | While, after: set[str]) -> set[str]:
    """The variables that may be read after the start of a trip."""
    head = set(after) | (reads(s) if isinstance(s, While) else set())
    while True:
        inside = set(head)
        for inner in reversed(s.body):
            inside = live_before(inner, inside)
        if isinstance(s, For):
            inside.discard(s.var)
        if inside <= head:
            return head
        head |= inside


def live_before(s: Statement, after: set[str]) -> set[str]:
    """The variables that may be read from just before a statement on."""
    if isinstance(s, Let):
        return (after - {s.name}) | reads(s)
    if isinstance(s, Move):
        return (after - set(s.targets)) | set(s.sources)
    if isinstance(s, If):
        out = reads(s)
        for arm in (s.then, s.orelse):
            live = set(after)
            for inner in reversed(arm):
                live = live_before(inner, live)
            out |= live
        return out
    if isinstance(s, For | While):
        return live_head(s, after) | after | reads(s)
    return after | reads(s)


__all__ = ["FLOAT", "INT", "base", "dump", "versions"]
