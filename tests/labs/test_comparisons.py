"""Which answers are right, and two models on the same questions."""

import math

import numpy as np

from attnlab_theory.labs.comparisons import gained, right

ONE = np.array([False, False, True, False, False, False, False, False])
OTHER = np.array([True, True, False, True, True, True, False, False])


def test_gain_odds_and_mcnemars_p_are_those_of_the_discordant_questions():
    found = gained(ONE, OTHER, 0.05, first="small", second="big")
    values = {e.quantity: e.value for e in found}
    # Five questions only the second gets right, one only the first.
    assert values["accuracy gained"] == 4 / 8
    assert values["discordant odds"] == 5
    assert math.isclose(values["mcnemar p"], 2 * 7 / 64)
    assert all(e.setting["second"] == "big" for e in found)
    (p,) = found.of("mcnemar p")
    assert (p.setting["only_first"], p.setting["only_second"]) == (1, 5)


def test_odds_are_left_out_where_the_first_is_never_right_alone():
    assert [e.quantity for e in gained(ONE & OTHER, OTHER, 0.05)] == ["accuracy gained", "mcnemar p"]


def test_a_draw_is_an_answer_0():
    assert right(np.array([0.5, 0.5, 0.6, 0.4]), np.array([0, 1, 1, 1]), even=0.5).tolist() == [
        True,
        False,
        True,
        False,
    ]
    assert right(np.array([0.0, 0.0, 0.4]), np.array([0, 1, 1]), even=0.0).tolist() == [True, False, True]


def test_answers_that_are_no_numbers_are_never_right():
    scores = np.array([np.nan, np.nan, np.inf, -np.inf])
    assert not right(scores, np.array([0, 1, 1, 0]), even=0.0).any()
