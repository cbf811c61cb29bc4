"""Training with progress: stopped by a reason to stop, and gone on with."""

import dataclasses

import pytest

from attnlab_theory.labs.training import Checkpoints, train
from attnlab_theory.language.runs import partial_path
from tests.language.test_early_stopping import watching


class ComesLater(list):
    """Reasons to stop: there is one from the n-th look on."""

    def __init__(self, looks):
        super().__init__(["Ctrl-C"])
        self.looks = looks

    def __bool__(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.slow("the same run, stopped once, stays inside")
def test_a_run_that_is_stopped_twice_comes_to_the_same_bytes(tmp_path, capsys):
    """Begins the training of a model four times."""
    run = watching(epochs=3)
    run = dataclasses.replace(run, origin={"stage": "train", "variant": "small"})
    whole, parts = (Checkpoints(writing_params_path=tmp_path / name, resume=True) for name in ("whole", "parts"))
    assert train(run, whole)
    for steps in (2, 1):
        assert train(run, parts, interrupts=ComesLater(steps - 1)) is None
        assert partial_path(parts.writing_params_path).exists()
        assert not parts.writing_params_path.exists()
    assert train(run, parts)
    assert parts.writing_params_path.read_bytes() == whole.writing_params_path.read_bytes()
    assert train(run, parts) == 0
    told = capsys.readouterr().err
    assert "epoch 3 of 3: sum" in told
    assert told.count("epoch 1 of 3: sum") == 2
    assert [line for line in told.splitlines() if "stopped after step" in line] == [
        f"stopped after step {step} of 6: {partial_path(parts.writing_params_path)} keeps it, --resume goes on"
        for step in (2, 3)
    ]
