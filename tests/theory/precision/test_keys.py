"""The largest entry of keys, drawn and in the limit; centroids and formats against drawn numbers."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.precision import centroids, formats, keys


def test_the_largest_of_two_normal_squares_is_known():
    # (max + min) / 2 of two squares has the mean 1, and half of their difference 2 / pi.
    assert keys.mean_power_of_largest(2, 0.0, 2) == pytest.approx(1 + 2 / math.pi, rel=1e-6)
    assert keys.mean_power_of_largest(1, 3.0, 2) == pytest.approx(10, rel=1e-6)
    assert keys.mean_power_of_largest(1, 3.0, 4) == pytest.approx(81 + 54 + 3, rel=1e-6)


def test_largest_entries_are_those_of_drawn_keys():
    drawn = np.random.default_rng(3).standard_normal((20_000, 8))
    drawn[:, 0] += 6.0
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((20_000, 8, 8)))[0]
    mixed = np.random.default_rng(5).choice([-1.0, 1.0], (20_000, 8)) * drawn @ (scipy.linalg.hadamard(8) / 8**0.5)
    cases = (
        (keys.largest_as_they_are, drawn),
        (keys.largest_if_rotated, np.einsum("nij,nj->ni", turn, drawn)),
        (keys.largest_if_mixed, mixed),
        (keys.largest_if_centred, drawn - 6.0 * np.eye(8)[0]),
    )
    for predicted, found in cases:
        for power in (2, 4):
            largest = np.max(np.abs(found), axis=1) ** power
            error = np.std(largest) / 20_000**0.5
            assert abs(np.mean(largest) - predicted(8, 6.0, power)) < 5 * error


def test_errors_are_even_in_a_step():
    chance = np.random.default_rng(6)
    x = chance.standard_normal((4000, 64))
    step = np.max(np.abs(x), axis=1, keepdims=True) / 31
    errors = np.sum((np.round(x / step) * step - x) ** 2, axis=1)
    square, fourth = (keys.mean_power_of_largest(64, 0.0, power) for power in (2, 4))
    assert np.mean(errors) == pytest.approx(keys.squared_error(64, 31, square), rel=0.02)
    assert np.var(errors) == pytest.approx(keys.squared_error_variance(64, 31, square, fourth), rel=0.2)
    # A largest entry that never varies: the variance of one squared even number in a step.
    assert keys.squared_error_variance(2, 1, 1.0, 1.0) == pytest.approx(1 / 12**2 * 0.8)
    assert keys.largest_of_many(64) == pytest.approx(8.318, abs=1e-3)


def test_one_bit_keeps_the_mean_size_of_a_number():
    assert centroids.normal_centroids(1) == pytest.approx([-((2 / math.pi) ** 0.5), (2 / math.pi) ** 0.5])
    size = math.gamma(32) / (math.sqrt(math.pi) * math.gamma(32.5))  # E|t| of a cosine in 64 dimensions
    assert centroids.kept_score(64, 1) == pytest.approx((2 / math.pi) ** 0.5 * 8 * size, rel=1e-5)
    inside = [centroids.kept_score(4096, bits) for bits in (1, 2, 3)]
    assert inside == pytest.approx([0.6366, 0.8825, 0.9655], abs=1e-3)


@pytest.mark.parametrize(
    ("sizes", "scale"),
    [
        (formats.E2M1, formats.power_of_two),
        (formats.E2M1, formats.by_sixth),
        (formats.E2M1, formats.by_rounded_sixth),
        (formats.WHOLE, formats.by_seventh),
    ],
)
def test_four_bits_err_as_drawn_groups_do(sizes, scale):
    x = np.abs(np.random.default_rng(7).standard_normal((20_000, 16)))
    by, grid = scale(x.max(axis=1))[:, None], np.array(sizes)
    nearest = by * grid[np.argmin(np.abs((x / by)[:, :, None] - grid), axis=2)]
    errors = np.mean((nearest - x) ** 2, axis=1)
    mean, variance = formats.error_moments(sizes, scale, 16)
    assert abs(np.mean(errors) - mean) < 5 * np.std(errors) / 20_000**0.5
    assert np.var(errors) == pytest.approx(variance, rel=0.1)


def test_what_all_is_rounded_to_zero_errs_by_its_whole_variance():
    """Beside an entry of 64 the step is nine, so whole numbers keep nothing of the others, tails included."""
    mean, variance = formats.error_moments(formats.WHOLE, formats.by_seventh, 256, 64.0)
    assert mean == pytest.approx(255 / 256, rel=1e-4)
    assert variance == pytest.approx(2 * 255 / 256**2, rel=2e-3)


def test_an_offset_turns_the_order_round_as_drawn_groups_do():
    x = np.abs(np.random.default_rng(8).standard_normal((20_000, 16)) + 10.0 * np.eye(16)[0])
    for sizes, scale in ((formats.E2M1, formats.power_of_two), (formats.WHOLE, formats.by_seventh)):
        by, grid = scale(x.max(axis=1))[:, None], np.array(sizes)
        nearest = by * grid[np.argmin(np.abs((x / by)[:, :, None] - grid), axis=2)]
        errors = np.mean((nearest - x) ** 2, axis=1)
        mean, variance = formats.error_moments(sizes, scale, 16, 10.0)
        assert abs(np.mean(errors) - mean) < 5 * np.std(errors) / 20_000**0.5
        assert np.var(errors) == pytest.approx(variance, rel=0.1)
    assert formats.by_rounded_sixth(np.array([6.0, 6.2, 6.4, 96.0])).tolist() == [1.0, 1.0, 1.125, 16.0]


def test_a_mean_of_values_errs_by_its_squared_weights():
    one = keys.squared_error(32, 127, keys.largest_if_centred(32, 0.0, 2))
    assert keys.error_of_a_mean(32, 127, 0.25) == pytest.approx(one / 4)
    assert keys.error_of_a_mean_variance(32, 127) > one**2
