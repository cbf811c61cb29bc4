import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.labs.knowledge import names
from attnlab_theory.labs.knowledge.answers import Answers
from tests.labs.knowledge.models import PLACES, answered, row
from tests.tolerances import misses_allowed

ERROR_RATE = 0.05
words = st.text("abc", min_size=1, max_size=6)


@functools.cache
def levenshtein(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    replaced = levenshtein(one[1:], other[1:]) + (one[0] != other[0])
    return min(replaced, levenshtein(one[1:], other) + 1, levenshtein(one, other[1:]) + 1)


@pytest.mark.slow("nothing inside asks this alone; places of the nearest names stay inside")
@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=4))
def test_edit_distances_are_levenshteins(first, second):
    wanted = [[levenshtein(one, other) for other in second] for one in first]
    assert names.edit_distances(first, second).tolist() == wanted


def test_edit_distances_of_nobody_are_refused():
    with pytest.raises(ValueError, match="at least one letter"):
        names.edit_distances(["Bada", ""], ["Bado"])


@pytest.mark.parametrize(
    ("name", "first", "last"), [("Khatchig Mouradian", "Khatchig", "Mouradian"), ("Rituka", "Ri", "ka")]
)
def test_the_parts_of_a_name_are_its_words_or_syllables(name, first, last):
    assert (names.part_of(name, "first"), names.part_of(name, "last")) == (first, last)


def unseen(pairs, **fields) -> list:
    return [answered(name=n, predicted=p, gold="Essen", group="never-seen", **fields) for n, p in pairs]


def test_confident_places_are_places_above_the_median_of_right_answers():
    right = [answered(log_probability=math.log(p)) for p in (0.5, 0.6, 0.7)]
    asked = [("Bada", "Cairo", 0.9), ("Bade", "Caiiro", 0.9), ("Badi", "Cairo", 0.6), ("Bado", "Dhaka", 0.61)]
    never = [row_ for n, p, s in asked for row_ in unseen([(n, p)], log_probability=math.log(s))]
    (found,) = names.confident_places(Answers((*right, *never)), PLACES, ERROR_RATE)
    assert (found.value, found.draws) == (0.5, 4)
    assert math.isclose(math.exp(found.setting["threshold"]), 0.6)


def test_what_was_learned_by_rote_sets_no_threshold():
    rote = [answered(log_probability=math.log(0.99), group="finetuned") for _ in range(5)]
    never = unseen([("Bada", "Cairo")], log_probability=math.log(0.9))
    assert not names.confident_places(Answers((*rote, *never)), PLACES, ERROR_RATE)
    right = [answered(log_probability=math.log(0.5))]
    (found,) = names.confident_places(Answers((*rote, *right, *never)), PLACES, ERROR_RATE)
    assert found.value == 1


def test_a_model_that_is_never_right_has_no_confident_places():
    assert not names.confident_places(row("ww", group="never-seen"), PLACES, ERROR_RATE)


SYLLABLES = ("Ba", "De", "Fi", "Go", "Hu")


def test_places_that_follow_the_first_syllable_are_seen_there_and_not_in_the_last():
    pairs = [(first + last.lower(), PLACES[i]) for i, first in enumerate(SYLLABLES) for last in SYLLABLES]
    answers = Answers(unseen(pairs))
    (first,) = names.same_part(answers, "first", ERROR_RATE, shuffles=499)
    (last,) = names.same_part(answers, "last", ERROR_RATE, shuffles=499)
    assert first.value == 1 / 500
    assert (first.setting["agreement"], first.setting["pairs"]) == (1, 50)
    assert (last.value, last.setting["agreement"]) == (1, 0)


def test_names_that_share_no_part_have_no_test():
    answers = Answers(unseen([("Bada", "Cairo"), ("Dedo", "Cairo")]))
    assert not names.same_part(answers, "first", ERROR_RATE)


def test_places_of_the_nearest_names_are_noticed():
    # Everybody unseen is one letter from one known person, and says that person's place.
    known = [answered(name=s * 2, gold=PLACES[i]) for i, s in enumerate(SYLLABLES)]
    pairs = [(s * 2 + letter, PLACES[i]) for i, s in enumerate(SYLLABLES) for letter in "xyz"]
    (found,) = names.like_the_nearest(Answers((*known, *unseen(pairs))), ERROR_RATE, shuffles=499)
    assert (found.value, found.setting["distance"]) == (1 / 500, 1)
    assert math.isclose(found.setting["agreement"], 1)


def test_the_untrained_know_only_those_they_were_finetuned_on():
    known = [answered(name="Dodo", group="finetuned", variant="none"), answered(name="Bade", variant="none")]
    (found,) = names.like_the_nearest(
        Answers((*known, *unseen([("Bada", "Cairo")], variant="none"))), ERROR_RATE, shuffles=9
    )
    assert found.setting["distance"] == 3


def test_of_several_names_equally_near_each_counts_its_share():
    known = [answered(name="Bade", gold="Bern"), answered(name="Bado", gold="Cairo")]
    (found,) = names.like_the_nearest(Answers((*known, *unseen([("Bada", "Cairo")]))), ERROR_RATE, shuffles=9)
    assert found.setting["agreement"] == 0.5


def test_places_said_at_random_raise_no_more_alarms_than_the_test_says():
    rng, repetitions = np.random.default_rng(7), 60
    pairs = [first + last.lower() for first in SYLLABLES for last in SYLLABLES]
    alarms = 0
    for seed in range(repetitions):
        said = [(name, PLACES[i]) for name, i in zip(pairs, rng.integers(5, size=25).tolist(), strict=True)]
        (found,) = names.same_part(Answers(unseen(said, seed=seed)), "first", ERROR_RATE, shuffles=99)
        alarms += found.value <= 0.1
    assert alarms <= misses_allowed(repetitions, 0.1, 1e-6)


def test_models_are_tested_each_for_itself():
    pairs = [("Bada", "Bern"), ("Bade", "Bern"), ("Dede", "Cairo")]
    answers = Answers((*unseen(pairs, seed=0), *unseen(pairs, seed=1)))
    found = names.same_part(answers, "first", ERROR_RATE, shuffles=9)
    assert [(e.setting["seed"], e.setting["pairs"]) for e in found] == [(0, 1), (1, 1)]
