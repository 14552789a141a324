"""Judges many seeds in one or several processes; one that dies or hangs is a crash of its seed only."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import programs, torture
from .check import Verdict, judge


@dataclass(frozen=True)
class Task:
    """What to generate and how to judge it."""

    kind: str
    features: str | None = None
    size: int | None = None
    jit: bool = False
    plain: bool = False
    order: int = 1
    seconds: int = 20
    forward: bool = False

    def source(self, seed: int) -> str:
        size = {} if self.size is None else {"size": self.size}
        if self.kind == "torture":
            return torture.generate(seed, **size, exotic=self.features is None).source
        chosen = programs.select(self.features) if self.features else None
        return programs.generate(seed, chosen, **size).source

    def verdict(self, source: str, name: str, folder: Path) -> Verdict:
        return judge(source, name, folder, jit=self.jit, plain=self.plain, order=self.order, seconds=self.seconds,
                     forward=self.forward)


def serve(task: Task, pipe) -> None:
    """A worker: seeds in, verdicts out."""
    with tempfile.TemporaryDirectory() as folder:
        while (seed := pipe.recv()) is not None:
            pipe.send(task.verdict(task.source(seed), f"{task.kind}_{seed}", Path(folder)))


class Worker:
    """A child process and the seed that it is at."""

    def __init__(self, task: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(task, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.seed: int | None = None
        self.deadline = 0.0

    def give(self, seed: int, seconds: int) -> None:
        self.seed, self.deadline = seed, time.monotonic() + seconds + 60
        self.pipe.send(seed)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def run(task: Task, seeds: list[int], count: int, until: float | None = None) -> Iterator[tuple[int, Verdict]]:
    """Verdicts as they come. `until` is a time (seconds since the epoch) at which no new seed is begun."""
    if count <= 1:
        with tempfile.TemporaryDirectory() as folder:
            for seed in seeds:
                if until is not None and time.time() > until:
                    return
                yield seed, task.verdict(task.source(seed), f"{task.kind}_{seed}", Path(folder))
        return
    yield from spread(task, iter(seeds), [Worker(task) for _ in range(count)], until)


def spread(task: Task, seeds: Iterator[int], workers: list[Worker], until: float | None) -> Iterator:
    try:
        for worker in workers:
            feed(worker, seeds, task, until)
        while busy := [worker for worker in workers if worker.seed is not None]:
            multiprocessing.connection.wait([worker.pipe for worker in busy], timeout=5)
            for worker in busy:
                seed = worker.seed
                if worker.pipe.poll():
                    try:
                        verdict = worker.pipe.recv()
                    except EOFError:
                        worker.process.join()
                        verdict = Verdict("crash", f"the process died with exit code {worker.process.exitcode}")
                        workers[workers.index(worker)] = worker = Worker(task)
                elif time.monotonic() > worker.deadline:
                    worker.stop()
                    verdict = Verdict("crash", "the process hangs")
                    workers[workers.index(worker)] = worker = Worker(task)
                else:
                    continue
                feed(worker, seeds, task, until)
                yield seed, verdict
    finally:
        for worker in workers:
            worker.stop()


def feed(worker: Worker, seeds: Iterator[int], task: Task, until: float | None) -> None:
    worker.seed = None
    if until is None or time.time() < until:
        seed = next(seeds, None)
        if seed is not None:
            worker.give(seed, task.seconds)
