"""Which heads does a classifier need: heads are left out as said, and verdicts come out right."""

import dataclasses
import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.heads import answers, families, importance
from attnlab_theory.labs.heads.ablating import (
    REDUNDANT,
    Ablated,
    ablated,
    least_moving,
    mean_outputs,
)
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from tests.labs.heads.classifiers import before_reviews, classifier
from tests.labs.heads.synthetic import beyond_controls, wrong_at_most
from tests.language.models import rounding


@pytest.fixture(scope="module")
def asked():
    reading, labels = before_reviews(classifier(heads=8))
    return reading, labels, ablated(reading)


def batch_of(reading, number):
    ids = jnp.asarray(reading.tokens[number].ids, jnp.int32)[None]
    return LabelledBatch(ids, jnp.ones(ids.shape, bool), jnp.zeros(1, jnp.int32), jnp.ones(1))


def odds(model, reading, number):
    logits = model.logits(batch_of(reading, number))
    return float(logits[0, 1] - logits[0, 0])


def read_by(model, reading):
    """The same sentences before another classifier."""
    return dataclasses.replace(reading, model=model.encoder, classifier=model)


@pytest.mark.slow("verdicts on given log-odds, and values replaced in a pass, stay inside")
def test_log_odds_are_the_classifiers_own_in_the_order_of_the_sentences(asked):
    """Leaves out every head, and pairs of them, before a hundred reviews."""
    reading, _, found = asked
    assert len({len(each.ids) for each in reading.tokens}) > 3
    atol = rounding(lambda model: answers.log_odds(read_by(model, reading)), reading.classifier)
    for number in (0, 7, 99):
        assert found.whole[number] == pytest.approx(odds(reading.classifier, reading, number), rel=0, abs=atol)
    np.testing.assert_allclose(answers.log_odds(reading), found.whole, rtol=0, atol=atol)


def constant(model, layer, head, mean):
    """The classifier whose weights hand on one vector for a head, whatever its tokens are."""
    out = model.encoder.blocks[layer].mixing.out
    own = slice(head * len(mean), (head + 1) * len(mean))
    changed = out.weight.at[own].set(0), out.bias + mean @ out.weight[own]
    return eqx.tree_at(lambda m: _out(m, layer), model, changed)


def _out(model, layer):
    out = model.encoder.blocks[layer].mixing.out
    return out.weight, out.bias


@pytest.mark.slow("values replaced in a pass, and what they move, stay inside")
def test_a_head_that_is_left_out_hands_on_its_mean_over_all_tokens(asked):
    """Reads a hundred reviews again and again: for the means, the traces and the rounding."""
    reading, _, found = asked
    instead = mean_outputs(reading)
    total, count = 0.0, 0
    for number, trace in zip(range(100), reading.traces(range(100)), strict=True):
        scores = trace.scores()
        weights = np.exp(scores - np.max(scores, axis=3, keepdims=True))
        outputs = np.matmul(weights / weights.sum(axis=3, keepdims=True), trace.v)
        total, count = total + outputs.sum(axis=2), count + len(reading.tokens[number].ids)
    atol = rounding(lambda model: mean_outputs(read_by(model, reading)), reading.classifier)
    np.testing.assert_allclose(instead, total / count, rtol=0, atol=atol)
    for layer, head in ((0, 1), (1, 6)):
        model = constant(reading.classifier, layer, head, jnp.asarray(instead[layer, head], jnp.float32))
        atol = rounding(lambda model: odds(model, reading, 7), model)
        assert found.single[layer, head, 7] == pytest.approx(odds(model, reading, 7), rel=0, abs=atol)
    assert np.all(np.mean(np.abs(found.single - found.whole), axis=2) > 1e-4)


@pytest.mark.slow("how the heads that move answers least are found stays inside")
def test_pairs_are_of_the_heads_that_half_of_the_sentences_miss_least(asked):
    _, _, found = asked
    half = found.chosen_by
    least = least_moving(found.whole[half], found.single[:, :, half])
    assert list(found.pairs) == list(itertools.combinations(least, 2))
    assert (len(least), half.sum()) == (REDUNDANT, 50)


def test_a_head_that_moves_answers_to_both_sides_is_missed():
    """Its mean is zero: sizes count."""
    single = np.zeros((2, 2, 4))
    single[0, 0], single[0, 1], single[1, 0], single[1, 1] = [3, -3, 3, -3], 0.5, -1.0, 2.0
    assert least_moving(np.zeros(4), single, most=2) == [(0, 1), (1, 0)]
    assert least_moving(np.full(4, 2.0), single, most=1) == [(1, 1)]


@pytest.mark.slow("values replaced in a pass, and what they move, stay inside")
def test_a_head_whose_values_are_one_vector_moves_nothing():
    """Its output is the same for all tokens already."""
    reading, _ = before_reviews(classifier(), 40)
    block = reading.model.blocks[1].mixing
    # Values are the last third of the inputs; those of head 2 are its last four columns.
    weight = block.inputs.weight.at[:, -4:].set(0) if block.inputs.weight.shape[0] == 8 else None
    assert weight is not None
    model = eqx.tree_at(lambda m: m.encoder.blocks[1].mixing.inputs.weight, reading.classifier, weight)
    found = ablated(read_by(model, reading))
    atol = rounding(lambda model: answers.log_odds(read_by(model, reading)), model)
    assert np.max(np.abs(found.single[1, 1] - found.whole)) < atol
    assert np.max(np.abs(found.single[1, 0] - found.whole)) > 1e-2


LAYERS, ERROR_RATE = 200, 0.05
LIMIT = wrong_at_most(LAYERS, ERROR_RATE, 1e-7)


def given(rng, n, *, needed, discordant=0.2):
    """A model of two heads: without the first some answers are lost, without the second as many as are gained.

    Log-odds are 1 where right, and -1 where not, times the side of the label.
    """
    labels = rng.integers(0, 2, n)
    sides = np.where(labels > 0, 1.0, -1.0)
    whole = rng.random(n) < 0.8
    first = np.where(rng.random(n) < needed, False, whole)
    flipped = rng.random(n) < discordant
    # As many flips of right answers as of wrong ones on average.
    second = np.where(flipped, rng.random(n) < 0.8, whole)
    single = np.stack([first, second])[None]
    noise = 1 + 0.1 * rng.random((3, n))
    return labels, Ablated(
        whole=np.where(whole, sides, -sides) * noise[0],
        single=np.where(single, sides, -sides) * noise[1],
        pairs={((0, 0), (0, 1)): np.where(first & second, sides, -sides) * noise[2]},
        chosen_by=np.arange(n) < n // 2,
    )


def numbers(found, labels):
    return families.estimated(importance.numbers_of(found, labels))


def verdicts(found, labels):
    judged = families.verdicts(beyond_controls(numbers(found, labels))).findings
    return {
        claim: [f.verdict for f in judged.of(claim)]
        for claim in ("the-head-is-needed", "the-model-does-without-the-head")
    }


@pytest.mark.slow("verdicts on one pair and McNemar's test of two heads stay inside")
def test_heads_that_are_needed_are_found_and_others_are_not_at_the_stated_rate():
    """Judges `LAYERS` models, each on 600 sentences."""
    rng, missed, false = np.random.default_rng(0), 0, 0
    for _ in range(LAYERS):
        labels, found = given(rng, 600, needed=0.2)
        said = verdicts(found, labels)
        missed += said["the-head-is-needed"][0] != Verdict.SUPPORTED
        missed += said["the-model-does-without-the-head"][0] != Verdict.REFUTED
        false += said["the-head-is-needed"][1] != Verdict.INCONCLUSIVE
    assert missed <= LIMIT
    # Nothing is lost on average without the second head: either verdict on its need is an error.
    assert false <= LIMIT


@pytest.mark.slow("how exact intervals of many heads share their error rate stays inside")
def test_heads_whose_absence_changes_few_answers_get_exact_intervals_that_hold():
    """Two of a hundred answers change at random: the spread over groups would promise too much."""
    rng, false, spared = np.random.default_rng(1), 0, 0
    for _ in range(LAYERS):
        labels, found = given(rng, 600, needed=0.0, discordant=0.04)
        said = verdicts(found, labels)
        false += said["the-head-is-needed"][1] != Verdict.INCONCLUSIVE
        spared += said["the-model-does-without-the-head"][0] == Verdict.SUPPORTED
    assert false <= LIMIT
    # Without the first head no answer changes at all: 600 sentences show less than 1 %, and 200 do not.
    assert spared == LAYERS
    labels, found = given(rng, 200, needed=0.0)
    assert verdicts(found, labels)["the-model-does-without-the-head"][0] == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("heads", [1, 8])
def test_exact_intervals_of_many_heads_hold_together(heads):
    """Without any of them no answer changes: 1 - (rate / 8 / heads)^(1/n) is what could still be lost.

    Half of the rate is for such heads, and they share it; either sign has half of that, and one end half again.
    """
    n, odds = 300, np.ones(300)
    unmoved = Ablated(
        whole=odds,
        single=np.ones((1, heads, n)),
        pairs={((0, 0), (0, 0)): odds},
        chosen_by=np.arange(n) < n // 2,
    )
    found = numbers(unmoved, np.ones(n, int)).of("accuracy lost")
    assert len(found) == heads
    for each in found:
        reach = 1 - (ERROR_RATE / 8 / heads) ** (1 / n)
        assert (each.interval.low, each.interval.high) == pytest.approx((-reach, reach))


def stand_in(rng, n, *, together):
    """Two heads without either of which nothing moves much; without both `together` of the log-odds is lost."""
    labels = rng.integers(0, 2, n)
    sides = np.where(labels > 0, 1.0, -1.0)
    whole = sides * rng.normal(1, 1, n)
    single = whole - 0.1 * sides * rng.random((1, 2, n))
    both = whole - sides * (0.1 + together) * rng.random(n)
    return labels, Ablated(
        whole=whole, single=single, pairs={((0, 0), (0, 1)): both}, chosen_by=np.arange(n) < n // 2
    )


@pytest.mark.parametrize(("together", "wanted"), [(0.5, Verdict.SUPPORTED), (0.0, Verdict.REFUTED)])
def test_heads_that_stand_in_for_each_other_are_told_from_those_that_do_the_same_harm_once(together, wanted):
    """At 0 the two do one harm of 0.05 on average, and each alone does it too."""
    labels, found = stand_in(np.random.default_rng(0), 1000, together=together)
    judged = families.verdicts(beyond_controls(numbers(found, labels))).findings
    (finding,) = judged.of("redundant-heads-stand-in-for-each-other")
    assert finding.verdict == wanted


def test_mcnemars_test_stands_beside_every_head():
    labels, found = given(np.random.default_rng(0), 400, needed=0.2)
    first, second = numbers(found, labels).of("mcnemar p")
    assert first.value < 1e-6 < second.value
    assert first.setting["only_without"] == 0


@pytest.mark.slow("too few sentences for approximations, which are refused, stay inside")
def test_too_few_sentences_are_refused_before_any_is_read():
    reading, _ = before_reviews(classifier(heads=8))
    few, said = dataclasses.replace(reading, tokens=reading.tokens[:18]), []
    with pytest.raises(ValueError, match="at least 10 sentences, or groups of them, not 9"):
        ablated(few, tell=said.append)
    assert not said
