"""How well a model predicts sentences: the loss of each, and two different perplexities."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.claims import Beyond
from attnlab_theory.labs.estimates import Estimate, Estimates, apart, known, mean
from attnlab_theory.labs.sentences import Encoded
from attnlab_theory.language.corpora.batches import Batch, Numbers, by_length
from attnlab_theory.language.corpora.grammar import Grammar, embedded
from attnlab_theory.stats import student

FLOOR_ERROR_RATE = 1e-6
"""The probability with which a lab may call a model leaky although it is not."""

MARGIN = 0.02
"""Losses that differ by less count as equal. In nats per token: 2 % of a perplexity. Stated before any run."""

OVER_SENTENCES = student("sentences are independent, and their losses have light tails")

ABOVE = "loss above the grammar"

UNIGRAM, BELOW = "loss of a unigram", "test loss below a unigram"

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
    return Estimates([mean(ABOVE, above, OVER_SENTENCES, FLOOR_ERROR_RATE, **setting)])


def without_context(arm: str) -> Beyond:
    """The control of a statement that losses are equal. Models that ignore the context have equal ones.

    Args:
        arm: with whose loss the others are compared. It has to lie below that of a unigram.
    """
    what = "models that know how frequent tokens are, and ignore the context"
    return Beyond(what, BELOW, {"arm": arm}, above=MARGIN)


def of_a_unigram(language: Grammar | None, test: Encoded) -> Estimate:
    """`loss of a unigram`: the least loss per token of any model that ignores the context.

    Args:
        language: the grammar. None: the frequencies of tokens in the test sentences take its place.
        test: the sentences.
    """
    if language is not None:
        return _of_the_grammar(language)
    targets = test.rows.y[np.arange(test.rows.y.shape[1]) < test.lengths[:, None]]
    shares = np.unique(targets, return_counts=True)[1] / len(targets)
    told = "counted: frequencies of tokens in these very sentences"
    return known(UNIGRAM, float(-shares @ np.log(shares)), len(targets), told)


def beside_a_unigram(found: Sequence[Estimate], arm: str) -> Estimates:
    """`test loss below a unigram`: how far an arm's test loss lies below that of a unigram.

    A run of an older version has no loss of a unigram. It is computed if the run knew the embedded grammar. Else
    there is no such number.
    """
    unigrams = [each for each in found if each.quantity == UNIGRAM]
    new: list[Estimate] = []
    if not unigrams and any(each.quantity == ABOVE for each in found):
        unigrams = new = [_of_the_grammar(embedded())]
    losses = [each for each in found if each.quantity == "test loss" and each.setting.get("arm") == arm]
    differences = (apart(each, BELOW, unigram.value, below=True) for unigram in unigrams for each in losses)
    return Estimates((*new, *differences))


def _of_the_grammar(language: Grammar) -> Estimate:
    told = "computed: the entropy of a token of the grammar"
    return known(UNIGRAM, language.unigram_entropy, 1, told)


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
