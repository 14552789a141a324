"""The log-likelihood of exponential waiting times: forward mode inside maps against reverse, and a Newton fit.

`python examples/exponential_likelihood.py` prints the times of the value and gradient with respect to all scales and data:
the model and the density marked `fwddiff` and mapped over both, the same unmarked in reverse only, and their ratio; first
with an interpreted reverse sweep, as a tool without compiler does it. Then it fits the scale as a function of two
covariates by Newton's method with the Hessian.
"""
from __future__ import annotations

import math
import time

import numpy as np

import transad


def scale_of(x):
    """The model: a positive scale from a real number."""
    return math.exp(0.5 * x) + 0.1


def log_density(scale, wait):
    """Of an exponential waiting time."""
    return -math.log(scale) - wait / scale


marked_scale, marked_density = transad.fwddiff(scale_of), transad.fwddiff(log_density)


def forwards_inside(xs, waits):
    """Both functions are differentiated forwards, item by item; the sum is differentiated in reverse."""
    return sum(map(lambda x, wait: marked_density(marked_scale(x), wait), xs, waits))


def reverse_only(xs, waits):
    return sum(map(lambda x, wait: log_density(scale_of(x), wait), xs, waits))


def regression(beta, covariates, waits):
    """Minus the log-likelihood of waiting times whose scale is exp(beta_0 + beta_1 a + beta_2 b)."""
    total = 0.0
    for i in range(len(waits)):
        score = beta[0] + beta[1] * covariates[i, 0] + beta[2] * covariates[i, 1]
        total += score + waits[i] * math.exp(-score)
    return total


def seconds(call) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def newton(covariates, waits, jit=False, tolerance=1e-9):
    """The estimate and its standard errors, from the inverse of the Hessian there."""
    loss = transad.differentiable(regression, jit=jit)
    slope, curvature = transad.grad(loss), transad.hessian(loss)
    beta = step = np.zeros(3)
    for _ in range(20):
        step = np.linalg.solve(curvature(beta, covariates, waits), slope(beta, covariates, waits))
        beta = beta - step
        if np.max(np.abs(step)) < tolerance:
            break
    assert np.max(np.abs(step)) < tolerance
    return beta, np.sqrt(np.diag(np.linalg.inv(curvature(beta, covariates, waits))))


def table(xs, waits, jit=True) -> dict[str, float]:
    """Seconds of a value and gradient, by way; the gradients are compared."""
    rows = {"reverse, interpreted": (reverse_only, {"path": "recorded"}),
            "reverse, emitted": (reverse_only, {"mode": "reverse", "jit": False, "parallel": False}),
            "reverse, compiled": (reverse_only, {"mode": "reverse", "jit": jit}),
            "forward in the map": (forwards_inside, {"jit": jit})}
    spent, reference = {}, None
    for label, (function, options) in rows.items():
        gradient = transad.value_and_grad(function, argnums=(0, 1), **options)
        value, slopes = gradient(xs, waits)
        reference = reference or (value, slopes)
        assert abs(value - reference[0]) < 1e-9 * abs(value)
        assert all(np.allclose(g, r, rtol=1e-9) for g, r in zip(slopes, reference[1], strict=True))
        spent[label] = seconds(lambda gradient=gradient: gradient(xs, waits))
    return spent


def main(count=2_000, jit=True) -> None:
    rng = np.random.default_rng(1)
    xs = rng.uniform(-1.0, 2.0, count)
    waits = rng.exponential([scale_of(x) for x in xs])
    spent = table(xs, waits, jit)
    first = next(iter(spent.values()))
    print(f"{'value and gradient':24}{'time':>12}{'ratio':>14}")
    for label, t in spent.items():
        print(f"{label:24}{t * 1e6:9.1f} us{first / t:12.1f} x")
    covariates = rng.standard_normal((count, 2))
    waits = rng.exponential(np.exp(0.3 + covariates @ [0.5, -0.2]))
    beta, errors = newton(covariates, waits, jit)
    for label, b, e in zip(("constant", "first", "second"), beta, errors, strict=True):
        print(f"{label:24}{b:12.4f} +- {e:.4f}")


if __name__ == "__main__":
    main()
