"""Four keys of a homework, the answers given for a query, and the weights that each answer leads to.

Strengths reach 1e5. Scores of that size are rounded to 0.008 in float32, which is the size of the differences that
decide. So the operator computes in float64 here, whatever jax is set to.
"""

import enum
import math
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import attention_weights
from attnlab_theory.construct import query_for_subset
from attnlab_theory.theory.selecting import four_keys as theory

KEYS = np.array([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
"""As the homework gives them: of length 1 but for their rounding to two digits."""

EPS = float(np.finfo(np.float64).eps)


class Answer(enum.StrEnum):
    """An answer to the question for the query."""

    MEAN_OF_ALL = "mean of all keys"
    MEAN_OF_TWO = "mean of the first two"
    MARGIN = "largest margin"
    FOUR_DIGITS = "largest margin, four digits"
    MAXIMUM_NORM = "largest margin in the maximum norm"
    ZERO = "zero"
    ITSELF = "the key itself"


def direction(answer: Answer) -> np.ndarray:
    """The query at strength 1."""
    match answer:
        case Answer.MEAN_OF_ALL:
            return np.mean(KEYS, axis=0)
        case Answer.MEAN_OF_TWO:
            return np.mean(KEYS[:2], axis=0)
        case Answer.MARGIN:
            return query_for_subset(KEYS, [0, 1]).query
        case Answer.FOUR_DIGITS:
            return np.round(query_for_subset(KEYS, [0, 1]).query, 4)
        case Answer.MAXIMUM_NORM:
            return np.array([1.0, 1.0, 1 / 59.5])
        case Answer.ZERO:
            return np.zeros(3)
        case Answer.ITSELF:
            raise ValueError("this answer has no single query: every key is asked for by itself")
        case _:
            assert_never(answer)


def predicted_direction(answer: Answer) -> np.ndarray:
    """The query at strength 1 for the prediction. The theory maximises margins by its own methods."""
    match answer:
        case Answer.MARGIN:
            return theory.pair_query(KEYS, 2.0)
        case Answer.FOUR_DIGITS:
            return np.array([0.6042, 0.7967, -0.0141])
        case Answer.MAXIMUM_NORM:
            return theory.pair_query(KEYS, math.inf)
        case Answer.MEAN_OF_ALL | Answer.MEAN_OF_TWO | Answer.ZERO | Answer.ITSELF:
            return direction(answer)
        case _:
            assert_never(answer)


def weights(query: np.ndarray, strength: float, keys: np.ndarray = KEYS) -> np.ndarray:
    """What attention returns in float64."""
    with jax.enable_x64(True):
        return np.asarray(attention_weights(jnp.asarray(query[None, :]), jnp.asarray(keys), scale=strength)[0])


def rounding(strength: float) -> float:
    """Absolute rounding of a weight: scores of size `strength` (1 + d roundings each), halved by the softmax.

    The query may itself be off by a few eps; linear programming stops within 1e-15 of a corner.
    """
    return 32 * EPS * (strength + 1)
