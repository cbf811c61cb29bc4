"""attnlab mixers: what lets tokens see each other, compared on one language."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import subcommand

from attnlab_theory.labs.engine.run import JUDGE, JudgeLab, RunLab, tell
from attnlab_theory.labs.mixers.arms import ASKED, PRESETS, ArmName, PresetName
from attnlab_theory.labs.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.engine.record import Results
    from attnlab_theory.labs.mixers.lab import Mixers as Lab


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Train a model with every mixer. Then compare losses, look for leaks, judge and draw.

    Without files, sentences are drawn from an embedded grammar of captions, whose entropy is known exactly.
    """

    name = "mixers"
    question = "Do additive scores, shared projections or a mask of zeros change what a small model learns?"
    texts: Texts = dataclasses.field(default_factory=lambda: Texts(mean="tokens"))
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: trained in seconds. homework: one epoch at learning rate 5e-4, 100 tokens."""
    arms: tuple[ArmName, ...] = ("separate", "additive", "shared-qk", "shared-qkv", "zero-after", "zero-before")
    """The mixers.
    separate: dot-product attention with queries, keys and values of their own.
    additive: Bahdanau's attention.
    shared-qk: queries are keys. shared-qkv: queries, keys and values are one.
    zero-after: masked by zeros in the weights, after the softmax, as in the homework.
    zero-before: masked by zeros in the scores, before the softmax."""
    seeds: int = 10
    """How many seeds to run. Ten are needed for a verdict on equivalence, and took two minutes on two cores.
    Masks of zeros take the first five."""
    out: Path = Path("lab/mixers")
    """Folder for models, JSON and figures. It is made if it does not exist."""

    @property
    def small(self) -> bool:
        """Models of the preset tiny are."""
        return self.preset == "tiny"

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: of bad input, before anything is written.
        """
        from attnlab_theory.labs.mixers.lab import Mixers as Lab

        seeds = self.every_seed()
        first = self.texts.material(self.seed)  # Complains of bad input before anything is written.
        return Lab(
            preset=PRESETS[self.preset],
            arms=self.arms,
            seeds=seeds,
            material=functools.cache(self.texts.material) if self.texts.train is None else (lambda _: first),
            folder=self.out / "models",
            longer=self.texts.longer,
            mean=self.texts.mean,
            own_sentences=ASKED if self.texts.train is not None and self.texts.unit == "words" else (),
        )

    def results(self, lab: "Lab") -> "Results":
        """Measure what is trained, and judge it."""
        from attnlab_theory.labs.mixers.measure import results

        return results(lab, tell)

    def about(self, lab: "Lab") -> dict[str, Any]:
        """Preset, arms and the margin of equivalence."""
        from attnlab_theory.labs.perplexity import MARGIN

        return {"preset": self.preset, "arms": list(self.arms), "margin": MARGIN}


class Judge(JudgeLab):
    """Judge a run of this lab again."""

    name = "mixers"

    def again(self) -> "Results":
        """What the folder holds, judged again."""
        from attnlab_theory.labs.mixers.measure import again

        return again(self.folder)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Tell loss and perplexity of single sentences under models of this lab, as the homework does."""

    models: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MODEL ...")]
    """Files of models that `mixers run` wrote."""
    sentences: Path
    """File of sentences, one a line. Words that a model does not know are read as <UNK>."""

    def run(self) -> int:
        """Read, score, print."""
        from rich.table import Table

        from attnlab_theory.labs.mixers.leaky import KINDS
        from attnlab_theory.labs.perplexity import losses
        from attnlab_theory.labs.sentences import encoded, read_sentences
        from attnlab_theory.language.checkpoint import load_model
        from attnlab_theory.report.table import show

        if not self.models:
            raise ValueError("MODEL ... is missing: name at least one file that mixers run wrote")
        asked = read_sentences(self.sentences)
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("sentence", overflow="fold")
        for path in self.models:
            table.add_column(f"{path.name}: loss", justify="right", no_wrap=True)
            table.add_column("perplexity", justify="right", no_wrap=True)
        each = []
        for path in self.models:
            saved = load_model(path, kinds=KINDS)
            read = encoded(asked, saved.text, saved.model.config.block, source=str(self.sentences))
            found = losses(saved.model, read)
            each.append(found.total / found.targets)
        for number, sentence in enumerate(asked):
            numbers = [
                text
                for lost in each
                for text in (f"{lost[number]:.3f}", f"{2.718281828459045 ** lost[number]:.2f}")
            ]
            table.add_row(sentence, *numbers)
        show(table)
        return 0


@dataclasses.dataclass(frozen=True)
class Mixers:
    """Compare what lets tokens see each other, on the same sentences."""

    task: Annotated[Run, subcommand("run")] | Annotated[Judge, JUDGE] | Annotated[Score, subcommand("score")]

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
