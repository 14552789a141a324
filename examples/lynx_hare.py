"""Fit the Lotka-Volterra equations to the lynx and hare pelts of the Hudson's Bay Company, 1900-1920.

Hares multiply and are eaten, lynx starve or eat:

    hares' = (alpha - beta lynx) hares        lynx' = (delta hares - gamma) lynx

The equations are integrated by a classical Runge-Kutta loop, and the four rates and the two populations of
1900 are fitted to the logarithms of the 42 counts (least squares: log-normal noise). All six derivatives come
from one reverse sweep that `transad` writes from the loop below.

Data: thousands of pelts, as tabulated by P. Howard, "Modeling Basics", lecture notes for Math 442, Texas A&M
University 2009, after C. G. Hewitt, "The Conservation of the Wild Life of Canada", Scribner's 1921 (public
domain). The same table is in stan-dev/example-models, knitr/lotka-volterra (BSD-3-Clause).

Published fits: B. Carpenter, "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan", 2018
(posterior means) and Howard's own (2009), which Carpenter quotes.
"""
import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import transad

FIRST_YEAR = 1900
HARES = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
                  40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7])
LYNX = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
                 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6])
STEPS_PER_YEAR = 20
NAMES = ("alpha", "beta", "gamma", "delta")
CARPENTER = {"alpha": 0.55, "beta": 0.028, "gamma": 0.80, "delta": 0.024}
HOWARD = {"alpha": 0.55, "beta": 0.028, "gamma": 0.84, "delta": 0.026}


def growth(hares, lynx, alpha, beta, gamma, delta):
    """How fast hares and lynx change."""
    return (alpha - beta * lynx) * hares, (delta * hares - gamma) * lynx


def rk4_step(hares, lynx, h, alpha, beta, gamma, delta):
    """Hares and lynx a time h later (classical Runge-Kutta)."""
    hares1, lynx1 = growth(hares, lynx, alpha, beta, gamma, delta)
    hares2, lynx2 = growth(hares + h / 2 * hares1, lynx + h / 2 * lynx1, alpha, beta, gamma, delta)
    hares3, lynx3 = growth(hares + h / 2 * hares2, lynx + h / 2 * lynx2, alpha, beta, gamma, delta)
    hares4, lynx4 = growth(hares + h * hares3, lynx + h * lynx3, alpha, beta, gamma, delta)
    return (hares + h / 6 * (hares1 + 2 * hares2 + 2 * hares3 + hares4),
            lynx + h / 6 * (lynx1 + 2 * lynx2 + 2 * lynx3 + lynx4))


def populations(parameters, years, steps):
    """Hares and lynx every 1/steps of a year, from the start on: shape (years * steps + 1, 2)."""
    alpha, beta, gamma, delta = parameters[0], parameters[1], parameters[2], parameters[3]
    hares, lynx = parameters[4], parameters[5]
    path = np.empty((years * steps + 1, 2))
    path[0, 0], path[0, 1] = hares, lynx
    for i in range(years * steps):
        hares, lynx = rk4_step(hares, lynx, 1.0 / steps, alpha, beta, gamma, delta)
        path[i + 1, 0], path[i + 1, 1] = hares, lynx
    return path


def loss(log_parameters, hares, lynx):
    """Half the sum of squared log ratios between model and counts."""
    parameters = np.exp(log_parameters)
    years = len(hares) - 1
    path = populations(parameters, years, STEPS_PER_YEAR)
    total = 0.0
    for year in range(years + 1):
        model = path[year * STEPS_PER_YEAR]  # one row: hares, lynx
        total += math.log(model[0] / hares[year]) ** 2 + math.log(model[1] / lynx[year]) ** 2
    return total / 2


def fit(jit=True, show=print):
    """The fitted alpha, beta, gamma, delta, hares and lynx in 1900."""
    value_and_grad = transad.value_and_grad(transad.differentiable(loss, jit=jit))
    iteration = 0

    def progress(intermediate_result):
        nonlocal iteration
        iteration += 1
        if iteration % 5 == 0:
            alpha, beta, gamma, delta = np.exp(intermediate_result.x[:4])
            show(f"  iteration {iteration:3d}   loss {intermediate_result.fun:8.4f}   alpha {alpha:.3f}"
                 f"   beta {beta:.4f}   gamma {gamma:.3f}   delta {delta:.4f}")

    # Small oscillations have the period 2 pi / sqrt(alpha gamma), about ten years here, round a balance at
    # gamma / delta hares and alpha / beta lynx, about the means of the counts.
    rate = 2 * math.pi / 10
    start = np.log([rate, rate / LYNX.mean(), rate, rate / HARES.mean(), HARES[0], LYNX[0]])
    best = minimize(value_and_grad, start, args=(HARES, LYNX), jac=True, method="BFGS", callback=progress)
    return np.exp(best.x)


def plot(parameters, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    years = len(HARES) - 1
    model = populations(parameters, years, STEPS_PER_YEAR)
    time_axis = FIRST_YEAR + np.arange(len(model)) / STEPS_PER_YEAR
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for column, (name, counts) in enumerate([("hares", HARES), ("lynx", LYNX)]):
        axes.plot(time_axis, model[:, column], color=f"C{column}", label=f"{name}, Lotka-Volterra")
        axes.plot(FIRST_YEAR + np.arange(years + 1), counts, "o", color=f"C{column}", label=f"{name}, pelts")
    axes.set(xlabel="year", ylabel="thousands", title="Hudson's Bay Company pelts")
    axes.set_xticks(range(FIRST_YEAR, FIRST_YEAR + years + 1, 4))
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

    print(f"Lotka-Volterra, {len(HARES)} years of {FIRST_YEAR}-{FIRST_YEAR + len(HARES) - 1}, six parameters")
    began = time.perf_counter()
    parameters = fit(jit=not options.no_jit)
    print(f"fitted in {time.perf_counter() - began:.1f} s")

    print("\n             fitted   Carpenter 2018   Howard 2009")
    for name, value in zip(NAMES, parameters, strict=False):
        print(f"  {name:6s} {value:10.4f}   {CARPENTER[name]:14.3f}   {HOWARD[name]:11.3f}")
    print(f"  hares and lynx in {FIRST_YEAR}: {parameters[4]:.1f} and {parameters[5]:.1f} thousand")
    noise = math.sqrt(2 * loss(np.log(parameters), HARES, LYNX) / (2 * len(HARES)))
    print(f"  standard deviation of the log counts: {noise:.2f} (Carpenter 2018: 0.25)")
    if not options.no_plot:
        plot(parameters, options.output)
        print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
