"""dicts: displays, stores, iteration, comprehensions, as argument and result (recorded)."""
import numpy as np

from tests.programs import program


@program({"a": 2.0, "b": np.array([1.0, 3.0])}, value=8.0, gradient=[4.0, [2.0, 2.0]], typed=False)
def as_an_argument(p):
    return p["a"] * np.sum(p["b"])


@program(2.0, 3.0, value=2.0 * 3 + 3, gradient=[3.0, 3.0], typed=False)
def stores_and_updates(x, y):
    d = {"u": x}
    d["v"] = y
    d["u"] *= d["v"]
    return d["u"] + d.get("w", y)


@program(2.0, 3.0, value=2 + 3 + 6.0, gradient=[1 + 3.0, 1 + 2.0], typed=False)
def iterated(x, y):
    s = 0.0
    for key, v in {"x": x, "y": y, "xy": x * y}.items():
        s += v if key else 0.0
    return s


@program(2.0, value=1 + 2 + 4.0, gradient=[1 + 4.0], typed=False)
def comprehension(x):
    powers = {k: x**k for k in range(3)}
    return sum(powers.values())


@program(2.0, 3.0, value={"product": 6.0, "sum": 5.0}, typed=False)
def as_a_result(x, y):
    return {"product": x * y, "sum": x + y}


@program(2.0, 3.0, value=4.0, gradient=[-1.0, 2.0], typed=False)
def keywords_and_merging(x, y):
    def g(a, b):
        return 2.0 * b - a
    return g(**({"a": y, "b": y} | {"a": x}))
