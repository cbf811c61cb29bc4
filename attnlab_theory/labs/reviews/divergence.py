"""Training that may diverge. A search, or a sweep of rates, notes it and goes on with the next model."""

import enum
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files, inputs
from attnlab_theory.interrupts import Interrupts
from attnlab_theory.labs.training import Checkpoints, train

if TYPE_CHECKING:
    from attnlab_theory.language.runs import Run


class Ended(enum.Enum):
    """How a call of `trained` ended."""

    AT_ITS_END = enum.auto()
    STOPPED = enum.auto()
    """Ctrl-C stopped it."""
    DIVERGED = enum.auto()


def trained(run: "Run", checkpoints: Checkpoints, interrupts: Interrupts | None = None) -> Ended:
    """Train by `labs.training.train`. If training diverges, leave a note instead of a model.

    With `resume` a run with such a note is not trained again.

    Args:
        run: an arm or a trial.
        checkpoints: the file for the model, and when a checkpoint is written.
        interrupts: the list of signals of a caller that watches Ctrl-C for several trainings at once.

    Raises:
        ValueError: if the run cannot begin or go on, or another process is writing the file.
    """
    from attnlab_theory.language.runs import partial_path
    from attnlab_theory.language.train import Diverged

    path = checkpoints.writing_params_path
    if checkpoints.resume and noted(path) is not None and _note(path)["run"] == _identity(run):
        return Ended.DIVERGED
    note_path(path).unlink(missing_ok=True)
    trial = run.origin["stage"] == "trial"
    told = f", batches of {run.origin['recipe']['batch']}" if trial else f", seed {run.training.seed}"
    try:
        seconds = train(run, checkpoints, told=told, interrupts=interrupts)
    except Diverged as error:
        # What follows names the checkpoint, which goes: nobody continues from it.
        said = str(error).partition(";")[0]
        files.write_text(note_path(path), json.dumps({"run": _identity(run), "said": said}, indent=1) + "\n")
        partial_path(path).unlink(missing_ok=True)
        print(f"{path.name} diverged and is left out: {said}", file=sys.stderr)
        return Ended.DIVERGED
    return Ended.STOPPED if seconds is None else Ended.AT_ITS_END


def note_path(path: Path) -> Path:
    """The file of the note, if training for this model file diverged."""
    return path.with_name(path.name + ".diverged")


def noted(path: Path) -> str | None:
    """How the training for a model file diverged. None if it did not."""
    return _note(path)["said"] if note_path(path).exists() else None


def _note(path: Path) -> dict[str, str]:
    return inputs.parsed(note_path(path), _said, remedy="delete it, and train again")


def _said(note: Any) -> dict[str, str]:
    inputs.refuse_other_fields(note, {"run": str, "said": str})
    return note


def _identity(run: "Run") -> str:
    from attnlab_theory.language.checkpoint import fingerprint

    return fingerprint(json.dumps(run.identity, sort_keys=True))
