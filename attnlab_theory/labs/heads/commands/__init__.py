"""attnlab heads: do the heads of a trained model do what the homeworks assume?"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files

if TYPE_CHECKING:
    from attnlab_theory.labs.heads.results import Results

QUESTION = "Do keys of a trained model have a noisy length, do its heads gamble, and do its layers hedge?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heads:
    """Measure the heads of a trained model: what they do, how their keys vary, whether layers hedge.

    Half of the sentences say what the keys of each frequent word are like. The other half judge that. Without TEXT,
    sentences are drawn from the embedded grammar of captions.
    """

    model: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """minilm: the encoder of the extra `pretrained`. Else a file that a lab wrote, or a folder with GPT-2, BERT or
    RoBERTa."""
    text: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TEXT]")] = None
    """File of sentences, one a line."""
    sentences: int = 2000
    """How many sentences of the text are read, at most: the first ones."""
    occurrences: int = 200
    """How often a word must occur to be a type whose keys are looked at."""
    predicted: int = 200
    """Sentences whose weights theory predicts. 0 leaves that out, which is the slowest part."""
    seed: int = 0
    """Which sentences fit and which judge, and which queries are asked, follow from the seed."""
    out: Path = Path("lab/heads")
    """Folder for JSON and figures. It is made if it does not exist."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""

    def run(self) -> int:
        """Measure, judge, write; always 0 where the input is good, because every verdict is on a conjecture."""
        from attnlab_theory.labs.heads import results
        from attnlab_theory.labs.heads.opening import opened
        from attnlab_theory.report import record

        began = time.monotonic()
        self._refuse_wrong_numbers()
        sentences = self._sentences()
        about = self._about(len(sentences))
        reading = opened(self.model, sentences)
        found = results.results(
            reading,
            occurrences=self.occurrences,
            predicted=self.predicted,
            seed=self.seed,
            source=str(self.text or "the embedded grammar"),
            tell=_tell,
        )
        files.make_folder(self.out)
        with files.held(self.out):
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0

    def _refuse_wrong_numbers(self) -> None:
        for name in ("sentences", "occurrences"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} must be at least 1, not {getattr(self, name)}")
        if self.predicted < 0:
            raise ValueError(f"--predicted must not be negative: it is {self.predicted}")

    def _sentences(self) -> tuple[str, ...]:
        from attnlab_theory.labs.sentences import Sizes, generated, read_sentences

        if self.text is None:
            return generated(self.seed, Sizes(train=self.sentences, validation=1, test=1)).train
        return read_sentences(self.text)[: self.sentences]

    def _about(self, sentences: int) -> dict[str, Any]:
        """What was run."""
        from attnlab_theory.labs.heads.findings import ERROR_RATE, EXPLAINED, NORMAL
        from attnlab_theory.report import provenance

        told = {"question": QUESTION, "model": str(self.model), "text": str(self.text) if self.text else None}
        told |= {"sentences": sentences, "occurrences": self.occurrences, "predicted": self.predicted}
        told |= {"seed": self.seed, "margins": {"explained": EXPLAINED, "normal": NORMAL}}
        return {**told, **provenance.of_this_process(), "error_rate": ERROR_RATE}

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        if self.json:
            tables = {"findings": [record.as_json(f) for f in found.findings]}
            tables["estimates"] = [estimate.as_json() for estimate in found.estimates]
            print(record.to_text({**tables, "types": list(found.types), "run": about}), end="")
            return
        show(found.table())
        show(f"\nTypes: {' '.join(found.types)}\n")
        for sentence in found.sentences():
            show(sentence)
        show(
            f"\nEach verdict errs with probability at most {about['error_rate']:g} over all heads together; "
            f"{about['seconds']:.0f} s. Figures and data: {self.out}/"
        )


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
