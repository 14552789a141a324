"""try, except, finally, raise, with, assert, print (mostly recorded)."""
import contextlib

from tests.programs import program


@program(2.0, value=4.0, gradient=[4.0], typed=False)
@program(-2.0, value=2.0, gradient=[-1.0], typed=False)
def caught(x):
    try:
        if x < 0:
            raise ValueError(f"{x} is negative")
        return x * x
    except ValueError:
        return -x


@program(2.0, value=2.0 * 3 + 2.0, gradient=[4.0], typed=False)
def finally_and_else(x):
    y = x
    try:
        y *= 3.0
    except ZeroDivisionError:
        y = 0.0
    else:
        y += x
    finally:
        y += 0.0
    return y


@contextlib.contextmanager
def doubled(x):
    yield x * 2.0


@program(3.0, value=18.0, gradient=[12.0], typed=False)
def with_a_value(x):
    with doubled(x) as y:
        return y * x


@program(3.0, value=9.0, gradient=[6.0])
def asserted(x):
    assert x > 0, "positive"
    if x > 100.0:
        raise ValueError("too large")
    return x * x


@program(3.0, value=6.0, gradient=[2.0], typed=False)
def error_from_a_callee(x):
    def checked(u):
        if u > 2.0:
            raise OverflowError
        return u
    try:
        x = checked(x)
    except (OverflowError, KeyError):
        x = 2.0 * x
    return x


@program(3.0, value=9.0, gradient=[6.0])
def docstrings_pass_and_annotations(x: float) -> float:
    """A docstring is no statement."""
    y: float = x
    pass
    return y * x
