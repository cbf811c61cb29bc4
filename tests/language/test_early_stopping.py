"""A run with a validation loss ends with its best model, stopped or not, whatever process it goes on in."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from attnlab_theory.language import runs
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.schedules import Constant
from attnlab_theory.language.text.characters import Characters
from attnlab_theory.language.train import Diverged, Training

NONE = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
CONFIG = GPTConfig(vocabulary=4, block=4, layers=1, heads=1, width=4, **NONE)
ROWS = np.array([[1, 2, 3, 1], [2, 3, 1, 2]], np.int32)
BATCH = Batch(ROWS, np.roll(ROWS, -1, axis=1))


class Script:
    """Validation losses as they are written down; the models that were asked."""

    def __init__(self, *losses, asked=0):
        self.losses, self.asked = losses, asked

    def __call__(self, model):
        self.asked += 1
        return self.losses[self.asked - 1]


def run_of(validation, *, epochs=5, steps_of_an_epoch=2):
    return runs.Run(
        first=lambda: GPT(CONFIG, key=jax.random.key(0)),
        config=CONFIG,
        text=Characters("□⁇ab"),
        epochs=lambda _: [BATCH] * steps_of_an_epoch,
        training=Training(schedule=Constant(always=1e-2), epochs=epochs),
        steps=epochs * steps_of_an_epoch,
        origin={},
        validation=validation,
    )


def finish(run, path, **options):
    steps = []
    assert runs.complete(run, path, runs.standing(run, path, **options), save_every=0.0, after=steps.append) is None
    return steps


def stop_after(run, path, steps):
    begin = runs.standing(run, path, resume=False)
    assert runs.complete(run, path, begin, after=lambda metrics: metrics.step == steps) == steps


def embedded(path):
    return np.asarray(load_model(path).model.tokens)


@pytest.mark.slow("closed runs whose second epoch of three is the best stay inside")
def test_the_model_is_that_of_the_best_epoch(tmp_path):
    """Trains two models."""
    metrics = finish(run_of(Script(3.0, 2.0, 2.5)), tmp_path / "stopped", resume=False)
    assert metrics[-1].step == 6
    finish(run_of(None, epochs=2), tmp_path / "two_epochs", resume=False)
    assert np.array_equal(embedded(tmp_path / "stopped"), embedded(tmp_path / "two_epochs"))
    assert load_model(tmp_path / "stopped").about["validated"] == [3.0, 2.0, 2.5]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped", "two_epochs"]


@pytest.mark.slow("runs that end with a worse loss than before stay inside")
def test_an_equal_loss_is_not_better(tmp_path):
    """Trains a model for two epochs."""
    assert finish(run_of(Script(3.0, 3.0)), tmp_path / "equal", resume=False)[-1].step == 4


@pytest.mark.slow("all epochs of runs without a validation loss stay inside")
def test_a_falling_loss_trains_all_epochs_and_keeps_the_last_model(tmp_path):
    """Trains two small models."""
    assert finish(run_of(Script(3.0, 2.0), epochs=2), tmp_path / "falling", resume=False)[-1].step == 4
    finish(run_of(None, epochs=2), tmp_path / "whole", resume=False)
    assert np.array_equal(embedded(tmp_path / "falling"), embedded(tmp_path / "whole"))


@pytest.mark.slow("one of six members stays inside", but=1)
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 6])
def test_a_closed_run_goes_on_to_the_same_bytes(tmp_path, steps):
    """Trains a small model twice, and saves it after every step."""
    losses = (3.0, 2.0, 2.5)
    finish(run_of(Script(*losses)), tmp_path / "whole", resume=False)
    stop_after(run_of(Script(*losses)), tmp_path / "closed", steps)
    finish(run_of(Script(*losses, asked=steps // 2)), tmp_path / "closed", resume=True)
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed", "whole"]


def test_a_lost_best_model_is_told(tmp_path):
    stop_after(run_of(Script(3.0, 2.0)), tmp_path / "closed", 3)
    runs.best_path(tmp_path / "closed").unlink()
    with pytest.raises(ValueError, match=r"closed\.best, the best model of the run so far, is missing"):
        runs.standing(run_of(Script()), tmp_path / "closed", resume=True)


def test_a_validation_loss_that_is_no_number_ends_the_run(tmp_path):
    with pytest.raises(Diverged, match="validation loss is not a number after step 2"):
        finish(run_of(Script(math.nan)), tmp_path / "nan", resume=False)


def watching(epochs=3):
    """A run that keeps the sum of its parameters after every epoch."""
    run = run_of(None, epochs=epochs)
    return dataclasses.replace(
        run, watched=lambda model: {"sum": float(sum(x.sum() for x in jax.tree.leaves(model)))}
    )


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_what_is_watched_is_kept_for_every_epoch_and_ends_nothing(tmp_path, steps):
    finish(watching(), tmp_path / "whole", resume=False)
    watched = load_model(tmp_path / "whole").about["watched"]
    assert len({each["sum"] for each in watched}) == 3
    stop_after(watching(), tmp_path / "closed", steps)
    assert load_model(runs.partial_path(tmp_path / "closed")).about["watched"] == watched[: steps // 2]
    finish(watching(), tmp_path / "closed", resume=True)
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "whole").read_bytes()
    finish(run_of(None, epochs=3), tmp_path / "unwatched", resume=False)
    assert np.array_equal(embedded(tmp_path / "whole"), embedded(tmp_path / "unwatched"))


def test_a_run_is_not_stopped_after_its_last_step(tmp_path):
    told = []
    begin = runs.standing(watching(), tmp_path / "whole", resume=False)
    assert (
        runs.complete(watching(), tmp_path / "whole", begin, after=lambda m: m.step == 6, tell=told.append) is None
    )
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
    assert [line.split(": sum ")[0] for line in told] == ["epoch 1 of 3", "epoch 2 of 3", "epoch 3 of 3"]


def test_epochs_of_unequal_length_are_refused():
    for run in (run_of(Script()), watching(epochs=5)):
        with pytest.raises(ValueError, match="7 steps are not equally many in each of 5 epochs"):
            dataclasses.replace(run, steps=7)
