"""Runs that can be stopped and go on, with the same bits as a run that was never stopped.

While NAME is being trained, NAME.partial holds all that the run needs to go on. It is removed when NAME is whole.
A run with a validation loss keeps its best model in NAME.best, stops early, and ends with that model.

`train` makes a step from every batch. `complete` notes the loss of the step, measures after an epoch, and keeps
checkpoints.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from attnlab_theory import files
from attnlab_theory.language import meshes
from attnlab_theory.language.checkpoint import load_model, load_state, save_model, save_state
from attnlab_theory.language.models.model import KINDS, Config, Kind, Model
from attnlab_theory.language.text.vocabulary import Vocabulary
from attnlab_theory.language.train import Diverged, Epochs, Metrics, State, Training, started, train


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What is trained on what."""

    first: Callable[[], Model]
    """The model before the first step."""
    config: Config
    """The configuration of that model."""
    text: Vocabulary
    """The vocabulary that it reads."""
    epochs: Epochs
    training: Training
    steps: int
    """The number of steps of the whole run."""
    origin: Mapping[str, Any]
    """Everything that determines the parameters, as JSON: recipe, seeds, fingerprints of the data.

    The files of the run also hold the number of devices that share the rows, if there are several.
    """
    kinds: Mapping[str, Kind] = dataclasses.field(default_factory=lambda: KINDS)
    """The models that its files may hold, this one among them."""
    validation: Callable[[Any], float] | None = None
    """The loss of a model on validation text, measured after every epoch. All epochs have equally many steps.

    Training ends with the first epoch in which it does not fall, and the model is that of the epoch before. None:
    every epoch is trained, and the model is the last.
    """
    notes: tuple[str, ...] = ()
    """Lines about the data, for whoever trains. They change nothing."""
    watched: Callable[[Any], Mapping[str, float]] | None = None
    """Numbers of a model that are measured and kept after every epoch. They change nothing."""

    def __post_init__(self) -> None:
        if self.measured and self.steps % self.training.epochs:
            raise ValueError(
                f"{self.steps} steps are not equally many in each of {self.training.epochs} epochs: train without "
                "validation"
            )

    @property
    def measured(self) -> bool:
        """Whether anything is measured after an epoch."""
        return self.validation is not None or self.watched is not None

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal in two runs with the same parameters."""
        return {**self._made_by(), "config": self.config.as_json(), "text": self.text.as_json()}

    def about(
        self,
        losses: Sequence[float],
        validated: Sequence[float] = (),
        watched: Sequence[Mapping[str, float]] = (),
    ) -> dict[str, Any]:
        """What the files of the run say about it."""
        measured: dict[str, Any] = {} if self.validation is None else {"validated": list(validated)}
        measured |= {} if self.watched is None else {"watched": list(watched)}
        return {"origin": self._made_by(), "losses": list(losses), **measured}

    def ends_epoch(self, step: int) -> bool:
        """Whether an epoch ends with this step. Steps are counted from 1."""
        return step % (self.steps // self.training.epochs) == 0

    def _made_by(self) -> Mapping[str, Any]:
        """The origin, and the number of devices: several add up gradients in another order than one."""
        mesh = meshes.of_this_process()
        return self.origin if mesh is None else {**self.origin, "devices": mesh.size}


class Standing(NamedTuple):
    """How far a run has come."""

    state: State
    losses: tuple[float, ...] = ()
    """The loss of every step so far."""
    validated: tuple[float, ...] = ()
    """The validation loss after every epoch so far, if it is measured."""
    watched: tuple[Mapping[str, float], ...] = ()
    """What was watched after every epoch so far, if anything is."""


def partial_path(path: Path) -> Path:
    """Where a run keeps its checkpoint while `path` is being made."""
    return path.with_name(path.name + ".partial")


def best_path(path: Path) -> Path:
    """Where a run with a validation loss keeps its best model while `path` is being made."""
    return path.with_name(path.name + ".best")


def refuse_left_over(path: Path) -> None:
    """Refuse to start from the beginning where a stopped run has left a checkpoint of the file.

    Raises:
        ValueError: naming the checkpoint.
    """
    partial = partial_path(path)
    if partial.exists():
        raise ValueError(
            f"{partial} is left of a stopped run: go on with --resume, or delete it to start from the beginning"
        )


def standing(run: Run, path: Path, *, resume: bool) -> Standing | None:
    """Where to go on: at the first step, or with `resume` at the checkpoint, if there is one.

    Args:
        run: the run.
        path: the file for the trained model.
        resume: go on from a checkpoint if there is one, and do nothing if the file is whole.

    Returns:
        How far the run has come. None if it is finished.

    Raises:
        ValueError: if `path` cannot be written. With `resume`, also if the files are of another run; the message
            says what differs. Without it, also if there is a checkpoint, which a new run would destroy.
    """
    files.refuse_unwritable(path, form=files.Form.MODEL)
    if files.is_stream(path):
        raise ValueError(f"{path} is a device or a pipe, which keeps no model to go on with: name a file")
    partial = partial_path(path)
    if not resume:
        refuse_left_over(path)
        return Standing(started(run.first(), run.training))
    for unfinished in (path, partial, best_path(path)):
        files.remove_abandoned(unfinished)
    if partial.exists():
        state, saved = load_state(partial, run.training, kinds=run.kinds)
        _refuse_other_run(partial, run, saved.model.config, saved.text, saved.about)
        if len(saved.about.get("losses", ())) != state.step:
            raise ValueError(
                f"{partial} does not say the losses of its {state.step} steps: delete it, and train again"
            )
        validated = tuple(saved.about.get("validated", ()))
        if validated and not best_path(path).exists():
            raise ValueError(f"{best_path(path)}, the best model of the run so far, is missing: train again")
        return Standing(state, tuple(saved.about["losses"]), validated, tuple(saved.about.get("watched", ())))
    if path.exists():
        saved = load_model(path, kinds=run.kinds)
        _refuse_other_run(path, run, saved.model.config, saved.text, saved.about)
        if not saved.about.get("losses"):
            raise ValueError(f"{path} does not say the losses of its steps: delete it, and train again")
        return None
    return Standing(started(run.first(), run.training))


def complete(
    run: Run,
    path: Path,
    begin: Standing,
    *,
    save_every: float = 60.0,
    after: Callable[[Metrics], object] = lambda _: False,
    tell: Callable[[str], None] = lambda _: None,
) -> int | None:
    """Train to the end and write the model, on `meshes.of_this_process`. Checkpoints are kept on the way.

    Args:
        run: the run.
        path: the file for the model, with the run's origin and the loss of every step in it.
        begin: from `standing`.
        save_every: seconds between checkpoints; 0 writes one after every step. A checkpoint is written one step
            later, because the loss of that step shows that its parameters are good.
        after: called with the metrics of each step. If it returns true before the end, the run stops: one more step
            checks the parameters and is thrown away, and a checkpoint keeps them.
        tell: called with a line about what is measured after an epoch.

    Returns:
        The number of the step after which the run was stopped. None if the model is written.

    Raises:
        Diverged: if training diverges. The last good checkpoint is kept, and the message names it.
        OSError: if a file cannot be written.
    """
    partial, losses = partial_path(path), list(begin.losses)
    validated, watched = list(begin.validated), list(begin.watched)
    saved_step, saved_at = begin.state.step, time.monotonic()
    due: State | None = None
    stopping = False

    def measure(model: Model, metrics: Metrics) -> None:
        if run.watched is not None:
            watched.append(numbers := run.watched(model))
            said = ", ".join(f"{name} {number:.4f}" for name, number in numbers.items())
            tell(f"epoch {len(watched)} of {run.training.epochs}: {said}")
        if run.validation is not None:
            validated.append(loss := _validated(run.validation, model, metrics))
            tell(f"epoch {len(validated)} of at most {run.training.epochs}: validation loss {loss:.4f}")
            if not _worse(validated):
                save_model(best_path(path), model, run.text, run.about(losses, validated, watched), kinds=run.kinds)

    state = begin.state
    steps = () if _worse(validated) else train(state, run.epochs, run.training, mesh=meshes.of_this_process())
    try:
        for state, metrics in steps:
            if due is not None:
                save_state(partial, due, run.text, run.about(losses, validated, watched), kinds=run.kinds)
                if stopping:
                    return due.step
                saved_step, saved_at, due = due.step, time.monotonic(), None
            losses.append(metrics.loss)
            if run.measured and run.ends_epoch(metrics.step):
                measure(state.model, metrics)
            stopping = bool(after(metrics))
            if stopping or time.monotonic() - saved_at >= save_every:
                due = _copied(state)
            if _worse(validated) and not stopping:
                break
    except Diverged as error:
        kept = f"{partial} keeps the parameters after step {saved_step}, for --reading_params_path"
        raise Diverged(f"{error}; {kept if partial.exists() else 'no checkpoint was written before it'}") from None
    model = state.model if run.validation is None else load_model(best_path(path), kinds=run.kinds).model
    save_model(path, model, run.text, run.about(losses, validated, watched), kinds=run.kinds)
    for spare in (partial, best_path(path)):
        spare.unlink(missing_ok=True)
    return None


def _worse(validated: Sequence[float]) -> bool:
    """Whether the last epoch was not better than the best before it."""
    return len(validated) > 1 and validated[-1] >= min(validated[:-1])


def _validated(validation: Callable[[Any], float], model: Model, metrics: Metrics) -> float:
    loss = validation(model)
    if math.isnan(loss):
        raise Diverged(f"the validation loss is not a number after step {metrics.step}, in epoch {metrics.epoch}")
    return loss


def _copied(state: State) -> State:
    """A copy for a checkpoint. The next step shows whether the parameters are good, and reuses their memory."""
    model, moments = jax.tree.map(jnp.copy, (state.model, state.moments))
    return state._replace(model=model, moments=moments)


def _refuse_other_run(path: Path, run: Run, config: Config, text: Vocabulary, about: Mapping[str, Any]) -> None:
    found = {**about.get("origin", {}), "config": config.as_json(), "text": text.as_json()}
    differing = list(_differences("", found, run.identity))
    if differing:
        raise ValueError(
            f"{path} belongs to another run, with other {', '.join(differing)}: ask for the same, or delete it"
        )


def _differences(name: str, theirs: Any, ours: Any, of: str = "") -> Iterator[str]:
    """The differences between two JSON values, with both numbers if they are short."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        # A model that is read has a recipe of its own.
        of = " of the model to go on from" if name == "start" else of
        for part in sorted(set(theirs) | set(ours)):
            yield from _differences(part, theirs.get(part), ours.get(part), of)
    elif theirs != ours:
        short = max(len(str(theirs)), len(str(ours))) <= 12
        yield f"{name}{of} ({theirs}, not {ours})" if short else f"{name}{of}"
