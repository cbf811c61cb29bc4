"""The mean of anything, to a wanted width, at a stated error rate."""

import math

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.claims import measure
from attnlab_theory.stats import bounded, exact, known_variance, proportion

CHUNK = 8


def coin(key):
    return jnp.asarray(jax.random.uniform(key) < 0.3, float)


def test_the_mean_lies_in_an_interval_of_the_wanted_width(subtests):
    for given in ({"bound": bound} for bound in (bounded(0.0, 1.0), proportion(), known_variance(0.21))):
        with subtests.test(str(given)):
            assert_measured(measure(coin, width=0.05, **given))
    assert_measured(measure(coin, width=0.05))


def assert_measured(found):
    assert found.is_narrow_enough
    assert found.interval.width <= 0.05
    assert found.interval.low <= 0.3 <= found.interval.high
    assert found.error_rate == 1e-3


def test_a_narrower_interval_takes_more_draws_and_the_same_seed_the_same():
    wide, narrow = (measure(coin, width=width, bound=proportion()) for width in (0.1, 0.01))
    assert narrow.draws > wide.draws
    assert measure(coin, width=0.1, bound=proportion()) == wide
    assert measure(coin, width=0.1, bound=proportion(), seed=1).interval != wide.interval


def test_intervals_miss_no_more_often_than_the_error_rate_says():
    """200 measurements at an error rate of 0.1 miss 20 times on average; 42 or more have a chance below 1e-6."""
    missed = 0
    for seed in range(200):
        found = measure(coin, width=0.3, bound=proportion(), error_rate=0.1, chunk=CHUNK, seed=seed)
        missed += not found.interval.low <= 0.3 <= found.interval.high
    assert missed < 42


def test_a_width_that_the_cap_does_not_reach_is_said():
    found = measure(coin, width=1e-6, bound=proportion(), max_draws=2**14)
    assert not found.is_narrow_enough
    assert found.draws <= 2**14
    assert "NOT as narrow as 1e-06" in str(found)


def test_without_a_bound_the_measurement_says_that_nothing_is_guaranteed():
    assert "no bound was given" in measure(coin, width=0.1).bound


def test_what_rounding_may_have_moved_is_part_of_the_interval():
    """All draws are 2048, and the mean is 2048.5."""
    found = measure(
        lambda key: 2048 + jnp.asarray(jax.random.uniform(key) < 0.5, jnp.float16),
        width=4.0,
        bound=known_variance(1e-4),
    )
    assert found.is_narrow_enough
    assert found.interval.low < 2048.5 < found.interval.high


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"width": 0.0}, "width must be positive, not 0.0"),
        ({"width": math.nan}, "width must be positive"),
        ({"error_rate": 0.0}, "error_rate must lie between 0 and 1, not 0.0"),
        ({"error_rate": 1.0}, "error_rate must lie between 0 and 1, not 1.0"),
        ({"bound": exact(0.1)}, "an exact number is no mean of draws"),
        ({"max_draws": 100}, "max_draws is 100, but a block holds 8192"),
        ({"draw": lambda key: jnp.zeros(2)}, r"drew an array of shape \(2,\), not one number"),
        ({"draw": lambda key: jnp.asarray(jnp.nan)}, "not finite"),
        ({"draw": lambda key: jnp.asarray(2.0), "bound": proportion()}, "neither 0 nor 1"),
        (
            {"draw": lambda key: 2048 + jnp.asarray(jax.random.uniform(key) < 0.5, jnp.float16)},
            "drew numbers up to 2048 in float16, .* may move their mean by 1, and 0.1 is to be resolved",
        ),
        (
            {"draw": lambda key: jnp.asarray(1.0), "bound": proportion()},
            "the draw gives the same number for every key",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(changes, said):
    arguments = {"draw": coin, "width": 0.1} | changes
    with pytest.raises(ValueError, match=said):
        measure(arguments.pop("draw"), **arguments)
