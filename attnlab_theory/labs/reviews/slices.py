"""The errors of a classifier by length, by negation and opposition, and by its confidence."""

import re

import numpy as np
from jaxtyping import Bool, Int

from attnlab_theory.labs.estimates import Estimates, mean, share
from attnlab_theory.labs.reviews.answers import Probabilities, right
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.stats import bounded

NEGATED = re.compile(r"\b(not|n't|no|never|nothing|nobody|neither|nor|without|hardly|cannot)\b|n't\b")
OPPOSED = re.compile(r"\b(but|although|though|however|yet|while|despite)\b")

LENGTHS = (0, 8, 12, 16, 24, 32)
"""The numbers of words from which on a review belongs to the next group."""

CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The probabilities from which on an answer belongs to the next group."""


def by_length(reviews: Reviews, hits: Bool[np.ndarray, " reviews"], error_rate: float) -> Estimates:
    """`accuracy by length`: on reviews with at least `least` words, and fewer than the next group."""
    words = np.array([len(text.split()) for text in reviews.texts])
    group = np.searchsorted(LENGTHS, words, side="right") - 1
    return Estimates(
        share("accuracy by length", hits[group == number].astype(float), error_rate, least=least)
        for number, least in enumerate(LENGTHS)
        if np.any(group == number)
    )


def by_kind(reviews: Reviews, hits: Bool[np.ndarray, " reviews"], error_rate: float) -> Estimates:
    """`accuracy by kind`: on reviews with and without words of negation, and of opposition."""
    found = []
    for kind, pattern in (("negation", NEGATED), ("opposition", OPPOSED)):
        holds = np.array([bool(pattern.search(text)) for text in reviews.texts])
        for has in (False, True):
            if np.any(holds == has):
                draws = hits[holds == has].astype(float)
                found.append(share("accuracy by kind", draws, error_rate, kind=kind, has=has))
    return Estimates(found)


def by_confidence(found: Probabilities, labels: Int[np.ndarray, " reviews"], error_rate: float) -> Estimates:
    """`accuracy by confidence` with each group's mean confidence, and `confidence less accuracy` over all."""
    hits, confidence = right(found, labels), np.maximum(found, 1 - found)
    group = np.searchsorted(CONFIDENCES, confidence, side="right") - 1
    groups = [
        share(
            "accuracy by confidence",
            hits[group == number].astype(float),
            error_rate,
            least=least,
            confidence=round(float(np.mean(confidence[group == number])), 6),
        )
        for number, least in enumerate(CONFIDENCES)
        if np.any(group == number)
    ]
    return Estimates([*groups, mean("confidence less accuracy", confidence - hits, bounded(-1.0, 1.0), error_rate)])
