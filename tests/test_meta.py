"""The judge itself, judged: it errs no more often than it says, on laws whose means are known.

Every setting of a claim here is one repetition: it folds its own number into the key, so a thousand
repetitions are one compilation. Rivals are judged on the same draws, as they would be one by one.
"""

import dataclasses
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from attnlab_theory.claims import CLAIMS, Claim, Setting, Traced, Verdict, check, check_rivals, judge
from attnlab_theory.report import record
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import (
    Interval,
    VarianceState,
    bounded,
    exact,
    known_variance,
    normal,
    paired,
    proportion,
    same_law,
)
from tests.tolerances import misses_allowed
from tests.toys import Coin, coin_claim

REPETITIONS = 1000
ERROR_RATE = 0.1
FALSE_ALARM = 1e-6 / 150
"""Fewer than 150 counts in this file: together they raise a false alarm once in 1e6 seeds."""
ALLOWED = misses_allowed(REPETITIONS, ERROR_RATE, FALSE_ALARM)
MAX_DRAWS = 2**12


@pytest.fixture(scope="module", autouse=True)
def unchecked_types():
    """A million small calls on plain numbers: checking their types would take most of a minute."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


class Repetition(Setting):
    number: Traced[int]


def own_key(key, repetition: Repetition):
    return jax.random.fold_in(key, jnp.asarray(repetition.number).astype(jnp.uint32))


@dataclasses.dataclass(frozen=True)
class Law:
    """A law of known mean, the bound that fits it, and a resolution within reach of MAX_DRAWS."""

    draw: object
    mean: float
    bound: object
    resolution: float


def as_number(truth):
    return jnp.asarray(truth, dtype=jnp.float32)


LAWS = {
    "proportion": Law(lambda key, r: as_number(jax.random.uniform(own_key(key, r)) < 0.3), 0.3, proportion(), 0.06),
    "bounded": Law(lambda key, r: jax.random.uniform(own_key(key, r)) ** 3, 0.25, bounded(0.0, 1.0), 0.06),
    "known variance": Law(
        lambda key, r: jnp.exp(jax.random.normal(own_key(key, r))),
        math.exp(0.5),
        known_variance(math.e * math.expm1(1)),
        0.4,
    ),
}


def predictions(mean: float, off: float) -> dict[str, Interval]:
    """Claims of every kind from whose predicted interval the mean lies `off` away."""
    wide = 0.7 * mean
    return {
        "equality from below": Interval.point(mean - off),
        "equality from above": Interval.point(mean + off),
        "at most": Interval.at_most(mean - off),
        "at least": Interval.at_least(mean + off),
        "band from below": Interval(mean - off - wide, mean - off),
        "band from above": Interval(mean + off, mean + off + wide),
    }


KINDS = tuple(predictions(1.0, 0.0))
DISTANCES = {"true": 0.0, "wrong by just over the resolution": 1.01, "wrong by two resolutions": 2.0}


@pytest.fixture(scope="module", params=LAWS)
def verdicts(request):
    """All verdicts on one law, by how wrong the claim is and by its kind."""
    law = LAWS[request.param]
    claim = Claim(
        name=request.param,
        statement="",
        source="",
        hypotheses={},
        predict=lambda r: Interval.point(law.mean),
        draw=law.draw,
        bound=lambda r: law.bound,
        resolution=lambda r: law.resolution,
        settings=tuple(Repetition(number=number) for number in range(REPETITIONS)),
        chunk=8,
    )
    rivals = {
        (distance, kind): predicted
        for distance, off in DISTANCES.items()
        for kind, predicted in predictions(law.mean, off * law.resolution).items()
    }
    judged = check_rivals(
        claim,
        [lambda r, predicted=predicted: predicted for predicted in rivals.values()],
        key=key_for(0, "meta", request.param),
        error_rate=ERROR_RATE,
        max_draws=MAX_DRAWS,
    )
    return {rival: [f.verdict for f in findings] for rival, findings in zip(rivals, judged, strict=True)}


def too_often(verdicts, distance: str, wrong) -> dict[str, int]:
    """The kinds of claims whose verdicts are wrong more often than the error rate allows, and how often."""
    counts = {kind: sum(map(wrong, verdicts[distance, kind])) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count > ALLOWED}


@pytest.mark.slow("how often wrong claims are supported or refuted stays inside")
def test_true_claims_are_refuted_no_more_often_than_the_error_rate(verdicts):
    """The fixture judges a law again and again, to count how often the judge errs."""
    assert too_often(verdicts, "true", lambda verdict: verdict == Verdict.REFUTED) == {}


@pytest.mark.slow("how often wrong claims are supported or refuted stays inside")
def test_true_claims_are_supported_once_the_resolution_is_in_reach(verdicts):
    assert too_often(verdicts, "true", lambda verdict: verdict != Verdict.SUPPORTED) == {}


@pytest.mark.slow("one of three laws stays inside", but=1)
def test_claims_wrong_by_just_over_the_resolution_are_supported_no_more_often(verdicts):
    """The fixture judges each law a thousand times."""
    wrong = "wrong by just over the resolution"
    assert too_often(verdicts, wrong, lambda verdict: verdict == Verdict.SUPPORTED) == {}


@pytest.mark.slow("one of three laws stays inside", but=1)
def test_claims_wrong_by_two_resolutions_are_nearly_always_refuted(verdicts):
    assert too_often(verdicts, "wrong by two resolutions", lambda verdict: verdict != Verdict.REFUTED) == {}


@pytest.mark.slow("the rates over many settings and one key stay inside")
def test_the_rates_hold_over_keys_too():
    """Judges two claims a thousand times each."""
    # The same through the front door: one setting, a thousand runs with keys of their own.
    right = coin_claim(settings=(Coin(chance=0.3),), resolution=lambda coin: 0.2, chunk=16)
    wrong = dataclasses.replace(right, predict=lambda coin: Interval.point(0.3 + 1.01 * 0.2))
    keys = [key_for(seed, "meta") for seed in range(REPETITIONS)]
    judged = {
        claim: [check(claim, key=key, error_rate=ERROR_RATE, max_draws=256)[0].verdict for key in keys]
        for claim in (right, wrong)
    }
    assert judged[right].count(Verdict.REFUTED) <= ALLOWED
    assert judged[right].count(Verdict.SUPPORTED) >= REPETITIONS - ALLOWED
    assert judged[wrong].count(Verdict.SUPPORTED) <= ALLOWED


# At the error rates of the lab nothing can be simulated. Where the draws take two values the chance of every count
# is known, and so is that of an interval that misses; elsewhere the draws are tilted towards a miss.

RATES = (1e-4, 1e-6, 1e-9, 1e-12)
COVERED = {"exact", "proportion", "bounded", "known_variance", "paired", "same_law"}


@pytest.mark.slow("how often bounds of several kinds miss stays inside")
def test_every_bound_that_a_claim_uses_is_tested_here():
    """Asks each claim for its bound at each of its settings."""
    used = {claim.bound_at(setting).name for claim in CLAIMS for setting in claim.settings}
    assert used <= COVERED


FIGURES = Path(__file__).parent.parent / "figures"
COMMITTED = sorted(path for path in FIGURES.glob("*.json") if not path.name.endswith(".run.json"))


@pytest.mark.slow("that every claim has committed findings stays inside")
def test_every_committed_finding_keeps_what_the_readme_promises_of_error_rates(subtests):
    """Its bound is one of those above, at rates not below theirs, and its verdict is what its interval says."""
    assert len(COMMITTED) > 20
    for path in COMMITTED:
        with subtests.test(path.stem):
            findings = record.read_findings(path)
            assert sum(f.error_rate for f in findings) <= 1e-6 * (1 + 1e-9)
            for f in findings:
                name = f.bound.split(":")[0]
                assert name in COVERED
                # The last of at most a dozen looks, each of which doubles the draws, spends the least.
                assert name == "exact" or f.error_rate / (12 * 13) >= min(RATES)
                assert f.verdict == judge(f.predicted, f.measured, f.resolution) == f.expect
                assert f.variance is None or f.variance.state != VarianceState.STRAINED
                assert (f.variance is not None) == (name == "known_variance")
                if f.rival is not None:
                    assert f.rival.verdict == Verdict.REFUTED


def test_every_claim_has_committed_findings():
    committed = {finding.claim for path in COMMITTED for finding in record.read_findings(path)}
    assert committed == {claim.name for claim in CLAIMS}


def chance_of_a_miss(bound, draws: int, chance: float, error_rate: float, values=(0.0, 1.0)) -> float:
    """Exactly: draws are the second value with this chance, else the first; an interval depends on their count."""
    low, high = values
    mean = low + (high - low) * chance
    counts = np.arange(draws + 1)
    logs = scipy.stats.binom.logpmf(counts, draws, chance)
    missed = 0.0
    for count in counts[logs > math.log(error_rate) - 30]:
        row = np.full(draws, low)
        # Spread evenly: no interval here but the betting one looks at the order.
        row[np.linspace(0, draws - 1, count).astype(int)] = high
        interval = bound.interval(row, error_rate)
        missed += 0.0 if interval.low <= mean <= interval.high else math.exp(logs[count])
    return missed


@pytest.mark.parametrize("error_rate", RATES)
@pytest.mark.parametrize(("draws", "chance"), [(64, 0.5), (500, 0.03), (500, 0.999), (2000, 0.2)])
def test_proportions_miss_no_more_often_than_they_say(draws, chance, error_rate):
    assert chance_of_a_miss(proportion(), draws, chance, error_rate) <= error_rate


@pytest.mark.slow("two of twelve members stay inside", but=2)
@pytest.mark.parametrize("error_rate", RATES)
@pytest.mark.parametrize("chances", [(0.1, 0.05), (0.02, 0.02), (0.5, 0.3)])
def test_differences_of_truth_values_miss_no_more_often_than_they_say(chances, error_rate):
    draws = 40
    gained, lost = np.meshgrid(np.arange(draws + 1), np.arange(draws + 1), indexing="ij")
    possible = [(int(g), int(k)) for g, k in zip(gained.ravel(), lost.ravel(), strict=True) if g + k <= draws]
    missed = 0.0
    for g, k in possible:
        log = scipy.stats.multinomial.logpmf([g, k, draws - g - k], draws, [*chances, 1 - sum(chances)])
        if log > math.log(error_rate) - 20:
            row = np.concatenate([np.ones(g), -np.ones(k), np.zeros(draws - g - k)])
            interval = paired().interval(row, error_rate)
            mean = chances[0] - chances[1]
            missed += 0.0 if interval.low <= mean <= interval.high else math.exp(log)
    assert missed <= error_rate


@pytest.mark.parametrize("error_rate", RATES)
@pytest.mark.parametrize("chance", [0.5, 0.05, 1e-3])
def test_known_variances_miss_no_more_often_than_they_say_however_skewed(chance, error_rate):
    """A law of two values with a variance of exactly one: the rarer the far one, the more skewed."""
    far = 1 / math.sqrt(chance * (1 - chance))
    assert chance_of_a_miss(known_variance(1.0), 400, chance, error_rate, (0.0, far)) <= error_rate


@pytest.mark.slow("two of 18 members stay inside", but=2)
@pytest.mark.parametrize("error_rate", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("towards", [-1, 1])
@pytest.mark.parametrize(
    "law",
    [{0.0: 0.98, 1.0: 0.02}, {0.0: 0.5, 1.0: 0.5}, {0.0: 0.7, 0.3: 0.25, 1.0: 0.05}],
    ids=["rare", "even", "skewed"],
)
def test_betting_misses_no_more_often_than_it_says(law, towards, error_rate):
    """By importance sampling: draws of a tilted law, whose misses are weighted by the likelihood ratio."""
    draws, repetitions = 600, 400
    values, chances = np.array(list(law)), np.array(list(law.values()))
    mean, deviation = values @ chances, math.sqrt(chances @ values**2 - (values @ chances) ** 2)
    # Tilted until the mean is as far off as a normal mean would be at this rate, and somewhat more.
    shift = 1.2 * math.sqrt(2 * math.log(1 / error_rate) / draws) * deviation

    def tilted(tilt):
        raised = chances * np.exp(tilt * values)
        return raised / np.sum(raised)

    wanted = min(max(mean + towards * shift, values[0] + 0.002), values[-1] - 0.002)
    tilt = scipy.optimize.brentq(lambda t: tilted(t) @ values - wanted, -40, 40)
    rng = np.random.default_rng(0)
    weighted = np.zeros(repetitions)
    for repetition in range(repetitions):
        drawn = rng.choice(len(values), size=draws, p=tilted(tilt))
        interval = bounded(0.0, 1.0).interval(values[drawn], error_rate)
        if not interval.low <= mean <= interval.high:
            weighted[repetition] = math.exp(float(np.sum(np.log(chances / tilted(tilt))[drawn])))
    # Of one side; the other is the other tilt's.
    assert np.mean(weighted) + 5 * np.std(weighted) / math.sqrt(repetitions) <= error_rate


@pytest.mark.parametrize("error_rate", RATES)
@pytest.mark.parametrize("draws", [50, 2000])
def test_distances_between_laws_miss_no_more_often_than_they_say(draws, error_rate):
    """The exact law of the largest error of an empirical distribution function is known: no law has a worse one."""
    points = np.linspace(0.0, 1.0, 1001)
    # All points but the last lie below all draws: the distance is 0.999.
    radius = 0.999 - same_law(points, points).interval(np.ones(draws), error_rate).low
    assert scipy.stats.kstwo.sf(radius, draws) <= error_rate
    assert scipy.stats.kstwo.sf(0.9 * radius, draws) > error_rate


def test_what_is_computed_once_is_within_its_rounding():
    assert exact(1e-3).interval(np.array([2.0]), 0.0) == Interval(1.999, 2.001)


def test_normal_intervals_miss_far_more_often_than_they_say():
    """Why no claim uses them: a rare value is missed thousands of times more often than 1e-6."""
    assert chance_of_a_miss(normal("exhibit"), 400, 0.05, 1e-6) > 1e-4
