"""The price of an arithmetic Asian call by Monte Carlo, and its Greeks, from one `sum(map(...))`.

The payoff of a path is an ordinary function with a loop and a branch. Its gradient with respect to spot, rate and
volatility runs over all paths on all cores, exactly, and with the same bits at any number of threads.

There is no closed form for the arithmetic average. The check is the geometric average on the same paths, whose price
A. G. Z. Kemna and A. C. F. Vorst ("A pricing method for options based on average asset values", Journal of Banking
and Finance 14, 1990) give in closed form; it is written out below, and its own gradient is the check of the Greeks.
"""
import argparse
import math
import time
from pathlib import Path

import numpy as np

import transad

STRIKE, YEARS = 100.0, 1.0
SPOT, RATE, VOLATILITY = 100.0, 0.03, 0.2
GREEKS = ("delta", "rho", "vega")


def arithmetic(market, draws):
    """The discounted mean payoff over all paths: a call on the arithmetic average."""
    spot, rate, volatility = market[0], market[1], market[2]
    steps = draws.shape[1]
    dt = YEARS / steps
    drift, scale = (rate - 0.5 * volatility * volatility) * dt, volatility * math.sqrt(dt)

    def payoff(path):
        price, total = spot, 0.0
        for j in range(steps):
            price *= math.exp(drift + scale * path[j])
            total += price
        return max(total / steps - STRIKE, 0.0)
    return math.exp(-rate * YEARS) * sum(map(payoff, draws)) / len(draws)


def geometric(market, draws):
    """The same on the geometric average."""
    spot, rate, volatility = market[0], market[1], market[2]
    steps = draws.shape[1]
    dt = YEARS / steps
    drift, scale = (rate - 0.5 * volatility * volatility) * dt, volatility * math.sqrt(dt)

    def payoff(path):
        log_price, total = math.log(spot), 0.0
        for j in range(steps):
            log_price += drift + scale * path[j]
            total += log_price
        return max(math.exp(total / steps) - STRIKE, 0.0)
    return math.exp(-rate * YEARS) * sum(map(payoff, draws)) / len(draws)


def kemna_vorst(market, steps):
    """The price on the geometric average over `steps` equally spaced dates, in closed form."""
    spot, rate, volatility = market[0], market[1], market[2]
    dt = YEARS / steps
    mean = math.log(spot) + (rate - 0.5 * volatility ** 2) * dt * (steps + 1) / 2
    deviation = volatility * math.sqrt(dt * (steps + 1) * (2 * steps + 1) / (6 * steps))
    d = (mean - math.log(STRIKE)) / deviation
    forward = math.exp(mean + 0.5 * deviation ** 2)

    def normal(x):
        return 0.5 * math.erfc(-x / math.sqrt(2.0))
    return math.exp(-rate * YEARS) * (forward * normal(d + deviation) - STRIKE * normal(d))


def antithetic(paths, steps, seed=0):
    """Normal draws, each path followed by its mirror image."""
    half = np.random.default_rng(seed).standard_normal((paths // 2, steps))
    return np.concatenate([half, -half])


def by_threads(value_and_grad, draws, most):
    """Seconds for 1, 2 ... threads, and whether all gave the same bits."""
    import numba
    market = np.array([SPOT, RATE, VOLATILITY])
    seconds, bits = {}, set()
    before = numba.get_num_threads()
    for count in sorted({1, 2, 4, most} & set(range(1, most + 1))):
        numba.set_num_threads(count)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            price, greeks = value_and_grad(market, draws)
            times.append(time.perf_counter() - began)
        seconds[count] = min(times)
        bits.add((price, greeks.tobytes()))
    numba.set_num_threads(before)
    return seconds, len(bits) == 1


def greeks_by_spot(value_and_grad, draws, spots, show):
    """Price and Greeks along a range of spots, with a progress bar."""
    rows = []
    for k, spot in enumerate(spots):
        price, greeks = value_and_grad(np.array([spot, RATE, VOLATILITY]), draws)
        rows.append([price, *greeks])
        done = 30 * (k + 1) // len(spots)
        show(f"\r  [{'#' * done}{'.' * (30 - done)}] {k + 1}/{len(spots)} spots", end="", flush=True)
    show("")
    return np.array(rows)


def plot(spots, rows, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(8, 5.5), sharex=True, layout="constrained")
    for axes, values, title in zip(panels.flat, rows.T, ("price", *GREEKS), strict=True):
        axes.plot(spots, values)
        axes.set(title=title)
    for axes in panels[1]:
        axes.set_xlabel("spot")
    figure.suptitle(f"Asian call, strike {STRIKE:.0f}, volatility {VOLATILITY:.0%}")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=int, default=100_000, help="how many paths (default 100000)")
    parser.add_argument("--steps", type=int, default=50, help="dates in the average (default 50)")
    parser.add_argument("--no-jit", action="store_true", help="run the function as plain Python around compiled maps")
    parser.add_argument("--no-plot", action="store_true", help="do not draw the plot")
    parser.add_argument("--output", default=Path(__file__).with_suffix(".png"), metavar="FILE",
                        help="where the plot goes (default: beside this program)")
    options = parser.parse_args(argv)

    draws = antithetic(options.paths, options.steps)
    market = np.array([SPOT, RATE, VOLATILITY])
    value_and_grad = transad.value_and_grad(transad.differentiable(arithmetic, jit=not options.no_jit))
    price, greeks = value_and_grad(market, draws)
    print(f"arithmetic Asian call, {options.paths} paths of {options.steps} dates: {price:.4f}")
    for name, value in zip(GREEKS, greeks, strict=True):
        print(f"  {name:6s} {value:9.4f}")

    check = transad.value_and_grad(transad.differentiable(geometric, jit=not options.no_jit))
    price, greeks = check(market, draws)
    closed, exact = transad.value_and_grad(kemna_vorst)(market, options.steps)
    print("\ngeometric average   Monte Carlo   closed form (Kemna and Vorst 1990)")
    for name, found, known in zip(("price", *GREEKS), (price, *greeks), (closed, *exact), strict=True):
        print(f"  {name:17s} {found:11.4f} {known:11.4f}")

    import numba
    seconds, same = by_threads(value_and_grad, draws, numba.config.NUMBA_NUM_THREADS)
    print("\nthreads   seconds   speed-up")
    for count, spent in seconds.items():
        print(f"  {count:5d} {spent:9.4f} {seconds[1] / spent:10.2f}")
    print(f"  the same bits at every number of threads: {'yes' if same else 'no'}")

    if not options.no_plot:
        print()
        spots = np.linspace(70.0, 130.0, 31)
        rows = greeks_by_spot(value_and_grad, draws, spots, print)
        plot(spots, rows, options.output)
        print(f"plot: {options.output}")


if __name__ == "__main__":
    main()
