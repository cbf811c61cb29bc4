"""Covariances of random features against two-dimensional quadrature over the projection."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.features import pair as theory
from attnlab_theory.theory.features import phase
from attnlab_theory.theory.features.estimator import Estimator
from tests.tolerances import gaussian_quadrature_rtol

ROUNDING = gaussian_quadrature_rtol(60**2, peak_exponent=40.0)
A = -0.15
Q, KEYS = np.array([0.3, -0.5]), np.array([[0.4, 0.1], [-0.2, -0.6], [0.0, 0.7]])


def projections() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a rule for N(0, I) in the plane."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / np.sum(weights)
    points = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    return points, np.outer(weights, weights).ravel()


def ratios(estimator: str, w: np.ndarray) -> np.ndarray:
    """Estimates of exp(q . k) over exp(q . k), straight from the features, one row per projection."""
    half = (Q @ Q + np.sum(KEYS**2, axis=1)) / 2
    along, across = w @ (Q + KEYS).T, w @ (Q - KEYS).T
    estimates = {
        Estimator.TRIGONOMETRIC: np.exp(half) * np.cos(across),
        Estimator.POSITIVE: np.exp(along - half),
        Estimator.HYPERBOLIC: np.exp(-half) * np.cosh(along),
        Estimator.GENERALIZED: (1 - 4 * A)
        * np.exp(2 * A * np.sum(w**2, axis=1, keepdims=True) + math.sqrt(1 - 4 * A) * along - half),
    }
    return estimates[estimator] / np.exp(KEYS @ Q)


def a_of(estimator: str) -> float:
    return A if estimator == Estimator.GENERALIZED else 0.0


@pytest.mark.parametrize("estimator", theory.ESTIMATORS)
def test_covariances_are_those_of_the_features(estimator):
    w, weights = projections()
    r = ratios(estimator, w)
    expected = np.einsum("m,ms,mt->st", weights, r - 1, r - 1)
    found = theory.covariances(estimator, Q, KEYS, a=a_of(estimator))
    assert weights @ r == pytest.approx(np.ones(3), rel=ROUNDING)
    assert found == pytest.approx(expected, rel=ROUNDING)
    for i, k in enumerate(KEYS):
        total, difference = np.sum((Q + k) ** 2), np.sum((Q - k) ** 2)
        one = theory.relative_variance(estimator, total, difference, d=2, a=a_of(estimator))
        assert one == pytest.approx(found[i, i], rel=ROUNDING)


@pytest.mark.parametrize("estimator", theory.ESTIMATORS)
def test_fourth_central_moments_are_those_of_the_features(estimator):
    w, weights = projections()
    expected = weights @ (ratios(estimator, w)[:, 0] - 1) ** 4
    square = np.sum((Q - KEYS[0]) ** 2) if estimator == Estimator.TRIGONOMETRIC else np.sum((Q + KEYS[0]) ** 2)
    found = theory.fourth_central_moment(estimator, square, d=2, a=a_of(estimator))
    assert found == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("estimator", theory.ESTIMATORS[:3])
def test_third_moments_are_those_of_the_features(estimator):
    w, weights = projections()
    r = ratios(estimator, w)
    expected = np.einsum("m,mi,mj,ml->ijl", weights, r, r, r)
    assert theory.third_moments(estimator, Q, KEYS) == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize(
    "ask",
    [
        lambda name: theory.relative_variance(name, 1.0, 0.1, d=4),
        lambda name: theory.fourth_central_moment(name, 1.0),
        lambda name: theory.covariances(name, Q, KEYS),
        lambda name: theory.third_moments(name, Q, KEYS),
    ],
    ids=["variance", "fourth", "covariances", "third"],
)
def test_an_estimator_without_a_law_is_not_taken_for_another(ask):
    with pytest.raises(ValueError, match=r"must be one of trigonometric, .*, not 'dense exponential'"):
        ask(Estimator.DENSE)


def test_third_moments_of_generalized_features_are_not_those_of_others():
    with pytest.raises(ValueError, match="not 'generalized exponential'"):
        theory.third_moments(Estimator.GENERALIZED, Q, KEYS)


@pytest.mark.parametrize("d", [1, 16, 200])
@pytest.mark.parametrize("sum_square", [0.01, 1.0, 30.0])
def test_no_parameter_is_better_than_the_best(d, sum_square):
    best = theory.best_parameter(sum_square, d)
    rivals = (best + step for step in (-0.1, -1e-3, 1e-3, 0.1))
    variances = [theory.log_moment(2, sum_square, d=d, a=a) for a in rivals if a < 0.125]
    assert best <= 0
    assert theory.log_moment(2, sum_square, d=d, a=best) <= min(variances)


def test_the_diagonal_separates_trigonometric_from_hyperbolic_and_positive_never_wins():
    values = np.geomspace(0.05, 20, 25)
    for total in values:
        trigonometric, hyperbolic = (
            phase.variance_per_feature(e, total, 0.9 * total, d=16)
            for e in (Estimator.TRIGONOMETRIC, Estimator.HYPERBOLIC)
        )
        assert trigonometric < hyperbolic
        for difference in values:
            assert phase.winner(total, difference, d=16) != Estimator.POSITIVE
    assert phase.winner(0.5, 0.4, d=16) == Estimator.TRIGONOMETRIC
    assert phase.winner(0.5, 0.6, d=16) == Estimator.HYPERBOLIC
    assert phase.winner(5.0, 9.0, d=16) == Estimator.DENSE


@pytest.mark.parametrize("total", [0.3, 1.0, 4.0, 9.0])
def test_dense_features_are_generalized_ones_of_width_one_and_never_worse_than_those_of_any_width(total):
    dense = phase.variance_per_feature(Estimator.DENSE, total, 1.0, d=16)
    assert dense == phase.variance_per_feature(Estimator.GENERALIZED, total, 1.0, d=1)
    assert dense == phase.variance_per_feature(Estimator.DENSE, total, 1.0, d=64)
    widths = [phase.variance_per_feature(Estimator.GENERALIZED, total, 1.0, d=d) for d in (1, 2, 16, 64)]
    assert widths == sorted(widths)


@pytest.mark.parametrize("other", [Estimator.DENSE, Estimator.GENERALIZED])
def test_at_the_borders_two_variances_are_equal(other):
    corner = phase.hyperbolic_border(other, d=16)
    at_corner = [phase.variance_per_feature(e, corner, 0.0, d=16) for e in (Estimator.HYPERBOLIC, other)]
    assert at_corner[0] == pytest.approx(at_corner[1], rel=1e-9)
    for total in (0.1, 5.0):
        border = phase.trigonometric_border(total, other, d=16)
        here = [phase.variance_per_feature(e, total, border, d=16) for e in (Estimator.HYPERBOLIC, other)]
        found = phase.variance_per_feature(Estimator.TRIGONOMETRIC, total, border, d=16)
        assert found == pytest.approx(min(here), rel=1e-9)


def test_the_published_counterexample():
    # x = -2y, |y| = 3: the kernel is 1.5e-8 and the relative variance 8102.
    assert theory.relative_variance(Estimator.POSITIVE, 9.0, 81.0, d=3) == pytest.approx(8102, abs=1)
    assert theory.relative_variance(Estimator.POSITIVE, 0.0, 36.0, d=3) == 0
    assert theory.relative_variance(Estimator.TRIGONOMETRIC, 0.0, 1e4, d=3) == math.inf
