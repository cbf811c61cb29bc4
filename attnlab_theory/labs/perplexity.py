"""How well a model knows sentences: the loss of each, and two perplexities that are not the same."""

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
"""How often the lab may call a model a leak that is none."""

MARGIN = 0.02
"""Losses that differ by less, in nats per token, are the same: 2 % of a perplexity. Stated before any run."""

OVER_SENTENCES = student("sentences are independent, and their losses have light tails")

ROWS = 64
"""Sentences that are computed at once."""


@dataclasses.dataclass(frozen=True)
class Losses:
    """Minus the log-probability of every sentence, its end included, in nats."""

    total: Float[np.ndarray, " sentences"]
    targets: Int[np.ndarray, " sentences"]
    """Tokens of each sentence, EOS among them."""

    @property
    def per_sentence(self) -> float:
        """The mean over sentences of each one's mean over tokens, as in the homework."""
        return float(np.mean(self.total / self.targets))

    @property
    def per_token(self) -> float:
        """The mean over all tokens."""
        return float(np.sum(self.total) / np.sum(self.targets))

    @property
    def perplexity_of_sentences(self) -> float:
        """exp of the mean of sentence means, as in the homework. Short sentences weigh as much as long ones."""
        return math.exp(self.per_sentence)

    @property
    def perplexity_of_tokens(self) -> float:
        """exp of the mean over tokens: everybody else's perplexity."""
        return math.exp(self.per_token)


def losses(model: Any, sentences: Encoded) -> Losses:
    """The loss of every sentence, without dropout.

    Args:
        model: with a method `token_losses(batch)`, as `GPT` has it.
        sentences: what is asked.

    Raises:
        ValueError: as the model.
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
    """Minus the log-probability of every token of y after those of x up to its place, in nats, without dropout."""
    return model.token_losses(Batch(x, y))


def floor(
    found: Losses, sentences: Sequence[str], language: Grammar | None, block: int, **setting: Any
) -> Estimates:
    """`loss above the grammar`: the mean over sentences that were not cut; nothing where no grammar is known.

    Args: as `above_the_grammar`, and the setting of the estimate.
    """
    if language is None:
        return Estimates()
    above = above_the_grammar(found, sentences, language, block)
    return Estimates([mean("loss above the grammar", above, OVER_SENTENCES, FLOOR_ERROR_RATE, **setting)])


def above_the_grammar(
    found: Losses, sentences: Sequence[str], language: Grammar, block: int
) -> Float[np.ndarray, " whole"]:
    """For every sentence that was not cut: its loss less that under the grammar, in nats per token.

    Args:
        found: the losses of a model.
        sentences: their words.
        language: the grammar.
        block: places of a row.
    """
    words = [sentence.split() for sentence in sentences]
    exact = np.array([-language.log_probability(sentence) for sentence in words])
    whole = np.array([len(sentence) < block for sentence in words])
    return ((found.total - exact) / found.targets)[whole]
