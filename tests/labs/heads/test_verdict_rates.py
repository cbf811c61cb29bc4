"""Verdicts on normal scores, predicted weights and neighbours, on many synthetic layers, at the stated rates."""

import functools

import jax
import numpy as np
import pytest
import scipy.special

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import assumptions
from attnlab_theory.labs.heads.calibration import Calibration, Predictions, curve, of_heads
from attnlab_theory.labs.heads.claims import BEYOND_LENGTH, CONTEXT, RARER, SHIFTED, SPREAD, TOGETHER
from attnlab_theory.labs.heads.families import estimates_of, layer_and_head
from attnlab_theory.labs.heads.families import verdicts as verdicts_on_heads
from attnlab_theory.labs.heads.fitting import BASELINES, fitted
from attnlab_theory.labs.heads.gambling import given_neighbours
from attnlab_theory.labs.heads.normality import Normality
from attnlab_theory.labs.heads.plan import planned
from attnlab_theory.labs.heads.splits import NearTies
from attnlab_theory.labs.heads.traces import softmax
from attnlab_theory.stats.groups import Bands, ratio_bands
from tests.labs.heads.synthetic import (
    ERROR_RATE,
    LAYERS,
    LIMIT,
    Given,
    beyond_controls,
    families,
    in_layers,
    missing,
)
from tests.labs.heads.typed_keys import KeyLaw, typed_keys

HEADS, GROUPS = 2, 20


def judged(quantity, found):
    """The lab's verdicts [layers h] on a number of every head."""
    return np.array([_verdicts(quantity, Bands(*(part[None] for part in each))) for each in found])


def _verdicts(quantity, found):
    estimates = Estimates(estimates_of(quantity, found, 1, "", layer_and_head))
    return [finding.verdict for finding in verdicts_on_heads(beyond_controls(estimates)).findings]


def some(verdicts, verdict):
    """In how many layers the verdict on a head is this one."""
    return int(np.sum(np.any(verdicts == verdict, axis=1)))


def every(verdicts, verdict):
    """In how many layers those on all heads are."""
    return int(np.sum(np.all(verdicts == verdict, axis=1)))


def decided(verdicts):
    """In how many layers there is a verdict on a head."""
    return LAYERS - every(verdicts, Verdict.INCONCLUSIVE)


def distances(kinds, q, k):
    """Intervals for the distances from normal, a family for each layer; what gave them, and the types."""
    given = Given(kinds, in_layers(q, HEADS), in_layers(k, HEADS))
    plan = planned(given.tokens)
    normality = Normality(fitted(given.traces(plan.fitting), plan))
    for trace in given.traces(plan.judging):
        normality.add(trace.k.astype(float), plan.kinds(trace.tokens))
    # Bonferroni over all layers, at so many times the rate, is that over the heads of each.
    found = normality.bands(LAYERS * ERROR_RATE)
    return [Bands(*(part[layer] for part in found)) for layer in range(LAYERS)], normality.law, plan.types


def words(sentences):
    """Sentences of four words, of which three are different at most."""
    return np.asarray(jax.random.randint(jax.random.key(5), (sentences, 4), 0, 3))


@functools.cache
def normal(law):
    kinds, (for_keys, for_queries) = words(2400), jax.random.split(jax.random.key(1))
    k = typed_keys(for_keys, law, jax.numpy.asarray(kinds), heads=LAYERS * HEADS, d=2)
    return distances(kinds, jax.random.normal(for_queries, k.shape), k)[0]


@pytest.mark.slow("two heads on two points, far from normal, stay inside")
@pytest.mark.parametrize("law", [KeyLaw.ISOTROPIC, KeyLaw.COMMON_MOTION], ids=str)
def test_normal_scores_are_shown_to_be_normal_by_a_thousand_sentences(law):
    """Draws thousands of sentences for `LAYERS` layers, and judges every layer."""
    verdicts = judged("distance from normal", normal(law))
    assert some(verdicts, Verdict.REFUTED) <= LIMIT
    assert every(verdicts, Verdict.SUPPORTED) >= LAYERS - LIMIT


RARE = 0.2
POINTS = np.array([-np.sqrt(RARE / (1 - RARE)), np.sqrt((1 - RARE) / RARE)])
"""Noise of mean 0 and variance 1; the right point has the probability RARE."""


@functools.cache
def lopsided():
    """Distances where scores have two points, as found and as they are; keys of a sentence are on the same side.

    The distribution function is 0, then 1 - RARE, then 1. The fitted normal law is furthest from it at a point.
    """
    rng = np.random.default_rng(2)
    kinds, means = words(600), rng.normal(size=(LAYERS * HEADS, 3))
    rare = rng.random((len(kinds), LAYERS * HEADS, 1)) < RARE
    k = (np.moveaxis(means[:, kinds], 0, 1) + POINTS[rare.astype(int)])[..., None]
    found, law, types = distances(kinds, rng.uniform(0.5, 2, k.shape), k)
    points = means.reshape(LAYERS, HEADS, 3, 1)[:, :, types] + POINTS
    points = (law.query * points - law.mean[..., None]) / law.deviation[..., None]
    low, high = np.moveaxis(scipy.special.ndtr(points), 3, 0)
    furthest = np.max([low, 1 - RARE - low, high - (1 - RARE), 1 - high], axis=0)
    return found, np.mean(furthest, axis=2)


@pytest.mark.slow("two heads on two points, far from normal, stay inside")
def test_scores_on_two_points_are_shown_not_to_be_normal():
    """Draws 600 sentences for `LAYERS` layers, and judges every layer."""
    verdicts = judged("distance from normal", lopsided()[0])
    assert some(verdicts, Verdict.SUPPORTED) <= LIMIT
    assert every(verdicts, Verdict.REFUTED) >= LAYERS - LIMIT


@pytest.mark.slow("how far one sentence moves the measured distance stays inside")
def test_the_distance_of_two_points_from_normal_is_covered():
    assert missing(*lopsided()) <= LIMIT


@functools.cache
def predicted(keys_turn, judging):
    """Layers of one head: normal keys and independent queries, or keys that turn away from their own queries."""
    rng = np.random.default_rng(3)
    kinds = rng.permuted(np.tile(np.arange(3), (600, 1)), axis=1)[:, : 3 if keys_turn else 2]
    k = np.eye(3, 8)[kinds][:, None] + np.zeros((LAYERS, 1, 1))
    q, noise = rng.normal(size=(2, *k.shape))
    if keys_turn:
        q = np.broadcast_to(q[:, :, :1], q.shape)
        along = q / np.linalg.norm(q, axis=3, keepdims=True)
        # Scores change their sign. Over all sentences the mean keys lose a quarter of their length.
        k = k - 2 * along * np.sum(along * k, axis=3, keepdims=True)
    k = k + (0.1 if keys_turn else 0.2) * noise
    given = Given(kinds, q[:, :, None], k[:, :, None])
    plan = planned(given.tokens, groups=GROUPS)
    calibration = Calibration(fitted(given.traces(plan.fitting), plan), plan)
    for at, trace in enumerate(given.traces(plan.judging[:judging])):
        scores = trace.scores()
        calibration.add(trace, scores, softmax(scores), at % GROUPS)
    found = calibration.predictions()
    return of_heads(found, GROUPS), assumptions.of_heads(found, GROUPS)


def gained(found):
    return judged(BEYOND_LENGTH, families(found.explained - found.of_best_baseline))


@pytest.mark.slow("four heads whose weights theory predicts better stay inside")
def test_theory_is_shown_to_beat_the_mean_weight_where_its_law_holds():
    """Predicts the weights of `LAYERS` layers, sentence by sentence, and judges every layer."""
    verdicts = gained(predicted(keys_turn=False, judging=40)[0])
    assert some(verdicts, Verdict.REFUTED) <= LIMIT
    assert every(verdicts, Verdict.SUPPORTED) >= LAYERS - LIMIT


@pytest.mark.slow("the contrary, four heads that theory predicts better, stays inside")
def test_theory_is_shown_to_be_worse_where_keys_turn_away_from_their_query():
    """Predicts the weights of `LAYERS` layers, sentence by sentence, and judges every layer."""
    verdicts = gained(predicted(keys_turn=True, judging=20)[0])
    assert some(verdicts, Verdict.SUPPORTED) <= LIMIT
    assert every(verdicts, Verdict.REFUTED) >= LAYERS - LIMIT


@pytest.mark.slow("four heads whose squared errors are as predicted stay inside")
def test_theory_knows_how_sure_it_is_where_its_law_holds():
    found = predicted(keys_turn=False, judging=40)[0].variance_ratio
    assert missing(families(found, ratio_bands), 1.0) <= LIMIT


@pytest.mark.slow("what noise adds in four heads, without a verdict, stays inside")
def test_noise_is_shown_to_add_to_the_prediction_or_nothing_is_where_theorys_law_holds():
    found = predicted(keys_turn=False, judging=40)[0]
    gains = found.explained - found.without_noise
    assert some(judged("explained by theory less without noise", families(gains)), Verdict.REFUTED) <= LIMIT
    assert np.mean(gains[0]) > 0


@pytest.mark.slow("no synthetic layer, but committed verdicts, judged again, stay inside")
def test_keys_that_turn_away_from_their_query_do_not_vary_as_fitted():
    """Finds the intervals of `LAYERS` layers four times."""
    quantity = "variance of scores over the fitted"
    turning, still = (predicted(keys_turn=turn, judging=20 if turn else 40)[1] for turn in (True, False))
    assert every(judged(quantity, families(turning.spread)), Verdict.REFUTED) >= LAYERS - LIMIT
    assert some(judged(quantity, families(still.spread)), Verdict.REFUTED) <= LIMIT
    assert missing(families(still.shift), 0.0) <= LIMIT
    assert missing(families(still.together), 0.0) <= LIMIT


def rows_of(**given):
    """Predictions of two keys of each sentence, from [sentences 2 layers h]; what is not given is zero."""
    sentence = np.repeat(np.arange(len(given["weight"])), 2)
    parts = ("mean", "variance", "weight", "baselines", "noiseless", "deviation")
    rows = {part: np.reshape(given.get(part, 0 * given["weight"]), (-1, LAYERS, HEADS)) for part in parts}
    rows["baselines"] = np.repeat(rows["baselines"][:, None], len(BASELINES), axis=1)
    return Predictions(sentence % GROUPS, sentence, np.zeros(len(sentence), bool), **rows)


QUANTITIES = {
    "shift": ("shift of scores", SHIFTED),
    "spread": ("variance of scores over the fitted", SPREAD),
    "together": ("scores that move together", TOGETHER),
    "for_common": ("explained for commoner types less for rarer ones", RARER),
}


@functools.cache
def broken(name, amount, asked=None):
    """Verdicts, where one number is this much away from what theory assumes, on it or on the one that is asked for.

    There are 3,000 sentences with two keys.
    """
    asked = asked or name
    rng, sentences = np.random.default_rng(8), 3000
    away = {each: amount if each == name else 0.0 for each in QUANTITIES}
    own = rng.normal(size=(sentences, 2, LAYERS, HEADS))
    shared = rng.normal(size=(sentences, 1, LAYERS, HEADS))
    score = np.sqrt(1 + away["spread"] - away["together"]) * own + np.sqrt(away["together"]) * shared
    common, weight, missed = np.array([True, False]), *rng.normal(size=(2, *own.shape))
    missed *= np.sqrt(0.2 + np.where(common, 0.0, away["for_common"]))[:, None, None]
    rows = rows_of(mean=weight - missed, weight=weight, deviation=score + away["shift"])
    found = assumptions.of_heads(rows._replace(common=np.tile(common, sentences)), GROUPS)
    return judged(QUANTITIES[asked][0], families(getattr(found, asked)))


@pytest.mark.slow("no synthetic layer, but committed verdicts, judged again, stay inside")
@pytest.mark.parametrize("name", QUANTITIES)
def test_an_assumption_that_holds_is_said_to(name):
    """Draws thousands of sentences for `LAYERS` layers, and judges every layer."""
    verdicts = broken(name, 0.0)
    assert some(verdicts, Verdict.REFUTED) <= LIMIT
    assert every(verdicts, Verdict.SUPPORTED) >= LAYERS - LIMIT


@pytest.mark.slow("no synthetic layer, but committed verdicts, judged again, stay inside")
@pytest.mark.parametrize("asked", ["spread", "together"])
def test_a_shift_is_no_other_break(asked):
    """Draws thousands of sentences for `LAYERS` layers, and judges every layer."""
    verdicts = broken("shift", 2.5 * SHIFTED, asked)
    assert some(verdicts, Verdict.REFUTED) <= LIMIT
    assert every(verdicts, Verdict.SUPPORTED) >= LAYERS - LIMIT


@pytest.mark.slow("no synthetic layer, but committed verdicts, judged again, stay inside")
@pytest.mark.parametrize("name", QUANTITIES)
def test_an_assumption_that_breaks_is_said_to(name):
    """Judges a hundred synthetic layers, each by 3,000 sentences."""
    verdicts = broken(name, 2.5 * QUANTITIES[name][1])
    assert some(verdicts, Verdict.SUPPORTED) <= LIMIT
    assert every(verdicts, Verdict.REFUTED) >= LAYERS - LIMIT


@pytest.mark.slow("nothing inside asks this: a border needs hundreds of layers")
@pytest.mark.parametrize("name", QUANTITIES)
def test_an_assumption_that_breaks_by_its_margin_lies_on_the_border_where_either_verdict_is_an_error(name):
    """Draws 3,000 sentences for `LAYERS` layers, and judges every layer."""
    assert decided(broken(name, QUANTITIES[name][1])) <= LIMIT


@functools.cache
def no_better():
    """Predictions that know their variance and err as the mean weight does; 200 sentences with two keys each."""
    rng = np.random.default_rng(4)
    shape = (200, 2, LAYERS, HEADS)

    def error():
        """Errors of mean 0 and variance 1. Half of the variance is common to both keys of a sentence."""
        return np.sqrt(1.5) * (rng.uniform(-1, 1, shape) + rng.uniform(-1, 1, (200, 1, LAYERS, HEADS)))

    mean, deviation = rng.uniform(0.3, 0.7, shape), rng.uniform(0.02, 0.1, shape)
    weight = mean + deviation * error()
    baseline = weight + deviation * error()
    return of_heads(rows_of(mean=mean, variance=deviation**2, weight=weight, baselines=baseline), GROUPS)


@pytest.mark.slow("four heads whose weights theory predicts better stay inside")
def test_theory_that_errs_as_the_mean_weight_does_lies_on_the_border_where_either_verdict_is_an_error():
    assert decided(gained(no_better())) <= LIMIT


@pytest.mark.slow("four heads whose squared errors are as predicted stay inside")
def test_a_predicted_variance_that_is_right_is_covered():
    assert missing(families(no_better().variance_ratio, ratio_bands), 1.0) <= LIMIT


@pytest.mark.slow("means with each group left out once stay inside")
def test_the_calibration_curve_is_that_of_tenths_and_without_a_group_that_of_the_others():
    """Sorts the weights of `LAYERS` layers, and leaves out each group of every tenth."""
    rng, shape = np.random.default_rng(9), (100, 2, LAYERS, HEADS)
    rows = rows_of(mean=rng.random(shape), weight=rng.random(shape))
    found = curve(rows, GROUPS)
    order = np.argsort(rows.mean[:, 3].reshape(-1), kind="stable")
    tenth = order[: len(order) // 10]
    weights, group = rows.weight[:, 3].reshape(-1)[tenth], np.repeat(rows.group, HEADS)[tenth]
    np.testing.assert_allclose(found.predicted[3, 0], np.mean(rows.mean[:, 3].reshape(-1)[tenth]))
    expected = [np.mean(weights), *(np.mean(weights[group != each]) for each in range(GROUPS))]
    np.testing.assert_allclose(found.weight[:, 3, 0], expected)


@functools.cache
def explained(share):
    """Neighbours make this share of the variance of splits. 700 sentences have two rows each, which fall alike."""
    rng, row, shape = np.random.default_rng(6), np.repeat(np.arange(700), 2), (LAYERS, 700)
    pair, neighbours = rng.integers(0, 3, shape), rng.integers(0, 16, shape)
    # The variance of the chance is share / 4, that of the split 1 / 4.
    chance = 0.5 + np.sqrt(share) / 2 * np.where(neighbours % 2, 1, -1)
    split = (rng.random((HEADS, *shape)) < chance).astype(float)
    found = np.zeros((GROUPS + 1, LAYERS, HEADS))
    for head, layer in np.ndindex(split.shape[:2]):
        own = (part[layer, row] for part in (pair, neighbours, split[head, :, :, None]))
        found[:, layer, head] = given_neighbours(NearTies(row % GROUPS, row, *own), GROUPS).explained
    return judged("gamble explained by neighbours", families(found))


@pytest.mark.slow("a choice that neighbours make, told from a coin, stays inside")
def test_neighbours_that_decide_splits_are_said_to():
    """Judges a hundred synthetic layers, one head after the other."""
    verdicts = explained(5 * CONTEXT)
    assert some(verdicts, Verdict.REFUTED) <= LIMIT
    assert every(verdicts, Verdict.SUPPORTED) >= LAYERS - LIMIT


@pytest.mark.slow("a coin, told from a choice that neighbours make, stays inside")
def test_neighbours_of_coins_are_said_to_decide_nothing():
    """Judges a hundred synthetic layers, one head after the other."""
    verdicts = explained(0.0)
    assert some(verdicts, Verdict.SUPPORTED) <= LIMIT
    assert every(verdicts, Verdict.REFUTED) >= LAYERS - LIMIT


@pytest.mark.slow("neighbours that explain two thirds, or nothing, stay inside")
def test_neighbours_that_explain_the_margin_lie_on_the_border_where_either_verdict_is_an_error():
    """Judges a hundred synthetic layers, one head after the other."""
    assert decided(explained(CONTEXT)) <= LIMIT
