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
PAIRS = (Q[:, None] + K[None]).reshape(-1, 4)
MOMENT = PAIRS.T @ PAIRS / len(PAIRS)
RTOL = 100 * linear_algebra_rtol(4, 4, 1.0)


def turned(seed: int, angle: float) -> np.ndarray:
    """A rotation near the identity."""
    generator = np.random.default_rng(seed).normal(size=(4, 4))
    return np.linalg.qr(np.eye(4) + angle * (generator - generator.T))[0]


def objective(a, basis) -> float:
    """What is minimised, as the module's docstring says it."""
    lengths = np.einsum("di,de,ei->i", basis, MOMENT, basis)
    return float(np.sum(np.log(1 - 4 * a) - np.log(1 - 8 * a) / 2 + lengths / (1 - 8 * a)))


def test_the_objective_is_the_mean_logarithm_of_second_moments():
    a, basis = theory.best_parameters(MOMENT)
    z = PAIRS @ basis
    logs = [math.log(variance.moment(variance.dense(tuple(row**2), tuple(a)), 2)) for row in z]
    assert abs(objective(a, basis) - np.mean(logs)) <= RTOL * np.abs(logs).max()


def test_no_parameters_and_no_basis_do_better():
    a, basis = theory.best_parameters(MOMENT)
    least = objective(a, basis)
    assert np.abs(basis.T @ basis - np.eye(4)).max() <= RTOL
    assert a.max() <= 0
    for i in range(4):
        for step in (-0.01, 0.01):
            assert objective(a + step * np.eye(4)[i], basis) > least
    for seed in range(10):
        turn = basis @ turned(seed, 0.1)
        lengths = np.einsum("di,de,ei->i", turn, MOMENT, turn)
        best_there = np.array([pair.best_parameter(length, 1) for length in lengths])
        assert objective(best_there, turn) > least
        assert objective(a, turn) > least


def test_isotropic_data_need_one_parameter():
    a, _ = theory.best_parameters(np.eye(5) * 0.4)
    assert np.abs(a - pair.best_parameter(5 * 0.4, 5)).max() <= RTOL


def test_data_in_a_plane_leave_the_other_directions_alone():
    a, _ = theory.best_parameters(np.diag([0.0, 0.0, 1.0]))
    assert a[:2].tolist() == [0.0, 0.0]
    assert a[2] < -0.05


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
