"""A needle among few distractors, and in limits."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sharpness import needle


def test_beside_one_distractor_chance_and_weight_are_means_over_it():
    g = np.linspace(-9, 9, 2001)
    chances = np.exp(-g * g / 2) / np.sum(np.exp(-g * g / 2))
    assert needle.mean_weight(1, 1.2, 2.0) == pytest.approx(chances @ scipy.special.expit(2 * (1.2 - g)), rel=1e-9)
    assert needle.chance_on_top(1, 1.2) == pytest.approx(scipy.special.ndtr(1.2))
    assert needle.chance_on_top(3, 1.2) == pytest.approx(scipy.special.ndtr(1.2) ** 3)


def test_a_sharp_softmax_gives_the_needle_the_chance_to_be_on_top():
    assert needle.mean_weight(50, 2.0, 25.0) == pytest.approx(needle.chance_on_top(50, 2.0), abs=0.02)


def test_half_is_lost_at_that_many_keys():
    assert needle.chance_on_top(round(needle.keys_that_halve(3.0)), 3.0) == pytest.approx(0.5, abs=1e-3)


def test_the_mean_sum_has_a_best_strength_and_the_truth_has_none():
    strengths = (2.0, 3.0, 6.0, 12.0)
    said = [needle.weight_beside_the_mean_sum(1024, 3.0, strength) for strength in strengths]
    true = [needle.mean_weight(1024, 3.0, strength) for strength in strengths]
    assert max(said) == said[1]
    assert true == sorted(true)
    assert said[0] == pytest.approx(1 / (1 + 1024 * math.exp(-4)))
