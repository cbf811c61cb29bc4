"""Files of labelled reviews: what is read, and one line for whatever is wrong with them."""

import subprocess

import pytest

from attnlab_theory.language.corpora.reviews import Lines, Reviews, has_labels, read_reviews, read_unlabelled
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
        (b"1 good\n7 bad\n", "line 2 .*label 0 or 1 and a space, not '7'"),
        (b"1 good\n2 bad\n", "line 2 .* has the label 2, and a label is 0 or 1; of five labels make two: awk '"),
        (b"-1 good\n-1 bad\n", "r has no labels, or hides them as -1: attnlab reviews predict labels its lines"),
        (b"index\tsentence\n0\tgood\n1\tbad\n", "r has no labels, or hides them as -1: attnlab reviews predict"),
        (b"sentence\tlabel\n", "r has headings and no review"),
        (b"index\tlabel\n0\t1\n", "r has the headings index, label: one of them must be sentence, text, review"),
        (b"sentence\tlabel\ngood\t1\nbad\tfilm\t0\n", "line 3 of .*r has 2 tabs, and line 1 has 1: write them"),
        (b"sentence\tlabel\ngood\t1\nbad\t7\n", "line 3 of .*r must have the label 0 or 1 and a space, not '7'"),
        (b"sentence\tlabel\ngood\t1\n\t0\n", "line 3 of .*r has the label 0 and no text; write one after"),
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


@pytest.mark.parametrize(
    "content",
    [
        "1\ta fine film \n0\t1 star\n",
        "a fine film \t1\n1 star\t0\n",
        "sentence\tlabel\na fine film \t1\n1 star\t0\n",
        "Label\tText\n1\ta fine film\n0\t1 star\n",
        "index\tsentence\tlabel\n0\ta fine film\t1\n1\t1 star\t0\n",
        "0\ta fine film\t1\n1\t1 star\t0\n",
        "idx\tsentence\tsource\tlabel\n0\ta fine film\tweb\t1\n1\t1 star\tpaper\t0\n",
        "1 a fine film\n0 1 star\n",
        "1\u00a0a fine film\u00a0\n0\u00a0 1 star\n",
        "\ufeffsentence\tlabel\r\na fine film \t1\r\n1 star\t0\r\n\r\n",
    ],
    ids=ascii,
)
def test_tables_are_read_with_headings_and_without_and_the_label_anywhere(tmp_path, content):
    (tmp_path / "r").write_bytes(content.encode())
    found = read_reviews(tmp_path / "r")
    assert (found.texts, found.labels) == (("a fine film", "1 star"), (1, 0))


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ("0 bad\n2 so so\n4 good\n3 fine\n", ("bad", "good", "fine")),
        ("sentence\tlabel\nbad film\t0\nso so\t2\ngood one\t4\nfine\t3\n", ("bad film", "good one", "fine")),
    ],
)
def test_of_five_labels_the_command_that_is_told_makes_two(tmp_path, content, left):
    (tmp_path / "r").write_text(content)
    with pytest.raises(ValueError, match=r"has the label [24], and a label is 0 or 1") as refused:
        read_reviews(tmp_path / "r")
    command = str(refused.value).partition("make two: ")[2]
    (tmp_path / "two").write_text(
        subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    )
    found = read_reviews(tmp_path / "two")
    assert (found.texts, found.labels) == (left, (0, 1, 1))


def test_a_tab_inside_a_text_makes_no_table(tmp_path):
    (tmp_path / "r").write_text("1 a fine\tfilm\n0 1 star\n")
    assert read_reviews(tmp_path / "r").texts == ("a fine\tfilm", "1 star")


def test_letters_with_accents_are_written_in_one_way(tmp_path):
    (tmp_path / "r").write_text("1 cafe\u0301\n0 the\u0301\n", "utf-8")
    assert read_reviews(tmp_path / "r").texts == ("caf\u00e9", "th\u00e9")


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
    (tmp_path / "r").write_text("a\n\n b \n1 star\n")
    assert read_unlabelled(tmp_path / "r") == Lines(("a", "", "b", "1 star"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("-1 a fine film\n-1 1 star\n", ": every line begins with a label, which was left out"),
        ("0 a fine film\n1 1 star\n", ": every line begins with a label, which was left out"),
        ("index\tsentence\n0\ta fine film \n1\t1 star\n", " is a table with tabs: its texts are sentence, and the"),
        (
            "a fine film \t1\n1 star\t0\n",
            " is a table with tabs: its texts are column 1, and the rest",
        ),
    ],
)
def test_what_is_no_text_is_left_out_and_told(tmp_path, content, told):
    (tmp_path / "r").write_text(content)
    found = read_unlabelled(tmp_path / "r")
    assert found.texts == ("a fine film", "1 star")
    assert found.left_out.startswith(f"{tmp_path}/r{told}")


@pytest.mark.parametrize(
    ("content", "labelled"),
    [
        ("-1 good\n-1 bad\n", False),
        ("index\tsentence\n0\tgood\n", False),
        ("-1 good\n0 bad\n", True),
        ("good\n", True),
    ],
)
def test_a_test_may_keep_its_labels_secret(tmp_path, content, labelled):
    (tmp_path / "r").write_text(content)
    assert has_labels(tmp_path / "r") == labelled


@pytest.mark.parametrize(
    ("name", "size", "favourable"), [("train", 6920, 3610), ("dev", 872, 444), ("test", 1821, 909)]
)
def test_the_real_files_have_their_published_sizes(name, size, favourable):
    found = read_reviews(shared_data("sst2_binary") / f"stsa.binary.{name}")
    assert (len(found), int(found.targets.sum())) == (size, favourable)
