"""Training that can be stopped: its options, its progress on standard error, --resume, Ctrl-C, and its report."""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab_theory import files
from attnlab_theory.interrupts import Interrupts, patient
from attnlab_theory.labs.options import Checkpoints
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.runs import Run, Standing
    from attnlab_theory.language.train import Metrics


class Told(NamedTuple):
    """The part of a lab in the report of a finished run."""

    words: str
    """A line of text."""
    fields: dict[str, Any]
    """Further fields of the JSON value."""


def refuse_no_time(save_every: float) -> None:
    """Refuse a number of seconds between two checkpoints that is negative or not a number.

    Raises:
        ValueError: naming the option.
    """
    if not save_every >= 0:
        raise ValueError(f"--save-every is a number of seconds, at least 0, not {save_every}")


def train_and_report(
    run: "Run", checkpoints: Checkpoints, *, adding: "Callable[[Saved], Told] | None" = None
) -> int:
    """Train to the end, and print a report.

    Args:
        run: what is trained.
        checkpoints: where the model goes, and how often it is saved.
        adding: gives the lab's part of the report, from the finished model.

    Returns:
        The exit code: 0 done, 130 stopped by Ctrl-C.

    Raises:
        ValueError: if the run cannot begin or go on, or another process is writing the file.
    """
    seconds = train(run, checkpoints)
    if seconds is None:
        return 130
    said = "is written" if seconds else "is finished: nothing to do"
    _report(run, checkpoints, said, adding, seconds=seconds)
    return 0


def train(
    run: "Run",
    checkpoints: Checkpoints,
    *,
    told: str = "",
    interrupts: Interrupts | None = None,
) -> float | None:
    """Train to the end, and show the progress on standard error.

    Args:
        run: what is trained. Its origin names a stage and a variant.
        checkpoints: the file for the model, and when a checkpoint is written.
        told: words that the progress line adds to stage and variant.
        interrupts: the list of signals of a caller that watches Ctrl-C for several trainings at once
            (`interrupts.patient`). None: this training watches Ctrl-C itself, in the main thread.

    Returns:
        The seconds that it took; 0 if it was finished before. None if Ctrl-C has stopped it.

    Raises:
        ValueError: if the file cannot be written, or is of another run. Also if training diverges, `save_every` is
            no time, or another process is writing the file.
    """
    from attnlab_theory.labs.progress import Progress
    from attnlab_theory.language.runs import complete, partial_path, standing

    refuse_no_time(checkpoints.save_every)
    path = checkpoints.writing_params_path
    files.refuse_unwritable(path, form=files.Form.MODEL)
    with files.held(path):
        begin = standing(run, path, resume=checkpoints.resume)
        if begin is None:
            return 0.0
        before = time.monotonic()
        name = f"{run.origin['stage']} {run.origin['variant']}{told}"
        # Only one bar fits on a terminal.
        with Progress(name, run.steps, begun=begin.state.step, bar=interrupts is None) as progress:
            progress.say(_beginning(run, begin))
            for note in run.notes:
                progress.say(note)
            watched = patient(progress.say) if interrupts is None else contextlib.nullcontext(interrupts)
            with watched as pressed:

                def after(metrics: "Metrics") -> bool:
                    progress.advance(metrics)
                    return bool(pressed)

                every = checkpoints.save_every
                stopped = complete(run, path, begin, save_every=every, after=after, tell=progress.say)
                # After the last step there is a whole model, but whoever pressed Ctrl-C wants no further stage.
                if stopped is None and pressed:
                    stopped = run.steps
            if stopped is not None:
                kept = partial_path(path) if stopped < run.steps else path
                progress.say(f"stopped after step {stopped} of {run.steps}: {kept} keeps it, --resume goes on")
                return None
        return time.monotonic() - before


def _beginning(run: "Run", begin: "Standing") -> str:
    from attnlab_theory.language.models.gpt import parameter_count

    where = f"goes on after step {begin.state.step} of" if begin.state.step else "takes"
    vocabulary = f"{len(run.text)} {run.text.as_json()['kind']}"
    return (
        f"{run.origin['variant']}, {parameter_count(begin.state.model):,} parameters, {vocabulary}: "
        f"{run.origin['stage']} {where} {several(run.steps, 'step')} in {several(run.training.epochs, 'epoch')}"
    )


def _report(
    run: "Run", checkpoints: Checkpoints, said: str, adding: "Callable[[Saved], Told] | None", *, seconds: float
) -> None:
    from attnlab_theory.language.checkpoint import load_model
    from attnlab_theory.language.models.gpt import parameter_count

    saved = load_model(checkpoints.writing_params_path, kinds=run.kinds)
    losses, validated = saved.about["losses"], saved.about.get("validated")
    per_epoch = run.steps // run.training.epochs
    last = sum(losses[-per_epoch:]) / per_epoch
    added = adding(saved) if adding else None
    if not checkpoints.json:
        print(f"{checkpoints.writing_params_path} {said}; loss {last:.4f} in the last epoch")
        if validated:
            print(f"best validation loss {min(validated):.4f}, after epoch {best_epoch(validated)}")
        if added is not None:
            print(added.words)
        return
    result = {
        "origin": saved.about["origin"],
        "parameters": parameter_count(saved.model),
        "steps": run.steps,
        "losses": by_epoch(losses, len(losses) // per_epoch),
        **({} if validated is None else {"validated": validated, "best_epoch": best_epoch(validated)}),
        "seconds": seconds,
        "writing_params_path": str(checkpoints.writing_params_path),
        **({} if added is None else added.fields),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))


def by_epoch(losses: Sequence[float], epochs: int) -> tuple[float, ...]:
    """The mean loss of the steps of each epoch. All epochs have equally many steps."""
    size = len(losses) // epochs
    return tuple(sum(losses[i : i + size]) / size for i in range(0, size * epochs, size))


def best_epoch(validated: Sequence[float]) -> int:
    """The number, from 1, of the epoch with the lowest validation loss. Of several, the first."""
    return min(range(len(validated)), key=validated.__getitem__) + 1
