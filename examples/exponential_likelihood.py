"""The log-likelihood of exponential waiting times: forward mode inside a map, and a Newton fit with a Hessian.

`python examples/exponential_likelihood.py` prints the time of the interpreted and the compiled gradient with respect to
all scales and data, and fits the scale as a function of two covariates.
"""
from __future__ import annotations

import math
import time

import numpy as np

import transad


@transad.fwddiff
def log_density(scale, wait):
    return -math.log(scale) - wait / scale


def log_likelihood(scales, waits):
    total = 0.0
    for i in range(len(scales)):
        total += log_density(scales[i], waits[i])
    return total


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


def newton(covariates, waits, jit=False, steps=8):
    """The estimate and its standard errors."""
    both = transad.value_grad_and_hessian(transad.differentiable(regression, jit=jit))
    beta = np.zeros(3)
    for _ in range(steps):
        _, slope, curvature = both(beta, covariates, waits)
        beta = beta - np.linalg.solve(curvature, slope)
    return beta, np.sqrt(np.diag(np.linalg.inv(curvature)))


def main(count=2_000, jit=True) -> None:
    rng = np.random.default_rng(1)
    scales = rng.uniform(0.5, 3.0, count)
    waits = rng.exponential(scales)
    rows = {"recorded, interpreted": {"path": "recorded"}, "emitted, interpreted": {}}
    if jit:
        rows["emitted, compiled"] = {"jit": True}
    first = None
    for label, options in rows.items():
        gradient = transad.value_and_grad(log_likelihood, argnums=(0, 1), **options)
        gradient(scales, waits)
        spent = seconds(lambda gradient=gradient: gradient(scales, waits))
        first = first or spent
        print(f"{label:24}{spent * 1e6:12.1f} us{first / spent:10.1f} x")
    covariates = rng.standard_normal((count, 2))
    waits = rng.exponential(np.exp(0.3 + covariates @ [0.5, -0.2]))
    beta, errors = newton(covariates, waits, jit)
    for label, b, e in zip(("constant", "first", "second"), beta, errors, strict=True):
        print(f"{label:24}{b:12.4f} +- {e:.4f}")


if __name__ == "__main__":
    main()
