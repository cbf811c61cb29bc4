"""Do explanations agree with each other, and do the tokens with the largest scores decide the answer?

The test of faithfulness intervenes in another way than any explanation. It replaces tokens by a blank one, the
mask or the unknown word. The movement of the answer is compared with that for as many random tokens of the same
review.
"""

from typing import Any

import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Bool, Float

from attnlab_theory.labs.estimates import Estimate, Estimates, mean
from attnlab_theory.labs.reviews.explanations import Ask, Scores
from attnlab_theory.labs.reviews.material import Encoded
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.language.text.words import UNK_ID, Words
from attnlab_theory.plurals import several
from attnlab_theory.stats import bounded

LEAST_TOKENS = 3
"""The fewest tokens for a rank correlation."""

SHARE = 0.2
"""The share of a review's tokens that are hidden, or kept."""

WITHIN_ONE = bounded(-1.0, 1.0)
"""The range of correlations, and of differences of probabilities."""


def agreement(one: Scores, other: Scores, error_rate: float, **setting: Any) -> Estimate:
    """`rank correlation`: the mean over reviews of Spearman's correlation between the sizes of two scores.

    Reviews with few tokens, or with equal scores, have none. `left_out` counts them.

    Raises:
        ValueError: if no review has a correlation.
    """
    found = []
    for x, y in zip(one, other, strict=True):
        x, y = np.abs(x), np.abs(y)
        if len(x) >= LEAST_TOKENS and np.ptp(x) > 0 and np.ptp(y) > 0:
            found.append(float(np.corrcoef(scipy.stats.rankdata(x), scipy.stats.rankdata(y))[0, 1]))
    if not found:
        raise ValueError(f"none of {several(len(one), 'review')} has {LEAST_TOKENS} tokens with different scores")
    correlations = np.clip(found, -1, 1)  # rounding
    left_out = len(one) - len(found)
    return mean("rank correlation", correlations, WITHIN_ONE, error_rate, **setting, left_out=left_out)


def faithfulness(
    ask: Ask, reviews: Encoded, scores: Scores, blank: int, error_rate: float, seed: int, **setting: Any
) -> Estimates:
    """`moved by hiding` and `held by keeping`: the effect of the top tokens on the answer, against random ones.

    Both are differences of two movements of the probability of label 1. `moved by hiding`: if the top tokens are
    blank, minus if as many random tokens are. `held by keeping`: if all but random tokens are blank, minus if all
    but the top tokens are. Positive numbers say that the tokens with the largest scores decide the answer.

    Args:
        ask: gives the log-odds of the model.
        reviews: reviews of at least one token.
        scores: of their tokens.
        blank: the blank token.
        error_rate: of each interval.
        seed: of the random tokens.
        setting: of the estimates.
    """
    rng = np.random.default_rng(seed)
    top, some = chosen(reviews, scores), chosen(reviews, tuple(rng.random(len(each)) for each in scores))
    whole = scipy.special.expit(ask(reviews.rows))

    def moved(hidden: Bool[np.ndarray, "reviews t"]) -> Float[np.ndarray, " reviews"]:
        """The movement of the probability if tokens are blank."""
        tokens = np.where(hidden, np.int32(blank), np.asarray(reviews.rows.tokens))
        return np.abs(scipy.special.expit(ask(reviews.rows._replace(tokens=tokens))) - whole)

    words = _words(reviews)
    hiding, keeping = moved(top) - moved(some), moved(words & ~some) - moved(words & ~top)
    return Estimates(
        mean(quantity, draws, WITHIN_ONE, error_rate, **setting, share=SHARE)
        for quantity, draws in (("moved by hiding", hiding), ("held by keeping", keeping))
    )


def blank_of(text: OfSentences) -> int:
    """The blank token: the mask of a pretrained vocabulary, or the unknown word.

    Raises:
        ValueError: if the vocabulary has neither.
    """
    found = UNK_ID if isinstance(text, Words) else getattr(text, "mask", None)
    if not isinstance(found, int):
        raise ValueError(f"a vocabulary of {text.as_json()['kind']} has no token that says nothing")
    return found


def _words(reviews: Encoded) -> Bool[np.ndarray, "reviews t"]:
    """The places of tokens that are not marks."""
    places = np.arange(np.asarray(reviews.rows.tokens).shape[1])
    return (places >= 1) & (places < reviews.lengths[:, None] - 1)


def chosen(reviews: Encoded, scores: Scores) -> Bool[np.ndarray, "reviews t"]:
    """The tokens with the largest scores: a share of each review's tokens, at least one."""
    found = np.zeros(np.asarray(reviews.rows.tokens).shape, bool)
    for row, each in enumerate(scores):
        count = max(1, round(SHARE * len(each)))
        found[row, 1 + np.argsort(-np.abs(each), kind="stable")[:count]] = True
    return found
