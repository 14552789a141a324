"""Forward mode against the reverse sweep and against differences; nesting; both back ends for a part."""
from __future__ import annotations

import math

import numpy as np
import pytest

import transad
from transad.forwards import forward


def loop_with_branch(z, n, h):
    q, p, k1, k2 = z[0], z[1], z[2], z[3]
    for _ in range(n):
        p += h * (-k1 * q if q > 0.0 else -k2 * q * q * q)
        q += h * p
    return 0.5 * p * p + q


def library_calls(x, y):
    a = np.exp(-x) * np.sin(y) + np.log(x * x + 1.0)
    b = np.where(a > 0.5, a * y, np.sqrt(x))
    return np.sum(a) + np.max(b) * np.min(a) + np.dot(a, b) + a[::2][0]


def writes_and_views(x, y):
    a = np.zeros(x.shape[0])
    a[:] = x * y
    view = a[1:]
    view *= x[1:]
    a[0] += view[-1] / y[0]
    b = a
    b[1] = a[0] * a[1]
    return a


def swap_and_break(x, y):
    a, b = x[0], y[0]
    for i in range(10):
        a, b = b, a + 0.3 * b
        if a > 4.0:
            break
    while b > 0.5:
        b *= 0.7
    return a * b


def broadcast(x, y):
    outer = x[:, None] * y
    return np.dot(outer.T, x) + outer[0] + y ** 3


def reads_old_and_new(x, y):
    u, v = x[0], y[1]
    u = u ** v
    v = math.exp(v) * v
    u = math.sqrt(u) + u / v
    return u * max(u, v)


ARRAYS = (np.array([0.7, 1.2, 0.4, 1.9]), np.array([1.1, 0.6, 1.4, 0.8]))
PROGRAMS = [library_calls, writes_and_views, swap_and_break, broadcast, reads_old_and_new]


def pairing(a, b):
    return float(np.sum(np.asarray(a) * np.asarray(b)))


@pytest.mark.parametrize("f", PROGRAMS)
def test_push_is_the_transpose_of_pull(f):
    tangents = (np.array([0.3, -1.0, 0.7, 0.2]), np.array([1.0, 0.4, -0.6, 0.9]))
    found = forward.jvp(f, ARRAYS, tangents)
    assert found is not None, "this program is meant to be typed"
    y, dy = found
    np.testing.assert_allclose(y, f(*ARRAYS), rtol=1e-14)
    _, back = transad.pullback(f, *ARRAYS)
    weights = np.linspace(0.5, 1.5, np.size(y)).reshape(np.shape(y)) if np.ndim(y) else 1.0
    grads = back(weights)
    assert pairing(weights, dy) == pytest.approx(sum(map(pairing, grads, tangents)), rel=1e-10)


@pytest.mark.parametrize("f", PROGRAMS)
def test_inputs_and_tangents_are_left_alone(f):
    args, tangents = [a.copy() for a in ARRAYS], [a[::-1].copy() for a in ARRAYS]
    kept = [a.copy() for a in (*args, *tangents)]
    forward.jvp(f, tuple(args), tuple(tangents))
    for now, before in zip((*args, *tangents), kept, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("jit", [False, True])
def test_forward_gradient_is_the_reverse_gradient(jit):
    f = transad.differentiable(loop_with_branch, jit=jit)
    z = np.array([1.0, 0.3, 1.1, 0.7])
    y, g = transad.value_and_grad(f, mode="forward")(z, 200, 0.05)
    y_r, g_r = transad.value_and_grad(f, mode="reverse")(z, 200, 0.05)
    assert y == pytest.approx(y_r, rel=1e-12)
    np.testing.assert_allclose(g, g_r, rtol=1e-9)
    assert "_forward(" in forward.forward_text(loop_with_branch, (z, 3, 0.1), [0])


def test_auto_takes_the_forward_sweep_by_the_length_of_the_array():
    def powers(z, n):
        s = 1.0
        for _ in range(n):
            s = math.sin(s * z[0]) + z[1]
        return s
    g = transad.grad(powers)
    short, long = np.array([0.4, 0.2]), np.full(20, 0.3)
    np.testing.assert_allclose(g(long, 5)[:2], g(long[:2].copy(), 5))
    np.testing.assert_allclose(g(short, 5), transad.grad(powers, mode="reverse")(short, 5))


def test_unknown_mode():
    with pytest.raises(transad.InvalidArgument):
        transad.grad(loop_with_branch, mode="sideways")


def two_of_three(v):
    out = np.empty(2)
    out[0] = v[0] * v[1] / v[2]
    out[1] = math.sin(v[2]) + v[0]
    return out


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("verb", [transad.jacobian, transad.jacfwd, transad.jacrev])
def test_jacobians(verb, jit):
    v = np.array([0.5, 1.5, 2.0])
    expected = [[0.75, 0.25, -0.1875], [1.0, 0.0, math.cos(2.0)]]
    np.testing.assert_allclose(verb(transad.differentiable(two_of_three, jit=jit))(v), expected, rtol=1e-12)


def likelihood(p, r):
    h = 1.0
    s = 0.0
    for i in range(len(r)):
        h = p[0] + p[1] * r[i] * r[i] + p[2] * h
        s += math.log(h) + r[i] * r[i] / math.sqrt(h)
    return s


@pytest.mark.parametrize("jit", [False, True])
def test_hessian_and_hvp(jit):
    f = transad.differentiable(likelihood, jit=jit)
    p, r = np.array([0.2, 0.1, 0.7]), np.array([0.3, -0.5, 1.2, 0.1])
    hess = transad.hessian(f)(p, r)
    g = transad.grad(f)
    steps = 1e-5 * np.eye(3)
    np.testing.assert_allclose(hess, [(g(p + e, r) - g(p - e, r)) / 2e-5 for e in steps], rtol=1e-6, atol=1e-6)
    y, first, second = transad.value_grad_and_hessian(f)(p, r)
    assert y == pytest.approx(likelihood(p, r))
    np.testing.assert_allclose(first, g(p, r))
    np.testing.assert_array_equal(second, hess)
    np.testing.assert_allclose(transad.hvp(lambda q: likelihood(q, r), (p,), (np.array([1.0, 2.0, -1.0]),)),
                               hess @ [1.0, 2.0, -1.0], rtol=1e-9)


def test_zero_tangent_wins_over_an_infinite_slope():
    def f(a, b):
        return math.sqrt(a) + b
    assert transad.grad(f, (0, 1), mode="forward")(0.0, 2.0) == (math.inf, 1.0)
    assert transad.jvp(f, (0.0, 2.0), (0.0, 1.0))[1] == 1.0


def test_row_of_a_jacobian_beside_an_infinite_one():
    def f(v):
        out = np.empty(2)
        out[0] = math.sqrt(v[0])
        out[1] = v[1] + v[0]
        return out
    np.testing.assert_array_equal(transad.jacrev(f)(np.array([0.0, 1.0])), [[math.inf, 0.0], [1.0, 1.0]])


def test_perturbations_are_not_confused():
    assert transad.grad(lambda x: x * transad.jvp(lambda y: x + y, (1.0,), (1.0,))[1])(1.0) == 1.0
    assert transad.jvp(transad.grad(lambda x: x ** 3), (2.0,), (1.0,)) == (12.0, 12.0)
    assert transad.grad(lambda x: transad.jvp(lambda y: y ** 3, (x,), (1.0,))[1])(2.0) == 12.0
    third = transad.grad(transad.grad(transad.grad(lambda x: math.sin(x))))
    assert third(0.5) == pytest.approx(-math.cos(0.5))


def test_linearize_keeps_its_point():
    x = np.array([1.0, 2.0])
    y, push = transad.linearize(lambda v: v * v, x)
    x[0] = 7.0
    np.testing.assert_array_equal(push(np.array([1.0, 1.0])), [2.0, 4.0])
    np.testing.assert_array_equal(y, [1.0, 4.0])


def test_captured_variables_are_constants_of_the_right_place():
    scale, shift = 3.0, np.array([1.0, 2.0])

    def f(x, y):
        return x * scale + y * shift[1]
    assert transad.jvp(f, (2.0, 5.0), (1.0, 10.0)) == (16.0, 23.0)


def test_fwddiff_inside_differentiated_code():
    inner = transad.fwddiff(lambda x: x * x)
    assert transad.value_and_grad(lambda x: 3.0 * inner(x))(2.0) == (12.0, 12.0)


def test_items_of_an_unrolled_loop_are_those_before_it():
    def f(x, y):
        s = 0.0
        for b in [x, y, x * y]:
            s += b * b
            x, y = s * 2.0, s + 1.0
        return s
    assert transad.value_and_grad(f, (0, 1))(1.0, 2.0) == transad.value_and_grad(f, (0, 1), path="recorded")(1.0, 2.0)


def test_cotangents_of_two_maps_are_differentiated_again():
    def f(x):
        table = [[x * (i + j) for j in range(2)] for i in range(3)]
        return sum([sum(row) for row in table[:2]]) + sum(table[2]) - 3.0 * x
    _, back = transad.pullback(f, 2.0)
    assert back(1.0) == (6.0,) and transad.grad(lambda u: back(u)[0])(0.7) == 6.0


# -- nesting ----------------------------------------------------------------------------------------------------------
def cube_with_loop(x):
    y = x
    for _ in range(2):
        y = y * x
    return y


def test_third_order_by_every_order_of_modes():
    def forwards(f):
        return lambda x: transad.jvp(f, (x,), (1.0,))[1]

    def gradient(f):
        return transad.grad(f)
    for first in (forwards, gradient):
        for second in (forwards, gradient):
            assert second(first(cube_with_loop))(2.0) == pytest.approx(12.0)
            for third in (forwards, gradient):
                assert third(second(first(math.sin)))(0.5) == pytest.approx(-math.cos(0.5))
                assert third(second(first(cube_with_loop)))(2.0) == pytest.approx(6.0)


def test_hessian_inside_a_gradient():
    def trace(p):
        return np.trace(transad.hessian(lambda v: np.sum(v ** 4))(p))
    np.testing.assert_allclose(transad.grad(trace)(np.array([1.0, 2.0])), [24.0, 48.0])
    along = transad.grad(lambda p: np.sum(transad.hvp(lambda v: np.sum(v ** 3), (p,), (p,))))
    np.testing.assert_allclose(along(np.array([1.0, 2.0])), [12.0, 24.0])


def test_inner_functions_capture_outer_variables():
    assert transad.grad(lambda x: transad.grad(lambda y: x * y * y)(x))(3.0) == 12.0
    assert transad.grad(lambda x: x * transad.grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert transad.jvp(lambda x: transad.jvp(lambda y: x * y * x, (5.0,), (1.0,))[1], (3.0,), (1.0,)) == (9.0, 6.0)
    assert transad.grad(lambda x: transad.jacfwd(lambda v: v * x)(np.ones(2))[0, 0])(4.0) == 1.0
    assert transad.jvp(lambda x: transad.grad(lambda y: math.sin(x) * y)(1.0), (0.3,), (2.0,))[1] == pytest.approx(
        2.0 * math.cos(0.3))


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_modes_nest(mode):
    inner = transad.grad(cube_with_loop, mode=mode)
    assert transad.grad(lambda x: inner(x) * x, mode="reverse")(2.0) == pytest.approx(36.0)
    assert transad.grad(inner, mode="forward")(2.0) == pytest.approx(12.0)


# -- more inputs than lanes -------------------------------------------------------------------------------------------
def filtered(x, c):
    s, h = 0.0, 1.0
    for i in range(len(x)):
        h = 0.3 * h + x[i] * c
        s += math.log(h) * x[i]
    return s


@pytest.mark.parametrize("options", [{}, {"chunk": 3}, {"chunk": 1}, {"path": "recorded"}, {"jit": True, "chunk": 4}])
def test_gradient_in_several_sweeps(options):
    x = np.linspace(0.5, 2.0, 40)
    expected = transad.grad(filtered, (0, 1), mode="reverse")(x, 1.3)
    found = transad.grad(filtered, (0, 1), mode="forward", **options)(x, 1.3)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    assert found[1] == pytest.approx(expected[1]) and type(found[1]) is float


def test_forward_gradient_of_what_is_not_typed_and_what_writes():
    assert transad.grad(lambda d: d["x"] * d["y"], mode="forward")({"x": 2.0, "y": 3.0}) == {"x": 3.0, "y": 2.0}
    assert transad.value_and_grad(lambda x: (x * x, "aux"), has_aux=True, mode="forward")(3.0) == ((9.0, "aux"), 6.0)

    def writes(x):
        x[0] *= 2.0
        return np.sum(x * x)
    x = np.ones(20)
    y, g = transad.value_and_grad(writes, mode="forward")(x)
    assert (y, x[0], g[0], g[1]) == (23.0, 2.0, 8.0, 2.0)
    with pytest.raises(transad.CannotCompile):
        transad.grad(lambda d: d["x"], mode="forward", jit=True)({"x": 2.0})
    with pytest.raises(transad.InvalidArgument, match="chunk=0"):
        transad.grad(filtered, chunk=0)
    with pytest.raises(transad.NotScalar):
        transad.grad(lambda x: x * 2.0, mode="forward")(np.ones(3))


@pytest.mark.parametrize("chunk", [None, 2, 100])
def test_jacobians_and_hessians_by_chunks(chunk):
    def wide(v, k):
        return v[:, None] * v * k
    v = np.array([1.0, 2.0, 3.0])
    expected = transad.jacrev(wide, (0, 1))(v, 2.0)
    for verb in (transad.jacfwd, transad.jacobian):
        for found, known in zip(verb(wide, (0, 1), chunk=chunk)(v, 2.0), expected, strict=True):
            np.testing.assert_allclose(found, known)

    def quadratic(v, w):
        return np.sum(np.exp(v) * v ** 2 * np.dot(w, v))
    w = np.arange(9.0).reshape(3, 3) / 9.0
    blocks = transad.hessian(quadratic, (0, 1), chunk=chunk)(v, w)
    general = transad.jacobian(transad.grad(quadratic, (0, 1), path="recorded"), (0, 1))(v, w)
    for a, b in zip(blocks, general, strict=True):
        for found, known in zip(a, b, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-9)


def test_sparse_jacobians():
    def banded(v):
        out = v * v
        out[:-1] += 3.0 * v[1:]
        return out
    v = np.arange(1.0, 31.0)
    pattern = np.eye(30) + np.eye(30, k=1)
    found = transad.jacobian(banded, sparsity=pattern)(v)
    np.testing.assert_allclose(found.toarray(), transad.jacrev(banded)(v))
    assert found.nnz == 59

    def gathered(v):                       # one full row: pullbacks of groups of rows
        out = v * v
        out[0] = np.sum(v)
        return out
    full = np.eye(30)
    full[0] = 1.0
    np.testing.assert_allclose(transad.jacobian(gathered, sparsity=full)(v).toarray(), transad.jacrev(gathered)(v))
    for wrong in (np.eye(30), np.eye(29)):
        with pytest.raises(transad.InvalidArgument):
            transad.jacobian(banded, sparsity=wrong)(v)


def test_check_grads_on_both_back_ends():
    transad.check_grads(filtered, (np.array([0.5, 0.8]), 1.3), jit=(False, True))
    with pytest.raises(AssertionError):
        transad.check_grads(lambda x: x * transad.stop_gradient(x), (1.3,))
    with pytest.raises(transad.CannotCompile):
        transad.check_grads(lambda d: d["x"] ** 2, ({"x": 2.0},), jit=True)


def test_tangents_of_results_that_are_one_array_are_two():
    def f(m):
        c = m
        m += m
        return c, c
    (_, _), (one, other) = transad.jvp(f, (np.ones(3),), (np.ones(3),))
    one[0] = 7.0
    assert other.tolist() == [2.0, 2.0, 2.0]
