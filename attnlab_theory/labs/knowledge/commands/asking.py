"""attnlab knowledge evaluate and baseline: how many questions are answered right."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory.labs.knowledge.commands.models import PretrainCorpus, VariantName

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, Score
    from attnlab_theory.labs.knowledge.evaluate import Answers

ERROR_RATE = 0.05
"""The error rate of the interval around an accuracy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
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
    out: Path | None = None
    """Folder for a closer look at the answers, as JSON and figures.
    It shows what wrong answers look like, and how sure the model is of right and of wrong ones."""
    finetune_corpus_path: Path | None = None
    """For --out: the questions of finetuning. Their places, too, count as places that exist."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Ask, write, count."""
        from attnlab_theory import files
        from attnlab_theory.labs import folders
        from attnlab_theory.labs.knowledge import results
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.evaluate import answers
        from attnlab_theory.labs.knowledge.stages import Corpus, read_model

        read = (self.pretrain_corpus, self.reading_params_path, self.eval_corpus_path, self.finetune_corpus_path)
        if self.outputs_path is not None:
            files.refuse_unwritable(self.outputs_path)
            files.refuse_input(self.outputs_path, *read)
        self._refuse_in_out(*read, self.outputs_path)
        if self.finetune_corpus_path is not None and self.out is None:
            raise ValueError(
                f"--finetune_corpus_path {self.finetune_corpus_path} is for --out: name a folder with it"
            )
        if self.out is not None and (self.out / results.ABOUT).exists():
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
        found = answers(saved.model, questions, corpus.characters)
        if self.outputs_path is not None:
            found.write(self.outputs_path)
        if self.out is not None:
            results.write(results.of_one(found, known, variant=self.variant), self.out)
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

    def _report(self, found: "Answers") -> None:
        from attnlab_theory.labs.knowledge import near_answers

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
            for remark in near_answers.remarks(found.predictions, found.questions, who=self.variant):
                print(remark)
        if self.outputs_path is not None:
            print(f"predictions are in {self.outputs_path}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Baseline:
    """Give the same place as the answer to every question. Count how many answers are right."""

    eval_corpus: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVAL_CORPUS")]
    """File of questions: lines of question, tab and place."""
    place: str = "London"
    """The place."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Count the questions that the place answers."""
        from attnlab_theory.labs.knowledge import near_answers
        from attnlab_theory.labs.knowledge.corpora.birthplaces import always, read_questions

        questions = read_questions(self.eval_corpus)
        found = always(self.place, questions)
        if self.json:
            print(json.dumps({"place": self.place, **as_json(found)}, indent=1, ensure_ascii=False))
            return 0
        print(in_words(self.place, found))
        for remark in near_answers.remarks([self.place] * len(questions), questions, who=self.place):
            print(remark)
        return 0


def as_json(score: "Score | None") -> dict[str, Any]:
    """How many are right, the share and its interval; all None where there is no score."""
    if score is None:
        return dict.fromkeys(("correct", "total", "accuracy", "interval", "error_rate"))
    interval = score.interval(ERROR_RATE)
    return {
        "correct": score.correct,
        "total": score.total,
        "accuracy": score.accuracy,
        "interval": [interval.low, interval.high],
        "error_rate": ERROR_RATE,
    }


def in_words(who: str, score: "Score") -> str:
    """How many are right, and the interval around the share."""
    interval = score.interval(ERROR_RATE)
    return (
        f"{who}: {score.correct} of {score.total} right, {100 * score.accuracy:.1f} % "
        f"({100 * (1 - ERROR_RATE):g} % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %)"
    )
