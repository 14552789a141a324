"""Handwritten digits: what each training sample does to a small network, and training that hides it.

The gradient of every sample's loss is one call, `transad.per_sample_grad(loss)`, for a loss written for one sample:

1. differentially private training (Abadi et al. 2016, DP-SGD): each sample's gradient is clipped to a length, the clipped
   ones are added (`reduce=("clipped_sum", c)` never holds them all), and noise of that length is added to the sum;
2. influence: the training samples whose gradients point most along, or against, the gradient of a test sample that the
   network gets wrong (TracIn, Pruthi et al. 2020, at the last step), as a picture;
3. the spread of the gradients: which samples the network still learns from.

Data: the 1797 digits of 8 x 8 pixels that scikit-learn ships (Alpaydin and Kaynak 1998, UCI). Run it as
`python per_sample_digits.py`; `--no-plot` prints only.
"""
import argparse
import math
import time
from pathlib import Path

import numpy as np

import transad

HIDDEN, TRAINING = 32, 1297


def loss(params, x, y):
    """Cross-entropy of one digit."""
    z = params["out"]["w"] @ np.tanh(params["hidden"]["w"] @ x + params["hidden"]["b"]) + params["out"]["b"]
    m = np.max(z)
    return m + np.log(np.sum(np.exp(z - m))) - z[y]


def initial(seed=0):
    rng = np.random.default_rng(seed)
    return {"hidden": {"w": rng.standard_normal((HIDDEN, 64)) / 8.0, "b": np.zeros(HIDDEN)},
            "out": {"w": rng.standard_normal((10, HIDDEN)) / math.sqrt(HIDDEN), "b": np.zeros(10)}}


def predicted(params, x):
    h = np.tanh(x @ params["hidden"]["w"].T + params["hidden"]["b"])
    return np.argmax(h @ params["out"]["w"].T + params["out"]["b"], axis=1)


def accuracy(params, x, y):
    return float(np.mean(predicted(params, x) == y))


def updated(params, gradient, step):
    return {layer: {k: w - step * gradient[layer][k] for k, w in parts.items()} for layer, parts in params.items()}


def trained(x, y, steps, clip=None, noise=0.0, batch=256, step=0.5, seed=1):
    """Stochastic gradient descent; with `clip`, private: clipped, summed, and noise of `noise * clip` added."""
    rng = np.random.default_rng(seed)
    gradient = transad.per_sample_grad(loss, reduce="mean" if clip is None else ("clipped_sum", clip))
    params = initial()
    for _ in range(steps):
        chosen = rng.choice(len(x), batch, replace=False)
        g = gradient(params, x[chosen], y[chosen])
        if clip is not None:
            g = {layer: {k: (v + noise * clip * rng.standard_normal(v.shape)) / batch for k, v in parts.items()}
                 for layer, parts in g.items()}
        params = updated(params, g, step)
    return params


def flattened(gradients):
    """All gradients as rows of one matrix."""
    parts = [v for layer in gradients.values() for v in layer.values()]
    return np.concatenate([v.reshape(len(v), -1) for v in parts], axis=1)


def influences(params, x, y, x_test, y_test):
    """Inner products of the gradients of all training samples with that of one test sample."""
    every = transad.per_sample_grad(loss)
    return flattened(every(params, x, y)) @ flattened(every(params, x_test[None], np.array([y_test])))[0]


def plot(path, x, y, x_test, y_test, guess, score, norms):
    import matplotlib.pyplot as plt
    helpful, harmful = np.argsort(-score)[:6], np.argsort(score)[:6]
    figure, axes = plt.subplots(3, 7, figsize=(9, 4.5))
    rows = [("most helpful", helpful), ("most harmful", harmful), ("largest gradients", np.argsort(-norms)[:6])]
    for row, (title, chosen) in zip(axes, rows):
        row[0].axis("off")
        if title == "most helpful":
            row[0].imshow(x_test.reshape(8, 8), cmap="gray_r")
            row[0].set_title(f"test: a {y_test}, taken for a {guess}", fontsize=7)
        else:
            row[0].text(0.0, 0.5, title, fontsize=8)
        for ax, k in zip(row[1:], chosen):
            ax.imshow(x[k].reshape(8, 8), cmap="gray_r")
            ax.set_title(f"{y[k]}" + (f" ({title})" if ax is row[1] else ""), fontsize=7)
            ax.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--noise", type=float, default=1.0, help="standard deviation in units of the clipping length")
    parser.add_argument("--output", type=Path, default=Path("per_sample_digits.png"))
    parser.add_argument("--no-plot", action="store_true")
    options = parser.parse_args()
    from sklearn.datasets import load_digits
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x, y = digits.data[order] / 16.0, digits.target[order]
    x, x_test, y, y_test = x[:TRAINING], x[TRAINING:], y[:TRAINING], y[TRAINING:]

    start = time.perf_counter()
    plain = trained(x, y, options.steps)
    private = trained(x, y, options.steps, options.clip, options.noise)
    print(f"{2 * options.steps} steps of 256 digits in {time.perf_counter() - start:.1f} s, compilation included")
    print(f"accuracy on {len(y_test)} digits, plain training: {accuracy(plain, x_test, y_test):.3f}")
    print(f"accuracy with each digit's gradient clipped to {options.clip:g} and noise {options.noise:g}: "
          f"{accuracy(private, x_test, y_test):.3f}")

    norms = np.linalg.norm(flattened(transad.per_sample_grad(loss)(plain, x, y)), axis=1)
    tenth = np.sort(norms)[-len(norms) // 10:].sum() / norms.sum()
    print(f"a tenth of the training digits has {100 * tenth:.0f} % of the length of all gradients")
    guesses = predicted(plain, x_test)
    wrong = int(np.flatnonzero(guesses != y_test)[0])
    score = influences(plain, x, y, x_test[wrong], y_test[wrong])
    best, worst = int(np.argmax(score)), int(np.argmin(score))
    print(f"test digit {wrong}, a {y_test[wrong]}, is taken for a {guesses[wrong]}; most helpful: training digit {best}, "
          f"a {y[best]}; most harmful: {worst}, a {y[worst]}")
    if not options.no_plot:
        plot(options.output, x, y, x_test[wrong], y_test[wrong], guesses[wrong], score, norms)
        print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
