"""Gaussian-process regression of the carbon dioxide on Mauna Loa, 1958-2001.

A smooth trend, a yearly cycle that slowly changes its form, and noise: the covariance of two months t apart is

    trend^2 exp(-t^2 / 2 span^2) + cycle^2 exp(-t^2 / 2 decay^2 - 2 sin(pi t)^2 / form^2) + noise^2 [t = 0]

The six numbers maximise the marginal likelihood, whose gradient `transad` writes through the Cholesky factor; the
same likelihood by `solve` and `slogdet` serves as a check. The model is a shorter form of that of C. E. Rasmussen and
C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006, section 5.4.3.

Data: examples/data/README.md (Keeling and Whorf; public domain).
"""
import argparse
from pathlib import Path

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

import transad

DATA = Path(__file__).resolve().parent / "data" / "co2.csv"
NAMES = ("trend", "span", "cycle", "decay", "form", "noise")
START = np.log([60.0, 40.0, 2.5, 60.0, 1.3, 0.5])


def read(every=1):
    """Times in years and parts per million about their mean; the mean."""
    year, month, co2 = np.loadtxt(DATA, delimiter=",", skiprows=1, unpack=True)[:, ::every]
    return year + (month - 0.5) / 12, co2 - co2.mean(), co2.mean()


def covariance(logs, t, s):
    """The covariance of the smooth part between the times t and s."""
    trend, span, cycle, decay, form = [np.exp(value) for value in logs[:5]]
    lag = t[:, None] - s[None, :]
    slow = trend**2 * np.exp(-0.5 * (lag / span) ** 2)
    yearly = cycle**2 * np.exp(-0.5 * (lag / decay) ** 2 - 2 * (np.sin(np.pi * lag) / form) ** 2)
    return slow + yearly


def loss(logs, t, y):
    """Minus the logarithm of the marginal likelihood, by Cholesky."""
    k = covariance(logs, t, t) + np.exp(2 * logs[5]) * np.eye(len(t))
    factor = np.linalg.cholesky(k)
    white = solve_triangular(factor, y, lower=True)
    return 0.5 * white @ white + np.sum(np.log(np.diag(factor))) + 0.5 * len(t) * np.log(2 * np.pi)


def loss_by_solve(logs, t, y):
    """The same by solve and slogdet."""
    k = covariance(logs, t, t) + np.exp(2 * logs[5]) * np.eye(len(t))
    return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.linalg.slogdet(k)[1] + 0.5 * len(t) * np.log(2 * np.pi)


def fit(t, y, show=print):
    """The fitted logarithms of the parameters."""
    result = minimize(transad.value_and_grad(loss), START, args=(t, y), jac=True, method="L-BFGS-B")
    show(f"log marginal likelihood {-result.fun:.2f} after {result.nfev} gradients")
    return result.x


def predict(logs, t, y, new):
    """Mean and standard deviation of the process at new times."""
    k = covariance(logs, t, t) + np.exp(2 * logs[5]) * np.eye(len(t))
    across = covariance(logs, new, t)
    spread = np.diag(covariance(logs, new, new)) - np.sum(across * np.linalg.solve(k, across.T).T, axis=1)
    return across @ np.linalg.solve(k, y), np.sqrt(np.maximum(spread, 0.0))


def plot(logs, t, y, mean, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    new = np.arange(1958.0, 2012.0, 1 / 12)
    middle, spread = predict(logs, t, y, new)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(t, y + mean, "k.", markersize=2, label="monthly means")
    axes.plot(new, middle + mean, linewidth=0.8, label="Gaussian process")
    axes.fill_between(new, middle + mean - 2 * spread, middle + mean + 2 * spread, alpha=0.3)
    axes.set(xlabel="year", ylabel="CO2 (parts per million)", title="Mauna Loa")
    axes.legend()
    figure.savefig(path, dpi=150)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=3, help="use every n-th month (default: 3)")
    parser.add_argument("--no-plot", action="store_true", help="do not draw the plot")
    parser.add_argument("--output", default=Path(__file__).with_suffix(".png"), metavar="FILE",
                        help="where the plot goes (default: beside this program)")
    options = parser.parse_args(argv)
    t, y, mean = read(options.every)
    print(f"{len(t)} months, six parameters")
    logs = fit(t, y)
    for name, value in zip(NAMES, np.exp(logs)):
        print(f"  {name:6s} {value:8.3f}")
    print(f"  by solve and slogdet: {-loss_by_solve(logs, t, y):.2f}")
    if not options.no_plot:
        plot(logs, t, y, mean, options.output)
        print(f"plot: {options.output}")


if __name__ == "__main__":
    main()
