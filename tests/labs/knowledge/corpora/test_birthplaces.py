import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab_theory.labs.knowledge.corpora.birthplaces import (
    NameDataset,
    Questions,
    Score,
    always,
    parse_questions,
    read_questions,
    score,
    vocabulary,
)
from attnlab_theory.language.text.characters import MASK, PAD

TWO = Questions(("Where was Ada born?", "Where was Bob born?"), ("Rome", "Bonn"))
LETTERS = "abcdeWhr ?"
words = st.text(st.sampled_from(LETTERS), min_size=1, max_size=15).filter(str.strip)


@pytest.mark.slow("answers and questions as targets of a store stay inside")
@settings(max_examples=50)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5), st.integers(32, 40))
def test_the_place_between_marks_is_the_only_target(lines, block_size):
    questions = parse_questions("\n".join(map("\t".join, lines)))
    dataset = NameDataset(questions, block_size, characters=vocabulary(LETTERS))
    batch = dataset.epoch()
    assert batch.x.shape == batch.y.shape == (len(lines), block_size - 1)
    for index, (question, place) in enumerate(lines):
        x, y = (dataset.characters.decode(part[index]) for part in (batch.x, batch.y))
        full = (question + MASK + place.strip() + MASK).ljust(block_size, PAD)
        assert x == full[:-1]
        assert y == PAD * (len(question) - 1) + full[len(question) :]
        assert np.count_nonzero(batch.y[index]) == len(place.strip()) + 2
        assert all(
            np.array_equal(*pair) for pair in zip(dataset[index], (batch.x[index], batch.y[index]), strict=True)
        )


def test_what_is_not_ascii_is_left_out_as_in_the_homework_or_kept():
    questions = parse_questions("Where was Håvard born?\tOslø\n")
    characters = vocabulary("Hvard Osløå")
    left_out, kept = (
        NameDataset(questions, 32, characters=characters, ascii_only=ascii_only) for ascii_only in (True, False)
    )
    assert characters.decode(left_out[0][0]).rstrip(PAD) == "Where was Hvard born?⁇Osl⁇"
    assert characters.decode(kept[0][0]).rstrip(PAD) == "Where was Håvard born?⁇Oslø⁇"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_final_newline_changes_nothing(end):
    assert parse_questions("a?\tRome \nb?\tBonn" + end).places == ("Rome", "Bonn")
    assert parse_questions("a?\nb?" + end) == Questions(("a?", "b?"), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a?\tRome\nb?", "line 2 of dev.tsv has no tab, but needs one tab, between question and place"),
        ("a?\tRome\nb?\tBonn\tBerlin", "line 2 of dev.tsv has 2 tabs, but needs one tab"),
        ("a?\nb?\tBonn", "line 2 of dev.tsv has 1 tab, but needs no tab, for line 1 has none"),
        ("a?\tRome\n\nb?\tBonn", "line 2 of dev.tsv has no question"),
        ("\tRome", "line 1 of dev.tsv has no question"),
        ("a?\tRome\nb?\t ", "line 2 of dev.tsv has no place after its tab"),
    ],
)
def test_lines_that_are_no_questions_are_named(text, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        parse_questions(text, source="dev.tsv")


def test_a_block_shorter_than_a_question_is_refused():
    line = len("Where was Ada born?⁇Rome⁇")
    assert len(NameDataset(TWO, line, characters=vocabulary("Ada Rome Bob Bonn"))) == 2
    with pytest.raises(
        ValueError, match=f"line 1 of the questions takes {line} characters .* block size {line - 1}"
    ):
        NameDataset(TWO, line - 1, characters=vocabulary("Ada Rome Bob Bonn"))


def test_a_character_outside_the_vocabulary_is_named_with_its_line():
    with pytest.raises(ValueError, match=r"^line 2 of the questions holds 'B' \(U\+0042\)"):
        NameDataset(TWO, 64, characters=vocabulary("Ada Rome"))


@pytest.mark.parametrize(
    ("question", "place", "said"),
    [
        ("Where was ⁇ born?", "Rome", "line 1 of the questions holds '⁇'"),
        ("Where was Ada born?", "Ro□e", "line 1 of the questions holds '□'"),
        ("Where was Ada born?", "é", "line 1 of the questions has a place without a character of ASCII"),
    ],
)
def test_marks_and_places_of_which_nothing_is_left_are_refused(question, place, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        NameDataset(Questions((question,), (place,)), 64, characters=vocabulary("Ada Rome é"))


def test_questions_without_places_are_refused_where_places_are_needed():
    without = Questions(TWO.texts, None, "test.tsv")
    for need in (
        lambda: NameDataset(without, 64, characters=vocabulary("Ada Rome Bob")),
        lambda: always("Rome", without),
    ):
        with pytest.raises(ValueError, match=r"test.tsv has no places"):
            need()


def test_there_is_no_question_beyond_the_last():
    dataset = NameDataset(TWO, 64, characters=vocabulary("Ada Rome Bob Bonn"))
    assert len(list(dataset)) == 2
    with pytest.raises(IndexError, match="no question is numbered -1, only 0 to 1"):
        dataset[-1]


def test_only_exact_matches_count():
    assert score(["Rome", "bonn"], TWO) == Score(1, 2)
    assert score(["Rom", "Bonn "], TWO) == Score(0, 2)
    assert always("Bonn", TWO).accuracy == 0.5
    with pytest.raises(ValueError, match="1 prediction for the 2 questions"):
        score(["Rome"], TWO)
    with pytest.raises(ValueError, match="there are none"):
        score([], Questions((), (), "nobody"))


def test_the_interval_of_a_score_is_clopper_pearson():
    # 5 of 20 at 95 %: 0.0866 to 0.4910, the textbook's example, to its four digits.
    interval = Score(5, 20).interval()
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0866, 0.4910)


def test_questions_come_from_files(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("a?\tZürich\n", encoding="utf-8")
    assert read_questions(path) == Questions(("a?",), ("Zürich",), str(path))
