"""What searches are worth: equal to the mean over every subset, and known where the accuracies are."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from attnlab_theory.labs.reviews.optimism import best_of, curves, expected_best, expected_optimism, optimism

ACCURACIES = hnp.arrays(float, 6, elements=st.sampled_from([0.5, 0.6, 0.75, 0.9]))
ROUNDING = 1e-12


def over_every_subset(validation, test, n):
    """The best and the winner's gap, of all subsets, equal trials winning in turn."""
    bests, gaps = [], []
    for subset in map(list, itertools.combinations(range(len(validation)), n)):
        top = validation[subset].max()
        bests.append(top)
        gaps.append(np.mean([validation[i] - test[i] for i in subset if validation[i] == top]))
    return np.mean(bests), np.mean(gaps) - np.mean(validation - test)


@pytest.mark.slow("closed forms where trials are equally good stay inside")
@given(ACCURACIES, ACCURACIES, st.integers(1, 6))
def test_the_closed_forms_are_the_means_over_every_subset(validation, test, n):
    best, lucky = over_every_subset(validation, test, n)
    assert best_of(validation, n) == pytest.approx(best, abs=ROUNDING)
    assert optimism(validation, test, n) == pytest.approx(lucky, abs=ROUNDING)


@given(ACCURACIES, st.floats(-0.2, 0.2))
def test_sets_of_other_difficulty_are_no_optimism(validation, harder):
    for n in (1, 2, 3):
        assert optimism(validation, validation - harder, n) == pytest.approx(0, abs=ROUNDING)


@given(ACCURACIES)
def test_where_trials_are_equally_good_all_that_is_won_is_optimism(validation):
    won = best_of(validation, 3) - validation.mean()
    assert optimism(validation, np.full(6, 0.7), 3) == pytest.approx(won, abs=ROUNDING)


@pytest.mark.slow("closed forms where trials are equally good stay inside")
@given(ACCURACIES)
def test_the_estimate_is_the_statistic_itself_and_its_curve_ends_at_half_of_the_trials(validation):
    found = curves(validation, np.full(6, 0.7), 0.05).of("best of n")
    assert [each.setting["n"] for each in found] == [1, 2, 3]
    for each in found:
        assert each.value == pytest.approx(best_of(validation, each.setting["n"]), abs=1e-9)
        assert each.interval.low <= each.value + 1e-9


@pytest.mark.slow("the closed form where trials are equally good stays inside")
def test_the_intervals_cover_the_best_of_n_as_often_as_they_say():
    """A sign test: were the coverage 95 %, so few hits would be rarer than one in a million."""
    rng, runs, n = np.random.default_rng(0), 400, 5
    truth = 0.5 + 0.01 * stats.norm.expect(lambda x: x * n * stats.norm.cdf(x) ** (n - 1))
    hits = 0
    for _ in range(runs):
        found = expected_best(0.5 + 0.01 * rng.normal(size=20), n, 0.05)
        hits += found.interval.low <= truth <= found.interval.high
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-6


@pytest.mark.slow("intervals that are cut to what is possible stay inside")
@given(ACCURACIES)
def test_no_accuracy_is_expected_beyond_all_right_or_all_wrong(validation):
    for each in curves(np.where(validation == 0.5, 0.0, 1.0), validation, 0.05).of("best of n"):
        assert 0 <= each.interval.low <= each.value + 1e-9
        assert each.value - 1e-9 <= each.interval.high <= 1


@pytest.mark.slow("sets of other difficulty, which are no optimism, stay inside")
def test_the_optimism_of_noise_is_found_and_none_is_found_without():
    """Finds the intervals of 300 searches twice."""
    rng, runs, n, noise = np.random.default_rng(1), 300, 6, 0.01
    truth = noise * stats.norm.expect(lambda x: x * n * stats.norm.cdf(x) ** (n - 1))
    noisy, clean = [], []
    for _ in range(runs):
        quality = np.full(24, 0.9)
        test = quality + noise * rng.normal(size=24)
        found = expected_optimism(quality + noise * rng.normal(size=24), test, n, 0.05)
        noisy.append(found.interval.low <= truth <= found.interval.high)
        # Qualities differ and nothing is noise but the test.
        spread = quality + noise * rng.normal(size=24)
        found = expected_optimism(spread, spread + noise * rng.normal(size=24), n, 0.05)
        clean.append(found.interval.low <= 0 <= found.interval.high)
    assert stats.binom.cdf(sum(noisy), runs, 0.95) > 1e-6
    assert stats.binom.cdf(sum(clean), runs, 0.95) > 1e-6


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: curves(np.zeros(3), np.zeros(3), 0.05), "at least 4 finished trials, not 3"),
        (lambda: expected_best(np.zeros(6), 4, 0.05), "searches of up to 3, not of 4"),
        (lambda: best_of(np.zeros(3), 4), "a search of 4"),
        (lambda: best_of(np.array([0.1, np.nan]), 1), "validation must be finite"),
        (lambda: best_of(np.zeros(3), 0), "n must be"),
        (lambda: optimism(np.zeros(2), np.array([0.1, np.nan]), 1), "test must be finite"),
    ],
)
def test_what_is_no_search_is_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()
