"""Accuracies of groups of reviews: every review is in one group, and each group counts its own."""

import numpy as np
import pytest

from attnlab_theory.labs.reviews.slices import NEGATED, OPPOSED, by_confidence, by_kind, by_length
from attnlab_theory.language.corpora.reviews import Reviews


@pytest.mark.parametrize(
    ("text", "negated", "opposed"),
    [
        ("the film was not good", True, False),
        ("it does n't work", True, False),
        ("it doesn't work", True, False),
        ("a notable knot", False, False),
        ("slow , but moving", False, True),
        ("although never dull", True, True),
        ("a butter knife", False, False),
    ],
)
def test_words_of_negation_and_opposition_are_found_as_words(text, negated, opposed):
    assert (bool(NEGATED.search(text)), bool(OPPOSED.search(text))) == (negated, opposed)


def test_groups_by_length_and_kind_count_their_own():
    reviews = Reviews(("good", "not good " * 6, "but " * 40), (1, 0, 1))
    hits = np.array([True, False, True])
    lengths = by_length(reviews, hits, 0.05)
    assert [(e.setting["least"], e.value) for e in lengths] == [(0, 1.0), (12, 0.0), (32, 1.0)]
    kinds = {(e.setting["kind"], e.setting["has"]): e.value for e in by_kind(reviews, hits, 0.05)}
    assert kinds == {
        ("negation", False): 1.0,
        ("negation", True): 0.0,
        ("opposition", False): 0.5,
        ("opposition", True): 1.0,
    }


def test_confidence_is_compared_with_accuracy():
    found, labels = np.array([0.9, 0.1, 0.9, 0.55]), np.array([1, 0, 0, 0])
    *groups, gap = by_confidence(found, labels, 0.05)
    assert [(e.setting["least"], e.value, e.draws) for e in groups] == [
        (0.5, 0.0, 1),
        (0.9, pytest.approx(2 / 3), 3),
    ]
    assert gap.value == pytest.approx((3 * 0.9 + 0.55 - 2) / 4)


def test_a_model_that_says_its_chances_is_calibrated():
    rng = np.random.default_rng(0)
    chances = rng.random(4000)
    labels = (rng.random(4000) < chances).astype(int)
    gap = by_confidence(chances, labels, 1e-6)[-1]
    assert gap.interval.low <= 0 <= gap.interval.high
    sure = by_confidence(np.where(chances > 0.5, 0.99, 0.01), labels, 1e-6)[-1]
    assert sure.interval.low > 0.1
