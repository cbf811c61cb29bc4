"""Every bound covers where its assumption holds, and is not much wider than the best there is.

The laws are sampled with a fixed seed: the allowance is for the choice of it.
"""

import math
import subprocess
import sys
import warnings
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import scipy.stats

from attnlab_theory.stats import (
    Bound,
    Interval,
    bounded,
    exact,
    known_variance,
    normal,
    paired,
    proportion,
    same_law,
    student,
)
from tests.stats import laws
from tests.stats.laws import Law, beta, coin, gauss, log_normal, uniform
from tests.tolerances import misses_allowed

ERROR_RATE = 0.1
REPETITIONS = 1000
FALSE_ALARM = 1e-6 / 100
"""Fewer than a hundred cases in this file: together they raise a false alarm once in 1e6 seeds."""
SIZES = (2, 10, 100, 1000)


COVERED: dict[str, tuple[Callable[[Law], Bound], Law]] = {
    "bounded, fair coin": (lambda law: bounded(0.0, 1.0), coin(0.5)),
    "bounded, rare coin": (lambda law: bounded(0.0, 1.0), coin(0.003)),
    "bounded, nearly sure coin": (lambda law: bounded(0.0, 1.0), coin(0.99)),
    "bounded, skewed": (lambda law: bounded(0.0, 1.0), beta(0.05, 0.95)),
    "bounded, narrow": (lambda law: bounded(0.0, 1.0), uniform(0.7, 0.701)),
    "bounded, other ends": (lambda law: bounded(-3.0, 5.0), coin(0.2, -3, 5)),
    "proportion, fair": (lambda law: proportion(), coin(0.5)),
    "proportion, rare": (lambda law: proportion(), coin(0.003)),
    "proportion, nearly sure": (lambda law: proportion(), coin(0.97)),
    "student, normal": (lambda law: student("normal draws"), gauss(-3.0, 2.0)),
    "known variance, normal": (lambda law: known_variance(law.variance), gauss(-3.0, 2.0)),
    "known variance, student": (lambda law: known_variance(law.variance), laws.student(2.1)),
    "known variance, log-normal": (lambda law: known_variance(law.variance), log_normal(1.0)),
    "known variance, very skewed": (lambda law: known_variance(law.variance), log_normal(2.5)),
    "known variance, rare and large": (lambda law: known_variance(law.variance), coin(0.005, 0.0, 1e4)),
}


def intervals(bound: Bound, law: Law, n: int, repetitions: int = REPETITIONS, error_rate: float = ERROR_RATE):
    rows = law.sample(np.random.default_rng(20_240_817), (repetitions, n))
    return [bound.interval(row, error_rate) for row in rows]


def misses(bound: Bound, law: Law, n: int) -> int:
    return sum(not i.low <= law.mean <= i.high for i in intervals(bound, law, n))


@pytest.mark.slow("three of 60 members stay inside", but=3)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("case", COVERED)
def test_bound_covers_on_laws_that_meet_its_assumption(case, n):
    bound_for, law = COVERED[case]
    assert misses(bound_for(law), law, n) <= misses_allowed(REPETITIONS, ERROR_RATE, FALSE_ALARM)


def test_normal_covers_large_samples_of_normal_draws():
    law = gauss(5.0, 3.0)
    assert misses(normal("normal draws"), law, 1000) <= misses_allowed(REPETITIONS, ERROR_RATE, FALSE_ALARM)


@pytest.mark.parametrize(("sigma", "n"), [(2.0, 100), (2.0, 1000), (3.0, 1000)])
def test_normal_misses_on_log_normal_draws(sigma, n):
    # More misses than any bound of this error rate makes: why random features are judged by `known_variance`.
    missed = misses(normal("there is none"), log_normal(sigma), n)
    assert missed > misses_allowed(REPETITIONS, ERROR_RATE, FALSE_ALARM)


def best_width(law: Law, n: int, error_rate: float) -> float:
    """The width of the normal interval when sigma is known: no bound can be narrower on every large sample."""
    return 2 * float(scipy.stats.norm.isf(error_rate / 2)) * math.sqrt(law.variance / n)


@pytest.mark.parametrize("error_rate", [0.1, 1e-8])
@pytest.mark.parametrize(
    ("bound_for", "law"),
    [
        (lambda law: bounded(0.0, 1.0), coin(0.3)),
        (lambda law: bounded(0.0, 1.0), coin(0.01)),
        (lambda law: bounded(0.0, 1.0), beta(2, 20)),
        (lambda law: bounded(-3.0, 5.0), uniform(-3, 5)),
        (lambda law: proportion(), coin(0.3)),
        (lambda law: proportion(), coin(0.001)),
        (lambda law: known_variance(law.variance), gauss(7.0, 2.0)),
        (lambda law: known_variance(law.variance), log_normal(1.0)),
        (lambda law: normal("normal draws"), gauss(7.0, 2.0)),
    ],
)
def test_bound_is_no_wider_than_a_multiple_of_the_best(bound_for, law, error_rate):
    # sqrt(2 ln(2/e)), which every bound by exponential moments pays in the place of a normal quantile, is 1.49
    # of it at 0.1 and 1.06 at 1e-8. The rest is for what falls off faster than 1/sqrt(n).
    n = 2**17
    factor = 1.15 * math.sqrt(2 * math.log(2 / error_rate)) / float(scipy.stats.norm.isf(error_rate / 2))
    for interval in intervals(bound_for(law), law, n, 3, error_rate):
        assert interval.width <= factor * best_width(law, n, error_rate)


@pytest.mark.parametrize("error_rate", [0.1, 1e-8])
@pytest.mark.parametrize("law", [uniform(0.5, 0.5001), uniform(0.0, 1e-4), coin(1e-5)])
def test_bounded_is_narrow_where_the_variance_is_small(law, error_rate):
    # Draws that put a mass of ln(1/e)/n on the far end look the same with probability e: no bound that only
    # knows [0, 1] is narrower than that.
    n = 2**15
    best = best_width(law, n, error_rate) + math.log(1 / error_rate) / n
    for interval in intervals(bounded(0.0, 1.0), law, n, 3, error_rate):
        assert interval.width <= 6 * best


@pytest.mark.parametrize("drawn", [uniform(0.0, 1.0), beta(2, 5), coin(0.3)], ids=["uniform", "beta", "coin"])
@pytest.mark.parametrize("n", [50, 2000])
def test_the_distance_between_two_laws_is_covered_whether_they_agree_or_not(drawn, n):
    points = np.linspace(0.05, 0.95, 19)
    claimed = scipy.stats.beta(2, 5).cdf(points)
    true = {1 / 12: points, coin(0.3).variance: np.full(19, 0.7)}.get(drawn.variance, claimed)
    distance = np.max(np.abs(true - claimed))
    found = intervals(same_law(points, claimed), drawn, n)
    missed = sum(not i.low <= distance <= i.high for i in found)
    assert missed <= misses_allowed(REPETITIONS, ERROR_RATE, FALSE_ALARM)
    assert all(i.width <= 2.01 * math.sqrt(math.log(2 / ERROR_RATE) / (2 * n)) for i in found)


@pytest.mark.parametrize(
    ("points", "chances", "said"),
    [
        ([], [], "as many chances"),
        ([0.1, 0.2], [0.5], "as many chances"),
        ([0.2, 0.1], [0.1, 0.2], "must increase"),
        ([0.1, 0.2], [0.5, 0.4], "must lie"),
        ([[0.1, 0.2]], [[0.1, 0.2]], "as many chances"),
        ([0.1, 0.2], [0.5, 1.1], "must lie"),
        ([0.1, 0.2], [-0.1, 0.5], "must lie"),
        ([0.1, math.nan], [0.5, 0.6], "must increase"),
        ([0.1, 0.2], [0.5, math.nan], "must lie"),
    ],
)
def test_what_is_no_law_is_refused(points, chances, said):
    with pytest.raises(ValueError, match=said):
        same_law(points, chances)


def test_known_variance_says_nothing_from_too_few_draws():
    enough = math.floor(2 * math.log(2 / ERROR_RATE)) + 1
    assert known_variance(1.0).interval(np.zeros(enough - 1), ERROR_RATE).width == math.inf
    assert known_variance(1.0).interval(np.zeros(enough), ERROR_RATE).width < math.inf


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6, 1e-30])
@pytest.mark.parametrize("variance", [1e-20, 1.0, 1e20])
def test_known_variance_of_equal_draws_is_centred_on_them(value, variance):
    interval = known_variance(variance).interval(np.full(1000, value), ERROR_RATE)
    assert interval.low <= value <= interval.high
    assert abs(interval.centre - value) <= interval.width / 2 + math.ulp(value)


def test_one_huge_outlier_hardly_moves_known_variance(subtests):
    draws = np.random.default_rng(2).normal(size=2**15)
    clean = known_variance(1.0).interval(draws, 1e-8)
    for outlier in (1e6, 1e15, -1e150, 1e300):
        with subtests.test(str(outlier)):
            draws[0] = outlier
            moved = known_variance(1.0).interval(draws, 1e-8)
            # Its influence is at most 2 ln(1e100), against n * scale * radius, about 2 ln(2/e), for one radius.
            assert abs(moved.centre - clean.centre) < 2 * math.log(1e100) / (2 * math.log(2 / 1e-8)) * clean.width


@pytest.mark.parametrize("variance", [1e-300, 1e-100, 1e-12])
def test_a_variance_far_too_small_gives_an_interval_and_no_warning(variance):
    draws = np.random.default_rng(3).normal(size=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interval = known_variance(variance).interval(draws, ERROR_RATE)
    assert draws.min() <= interval.low <= interval.high <= draws.max()


@pytest.mark.parametrize(
    "bound", [bounded(-8.0, 9.0), known_variance(1.0), normal("normal draws")], ids=lambda b: b.name
)
def test_an_interval_moves_and_mirrors_with_the_draws(bound):
    # Powers of two change no digit of a draw, and mirroring none at all.
    draws = np.round(np.clip(np.random.default_rng(4).normal(size=500), -4, 4) * 2**20) / 2**20
    here, there = bound.interval(draws, ERROR_RATE), bound.interval(draws + 0.5, ERROR_RATE)
    slack = here.width * 1e-5
    assert abs(there.low - here.low - 0.5) < slack or bound.name == "bounded"
    mirrored = bounded(-9.0, 8.0) if bound.name == "bounded" else bound
    back = mirrored.interval(-draws, ERROR_RATE)
    assert abs(here.low + back.high) < slack
    assert abs(here.high + back.low) < slack


BY_SPREAD = [normal("many draws"), student("normal draws")]


@pytest.mark.parametrize("bound", BY_SPREAD, ids=lambda bound: bound.name)
@pytest.mark.parametrize("power", [-1000, -565, -100, 510, 1000])
def test_an_interval_by_the_spread_scales_with_the_draws(bound, power):
    """By a power of two: the same digits throughout, also where squares of the draws leave float64."""
    draws = np.random.default_rng(3).standard_normal(8)
    here, there = bound.interval(draws, 0.05), bound.interval(np.ldexp(draws, power), 0.05)
    assert (there.low, there.high) == (math.ldexp(here.low, power), math.ldexp(here.high, power))


@pytest.mark.parametrize("bound", BY_SPREAD, ids=lambda bound: bound.name)
def test_an_interval_by_the_spread_of_the_smallest_numbers_has_a_width(bound):
    assert bound.interval(np.array([1e-320, 2e-320, 4e-320]), 0.05).width > 0


@pytest.mark.parametrize("bound", [*BY_SPREAD, known_variance(1e-40)], ids=lambda bound: bound.name)
def test_a_radius_below_rounding_still_leaves_a_width(bound):
    draws = np.ones(100)
    draws[0] += float(np.finfo(np.float64).eps)
    interval = bound.interval(draws, 0.9)
    assert interval.low < 1 < interval.high


def test_draws_whose_mean_leaves_float64_are_refused_or_have_an_infinite_end():
    draws = 1e308 * np.array([1.0, 1.5, 1.7] * 10)
    assert student("normal draws").interval(draws, 1e-9).high == math.inf
    with pytest.raises(ValueError, match=r"draws of up to 1.7e\+308 .* leave float64: scale both down"):
        known_variance(1.0).interval(draws, 0.05)


@pytest.mark.parametrize("ends", [(0.1, 1.0), (0.1, 0.2), (-7.0, 0.1)])
def test_bounded_stays_within_its_ends(ends):
    low, high = ends
    for draw in ends:
        interval = bounded(low, high).interval(np.full(1000, draw), ERROR_RATE)
        assert low <= interval.low <= draw <= interval.high <= high
    assert (
        bounded(low, high)
        .interval(np.array([low]), ERROR_RATE)
        .contains(bounded(low, high).interval(np.full(1000, low), ERROR_RATE))
    )


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-0.25, 0.25), (2.0, 3.0)])
def test_a_draw_may_be_rounded_beyond_an_end_and_no_further(ends):
    low, high = ends
    ulp = np.spacing(np.float32(max(map(abs, ends))))
    draws = np.tile(np.float32(ends), 50)
    whole = bounded(low, high).interval(draws, 0.05)
    draws[-1] = np.float32(high) + 2 * ulp
    beyond = bounded(low, high).interval(draws, 0.05)
    assert abs(beyond.high - whole.high) < 1e-6 * max(map(abs, ends))
    assert low <= beyond.low < beyond.high <= high
    draws[-1] += 20 * ulp
    with pytest.raises(ValueError, match=r"a draw lies outside \["):
        bounded(low, high).interval(draws, 0.05)


def test_sums_of_single_precision_draws_are_taken_in_double():
    draws = np.full(2**20, 0.1, dtype=np.float32)
    draws[0] = 0.2
    for bound in (bounded(0.0, 1.0), known_variance(1e-9), normal("many")):
        assert bound.interval(draws, 0.1) == bound.interval(draws.astype(np.float64), 0.1)


@pytest.mark.parametrize("value", [0.1, np.float64(1 / 3), np.nextafter(1.0, 2.0)])
def test_exact_keeps_every_digit(value):
    interval = exact(0.0).interval(np.asarray([value]), 0.0)
    assert interval.low == interval.high == value


@pytest.mark.parametrize("bound", [normal("none"), student("none")], ids=lambda b: b.name)
def test_bounds_by_the_spread_say_nothing_of_draws_that_are_all_equal(bound):
    for n in (1, 1000):
        assert bound.interval(np.zeros(n), ERROR_RATE).width == math.inf


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: exact(-1.0), "-1.0"),
        (lambda: exact(math.nan), "nan"),
        (lambda: exact(math.inf), "inf"),
        (lambda: bounded(1.0, 1.0), r"\[1.0, 1.0\]"),
        (lambda: bounded(0.0, math.inf), "inf"),
        (lambda: bounded(math.nan, 1.0), "nan"),
        (lambda: known_variance(0.0), "`exact`"),
        (lambda: known_variance(-2.0), "-2.0"),
        (lambda: known_variance(math.nan), "nan"),
        (lambda: known_variance(math.inf), "inf"),
        (lambda: normal("  "), "argument in words"),
        (lambda: student("  "), "argument in words"),
    ],
)
def test_a_bound_without_sense_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("bound", "draws", "said"),
    [
        (bounded(0.0, 1.0), [0.5, 1.5], "outside"),
        (bounded(0.0, 1.0), [-0.1, 0.5], "outside"),
        (bounded(0.0, 1.0), [0.5, math.nan], "not finite"),
        (known_variance(1.0), [0.5, math.inf], "not finite"),
        (proportion(), [0.0, 0.5, 1.0], "neither 0 nor 1"),
        (paired(), [-1.0, 0.5], "none of -1, 0 and 1"),
        (exact(1.0), [0.0, 0.5], "2 draws"),
        (normal("none"), [], "at least one"),
        (normal("none"), [[1.0, 2.0]], r"\(1, 2\)"),
    ],
)
def test_draws_that_break_the_assumption_are_refused(bound, draws, said):
    with pytest.raises(ValueError, match=said):
        bound.interval(np.asarray(draws), ERROR_RATE)


@pytest.mark.parametrize("draws", [[1 + 5j, 2, 3], ["1", "0"], np.array([b"1"])])
@pytest.mark.parametrize("bound", [proportion(), normal("x")], ids=["proportion", "normal"])
def test_draws_that_are_not_real_are_refused(bound, draws):
    with pytest.raises(ValueError, match="real numbers are needed, not"):
        bound.interval(np.array(draws), 0.05)


def test_an_error_rate_that_is_no_rate_is_refused(subtests):
    for error_rate in [0.0, 1.0, -0.1, math.nan]:
        for bound in [bounded(0.0, 1.0), proportion(), known_variance(1.0), normal("none")]:
            said = f"error_rate must lie between 0 and 1, not {error_rate}"
            with subtests.test(str(bound), error_rate=error_rate), pytest.raises(ValueError, match=said):
                bound.interval(np.zeros(10), error_rate)


def test_findings_say_what_a_bound_stands_on():
    assert "0.25" in known_variance(0.25).assumption
    assert "theory" in known_variance(0.25).assumption
    assert "[-1, 2]" in bounded(-1.0, 2.0).assumption
    assert "why" in normal("why").assumption
    assert [b.is_exact for b in (exact(0.0), proportion())] == [True, False]


def test_special_functions_are_loaded_only_when_asked_for():
    # They take a quarter of a second, which a lab's first step need not wait for.
    program = "import sys, attnlab_theory.stats; sys.exit('scipy.special' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("tenth", [lambda i: i / np.float32(10), lambda i: i * np.float32(0.1)])
def test_points_of_a_law_meet_draws_that_are_rounded_to_their_type(tenth):
    """In float32, 0.2 is larger than in float64, and so is 6 times 0.1."""
    draws = tenth(np.arange(10_000, dtype=np.float32) % 10)
    assert draws.dtype == np.float32
    found = same_law(np.arange(10) / 10, np.arange(1, 11) / 10).interval(draws, 1e-6)
    assert found.low == 0.0


KINDS = {kind: np.dtype(kind) for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)}


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.parametrize("tenth", [lambda i, kind: i / kind.type(10), lambda i, kind: i * kind.type(0.1)])
@pytest.mark.parametrize("carried", [np.float32, None], ids=["in float32", "as drawn"])
def test_a_true_law_of_tenths_stands_in_every_type_and_a_wrong_one_falls(kind, tenth, carried):
    """Blocks carry draws as float32; the roundings are those of the type in which they were made."""
    drawn = tenth((np.arange(10_000) % 10).astype(kind), kind)
    assert drawn.dtype == kind
    draws = drawn.astype(kind if carried is None else np.promote_types(kind, carried))
    found = same_law(np.arange(10) / 10, np.arange(1, 11) / 10).interval(draws, 1e-6, kind)
    assert (found.low, found.high < 0.03) == (0.0, True)
    shifted = same_law(np.arange(10) / 10 - 0.05, np.arange(1, 11) / 10).interval(draws, 1e-6, kind)
    assert shifted.low > 0.07


def test_points_that_are_closer_than_the_roundings_of_the_type_are_told_apart():
    """From 128 on, neighbours in the brain float are 1 apart, and four units are four whole numbers."""
    kind, n = np.dtype(ml_dtypes.bfloat16), 200
    draws = (np.arange(10_000) % n).astype(kind)
    found = same_law(np.arange(n), np.arange(1, n + 1) / n).interval(draws, 1e-6)
    assert (found.low, found.high < 0.03) == (0.0, True)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_true_law_is_not_refuted_where_its_type_is_coarse(kind):
    draws = np.random.default_rng(0).uniform(size=100_000).astype(kind)
    points = np.linspace(0.005, 0.995, 199)
    assert same_law(points, points).interval(draws, 0.05).low == 0.0
    whole = (2047 + np.arange(1000) % 6).astype(kind)
    assert same_law(2047 + np.arange(6), np.arange(1, 7) / 6).interval(whole, 0.05).low == 0.0


def test_a_law_whose_draws_lose_more_than_four_roundings_states_how_much():
    """exp(log p + 20) / e^20: the logarithm of a number of size e^20 has an error of 1e-6, and so has p."""
    tenths, chances = np.arange(1, 11) / 10, np.arange(1, 11) / 10
    p = ((1 + np.arange(10_000) % 10) / 10).astype(np.float32)
    draws = np.exp(np.log(p) + np.float32(20)) / np.exp(np.float32(20))
    unsaid, said = (same_law(tenths, chances, rounding) for rounding in (0.0, 3e-6))
    assert (unsaid.interval(draws, 1e-6).low, unsaid.interval(draws, 1e-6).high > 0.1) == (0.0, True)
    assert said.interval(draws, 1e-6).high < 0.03
    assert said.assumption.endswith("rounding error at most 3e-06")
    assert "rounding" not in unsaid.assumption
    of_each = same_law(tenths, chances, 3e-6 * np.ones(10))
    assert of_each.interval(draws, 1e-6) == said.interval(draws, 1e-6)


@pytest.mark.parametrize("rounding", [-1e-6, math.nan, math.inf, [1e-6]])
def test_a_rounding_of_a_law_that_is_none_is_refused(rounding):
    with pytest.raises(ValueError, match="the rounding of a law must be finite and not negative, not "):
        same_law([0.0, 1.0], [0.5, 1.0], rounding)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_rounding_to_a_type_moves_a_mean_by_no_more_than_a_bound_says(kind):
    exactly = np.random.default_rng(0).lognormal(0.0, 3.0, 10_000)
    rounded = exactly.astype(kind).astype(np.float64)
    allowed = student("draws").rounding(rounded, kind)
    moved = np.mean(np.abs(rounded - exactly))
    assert moved <= allowed <= 4 * max(moved, 2.0**-55 * np.mean(exactly))
    for bound in (exact(0.1), proportion(), paired(), same_law([0.0], [0.5])):
        assert bound.rounding(rounded, kind) == 0.0
    for bound in (known_variance(1.0), bounded(0.0, 1.0), normal("draws")):
        assert bound.rounding(rounded, kind) == allowed
        assert bound.rounding(rounded, np.dtype(int)) == bound.rounding(rounded, np.dtype(bool)) == 0.0


def test_what_a_bound_allows_is_known_of_all_but_the_unbounded():
    assert bounded(-1.0, 3.0).range == Interval(-1.0, 3.0)
    assert (proportion().range, paired().range) == (Interval(0.0, 1.0), Interval(-1.0, 1.0))
    assert same_law([0.0], [0.5]).range == Interval(0.0, 1.0)
    assert (known_variance(1.0).range, exact(0.1).range) == (None, None)
