"""How well a model knows sentences: the loss of each, and two perplexities that are not the same."""

import dataclasses
import math

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.captions.material import Encoded
from attnlab_theory.language.corpora.batches import Batch, by_length
from attnlab_theory.language.models.gpt import GPT

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


def losses(model: GPT, sentences: Encoded) -> Losses:
    """The loss of every sentence, without dropout.

    Raises:
        ValueError: as `GPT.rows`.
    """
    order = np.argsort(-sentences.lengths, kind="stable")
    sorted_rows = sentences.rows.take(order)
    total = np.zeros(len(order))
    for start in range(0, len(order), ROWS):
        chosen = order[start : start + ROWS]
        (part,) = by_length(sorted_rows.take(slice(start, start + ROWS)), rows=ROWS, step=8)
        found = np.asarray(_token_losses(model, Batch(part.x, part.y)), np.float64)
        counted = part.is_target
        total[chosen] = np.where(counted, found, 0.0).sum(axis=1)[: len(chosen)]
    return Losses(total, sentences.lengths)


@eqx.filter_jit
def _token_losses(model: GPT, batch: Batch) -> Float[Array, "b t"]:
    return model.token_losses(batch)
