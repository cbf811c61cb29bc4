"""attnlab captions: a small GPT that writes captions, and how good and how varied they are."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import subcommand

from attnlab_theory.labs.captions.arms import ASKED_WITH, HOMEWORK, PRESETS, ArmName, DecodingName, PresetName
from attnlab_theory.labs.captions.bleu import Score, Sweep
from attnlab_theory.labs.captions.single import Evaluate, Generate, Train
from attnlab_theory.labs.engine.join import JoinLab
from attnlab_theory.labs.engine.run import DRAW, JUDGE, DrawLab, JudgeLab, RunLab, Tasks, tell
from attnlab_theory.labs.options import ModelSizes
from attnlab_theory.labs.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.captions.lab import Captions as Lab
    from attnlab_theory.labs.engine.record import Results
    from attnlab_theory.labs.sentences import Material


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(ModelSizes):
    """Changes to the preset."""

    epochs: int | None = None
    """The largest number of passes over the training data. Training may stop earlier."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Train every model. Measure perplexities, compare captions with real ones, decide claims, draw figures.

    Without files, sentences are drawn from a built-in grammar of captions, whose entropy is known exactly.
    """

    name = "captions"
    question = "How good and how varied are a small model's captions, and what decides it?"
    texts: Texts = dataclasses.field(default_factory=Texts)
    pretrain_corpus: Path | None = None
    """Text that the model `pretrained` learns first, one sentence a line. Only together with --train."""
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: trains in seconds. homework: 3 layers of width 768."""
    arms: tuple[ArmName, ...] = ("scratch", "pretrained")
    """The models. Each is the preset with one thing changed.
    scratch: sentences in the order of the file.
    shuffled: another order in every epoch.
    pretrained: trained on another text first.
    heads-1, heads-6, heads-8: so many heads.
    permuted: channels divided among the heads at random.
    dropped-heads: whole heads set to zero at random in training."""
    decodings: tuple[DecodingName, ...] = HOMEWORK
    """Ways to choose the next token; t is the temperature."""
    count: int = 1000
    """Captions of one generation. The homework has 5,000."""
    generations: int = 2
    """Independent generations of each model and decoding."""
    seeds: int = 5
    """How many seeds to run. Five took 45 minutes on two cores. Fewer than three decide no claim."""
    out: Path = Path("lab/captions")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """
        from attnlab_theory import refuse
        from attnlab_theory.labs.captions.arms import BASE
        from attnlab_theory.labs.captions.lab import Captions as Lab
        from attnlab_theory.labs.captions.lab import config, training

        refuse.not_a_size(**{"--count": self.count, "--generations": self.generations})
        drawn = self.texts.train is None
        material = self.of_seeds(self.texts.material, drawn=drawn)
        first = material(self.seed)
        other = functools.cache(functools.partial(self._other, first))
        preset, changes = PRESETS[self.preset], self.training
        recipe = dataclasses.replace(preset.recipe, epochs=changes.epochs or preset.recipe.epochs)
        lab = Lab(
            **self.every_lab(),
            preset=dataclasses.replace(preset, **changes.given, recipe=recipe),
            material=material,
            other=other if drawn else (lambda _: other(self.seed)),
        )
        if "pretrained" in self.arms:
            lab.other(self.seed)
        elif self.pretrain_corpus is not None:
            raise ValueError(
                f"--pretrain-corpus {self.pretrain_corpus} is for the arm pretrained: add it to --arms"
            )
        plain = config(BASE, lab.preset, vocabulary=len(first.text))
        training(first, plain, recipe, arm=BASE)
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

    def results(self, lab: "Lab") -> "Results":
        """Measure the trained models, let them write captions, and judge the claims."""
        from attnlab_theory.labs.captions.measure import results

        told = {"count": self.count, "generations": self.generations, "asked_with": self.asked_with}
        return results(lab, self.decodings, **told, tell=tell)

    @property
    def asked_with(self) -> Mapping[str, int]:
        """With how many seeds a statement is asked, where that is known."""
        return ASKED_WITH if self.preset == "tiny" and self.texts.train is None else {}

    def about(self, lab: "Lab") -> dict[str, Any]:
        """Preset, arms, what is generated, and what is asked."""
        told = {"preset": self.preset, "arms": list(self.arms), "decodings": list(self.decodings)}
        told |= {"asked_with": dict(self.asked_with)}
        return {**told, "count": self.count, "generations": self.generations}


class Judge(JudgeLab):
    """Judge a run of this lab again."""

    name = "captions"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Join(JoinLab):
    """Join runs that used the same files, with other seeds or other models. Nothing is trained or generated.

    All comparisons are made again, over all seeds. The folders of the runs stay as they are.
    """

    name = "captions"
    shared = ("preset", "decodings", "count", "generations")
    out: Path = Path("lab/captions_joined")
    """Folder for JSON and figures. It is made if it does not exist."""

    def results(self) -> "Results":
        """Judge the runs of all folders together."""
        from attnlab_theory.labs.captions.measure import joined

        return joined(self.folders, tell)


class Draw(DrawLab):
    """Draw the figures of `captions run` or `captions sweep` again."""


@dataclasses.dataclass(frozen=True)
class Captions(Tasks):
    """Train a small GPT on captions, let it write its own, and judge those."""

    task: (
        Annotated[Train, subcommand("train")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Generate, subcommand("generate")]
        | Annotated[Score, subcommand("score")]
        | Annotated[Sweep, subcommand("sweep")]
        | Annotated[Run, subcommand("run")]
        | Annotated[Join, subcommand("join")]
        | Annotated[Judge, JUDGE]
        | Annotated[Draw, DRAW]
    )
