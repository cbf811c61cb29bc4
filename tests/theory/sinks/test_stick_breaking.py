"""Weights of stick-breaking attention over scores of two points, added up over all cases."""

import itertools

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sinks import stick_breaking


@pytest.mark.parametrize("size", [0.3, 2.0])
def test_means_over_two_scores_of_either_sign_halve(size):
    means = np.zeros(4)
    squares = 0.0
    for signs in itertools.product([1, -1], repeat=4):
        taken = scipy.special.expit(size * np.array(signs))
        weights = taken * np.cumprod(np.append(1, 1 - taken[:-1]))
        means += weights / 16
        squares += np.sum(weights**2) / 16
    assert means == pytest.approx([stick_breaking.mean_weight(i) for i in (1, 2, 3, 4)])
    m = np.mean(scipy.special.expit(size * np.array([1, -1])) ** 2)
    assert squares == pytest.approx(sum(m**i for i in (1, 2, 3, 4)))


def test_the_participation_is_a_third_without_spread_and_nears_one():
    assert stick_breaking.participation(60, 0.0) == pytest.approx(1 / 3)
    assert stick_breaking.participation(3, 0.0) == pytest.approx(1 / 4 + 1 / 16 + 1 / 64)
    assert 0.97 < stick_breaking.participation(500, 100.0) < 1


def test_the_mean_square_is_that_of_gauss_hermite_where_that_is_fine():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    square = weights @ scipy.special.expit(0.5 * nodes) ** 2 / weights.sum()
    assert stick_breaking.mean_square(0.5) == pytest.approx(square, rel=1e-10)
