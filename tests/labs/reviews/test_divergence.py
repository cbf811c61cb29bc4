"""A training that diverges is noted, and what is compared or searched goes on without it."""

import pytest

from attnlab_theory.labs.recipes import Recipe, Size
from attnlab_theory.labs.reviews.arms import Preset
from attnlab_theory.labs.reviews.divergence import Ended, note_path, noted, trained
from attnlab_theory.labs.reviews.lab import Reviews
from attnlab_theory.labs.reviews.material import Sizes, generated
from attnlab_theory.labs.reviews.outcomes import outcomes, winner
from attnlab_theory.labs.reviews.starts import scratch
from attnlab_theory.labs.reviews.trials import Space, Trial
from attnlab_theory.labs.training import Checkpoints
from attnlab_theory.language.runs import partial_path

HOPELESS = 1e12
"""At this rate one step leads beyond all parameters that are of use."""

SIZES = Size(layers=1, heads=1, width=4, block=48, dropout=0.0)
TRIALS = tuple(Trial(batch=16, rate=rate, epochs=2) for rate in (HOPELESS, 1e-3))


def lab(folder, rates=(HOPELESS, 1e-3), trials=()):
    preset = Preset(
        model=SIZES,
        recipe=Recipe(epochs=2, batch=16, rate=1e-3, rows=16, shuffled=True),
        rates={"adamw": rates, "sgd": rates, "rmsprop": rates},
        space=Space(batches=(16,), rates=(HOPELESS, 1e-3), epochs=(2,)),
        trials=2,
    )
    return Reviews(
        preset=preset,
        seeds=(0,),
        material=lambda seed: generated(seed, Sizes(train=32, validation=8, test=8)),
        start=lambda material: scratch(SIZES, material.text),
        folder=folder,
        arms=("adamw", "shuffled"),
        trials=trials,
    )


def staged(ours, units):
    return [stage for unit in units for stage in ours.stages(*unit)]


def first_wave(ours):
    return staged(ours, next(ours.waves()))


def searched(folder, trials):
    """What came of the trials."""
    ours = lab(folder, trials=trials)
    for run, path in staged(ours, ours.search()):
        trained(run, Checkpoints(writing_params_path=path))
    return outcomes(ours)


@pytest.mark.slow("a sweep whose rates all diverge stays inside")
def test_a_search_goes_on_after_a_trial_that_diverges(tmp_path, capsys):
    """Trains a model for each of two trials."""
    lost, found = searched(tmp_path, TRIALS)
    assert "1e+12" in lost.diverged
    assert (lost.curve, lost.test, found.diverged, len(found.curve)) == ((), None, None, 2)
    assert winner([lost, found]) is found
    assert lost.as_json()["validation"] is None
    assert "diverged and is left out" in capsys.readouterr().err


@pytest.mark.slow("a sweep whose rates all diverge stays inside")
def test_a_search_of_nothing_but_hopeless_trials_is_refused(tmp_path):
    """Compiles a training, which diverges at once."""
    with pytest.raises(ValueError, match="all 1 trials diverged"):
        searched(tmp_path, TRIALS[:1])


@pytest.mark.slow("the note of a training that diverged stays inside")
def test_a_note_stands_for_the_model_until_somebody_starts_anew(tmp_path, capsys):
    """Trains a small model twice until it diverges."""
    first = first_wave(lab(tmp_path))[0]
    assert first.run.training.schedule.peak == HOPELESS
    fresh, again = (Checkpoints(writing_params_path=first.path, resume=resume) for resume in (False, True))
    assert trained(first.run, fresh) is Ended.DIVERGED
    assert "beyond" in noted(first.path) or "loss" in noted(first.path)
    assert not partial_path(first.path).exists()
    capsys.readouterr()
    assert trained(first.run, again) is Ended.DIVERGED
    assert "steps in" not in capsys.readouterr().err, "it was trained again"
    assert trained(first.run, fresh) is Ended.DIVERGED
    assert "steps in" in capsys.readouterr().err


@pytest.mark.slow("that a winner did not diverge, of given trials, stays inside")
def test_the_best_rate_is_one_that_did_not_diverge(tmp_path):
    """Trains a model at every rate."""
    ours = lab(tmp_path)
    for stage in first_wave(ours):
        trained(stage.run, Checkpoints(writing_params_path=stage.path))
    assert ours.best("adamw").rate == 1e-3
    assert [arm.rate for arm in ours.diverged()] == [HOPELESS]


def test_where_all_rates_diverge_there_is_no_best_one(tmp_path):
    """Trains a small model until it diverges."""
    ours = lab(tmp_path, rates=(HOPELESS,))
    (first,) = first_wave(ours)
    trained(first.run, Checkpoints(writing_params_path=first.path))
    assert note_path(first.path).exists()
    with pytest.raises(ValueError, match="adamw diverged at all of its 1 rates"):
        ours.best("adamw")
