"""`match` in compiled code: lowered to conditions where its patterns are values, alternatives, captures and tuples."""
import numpy as np
import pytest

from transad import CannotCompile, differentiable, grad, value_and_grad


def by_text(x, how):
    match how:
        case "square":
            return np.sum(x**2)
        case "abs" | "l1":
            return np.sum(np.abs(x))
        case _:
            raise ValueError(how)


def by_tuple(x, n):
    s = 0.0
    for i in range(n):
        match (i % 2, i):
            case (0, k) if k < 3:
                s += x * k
            case (1, k):
                s += k * x**3
            case _:
                s -= x * x
    return s


def captured(x):
    match 3 * x:
        case y if y > 3:
            return y * y
        case other:
            return other


@pytest.mark.parametrize("jit", [False, True])
def test_patterns_choose_and_bind_as_in_python(jit):
    x = np.array([0.5, -2.0])
    value, gradient = value_and_grad(differentiable(by_text, jit=jit))(x, "square")
    assert value == 4.25 and np.array_equal(gradient, [1.0, -4.0])
    value, gradient = value_and_grad(differentiable(by_text, jit=jit))(x, "l1")
    assert value == 2.5 and np.array_equal(gradient, [1.0, -1.0])
    # trips 0, 2: x k; 1, 3, 5: k x**3; 4: -x**2
    assert grad(differentiable(by_tuple, jit=jit))(1.5, 6) == pytest.approx(2 + 9 * 3 * 1.5**2 - 2 * 1.5)
    assert grad(differentiable(captured, jit=jit))(1.5) == pytest.approx(18 * 1.5)
    assert grad(differentiable(captured, jit=jit))(0.5) == 3.0


def of_class(x):
    match x:
        case float(v):
            return v * v
        case _:
            return x


def test_a_pattern_that_is_not_lowered_is_refused_compiled_and_recorded_else():
    assert grad(of_class)(3.0) == 6.0
    with pytest.raises(CannotCompile, match="match"):
        grad(differentiable(of_class, jit=True))(3.0)
