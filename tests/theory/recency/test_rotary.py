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


def test_a_turned_key_leads_by_what_its_neighbours_lack():
    scores = np.mean(np.cos(np.outer(np.arange(50) - 20, frequencies(16, 1e4))), axis=1)
    assert np.argmax(scores) == 20
    assert rotary.lead(16, 20, 50, 1e4) == pytest.approx(1 - np.sort(scores)[-2])
    assert rotary.lead(16, 0, 50, 1e4) == pytest.approx(rotary.neighbours_apart(16, 1e4))
    # In two dimensions the score returns after 710 tokens, which are nearly 113 turns.
    assert rotary.lead(2, 1000, 2048, 1e4) == pytest.approx(1 - math.cos(710), rel=1e-6)
    assert rotary.lead_of_the_first_pair() == pytest.approx(rotary.lead(2, 0, 3, 1e4))


def test_neighbours_come_nearer_as_their_angles_do():
    plain = rotary.neighbours_apart(128, 1e4)
    assert plain == pytest.approx(np.mean(1 - np.cos(frequencies(128, 1e4))))
    squeezed = np.mean(1 - np.cos(frequencies(128, 1e4) / 8))
    assert rotary.neighbours_apart_if_interpolated(128, 1e4, 8.0) == pytest.approx(squeezed)
    assert squeezed < plain / 50
    larger = frequencies(128, 1e4) * 8.0 ** (-2 * np.arange(64) / 126)
    assert rotary.neighbours_apart_by_ntk(128, 1e4, 8.0) == pytest.approx(np.mean(1 - np.cos(larger)))


def test_the_factor_of_yarn_is_that_of_its_paper():
    assert rotary.yarn_factor(math.e**10) == pytest.approx(2.0)
    assert rotary.yarn_factor(32.0) ** 2 == pytest.approx(1.8133, abs=1e-4)
