"""The answers of a classifier, with its own heads or with replaced ones.

`reviews/answers.py` gives log-odds too, but of any model with logits, also with dropout. Here each batch may have a
classifier of its own, and the ablations go on from states in the middle of the model.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.rows import ROWS, batches
from attnlab_theory.labs.heads.traces import Tokens
from attnlab_theory.language.models.classifier import Classifier


class Rows(NamedTuple):
    """Some sentences as an encoder reads them."""

    numbers: Int[np.ndarray, " n"]
    """The numbers of the sentences. Rows after them only fill up the batch."""
    tokens: Int[Array, "b t"]
    mask: Bool[Array, "b t"]


def in_rows(sentences: Sequence[Tokens], *, longest: int) -> Iterator[Rows]:
    """All sentences, some at a time, those of similar length together."""
    order = np.argsort([len(each.ids) for each in sentences], kind="stable")
    ordered = [sentences[number] for number in order]
    for place, (chosen, tokens, lengths) in enumerate(batches(ordered, longest=longest)):
        mask = np.arange(tokens.shape[1])[None, :] < lengths[:, None]
        numbers = order[place * ROWS : place * ROWS + len(chosen)]
        yield Rows(numbers, jnp.asarray(tokens), jnp.asarray(mask))


def log_odds(
    reading: EncoderReading, changed: Callable[[Classifier, int], Classifier] = lambda model, _: model
) -> Float[np.ndarray, " sentences"]:
    """The logarithm of the odds of label 1, of every sentence.

    Args:
        reading: of a classifier of two labels.
        changed: makes the classifier that answers, from the reading's own and the number of a batch.
    """
    assert reading.classifier is not None, "only classifiers are asked for labels"
    found = np.zeros(len(reading.tokens))
    for number, rows in enumerate(in_rows(reading.tokens, longest=reading.model.config.block)):
        odds = _odds(changed(reading.classifier, number), rows.tokens, rows.mask)
        found[rows.numbers] = np.asarray(odds)[: len(rows.numbers)]
    return found


@eqx.filter_jit
def _odds(model: Classifier, tokens: Int[Array, "b t"], mask: Bool[Array, "b t"]) -> Float[Array, " b"]:
    return odds_of(model, model.encoder.hidden(tokens, mask), mask)


def odds_of(model: Classifier, hidden: Float[Array, "b t c"], mask: Bool[Array, "b t"]) -> Float[Array, " b"]:
    """The log-odds from the encoder's last tokens."""
    logits = model.of_hidden(hidden, mask)
    return logits[:, 1] - logits[:, 0]
