"""What goes to the workers of a cluster and what comes back, without a cluster."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from attnlab_theory.labs.engine import remote
from attnlab_theory.labs.engine.lab import Lab, Stage

ARMS = ("sgd.lr-1", "sgd.lr-1.file")


class Toys(Lab):
    def stages(self, arm, seed):
        run: Any = None
        yield Stage(run, self.path(arm, seed))


@dataclasses.dataclass(frozen=True)
class Train:
    resume: bool = False
    cluster: str | None = None
    processes: int | None = None

    def lab(self):
        return Toys(arms=ARMS, seeds=(0,), folder=Path("nowhere"))

    def train(self, stage):
        """Go on with what is there, and leave a model where a checkpoint was."""
        partial = stage.path.with_name(f"{stage.path.name}.partial")
        stage.path.write_text(f"{stage.path.name} after {partial.read_text() if partial.exists() else 'nothing'}")
        partial.unlink(missing_ok=True)
        return True


class Here:
    """A cluster that is this process; it keeps what each unit was sent."""

    def __init__(self):
        self.sent = {}

    def call(self, task, carried, unit, left):
        self.sent[unit.arm] = set(left)
        return task(carried, unit, left)

    def close(self):
        pass


def test_an_arm_whose_name_begins_as_another_gets_its_own_files_and_checkpoints_go(tmp_path):
    lab, folder = Toys(arms=ARMS, seeds=(0,), folder=tmp_path), tmp_path / "seed-0"
    here: Any = Here()
    folder.mkdir()
    for name in ("sgd.lr-1.partial", "sgd.lr-1.file.partial", "sgd.lr-1.lock", "sgd.lr-10.partial"):
        (folder / name).write_text(name)
    remote.trained(Train(), lab, here, print)
    assert here.sent == {arm: {f"seed-0/{arm}.partial"} for arm in ARMS}
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "sgd.lr-1": "sgd.lr-1 after sgd.lr-1.partial",
        "sgd.lr-1.file": "sgd.lr-1.file after sgd.lr-1.file.partial",
        **{name: name for name in ("sgd.lr-1.lock", "sgd.lr-10.partial")},
    }


@pytest.mark.parametrize("name", ["../other", "/etc/other", "a/../../other", "", ".", "link/other", "a/.."])
def test_a_worker_writes_nothing_outside_of_the_folder(tmp_path, name):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="which does not lie in"):
        remote._write({"first": b"1", name: b"2"}, folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link", "run"]
    remote._write({"a/first": b"1"}, folder)
    assert (folder / "a" / "first").read_bytes() == b"1"
