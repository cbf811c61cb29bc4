"""attnlab knowledge score: files of predictions against the places, and against one another."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory.labs.knowledge.commands.asking import ERROR_RATE

if TYPE_CHECKING:
    from rich.table import Table

    from attnlab_theory.labs.estimates import Estimate, Estimates


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Count the right answers in files of predictions. Test whether the others beat the first.

    An answer is right letter for letter, as in the homework. Answers that miss by spaces alone are told, and so are
    lines that hold the place among other words. The test is McNemar's exact test.
    """

    eval_corpus: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVAL_CORPUS")]
    """File of questions: lines of question, tab and place."""
    predictions: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PREDICTIONS ...")] = ()
    """Files with one answer per line, as evaluate or the homework's own program wrote them."""
    labels: tuple[str, ...] = ()
    """Names of the files, in their order. By default the names of the files on disk."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Read, count, compare."""
        from attnlab_theory.labs.knowledge import near_answers
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_predictions, read_questions
        from attnlab_theory.labs.knowledge.predicted import scored
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        labels = self._labels()
        questions = read_questions(self.eval_corpus)
        found = scored(self.predictions, labels, questions, ERROR_RATE)
        if self.json:
            print(record.to_text([estimate.as_json() for estimate in found]), end="")
            return 0
        count = found[0].draws
        show(f"{count} question{'s' * (count != 1)} of {self.eval_corpus}\n")
        show(_table(found, labels))
        for path, label in zip(self.predictions, labels, strict=True):
            for remark in near_answers.remarks(read_predictions(path, questions), questions, who=label):
                show(f"\n{remark}")
        if len(labels) > 1:
            show(
                f"\nGains are over {labels[0]}, for these very models and more such questions; p is exact, for "
                f"both being right equally often. Each interval errs with probability {ERROR_RATE:g}; that of a "
                "gain bounds what is won and what is lost apart, and may hold 0 where p is small."
            )
        return 0

    def _labels(self) -> tuple[str, ...]:
        if not self.predictions:
            raise ValueError("PREDICTIONS ... is missing: name one file of predictions, or several to compare them")
        files = len(self.predictions)
        labels = self.labels or tuple(path.stem for path in self.predictions)
        if not self.labels and len(set(labels)) < files:
            labels = tuple(map(str, self.predictions))
        if len(labels) != files:
            raise ValueError(f"{len(labels)} --labels for {files} files of predictions; give one each")
        if not all(map(str.strip, labels)):
            raise ValueError(
                f"a file of predictions needs a name, not {min(labels, key=str.strip)!r}; see --labels"
            )
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise ValueError(f"two files of predictions are called {twice[0]!r}; tell them apart with --labels")
        return labels


def _table(found: "Estimates", labels: tuple[str, ...]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", overflow="fold")
    columns = ["right", "accuracy", f"{100 * (1 - ERROR_RATE):g} % interval"]
    if len(labels) > 1:
        columns += ["gained", "interval", "McNemar p"]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for number, label in enumerate(labels):
        (each,) = found.of("accuracy", label=label)
        row = [str(round(each.value * each.draws)), f"{100 * each.value:.1f} %", _ends(each)]
        if number > 0:
            (gain,), (p,) = (found.of(quantity, label=label) for quantity in ("accuracy gained", "mcnemar p"))
            row += [f"{100 * gain.value:+.1f}", _ends(gain, "+"), f"{p.value:.2g}"]
        table.add_row(escape(label), *row)
    return table


def _ends(estimate: "Estimate", sign: str = "") -> str:
    low, high = (f"{100 * end:{sign}.1f}" for end in (estimate.interval.low, estimate.interval.high))
    return f"{low} to {high}"
