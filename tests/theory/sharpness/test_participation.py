"""How many keys share the weight, at two keys and in limits."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sharpness import participation


def test_over_two_keys_both_are_means_over_one_difference_of_scores():
    g = np.linspace(-9, 9, 2001)
    chances = np.exp(-g * g / 2) / np.sum(np.exp(-g * g / 2))
    share = scipy.special.expit(2**0.5 * 1.5 * g)
    assert participation.participation(2, 1.5) == pytest.approx(chances @ (share**2 + (1 - share) ** 2), rel=1e-9)
    entropies = scipy.special.entr(share) + scipy.special.entr(1 - share)
    assert participation.entropy(2, 1.5) == pytest.approx(chances @ entropies, rel=1e-9)


def test_without_spread_all_keys_share():
    assert participation.participation(7, 0.0) == pytest.approx(1 / 7)
    assert participation.entropy(7, 0.0) == pytest.approx(math.log(7))


def test_log_normal_calculus_is_right_for_very_many_keys_alone():
    n = 10**6
    assert participation.log_normal_participation(n, 1.0) == pytest.approx(
        participation.participation(n, 1.0), rel=1e-3
    )
    assert participation.log_normal_entropy(n, 1.0) == pytest.approx(participation.entropy(n, 1.0), abs=1e-3)
    assert participation.log_normal_participation(64, 3.0) == 1
    assert participation.participation(64, 2.0) < 0.2 * participation.log_normal_participation(64, 2.0)
