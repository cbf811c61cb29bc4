"""Files of labelled reviews: what is read, and one line for whatever is wrong with them."""

import pytest

from attnlab_theory.language.corpora.reviews import Reviews, read_reviews, read_unlabelled
from tests.shared_data import shared_data


def test_labels_and_texts_come_in_the_order_of_the_file(tmp_path):
    (tmp_path / "r").write_bytes(b"1 a  fine film \r\n  0 1 star\n\n")
    found = read_reviews(tmp_path / "r")
    assert found.texts == ("a  fine film", "1 star")
    assert found.targets.tolist() == [1, 0]
    assert (len(found), found.majority) == (2, 0.5)
    assert found.take([1]).texts == ("1 star",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1 good\n2 bad\n", "line 2 .*label 0 or 1 and a space, not '2'"),
        (b"1 good\n-1 bad\n", "line 2 .*not '-1'"),
        (b"1 good\n\n0 bad\n", "line 2 .*not ''"),
        (b"good\n", "line 1 .*not 'good'"),
        (b"1 good\n0 \n", "line 2 .*label 0 and no text"),
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"1 good\n0 b\xe9\n", "not UTF-8: line 2 holds the byte 0xe9"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_line(tmp_path, content, told):
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(ValueError, match=told) as refused:
        read_reviews(tmp_path / "r")
    assert "\n" not in str(refused.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        read_reviews(tmp_path / "none")
    with pytest.raises(ValueError, match="is a folder"):
        read_reviews(tmp_path)


def test_reviews_have_as_many_labels_as_texts_and_at_least_one():
    with pytest.raises(ValueError, match="has no review"):
        Reviews((), ())
    with pytest.raises(ValueError, match="2 texts and 1 labels"):
        Reviews(("a", "b"), (1,))


def test_lines_without_labels_stay_on_their_lines(tmp_path):
    (tmp_path / "r").write_text("a\n\n b \n")
    assert read_unlabelled(tmp_path / "r") == ("a", "", "b")


@pytest.mark.parametrize(
    ("name", "size", "favourable"), [("train", 6920, 3610), ("dev", 872, 444), ("test", 1821, 909)]
)
def test_the_real_files_have_their_published_sizes(name, size, favourable):
    found = read_reviews(shared_data("sst2_binary") / f"stsa.binary.{name}")
    assert (len(found), int(found.targets.sum())) == (size, favourable)
