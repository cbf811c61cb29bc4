"""attnlab recurrent: recurrent networks against attention, and what the homework's report guesses of them."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import subcommand

from attnlab_theory import files
from attnlab_theory.labs.options import WholeRun
from attnlab_theory.labs.recurrent.presets import ARMS, TINY
from attnlab_theory.labs.texts import Texts
from attnlab_theory.labs.training import train

if TYPE_CHECKING:
    from attnlab_theory.labs.recurrent.lab import Lab
    from attnlab_theory.labs.recurrent.results import Results
    from attnlab_theory.labs.sentences import Material

QUESTION = "What do an RNN, a W-RNN and a GPT of one size learn of one language?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(WholeRun):
    """Train RNNs, W-RNNs and GPTs. Then compare losses, gradients and texts, judge and draw.

    Without files, sentences are drawn from an embedded grammar of captions, whose entropy is known exactly.
    """

    texts: Texts = dataclasses.field(default_factory=Texts)
    windows: int = 2000
    """Windows of text that each of the homework's tuning runs reads."""
    seeds: int = 3
    """How many seeds to run. Sentences that are drawn and first weights follow from the seed."""
    out: Path = Path("lab/recurrent")
    """Folder for models, JSON and figures. It is made if it does not exist."""

    def run(self) -> int:
        """Train, measure, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory import refuse
        from attnlab_theory.labs.recurrent import results
        from attnlab_theory.report import record

        refuse.not_a_size(windows=self.windows)
        began = time.monotonic()
        lab = self._lab()
        about = self._about()
        files.make_folder(self.out)
        with files.held(self.out):
            if not self.resume:
                lab.refuse_left_over()
            for stage in lab.stages():
                told = f", seed {stage.run.training.seed}"
                if train(stage.run, self.checkpoints(stage.path), told=told) is None:
                    return 130
            found = results.results(lab, windows=self.windows, tell=_tell)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _lab(self) -> "Lab":
        from attnlab_theory.labs.recurrent.lab import Lab

        seeds = self.every_seed()
        if self.texts.unit != "words":
            raise ValueError(f"--unit {self.texts.unit} is not for this lab: it reads words, and characters too")
        first = self.texts.material(self.seed)  # Complains of bad input before anything is written.
        material = functools.cache(self.texts.material) if self.texts.train is None else (lambda _: first)
        return Lab(
            preset=TINY,
            seeds=seeds,
            material=material,
            letters=functools.cache(lambda seed: _by_letters(material(seed))),
            folder=self.out / "models",
        )

    def _about(self) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.recurrent.findings import ERROR_RATE
        from attnlab_theory.report import provenance

        told = {"question": QUESTION, "seed": self.seed, "seeds": self.seeds, "arms": list(ARMS)}
        return {**told, "windows": self.windows, **provenance.of_this_process(), "error_rate": ERROR_RATE}

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show, verdict_table

        if self.json:
            tables = {"findings": [record.as_json(f) for f in found.findings]}
            tables["estimates"] = [estimate.as_json() for estimate in found.estimates]
            print(record.to_text({**tables, "run": about}), end="")
            return
        show(verdict_table(found.findings))
        show(
            f"\nFindings: {len(found.findings)}, of which each errs with probability at most "
            f"{about['error_rate']:g}; {about['seconds']:.0f} s. Figures and data: {self.out}/"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tune:
    """Repeat the homework's tuning runs on a text, character by character, with the right gradient."""

    text: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    """File of any text."""
    windows: int = 10_000
    """Windows of text that each run reads."""
    seeds: int = 3
    """How many seeds to run. First weights follow from the seed."""
    out: Path = Path("lab/recurrent_tuning")
    """Folder for JSON and figure. It is made if it does not exist."""

    def run(self) -> int:
        """Train, write, print."""
        import numpy as np

        from attnlab_theory import refuse
        from attnlab_theory.labs.recurrent import results
        from attnlab_theory.language.corpora.reading import read_text
        from attnlab_theory.report.table import show

        refuse.not_a_size(windows=self.windows, seeds=self.seeds)
        text = read_text(self.text)
        numbers = {character: number for number, character in enumerate(sorted(set(text)))}
        tokens = np.array([numbers[character] for character in text], np.int32)
        files.make_folder(self.out)
        rows: list[dict[str, Any]] = []
        with files.held(self.out):
            for seed in range(self.seeds):
                told = {"windows": self.windows, "seed": seed, "tell": _tell}
                rows += results.tuning_rows(tokens, len(numbers), **told)
            found = results.write_tuning(rows, self.out, "tuning")
        for each in found:
            low, high = each.interval.low, each.interval.high
            told = each.setting
            show(f"{told['setting']}: {each.value:.3f} nats per character ({low:.3f} to {high:.3f})")
        show(f"Curves: {self.out}/")
        return 0


@dataclasses.dataclass(frozen=True)
class Recurrent:
    """Compare recurrent networks with attention on the same sentences."""

    task: Annotated[RunLab, subcommand("run")] | Annotated[Tune, subcommand("tune")]

    def run(self) -> int:
        """Do the task."""
        return self.task.run()


def _by_letters(material: "Material") -> "Material":
    """The same sentences with every character a token."""
    from attnlab_theory.labs.recurrent.lab import SPACE
    from attnlab_theory.language.text.words import Words

    def spelled(sentences: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(" ".join(sentence.replace(" ", SPACE)) for sentence in sentences)

    parts = {name: spelled(getattr(material, name)) for name in ("train", "validation", "test")}
    text = Words.of([*map(str.split, parts["train"]), [SPACE]], least=1)
    return dataclasses.replace(material, **parts, text=text, grammar=None)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
