"""The answers of a classifier about reviews: a probability of each label, in evaluation mode or with dropout."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
import scipy.special
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.labs import comparisons
from attnlab_theory.labs.reviews.material import Encoded
from attnlab_theory.language.corpora.buckets import in_buckets
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch

ROWS = 64
"""How many reviews are computed at once."""

Probabilities = Float[np.ndarray, " reviews"]
"""The probability of label 1, for each review."""

LogOdds = Float[np.ndarray, " reviews"]
"""The logarithm of the odds of label 1, for each review."""


def probabilities(model: Any, rows: LabelledBatch, *, key: PRNGKeyArray | None = None) -> Probabilities:
    """The probability of label 1 for every row.

    Args:
        model: with a method `logits(batch, key)` for two classes, such as a `Classifier`.
        rows: the reviews. Their labels are not read.
        key: for dropout, as in training mode. None means no dropout, as in evaluation mode.

    Raises:
        ValueError: if the model cannot take the rows.
    """
    return scipy.special.expit(log_odds(model, rows, key=key))


def log_odds(model: Any, rows: LabelledBatch, *, key: PRNGKeyArray | None = None) -> LogOdds:
    """The logarithm of the odds of label 1 for every row.

    Args:
        model: with a method `logits(batch, key)` for two classes, such as a `Classifier`.
        rows: the reviews. Their labels are not read.
        key: for dropout, as in training mode. None means no dropout, as in evaluation mode.

    Raises:
        ValueError: if the model cannot take the rows.
    """
    found = np.zeros(len(rows.tokens))
    for number, bucket in enumerate(in_buckets(rows, rows=ROWS)):
        own = None if key is None else jax.random.fold_in(key, number)
        logits = np.asarray(_logits(model, bucket.batch, own), np.float64)[: len(bucket.rows)]
        found[bucket.rows] = logits[:, 1] - logits[:, 0]
    return found


@eqx.filter_jit
def _logits(model: Any, batch: LabelledBatch, key: PRNGKeyArray | None) -> Float[Array, "b classes"]:
    return model.logits(batch, key)


def labels(found: Probabilities) -> str:
    """A label on each line, in the order of the reviews."""
    return "".join(f"{int(answer > 0.5)}\n" for answer in found)


def right(found: Probabilities, labels: Int[np.ndarray, " reviews"]) -> Bool[np.ndarray, " reviews"]:
    """Which answers are right. A probability of exactly 0.5 is the answer 0."""
    return comparisons.right(found, labels, even=0.5)


def accuracy(model: Any, reviews: Encoded) -> float:
    """The share of reviews whose label gets the higher probability."""
    return float(np.mean(right(probabilities(model, reviews.rows), np.asarray(reviews.rows.labels))))
