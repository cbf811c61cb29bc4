"""The formulas of sketches against moments by quadrature, factorisations and each other."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.sparse import linformer
from tests.tolerances import linear_algebra_rtol


def sharp(n: int, beta: float) -> np.ndarray:
    powers = np.exp(beta * np.eye(n))
    return powers / powers.sum(axis=1, keepdims=True)


def test_product_error_is_the_second_moment_of_one_row():
    """n = 2: the two entries of a row of the sketch integrated by Gauss and Hermite, exact for polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    p, w = np.array([[0.7, 0.3], [0.1, 0.9]]), np.array([2.0, -1.0])
    error = 0.0
    for x, weight_x in zip(nodes, weights, strict=True):
        for y, weight_y in zip(nodes, weights, strict=True):
            g = np.array([x, y])
            error += weight_x * weight_y * np.sum((p @ g * (g @ w) - p @ w) ** 2)
    predicted = linformer.product_error(1, np.sum((p @ w) ** 2), np.sum(p**2), np.sum(w**2))
    assert predicted == pytest.approx(error, rel=linear_algebra_rtol(2, 8, 1.0))
    assert linformer.product_error(4, 1.0, 2.0, 3.0) == 7 / 4


def test_matrix_error_is_the_sum_over_unit_vectors():
    n, r, square = 5, 3, 2.5
    # Columns of P have squares that add up to |P|^2.
    assert linformer.matrix_error(n, r) == pytest.approx((square + n * square) / r / square)


def sketches(r: int) -> tuple[np.ndarray, np.ndarray]:
    """Sketches of two columns at the nodes of Gauss and Hermite's rule, and their weights; exact to degree 11."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    entries = np.stack(np.meshgrid(*[nodes] * (2 * r), indexing="ij"), axis=-1).reshape(-1, r, 2)
    chances = np.stack(np.meshgrid(*[weights / weights.sum()] * (2 * r), indexing="ij"), axis=-1)
    return entries / math.sqrt(r), np.prod(chances.reshape(-1, 2 * r), axis=1)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_the_variance_of_a_products_error_is_that_of_quadrature(r):
    p, w = np.array([[0.7, 0.3], [0.1, 0.9]]), np.array([0.6, -0.8])
    sketch, chances = sketches(r)
    error = np.sum((np.einsum("ij,krj,kr->ki", p, sketch, sketch @ w) - p @ w) ** 2, axis=1)
    variance = chances @ error**2 - (chances @ error) ** 2
    rest = p @ (np.eye(2) - np.outer(w, w))
    found = linformer.product_error_variance(
        r,
        float(np.sum((p @ w) ** 2)),
        float(np.sum(rest**2)),
        float(np.sum((rest @ rest.T) ** 2)),
        float(np.sum((rest.T @ p @ w) ** 2)),
    )
    assert found == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_the_variances_of_sharp_attention_are_those_of_quadrature(r, beta):
    p, w = sharp(2, beta), np.full(2, math.sqrt(0.5))
    sketch, chances = sketches(r)
    product = np.sum((np.einsum("ij,krj,kr->ki", p, sketch, sketch @ w) - p @ w) ** 2, axis=1)
    matrix = np.sum((p @ np.swapaxes(sketch, 1, 2) @ sketch - p) ** 2, axis=(1, 2)) / np.sum(p**2)
    for error, found in (
        (product, linformer.sharp_product_variance(2, beta, r)),
        (matrix, linformer.sharp_matrix_variance(2, beta, r)),
    ):
        assert found == pytest.approx(chances @ error**2 - (chances @ error) ** 2, rel=1e-9)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(("n", "r"), [(5, 3), (8, 64)])
def test_the_matrix_variance_is_that_of_draws(n, r):
    """Draws 40,000 sketches of up to 64 rows."""
    rng = np.random.default_rng(n)
    p = sharp(n, 1.5)
    sketch = rng.standard_normal((40_000, r, n)) / math.sqrt(r)
    error = np.sum((p @ np.swapaxes(sketch, 1, 2) @ sketch - p) ** 2, axis=(1, 2)) / np.sum(p**2)
    # Six standard errors of a sample variance, by the sample's own fourth moment.
    deviation = np.std((error - error.mean()) ** 2) / math.sqrt(len(error))
    assert abs(linformer.sharp_matrix_variance(n, 1.5, r) - error.var()) < 6 * deviation


@pytest.mark.parametrize(("n", "beta"), [(4, 0.0), (16, 1.0), (16, 30.0)])
def test_sharp_attention_is_its_matrix(n, beta):
    p = sharp(n, beta)
    rtol = linear_algebra_rtol(n, n, 1.0)
    assert linformer.sharp_matrix_square(n, beta) == pytest.approx(np.sum(p**2), rel=rtol)
    values = np.linalg.svd(p, compute_uv=False)
    for r in (1, n // 2, n):
        expected = np.sum(values[r:] ** 2) / np.sum(values**2)
        assert linformer.sharp_rank_error(n, beta, r) == pytest.approx(expected, abs=rtol)


def test_rank_counts_monomials():
    assert [linformer.rank_of_degree(2, p) for p in range(4)] == [1, 3, 6, 10]


@pytest.mark.parametrize("peak", [0.0, 0.5, 3.0, 50.0, 100.0])
def test_polynomial_error_is_the_tail_of_the_exponential(peak):
    for degree in (0, 3):
        tail = math.exp(peak) - sum(peak**j / math.factorial(j) for j in range(degree + 1))
        assert linformer.polynomial_error(peak, degree) == pytest.approx(tail * math.exp(peak))


def test_promised_rows_are_those_of_the_theorem():
    assert linformer.promised_rows(256, 0.5) == math.ceil(5 * math.log(256) / 0.125)
