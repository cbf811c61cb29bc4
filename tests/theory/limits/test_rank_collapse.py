"""The collapse of tokens: its order, and random tokens that never break the bound."""

import math

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


@pytest.mark.parametrize("seed", range(4))
def test_values_of_any_norm_scale_the_bound(seed):
    rng = np.random.default_rng(seed)
    form, values = rng.standard_normal((2, 3, 3))
    x = rng.standard_normal((7, 3))
    mixed = scipy.special.softmax(x @ form @ x.T, axis=1) @ x @ values.T
    norms = np.linalg.norm(form, 2), np.linalg.norm(values, 2)
    assert diameter(mixed) <= rank_collapse.next_diameter(diameter(x), norms[0], values=norms[1])
    assert diameter(x + mixed) >= rank_collapse.least_with_skip(diameter(x), norms[0], values=norms[1])
    assert rank_collapse.diameter_after(2, 0.5, 1.0, values=2.0) == rank_collapse.next_diameter(
        rank_collapse.next_diameter(0.5, 1.0, values=2.0), 1.0, values=2.0
    )


def test_the_error_of_the_cubic_law_is_a_mean_of_growths():
    tilts = (np.arange(100_000) + 0.5) / 100_000
    assert rank_collapse.cubing_error(1.5, 0.7) == pytest.approx(np.mean(np.expm1(0.7 * 1.5**2 * tilts)), rel=1e-9)
    small = 1e-2
    assert rank_collapse.cubing_error(small, 2.0) == pytest.approx(small**2, rel=small**2)


@pytest.mark.parametrize("size", [0.1, 1.0])
def test_covariances_under_tilted_weights_stay_within_the_error(size):
    """The mean of a skewed law of two values under a tilt: how far it is from the first order."""
    values, weights = np.array([0.0, size]), np.array([0.9, 0.1])
    variance = size**2 * 0.09
    tilted = weights * np.exp(size * values)
    moved = tilted @ values / np.sum(tilted) - weights @ values
    assert abs(moved - variance * size) <= rank_collapse.cubing_error(size, 1.0) * variance * size
    assert abs(moved - variance * size) > 0.4 * rank_collapse.cubing_error(size, 1.0) * variance * size


def test_the_band_around_three_is_that_of_the_document():
    assert rank_collapse.tripling_band(3, 2.0, 16, 4) == math.inf
    assert rank_collapse.tripling_band(8, 2.0, 16, 4) == pytest.approx(0.035, abs=5e-4)
    assert rank_collapse.tripling_band(8, 2.0, 3, 4) == pytest.approx(0.011, abs=5e-4)
    # Every further layer takes three times as much off.
    later, latest = (rank_collapse.tripling_band(layers, 2.0, 16, 4) for layers in (8, 9))
    assert later / latest == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_the_exponents_of_random_tokens_grow_within_the_band(seed):
    """In double precision, while it lasts: the first layers at which the band is finite."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3, 2))
    x -= np.mean(x, axis=0)
    x *= 1.0 / max(np.linalg.norm(a - b) for a in x for b in x)
    logs = [0.0]
    for _ in range(3):
        weights = np.exp(x @ x.T)
        x = weights / np.sum(weights, axis=1, keepdims=True) @ x
        logs.append(math.log(max(np.linalg.norm(a - b) for a in x for b in x)))
    growth = (logs[3] - logs[2]) / (logs[2] - logs[1])
    band = rank_collapse.tripling_band(3, 1.0, 3, 2)
    assert math.isfinite(band)
    assert abs(growth - 3) <= band
