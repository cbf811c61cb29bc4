"""A run that is killed at any moment comes to the same bytes as one that is not, and goes on with nothing else."""

import dataclasses
import math
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.labs.knowledge.stages import Corpus, pretraining
from attnlab_theory.labs.knowledge.variants import configured
from attnlab_theory.labs.progress import Progress
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.language import runs
from attnlab_theory.language import train as training_loop
from attnlab_theory.language.checkpoint import load_model, load_state
from attnlab_theory.language.train import Diverged
from tests.devices import environment
from tests.labs.knowledge.people import BRIEF, SMALL, run, write_people

PROGRAM = "import sys; from attnlab_theory.cli import main; raise SystemExit(main(sys.argv[1:]))"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def small_run(folder, **recipe):
    """What the command line makes of SMALL and a recipe."""
    corpus = Corpus.read(folder / "wiki.txt")
    config = configured("vanilla", vocabulary=len(corpus.characters), block=32, layers=1, heads=2, width=8)
    return pretraining(corpus, config, Recipe(**{"batch": 8, "rate": 6e-3, "fall": 200, "rows": 8} | recipe))


@pytest.mark.slow("a step that is finished after the first signal stays inside")
def test_ctrl_c_saves_says_how_to_go_on_and_exits_with_130(capsys, folder, monkeypatch):
    """Trains a small model for two steps."""
    advance = Progress.advance

    def press_at_step_2(progress, metrics):
        advance(progress, metrics)
        if metrics.step == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "advance", press_at_step_2)
    code, out, err = run(capsys, *PRETRAIN)
    assert (code, out) == (130, "")
    *_, last = err.splitlines()
    assert last == "stopped after step 2 of 4: stopped.partial keeps it, --resume goes on"
    assert load_state(folder / "stopped.partial", small_run(folder, epochs=2).training)[0].step == 2
    assert not (folder / "stopped").exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run of six steps, and where its files go."""
    folder = tmp_path_factory.mktemp("runs")
    write_people(folder)
    return small_run(folder, epochs=3)


def finish(run, path, **options):
    steps = []
    assert runs.complete(run, path, runs.standing(run, path, **options), save_every=0.0, after=steps.append) is None
    return steps


def stop_after(run, path, steps):
    begin = runs.standing(run, path, resume=False)
    assert runs.complete(run, path, begin, after=lambda metrics: metrics.step == steps) == steps


@pytest.mark.slow("the same bytes of closed runs with a validation loss stay inside")
def test_a_closed_run_goes_on_to_the_same_bytes_with_every_loss(small, tmp_path):
    """Trains a small model twice, and saves it after every step."""
    finish(small, tmp_path / "whole", resume=False)
    stop_after(small, tmp_path / "closed", 3)
    begin = runs.standing(small, tmp_path / "closed", resume=True)
    assert (begin.state.step, len(begin.losses)) == (3, 3)
    assert [metrics.step for metrics in finish(small, tmp_path / "closed", resume=True)] == [4, 5, 6]
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed", "whole"]


@pytest.mark.slow("checkpoints that are not overwritten unasked stay inside")
def test_a_finished_run_is_not_trained_again(small, tmp_path):
    """Trains a small model, and saves every step."""
    finish(small, tmp_path / "whole", resume=False)
    assert runs.standing(small, tmp_path / "whole", resume=True) is None


def test_resuming_what_was_never_begun_begins(small, tmp_path):
    assert runs.standing(small, tmp_path / "new", resume=True).state.step == 0


def test_a_checkpoint_is_not_overwritten_unasked(small, tmp_path):
    """Compiles a step of training."""
    stop_after(small, tmp_path / "closed", 1)
    with pytest.raises(
        ValueError, match=r"closed\.partial is left of a stopped run: go on with --resume, or delete"
    ):
        runs.standing(small, tmp_path / "closed", resume=False)


class Leap:
    """Good rates, and from the third step on, one that is too high for anything."""

    def rate(self, step, tokens):
        return 1e-3 if step < 3 else 1e20


def test_a_diverged_run_leaves_the_last_checkpoint_that_gave_a_loss(folder):
    """Trains twice, until the loss is no number."""
    run = small_run(folder, epochs=3)
    wild = dataclasses.replace(run, training=dataclasses.replace(run.training, schedule=Leap()))
    with pytest.raises(Diverged, match=r"at step 4, .* at learning rate .*wild\.partial keeps .* after step 2"):
        finish(wild, folder / "wild", resume=False)
    state, saved = load_state(folder / "wild.partial", wild.training)
    assert (state.step, len(saved.about["losses"])) == (2, 2)
    with pytest.raises(Diverged, match="no checkpoint was written before it"):
        runs.complete(wild, folder / "never", runs.standing(wild, folder / "never", resume=False))


def test_parameters_that_give_no_loss_are_not_kept(folder, monkeypatch):
    monkeypatch.setattr(training_loop, "LONGEST", math.inf)
    run = small_run(folder, epochs=3)
    wild = dataclasses.replace(run, training=dataclasses.replace(run.training, schedule=Leap()))
    with pytest.raises(Diverged, match=r"loss nan .* at step 5, .*wild\.partial keeps .* after step 3"):
        finish(wild, folder / "wild", resume=False)


def test_a_run_stopped_behind_a_step_that_was_too_long_keeps_the_checkpoint_before_it(folder, monkeypatch):
    monkeypatch.setattr(training_loop, "LONGEST", math.inf)
    run = small_run(folder, epochs=3)
    wild = dataclasses.replace(run, training=dataclasses.replace(run.training, schedule=Leap()))
    begin = runs.standing(wild, folder / "wild", resume=False)
    with pytest.raises(Diverged, match=r"loss nan .* at step 5, .*wild\.partial keeps .* after step 3"):
        runs.complete(wild, folder / "wild", begin, save_every=0.0, after=lambda metrics: metrics.step == 4)
    assert load_state(folder / "wild.partial", wild.training)[0].step == 3


PRETRAIN = ["pretrain", "vanilla", "wiki.txt", "--writing_params_path", "stopped", *SMALL, *BRIEF]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder with the checkpoint of `PRETRAIN`, stopped after its first step."""
    folder = tmp_path_factory.mktemp("stopped")
    write_people(folder)
    stop_after(small_run(folder, epochs=2), folder / "stopped", 1)
    return folder


@pytest.mark.slow("one of eight members stays inside", but=1)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--epochs", "3"], "epochs (2, not 3)"),
        (["--lr", "0.5"], "rate (0.006, not 0.5)"),
        (["--seed", "1"], "seed (0, not 1)"),
        (["--layers", "2"], "layers (1, not 2)"),
        (["--dropout", "0"], "attention_dropout (0.1, not 0.0)"),
        (["--year", "2024"], "year (2021, not 2024)"),
        (["--schedule", "cosine"], "fall (200, not None)"),
        (["--micro-batches", "packed"], "micro_batches (sorted, not packed)"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_another_run_does_not_go_on_from_a_checkpoint(capsys, monkeypatch, stopped, change, said):
    """The fixture compiles a step of training."""
    monkeypatch.chdir(stopped)
    code, out, err = run(capsys, *PRETRAIN, *change, "--resume")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("attnlab: stopped.partial belongs to another run, with other ")
    assert said in err


def test_other_data_is_named(capsys, monkeypatch, stopped, tmp_path):
    write_people(tmp_path)
    text = (tmp_path / "wiki.txt").read_text()
    (tmp_path / "wiki.txt").write_text(text.replace("Ada was", "was Ada"))
    (tmp_path / "stopped.partial").write_bytes((stopped / "stopped.partial").read_bytes())
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *PRETRAIN, "--resume")
    assert code == 2
    assert "with other corpus: ask for the same, or delete it" in err


@pytest.mark.slow("one run of early stopping that goes on to the same bytes stays inside")
def test_the_same_run_goes_on(capsys, monkeypatch, stopped, tmp_path):
    """Trains a small model to its end; the fixture trained its first step."""
    write_people(tmp_path)
    (tmp_path / "stopped.partial").write_bytes((stopped / "stopped.partial").read_bytes())
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *PRETRAIN, "--resume")
    assert (code, out[: len("stopped is written; loss ")]) == (0, "stopped is written; loss ")
    assert "goes on after step 1 of 4 steps" in err
    code, out, _ = run(capsys, *PRETRAIN, "--resume")
    assert (code, out[: len("stopped is finished: nothing to do")]) == (0, "stopped is finished: nothing to do")


@pytest.mark.slow("a mesh of one device, which changes nothing, stays inside")
def test_several_devices_share_a_run_and_only_as_many_go_on_with_it(folder, capsys):
    """Starts a process that imports jax, and trains there and here."""
    options = [*("--epochs", "3", "--batch-size", "8", "--rows", "8", "--schedule", "cosine"), *SMALL]
    command = ["pretrain", "vanilla", "wiki.txt", *options, "--writing_params_path"]
    told = (
        "from attnlab_theory.language import runs; train = runs.train; "
        "runs.train = lambda *args, mesh: print(f'on {mesh.size} devices') or train(*args, mesh=mesh); "
    )
    shared = subprocess.run(
        [sys.executable, "-c", told + PROGRAM, "knowledge", *command, "shared"],
        env=environment(4) | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert shared.returncode == 0, shared.stderr
    assert "on 4 devices" in shared.stdout
    assert run(capsys, *command, "alone")[0] == 0
    losses = [load_model(folder / name).about["losses"] for name in ("shared", "alone")]
    # Equal but for the order of sums, as in tests/language/test_parallel.py, over six steps.
    np.testing.assert_allclose(*losses, rtol=1000 * np.finfo(np.float32).eps)
    assert load_model(folder / "shared").about["origin"]["devices"] == 4
    code, _, err = run(capsys, *command, "shared", "--resume")
    assert (code, err.count("\n")) == (2, 1)
    assert "shared belongs to another run, with other devices (4, not None)" in err
