"""Bias, variance and sign of a row's normaliser, where they are known exactly or seen by simulation."""

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.features import normaliser, pair, rows
from tests.tolerances import gaussian_quadrature_rtol

ROUNDING = gaussian_quadrature_rtol(5**3, peak_exponent=10.0)
RNG = np.random.default_rng(0)
Q, KEYS, VALUES = 0.3 * RNG.normal(size=3), 0.3 * RNG.normal(size=(5, 3)), np.linspace(1, -1, 5)
ESTIMATORS = pair.ESTIMATORS[:3]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_equal_values_have_neither_bias_nor_error(estimator):
    for terms in (rows.bias, rows.squared_error):
        assert terms(estimator, Q, KEYS, np.full(5, 0.7), m=4) == pytest.approx((0, 0), abs=ROUNDING)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_hot_values_give_the_variances_of_the_weights(estimator):
    weights = scipy.special.softmax(KEYS @ Q)
    found = rows.row_errors(pair.covariances(estimator, Q, KEYS), weights)
    one_hot = [rows.squared_error(estimator, Q, KEYS, v, m=1)[0] for v in np.eye(5)]
    assert found == pytest.approx(one_hot, rel=ROUNDING)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_terms_of_the_series_meet_a_simulation(estimator):
    m, draws = 12, 40_000
    w = RNG.normal(size=(draws, m, 3))
    along = w @ ((Q - KEYS) if estimator == "trigonometric" else (Q + KEYS)).T
    half = (Q @ Q + np.sum(KEYS**2, axis=1)) / 2
    wave = {"trigonometric": np.cos, "positive": np.exp, "hyperbolic": np.cosh}[estimator]
    estimates = np.mean(wave(along), axis=1) * np.exp(half if estimator == "trigonometric" else -half)
    exact = np.exp(KEYS @ Q)
    output = scipy.special.softmax(KEYS @ Q) @ VALUES
    error = estimates @ VALUES / np.sum(estimates, axis=1) - output
    linear = estimates @ (VALUES - output) / np.sum(exact)
    for drawn, terms in ((error - linear, rows.bias), (error**2, rows.squared_error)):
        first, second = terms(estimator, Q, KEYS, VALUES, m=m)
        # Five standard errors, and the first term left out, which is about the last one over m times that.
        slack = 5 * np.std(drawn) / draws**0.5 + abs(second / m) * 4 / m
        assert abs(np.mean(drawn) - (first + second) / m) < slack


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
