"""attnlab captions run: every arm for every seed, then what all of them write."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.captions.presets import PRESETS, PresetName
from attnlab_theory.labs.captions.rules import HOMEWORK, ArmName, DecodingName
from attnlab_theory.labs.options import ModelSizes, WholeRun
from attnlab_theory.labs.texts import Texts
from attnlab_theory.labs.training import train

if TYPE_CHECKING:
    from attnlab_theory.labs.captions.lab import Lab
    from attnlab_theory.labs.captions.results import Results
    from attnlab_theory.labs.sentences import Material

QUESTION = "How good and how varied are a small model's captions, and what decides it?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(ModelSizes):
    """Changes to the preset."""

    epochs: int | None = None
    """The highest number of epochs. Training stops early."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(WholeRun):
    """Train every model. Then measure perplexities, generate captions, compare them with real ones, judge and draw.

    Without files, sentences are drawn from an embedded grammar of captions, whose entropy is known exactly.
    """

    texts: Texts = dataclasses.field(default_factory=Texts)
    pretrain_corpus: Path | None = None
    """With files: text that the model pretrained learns first, one sentence a line.
    Without files, that text is drawn from the same grammar with other probabilities."""
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: trained in seconds. homework: the homework's 3 layers of width 768."""
    arms: tuple[ArmName, ...] = ("scratch", "pretrained")
    """The models. Each is the preset with one thing changed.
    scratch: first weights, sentences in the order of the file.
    shuffled: another order in every epoch.
    pretrained: trained on another text first.
    heads-1, heads-6, heads-8: so many heads.
    permuted: features permuted before they are cut into heads.
    dropped-heads: whole heads dropped while training."""
    decodings: tuple[DecodingName, ...] = HOMEWORK
    """Ways to choose the next token; t is the temperature."""
    count: int = 1000
    """Captions of one generation. The homework has 5,000."""
    generations: int = 2
    """Independent generations of each model and decoding."""
    seeds: int = 5
    """How many seeds to run. Sentences that are drawn, first weights and dropout follow from the seed.
    Five seeds of eight models took 45 minutes on two cores. Fewer than three decide nothing."""
    out: Path = Path("lab/captions")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    def run(self) -> int:
        """Train, ask, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.captions import results
        from attnlab_theory.report import record

        began = time.monotonic()
        lab = self._lab()
        about = self._about()
        with folders.begun(self.out, "captions"):
            if not self.resume:
                lab.refuse_left_over()
            for stage in lab.stages():
                told = f", seed {stage.run.training.seed}"
                if train(stage.run, self.checkpoints(stage.path), told=told) is None:
                    return 130
            found = results.results(lab, self.decodings, count=self.count, generations=self.generations, tell=_tell)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            about |= found.verdicts.as_json()
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _lab(self) -> "Lab":
        from attnlab_theory import refuse
        from attnlab_theory.labs.captions.lab import Lab
        from attnlab_theory.labs.captions.stages import training

        refuse.not_a_size(**{"--count": self.count, "--generations": self.generations})
        seeds = self.every_seed()
        first = self.texts.material(self.seed)  # Complains of bad input before anything is written.
        given = self.texts.train is not None
        preset, changes = PRESETS[self.preset], self.training
        recipe = dataclasses.replace(preset.recipe, epochs=changes.epochs or preset.recipe.epochs)
        lab = Lab(
            preset=dataclasses.replace(preset, **changes.given, recipe=recipe),
            arms=self.arms,
            seeds=seeds,
            material=(lambda _: first) if given else functools.cache(self.texts.material),
            other=functools.cache(functools.partial(self._other, first)),
            folder=self.out / "models",
            longer=self.texts.longer,
            mean=self.texts.mean,
        )
        if "pretrained" in self.arms:
            lab.other(self.seed)
        elif self.pretrain_corpus is not None:
            raise ValueError(
                f"--pretrain-corpus {self.pretrain_corpus} is for the arm pretrained: add it to --arms"
            )
        training(first, lab.config(len(first.text)), recipe, variant="scratch", longer=lab.longer, mean=lab.mean)
        return lab

    def _other(self, first: "Material", seed: int) -> "Material":
        from attnlab_theory.labs.sentences import Sizes, generated, read_other

        if self.texts.train is None:
            if self.pretrain_corpus is not None:
                raise ValueError("--pretrain-corpus is for captions of your own: name them with --train and so on")
            return generated(seed, Sizes(), evened=True)
        if self.pretrain_corpus is None:
            raise ValueError("the arm pretrained needs a text to learn first: name it with --pretrain-corpus")
        return read_other(self.pretrain_corpus, first.text)

    def _about(self) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.captions.findings import ERROR_RATE
        from attnlab_theory.report import provenance

        return {
            "question": QUESTION,
            "preset": self.preset,
            "seed": self.seed,
            "seeds": self.seeds,
            "arms": list(self.arms),
            "decodings": list(self.decodings),
            "count": self.count,
            "generations": self.generations,
            **provenance.of_this_process(),
            "error_rate": ERROR_RATE,
        }

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report.table import show

        if not self.json:
            show(found.table())
        report(found.verdicts, found.estimates, about, self.out, json=self.json)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
