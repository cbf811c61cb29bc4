"""attnlab mixers: what lets tokens see each other, compared on one language."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import subcommand

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.judged_again import JudgeAgain
from attnlab_theory.labs.mixers.presets import ASKED, PRESETS, ArmName, PresetName
from attnlab_theory.labs.options import ParallelRun
from attnlab_theory.labs.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.mixers.lab import Lab
    from attnlab_theory.labs.mixers.results import Results

QUESTION = "Do additive scores, shared projections or a mask of zeros change what a small model learns?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(ParallelRun):
    """Train a model with every mixer. Then compare losses, look for leaks, judge and draw.

    Without files, sentences are drawn from an embedded grammar of captions, whose entropy is known exactly.
    """

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

    def run(self) -> int:
        """Train, measure, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.mixers import results
        from attnlab_theory.labs.processes import all_trained, workers
        from attnlab_theory.report import record

        began = time.monotonic()
        lab = self.lab()
        processes = workers(self.processes, small=self.preset == "tiny", tell=_tell)
        about = self._about()
        with folders.begun(self.out, "mixers"):
            if not self.resume:
                lab.refuse_left_over()
            if not all_trained(self, lab, processes):
                return 130
            about["seconds_per_step"] = results.seconds_per_step(lab)
            found = results.results(lab, tell=_tell)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            about |= found.verdicts.as_json()
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: of bad input, before anything is written.
        """
        from attnlab_theory.labs.mixers.lab import Lab

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
            asked=ASKED if self.texts.train is not None and self.texts.unit == "words" else (),
        )

    def _about(self) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.mixers.findings import ERROR_RATE, MARGIN
        from attnlab_theory.report import provenance

        told = {"question": QUESTION, "preset": self.preset, "seed": self.seed, "seeds": self.seeds}
        told |= {"arms": list(self.arms), "margin": MARGIN}
        return {**told, **provenance.of_this_process(), "error_rate": ERROR_RATE}

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report.table import show

        if not self.json:
            show(found.table())
            for arm, (low, middle, high) in about["seconds_per_step"].items():
                quartiles = f"(quartiles {1e3 * low:.1f}, {1e3 * high:.1f})"
                show(f"{arm}: {1e3 * middle:.1f} ms per step of training {quartiles}")
        report(found.verdicts, found.estimates, about, self.out, json=self.json)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge(JudgeAgain):
    """Judge a finished run again, from the numbers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    def run(self) -> int:
        """Read, judge, write; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.mixers.results import again

        return self.judge("mixers", again)


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

    task: (
        Annotated[RunLab, subcommand("run")]
        | Annotated[Judge, subcommand("judge")]
        | Annotated[Score, subcommand("score")]
    )

    def run(self) -> int:
        """Do the task."""
        return self.task.run()


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
