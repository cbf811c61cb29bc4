"""What a script shows of batches: shapes, and what padding takes."""

import pytest

from attnlab_theory.labs.reviews.data import Data
from attnlab_theory.labs.reviews.material import encoded, read
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.text.words import Words
from experiments.labs.review_batches import ShowBatch, first_batch, ways
from tests.shared_data import shared_data

TEXT = Words(("bad", "film", "good"))
REVIEWS = Reviews(("good film", "bad", "bad bad bad bad film"), (1, 0, 0), "three")


@pytest.mark.slow("shapes of other reviews, and the sizes of the real files, stay inside")
def test_the_first_batch_of_the_real_reviews_is_as_the_homework_shows_it():
    folder = shared_data("sst2_binary")
    train, dev = (folder / f"stsa.binary.{name}" for name in ("train", "dev"))
    material = read(train, dev, dev)
    told = first_batch(material.train, material.text, size=64, block=512)["arrays"]
    assert told["label_encoding"] == {"shape": [64], "dtype": "int32"}
    assert told["input_ids"]["shape"] == told["attention_mask"]["shape"] == [64, 42]  # the homework's tokens: 45


def test_padding_is_counted_in_three_ways():
    to_block, to_longest, in_buckets = ways(encoded(REVIEWS, TEXT, 8), size=2, block=8)
    assert (to_block.places, to_longest.places) == (24, 2 * 4 + 7)
    assert to_block.tokens == to_longest.tokens == in_buckets.tokens == 14
    assert in_buckets.places == 2 * 7 + 2 * 7
    assert to_block.wasted == pytest.approx(10 / 24)


def test_it_shows_shapes_and_what_is_cut(capsys, tmp_path):
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text("1 a good film\n0 a bad film\n1 good\n0 not a good film\n" * 6)
    data = Data(train=tmp_path / "train", validation=tmp_path / "validation", test=tmp_path / "test")
    assert ShowBatch(data=data, batch_size=4, max_length=5).run() == 0
    out = capsys.readouterr().out
    assert "input_ids       int32  [4, 5]" in out
    assert "truncation: 6 of 24 reviews are longer than max_length 5 and are cut" in out


@pytest.mark.slow("reviews without room for a token, which are refused, stay inside")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_length": 2}, "no room for a token"),
        ({"max_length": 49}, "--max-length 49 is more than the 48 places that the model tiny has"),
        ({"seed": -1}, "seed must be between 0 and"),
        ({"batch_size": 0}, "batch_size must be"),
    ],
)
def test_batches_that_there_are_not_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        ShowBatch(**wrong).run()
