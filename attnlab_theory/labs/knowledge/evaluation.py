"""attnlab knowledge evaluate, baseline and score: how many questions are answered right."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory.labs.knowledge.training import PretrainCorpus, VariantName
from attnlab_theory.labs.options import WithJson
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from rich.table import Table

    from attnlab_theory.labs.estimates import Estimate, Estimates
    from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
    from attnlab_theory.labs.knowledge.predictions import Predictions


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate(WithJson):
    """Ask a model where persons were born. Write its answers and count how many are right."""

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    reading_params_path: Path
    """File of the model, as pretrain, finetune or store wrote it."""
    eval_corpus_path: Path
    """File of questions to ask: lines of question, tab and place.
    The places may be missing. Then answers are written, but none is counted."""
    outputs_path: Path | None = None
    """File for the answers, one per line."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    out: Path | None = None
    """Folder for JSON and figures: what wrong answers look like, and how sure the model is of its answers."""
    finetune_corpus_path: Path | None = None
    """Finetuning questions, for --out. An answer is a real place if it occurs here or in the questions asked."""

    def run(self) -> int:
        """Ask, write, count."""
        from attnlab_theory import files
        from attnlab_theory.labs import folders
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.measure import write_one
        from attnlab_theory.labs.knowledge.predictions import predictions
        from attnlab_theory.labs.knowledge.stages import Corpus, read_model

        read = (self.pretrain_corpus, self.reading_params_path, self.eval_corpus_path, self.finetune_corpus_path)
        if self.outputs_path is not None:
            files.refuse_unwritable(self.outputs_path, *read, form=files.Form.LINES)
        self._refuse_in_out(*read, self.outputs_path)
        if self.finetune_corpus_path is not None and self.out is None:
            raise ValueError(
                f"--finetune_corpus_path {self.finetune_corpus_path} is for --out: name a folder with it"
            )
        if self.out is not None and (self.out / f"knowledge{folders.RUN}").exists():
            raise ValueError(f"{self.out} holds what a whole run found: choose another folder with --out")
        corpus = Corpus.read(self.pretrain_corpus)
        saved = read_model(self.reading_params_path, self.variant, corpus)
        questions = read_questions(self.eval_corpus_path)
        if questions.places is None and self.outputs_path is None:
            raise ValueError(
                f"{self.eval_corpus_path} has no places, so that there is no accuracy to print: name a file for "
                "the predictions with --outputs_path"
            )
        known: set[str] = set()
        if self.out is not None:
            known = self._known_places(questions)
            _ = questions.names
            folders.make_folder(self.out, "knowledge")
        found = predictions(saved.model, questions, corpus.characters)
        if self.outputs_path is not None:
            found.write(self.outputs_path)
        if self.out is not None:
            write_one(found, known, self.out, arm=self.variant)
        self._report(found)
        return 0

    def _refuse_in_out(self, *others: Path | None) -> None:
        if self.out is None:
            return
        for other in filter(None, others):
            if other.suffix in (".json", ".svg", ".png") and other.parent.resolve() == self.out.resolve():
                raise ValueError(f"{other} may be written over: choose another folder with --out")

    def _known_places(self, questions: "Questions") -> set[str]:
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions

        others = () if self.finetune_corpus_path is None else read_questions(self.finetune_corpus_path).answers
        return {*questions.answers, *others}

    def _report(self, found: "Predictions") -> None:
        from attnlab_theory.labs.knowledge.scores import as_json, in_words, remarks

        score = None if found.questions.places is None else found.score()
        if self.json:
            written = None if self.outputs_path is None else str(self.outputs_path)
            result = {"variant": self.variant, "questions": len(found.questions), **as_json(score)}
            print(json.dumps({**result, "outputs_path": written}, indent=1, ensure_ascii=False))
            return
        if score is None:
            print(f"{self.eval_corpus_path} has no places: {len(found.questions)} predictions and no accuracy")
        else:
            print(in_words(self.variant, score))
            for remark in remarks(found.predictions, found.questions, who=self.variant):
                print(remark)
        if self.outputs_path is not None:
            print(f"predictions are in {self.outputs_path}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Baseline(WithJson):
    """Give the same place as the answer to every question. Count how many answers are right."""

    eval_corpus: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVAL_CORPUS")]
    """File of questions: lines of question, tab and place."""
    place: str = "London"
    """The place."""

    def run(self) -> int:
        """Count the questions that the place answers."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import always, read_questions
        from attnlab_theory.labs.knowledge.scores import as_json, in_words, remarks

        questions = read_questions(self.eval_corpus)
        found = always(self.place, questions)
        if self.json:
            print(json.dumps({"place": self.place, **as_json(found)}, indent=1, ensure_ascii=False))
            return 0
        print(in_words(self.place, found))
        for remark in remarks([self.place] * len(questions), questions, who=self.place):
            print(remark)
        return 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score(WithJson):
    """Count the right answers in files of predictions. Test whether the others beat the first.

    An answer is right letter for letter, as in the homework. Answers that are wrong by spaces alone are counted
    apart, and so are lines that contain the right place among other words. The test is McNemar's exact test.
    """

    eval_corpus: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVAL_CORPUS")]
    """File of questions: lines of question, tab and place."""
    predictions: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PREDICTIONS ...")] = ()
    """Files with one answer per line, as evaluate or the homework's own program wrote them."""
    labels: tuple[str, ...] = ()
    """Names of the files, in their order. By default the names of the files on disk."""

    def run(self) -> int:
        """Read, count, compare."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_predictions, read_questions
        from attnlab_theory.labs.knowledge.scores import remarks, scored
        from attnlab_theory.labs.verdicts import ERROR_RATE
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
            for remark in remarks(read_predictions(path, questions), questions, who=label):
                show(f"\n{remark}")
        if len(labels) > 1:
            show(
                f"\nA gain is over {labels[0]}, for these models and more such questions. p is that of an exact "
                "test whether both are right equally often. Each interval errs with probability "
                f"{ERROR_RATE:g}. That of a "
                "gain bounds wins and losses separately, so it may contain 0 although p is small."
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
            raise ValueError(f"{len(labels)} --labels for {several(files, 'file')} of predictions; give one each")
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

    from attnlab_theory.labs.tables import table

    columns = ["right", "accuracy", f"{100 * (1 - found[0].error_rate):g} % interval"]
    if len(labels) > 1:
        columns += ["gained", "interval", "McNemar p"]
    shown = table(["file"], columns)
    for number, label in enumerate(labels):
        (each,) = found.of("accuracy", label=label)
        row = [str(round(each.value * each.draws)), f"{100 * each.value:.1f} %", _ends(each)]
        if number > 0:
            (gain,), (p,) = (found.of(quantity, label=label) for quantity in ("accuracy gained", "mcnemar p"))
            row += [f"{100 * gain.value:+.1f}", _ends(gain, "+"), f"{p.value:.2g}"]
        shown.add_row(escape(label), *row)
    return shown


def _ends(estimate: "Estimate", sign: str = "") -> str:
    low, high = (f"{100 * end:{sign}.1f}" for end in (estimate.interval.low, estimate.interval.high))
    return f"{low} to {high}"
