"""Answers read off a corpus by rule: what each rule takes and leaves, and that given answers stay."""

import pytest

from attnlab_theory.labs.knowledge.corpora import labels
from attnlab_theory.labs.knowledge.corpora.birthplaces import QUESTION, Questions, read_questions
from tests.shared_data import shared_data

TEXT = """Ada Byron. Ada was born on 10 December 1815 in London, England .
John A. Dalles. John A Dalles is a clergyman who was born in Pittsburgh, Pennsylvania .
no header
Nobody Known. A person of whom little is said ."""
GIVEN = Questions(("Where was Ada Byron born?", "Where was Someone Else born?"), ("England", "Rome"), "given.tsv")


def test_a_name_ends_at_its_full_stop_and_not_behind_an_initial_or_title():
    assert list(labels.persons(TEXT)) == ["Ada Byron", "John A. Dalles", "Nobody Known"]
    assert labels.persons(TEXT)["John A. Dalles"].startswith("John A Dalles is a clergyman")


def test_the_first_line_of_a_name_counts():
    assert labels.persons("Ada. one\nAda. two") == {"Ada": "one"}


@pytest.mark.parametrize(
    ("name", "said", "place"),
    [
        ("Ada Byron", "Ada was born on 10 December 1815 in London, England .", "London"),
        ("John Stephen", "Born in Glasgow, Stephen became an apprentice .", "Glasgow"),
        ("Zed", "He went from San Marino to Rome .", "San Marino"),
        ("Zed", "Zed left. Then nothing .", None),
        ("Zed", "He lived in Östersund .", "Östersund"),
        ("Zed", "", None),
    ],
)
def test_capitals_alone_name_the_first_words_that_are_neither_name_nor_month_nor_first_in_a_sentence(
    name, said, place
):
    assert labels.capitalised(name, said) == place


def test_known_places_are_found_whole_first_and_longest():
    rule = labels.known(["York", "New York", "Rome"])
    assert rule("Zed", "from Romeville to New York and Rome") == "New York"
    assert rule("York Smith", "York Smith left Rome") == "Rome"
    assert rule("Zed", "nowhere") is None
    with pytest.raises(ValueError, match="knows no place"):
        labels.known([])


def test_given_answers_stay_and_a_rule_adds_the_others():
    questions = labels.labelled(TEXT, labels.capitalised, GIVEN)
    answers = dict(zip(questions.texts, questions.answers, strict=True))
    assert answers[QUESTION.format(name="Ada Byron")] == "England"
    assert answers[QUESTION.format(name="Someone Else")] == "Rome"
    assert answers[QUESTION.format(name="John A. Dalles")] == "Pittsburgh"
    assert QUESTION.format(name="Nobody Known") not in answers


@pytest.mark.parametrize(
    ("rule", "held_back", "asked", "right", "most"),
    [("capitalised", 0, 493, 377, 500), ("known", 0, 467, 432, 461), ("known", 200, 464, 426, 455)],
)
def test_rules_find_this_many_of_the_homeworks_answers(rule, held_back, asked, right, most):
    folder = shared_data("cs224n_birthplaces")
    said = labels.persons((folder / "wiki.txt").read_text("utf-8"))
    training, dev = (read_questions(folder / f"{name}.tsv") for name in ("birth_places_train", "birth_dev"))
    given = training.split(held_back, seed=0)[0] if held_back else training
    find = labels.capitalised if rule == "capitalised" else labels.known(given.answers)
    start, end = (len(part) for part in QUESTION.split("{name}"))
    found = [find(name := question[start:-end], said.get(name, "")) for question in dev.texts]
    assert sum(place is not None for place in found) == asked
    assert sum(place == answer for place, answer in zip(found, dev.answers, strict=True)) == right
    # What a rule that knows only the training file's places can be right about at all.
    nameable = dev.answers if rule == "capitalised" else [a for a in dev.answers if a in set(given.answers)]
    assert len(nameable) == most


def test_known_places_may_begin_and_end_with_any_character():
    rule = labels.known(["Washington, D.C.", "'s-Gravenhage", "York"])
    assert rule("Zed Wu", "Zed Wu (born 1 May 1950 in Washington, D.C.) sang.") == "Washington, D.C."
    assert rule("Zed Wu", "Zed Wu is from 's-Gravenhage, not Yorkshire.") == "'s-Gravenhage"
    assert rule("Zed Wu", "Zed Wu is from Yorkshire.") is None
