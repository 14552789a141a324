"""One call of a per-sample gradient: its arguments taken apart, the memory of its result, the samples one by one."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transad.errors import InvalidArgument
from transad.forwards.rows import differentiable, gradients_of_losses, paired
from transad.function import unwrapped
from transad.passes.specialise.values import NotTyped
from transad.samples.kernel import SampleKernel, shape_of
from transad.tree import children, leaves_of, rebuilt
from transad.typed import _ordered, plain_function

__all__ = ["Call"]


class Call:
    """The arguments of one call, taken apart."""

    def __init__(self, work: Any, args: tuple) -> None:
        self.work, self.args = work, args
        if not all(-len(args) <= a < len(args) for a in work.argnums):
            raise InvalidArgument(f"argnums={work.argnums}, but the call has {len(args)} positional arguments")
        self.argnums = [a % len(args) for a in work.argnums]
        axes = work.in_axes
        if axes is None:
            axes = [None if k in self.argnums else 0 for k in range(len(args))]
        self.axes = [axes] * len(args) if isinstance(axes, int) else list(axes)
        if len(self.axes) != len(args):
            raise InvalidArgument(f"in_axes has {len(self.axes)} entries, the call {len(args)} arguments")
        self.n = self.count()
        self.moved = [a if axis is None else _moved(a, axis) for a, axis in zip(args, self.axes, strict=True)]
        numbers = [(k, leaf) for k in self.argnums for leaf in leaves_of(self.moved[k]) if differentiable(leaf)]
        samples = [self.axes[k] is not None for k, _ in numbers]
        self.shapes = [np.shape(v)[1:] if s else np.shape(v) for (_, v), s in zip(numbers, samples, strict=True)]
        self.dtypes = [_dtype(np.asarray(v).dtype) for _, v in numbers]
        self.inputs: list[Any] = []
        self.losses: Any = None         # of a function of a batch that is not compiled: the losses, and what fills rows
        self.compiled: Any = None       # the compiled loop that ran
        self.simple = False             # nothing but the arguments goes into the kernel

    @property
    def value_dtype(self) -> Any:
        return np.dtype(np.float64) if isinstance(self.kernel, NotTyped) else self.kernel.dtype

    def count(self) -> int:
        lengths = {np.shape(leaf)[axis] for a, axis in zip(self.args, self.axes, strict=True) if axis is not None
                   for leaf in leaves_of(a) if isinstance(leaf, np.ndarray)}
        if len(lengths) != 1:
            raise InvalidArgument("no argument has an axis of samples" if not lengths else
                                  f"the arguments have different numbers of samples: {sorted(lengths)}",
                                  instead="in_axes says which axis of each argument runs over the samples")
        return lengths.pop()

    # -- memory ----------------------------------------------------------------------------------------------------
    def rows(self, n: int) -> list[np.ndarray]:
        return [np.empty((n, *shape), dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]

    def given(self, out: Any) -> list[np.ndarray]:
        found = [leaf for leaf in leaves_of(out) if leaf is not None]
        wanted = [((self.n, *shape), dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]
        if [(np.shape(x), getattr(x, "dtype", None)) for x in found] != wanted or not all(
                isinstance(x, np.ndarray) and x.flags.writeable for x in found):
            raise InvalidArgument("out does not have the structure, shapes and dtypes of the result",
                                  instead=f"give writable arrays of {', '.join(f'{s} {d}' for s, d in wanted)}")
        arrays = [x for x in [*self.moved] for x in leaves_of(x) if isinstance(x, np.ndarray)]
        if any(np.may_share_memory(x, y) for k, x in enumerate(found) for y in [*found[:k], *arrays]):
            raise InvalidArgument("out shares memory with an argument or with itself")
        return found

    def split(self, rows: list[np.ndarray]) -> list[tuple[Any, list[np.ndarray]]]:
        """The arguments that are differentiated, each with its own rows."""
        it = iter(rows)
        return [(self.args[k], [next(it) for leaf in leaves_of(self.args[k]) if differentiable(leaf)])
                for k in self.argnums]

    def tree(self, like: Any, rows: Iterator[np.ndarray]) -> Any:
        kids = children(like)
        if kids is not None:
            return rebuilt(like, [self.tree(child, rows) for _, child in kids])
        return next(rows) if differentiable(like) else None

    # -- work ------------------------------------------------------------------------------------------------------
    def fill(self, first: int, last: int, rows: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        """Gradients and values of the samples from `first` to `last`; the values (of another dtype, if need be)."""
        kernel, reason = self.kernel, ""
        if last == first:
            return values
        if isinstance(kernel, NotTyped):
            reason = kernel.reason
        else:
            given = kernel.given([v[first:last] if mapped else v for v, mapped in self.inputs], self.n)
            try:
                if kernel.fused is not None and not kernel.agrees(given):       # lengths that do not fit raise as in NumPy
                    self.work.function(*(self.args if self.work.batched else self.sample(first)))
                run = kernel.chosen(given)
                if kernel.fill(run, last - first, given, rows, values[first:last], self.work.threads):
                    self.compiled = run
                    return values
            except Exception as problem:
                if not type(problem).__module__.startswith("numba"):
                    raise
                reason = next((x.strip() for x in str(problem).splitlines() if x.strip() and not x.startswith("Failed in")), "")
                self.work.known[self.key] = NotTyped(f"Numba cannot compile it ({reason})")
                reason = f"Numba cannot compile it ({reason})"
        found = self.by_numpy(first, last, rows, values)
        if found is not None:
            self.work.slow(reason, "by NumPy's functions, not compiled")
            return found
        self.work.slow(reason, "by one sweep back for each loss" if self.work.batched else "sample by sample in Python")
        return self.by_rows(first, last, rows, values) if self.work.batched else self.one_by_one(first, last, rows, values)

    def by_numpy(self, first: int, last: int, rows: list[np.ndarray], values: np.ndarray) -> np.ndarray | None:
        """All samples at once by NumPy's functions, where Numba cannot compile the loop; None where they cannot be had so."""
        from transad.samples.one_call import sample_loop
        try:
            plain = plain_function(unwrapped(self.work.function))
            cells = [] if plain is None else [c.cell_contents for c in plain[0].__closure__ or ()]
            self.refuse_shared([leaf for c in cells for leaf in leaves_of(c)], ())
            made = sample_loop(self.work.function, self.args, self.axes, self.argnums, self.work.batched)
            return made(first, last, rows, values)
        except (NotTyped, TypeError, ValueError, ArithmeticError, LookupError, Warning):
            return None             # what a sample raises is raised by the sample

    def one_by_one(self, first: int, last: int, rows: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        from transad import value_and_grad
        both = value_and_grad(self.work.function, tuple(self.argnums))
        for i in range(first, last):
            y, grads = both(*self.sample(i))
            if np.asarray(y).dtype != values.dtype:
                values = values.astype(np.result_type(np.asarray(y).dtype, np.float32 if not i else values.dtype))
            values[i] = y
            found = [leaf for k, g in zip(self.argnums, grads, strict=True) for leaf in paired(self.args[k], g)]
            for row, g in zip(rows, found, strict=True):
                row[i - first] = g
        return values

    def sample(self, i: int) -> tuple:
        return tuple(a if axis is None else _mapped(lambda v: _number(v[i]), a)
                     for a, axis in zip(self.moved, self.axes, strict=True))

    def by_rows(self, first: int, last: int, rows: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        """A function of the whole batch: one forward sweep, and a cotangent for each loss."""
        if self.losses is None:
            self.losses = gradients_of_losses(self.work.function, self.args, self.argnums, self.axes, self.n)
        y, fill = self.losses
        fill(first, last, rows)
        values = values.astype(y.dtype, copy=False)
        values[first:last] = y[first:last]
        return values

    # -- the kernel ------------------------------------------------------------------------------------------------
    @functools.cached_property
    def kernel(self) -> SampleKernel | NotTyped:
        work = self.work
        plain = plain_function(unwrapped(work.function))
        if plain is None:
            return NotTyped("it is no Python function")
        f, bound = plain
        ordered = _ordered(f, (*bound, *(self.args if work.batched else self.moved)), {})
        if ordered is None:
            return NotTyped("it has *args or **kwargs, or arguments are missing")
        mapped = [False] * len(bound) + [a is not None for a in self.axes]
        mapped += [False] * (len(ordered) - len(mapped))
        depth = 0 if work.batched else 1
        shapes, cells = [], []
        rows = [0] * len(bound) + [a or 0 for a in self.axes] + [0] * (len(ordered) - len(bound) - len(self.axes))
        try:
            for v, m, axis in zip(ordered, mapped, rows, strict=True):
                leaves: list[Any] = []
                shapes.append(shape_of(v, leaves, depth if m else 0))
                self.inputs += [(np.moveaxis(leaf, axis, 0) if m and depth == 0 else leaf, m) for leaf in leaves]
            captured: list[Any] = []
            for c in f.__closure__ or ():
                cells.append(shape_of(c.cell_contents, captured))
            self.inputs = [*((leaf, False) for leaf in captured), *self.inputs]
            wanted = [len(bound) + a for a in self.argnums]
            self.refuse_shared(captured, bound)
            given = (f, tuple(shapes), tuple(cells), tuple(mapped), tuple(wanted), tuple(rows) if work.batched else None)
            self.key = given
            self.simple = not bound and not captured and len(ordered) == len(self.args)
            found = work.known.get(self.key)
            if found is None or (isinstance(found, SampleKernel) and not found.current()):
                found = work.known[self.key] = _built(*given)
            return found
        except (NotTyped, ValueError) as problem:
            return problem if isinstance(problem, NotTyped) else NotTyped("a captured variable is not set yet")
        except TypeError:
            return NotTyped("an argument cannot be hashed")

    def refuse_shared(self, captured: list[Any], bound: tuple) -> None:
        """One array under two names has one gradient on the recorded path: that is left to it."""
        arrays = [leaf for k in self.argnums for leaf in leaves_of(self.moved[k]) if isinstance(leaf, np.ndarray)]
        others = [v for v in captured if isinstance(v, np.ndarray)]
        if any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in [*arrays[:k], *others]):
            raise NotTyped("differentiated arrays share memory")


def _built(*given: Any) -> SampleKernel | NotTyped:
    try:
        return SampleKernel(*given)
    except NotTyped as problem:
        return problem


def _dtype(dtype: Any) -> Any:
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _mapped(at: Callable, tree: Any) -> Any:
    kids = children(tree)
    if kids is not None:
        return rebuilt(tree, [_mapped(at, child) for _, child in kids])
    return at(tree) if isinstance(tree, np.ndarray) else tree


def _moved(tree: Any, axis: int) -> Any:
    if isinstance(tree, list) and tree and not isinstance(tree[0], np.ndarray | dict | tuple | list):
        tree = np.asarray(tree)
    return tree if axis == 0 and isinstance(tree, np.ndarray) else _mapped(lambda v: np.moveaxis(v, axis, 0), tree)


def _number(v: Any) -> Any:
    return v.item() if isinstance(v, np.generic) and v.dtype.name in ("float64", "int64") else v
