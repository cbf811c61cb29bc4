"""Sums of sigmoid weights, at sizes where they are known."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sinks import sigmoid


def test_means_are_those_of_gauss_hermite_where_that_is_fine():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    alpha = scipy.special.expit(0.5 * nodes - math.log(7))
    assert sigmoid.sum_of_powers(5, 7, 0.5, 1) == pytest.approx(5 * weights @ alpha, rel=1e-10)
    assert sigmoid.sum_of_powers(5, 7, 0.5, 2) == pytest.approx(5 * weights @ alpha**2, rel=1e-10)
    variance = 5 * (weights @ alpha**4 - (weights @ alpha**2) ** 2)
    assert sigmoid.sum_variance(5, 7, 0.5, 2) == pytest.approx(variance, rel=1e-9)


def test_scores_of_zero_make_weights_of_one_in_n_plus_one():
    assert sigmoid.sum_of_powers(9, 9, 0.0, 1) == pytest.approx(0.9)


def test_the_sum_tends_to_a_mean_power_and_the_ratio_to_its_square():
    n = 10**9
    assert sigmoid.sum_of_powers(n, n, 1.0, 1) == pytest.approx(math.exp(0.5), rel=1e-6)
    ratio = sigmoid.sum_of_powers(10**5, 10**5, 1.0, 2) / sigmoid.softmax_participation(10**5, 1.0)
    assert ratio == pytest.approx(math.e, rel=0.02)
    assert sigmoid.participation_of_long_texts(64, 1.0) == pytest.approx(
        math.e * sigmoid.softmax_participation(64, 1.0)
    )
