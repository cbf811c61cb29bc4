"""Intervals from leaving out groups: how often families are covered, and what is refused."""

import math

import numpy as np
import pytest
import scipy.stats

from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import bands, ratio_bands, with_each_left_out

RUNS, ERROR_RATE = 400, 0.1
LIMIT = int(scipy.stats.binom.isf(1e-7, RUNS, ERROR_RATE))


def ratios(rng, groups=40, family=5):
    """Ratios of sums over groups, correlated over the family; their expectation is 2."""
    common = rng.exponential(size=(groups, 1))
    counts = 1 + rng.poisson(4, size=(groups, 1))
    totals = counts * (1 + 0.5 * common + 0.5 * rng.exponential(size=(groups, family)))
    sums = with_each_left_out(np.concatenate([totals, counts], axis=1))
    return sums[:, :-1] / sums[:, -1:]


def missed(found, truth):
    return bool(np.any((found.low > truth) | (found.high < truth)))


def test_families_are_covered_together():
    rng = np.random.default_rng(0)
    assert sum(missed(bands(ratios(rng), ERROR_RATE, draws=500), 2.0) for _ in range(RUNS)) <= LIMIT


@pytest.mark.parametrize("groups", [10, 37])
def test_means_have_the_bands_of_studentized_groups_drawn_anew(groups):
    """For means everything has a plain form: the standard error, and |t| of groups repeated as often as drawn."""
    values = np.random.default_rng(3).exponential(size=(groups, 2))
    replicates = np.concatenate(
        [np.mean(values, axis=0)[None], [np.mean(np.delete(values, at, axis=0), axis=0) for at in range(groups)]]
    )
    rng, largest = np.random.default_rng(5), []
    for times in rng.multinomial(groups, np.full(groups, 1 / groups), size=200):
        again = np.repeat(values, times, axis=0)
        error = np.std(again, axis=0, ddof=1) / math.sqrt(groups)
        largest.append(np.max(np.abs(np.mean(again, axis=0) - np.mean(values, axis=0)) / error))
    radius = sorted(largest)[180] * np.std(values, axis=0, ddof=1) / math.sqrt(groups)
    found = bands(replicates, ERROR_RATE, draws=200, seed=5)
    np.testing.assert_allclose(found.values, np.mean(values, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.high - found.values, radius, rtol=1e-9)
    np.testing.assert_allclose(found.values - found.low, radius, rtol=1e-9)


@pytest.mark.slow("bands of means, against groups drawn anew, stay inside")
def test_intervals_of_single_numbers_do_not_cover_the_family():
    """The test above can fail: families of independent numbers need wider intervals than one number."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(RUNS // 4):
        found = ratios(rng, family=20)
        alone = [bands(found[:, at], ERROR_RATE, draws=200) for at in range(20)]
        wrong += any(missed(each, 2.0) for each in alone)
    assert wrong > RUNS // 8


@pytest.mark.slow("ratios that are not positive, of which nothing is known, stay inside")
def test_ratios_of_few_squares_are_covered_by_their_logarithms_only():
    """Finds two kinds of bands for each of `RUNS` samples."""
    rng = np.random.default_rng(1)
    wrong = np.zeros(2, int)
    for _ in range(RUNS):
        predicted = rng.lognormal(size=(20, 3))
        squares = with_each_left_out(predicted * rng.normal(size=(20, 3)) ** 2)
        found = squares / with_each_left_out(predicted)
        wrong += [missed(of(found, ERROR_RATE, draws=500), 1.0) for of in (ratio_bands, bands)]
    assert wrong[0] <= LIMIT < wrong[1]


def test_nothing_is_known_of_a_ratio_that_is_not_positive():
    found = ratio_bands(np.stack([np.zeros(21), np.linspace(1, 1.01, 21), np.full(21, np.inf)], axis=1), 0.05)
    assert np.isnan(found.values).tolist() == [True, False, True]
    assert (found.low[0], found.high[0]) == (0.0, math.inf)
    assert 0.9 < found.low[1] < 1 < found.high[1] < 1.1


def test_a_number_that_no_group_moves_has_all_of_where_it_can_lie():
    replicates = np.stack([np.full(21, 0.3), np.linspace(0, 1, 21)], axis=1)
    found = bands(replicates, 0.05, within=Interval(0.0, 1.0))
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    assert np.isinf(bands(replicates, 0.05).high[0])


def test_of_a_number_that_one_group_moves_nearly_nothing_is_known():
    # Drawn anew, ten groups lack that one a third of the time: then nothing spreads, and |t| is as large as can be.
    found = bands(with_each_left_out(np.eye(10)[:, :1]) / 10, 0.05, within=Interval(-5.0, 5.0), draws=300)
    assert (found.low[0], found.high[0]) == (-5.0, 5.0)


def test_nan_is_known_to_be_unknown():
    replicates = np.stack([np.full(21, np.nan), np.linspace(0.4, 0.41, 21)], axis=1)
    found = bands(replicates, 0.05, within=Interval(0.0, 1.0))
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    assert found.low[1] > 0.0
    assert math.isnan(found.values[0])


@pytest.mark.parametrize("where", [0, 3])
def test_an_infinity_is_unknown_and_no_warning(where):
    replicates = np.array(ratios(np.random.default_rng(0), family=2))
    replicates[where, 0] = np.inf
    found, without = bands(replicates, 0.05), bands(replicates[:, 1:], 0.05)
    assert np.isnan(found.values[0]) == (where == 0)
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
    assert (found.low[1], found.high[1]) == (without.low[0], without.high[0])


def test_the_whole_comes_first_and_each_group_is_missing_once():
    sums = np.arange(20.0).reshape(10, 2)
    found = with_each_left_out(sums)
    np.testing.assert_array_equal(found[0], sums.sum(axis=0))
    np.testing.assert_array_equal(found[4], np.delete(sums, 3, axis=0).sum(axis=0))


def test_few_groups_and_wrong_error_rates_are_refused():
    with pytest.raises(ValueError, match="at least 10 sentences, or groups of them, not 3"):
        with_each_left_out(np.ones((3, 2)))
    with pytest.raises(ValueError, match="at least 10 sentences, or groups of them, not 3"):
        bands(np.ones(4), 0.05)
    with pytest.raises(ValueError, match="between 0 and 1, not 1"):
        bands(np.ones(21), 1.0)
