"""The effects of training mode, of padding and of gradients, each alone."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np
import scipy.special

from attnlab_theory.labs.estimates import Estimate, known
from attnlab_theory.labs.reviews.answers import ROWS, log_odds, probabilities, right
from attnlab_theory.labs.reviews.material import Encoded
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.seeds import key_for


def accuracy_lost_to_dropout(model: Any, reviews: Encoded, seed: int) -> float:
    """The accuracy of one model in evaluation mode, minus that in training mode, on the same reviews."""
    labels = np.asarray(reviews.rows.labels)
    plain, dropped = (probabilities(model, reviews.rows, key=key) for key in (None, key_for(seed, "training mode")))
    return float(np.mean(right(plain, labels)) - np.mean(right(dropped, labels)))


def moved_by_dropout(model: Any, reviews: Encoded, seed: int) -> float:
    """The mean movement of the probability of a label by dropout alone."""
    plain, dropped = (log_odds(model, reviews.rows, key=key) for key in (None, key_for(seed, "training mode")))
    return float(np.mean(np.abs(scipy.special.expit(plain) - scipy.special.expit(dropped))))


def moved_by_mode_alone(model: Classifier, reviews: Encoded, seed: int) -> Estimate:
    """`moved by mode alone`: the largest movement of log-odds by training mode, if all rates of dropout are zero.

    BERT and RoBERTa normalise each token by itself. They keep no running means, as batch normalisation does. So
    their two modes differ in dropout alone.
    """
    calm = without_dropout(model)
    plain, training = (log_odds(calm, reviews.rows, key=key) for key in (None, key_for(seed, "training mode")))
    furthest = float(np.max(np.abs(plain - training)))
    return known("moved by mode alone", furthest, len(reviews), "these very reviews are meant", seed=seed)


def without_dropout(model: Classifier) -> Classifier:
    """The same parameters in a classifier whose rates of dropout are all zero."""
    encoder = dataclasses.replace(model.config.encoder, dropout=0.0, attention_dropout=0.0)
    config = dataclasses.replace(model.config, encoder=encoder, dropout=0.0)
    empty = eqx.filter_eval_shape(lambda key: Classifier(config, key=key), jax.random.key(0))
    return jax.tree.unflatten(jax.tree.structure(empty), jax.tree.leaves(model))


def moved_by_padding(model: Any, reviews: Encoded, block: int, **setting: Any) -> Estimate:
    """`moved by padding`: the largest movement of log-odds if every review is padded to the block.

    Args:
        model: any.
        reviews: the reviews.
        block: the most places of a row.
        setting: of the estimate.
    """
    tokens, mask, labels, weights = (np.asarray(part) for part in reviews.rows)
    more = ((0, 0), (0, block - tokens.shape[1]))
    padded = LabelledBatch(np.pad(tokens, more), np.pad(mask, more), labels, weights)
    there = [
        np.asarray(model.logits(padded.take(slice(start, start + ROWS))), np.float64)
        for start in range(0, len(tokens), ROWS)
    ]
    whole = np.concatenate(there)
    furthest = float(np.max(np.abs(whole[:, 1] - whole[:, 0] - log_odds(model, reviews.rows))))
    return known("moved by padding", furthest, len(reviews), "these very reviews are meant", **setting)


def memory_of_gradients(model: Any, reviews: Encoded, **setting: Any) -> Estimate:
    """`memory of gradients`: the temporary bytes of a gradient, divided by those of the loss alone."""
    batch = reviews.rows.take(slice(0, ROWS))

    def loss(model: Any) -> jax.Array:
        return model.summed_loss(batch)

    plain, tracked = (_temporary(program, model) for program in (loss, jax.grad(loss)))
    told = "counted: what the compiler sets aside for this program"
    return known("memory of gradients", tracked / max(plain, 1), 1, told, **setting, rows=len(batch.tokens))


def _temporary(program: Any, model: Any) -> int:
    compiled = jax.jit(program).lower(model).compile()
    found = compiled.memory_analysis()
    assert found is not None, "every backend of XLA tells what its programs need"
    return int(found.temp_size_in_bytes)
