"""Which trials a search has, and what successive halving spends on them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.trials import Halving, Space, Trial, best

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
        (lambda: Halving(rungs=0), "rungs"),
        (lambda: Halving(factor=1), "at least 2"),
        (lambda: best([0.5, math.nan], 1), "trial 1 is no number"),
    ],
)
def test_what_makes_no_search_is_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()


def test_halving_compares_all_early_and_the_last_after_all_epochs():
    halving = Halving(rungs=3, factor=2)
    assert [halving.kept(8, rung) for rung in range(3)] == [8, 4, 2]
    assert [halving.reached(12, rung) for rung in range(3)] == [3, 6, 12]
    assert Halving(rungs=1).reached(12, 0) == 12


def spent(halving: Halving, trials, order) -> int:
    """The epochs that are trained where the trials of the given order are the best."""
    alive, done, total = list(range(len(trials))), [0] * len(trials), 0
    for rung in range(halving.rungs):
        if rung:
            ranks = [-float(order.index(place)) for place in alive]
            alive = [alive[i] for i in best(ranks, halving.kept(len(trials), rung))]
        for place in alive:
            reached = halving.reached(trials[place].epochs, rung)
            total, done[place] = total + reached - done[place], reached
    return total


@given(st.permutations(range(9)), st.integers(1, 4), st.integers(2, 3))
def test_no_outcome_spends_more_epochs_than_were_declared(order, rungs, factor):
    halving, trials = Halving(rungs=rungs, factor=factor), SPACE.drawn(9, 0)
    assert spent(halving, trials, order) <= halving.epochs(trials)


def test_alike_trials_spend_exactly_what_was_declared():
    trials = [Trial(batch=1, rate=1.0, epochs=8)] * 8
    assert Halving().epochs(trials) == 8 * 2 + 4 * 2 + 2 * 4
    assert Halving(rungs=1).epochs(trials) == 64


def test_of_equal_scores_the_earlier_is_better():
    assert best([0.5, 0.9, 0.9, 0.9], 2) == (1, 2)
