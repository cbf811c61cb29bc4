"""Blind recall against every assignment of signs."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.sparse import synthesizers
from tests.tolerances import host_sum_atol


def accuracy(weights) -> float:
    """The chance that the sign of the weighted sum is that of a random one of its terms, by enumeration."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(weights))))
    return float(np.mean(np.sign(signs @ weights)[:, None] == signs))


@pytest.mark.parametrize("n", [1, 3, 5, 9])
def test_even_weights_reach_the_best_accuracy(n):
    assert synthesizers.blind_accuracy(n) == pytest.approx(accuracy(np.ones(n)))


@pytest.mark.parametrize("n", [3, 5, 9])
def test_no_weights_do_better(n):
    rng = np.random.default_rng(0)
    for power in (1, 3):
        for _ in range(16):
            assert accuracy(rng.standard_normal(n) ** power) <= synthesizers.blind_accuracy(n) + host_sum_atol(2**n)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_all_weight_on_one_place_is_right_there_and_else_on_a_coin(n):
    assert synthesizers.single_accuracy(n) == pytest.approx(accuracy(np.eye(n)[0]))


@pytest.mark.parametrize("n", [0, 2, -1])
def test_a_tie_has_no_majority(n):
    with pytest.raises(ValueError, match=f"odd number of voters, not {n}"):
        synthesizers.blind_accuracy(n)
