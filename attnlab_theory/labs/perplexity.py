"""How well a model predicts sentences: the loss of each, and two different perplexities."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.estimates import Estimates, mean
from attnlab_theory.labs.sentences import Encoded
from attnlab_theory.language.corpora.batches import Batch, Numbers, by_length
from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.stats import student

FLOOR_ERROR_RATE = 1e-6
"""The probability with which a lab may call a model leaky although it is not."""

MARGIN = 0.02
"""Losses that differ by less count as equal. In nats per token: 2 % of a perplexity. Stated before any run."""

OVER_SENTENCES = student("sentences are independent, and their losses have light tails")

ROWS = 64
"""How many sentences are computed at once."""


@dataclasses.dataclass(frozen=True)
class Losses:
    """Minus the log-probability of every sentence, its end included, in nats."""

    total: Float[np.ndarray, " sentences"]
    targets: Int[np.ndarray, " sentences"]
    """The number of tokens of each sentence, EOS included."""

    @property
    def per_sentence(self) -> float:
        """The mean over sentences of the mean loss of their tokens, as in the homework."""
        return float(np.mean(self.total / self.targets))

    @property
    def per_token(self) -> float:
        """The mean over all tokens."""
        return float(np.sum(self.total) / np.sum(self.targets))

    @property
    def perplexity_of_sentences(self) -> float:
        """exp of `per_sentence`, as in the homework. Short sentences weigh as much as long ones."""
        return math.exp(self.per_sentence)

    @property
    def perplexity_of_tokens(self) -> float:
        """exp of the mean over all tokens: the usual perplexity."""
        return math.exp(self.per_token)


def losses(model: Any, sentences: Encoded) -> Losses:
    """The loss of every sentence, without dropout.

    Args:
        model: with a method `token_losses(batch)`, such as a `GPT`.
        sentences: whose losses are measured.

    Raises:
        ValueError: if the model cannot take the sentences.
    """
    order = np.argsort(-sentences.lengths, kind="stable")
    sorted_rows = sentences.rows.take(order)
    total = np.zeros(len(order))
    for start in range(0, len(order), ROWS):
        chosen = order[start : start + ROWS]
        (part,) = by_length(sorted_rows.take(slice(start, start + ROWS)), rows=ROWS, step=8)
        found = np.asarray(token_losses(model, part.x, part.y), np.float64)
        counted = part.is_target
        total[chosen] = np.where(counted, found, 0.0).sum(axis=1)[: len(chosen)]
    return Losses(total, sentences.lengths)


@eqx.filter_jit
def token_losses(model: Any, x: Numbers, y: Numbers) -> Float[Array, "b t"]:
    """Minus the log-probability of every token of y, given x up to its place. In nats, without dropout."""
    return model.token_losses(Batch(x, y))


def floor(
    found: Losses, sentences: Sequence[str], language: Grammar | None, block: int, **setting: Any
) -> Estimates:
    """`loss above the grammar`: the mean over sentences that were not cut; nothing where no grammar is known.

    Args:
        found: the losses of the sentences.
        sentences: the sentences, in the same order.
        language: the grammar that they are of; None if there is none.
        block: how many tokens the model reads.
        setting: the setting of the estimate.
    """
    if language is None:
        return Estimates()
    above = above_the_grammar(found, sentences, language, block)
    return Estimates([mean("loss above the grammar", above, OVER_SENTENCES, FLOOR_ERROR_RATE, **setting)])


def above_the_grammar(
    found: Losses, sentences: Sequence[str], language: Grammar, block: int
) -> Float[np.ndarray, " whole"]:
    """The loss minus the grammar's loss of every sentence that was not cut, in nats per token.

    Args:
        found: the losses of a model.
        sentences: the sentences.
        language: the grammar.
        block: places of a row.
    """
    words = [sentence.split() for sentence in sentences]
    exact = np.array([-language.log_probability(sentence) for sentence in words])
    whole = np.array([len(sentence) < block for sentence in words])
    return ((found.total - exact) / found.targets)[whole]
