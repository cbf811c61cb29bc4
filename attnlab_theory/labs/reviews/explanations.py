"""Three explanations of a classifier's answers: which tokens of a review matter?

Each gives a score to every token of a review but the two marks. Scores of gradient and leave-one-out have a sign:
positive ones speak for label 1. Rollout has no sign.
"""

import functools
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory.labs.reviews.answers import ROWS, LogOdds, log_odds
from attnlab_theory.labs.reviews.material import Encoded, batch_of
from attnlab_theory.language.corpora.buckets import in_buckets
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.classifier import Classifier, Pooling, mean_of_tokens
from attnlab_theory.language.models.tape import tape

Ask = Callable[[LabelledBatch], LogOdds]
"""A function that gives the log-odds of label 1 for every row. Leave-one-out needs nothing else of a model."""

Scores = tuple[Float[np.ndarray, " _"], ...]
"""For every review, a number for each of its tokens, without marks."""


def scored(model: Classifier, reviews: Encoded, *, pad: int) -> dict[str, Scores]:
    """All explanations of a classifier's answers, by name.

    Args:
        model: a classifier that pools by the mean.
        reviews: reviews of at least one token.
        pad: the token that fills up rows.

    Raises:
        ValueError: if the model does not pool by the mean.
    """
    return {
        "gradient": gradient_times_input(model, reviews),
        "rollout": attention_rollout(model, reviews),
        "leave-one-out": leave_one_out(functools.partial(log_odds, model), reviews, pad=pad),
    }


def leave_one_out(ask: Ask, reviews: Encoded, *, pad: int) -> Scores:
    """The fall of the log-odds if a token is deleted, and the others move together.

    Args:
        ask: gives the log-odds of the model.
        reviews: reviews of at least one token.
        pad: the token that fills up rows.
    """
    whole = ask(reviews.rows)
    rows, lengths = np.asarray(reviews.rows.tokens), reviews.lengths
    without = [
        np.delete(row[:length], place)
        for row, length in zip(rows, lengths, strict=True)
        for place in range(1, length - 1)
    ]
    left = ask(batch_of(without, pad))
    ends = np.cumsum(lengths - 2)
    return tuple(whole[i] - part for i, part in enumerate(np.split(left, ends[:-1])))


def gradient_times_input(model: Classifier, reviews: Encoded) -> Scores:
    """The product of a token's input to the first layer with the gradient of the log-odds there.

    Raises:
        ValueError: if the model does not pool by the mean.
    """
    if model.config.pooling is not Pooling.MEAN:
        raise ValueError(f"gradients are taken through the pooling mean, not {model.config.pooling}")
    return _by_review(reviews, lambda batch: np.asarray(_gradients(model, batch)))


def attention_rollout(model: Classifier, reviews: Encoded) -> Scores:
    """The share of each token in the mean over the last layer's tokens, by the product of all layers' weights.

    Source: Abnar and Zuidema 2020. Weights are averaged over heads, and the skip connection counts for half of a
    layer.

    Raises:
        ValueError: if the model does not pool by the mean.
    """
    if model.config.pooling is not Pooling.MEAN:
        raise ValueError(f"rollout begins with the mean over tokens, not with the pooling {model.config.pooling}")

    def rolled(batch: LabelledBatch) -> np.ndarray:
        weights = [np.asarray(layer, np.float64) for layer in _weights(model, batch)]
        return rollout(weights, np.asarray(batch.mask))

    return _by_review(reviews, rolled)


def rollout(weights: Sequence[Float[np.ndarray, "b h t t"]], mask: np.ndarray) -> Float[np.ndarray, "b t"]:
    """The share of every token in the mean over all tokens, from the weights of each layer, first layer first."""
    tokens = mask.astype(float)
    shares = tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1)
    for layer in reversed(weights):
        shares = 0.5 * shares + 0.5 * np.einsum("bt,bts->bs", shares, layer.mean(axis=1))
    return shares


def _by_review(reviews: Encoded, scored: Callable[[LabelledBatch], np.ndarray]) -> Scores:
    """The scores of every review, cut to its tokens."""
    found: list[np.ndarray] = [np.zeros(0)] * len(reviews)
    for bucket in in_buckets(reviews.rows, rows=ROWS):
        scores = np.asarray(scored(bucket.batch), np.float64)
        for row, place in enumerate(bucket.rows):
            found[place] = scores[row, 1 : reviews.lengths[place] - 1]
    return tuple(found)


@eqx.filter_jit
def _gradients(model: Classifier, batch: LabelledBatch) -> Float[Array, "b t"]:
    mask = jnp.asarray(batch.mask)
    x = model.encoder.embedded(jnp.asarray(batch.tokens), mask)

    def summed(x: Array) -> Array:
        pooled = mean_of_tokens(model.encoder.through(x, mask), mask)
        logits = model.out(pooled[:, None])[:, 0]
        return jnp.sum(logits[:, 1] - logits[:, 0])

    return jnp.sum(x * jax.grad(summed)(x), axis=2)


@eqx.filter_jit
def _weights(model: Classifier, batch: LabelledBatch) -> tuple[Array, ...]:
    walk = model.encoder.walk(jnp.asarray(batch.tokens), jnp.asarray(batch.mask))
    return tuple(tape(walk, keep=["layers.*.weights"]).layers("weights"))
