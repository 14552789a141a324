"""Edges of linear algebra, contractions, FFT and SciPy rules, with values derived by hand."""
import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import transad
from transad import grad, jvp, pullback


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tol, atol=tol)


def det(a):
    return np.linalg.det(a)


def test_det_of_singular_matrices_has_the_cofactors():
    close(grad(det)(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4.0, -2.0], [-2.0, 1.0]])
    close(grad(det)(np.zeros((2, 2))), np.zeros((2, 2)))
    close(grad(det)(np.diag([0.0, 2.0, 3.0])), np.diag([6.0, 0.0, 0.0]))
    close(grad(det)(np.diag([0.0, 0.0, 3.0])), np.zeros((3, 3)))
    big = np.diag([0.0] + [2.0] * 19)
    close(grad(det)(big), np.diag([2.0 ** 19] + [0.0] * 19), 1e-6)
    close(grad(det)(np.array([[5.0]])), [[1.0]])


def test_det_second_order_at_zero():
    h = transad.hessian(det)(np.zeros((2, 2)))
    expected = np.zeros((2, 2, 2, 2))
    expected[0, 0, 1, 1] = expected[1, 1, 0, 0] = 1.0
    expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = -1.0
    close(h, expected)


def test_det_keeps_its_digits_when_badly_conditioned():
    a = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15]])
    close(grad(det)(a), [[1.0, -1.0], [-1.0, 1.0]], 1e-14)


def norm(x):
    return np.linalg.norm(x)


@pytest.mark.parametrize("order", [None, 1, 2, 3, np.inf, -np.inf, "fro", "nuc", -2, -1])
def test_norms_are_finite_at_zero(order):
    def f(x):
        return np.linalg.norm(x, order)
    x = np.zeros(3) if order == 3 else np.zeros((2, 3))
    g = grad(f)(x)
    assert np.all(np.isfinite(g)) and np.linalg.norm(g) <= 1 + 1e-12


def test_squared_norm_at_zero_and_its_curvature():
    def f(x):
        return np.linalg.norm(x) ** 2
    close(grad(f)(np.zeros(2)), np.zeros(2))
    close(transad.hessian(f)(np.array([3.0, 4.0])), 2 * np.eye(2))


def test_ties_of_norms_are_split():
    def f(x):
        return np.linalg.norm(x, np.inf)
    close(grad(f)(np.array([2.0, -2.0, 1.0])), [0.5, -0.5, 0.0])

    def spectral(a):
        return np.linalg.norm(a, 2)
    close(grad(spectral)(np.eye(2)), 0.5 * np.eye(2))


def test_norm_of_one_row_zero():
    def f(x):
        return np.sum(np.linalg.norm(x, axis=1))
    close(grad(f)(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])


def test_single_precision_stays():
    a = np.array([[3.0, 1.0], [0.5, 2.0]], dtype=np.float32)

    def f(a):
        return np.linalg.det(a) + np.sum(np.linalg.inv(a)) + np.linalg.norm(a) + np.linalg.solve(a, a[0])[0]
    assert grad(f)(a).dtype == np.float32
    assert grad(lambda x: np.sum(np.einsum("ij,j->i", x, x[0])))(a).dtype == np.float32


# --------------------------------------------------------------------------------------------- decompositions

def test_symmetric_functions_of_equal_eigenvalues():
    def cubes(a):
        return np.sum(np.linalg.eigvalsh(a) ** 3)
    close(grad(cubes)(0.5 * np.eye(3)), 0.75 * np.eye(3))

    def squares(a):
        return np.sum(np.linalg.eigh(a)[0] ** 2)
    close(grad(squares)(np.eye(2)), 2 * np.eye(2))


def test_eigenvectors_of_equal_eigenvalues_are_refused():
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * w ** 2) @ v.T * np.array([[1.0, 2.0], [2.0, 5.0]]))
    with pytest.raises(transad.Unsupported, match="equal eigenvalues"):
        grad(f)(np.eye(2))
    a = np.array([[2.0, 0.3], [0.3, 1.0]])
    m = np.array([[1.0, 2.0], [2.0, 5.0]])
    full = m @ a + a @ m
    close(grad(f)(a), np.tril(full + full.T) - np.diag(np.diag(full)))


def test_one_triangle_is_read():
    a = np.array([[4.0, 99.0], [1.0, 3.0]])                    # the upper triangle is not looked at
    for f in (lambda a: np.sum(np.linalg.cholesky(a)), lambda a: np.linalg.eigvalsh(a)[0]):
        g = grad(f)(a)
        assert g[0, 1] == 0 and g[1, 0] != 0


def test_cholesky_log_det():
    def f(a):
        return 2 * np.sum(np.log(np.diag(np.linalg.cholesky(a))))
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    inverse = np.linalg.inv(a)
    close(grad(f)(a), [[inverse[0, 0], 0.0], [2 * inverse[1, 0], inverse[1, 1]]])


@pytest.mark.parametrize("weights", [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]])
def test_products_of_singular_vectors_of_equal_values_are_refused(weights):
    """The gradient of the product, which is `a`, cannot be told from that of the polar factor."""
    def f(a, power):
        u, s, vh = np.linalg.svd(a)
        return np.sum(((u * s ** power) @ vh) * np.array(weights))
    for power in (0.0, 1.0):
        with pytest.raises(transad.Unsupported, match="equal"):
            grad(f)(2 * np.eye(2), power)
    with pytest.raises(transad.Unsupported, match="equal"):           # the second derivative of a function of the values
        transad.hessian(lambda a: np.sum(np.linalg.svd(a)[1] ** 2))(np.eye(2))
    close(grad(lambda a: np.sum(np.linalg.svd(a)[1] ** 2))(np.eye(2)), 2 * np.eye(2))


def test_singular_vectors_of_equal_values_are_refused():
    def f(a):
        u, s, vh = np.linalg.svd(a)
        return u[0, 1]
    with pytest.raises(transad.Unsupported, match="equal"):
        grad(f)(2 * np.eye(2) + 0.0)


def test_phase_of_complex_vectors():
    a = np.array([[2.0, 1.0j], [-1.0j, 3.0]])

    def moduli(t):
        return np.sum(np.abs(np.linalg.eigh(a * np.array([[1.0, t], [t, 1.0]]))[1][0]) ** 4)
    h = 1e-6
    close(grad(moduli)(1.0), (moduli(1 + h) - moduli(1 - h)) / (2 * h), 1e-7)


# ----------------------------------------------------------------------------------------------- contractions

def test_einsum_stretched_axis_keeps_size_one():
    def f(x, y):
        return np.sum(np.einsum("i,i->i", x, y) * np.array([1.0, 2.0]))
    gx, gy = grad(f, (0, 1))(np.array([3.0, 4.0]), np.array([5.0]))
    close(gx, [5.0, 10.0])
    close(gy, [11.0])


def test_einsum_trace_and_diagonal():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    close(grad(lambda a: np.einsum("ii", a))(a), np.eye(2))
    close(grad(lambda a: np.sum(np.einsum("ii->i", a) ** 2))(a), np.diag([2.0, 8.0]))
    close(grad(lambda a: np.einsum("ij->j", a)[1])(a), [[0.0, 1.0], [0.0, 1.0]])


def test_matmul_of_a_vector_with_a_stack():
    t, v = np.arange(12.0).reshape(2, 3, 2), np.array([1.0, -1.0, 2.0])
    gv, gt = grad(lambda v, t: np.sum(v @ t), (0, 1))(v, t)
    close(gv, t.sum(axis=(0, 2)))
    close(gt, np.broadcast_to(v[:, None], (2, 3, 2)))


def test_empty_operands():
    close(grad(lambda a: np.sum(a @ np.zeros((0, 3))))(np.zeros((2, 0))), np.zeros((2, 0)))
    close(grad(lambda a: np.sum(np.dot(a, a)))(np.zeros(0)), np.zeros(0))
    close(grad(lambda a: np.sum(np.outer(a, np.ones(2))))(np.zeros(0)), np.zeros(0))
    close(grad(lambda a: np.linalg.norm(a))(np.zeros(0)), np.zeros(0))


def test_matrix_power_zero_and_negative():
    a = np.array([[2.0, 1.0], [0.0, 4.0]])
    close(grad(lambda a: np.sum(np.linalg.matrix_power(a, 0)))(a), np.zeros((2, 2)))
    close(grad(lambda a: np.trace(np.linalg.matrix_power(a, 3)))(a), 3 * (a @ a).T)
    inverse = np.linalg.inv(a)
    close(grad(lambda a: np.trace(np.linalg.matrix_power(a, -1)))(a), -(inverse @ inverse).T)


# -------------------------------------------------------------------------------------------------------- FFT

def test_parseval():
    x = np.array([1.0, -2.0, 0.5, 3.0, 0.7])
    close(grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x), 2 * 5 * x)
    close(grad(lambda x: np.sum(np.fft.irfft(np.fft.rfft(x), 5) * np.arange(5.0)))(x), np.arange(5.0))
    close(grad(lambda x: np.sum(np.abs(np.fft.fft(x, norm="ortho")) ** 2))(x), 2 * x)


def test_padding_and_cutting():
    x = np.array([1.0, -2.0, 0.5])
    close(grad(lambda x: np.sum(np.real(np.fft.ifft(np.fft.fft(x, 5))) ** 2))(x), 2 * x)
    close(grad(lambda x: np.sum(np.abs(np.fft.fft(x, 2)) ** 2))(x), [4.0, -8.0, 0.0])


# ------------------------------------------------------------------------------------------------------ SciPy

def test_logsumexp_of_minus_infinity():
    f = scipy.special.logsumexp
    close(grad(lambda x: f(x))(np.array([-np.inf, 0.0, 0.0])), [0.0, 0.5, 0.5])
    close(grad(lambda x: f(x))(np.full(2, -np.inf)), [0.0, 0.0])


def test_tails():
    close(grad(lambda x: scipy.special.log_ndtr(x))(-1e8), 1e8, 1e-12)
    close(grad(lambda x: scipy.special.log_expit(x))(800.0), 0.0)
    assert grad(lambda x: scipy.special.expit(x))(40.0) == pytest.approx(np.exp(-40.0), rel=1e-12)
    close(grad(lambda x: scipy.stats.norm.logcdf(x))(-40.0), 40.0249688472, 1e-9)


def test_entropies_at_zero():
    assert grad(lambda y: scipy.special.xlogy(0.0, y))(0.0) == 0.0
    assert np.isposinf(grad(lambda x: scipy.special.entr(x))(0.0))
    assert grad(lambda x: np.where(x > 0, scipy.special.entr(x), 0.0))(0.0) == 0.0


def test_removable_singularities():
    assert grad(lambda x: scipy.special.exprel(x))(0.0) == pytest.approx(0.5)
    assert grad(lambda x: scipy.special.spence(x))(1.0) == pytest.approx(-1.0)
    assert grad(grad(lambda m: scipy.special.ellipk(m)))(0.0) == pytest.approx(np.pi / 2 * 9 / 32)
    assert grad(lambda x: scipy.special.rgamma(x))(-1.0) == pytest.approx(-1.0)


def test_density_outside_its_support():
    close(grad(lambda x: np.sum(scipy.stats.gamma.pdf(x, 2.0)))(np.array([-1.0, 1.0])), [0.0, 0.0])
    close(grad(lambda s: np.sum(scipy.stats.expon.pdf(np.array([-1.0]), 0.0, s)))(2.0), 0.0)


def test_order_of_a_bessel_function_is_refused():
    with pytest.raises(transad.MissingRule):
        grad(lambda v: scipy.special.jv(v, 1.0))(2.0)


def test_keywords_of_distributions():
    close(grad(lambda s: scipy.stats.norm.logpdf(1.0, scale=s))(2.0), -0.5 + 1 / 8)
    close(grad(lambda m: scipy.stats.norm.logpdf(1.0, loc=m, scale=2.0))(0.5), 0.125)
    close(grad(lambda d: scipy.stats.t.logpdf(0.0, df=d))(1.0),
          0.5 * (scipy.special.psi(1.0) - scipy.special.psi(0.5) - 1))


def test_expm_of_a_rotation():
    generator = np.array([[0.0, -1.0], [1.0, 0.0]])
    close(grad(lambda t: scipy.linalg.expm(t * generator)[1, 0])(0.3), np.cos(0.3))
    close(grad(grad(lambda t: scipy.linalg.expm(t * generator)[1, 0]))(0.3), -np.sin(0.3))


def test_factor_once_solve_often():
    a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])

    def by_cholesky(a, b):
        return np.sum(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), b) ** 2)

    def by_lu(a, b):
        return np.sum(scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b) ** 2)

    def plain(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2)
    ga, gb = grad(plain, (0, 1))(a, b)
    for found, wanted in zip(grad(by_lu, (0, 1))(a, b), (ga, gb)):
        close(found, wanted)
    ca, cb = grad(by_cholesky, (0, 1))(a, b)
    close(cb, gb)
    close(ca, np.triu(ga + ga.T) - np.diag(np.diag(ga)))


def test_forward_mode_of_an_eigenvalue():
    a, t = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.5], [0.5, -2.0]])
    w, v = np.linalg.eigh(a)
    _, tangent = jvp(lambda a: np.linalg.eigvalsh(a), (a,), (t,))
    close(tangent, np.diag(v.T @ t @ v))


def test_complex_pullback_is_holomorphic():
    z = np.array([[1.0 + 1j, 0.5], [0.2j, 2.0]])
    _, back = pullback(lambda z: np.linalg.det(z), z)
    (g,) = back(1.0 + 0j) if isinstance(back(1.0 + 0j), tuple) else (back(1.0 + 0j),)
    close(g, [[z[1, 1], -z[1, 0]], [-z[0, 1], z[0, 0]]])
