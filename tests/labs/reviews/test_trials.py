"""Which trials a search has, and how many epochs they take."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.trials import Space, Trial, budget

SPACE = Space(batches=(32, 64), rates=(2e-5, 3e-5, 4e-5), epochs=(2, 4))


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_a_longer_search_begins_with_a_shorter_one_and_no_trial_comes_twice(one, other, seed):
    short, long = (SPACE.drawn(number, seed) for number in sorted((one, other)))
    assert long[: len(short)] == short
    assert len(set(long)) == len(long)


def test_every_trial_is_drawn_in_the_end_and_seeds_differ():
    assert len(set(SPACE.drawn(12, 0))) == len(SPACE) == 12
    assert SPACE.drawn(12, 0) != SPACE.drawn(12, 1)


def test_a_trial_changes_its_three_numbers_of_a_recipe():
    recipe = Recipe(epochs=1, batch=1, rate=1.0, shuffled=True, seed=7)
    trial = Trial(batch=64, rate=3e-5, epochs=15)
    assert trial.of(recipe) == Recipe(epochs=15, batch=64, rate=3e-5, shuffled=True, seed=7)
    assert trial.name == "batch-64.lr-3e-05.epochs-15"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: SPACE.drawn(13, 0), "1 to 12 trials, not 13"),
        (lambda: SPACE.drawn(0, 0), "not 0"),
        (lambda: Space(batches=(), rates=(1.0,), epochs=(1,)), "at least one value of batches"),
        (lambda: Space(batches=(1,), rates=(1.0, 1.0), epochs=(1,)), "rates of a search hold 1.0 twice"),
        (lambda: Space(batches=(1,), rates=(math.nan,), epochs=(1,)), "rates .* not nan"),
    ],
)
def test_what_makes_no_search_is_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()


def test_a_budget_is_all_epochs_of_all_trials():
    assert budget([Trial(batch=1, rate=1.0, epochs=8)] * 8) == 64
    assert budget(SPACE.drawn(12, 0)) == 6 * (2 + 4)
