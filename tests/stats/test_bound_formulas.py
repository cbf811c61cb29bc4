"""The bounds against the formulas they are named after, written plainly or summed term by term."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from attnlab_theory.stats import bounded, known_variance, paired, proportion, student
from tests.stats import laws
from tests.stats.laws import beta, coin, gauss, log_normal, uniform


def plain_betting(draws: np.ndarray, error_rate: float) -> tuple[float, float]:
    """Centre and radius on [0, 1] by theorem 2 of Waudby-Smith and Ramdas, one draw after another."""
    n, log = len(draws), math.log(2 / error_rate)
    total, squares = 0.5, 0.25
    bets = weighted = costs = 0.0
    for t, x in enumerate(draws, start=1):
        guess, variance = total / t, squares / t
        bet = min(math.sqrt(2 * log / (n * variance)), 0.5)
        bets += bet
        weighted += bet * x
        costs += 4 * (x - guess) ** 2 * (-math.log(1 - bet) - bet) / 4
        total += x
        squares += (x - total / (t + 1)) ** 2
    return weighted / bets, (log + costs) / bets


@pytest.mark.parametrize("law", [coin(0.3), beta(0.2, 1.0), uniform(0.4, 0.6)])
@pytest.mark.parametrize("error_rate", [0.1, 1e-8])
def test_bounded_is_the_predictable_plug_in_interval(law, error_rate):
    draws = law.sample(np.random.default_rng(5), 3000)
    centre, radius = plain_betting(draws, error_rate)
    interval = bounded(0.0, 1.0).interval(draws, error_rate)
    # Both sum 3000 numbers of [0, 1] in float64: n eps, and as much again for the other terms.
    slack = 4 * draws.size * float(np.finfo(float).eps)
    assert abs(interval.low - max(0.0, centre - radius)) < slack
    assert abs(interval.high - min(1.0, centre + radius)) < slack


@pytest.mark.parametrize("p", np.linspace(0.001, 0.999, 37))
def test_proportion_covers_by_enumeration(p):
    n, bound = 20, proportion()
    covered = 0.0
    for successes in range(n + 1):
        interval = bound.interval(np.repeat([1.0, 0.0], [successes, n - successes]), 0.1)
        covered += scipy.stats.binom.pmf(successes, n, p) if interval.low <= p <= interval.high else 0.0
    assert covered >= 0.9


@pytest.mark.parametrize("gains", [0.0, 0.03, 0.3, 0.6])
@pytest.mark.parametrize("losses", [0.0, 0.03, 0.3])
def test_paired_covers_by_enumeration(gains, losses):
    n, law = 15, scipy.stats.multinomial(15, [gains, losses, 1 - gains - losses])
    covered = 0.0
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            interval = paired().interval(np.repeat([1, -1, 0], [gained, lost, n - gained - lost]), 0.1)
            inside = interval.low <= gains - losses <= interval.high
            covered += law.pmf([gained, lost, n - gained - lost]) if inside else 0.0
    assert covered >= 0.9


@pytest.mark.parametrize(("gained", "lost"), [(6, 0), (4, 3), (0, 11)])
def test_paired_gives_half_of_the_error_rate_to_either_sign(gained, lost):
    n, rate = 20, 0.1
    more, less = (
        scipy.stats.binomtest(count, n).proportion_ci(1 - rate / 2, method="exact") for count in (gained, lost)
    )
    interval = paired().interval(np.repeat([1, -1, 0], [gained, lost, n - gained - lost]), rate)
    assert math.isclose(interval.low, more.low - less.high, rel_tol=1e-9)
    assert math.isclose(interval.high, more.high - less.low, rel_tol=1e-9)


def test_student_is_the_t_interval():
    draws = np.array([0.867, 0.933, 0.9])
    interval = student("three seeds").interval(draws, 0.05)
    wanted = scipy.stats.t.interval(0.95, 2, np.mean(draws), scipy.stats.sem(draws))
    assert all(map(math.isclose, (interval.low, interval.high), wanted))


@pytest.mark.parametrize("n", [1, 5, 2**21])
@pytest.mark.parametrize("error_rate", [0.1, 1e-10])
def test_proportion_of_none_and_of_all_has_a_closed_form(n, error_rate):
    end = -math.expm1(math.log(error_rate / 2) / n)
    none, every = (proportion().interval(np.full(n, draw), error_rate) for draw in (0.0, 1.0))
    assert (none.low, every.high) == (0.0, 1.0)
    assert math.isclose(none.high, end)
    assert math.isclose(1 - every.low, end, abs_tol=math.ulp(1.0))


@pytest.mark.parametrize("successes", [3, 10_000, 2**20])
def test_proportion_ends_put_half_the_error_in_either_tail_even_when_it_is_tiny(successes):
    n, error_rate = 2**21, 1e-10
    interval = proportion().interval(np.repeat([1.0, 0.0], [successes, n - successes]), error_rate)
    # Relative accuracy of scipy's binomial tail and of the inverse, both good to better than one in a million.
    tails = scipy.stats.binom.sf(successes - 1, n, interval.low), scipy.stats.binom.cdf(successes, n, interval.high)
    assert all(math.isclose(2 * tail / error_rate, 1, rel_tol=1e-6) for tail in tails)


def plain_catoni(draws: np.ndarray, variance: float, error_rate: float) -> tuple[float, float]:
    """Centre and radius by Catoni's own formulas, nothing rearranged."""
    n, epsilon = draws.size, error_rate / 2
    eta = math.sqrt(2 * variance * math.log(1 / epsilon) / (n - 2 * math.log(1 / epsilon)))
    spread = variance + 2 * variance * math.log(1 / epsilon) / (n - 2 * math.log(1 / epsilon))
    alpha = math.sqrt(2 * math.log(1 / epsilon) / (n * spread))

    def total(theta):
        x = alpha * (draws - theta)
        return float(np.sum(np.where(x >= 0, np.log1p(x + x * x / 2), -np.log1p(-x + x * x / 2))))

    return scipy.optimize.brentq(total, draws.min(), draws.max(), xtol=1e-9 * eta), eta


def test_known_variance_is_catonis_estimator(subtests):
    # `known_variance` finds the root to a millionth of the radius, which it adds to the radius.
    for law in (gauss(1e3, 1.0), log_normal(2.0), laws.student(2.1), coin(0.005, 0.0, 1e4)):
        draws = law.sample(np.random.default_rng(1), 5000)
        for error_rate in (0.1, 1e-8):
            with subtests.test(f"{law}, {error_rate}"):
                centre, eta = plain_catoni(draws, law.variance, error_rate)
                interval = known_variance(law.variance).interval(draws, error_rate)
                assert abs(interval.centre - centre) <= 2e-6 * eta
                assert eta <= interval.width / 2 <= eta * (1 + 2e-6)


def test_known_variance_counts_every_draw_once_where_there_are_more_than_fit_a_piece():
    # Two and a half pieces of 2^14 draws, each of another law.
    rng = np.random.default_rng(2)
    draws = np.concatenate([rng.normal(mean, 1.0, 2**13) for mean in (0.0, 1.0, 5.0, -2.0, 9.0)])
    centre, eta = plain_catoni(draws, 20.0, 0.1)
    assert abs(known_variance(20.0).interval(draws, 0.1).centre - centre) <= 2e-6 * eta
