"""match: values, sequences, captures, guards, classes (recorded)."""
from dataclasses import dataclass

from tests.programs import program


@program(3.0, "square", value=9.0, gradient=[6.0], typed=False)
@program(3.0, "half", value=1.5, gradient=[0.5], typed=False)
@program(3.0, "none", value=-3.0, gradient=[-1.0], typed=False)
def by_value(x, how):
    match how:
        case "square":
            return x * x
        case "half" | "halve":
            return 0.5 * x
        case _:
            return -x


@program((2.0, 5.0), value=10.0, gradient=[5.0, 2.0], typed=False)
@program((2.0,), value=4.0, gradient=[4.0], typed=False)
@program((2.0, 5.0, 7.0), value=2.0 - 12.0, gradient=[1.0, -1.0, -1.0], typed=False)
def by_length(values):
    match values:
        case (a,):
            return a * a
        case (a, b):
            return a * b
        case (first, *rest):
            return first - sum(rest)


@program(2.0, value=8.0, gradient=[4.0], typed=False)
@program(-2.0, value=2.0, gradient=[-1.0], typed=False)
def guards(x):
    match (x, 4.0):
        case (a, b) if a > 0:
            return a * b
        case (a, _):
            return -a


@dataclass
class Circle:
    r: float


@dataclass
class Box:
    a: float
    b: float


@program(2.0, 3.0, value=3.0 * 4.0 - 6.0, gradient=[12.0 - 3.0, -2.0], typed=False)
def classes(x, y):
    total = 0.0
    for shape, sign in ((Circle(x), 1.0), (Box(x, y), -1.0)):
        match shape:
            case Circle(r=r):
                total += sign * 3.0 * r * r
            case Box(a=a, b=b):
                total += sign * a * b
    return total
