"""The collapse of tokens: its order, and random tokens that never break the bound."""

import numpy as np
import pytest
import scipy.spatial
import scipy.special

from attnlab_theory.theory.limits import rank_collapse


def diameter(x):
    return np.max(scipy.spatial.distance.pdist(x))


@pytest.mark.parametrize("seed", range(5))
def test_no_layer_leaves_more_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    form = rng.standard_normal((3, 3))
    strength = np.linalg.norm(form, 2)
    for scale in (0.1, 0.5, 1.0, 3.0):
        x = scale * rng.standard_normal((2 + 4 * seed, 3))
        mixed = scipy.special.softmax(x @ form @ x.T, axis=1) @ x
        assert diameter(mixed) <= rank_collapse.next_diameter(diameter(x), strength)
        assert diameter(x + mixed) >= rank_collapse.least_with_skip(diameter(x), strength)


def test_two_opposite_tokens_attain_it():
    x = np.array([[0.7], [-0.7]])
    mixed = scipy.special.softmax(2.0 * x @ x.T, axis=1) @ x
    assert diameter(mixed) == pytest.approx(rank_collapse.next_diameter(1.4, 2.0), rel=16 * np.finfo(float).eps)


def test_small_distances_are_cubed_and_with_a_skip_kept():
    # tanh(x) = x - x^3 / 3: relative error below x^2 = (d^2 / 4)^2.
    small = 1e-2
    assert rank_collapse.next_diameter(small, 1.0) == pytest.approx(small**3 / 4, rel=small**4 / 16)
    assert rank_collapse.least_with_skip(small, 1.0) > 0.9999 * small
    assert rank_collapse.two_with_skip_after(5, small, 1.0) > small


def test_no_layer_changes_nothing_and_layers_compose():
    assert rank_collapse.diameter_after(0, 1.7, 1.0) == 1.7
    assert rank_collapse.diameter_after(3, 1.7, 1.0) == rank_collapse.next_diameter(
        rank_collapse.diameter_after(2, 1.7, 1.0), 1.0
    )
