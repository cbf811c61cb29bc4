"""Caps and best weights against closed forms and brute force over queries."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from attnlab_theory.theory.selecting import selection
from tests.tolerances import entropy_programme_atol, simplex_search_atol


def test_a_midpoint_gets_a_third():
    assert selection.mixture_cap((0.5, 0.5)) == pytest.approx(1 / 3, rel=4 * np.finfo(float).eps)


def test_a_copy_gets_half():
    assert selection.mixture_cap((1.0, 0.0)) == 1 / 2


def test_the_centre_of_m_keys_gets_one_in_m_plus_one():
    assert selection.mixture_cap((0.2,) * 5) == pytest.approx(1 / 6, rel=8 * np.finfo(float).eps)


@pytest.mark.parametrize("mixture", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_the_cap_is_the_maximum_over_scores(mixture):
    shares = np.array(mixture)

    def negative(scores):
        return -scipy.special.softmax(np.append(scores, shares @ scores))[-1]

    found = scipy.optimize.minimize(negative, np.zeros(len(shares)), method="Nelder-Mead", tol=1e-12)
    assert -found.fun == pytest.approx(selection.mixture_cap(mixture), abs=simplex_search_atol(len(mixture)))


def test_the_ends_of_a_line_lack_ln_three_halves():
    keys = np.array([[-1.0], [0.0], [1.0]])
    divergence = selection.least_divergence(keys, np.array([0.5, 0, 0.5]))
    assert divergence == pytest.approx(math.log(3 / 2), abs=entropy_programme_atol(3))


def test_reachable_weights_lack_nothing():
    keys = np.random.default_rng(0).normal(size=(7, 3))
    weights = scipy.special.softmax(keys @ np.array([0.3, -1.2, 0.7]))
    assert selection.least_divergence(keys, weights) == pytest.approx(0, abs=entropy_programme_atol(7))


def test_the_dual_agrees_with_a_search_over_queries():
    rng = np.random.default_rng(1)
    keys, weights = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6))

    def divergence(query):
        return float(np.sum(weights * (np.log(weights) - scipy.special.log_softmax(keys @ query))))

    found = scipy.optimize.minimize(divergence, np.zeros(2), method="Nelder-Mead", tol=1e-12)
    assert selection.least_divergence(keys, weights) == pytest.approx(found.fun, abs=entropy_programme_atol(6))


def test_an_edge_is_fully_selectable_and_a_diagonal_half():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    assert selection.subset_fidelity(square, (0, 1)) == pytest.approx(1, abs=entropy_programme_atol(4))
    assert selection.subset_fidelity(square, (0, 2)) == pytest.approx(1 / 2, abs=entropy_programme_atol(4))
