"""Reviews as rows of tokens."""

import numpy as np
import pytest

from attnlab_theory.labs.reviews.arms import Arm
from attnlab_theory.labs.reviews.material import Sizes, encoded, generated, read
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.text.words import Words

TEXT = Words(("bad", "film", "good"))
REVIEWS = Reviews(("good film", "bad", "bad bad bad bad film"), (1, 0, 0), "three")


def test_rows_stand_between_marks_and_are_padded_to_the_longest():
    found = encoded(REVIEWS, TEXT, 8)
    bad, film, good = TEXT.encode(["bad", "film", "good"]).tolist()
    assert found.rows.tokens[0].tolist() == [TEXT.bos, good, film, TEXT.eos, 0, 0, 0]
    assert found.rows.tokens[1].tolist() == [TEXT.bos, bad, TEXT.eos, 0, 0, 0, 0]
    assert found.rows.mask.sum(axis=1).tolist() == found.lengths.tolist() == [4, 3, 7]
    assert (found.rows.labels.tolist(), found.cut) == ([1, 0, 0], 0)


def test_over_long_reviews_are_counted_and_keep_their_end_mark():
    found = encoded(REVIEWS, TEXT, 4)
    assert (found.cut, found.rows.tokens.shape) == (1, (3, 4))
    assert found.rows.tokens[2, -1] == TEXT.eos


@pytest.mark.parametrize(
    ("texts", "block", "told"),
    [(("good",), 2, "no room for a token"), (("good", ""), 8, "line 2 of here has no token")],
)
def test_what_has_no_token_is_refused(texts, block, told):
    with pytest.raises(ValueError, match=told):
        encoded(Reviews(texts, (0,) * len(texts), "here"), TEXT, block)


def test_drawn_reviews_follow_from_the_seed():
    sizes = Sizes(train=20, validation=5, test=7)
    first, again, other = (generated(seed, sizes) for seed in (1, 1, 2))
    assert first.train == again.train != other.train
    assert tuple(map(len, (first.train, first.validation, first.test))) == (20, 5, 7)
    assert {word for text in first.train.texts for word in text.split()} <= set(first.text.words)


def test_reviews_of_one_label_teach_nothing(tmp_path):
    (tmp_path / "r").write_text("1 good\n1 fine\n")
    with pytest.raises(ValueError, match=r"all reviews of .* have the label 1"):
        read(tmp_path / "r", tmp_path / "r", tmp_path / "r")


def test_orders_shuffle_nothing_but_by_label():
    shuffled, by_label = (Arm(optimizer="adamw", rate=1e-3, order=order) for order in ("shuffled", "by-label"))
    assert shuffled.ordered(REVIEWS) == REVIEWS
    assert by_label.ordered(REVIEWS).labels == (0, 0, 1)
    assert by_label.ordered(REVIEWS).texts == ("bad", "bad bad bad bad film", "good film")
    assert (shuffled.name, by_label.name) == ("adamw.lr-0.001", "adamw.lr-0.001.by-label")


@pytest.mark.parametrize("rate", [float("nan"), 0.0, -1.0, float("inf")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match=f"learning rate must be positive and finite, not {rate}"):
        Arm(optimizer="sgd", rate=rate)


def test_rows_of_reviews_are_those_of_the_file():
    assert np.array_equal(
        encoded(REVIEWS.take([2]), TEXT, 8).rows.tokens[0], encoded(REVIEWS, TEXT, 8).rows.tokens[2]
    )


def test_reviews_without_spaces_are_not_read_by_words(tmp_path):
    line = "\u8fd9\u90e8\u7535\u5f71\u5f88\u597d\u770b"
    (tmp_path / "train").write_text(f"1 {line}\n0 {line}\n", "utf-8")
    with pytest.raises(ValueError, match="train: 2 of 2 lines have no spaces between words, 2 are one token"):
        read(*[tmp_path / "train"] * 3)
