"""Chances and counts of rotary positions, against draws and against the angles themselves."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.positions.rotary import frequencies
from attnlab_theory.theory.recency import rotary


def turned(x, distance, base):
    """The pairs of x as complex numbers, turned."""
    return x * np.exp(-1j * distance * frequencies(2 * x.shape[-1], base))


def test_two_drawn_keys_win_as_often_as_predicted():
    rng, d, mean = np.random.default_rng(0), 8, 2.0
    u = np.full(d // 2, math.sqrt(2 / d), complex)
    noise = rng.standard_normal((2, 40_000, d // 2, 2)) @ np.array([1, 1j])
    scores = [np.real(turned(mean * u + x, at, 100.0) @ np.conj(u)) for x, at in zip(noise, (2, 30), strict=True)]
    won = np.mean(scores[0] > scores[1])
    assert rotary.near_key_wins(d, mean, 2, 30, 100.0) == pytest.approx(float(won), abs=5 * 0.5 / 200)
    assert rotary.near_key_wins(d, 0.0, 2, 30, 100.0) == 0.5


def test_a_copy_at_no_distance_wins_by_one_and_at_the_first_bad_one_by_less_than_nothing():
    assert rotary.copy_wins(4, 0, 1e4) == pytest.approx(0.5 * math.erfc(-2 / math.sqrt(2)))
    first = rotary.first_distance_against(64, 1e4)
    assert rotary.copy_wins(64, first, 1e4) < 0.5 <= min(rotary.copy_wins(64, at, 1e4) for at in range(first))


@pytest.mark.parametrize(("d", "base", "length"), [(128, 1e4, 4096), (128, 5e5, 8192), (64, 1e4, 1000)])
def test_pairs_that_leave_are_counted_by_their_angles(d, base, length):
    s = 4.0
    trained = length * frequencies(d, base)
    now = s * length * frequencies(d, base * s ** (d / (d - 2)))
    leaves = (trained < 2 * math.pi) & (now > trained * (1 + 1e-12))
    assert rotary.pairs_that_leave(d, base, length) == leaves.sum()
    assert not leaves[-1]
    assert rotary.pairs_by_radians(d, base, length) == (trained[:-1] < 1).sum()


def test_the_slowest_pair_turns_by_a_right_angle_at_a_quarter_of_its_turn():
    assert rotary.quarter_turn(64, 1e4) * frequencies(64, 1e4)[-1] == pytest.approx(math.pi / 2)
