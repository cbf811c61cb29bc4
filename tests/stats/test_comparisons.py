"""Comparisons of two samples: against scipy, by enumeration, and in samples drawn with a fixed seed."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from attnlab_theory.stats.comparisons import auroc, auroc_interval, discordant_odds, mcnemar, permutation_test
from tests.tolerances import misses_allowed

ERROR_RATE = 0.1
FALSE_ALARM = 1e-6 / 10
"""Fewer than ten counts of misses in this file."""


def pairs(only_first: int, only_second: int, both: int = 3, neither: int = 2):
    counts = [only_first, only_second, both, neither]
    return np.repeat([True, False, True, False], counts), np.repeat([False, True, True, False], counts)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 49), (3, 12), (12, 3), (5, 5), (1, 0)])
def test_mcnemar_is_the_two_sided_binomial_test_of_the_discordant_pairs(only_first, only_second):
    wanted = scipy.stats.binomtest(only_first, only_first + only_second).pvalue
    assert math.isclose(mcnemar(*pairs(only_first, only_second)), wanted, rel_tol=1e-9)


def test_where_no_pair_is_discordant_nothing_is_known():
    assert mcnemar(*pairs(0, 0)) == 1
    interval = discordant_odds(*pairs(0, 0), ERROR_RATE)
    assert (interval.low, interval.high) == (0, math.inf)


@pytest.mark.parametrize("only_second", [0, 3])
@pytest.mark.parametrize("error_rate", [0.0, 7.0, math.nan])
def test_an_error_rate_that_is_none_is_refused_with_and_without_discordant_pairs(only_second, error_rate):
    with pytest.raises(ValueError, match=f"error_rate must lie between 0 and 1, not {error_rate}"):
        discordant_odds(*pairs(0, only_second), error_rate)


def test_the_odds_of_discordant_pairs_include_one_exactly_where_mcnemar_does_not_reject():
    for only_first in range(12):
        for only_second in range(12):
            sample = pairs(only_first, only_second)
            odds = discordant_odds(*sample, ERROR_RATE)
            assert (odds.low <= 1 <= odds.high) == (mcnemar(*sample) > ERROR_RATE)


def test_all_pairs_discordant_one_way_bound_the_odds_from_one_side():
    # By hand: the share of the second is at least (e/2)^(1/n).
    share = (ERROR_RATE / 2) ** (1 / 8)
    odds = discordant_odds(*pairs(0, 8), ERROR_RATE)
    assert math.isclose(odds.low, share / (1 - share))
    assert odds.high == math.inf


def test_the_odds_of_discordant_pairs_cover_by_enumeration(subtests):
    n = 14
    intervals = [discordant_odds(*pairs(n - only_second, only_second), ERROR_RATE) for only_second in range(n + 1)]
    for odds in (0.05, 0.5, 1.0, 3.0, 40.0):
        with subtests.test(str(odds)):
            holds = [interval.low <= odds <= interval.high for interval in intervals]
            assert scipy.stats.binom.pmf(np.arange(n + 1), n, odds / (1 + odds)) @ holds >= 1 - ERROR_RATE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([True]), np.array([True, False])),
        (np.array([[True]]), np.array([[True]])),
        (np.array([1, 0]), np.array([1, 1])),
    ],
    ids=["lengths", "rank", "type"],
)
def test_pairs_that_are_none_are_refused(first, second):
    with pytest.raises(ValueError, match="two rows of truth values"):
        mcnemar(first, second)


@pytest.mark.parametrize("levels", [3, 10_000])
def test_auroc_is_the_statistic_of_mann_and_whitney(levels):
    rng = np.random.default_rng(1)
    higher, lower = rng.integers(1, levels + 1, 30), rng.integers(0, levels, 50)
    wanted = scipy.stats.mannwhitneyu(higher, lower).statistic / (30 * 50)
    assert math.isclose(auroc(higher, lower), wanted, rel_tol=1e-12)


def test_samples_that_never_overlap_have_an_interval_by_hand():
    # KL(1, p) = -ln p, and the smaller sample has four.
    interval = auroc_interval(np.arange(10, 14), np.arange(9), ERROR_RATE)
    assert math.isclose(interval.low, (ERROR_RATE / 2) ** (1 / 4))
    assert interval.high == 1


def test_the_interval_of_an_auroc_near_nought_begins_at_nought():
    # One pair of 1,600 is in order. The least chance under which that happens so often is too small for a float.
    lower = np.arange(40.0)
    higher = np.append(np.full(39, -1.0), 0.5)
    interval = auroc_interval(higher, lower, ERROR_RATE)
    assert interval.low == 0
    assert 1 / 1600 < interval.high < 0.1


def test_the_interval_of_auroc_mirrors_with_the_samples_and_holds_the_measured_one():
    rng = np.random.default_rng(2)
    one, other = rng.normal(0.7, 1, 20), rng.normal(0, 1, 31)
    here, there = auroc_interval(one, other, ERROR_RATE), auroc_interval(other, one, ERROR_RATE)
    assert math.isclose(here.low, 1 - there.high)
    assert math.isclose(here.high, 1 - there.low)
    assert here.low < auroc(one, other) < here.high


@pytest.mark.parametrize("sizes", [(4, 4), (8, 52)], ids=str)
@pytest.mark.parametrize("shift", [0.0, 1.5, 3.0])
def test_the_interval_of_auroc_covers_in_small_samples(shift, sizes):
    rng, repetitions, misses = np.random.default_rng(3), 200, 0
    truth = scipy.stats.norm.cdf(shift / math.sqrt(2))
    for _ in range(repetitions):
        interval = auroc_interval(rng.normal(shift, 1, sizes[0]), rng.normal(0, 1, sizes[1]), ERROR_RATE)
        misses += not interval.low <= truth <= interval.high
    assert misses <= misses_allowed(repetitions, ERROR_RATE, FALSE_ALARM)


def test_the_interval_of_auroc_covers_where_ties_are_common():
    # Coins of chances .3 and .6: P(higher) + P(tie)/2 = .6 * .7 + (.6 * .3 + .4 * .7) / 2.
    rng, repetitions, misses = np.random.default_rng(4), 200, 0
    for _ in range(repetitions):
        interval = auroc_interval(rng.random(7) < 0.6, rng.random(12) < 0.3, ERROR_RATE)
        misses += not interval.low <= 0.65 <= interval.high
    assert misses <= misses_allowed(repetitions, ERROR_RATE, FALSE_ALARM)


def test_the_interval_of_auroc_is_no_wider_than_twice_delongs_in_large_samples():
    # sqrt(2 ln(2/e)) / 1.645 = 1.49 for a bound by exponential moments; the rest for one sample of the two.
    rng, n = np.random.default_rng(5), 4000
    higher, lower = rng.normal(0, 1, n), rng.normal(0, 1, n)
    delong = 2 * scipy.stats.norm.isf(ERROR_RATE / 2) * math.sqrt(2 / (12 * n))
    assert auroc_interval(higher, lower, ERROR_RATE).width <= 2 * delong


@pytest.mark.parametrize(
    ("higher", "lower", "error_rate", "said"),
    [
        ([], [1.0], 0.1, "at least one number"),
        ([math.nan], [1.0], 0.1, "without NaN"),
        ([[1.0]], [1.0], 0.1, "two rows"),
        ([1.0], [1.0], 0.0, "not 0.0"),
        ([1.0, 2 + 1j], [1.0], 0.1, "real numbers are needed, not complex"),
    ],
    ids=["empty", "NaN", "rank", "rate", "complex"],
)
def test_samples_without_an_auroc_are_refused(higher, lower, error_rate, said):
    with pytest.raises(ValueError, match=said):
        auroc_interval(np.array(higher), np.array(lower), error_rate)


def first(labels):
    return labels[..., 0].astype(float)


def neighbours(labels):
    return np.mean(labels[..., 1:] == labels[..., :-1], axis=-1)


def test_a_shuffle_reaches_what_was_observed_as_often_as_can_be_counted():
    # The first of five labels is the highest or the next in two of five orders; the mean is theirs.
    shuffles = 5000
    found = permutation_test(first, np.array([3, 0, 1, 2, 4]), shuffles=shuffles)
    counts = (scipy.stats.binom.isf(1 - 1e-7, shuffles, 0.4), scipy.stats.binom.isf(1e-7, shuffles, 0.4))
    assert counts[0] <= found.reached <= counts[1]
    assert abs(found.mean - 2) < 6 * math.sqrt(2 / shuffles)
    assert found.p == (found.reached + 1) / (shuffles + 1)


def test_a_permutation_test_raises_no_more_false_alarms_than_it_says():
    rng, repetitions = np.random.default_rng(6), 200
    alarms = sum(
        permutation_test(neighbours, rng.integers(3, size=12), shuffles=99, seed=i).p <= ERROR_RATE
        for i in range(repetitions)
    )
    assert alarms <= misses_allowed(repetitions, ERROR_RATE, FALSE_ALARM)


def test_a_permutation_test_sees_labels_that_lie_in_runs():
    assert permutation_test(neighbours, np.repeat([0, 1, 2], 4), shuffles=999).p == 1 / 1000


def test_a_permutation_test_draws_the_orders_that_scipy_draws():
    labels = np.random.default_rng(1).integers(3, size=40)
    found = permutation_test(neighbours, labels, shuffles=999, seed=4)
    scipys = scipy.stats.permutation_test(
        (labels,),
        lambda given, axis: neighbours(given),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=999,
        alternative="greater",
        rng=np.random.default_rng(4),
    )
    assert (found.p, found.mean) == (scipys.pvalue, np.mean(scipys.null_distribution))


def test_ties_count_as_reached_whatever_the_order_of_their_sum():
    weights = np.array([0.1, 0.2, 0.3])
    # Every order of equal labels has the same sum, but for its last digits.
    found = permutation_test(lambda labels: labels @ weights, np.ones(3), shuffles=50)
    assert found.p == 1


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6, -1e6])
def test_ties_count_as_reached_however_large_the_statistic_and_of_either_sign(size):
    labels = size * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0])
    sums = {float(np.cumsum(labels[list(order)])[-1]) for order in itertools.permutations(range(5))}
    assert len(sums) > 1  # the order of a sum shows in its last digits
    assert permutation_test(lambda given: np.cumsum(given, axis=-1)[..., -1], labels, shuffles=200).p == 1


@pytest.mark.parametrize(
    ("labels", "shuffles", "statistic", "said"),
    [
        (np.zeros((2, 2)), 9, first, "shuffles a row"),
        (np.zeros(2), 0, first, "0 times"),
        (np.zeros(2), 9, lambda labels: np.nan, "labels as they are is NaN"),
        (np.arange(3), 9, lambda labels: np.where(labels[..., 0] == 0, 1.0, np.nan), "NaN for [1-9] of 9 shuffles"),
    ],
    ids=["rank", "none", "NaN", "NaN when shuffled"],
)
def test_what_cannot_be_shuffled_is_refused(labels, shuffles, statistic, said):
    with pytest.raises(ValueError, match=said):
        permutation_test(statistic, labels, shuffles=shuffles)
