"""attnlab recurrent: recurrent networks against attention, and what the homework's report guesses of them."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import subcommand

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.engine.run import JUDGE, JudgeLab, RunLab, Tasks, tell
from attnlab_theory.labs.recurrent.arms import PARTS, TINY, ActivationName
from attnlab_theory.labs.recurrent.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.recurrent.lab import Networks


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Train RNNs, GPTs and W-RNNs. Compare losses, gradients and texts, decide each claim, and draw figures.

    A W-RNN is a homework's RNN with a second hidden layer. That layer reads the first layer at this token and at
    the one before.

    Without files, sentences are drawn from a built-in grammar of captions, whose entropy is known exactly.
    """

    name = "recurrent"
    question = "What do an RNN, a W-RNN and a GPT of one size learn of one language?"
    texts: Texts = dataclasses.field(default_factory=Texts)
    arms: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--parts"])] = PARTS
    """The models, or a name for several of them.
    equal: rnn, w-rnn, gpt at equal parameters and tokens.
    growth: RNNs and W-RNNs with hidden sizes from 16 to 128, called rnn-16, w-rnn-16 and so on.
    rates: an RNN that reads characters, at learning rates from 0.01 to 0.0003, called letters-0.01 and so on.
    tuning: RNNs and W-RNNs with the sizes and learning rates of the homework."""
    epochs: int | None = None
    """Passes over the sentences by the models of `--arms equal`. By default 6."""
    activation: ActivationName = "tanh"
    """Activation of the hidden layers (f1 and f2 in the homework). The tuning runs keep the homework's sigmoid."""
    windows: int | None = None
    """How many pieces of text each model of `--arms tuning` reads. By default 2000."""
    seeds: int = 5
    """How many seeds to run. Five take about two minutes on two cores. Fewer than three decide no claim."""
    out: Path = Path("lab/recurrent")
    """Folder for models, JSON and figures. It is made if it does not exist."""

    @property
    def small(self) -> bool:
        """True: all models are small."""
        return True

    def lab(self) -> "Networks":
        """What is trained on what.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """
        from attnlab_theory import refuse
        from attnlab_theory.labs.recurrent.lab import WINDOWS, Networks
        from attnlab_theory.labs.recurrent.letters import by_letters

        windows = WINDOWS if self.windows is None else self.windows
        preset = dataclasses.replace(TINY, activation=self.activation)
        epochs = preset.recipe.epochs if self.epochs is None else self.epochs
        refuse.not_a_size(windows=windows, epochs=epochs)
        material = self.of_seeds(self.texts.material, drawn=self.texts.train is None)
        spelled = self.texts.unit == "characters"
        lab = Networks(
            **self.every_lab(),
            preset=dataclasses.replace(preset, recipe=dataclasses.replace(preset.recipe, epochs=epochs)),
            material=material,
            letters=material if spelled else functools.cache(lambda seed: by_letters(material(seed))),
            windows=windows,
        )
        if self.windows is not None and "tuning" not in lab.parts:
            raise ValueError("--windows is for the tuning runs: add tuning to --arms, or leave it out")
        if self.epochs is not None and "equal" not in lab.parts:
            raise ValueError("--epochs is for models at equal parameters: add equal to --arms, or leave it out")
        return lab

    def about(self, lab: "Networks") -> dict[str, Any]:
        """Parts, unit and activation, and how much each arm at equal numbers of parameters reads."""
        told: dict[str, Any] = {"parts": list(lab.parts), "unit": self.texts.unit, "activation": self.activation}
        if not set(self.arms) <= set(PARTS):
            told["arms"] = list(self.arms)
        if "equal" in lab.parts:
            read = [lab.read(seed) for seed in lab.seeds]
            told["equal"] = {
                "arms": [arm.name for arm in lab.of("equal")],
                "epochs": lab.preset.recipe.epochs,
                "tokens_read_by_each_arm": [each.tokens for each in read],
                "training_sentences_cut": [each.cut for each in read],
            }
        return told | ({"windows": lab.windows} if "tuning" in lab.parts else {})


class Judge(JudgeLab):
    """Judge a run of this lab again."""

    name = "recurrent"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tune:
    """Train RNNs and W-RNNs with the sizes and learning rates of the homework on a text, and compare their losses.

    They read characters. Gradients go through time here. Those of the homework's code do not.
    """

    text: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    """File of any text."""
    windows: int = 10_000
    """Windows of text that each run reads."""
    activation: ActivationName = "sigmoid"
    """Activation of the hidden layers (f1 and f2 in the homework). The homework's is the sigmoid."""
    seeds: int = 3
    """How many seeds to run. Initial weights follow from the seed."""
    out: Path = Path("lab/recurrent_tuning")
    """Folder for JSON and figure. It is made if it does not exist."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Train, write, print."""
        import numpy as np

        from attnlab_theory import refuse
        from attnlab_theory.labs.engine.record import draw, drawing
        from attnlab_theory.labs.recurrent import figures, tuning
        from attnlab_theory.language.corpora.text_files import read_text
        from attnlab_theory.language.models.recurrent import Activation
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        refuse.not_a_size(windows=self.windows, seeds=self.seeds)
        text = read_text(self.text)
        tuning.refuse_short(len(text), tuning.SETTINGS)
        numbers = {character: number for number, character in enumerate(sorted(set(text)))}
        tokens = np.array([numbers[character] for character in text], np.int32)
        settings = [dataclasses.replace(each, activation=Activation(self.activation)) for each in tuning.SETTINGS]
        folders.make_folder(self.out, "recurrent")
        rows: list[dict[str, Any]] = []
        with files.held(self.out):
            for seed in range(self.seeds):
                told = {"windows": self.windows, "seed": seed, "tell": tell}
                rows += tuning.curves(settings, tokens, len(numbers), **told)
            found = tuning.last_losses(rows)
            files.write_text(self.out / "tuning.json", record.to_text(rows))
            draw(drawing(figures, ["tuning"], rows, found), self.out)
        if self.json:
            print(record.to_text({"estimates": [each.as_json() for each in found]}), end="")
            return 0
        for each in found:
            low, high = each.interval.low, each.interval.high
            show(f"{each.setting['setting']}: {each.value:.3f} nats per character ({low:.3f} to {high:.3f})")
        show(f"Curves: {self.out}/")
        return 0


@dataclasses.dataclass(frozen=True)
class Recurrent(Tasks):
    """Compare recurrent networks with attention on the same sentences."""

    task: Annotated[Run, subcommand("run")] | Annotated[Judge, JUDGE] | Annotated[Tune, subcommand("tune")]
