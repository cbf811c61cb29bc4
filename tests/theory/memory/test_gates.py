"""Forget gates against draws and known values, and the rank of a head."""

import numpy as np
import pytest

from attnlab_theory.theory.memory import gates


@pytest.mark.parametrize("theta", [0.5, 1.0, 4.0])
def test_the_newest_weight_is_that_of_drawn_gates(theta):
    rng = np.random.default_rng(1)
    drawn = rng.beta(theta, 1, (20_000, 80))
    weights = 1 / (1 + np.cumprod(drawn, axis=1).sum(axis=1))
    error = np.std(weights) / np.sqrt(len(weights))
    assert gates.newest_weight(theta) == pytest.approx(np.mean(weights), abs=5 * error)


def test_gates_of_nothing_leave_all_and_even_gates_a_known_constant():
    """At theta = 1 the integrand is the derivative of u e^(-Ein(u)), which tends to e^-gamma."""
    assert gates.newest_weight(1e-9) == pytest.approx(1, abs=1e-6)
    assert gates.newest_weight(1.0) == pytest.approx(np.exp(-np.euler_gamma), abs=1e-8)


def test_gates_that_vary_leave_the_newest_more_than_their_mean():
    for theta in (0.3, 1.0, 3.0, 9.0):
        assert gates.newest_weight(theta) > gates.newest_weight_of_the_mean(theta)


def test_the_rest_of_the_sum_is_a_geometric_series():
    ratio = 0.75
    assert gates.left_out(3.0, 5) == pytest.approx(sum(ratio**m for m in range(5, 400)))


def test_a_head_has_no_more_dimensions_than_it_has_columns():
    assert (gates.rank_of_a_head(40, 4, 32), gates.rank_of_a_head(3, 4, 32)) == (4, 3)
