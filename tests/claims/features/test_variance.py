"""The variance that is assumed of reweighted draws is no less than theirs."""

import dataclasses

import numpy as np
import pytest

from attnlab_theory.claims.features.variance import TILTED

SETTING = next(setting for setting in TILTED.settings if setting.estimator == "hyperbolic")


@pytest.mark.parametrize("length", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_hyperbolic_squares_at_tilt_two_vary_by_no_more_than_is_assumed(length):
    setting = dataclasses.replace(SETTING, sum_square=length)
    points, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / np.sum(weights)
    # Around 2 (x + y) the product w . (x + y) is normal, of mean 2 L and variance L; the square is even in it.
    squares = np.exp(length) * (1 + 1 / np.cosh(2 * (2 * length + np.sqrt(length) * points))) / 2
    mean = weights @ squares
    assert mean - 1 == pytest.approx(TILTED.predicted_at(setting).low, rel=1e-6)
    assert weights @ (squares - mean) ** 2 <= TILTED.bound_at(setting).variance
