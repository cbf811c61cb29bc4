"""attnlab knowledge pretrain and finetune: the homework's command lines, and runs that can be stopped."""

import contextlib
import dataclasses
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files
from attnlab_theory.labs.knowledge.commands.models import Changes, PretrainCorpus, Sizes, VariantName
from attnlab_theory.labs.knowledge.recipes import RuleName
from attnlab_theory.labs.progress import Progress
from attnlab_theory.language.corpora.corruption import Corruption

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
    from attnlab_theory.language.runs import Run, Standing


@dataclasses.dataclass(frozen=True, kw_only=True)
class Keeping:
    """Of what has been done."""

    writing_params_path: Path
    """File for the model; until it is whole, PATH.partial holds what the run needs to go on."""
    resume: bool = False
    """Go on from PATH.partial, to the same bits as without the stop; from the start if there is none."""
    save_every: float = 60.0
    """Seconds between two checkpoints."""
    json: bool = False
    """Print one JSON value and nothing else."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pretrain:
    """Train a model on a text from which pieces are cut out: it learns to go on, and to fill in what is missing."""

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    keeping: Keeping
    reading_params_path: Path | None = None
    """A model to go on from; without it, a new one."""
    how: Corruption = dataclasses.field(default_factory=Corruption)
    changes: Changes = dataclasses.field(default_factory=Changes)
    sizes: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.knowledge.recipes import PRETRAINING
        from attnlab_theory.labs.knowledge.stages import Corpus, pretraining

        files.refuse_input(self.keeping.writing_params_path, self.pretrain_corpus, self.reading_params_path)
        corpus = Corpus.read(self.pretrain_corpus)
        start = self.sizes.start(self.variant, corpus, self.reading_params_path)
        recipe = self.changes.of(PRETRAINING[self.how.year])
        return _train_and_tell(pretraining(corpus, start, recipe, self.how), self.keeping)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finetune:
    """Train a model to answer questions: 10 epochs if it has been pretrained, 75 if it is new."""

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    keeping: Keeping
    finetune_corpus_path: Path
    """Lines of question, tab and place."""
    reading_params_path: Path | None = None
    """The pretrained model; without it, a new one."""
    changes: Changes = dataclasses.field(default_factory=Changes)
    sizes: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.recipes import FINETUNING, FINETUNING_FROM_SCRATCH
        from attnlab_theory.labs.knowledge.stages import Corpus, finetuning

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_input(self.keeping.writing_params_path, *read)
        corpus = Corpus.read(self.pretrain_corpus)
        questions = read_questions(self.finetune_corpus_path)
        start = self.sizes.start(self.variant, corpus, self.reading_params_path)
        recipe = self.changes.of(FINETUNING if self.reading_params_path else FINETUNING_FROM_SCRATCH)
        return _train_and_tell(finetuning(corpus, questions, start, recipe), self.keeping)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Store:
    """Beyond the homework: train on a question about everybody the text speaks of, with answers read off by rule.

    The rule finds the places, the network only stores them: what is measured is whether a fact can be recalled
    that was stored in the words in which it is asked for.
    """

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    keeping: Keeping
    finetune_corpus_path: Path
    """Lines of question, tab and place: their answers are given, all others read off."""
    rule: RuleName = "capitalised"
    """The first capitalised words of a line that are no name, no month and begin no sentence; or the first that are
    an answer in the training file, which is distant supervision."""
    questions_too: bool = False
    """Take the loss on the questions too, as on any text, and not on the answers alone: less is recalled."""
    hold_back: int = 0
    """Questions of the training file to leave to the rule and to ask at the end: recipes are chosen by these."""
    reading_params_path: Path | None = None
    """A model to go on from; without it, a new one."""
    changes: Changes = dataclasses.field(default_factory=Changes)
    """The recipe is not the homework's: every epoch has an order of its own, too."""
    sizes: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train, write, and ask what was held back."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.recipes import STORING
        from attnlab_theory.labs.knowledge.stages import Corpus, storing

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_input(self.keeping.writing_params_path, *read)
        corpus = Corpus.read(self.pretrain_corpus)
        given, kept = read_questions(self.finetune_corpus_path).split(self.hold_back, seed=self.changes.seed)
        sizes = self.sizes
        if self.reading_params_path is None and sizes.dropout is None:
            sizes = dataclasses.replace(sizes, dropout=0.0)
        start = sizes.start(self.variant, corpus, self.reading_params_path)
        recipe = self.changes.of(STORING)
        run = storing(corpus, given, start, recipe, self.rule, questions_too=self.questions_too)
        return _train_and_tell(run, self.keeping, kept if len(kept) else None)


def _train_and_tell(run: "Run", keeping: Keeping, held_back: "Questions | None" = None) -> int:
    seconds = train(run, keeping)
    if seconds is None:
        return 130
    _report(run, keeping, "is written" if seconds else "is finished: nothing to do", held_back, seconds=seconds)
    return 0


def train(run: "Run", keeping: Keeping, *, told: str = "") -> float | None:
    """Train to the end, showing on standard error how far it has come.

    Args:
        run: what is trained.
        keeping: the file for the model, and when a checkpoint is written.
        told: what the progress says behind stage and variant.

    Returns:
        Seconds that it took, 0 if it was finished before; None if Ctrl-C has stopped it.

    Raises:
        ValueError: as `language.runs.standing` and `language.runs.checkpointed`, if `save_every` is no time, or if
            another process is writing the file.
    """
    from attnlab_theory.language.runs import partial_path, standing

    if not keeping.save_every >= 0:
        raise ValueError(f"--save-every is a number of seconds, at least 0, not {keeping.save_every}")
    path = keeping.writing_params_path
    files.refuse_unwritable(path)
    with files.held(path):
        begin = standing(run, path, resume=keeping.resume)
        if begin is None:
            return 0.0
        before = time.monotonic()
        name = f"{run.origin['stage']} {run.origin['variant']}{told}"
        with Progress(name, run.steps, begun=begin.state.step) as progress:
            progress.say(_beginning(run, begin))
            stopped = _steps(run, keeping, begin, progress)
            if stopped is not None:
                kept = partial_path(path) if stopped < run.steps else path
                progress.say(f"stopped after step {stopped} of {run.steps}: {kept} keeps it, --resume goes on")
                return None
        return time.monotonic() - before


def _steps(run: "Run", keeping: Keeping, begin: "Standing", progress: Progress) -> int | None:
    """All steps, or up to the one in which Ctrl-C is pressed: its number."""
    from attnlab_theory.language.runs import checkpointed

    steps = checkpointed(run, keeping.writing_params_path, begin, save_every=keeping.save_every)
    with _patient_interrupts(progress) as interrupts, contextlib.closing(steps):
        for metrics in steps:
            progress.advance(metrics)
            if interrupts and metrics.step < run.steps:
                return metrics.step
    # Behind the last step there is a whole model, but whoever pressed Ctrl-C wants no further stage.
    return run.steps if interrupts else None


@contextlib.contextmanager
def _patient_interrupts(progress: Progress) -> Iterator[list[int]]:
    """The first Ctrl-C only adds to a list, for a step that is cut off leaves nothing to save; the second stops."""
    pressed: list[int] = []

    def press(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        progress.say("stopping after this step; Ctrl-C again stops at once, without a checkpoint of it")

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _beginning(run: "Run", begin: "Standing") -> str:
    from attnlab_theory.language.models.gpt import parameter_count

    where = f"goes on after step {begin.state.step} of" if begin.state.step else "takes"
    return (
        f"{run.origin['variant']}, {parameter_count(begin.state.model):,} parameters, {len(run.characters)} "
        f"characters: {run.origin['stage']} {where} {run.steps:,} steps in {run.training.epochs} epochs"
    )


def _report(run: "Run", keeping: Keeping, said: str, held_back: "Questions | None", *, seconds: float) -> None:
    from attnlab_theory.labs.knowledge.commands.asking import as_json, in_words
    from attnlab_theory.labs.knowledge.evaluate import answers
    from attnlab_theory.language.checkpoint import load_model
    from attnlab_theory.language.models.gpt import parameter_count

    saved = load_model(keeping.writing_params_path)
    losses = saved.about["losses"]
    per_epoch = run.steps // run.training.epochs
    last = sum(losses[-per_epoch:]) / per_epoch
    score = None if held_back is None else answers(saved.model, held_back, run.characters).score()
    if not keeping.json:
        print(f"{keeping.writing_params_path} {said}; loss {last:.4f} in the last epoch")
        if score is not None:
            print(f"held back, {in_words(run.origin['variant'], score)}")
        return
    result = {
        "origin": run.origin,
        "parameters": parameter_count(saved.model),
        "steps": run.steps,
        "losses": [sum(losses[i : i + per_epoch]) / per_epoch for i in range(0, len(losses), per_epoch)],
        "seconds": seconds,
        "writing_params_path": str(keeping.writing_params_path),
        **({} if score is None else {"held_back": as_json(score)}),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
