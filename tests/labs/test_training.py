"""Training a part of a run, and going on with it."""

import dataclasses

from attnlab_theory.labs.training import Checkpoints, train
from attnlab_theory.language.runs import partial_path
from tests.language.test_early_stopping import watching


def test_a_run_that_is_trained_in_parts_comes_to_the_same_bytes(tmp_path, capsys):
    run = watching(epochs=3)
    run = dataclasses.replace(run, origin={"stage": "train", "variant": "small"})
    whole, parts = (Checkpoints(writing_params_path=tmp_path / name, resume=True) for name in ("whole", "parts"))
    assert train(run, whole)
    for until in (2, 2, 4):
        assert train(run, parts, until=until) is not None
        assert partial_path(parts.writing_params_path).exists()
        assert not parts.writing_params_path.exists()
    train(run, parts, until=99)
    assert parts.writing_params_path.read_bytes() == whole.writing_params_path.read_bytes()
    assert train(run, parts, until=2) == 0
    told = capsys.readouterr().err
    assert "epoch 3 of 3: sum" in told
    assert told.count("epoch 1 of 3: sum") == 2
