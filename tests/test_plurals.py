"""Numbers and their nouns: one of a thing is never plural."""

import pytest

from attnlab_theory.plurals import agree, all_of, several, some_of, spelt


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (several(1, "row"), "1 row"),
        (several(0, "row"), "0 rows"),
        (several(1200, "index", "indices"), "1,200 indices"),
        (agree(1.0, "point", "points"), "point"),
        (agree(1.5, "point", "points"), "points"),
        (spelt(1, "seed"), "one seed"),
        (spelt(5, "seed"), "five seeds"),
        (spelt(13, "seed"), "13 seeds"),
        (all_of(1, "bug is", "bugs are"), "The one bug is"),
        (all_of(3, "bug is", "bugs are"), "All 3 bugs are"),
        (some_of(1, 3, "line", "holds", "hold"), "1 of 3 lines holds"),
        (some_of(1, 1, "line", "holds", "hold"), "1 of 1 line holds"),
        (some_of(0, 2, "line", "holds", "hold"), "0 of 2 lines hold"),
    ],
)
def test_a_noun_and_its_verb_agree_with_the_number(said, words):
    assert said == words
