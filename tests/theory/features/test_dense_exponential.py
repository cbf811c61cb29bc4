"""Dense exponential parameters minimise what they say, over parameters and bases alike."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.features import dense_exponential as theory
from attnlab_theory.theory.features import pair, variance
from tests.tolerances import linear_algebra_rtol

RNG = np.random.default_rng(0)
Q = RNG.normal(size=(30, 4)) * [2.0, 1.0, 0.5, 0.1] + [0.3, 0.0, 0.0, 0.5]
K = RNG.normal(size=(40, 4)) @ RNG.normal(size=(4, 4)) / 2
MOMENT = theory.pair_second_moment(Q, K)
RTOL = 100 * linear_algebra_rtol(4, 4, 1.0)


def turned(seed: int, angle: float) -> np.ndarray:
    """A rotation near the identity."""
    generator = np.random.default_rng(seed).normal(size=(4, 4))
    return np.linalg.qr(np.eye(4) + angle * (generator - generator.T))[0]


def test_pair_moment_is_that_of_all_pairs():
    z = (Q[:, None] + K[None]).reshape(-1, 4)
    assert np.abs(theory.pair_second_moment(Q, K) - z.T @ z / len(z)).max() <= RTOL * np.trace(MOMENT)


def test_the_objective_is_the_mean_logarithm_of_second_moments():
    a, basis = theory.best_parameters(MOMENT)
    z = (Q[:, None] + K[None]).reshape(-1, 4) @ basis
    logs = [math.log(variance.moment(variance.dense(tuple(row**2), tuple(a)), 2)) for row in z]
    assert abs(theory.mean_log_second_moment(MOMENT, a, basis) - np.mean(logs)) <= RTOL * np.abs(logs).max()


def test_no_parameters_and_no_basis_do_better():
    a, basis = theory.best_parameters(MOMENT)
    least = theory.mean_log_second_moment(MOMENT, a, basis)
    assert np.abs(basis.T @ basis - np.eye(4)).max() <= RTOL
    assert a.max() <= 0
    for i in range(4):
        for step in (-0.01, 0.01):
            assert theory.mean_log_second_moment(MOMENT, a + step * np.eye(4)[i], basis) > least
    for seed in range(10):
        turn = basis @ turned(seed, 0.1)
        lengths = np.einsum("di,de,ei->i", turn, MOMENT, turn)
        best_there = np.array([pair.best_parameter(length, 1) for length in lengths])
        assert theory.mean_log_second_moment(MOMENT, best_there, turn) > least
        assert theory.mean_log_second_moment(MOMENT, a, turn) > least


def test_isotropic_data_need_one_parameter():
    a, _ = theory.best_parameters(np.eye(5) * 0.4)
    assert np.abs(a - pair.best_parameter(5 * 0.4, 5)).max() <= RTOL


def test_data_in_a_plane_leave_the_other_directions_alone():
    a, _ = theory.best_parameters(np.diag([0.0, 0.0, 1.0]))
    assert a[:2].tolist() == [0.0, 0.0]
    assert a[2] < -0.05


def test_balanced_queries_and_keys_are_shortest():
    q_moment, k_moment = Q.T @ Q / len(Q), K.T @ K / len(K)
    s = theory.balancing_map(q_moment, k_moment)

    def size(s):
        inverse = np.linalg.inv(s)
        return np.trace(s @ q_moment @ s.T) + np.trace(inverse.T @ k_moment @ inverse)

    assert np.abs(s - s.T).max() <= 1e3 * RTOL * np.abs(s).max()
    for seed in range(10):
        for other in (s @ turned(seed, 0.05) @ np.diag([1.05, 1, 1, 1]), s * 1.05, s / 1.05):
            assert size(other) > size(s)
    # Balanced: both moments are the same matrix then.
    inverse = np.linalg.inv(s)
    both = s @ q_moment @ s, inverse @ k_moment @ inverse
    assert np.abs(both[0] - both[1]).max() <= 1e3 * RTOL * np.abs(both[0]).max()
    assert np.abs(theory.balancing_map(q_moment, q_moment) - np.eye(4)).max() <= 1e4 * RTOL


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric and finite"),
        ([[1.0, float("nan")], [float("nan"), 1.0]], "symmetric and finite"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite, but has the eigenvalue -1"),
    ],
)
def test_matrices_that_are_no_second_moments_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        theory.best_parameters(np.array(matrix))


def test_directions_without_queries_cannot_be_balanced():
    with pytest.raises(ValueError, match="q_moment must be positive definite"):
        theory.balancing_map(np.diag([1.0, 0.0]), np.eye(2))
