"""Explanations of models whose answer is known: a bag of words, and attention that is written down."""

import equinox as eqx
import jax
import numpy as np
import pytest

from attnlab_theory.labs.reviews import modes
from attnlab_theory.labs.reviews.answers import log_odds, probabilities, right
from attnlab_theory.labs.reviews.explanations import (
    attention_rollout,
    gradient_times_input,
    leave_one_out,
    rollout,
)
from attnlab_theory.labs.reviews.faithfulness import agreement, blank_of, faithfulness
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.text.words import Words

WORDS = tuple(f"w{number}" for number in range(12))
TEXT = Words(tuple(sorted(WORDS)))
WORTH = np.concatenate([np.zeros(4), [-1.5, 1.5], np.linspace(-0.2, 0.3, 10)])
"""What each token adds to the log-odds: two words decide; marks and unknown words add nothing."""

RNG = np.random.default_rng(0)
TEXTS = tuple(" ".join(RNG.choice(WORDS, RNG.integers(5, 12))) for _ in range(40))
ASKED = encoded(Reviews(TEXTS, (0,) * len(TEXTS)), TEXT, 32)
TRUE = tuple(WORTH[TEXT.encode_text(text)] for text in TEXTS)
SINGLE = 1e-4


def bag(rows):
    """The log-odds of a model that adds up what its words are worth."""
    return np.where(rows.mask, WORTH[rows.tokens], 0).sum(axis=1)


def small(seed=0):
    encoder = EncoderConfig(
        vocabulary=len(TEXT), block=32, layers=2, heads=2, width=8, types=1, dropout=0.5, attention_dropout=0.5
    )
    empty = eqx.filter_eval_shape(
        lambda key: Classifier(ClassifierConfig(encoder=encoder), key=key), jax.random.key(0)
    )
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jax.numpy.asarray(0.5 * rng.standard_normal(x.shape), x.dtype), empty)


MODEL = small()


def test_leaving_a_word_out_of_a_bag_loses_what_it_is_worth():
    for found, true in zip(leave_one_out(bag, ASKED, pad=TEXT.pad), TRUE, strict=True):
        np.testing.assert_allclose(found, true, atol=1e-12)


def test_true_scores_agree_with_themselves_and_random_ones_do_not():
    same = agreement(TRUE, TRUE, 0.05)
    assert same.value == pytest.approx(1)
    other = agreement(TRUE, tuple(RNG.random(len(each)) for each in TRUE), 1e-6)
    assert other.interval.low <= 0 <= other.interval.high
    with pytest.raises(ValueError, match="none of 1 review has 3 tokens with different scores"):
        agreement((np.zeros(9),), (np.arange(9.0),), 0.05)


def test_reviews_without_a_rank_correlation_are_counted():
    one = (np.arange(5.0), np.zeros(5), np.arange(2.0))
    assert agreement(one, (np.arange(5.0),) * 2 + (np.arange(2.0),), 0.05).setting["left_out"] == 2


def test_hiding_the_words_of_most_worth_moves_a_bag_further_than_hiding_random_ones():
    many = encoded(Reviews(TEXTS * 10, (0,) * 400), TEXT, 32)
    hiding, keeping = faithfulness(bag, many, TRUE * 10, blank_of(TEXT), 0.01, 0)
    assert hiding.interval.low > 0
    assert keeping.interval.low > 0
    turned = tuple(1 / (0.01 + np.abs(each)) for each in TRUE) * 10
    assert all(each.value < 0 for each in faithfulness(bag, many, turned, blank_of(TEXT), 0.01, 0))


def test_rollout_of_attention_that_is_written_down():
    first = np.array([[1.0, 0.0], [1.0, 0.0]])
    found = rollout([first[None, None]], np.ones((1, 2), bool))
    np.testing.assert_allclose(found, [[0.75, 0.25]])
    # Through two layers that both look at the first token: half of the rest is left each time.
    found = rollout([first[None, None]] * 2, np.ones((1, 2), bool))
    np.testing.assert_allclose(found, [[0.875, 0.125]])
    padded = np.zeros((1, 1, 3, 3))
    padded[0, 0, :2, :2] = first
    np.testing.assert_allclose(rollout([padded], np.array([[True, True, False]])), [[0.75, 0.25, 0]])


def test_rollouts_of_a_review_share_out_at_most_one_and_have_a_number_for_every_token():
    found = attention_rollout(MODEL, ASKED)
    assert [len(each) for each in found] == [len(text.split()) for text in TEXTS]
    assert all(0 < each.sum() < 1 for each in found)


@pytest.mark.slow("slopes of the encoder along its parameters stay inside")
def test_a_gradient_is_the_slope_of_the_log_odds_as_its_input_grows():
    """Scaling what the first layer reads of one token moves the log-odds by its score, to first order."""
    few = encoded(Reviews(TEXTS[:2], (0, 0)), TEXT, 32)
    scores = gradient_times_input(MODEL, few)
    mask = jax.numpy.asarray(few.rows.mask)
    x = MODEL.encoder.embedded(jax.numpy.asarray(few.rows.tokens), mask)

    through = jax.jit(lambda change: MODEL.encoder.through(x.at[0, 2].multiply(1 + change), mask))

    def odds(change):
        hidden = through(change)
        pooled = np.asarray(hidden, np.float64)[0][few.rows.mask[0]].mean(axis=0)
        weight, bias = np.asarray(MODEL.out.weight, np.float64), np.asarray(MODEL.out.bias, np.float64)
        return (pooled @ weight + bias) @ [-1, 1]

    step = 1e-2
    slope, coarse = ((odds(h) - odds(-h)) / (2 * h) for h in (step, 2 * step))
    assert scores[0][1] == pytest.approx(slope, abs=2 / 3 * abs(coarse - slope) + SINGLE / step)


@pytest.mark.slow("rows that only fill up a classifier's batch stay inside")
def test_answers_do_not_depend_on_which_reviews_are_asked_beside():
    """Compiles the classifier for 64 reviews of each width."""
    whole = log_odds(MODEL, ASKED.rows)
    alone = log_odds(MODEL, encoded(Reviews(TEXTS[3:4], (0,)), TEXT, 32).rows)
    assert whole[3] == pytest.approx(alone[0], abs=SINGLE)
    np.testing.assert_allclose(probabilities(MODEL, ASKED.rows), 1 / (1 + np.exp(-whole)))


@pytest.mark.slow("dropout of one classifier's head, by its key, stays inside")
def test_dropout_is_drawn_from_the_key_and_only_with_one():
    keys = jax.random.key(0), jax.random.key(0), jax.random.key(1)
    first, again, other = (log_odds(MODEL, ASKED.rows, key=key) for key in keys)
    plain = log_odds(MODEL, ASKED.rows)
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
    assert not np.allclose(first, plain)


def test_a_half_is_an_answer_of_label_zero():
    assert right(np.array([0.5, 0.5, 0.6]), np.array([0, 1, 1])).tolist() == [True, False, True]


def test_without_dropout_training_mode_says_what_evaluation_mode_says():
    """Compiles a classifier with dropout and without."""
    assert modes.moved_by_mode_alone(MODEL, ASKED, 0).value == 0
    assert modes.moved_by_dropout(MODEL, ASKED, 0) > 0
    calm = modes.without_dropout(MODEL)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(calm), jax.tree.leaves(MODEL), strict=True))
