"""The judge itself, judged: it errs no more often than it says, on laws whose means are known.

Every setting of a claim here is one repetition: it folds its own number into the key, so a thousand
repetitions are one compilation. Rivals are judged on the same draws, as they would be one by one.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import jaxtyping
import pytest

from attnlab_theory.claims import Claim, Setting, Traced, Verdict, check, check_rivals
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded, known_variance, proportion
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


@pytest.mark.parametrize("kind", KINDS)
def test_true_claims_are_refuted_no_more_often_than_the_error_rate(verdicts, kind):
    assert verdicts["true", kind].count(Verdict.REFUTED) <= ALLOWED


@pytest.mark.parametrize("kind", KINDS)
def test_true_claims_are_supported_once_the_resolution_is_in_reach(verdicts, kind):
    assert REPETITIONS - verdicts["true", kind].count(Verdict.SUPPORTED) <= ALLOWED


@pytest.mark.parametrize("kind", KINDS)
def test_claims_wrong_by_just_over_the_resolution_are_supported_no_more_often(verdicts, kind):
    assert verdicts["wrong by just over the resolution", kind].count(Verdict.SUPPORTED) <= ALLOWED


@pytest.mark.parametrize("kind", KINDS)
def test_claims_wrong_by_two_resolutions_are_nearly_always_refuted(verdicts, kind):
    assert REPETITIONS - verdicts["wrong by two resolutions", kind].count(Verdict.REFUTED) <= ALLOWED


def test_the_rates_hold_over_keys_too():
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
