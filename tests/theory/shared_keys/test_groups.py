"""What heads lose to a shared key, against a quadrature over normal numbers."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.shared_keys import groups


@pytest.mark.parametrize(("heads", "c"), [(2, 0.0), (2, 0.6), (3, 0.3)])
def test_mean_and_variance_are_integrals_over_one_entry(heads, c):
    """Six nodes integrate a polynomial of degree 4 in each normal number exactly."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    grid = np.array([*itertools.product(range(6), repeat=heads + 1)])
    chance = np.prod(weights[grid] / weights.sum(), axis=1)
    keys = np.sqrt(c) * nodes[grid[:, :1]] + np.sqrt(1 - c) * nodes[grid[:, 1:]]
    lost = np.mean((keys - keys.mean(axis=1, keepdims=True)) ** 2, axis=1)
    mean = chance @ lost
    assert groups.mean_key_loss(heads, c) == pytest.approx(mean, rel=1e-12)
    assert groups.mean_key_variance(heads, c, 1) == pytest.approx(chance @ lost**2 - mean**2, rel=1e-11)
    assert groups.first_key_loss(heads, c) == pytest.approx(chance @ np.mean((keys - keys[:, :1]) ** 2, axis=1))
