"""The quick variant: a logistic regression on the features of a frozen encoder."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Float

from attnlab_theory.labs.reviews.answers import ROWS
from attnlab_theory.labs.reviews.material import Encoded
from attnlab_theory.language.corpora.buckets import in_buckets
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.classifier import Classifier, Pooling, mean_of_tokens

STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
"""The strengths of the penalty on squared weights. The best on validation is taken."""


def features(model: Classifier, rows: LabelledBatch) -> Float[np.ndarray, "reviews c"]:
    """The mean of the encoder's tokens, for every row, without dropout."""
    found = np.zeros((len(rows.tokens), model.config.encoder.width))
    for bucket in in_buckets(rows, rows=ROWS):
        found[bucket.rows] = np.asarray(_features(model, bucket.batch))[: len(bucket.rows)]
    return found


class Headed(NamedTuple):
    """A model with a new head, and the share of reviews that it answers right."""

    model: Classifier
    training: float
    validation: float


def with_head(model: Classifier, learned: Encoded, reviews: Encoded) -> Headed:
    """The model with a logistic regression on its features as its head. The encoder stays the same.

    Args:
        model: that pools by the mean.
        learned: the reviews to which the regression is fitted.
        reviews: the reviews by which its penalty is chosen.

    Raises:
        ValueError: if the model pools in another way: the regression would leave out the layer of that pooling.
    """
    if model.config.pooling is not Pooling.MEAN:
        raise ValueError(f"a head on frozen features needs the pooling mean, not {model.config.pooling}")
    x, labels = features(model, learned.rows), np.asarray(learned.rows.labels)
    shift, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    other, answers = features(model, reviews.rows), np.asarray(reviews.rows.labels)

    def whole(strength: float) -> _Head:
        """The head for features that are not normalised."""
        weights, bias = _fitted((x - shift) / scale, labels, strength)
        return _Head(weights / scale, bias - float(weights @ (shift / scale)))

    best = max(map(whole, STRENGTHS), key=lambda head: head.right(other, answers))
    return Headed(_with_layer(model, *best), best.right(x, labels), best.right(other, answers))


class _Head(NamedTuple):
    weights: Float[np.ndarray, " c"]
    bias: float

    def right(self, x: Float[np.ndarray, "reviews c"], labels: np.ndarray) -> float:
        """The share of labels that it answers right."""
        return float(np.mean((x @ self.weights + self.bias > 0) == labels))


def _fitted(
    x: Float[np.ndarray, "reviews c"], labels: np.ndarray, strength: float
) -> tuple[Float[np.ndarray, " c"], float]:
    """Weights and bias of the logistic regression with this penalty."""
    signs = 2.0 * labels - 1

    def lost(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = parameters[:-1], parameters[-1]
        margins = signs * (x @ weights + bias)
        pull = -signs / (1 + np.exp(np.clip(margins, -500, 500))) / len(x)
        value = np.mean(np.logaddexp(0, -margins)) + strength / 2 * weights @ weights
        return float(value), np.append(x.T @ pull + strength * weights, pull.sum())

    found = scipy.optimize.minimize(lost, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B")
    return found.x[:-1], float(found.x[-1])


def _with_layer(model: Classifier, weights: Float[np.ndarray, " c"], bias: float) -> Classifier:
    """The model whose two logits differ by the log-odds of the regression."""
    layer = np.stack([-weights, weights], axis=1) / 2, np.array([-bias, bias]) / 2
    parts = tuple(jnp.asarray(part, jnp.float32) for part in layer)
    changed: Any = eqx.tree_at(lambda m: (m.out.weight, m.out.bias), model, parts)
    return changed


@eqx.filter_jit
def _features(model: Classifier, batch: LabelledBatch) -> Float[Array, "b c"]:
    mask = jnp.asarray(batch.mask)
    return mean_of_tokens(model.encoder.hidden(jnp.asarray(batch.tokens), mask), mask)
