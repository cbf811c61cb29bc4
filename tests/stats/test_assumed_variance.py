"""An assumed variance is refuted where it is too small, and no oftener than stated where it is right."""

import math

import numpy as np
import pytest
import scipy.optimize

from attnlab_theory.stats import VarianceState, assumed_variance, variance_check
from attnlab_theory.stats.assumed_variance import _BETS

CONFIRMED, STRAINED, NOT_CHECKABLE = VarianceState.CONFIRMED, VarianceState.STRAINED, VarianceState.NOT_CHECKABLE


def laws(rng: np.random.Generator, n: int) -> dict[str, tuple[np.ndarray, float]]:
    """Draws of laws from light tails to heavy ones, with their variances."""
    g = rng.standard_normal(n)
    return {
        "coins": (rng.integers(0, 2, n).astype(float), 0.25),
        "normal": (5 + 3 * g, 9.0),
        "exponential": (rng.exponential(2.0, n), 4.0),
        "squares": (g**2, 2.0),
        "log-normal": (np.exp(0.7 * g), math.exp(0.49) * math.expm1(0.49)),
    }


LAWS = tuple(laws(np.random.default_rng(0), 2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("law", LAWS)
def test_a_right_variance_is_confirmed_and_half_of_it_is_strained(law, seed):
    draws, variance = laws(np.random.default_rng(seed), 2**14)[law]
    assert variance_check(draws, variance).state == CONFIRMED
    # 0.5 is on the border of what a right variance refutes: a formula that is halved is caught.
    assert variance_check(draws, 0.5 * variance).state == STRAINED


def test_a_variance_that_is_a_fifth_too_small_is_strained_by_enough_draws():
    draws = np.random.default_rng(0).standard_normal(2**14)
    assert variance_check(draws, 0.8).state == STRAINED
    assert variance_check(draws[:200], 0.8).state != STRAINED


def test_normal_draws_confirm_after_about_two_hundred_pairs():
    draws = np.random.default_rng(1).standard_normal(2**12)
    needed = next(n for n in range(2, draws.size, 2) if variance_check(draws[:n], 1.0).state == CONFIRMED)
    assert 50 < needed < 800


def test_draws_whose_tails_are_too_heavy_are_not_checkable():
    # The variance of exp(3 g) comes from draws that occur once in a million.
    draws = np.exp(3 * np.random.default_rng(0).standard_normal(2**14))
    assert variance_check(draws, math.exp(9) * math.expm1(9)).state == NOT_CHECKABLE


def test_a_generous_variance_is_not_checkable_and_the_sample_variance_says_so():
    draws = np.random.default_rng(0).standard_normal(2**14)
    found = variance_check(draws, 100.0)
    assert found.state == NOT_CHECKABLE
    assert found.sample == pytest.approx(1.0, rel=0.05)
    assert found.sample == pytest.approx(np.var(draws, ddof=1))


@pytest.mark.parametrize("law", LAWS)
def test_the_wealth_of_every_bet_is_no_more_than_one_on_average(law):
    """The supermartingale itself, on two pairs: Monte Carlo of its mean, under a right variance."""
    draws, variance = laws(np.random.default_rng(7), 2**20)[law]
    x = draws.reshape(-1, 4)
    halves = np.stack([(x[:, 0] - x[:, 1]) ** 2, (x[:, 2] - x[:, 3]) ** 2]) / (2 * variance)
    for bet in _BETS:
        wealth = np.prod(1 + bet * (halves - 1), axis=0)
        assert np.all(wealth >= 0)
        assert np.mean(wealth) <= 1 + 6 * np.std(wealth) / math.sqrt(wealth.size)


@pytest.mark.slow("right variances of a few samples, which are confirmed, stay inside")
def test_a_right_variance_is_strained_no_oftener_than_stated(monkeypatch):
    """Checks 2,000 samples, each at up to four sizes."""
    monkeypatch.setattr(assumed_variance, "ERROR_RATE", 0.05)
    rng = np.random.default_rng(3)
    strained = 0
    for _ in range(2000):
        draws = rng.exponential(1.0, 256)
        strained += any(variance_check(draws[:n], 1.0).state == STRAINED for n in (32, 64, 128, 256))
    assert strained <= 100 + 6 * math.sqrt(95)


@pytest.mark.parametrize("pairs", [8, 40])
@pytest.mark.parametrize("assumed", [1.0, 2.5])
def test_a_variance_is_strained_from_the_difference_on_that_makes_a_gambler_rich(pairs, assumed):
    # Every pair differs by the same number, so each wealth is a power. The mean of twelve must reach a million.
    def wealth(unit):
        return sum((1 + 2.0**-k * (unit**2 / 2 - 1)) ** pairs for k in range(1, 13)) / 12

    edge = scipy.optimize.brentq(lambda unit: wealth(unit) - 1e6, 1, 100, xtol=1e-12) * math.sqrt(assumed)
    for factor, state in ((1 - 1e-6, CONFIRMED), (1 + 1e-6, STRAINED)):
        assert variance_check(np.tile([7.0, 7.0 + factor * edge], pairs), assumed).state == state
    # And half of a variance is refuted from the root of a half of that difference on.
    for factor, state in ((1 - 1e-6, NOT_CHECKABLE), (1 + 1e-6, CONFIRMED)):
        assert variance_check(np.tile([7.0, 7.0 + math.sqrt(0.5) * factor * edge], pairs), assumed).state == state


def test_few_draws_decide_nothing():
    assert variance_check(np.array([3.0]), 1.0).state == NOT_CHECKABLE
    assert variance_check(np.array([3.0]), 1.0).sample == 0.0
    assert variance_check(np.array([3.0, 3.5, 4.0]), 1.0).state == NOT_CHECKABLE


def test_enormous_draws_overflow_nothing():
    draws = 1e200 * np.random.default_rng(0).standard_normal(1024)
    with np.errstate(over="raise"):
        found = variance_check(draws, 1e300)
    assert found.state == STRAINED
    assert found.sample == math.inf


@pytest.mark.parametrize("assumed", [0.0, -1.0, math.nan, math.inf])
def test_a_variance_that_is_none_is_refused(assumed):
    with pytest.raises(ValueError, match="assumed variance"):
        variance_check(np.zeros(4), assumed)
