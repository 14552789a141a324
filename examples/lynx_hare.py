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


def growth(state, rates):
    """The right-hand side: how fast hares and lynx change."""
    hares, lynx = state[0], state[1]
    change = np.empty(2)
    change[0] = (rates[0] - rates[1] * lynx) * hares
    change[1] = (rates[3] * hares - rates[2]) * lynx
    return change


def rk4_step(state, rates, h):
    k1 = growth(state, rates)
    k2 = growth(state + h / 2 * k1, rates)
    k3 = growth(state + h / 2 * k2, rates)
    k4 = growth(state + h * k3, rates)
    return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def populations(start, rates, years, steps):
    """Hares and lynx every 1/steps of a year, from the start on: shape (years * steps + 1, 2)."""
    path = np.empty((years * steps + 1, 2))
    path[0] = start
    for i in range(years * steps):
        path[i + 1] = rk4_step(path[i], rates, 1.0 / steps)
    return path


def loss(log_parameters, hares, lynx):
    """Half the sum of squared log ratios between model and counts."""
    parameters = np.exp(log_parameters)
    years = len(hares) - 1
    path = populations(parameters[4:], parameters[:4], years, STEPS_PER_YEAR)
    total = 0.0
    for year in range(years + 1):
        model = path[year * STEPS_PER_YEAR]
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
    model = populations(parameters[4:], parameters[:4], years, STEPS_PER_YEAR)
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
