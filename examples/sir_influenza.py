"""Fit an SIR epidemic to the influenza outbreak in an English boarding school, January 1978.

One infected boy came back from the holidays; two weeks later 512 of the 763 boys had been in bed. The model
is the textbook one (Kermack and McKendrick 1927), integrated by an ordinary Python loop:

    S' = -beta S I / N        I' = beta S I / N - gamma I

`transad` reads that loop and writes its gradient, and `scipy.optimize.minimize` does the rest.

Data: "Influenza in a boarding school", British Medical Journal 1 (4 March 1978), p. 587: the number of boys
confined to bed on each day from 22 January to 4 February. Fourteen published counts; facts, free to reuse.

Published fit: M. J. Keeling and P. Rohani, "Modeling Infectious Diseases in Humans and Animals", Princeton
University Press 2008, chapter 2: beta = 1.66 per day, 1/gamma = 2.2 days, hence R0 = beta/gamma = 3.65.
"""
import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import transad

BOYS = 763
IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], dtype=float)
STEPS_PER_DAY = 10
PUBLISHED = {"beta": 1.66, "gamma": 1 / 2.2, "R0": 1.66 * 2.2}


def rates(susceptible, infected, beta, gamma):
    """Boys who fall ill and boys who recover, per day."""
    return beta * susceptible * infected / BOYS, gamma * infected


def epidemic(beta, gamma, days):
    """Boys in bed at the end of each day, one infected boy at the start (classical Runge-Kutta)."""
    susceptible, infected = BOYS - 1.0, 1.0
    h = 1.0 / STEPS_PER_DAY
    in_bed = np.zeros(days)
    for day in range(days):
        for _ in range(STEPS_PER_DAY):
            ill1, well1 = rates(susceptible, infected, beta, gamma)
            ill2, well2 = rates(susceptible - h / 2 * ill1, infected + h / 2 * (ill1 - well1), beta, gamma)
            ill3, well3 = rates(susceptible - h / 2 * ill2, infected + h / 2 * (ill2 - well2), beta, gamma)
            ill4, well4 = rates(susceptible - h * ill3, infected + h * (ill3 - well3), beta, gamma)
            ill = (ill1 + 2 * ill2 + 2 * ill3 + ill4) / 6
            well = (well1 + 2 * well2 + 2 * well3 + well4) / 6
            susceptible -= h * ill
            infected += h * (ill - well)
        in_bed[day] = infected
    return in_bed


def loss(params, observed):
    """Sum of squared differences in boys."""
    beta, gamma = params[0], params[1]
    return np.sum((epidemic(beta, gamma, len(observed)) - observed) ** 2)


def fit(jit=True, show=print):
    """The fitted (beta, gamma)."""
    value_and_grad = transad.value_and_grad(transad.differentiable(loss, jit=jit))
    iteration = 0

    def progress(intermediate_result):
        nonlocal iteration
        iteration += 1
        if iteration % 2 == 0:
            beta, gamma = intermediate_result.x
            show(f"  iteration {iteration:3d}   squared error {intermediate_result.fun:10.1f}"
                 f"   beta {beta:.4f}   gamma {gamma:.4f}")

    best = minimize(value_and_grad, [1.0, 0.3], args=(IN_BED,), jac=True, method="L-BFGS-B",
                    bounds=[(0.01, 10), (0.01, 10)], callback=progress)
    return best.x


def plot(beta, gamma, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    days = np.arange(1, len(IN_BED) + 1)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(days, epidemic(beta, gamma, len(IN_BED)), label=f"SIR, R0 = {beta / gamma:.2f}")
    axes.plot(days, IN_BED, "o", label="British Medical Journal 1978")
    axes.set(xlabel="days since 21 January 1978", ylabel="boys in bed", title="Boarding-school influenza")
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

    print(f"SIR model of {BOYS} boys, {len(IN_BED)} daily counts")
    began = time.perf_counter()
    beta, gamma = fit(jit=not options.no_jit)
    print(f"fitted in {time.perf_counter() - began:.1f} s")

    print("\n              fitted   published (Keeling and Rohani 2008)")
    for name, value in [("beta", beta), ("gamma", gamma), ("R0", beta / gamma)]:
        print(f"  {name:8s} {value:10.3f}   {PUBLISHED[name]:.3f}")
    if not options.no_plot:
        plot(beta, gamma, options.output)
        print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
