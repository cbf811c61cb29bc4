"""A key that is dropped, by numpy."""

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sinks import eviction


def test_the_output_moves_by_the_odds_of_the_key():
    chance = np.random.default_rng(0)
    values, scores = chance.standard_normal((6, 3)), np.array([1.5, 0, 0, 0, 0, 0])
    weights = scipy.special.softmax(scores)
    before, after = weights @ values, scipy.special.softmax(scores[1:]) @ values[1:]
    w = eviction.weight(6, 1.5)
    assert w == pytest.approx(weights[0])
    assert after - before == pytest.approx(eviction.movement(w) * (before - values[0]))
