"""Calibrate the SIR model of `sir_influenza.py` from several starting points at once: a map of gradients.

Each starting point is an item: two weeks of an epidemic, integrated by a loop, compared with the counts of the
boarding school. `transad.map(transad.value_and_grad(misfit), starts)` gives the squared error and its gradient for all
of them, compiled and on all cores; every starting point then takes its own damped step. Those that end in the same
place tell that the fit does not depend on where it began.

Data and published fit: see `sir_influenza.py`.
"""
import argparse
import time
from pathlib import Path

import numpy as np

import transad

BOYS = 763
IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], dtype=float)
STEPS_PER_DAY = 10
PUBLISHED = {"beta": 1.66, "gamma": 1 / 2.2, "R0": 1.66 * 2.2}


def rates(susceptible, infected, beta, gamma):
    """Boys who fall ill and boys who recover, per day."""
    return beta * susceptible * infected / BOYS, gamma * infected


def misfit(log_params):
    """Sum of squared differences in hundreds of boys, for the logarithms of (beta, gamma)."""
    beta, gamma = np.exp(log_params[0]), np.exp(log_params[1])
    susceptible, infected = BOYS - 1.0, 1.0
    h = 1.0 / STEPS_PER_DAY
    total = 0.0
    for day in range(len(IN_BED)):
        for _ in range(STEPS_PER_DAY):
            ill1, well1 = rates(susceptible, infected, beta, gamma)
            ill2, well2 = rates(susceptible - h / 2 * ill1, infected + h / 2 * (ill1 - well1), beta, gamma)
            ill3, well3 = rates(susceptible - h / 2 * ill2, infected + h / 2 * (ill2 - well2), beta, gamma)
            ill4, well4 = rates(susceptible - h * ill3, infected + h * (ill3 - well3), beta, gamma)
            ill = (ill1 + 2 * ill2 + 2 * ill3 + ill4) / 6
            well = (well1 + 2 * well2 + 2 * well3 + well4) / 6
            susceptible -= h * ill
            infected += h * (ill - well)
        total += ((infected - IN_BED[day]) / 100.0) ** 2
    return total


def starting_points(count, seed=0):
    """Logarithms of beta from 0.8 to 3 and gamma from 0.2 to 1 per day."""
    rng = np.random.default_rng(seed)
    return np.log(np.column_stack([rng.uniform(0.8, 3.0, count), rng.uniform(0.2, 1.0, count)]))


def calibrate(starts, sweeps=300, show=print, threads=None):
    """Adam from every starting point; the points, their errors, and the errors by sweep."""
    gradients = transad.value_and_grad(misfit)
    points = starts.copy()
    mean, square = np.zeros_like(points), np.zeros_like(points)
    history = []
    for k in range(1, sweeps + 1):
        errors, slopes = transad.map(gradients, points, threads=threads)
        mean = 0.9 * mean + 0.1 * slopes
        square = 0.99 * square + 0.01 * slopes ** 2
        step = 0.05 * 0.99 ** k
        points -= step * (mean / (1 - 0.9 ** k)) / (np.sqrt(square / (1 - 0.99 ** k)) + 1e-8)
        history.append(np.sort(errors))
        if k % 10 == 0 or k == sweeps:
            done = 30 * k // sweeps
            show(f"\r  [{'#' * done}{'.' * (30 - done)}] sweep {k}/{sweeps}   median squared error "
                 f"{1e4 * np.median(errors):9.1f}", end="", flush=True)
    show("")
    return points, transad.map(gradients, points, threads=threads)[0], np.array(history)


def by_threads(starts, most):
    """Seconds of one sweep over many starting points for 1, 2 ... threads."""
    gradients = transad.value_and_grad(misfit)
    seconds = {}
    for count in sorted({1, 2, 4, most} & set(range(1, most + 1))):
        times = []
        for _ in range(6):
            began = time.perf_counter()
            transad.map(gradients, starts, threads=count)
            times.append(time.perf_counter() - began)
        seconds[count] = min(times)
    return seconds


def plot(history, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(1e4 * history, color="tab:blue", alpha=0.3, linewidth=0.7)
    axes.set(xlabel="sweep", ylabel="squared error, boys", title="SIR model from many starting points")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=64, help="how many starting points (default 64)")
    parser.add_argument("--no-plot", action="store_true", help="do not draw the plot")
    parser.add_argument("--output", default=Path(__file__).with_suffix(".png"), metavar="FILE",
                        help="where the plot goes (default: beside this program)")
    options = parser.parse_args(argv)

    print(f"SIR model from {options.starts} starting points")
    points, errors, history = calibrate(starting_points(options.starts))
    best = np.argmin(errors)
    beta, gamma = np.exp(points[best])
    together = np.sum(errors < 1.01 * errors[best])
    print(f"{together} of {options.starts} end within 1 % of the least squared error, {1e4 * errors[best]:.1f}")
    print("\n              fitted   published (Keeling and Rohani 2008)")
    for name, value in [("beta", beta), ("gamma", gamma), ("R0", beta / gamma)]:
        print(f"  {name:8s} {value:10.3f}   {PUBLISHED[name]:.3f}")

    import numba
    seconds = by_threads(starting_points(4096, seed=1), numba.config.NUMBA_NUM_THREADS)
    print("\nthreads   seconds for 4096 gradients   speed-up")
    for count, spent in seconds.items():
        print(f"  {count:5d} {spent:15.4f} {seconds[1] / spent:22.2f}")
    if not options.no_plot:
        plot(history, options.output)
        print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
