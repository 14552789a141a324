"""`python -m tests.fuzz --kind programs|torture --count 2000 --seed 0`: random programs against differences.

Exit code 1 if any gradient is wrong or anything crashes; a refusal (TransadError) is counted, not a failure.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .check import Verdict
from .reduce import shrink
from .workers import Task, run


def parser() -> argparse.ArgumentParser:
    cli = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    cli.add_argument("--kind", choices=["programs", "torture"], default="programs")
    cli.add_argument("--count", type=int, default=2000)
    cli.add_argument("--seed", type=int, default=0, help="first seed")
    cli.add_argument("--size", type=int, help="statements per program, about")
    cli.add_argument(
        "--features", help="comma list; with a leading - all but those; or core (also for torture), numba, typed"
    )
    cli.add_argument("--jit", action="store_true", help="compile with Numba")
    cli.add_argument("--order", type=int, default=1, choices=[1, 2], help="2: second derivatives too")
    cli.add_argument("--forward", action="store_true", help="forward mode instead of reverse")
    cli.add_argument("--plain", action="store_true", help="do not differentiate: only check the programs themselves")
    cli.add_argument("--processes", type=int, default=1)
    cli.add_argument("--seconds", type=int, help="limit per program (20; compiled 120)")
    cli.add_argument("--until", help="HH:MM: begin no program after this time")
    cli.add_argument("--show", type=int, default=5, help="how many failing sources to print")
    cli.add_argument("--save", type=Path, help="folder for the sources of failing programs")
    cli.add_argument("--show-refused", action="store_true", help="treat refusals as something to show and save")
    cli.add_argument("--print", type=int, metavar="SEED", help="print the program of one seed and stop")
    cli.add_argument("--reduce", type=int, metavar="SEED", help="shrink the failing program of one seed and stop")
    return cli


def main() -> int:
    options = parser().parse_args()
    task = Task(
        options.kind,
        options.features,
        options.size,
        options.jit,
        options.plain,
        options.order,
        options.seconds or (120 if options.jit else 20),
        options.forward,
    )
    if options.print is not None:
        print(task.source(options.print))
        return 0
    if options.reduce is not None:
        return reduce(task, options.reduce)
    seeds = list(range(options.seed, options.seed + options.count))
    failing = ("wrong", "crash", "refused") if options.show_refused else ("wrong", "crash")
    outcomes, details, failures = Counter(), Counter(), []
    for seed, verdict in run(task, seeds, options.processes, clock(options.until)):
        outcomes[verdict.outcome] += 1
        if verdict.outcome != "right":
            details[verdict.outcome, general(verdict.detail)] += 1
        if verdict.outcome in failing:
            failures.append((seed, verdict))
            save(task, seed, verdict, options.save)
        progress(outcomes, len(seeds), seed)
    report(task, outcomes, details, failures, options.show)
    return 1 if outcomes["wrong"] or outcomes["crash"] else 0


def clock(text: str | None) -> float | None:
    """The epoch time of HH:MM today."""
    if text is None:
        return None
    hour, minute = (int(part) for part in text.split(":"))
    now = time.localtime()
    return time.time() + (hour - now.tm_hour) * 3600 + (minute - now.tm_min) * 60 - now.tm_sec


def general(detail: str) -> str:
    """The message without the numbers and names of one program."""
    detail = re.sub(r"(programs|torture)_\d+\.py:\d+(:\d+)?", r"\1", detail)
    return re.sub(r"\d+", "N", detail)[:110]


def progress(outcomes: Counter, total: int, seed: int) -> None:
    line = f"{sum(outcomes.values())}/{total} " + " ".join(f"{key} {count}" for key, count in sorted(outcomes.items()))
    if sys.stderr.isatty():
        print(f"\r{line}  (seed {seed})", end="", file=sys.stderr, flush=True)
    elif sum(outcomes.values()) % 200 == 0:
        print(line, file=sys.stderr, flush=True)


def save(task: Task, seed: int, verdict: Verdict, folder: Path | None) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{verdict.outcome}_{task.kind}_{seed}.py"
        path.write_text(f'"""{describe(seed, verdict)}"""\n\n{task.source(seed)}')


def describe(seed: int, verdict: Verdict) -> str:
    lines = [f"seed {seed}: {verdict.outcome}: {verdict.detail}"]
    if verdict.expected:
        lines.append(f"expected {verdict.expected}")
    if verdict.got:
        lines.append(f"got {verdict.got}")
    return "\n".join(lines)


def report(task: Task, outcomes: Counter, details: Counter, failures: list, show: int) -> None:
    for seed, verdict in failures[:show]:
        print("=" * 100)
        print(describe(seed, verdict))
        print(task.source(seed))
    print("=" * 100)
    print(
        f"{task.kind}: "
        + ", ".join(f"{key} {outcomes[key]}" for key in ("right", "wrong", "crash", "refused", "skipped"))
    )
    for (outcome, detail), count in details.most_common(30):
        print(f"{count:6} {outcome}: {detail}")
    for outcome in ("wrong", "crash"):
        if seeds := [seed for seed, verdict in failures if verdict.outcome == outcome]:
            print(f"{outcome} seeds: {' '.join(map(str, seeds[:60]))}")


def failure(verdict: Verdict) -> str:
    """What must stay the same while a program shrinks: a refusal's reason without names, else the kind of fault."""
    if verdict.outcome == "refused":
        return re.sub(r"the name \w+", "the name", general(verdict.detail))
    return general(verdict.detail).split(":")[0]


def reduce(task: Task, seed: int) -> int:
    """Prints the smallest program found that fails as this seed's does."""
    with tempfile.TemporaryDirectory() as folder:
        tries = 0

        def verdict(source: str) -> Verdict:
            nonlocal tries
            tries += 1
            return task.verdict(source, f"reduced_{tries}", Path(folder))

        source = task.source(seed)
        first = verdict(source)
        if first.outcome not in ("wrong", "crash", "refused"):
            print(f"seed {seed} does not fail: {first.outcome} {first.detail}")
            return 0
        key = first.outcome, failure(first)

        def fails(smaller: str) -> bool:
            found = verdict(smaller)
            return (found.outcome, failure(found)) == key

        small = shrink(source, fails)
        print(describe(seed, verdict(small)))
        print(small)
    return 1


if __name__ == "__main__":
    sys.exit(main())
