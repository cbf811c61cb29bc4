"""Predictions of extraction error: limits, brute force in float64, and where the two matrices break even."""

import numpy as np
import pytest
import scipy.optimize

from attnlab_theory.theory.selecting import subspaces as theory
from tests.tolerances import linear_algebra_rtol

ANGLES = np.array([0.2, 0.7, 1.1])
M, N, D = 3, 4, 9


def matrices():
    """Bases as columns, in float64, and the two matrices the theory speaks of, by numpy's pseudo-inverse."""
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(D, M + N)))[0]
    a, rest = frame[:, :M], frame[:, M:]
    b = np.concatenate([a * np.cos(ANGLES) + rest[:, :M] * np.sin(ANGLES), rest[:, M:]], axis=1)
    exact = a @ np.linalg.pinv(np.concatenate([a, b], axis=1))[:M]
    return a, b, exact, a @ a.T


RTOL = linear_algebra_rtol(M + N, D, 1 / np.sin(ANGLES[0]))


def test_norm_is_that_of_the_pseudo_inverse_formula():
    assert np.linalg.norm(matrices()[2], 2) == pytest.approx(theory.extractor_norm(ANGLES), rel=RTOL)


def test_orthogonal_subspaces_need_no_amplification():
    assert theory.extractor_norm([np.pi / 2]) == 1
    # 1/sin x lies between 1/x and 1/x + x.
    assert 1e3 < theory.extractor_norm([1e-3]) < 1e3 + 1e-3


@pytest.mark.parametrize("blend", [0.0, 0.4, 1.0])
def test_blend_noise_is_the_quadratic_form_of_the_error(blend):
    _, b, exact, projector = matrices()
    matrix = blend * exact + (1 - blend) * projector
    # Given unit normals for v_b's coordinates and the noise, the error is linear in them.
    error = np.concatenate([matrix @ b / np.sqrt(N), 0.3 * matrix], axis=1)
    covariance = error @ error.T
    mean, variance = theory.blend_noise(ANGLES, M, N, 0.3, blend)
    assert mean == pytest.approx(np.trace(covariance), rel=RTOL)
    assert variance == pytest.approx(2 * np.trace(covariance @ covariance), rel=2 * RTOL)


def test_noise_alone_costs_the_squared_frobenius_norm():
    mean, _ = theory.blend_noise(ANGLES, M, N, 0.1, 1.0)
    assert mean == pytest.approx(0.1**2 * np.sum(matrices()[2] ** 2), rel=RTOL)


def test_more_kept_dimensions_than_angles_cost_one_noise_each():
    lean, _ = theory.blend_noise(ANGLES, 3, 3, 0.1, 1.0)
    wide, _ = theory.blend_noise(ANGLES, 5, 3, 0.1, 1.0)
    assert wide - lean == pytest.approx(2 * 0.1**2, rel=RTOL)


def test_projector_error_is_what_leaks_of_v_b():
    a, b, _, projector = matrices()
    v_a, v_b = a @ np.array([1.0, -2.0, 0.5]), b @ np.full(N, 1 / np.sqrt(N))
    error = np.linalg.norm(projector @ (v_a + v_b) - v_a)
    assert theory.projector_error(ANGLES, N) == pytest.approx(error, rel=RTOL)
    assert theory.projector_error(ANGLES, N) == pytest.approx(np.linalg.norm(a.T @ v_b), rel=RTOL)


def test_no_image_of_a_common_vector_is_closer_than_one_half():
    v = np.array([1.0, 0.0, 0.0])
    found = scipy.optimize.minimize(
        lambda image: max(np.linalg.norm(image - v), np.linalg.norm(image)), [0.9, 0.3, -0.2], method="Nelder-Mead"
    )
    assert found.fun >= theory.common_vector_error()
    assert max(np.linalg.norm(v / 2 - v), np.linalg.norm(v / 2)) == theory.common_vector_error()
