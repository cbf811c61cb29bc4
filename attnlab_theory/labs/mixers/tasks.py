"""attnlab mixers: what lets tokens see each other, compared on one language."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import subcommand

from attnlab_theory.labs.engine.run import JUDGE, JudgeLab, RunLab, Tasks
from attnlab_theory.labs.mixers.arms import ASKED, PRESETS, ArmName, PresetName
from attnlab_theory.labs.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.mixers.lab import Mixers as Lab


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Train a model with every mixer. Test for dependence on later tokens, decide each claim, and draw figures.

    Without files, sentences are drawn from a built-in grammar of captions, whose entropy is known exactly.
    """

    name = "mixers"
    question = "Do additive scores, shared projections or a mask of zeros change what a small model learns?"
    texts: Texts = dataclasses.field(default_factory=Texts)
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: trained in seconds.
    homework: one epoch at learning rate 5e-4, sentences of at most 100 tokens."""
    arms: tuple[ArmName, ...] = ("separate", "additive", "shared-qk", "shared-qkv", "zero-after", "zero-before")
    """The mixers.
    separate: dot-product attention with queries, keys and values of their own.
    additive: Bahdanau's attention.
    shared-qk: one matrix makes queries and keys.
    shared-qkv: one matrix makes queries, keys and values.
    zero-after: masked by zeros in the weights, after the softmax, as in the homework.
    zero-before: masked by zeros in the scores, before the softmax."""
    seeds: int = 10
    """How many seeds to run. Ten took two minutes on two cores. They can show that two losses
    differ by less than the margin."""
    out: Path = Path("lab/mixers")
    """Folder for models, JSON and figures. It is made if it does not exist."""

    @property
    def small(self) -> bool:
        """Whether the models are small: those of the preset tiny."""
        return self.preset == "tiny"

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """
        from attnlab_theory.labs.mixers.lab import Mixers as Lab

        return Lab(
            **self.every_lab(),
            preset=PRESETS[self.preset],
            material=self.of_seeds(self.texts.material, drawn=self.texts.train is None),
            own_sentences=ASKED if self.texts.train is not None and self.texts.unit == "words" else (),
        )

    def about(self, lab: "Lab") -> dict[str, Any]:
        """Preset, arms and the margin of equivalence."""
        from attnlab_theory.labs.perplexity import MARGIN

        return {"preset": self.preset, "arms": list(self.arms), "margin": MARGIN}


class Judge(JudgeLab):
    """Judge a run of this lab again."""

    name = "mixers"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Print loss and perplexity of single sentences under models of this lab, as the homework does."""

    models: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MODEL ...")]
    """Files of models that `mixers run` wrote."""
    text: Annotated[Path, tyro.conf.arg(aliases=["--sentences"])]
    """File of sentences, one a line. Words that a model does not know are read as <UNK>."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Read, score, print."""
        from attnlab_theory.labs.mixers.leaky import KINDS
        from attnlab_theory.labs.perplexity import losses
        from attnlab_theory.labs.sentences import encoded, read_sentences
        from attnlab_theory.labs.tables import table
        from attnlab_theory.language.checkpoint import load_model
        from attnlab_theory.report.table import show

        if not self.models:
            raise ValueError("MODEL ... is missing: name at least one file that mixers run wrote")
        asked = read_sentences(self.text)
        each = []
        for path in self.models:
            saved = load_model(path, kinds=KINDS)
            read = encoded(asked, saved.text, saved.model.config.block, source=str(self.text))
            found = losses(saved.model, read)
            each.append(found.total / found.targets)
        if self.json:
            rows = [
                {
                    "sentence": sentence,
                    "losses": {str(path): float(lost[n]) for path, lost in zip(self.models, each, strict=True)},
                }
                for n, sentence in enumerate(asked)
            ]
            print(json.dumps(rows, indent=1, ensure_ascii=False))
            return 0
        shown = table(["sentence"], [c for path in self.models for c in (f"{path.name}: loss", "perplexity")])
        for number, sentence in enumerate(asked):
            numbers = [
                text
                for lost in each
                for text in (f"{lost[number]:.3f}", f"{2.718281828459045 ** lost[number]:.2f}")
            ]
            shown.add_row(sentence, *numbers)
        show(shown)
        return 0


@dataclasses.dataclass(frozen=True)
class Mixers(Tasks):
    """Compare mixers, the layers by which tokens see each other."""

    task: Annotated[Run, subcommand("run")] | Annotated[Judge, JUDGE] | Annotated[Score, subcommand("score")]
