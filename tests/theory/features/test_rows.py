"""Bias, error and weights of a row, and the sign of its normaliser: where known exactly or seen by simulation."""

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.features import normaliser, pair, rows
from attnlab_theory.theory.features.estimator import Estimator
from tests.tolerances import gaussian_quadrature_rtol

ROUNDING = gaussian_quadrature_rtol(5**3, peak_exponent=10.0)
RNG = np.random.default_rng(0)
Q, KEYS, VALUES = 0.3 * RNG.normal(size=3), 0.3 * RNG.normal(size=(5, 3)), np.linspace(1, -1, 5)
ESTIMATORS = pair.ESTIMATORS[:3]


EXACT = (Estimator.POSITIVE, Estimator.HYPERBOLIC)
PLANE_Q, PLANE_KEYS = RNG.normal(size=2) / 2, RNG.normal(size=(5, 2)) / 2


def simulated(estimator: Estimator, m: int, draws: int) -> np.ndarray:
    """Weights [draws s] for the query in the plane, from m projections, by the maps' own formulas."""
    w = np.random.default_rng(m).normal(size=(draws, m, 2))
    along = w @ (PLANE_Q + PLANE_KEYS).T
    half = (PLANE_Q @ PLANE_Q + np.sum(PLANE_KEYS**2, axis=1)) / 2
    wave = {Estimator.POSITIVE: np.exp, Estimator.HYPERBOLIC: np.cosh}[estimator]
    estimates = np.mean(wave(along), axis=1) * np.exp(-half)
    return estimates / np.sum(estimates, axis=1, keepdims=True)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_equal_values_have_neither_bias_nor_error(estimator):
    equal = np.full(5, 0.7)
    assert rows.delta_method(estimator, Q, KEYS, equal, m=4) == pytest.approx((0, 0), abs=ROUNDING)
    if estimator in EXACT:
        assert rows.error_moments(estimator, PLANE_Q, PLANE_KEYS, equal, m=4) == pytest.approx((0, 0), abs=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_hot_values_give_the_variances_of_the_weights(estimator):
    weights = scipy.special.softmax(KEYS @ Q)
    found = rows.row_errors(pair.covariances(estimator, Q, KEYS), weights)
    one_hot = [rows.delta_method(estimator, Q, KEYS, v, m=1)[1] for v in np.eye(5)]
    assert found == pytest.approx(one_hot, rel=ROUNDING)


@pytest.mark.parametrize("m", [1, 2, 3, 12])
@pytest.mark.parametrize("estimator", EXACT)
def test_the_exact_law_meets_a_simulation(estimator, m):
    error = simulated(estimator, m, 40_000) @ VALUES - scipy.special.softmax(PLANE_KEYS @ PLANE_Q) @ VALUES
    bias, square = rows.error_moments(estimator, PLANE_Q, PLANE_KEYS, VALUES, m=m)
    assert abs(np.mean(error) - bias) < 5 * np.std(error) / 200
    assert abs(np.mean(error**2) - square) < 5 * np.std(error**2) / 200


@pytest.mark.parametrize("estimator", EXACT)
def test_the_delta_method_is_the_limit_of_many_projections(estimator):
    """The exact law over the first order tends to one as 1/m: ten times the projections, a tenth of the gap."""
    gaps = [
        np.array(rows.error_moments(estimator, PLANE_Q, PLANE_KEYS, VALUES, m=m))
        / rows.delta_method(estimator, PLANE_Q, PLANE_KEYS, VALUES, m=m)
        - 1
        for m in (1000, 10_000)
    ]
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.05)
    assert np.all(np.abs(gaps[1]) < 0.002)


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("key", [0, 3])
@pytest.mark.parametrize("estimator", EXACT)
def test_chances_of_a_weight_meet_a_simulation(estimator, key):
    m, weights = 8, scipy.special.softmax(PLANE_KEYS @ PLANE_Q)
    for distance in (0.01, 0.05):
        within = np.abs(simulated(estimator, m, 40_000)[:, key] - weights[key]) <= distance
        chance = rows.chance_within(estimator, PLANE_Q, PLANE_KEYS, key, m=m, distance=distance)
        assert abs(np.mean(within) - chance) < 5 * 0.5 / 200 + rows.CHANCE_ERROR


@pytest.mark.slow("chances of a weight, against a simulation, stay inside")
def test_a_quarter_of_the_stated_error_is_what_finer_steps_change(monkeypatch):
    """Integrates a chance twice, the second time in steps of half the width."""
    at = {"m": 32, "distance": 0.02}
    found = rows.chance_within(Estimator.POSITIVE, PLANE_Q, PLANE_KEYS, 0, **at)
    monkeypatch.setattr(rows, "STEP", rows.STEP / 2)
    finer = rows.chance_within(Estimator.POSITIVE, PLANE_Q, PLANE_KEYS, 0, **at)
    assert abs(found - finer) < rows.CHANCE_ERROR / 4


def test_what_has_no_exact_law_is_refused():
    with pytest.raises(ValueError, match="positive and hyperbolic features, not for trigonometric ones"):
        rows.error_moments(Estimator.TRIGONOMETRIC, PLANE_Q, PLANE_KEYS, VALUES, m=4)
    with pytest.raises(ValueError, match="d is at most 2, not 3"):
        rows.error_moments(Estimator.POSITIVE, Q, KEYS, VALUES, m=4)


def test_one_key_has_the_cumulants_of_one_cosine():
    # r = e^{D/2} cos x: E r^2 = cosh D, E r^3 = (3 e^D + e^{-3D}) / 4.
    difference = float(np.sum((Q - KEYS[0]) ** 2))
    variance, third = normaliser.cumulants(Q, KEYS[:1])
    moment = (3 * np.exp(difference) + np.exp(-3 * difference)) / 4
    assert variance == pytest.approx(np.cosh(difference) - 1, rel=ROUNDING)
    assert third == pytest.approx(moment - 1 - 3 * variance, rel=ROUNDING / variance)


@pytest.mark.parametrize("apart", [0.0, 1e-60, 1e-3])
def test_a_normaliser_that_hardly_varies_never_fails(apart):
    assert normaliser.not_positive(Q, (Q + apart)[None], m=16) == (0, 0)


def test_the_normaliser_fails_more_often_with_longer_vectors_and_fewer_projections():
    chances = [normaliser.not_positive(s * Q, s * KEYS, m=m)[0] for s, m in ((1, 16), (3, 64), (3, 16), (6, 16))]
    assert chances == sorted(chances)
    assert chances[0] < 1e-9
    assert chances[-1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("estimator", [Estimator.POSITIVE, Estimator.HYPERBOLIC])
def test_points_too_long_for_the_quadrature_are_refused(estimator):
    """At |q + k| = 10 the law lies where no node is: the error came out as 2e-6, and is nearly one."""
    q, keys, values = np.array([5.0]), np.array([[5.0], [-5.0], [0.0]]), np.array([1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match=r"with \|q \+ k\| up to 10 are too long for the quadrature"):
        rows.error_moments(estimator, q, keys, values, m=4)


@pytest.mark.parametrize("estimator", [Estimator.TRIGONOMETRIC, Estimator.POSITIVE, Estimator.HYPERBOLIC])
def test_moments_beyond_float64_are_refused(estimator):
    q, keys, values = np.array([15.0]), np.array([[15.0], [-15.0]]), np.array([1.0, 0.0])
    with pytest.raises(
        ValueError, match="whose sums or differences are 30 long have estimates whose moments leave"
    ):
        rows.delta_method(estimator, q, keys, values, m=4)
    with pytest.raises(ValueError, match="whose moments leave float64: scale them down"):
        pair.third_moments(estimator, q, keys)
