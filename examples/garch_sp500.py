"""Estimate a GARCH(1,1) model of daily S&P 500 returns, 1999-2018, by maximum likelihood.

Volatility comes in clusters (Bollerslev 1986): with r[t] = mu + e[t] and e[t] normal,

    variance[t] = omega + alpha e[t-1]**2 + beta variance[t-1]

Each day's variance depends on all days before it, so the likelihood is a loop of 5,030 steps; `transad`
writes the loop that runs through it backwards, and Numba compiles it.

Data: closing prices in `data/sp500.csv.gz`, from the Python package `arch` 8.0 (originally from Yahoo!
Finance); see `data/README.md` for its copyright and licence (NCSA).

Reference: what `arch` itself estimates from the same returns, `arch_model(returns).fit()` in version 8.0:
with the same start of the recursion it maximises the same likelihood.
"""
import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import transad

PRICES = Path(__file__).parent / "data" / "sp500.csv.gz"
NAMES = ("mu", "omega", "alpha", "beta")
ARCH = {"mu": 0.0564, "omega": 0.0175, "alpha": 0.1022, "beta": 0.8852, "log-likelihood": -6936.72}


def load_returns():
    """The days from the second on, and the daily returns in per cent."""
    dates, closes = np.loadtxt(PRICES, delimiter=",", skiprows=1, dtype=str, unpack=True)
    close = closes.astype(float)
    return dates[1:].astype("datetime64[D]"), 100 * (close[1:] / close[:-1] - 1)


def variance_before_the_first_day(returns):
    """As in `arch`: an exponentially weighted mean of the squared deviations of the first 75 days."""
    weights = 0.94 ** np.arange(75)
    return np.sum(weights * (returns[:75] - returns.mean()) ** 2) / np.sum(weights)


def conditional_variance(params, returns, backcast):
    """The variance of each day given the days before it."""
    mu, omega, alpha, beta = params[0], params[1], params[2], params[3]
    variance = np.empty(len(returns))
    variance[0] = omega + alpha * backcast + beta * backcast
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * (returns[t - 1] - mu) ** 2 + beta * variance[t - 1]
    return variance


def negative_log_likelihood(params, returns, backcast):
    variance = conditional_variance(params, returns, backcast)
    total = 0.0
    for t in range(len(returns)):
        total += math.log(2 * math.pi) + math.log(variance[t]) + (returns[t] - params[0]) ** 2 / variance[t]
    return total / 2


def fit(returns, backcast, jit=True, show=print):
    """The estimates of mu, omega, alpha, beta, and the log-likelihood there."""
    value_and_grad = transad.value_and_grad(transad.differentiable(negative_log_likelihood, jit=jit))
    iteration = 0

    def progress(intermediate_result):
        nonlocal iteration
        iteration += 1
        if iteration % 5 == 0:
            values = "   ".join(f"{name} {value:.4f}"
                                for name, value in zip(NAMES, intermediate_result.x, strict=True))
            show(f"  iteration {iteration:3d}   log-likelihood {-intermediate_result.fun:10.3f}   {values}")

    start = [returns.mean(), 0.05 * returns.var(), 0.10, 0.85]
    best = minimize(value_and_grad, start, args=(returns, backcast), jac=True, method="L-BFGS-B",
                    bounds=[(None, None), (1e-4, None), (0, 1), (0, 1)], callback=progress,
                    options={"ftol": 1e-12, "gtol": 1e-5})
    return best.x, -best.fun


def plot(dates, returns, variance, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.plot(dates, returns, lw=0.4, color="0.6", label="daily return")
    axes.plot(dates, np.sqrt(variance), lw=1, color="C3", label="GARCH(1,1) standard deviation")
    axes.set(ylabel="per cent", title="S&P 500")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-jit", action="store_true", help="run the gradient as plain Python, uncompiled")
    parser.add_argument("--no-plot", action="store_true", help="do not draw the plot")
    parser.add_argument("--output", default=Path(__file__).with_suffix(".png"), metavar="FILE",
                        help="where the plot goes (default: beside this program)")
    options = parser.parse_args(argv)

    dates, returns = load_returns()
    backcast = variance_before_the_first_day(returns)
    print(f"GARCH(1,1) of {len(returns):,} daily S&P 500 returns, {dates[0]} to {dates[-1]}")
    began = time.perf_counter()
    params, log_likelihood = fit(returns, backcast, jit=not options.no_jit)
    print(f"fitted in {time.perf_counter() - began:.1f} s")

    print("\n                     fitted   arch 8.0")
    for name, value in zip(NAMES, params, strict=True):
        print(f"  {name:15s} {value:9.4f}   {ARCH[name]:8.4f}")
    print(f"  {'log-likelihood':15s} {log_likelihood:9.2f}   {ARCH['log-likelihood']:8.2f}")
    if not options.no_plot:
        plot(dates, returns, conditional_variance(params, returns, backcast), options.output)
        print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
