"""if, the conditional expression, and, or, chained comparisons, the walrus."""
import math

from tests.programs import program


@program(2.0, value=8.0, gradient=[12.0], jit=True)
@program(0.5, value=math.sin(0.5), gradient=[math.cos(0.5)])
@program(-1.0, value=3.0, gradient=[-3.0])
def if_elif_else(x):
    if x > 1.0:
        y = x**3
    elif x > 0.0:
        y = math.sin(x)
    else:
        y = -3.0 * x
    return y


@program(2.0, 3.0, value=6.0, gradient=[3.0, 2.0])
@program(-2.0, 3.0, value=3.0, gradient=[0.0, 1.0])
def early_return(x, y):
    if x < 0:
        return y
    z = x * y
    return z


@program(2.0, value=4.0, gradient=[4.0])
@program(-2.0, value=2.0, gradient=[-1.0])
def conditional_expression(x):
    return x * x if x > 0 else -x


@program(0.5, 2.0, value=1.5, gradient=[3.0, 0.0])
@program(0.5, 0.1, value=0.1, gradient=[0.0, 1.0])
def chained_comparison(x, y):
    return 3.0 * x if 0.0 < x < y < 3.0 else y


@program(0.5, 2.0, value=0.5, gradient=[1.0, 0.0])
@program(-0.5, 2.0, value=2.0, gradient=[0.0, 1.0])
def or_gives_an_operand(x, y):
    return (x > 0 and x) or y


@program(0.5, 2.0, value=2.0, gradient=[0.0, 1.0])
def and_gives_an_operand(x, y):
    return x and y


@program(0.5, value=0.25 + 0.5, gradient=[2.0])
def walrus(x):
    if (y := x * x) > 0.1:
        return y + x
    return y - x


@program(0.5, 2.0, value=5.0, gradient=[0.0, 2.5])
def not_and_nested_ifs(x, y):
    if not x > 1.0:
        if y > 1.0:
            y = y * 2.5
        else:
            y = x
    else:
        x = y
    return y


@program(0.5, 4, value=1.0, gradient=[2.0])
@program(0.5, 3, value=1.5, gradient=[3.0])
def integer_conditions(x, n):
    return x * (2.0 if n % 2 == 0 and n & 4 else 3.0)
