"""The noise of a difference, against sums over a few scores and against maps that are known."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.sharpness import difference


def by_a_grid(n: int, spread: float, rho: float) -> float:
    """The mean of sum alpha_i alpha'_i over two keys: it depends on two differences of scores, which are normal."""
    assert n == 2
    g = np.linspace(-8, 8, 641)
    density = np.exp(-(g[:, None] ** 2 - 2 * rho * g[:, None] * g + g**2) / (2 * (1 - rho**2)))
    share = 1 / (1 + np.exp(-(2**0.5) * spread * g))
    both = share[:, None] * share + (1 - share[:, None]) * (1 - share)
    return float(np.sum(density * both) / np.sum(density))


@pytest.mark.parametrize(("spread", "rho"), [(0.5, 0.3), (2.0, 0.8), (3.0, 0.0)])
def test_the_common_part_of_two_maps_over_two_keys_is_a_double_sum(spread, rho):
    assert difference.two_maps(2, spread, rho) == pytest.approx(by_a_grid(2, spread, rho), rel=1e-8)


def test_independent_maps_share_the_even_floor_and_equal_maps_everything():
    assert difference.two_maps(64, 2.0, 0.0) == pytest.approx(1 / 64, rel=1e-9)
    assert difference.two_maps(9, 1.5, 0.99) == pytest.approx(difference.one_map(9, 1.5), rel=0.02)


def test_the_noise_is_least_at_the_ratio_and_that_of_one_map_at_twice_it():
    lam = difference.largest_quiet_lambda(20, 2.0, 0.5)
    assert difference.noise(20, 2.0, lam, 0.5) == pytest.approx(difference.one_map(20, 2.0))
    around = [difference.noise(20, 2.0, lam / 2 + step, 0.5) for step in (-0.01, 0.0, 0.01)]
    assert around[1] == min(around)


def test_without_correlation_a_difference_is_quiet_only_for_small_lambda():
    assert difference.noise(64, 2.0, 0.8, 0.0) == pytest.approx(0.2386, abs=1e-4)
    assert difference.largest_quiet_lambda(64, 1.0, 0.0) == pytest.approx(0.805, abs=1e-3)
    assert difference.largest_quiet_lambda(64, 2.0, 0.95) > 1


def test_many_keys_follow_log_normal_calculus():
    for lam, rho in itertools.product((0.5, 1.0), (0.0, 0.6)):
        assert difference.noise(20_000, 1.0, lam, rho) == pytest.approx(
            difference.noise_of_many_keys(20_000, 1.0, lam, rho), rel=5e-3
        )
