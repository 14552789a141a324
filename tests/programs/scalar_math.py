"""math, the operators of numbers, min, max, abs, round, int."""
import math

from tests.programs import program


@program(0.5, 2.0, value=math.exp(1.0) * math.sqrt(2.0),
         gradient=[2 * math.exp(1.0) * math.sqrt(2.0), math.exp(1.0) * (0.5 * math.sqrt(2.0) + 0.5 / math.sqrt(2.0))])
def composition(x, y):
    return math.exp(x * y) * math.sqrt(y)


@program(0.5, 2.0, value=-2.0, gradient=[0.0, -1.0])
def smallest_and_largest(x, y):
    return min(x, y, 1.0) - max(x, y) - x


@program(2.0, 3.0, value=8.0, gradient=[12.0, 8 * math.log(2)])
def power_of_both(x, y):
    return x**y


@program(-2.0, value=2.0 + 8.0, gradient=[-1.0 - 3 * 4.0])
def absolute_and_cube(x):
    return abs(x) - x**3


@program(2.6, value=2.6 * 3 + 2 + 0.6, gradient=[3.0 + 1.0])
def rounding_is_flat(x):
    return x * round(x) + int(x) + (x - math.floor(x))


@program(0.5, 0.25, value=math.atan2(0.5, 0.25), gradient=[0.25 / 0.3125, -0.5 / 0.3125])
def angle(y, x):
    return math.atan2(y, x)


@program(3.0, 4.0, value=5.0 + math.log(12.0), gradient=[0.6 + 1 / 3, 0.8 + 1 / 4])
def length_and_logarithm(x, y):
    return math.hypot(x, y) + math.log(x * y)


@program(0.3, value=math.erf(0.3) + math.lgamma(1.0), gradient=[2 / math.sqrt(math.pi) * math.exp(-0.09)])
def error_function(x):
    return math.erf(x) + math.lgamma(1.0)


@program(2.0, 5, value=2.0 * 5 + 2.0 * 2 + 2.0, gradient=[8.0])
def integers_are_constants(x, n):
    return x * n + x * (n // 2) + x * (n % 2)
