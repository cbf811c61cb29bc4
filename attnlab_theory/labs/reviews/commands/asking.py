"""attnlab reviews evaluate and predict: how often a classifier is right, and what it says of other lines."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.corpora.labelled_grammar import LabelledGrammar
    from attnlab_theory.labs.reviews.corpora.reading import Reviews
    from attnlab_theory.language.checkpoint import Saved

Model = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL", help="File of a model that reviews train wrote.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Tell how many reviews of a file a model labels as the file does, with an interval.

    Of several models their mean is told, too.
    """

    models: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="MODEL ...", help="Files of models that reviews train wrote."),
    ]
    test: Path | None = None
    """File of reviews, a line LABEL text for each. By default they are drawn from the embedded grammar."""
    seed: int = 0
    """Of reviews that are drawn."""
    outputs_path: Path | None = None
    """File for the answers of one model: a label on each line, in the order of the reviews."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Ask, count, print."""
        from attnlab_theory.labs.reviews.starts import read_model
        from attnlab_theory.labs.reviews.tested import over_models, tested
        from attnlab_theory.report import record

        self._refuse_unfit()
        told: list[dict[str, Any]] = []
        pages, found = [], []
        for path in self.models:
            saved = read_model(path)
            reviews, language = self._asked(path, saved)
            found.append(tested(saved.model, saved.text, reviews))
            rules = _rules(language)
            told.append(found[-1].as_json() | rules)
            pages.append(found[-1].words + _page_of(rules))
        if self.outputs_path is not None:
            files.write_text(self.outputs_path, found[0].labels)
        if len(found) == 1:
            print(json.dumps(told[0], indent=1) if self.json else pages[0])
            return 0
        whole = over_models(found)
        if self.json:
            every = [{"model": str(path), **each} for path, each in zip(self.models, told, strict=True)]
            interval = record.ends(whole.interval)
            mean = {"accuracy": whole.value, "interval": interval, "error_rate": whole.error_rate}
            print(json.dumps({"models": every, "over_models": mean}, indent=1))
            return 0
        for path, page in zip(self.models, pages, strict=True):
            print(f"{path}: {page}")
        print(
            f"mean over {len(found)} models: {whole.value:.2%}, interval {whole.interval.low:.2%} to "
            f"{whole.interval.high:.2%} ({1 - whole.error_rate:.0%}, for more models of the kind)"
        )
        return 0

    def _refuse_unfit(self) -> None:
        if not self.models:
            raise ValueError("name at least one model that reviews train wrote")
        if self.outputs_path is None:
            return
        if len(self.models) > 1:
            raise ValueError(f"{self.outputs_path} holds the answers of one model, not of {len(self.models)}")
        files.refuse_unwritable(self.outputs_path)
        files.refuse_input(self.outputs_path, *self.models, self.test)

    def _asked(self, path: Path, saved: "Saved") -> tuple["Reviews", "LabelledGrammar | None"]:
        from attnlab_theory.labs.reviews.corpora.reading import read_reviews
        from attnlab_theory.labs.reviews.material import Sizes, generated

        if self.test is not None:
            return read_reviews(self.test), None
        drawn = generated(self.seed, Sizes())
        if saved.text.as_json() != drawn.text.as_json():
            raise ValueError(f"{path} was not trained on the embedded grammar: name reviews with --test")
        return drawn.test, drawn.grammar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict:
    """Label the lines of a file: a label and the probability of label 1 for each line, in their order."""

    model: Model
    lines: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="LINES", help="File with a text on each line.")
    ]
    outputs_path: Path | None = None
    """File for the answers, LABEL, a tab and the probability of label 1. By default they are printed."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Ask and write."""
        from attnlab_theory.labs.reviews.answered import probabilities
        from attnlab_theory.labs.reviews.corpora.reading import NAMES, Reviews, read_unlabelled
        from attnlab_theory.labs.reviews.material import encoded
        from attnlab_theory.labs.reviews.starts import read_model

        if self.outputs_path is not None:
            files.refuse_unwritable(self.outputs_path)
            files.refuse_input(self.outputs_path, self.model, self.lines)
        saved = read_model(self.model)
        texts = read_unlabelled(self.lines)
        reviews = Reviews(texts, (0,) * len(texts), str(self.lines))
        asked = encoded(reviews, saved.text, saved.model.config.encoder.block)
        found = probabilities(saved.model, asked.rows)
        if self.json:
            rows = [{"label": int(p > 0.5), "name": NAMES[int(p > 0.5)], "probability": p} for p in found.tolist()]
            print(json.dumps({"cut": asked.cut, "answers": rows}, indent=1))
            return 0
        answers = "".join(f"{int(p > 0.5)}\t{p:.4f}\n" for p in found)
        if self.outputs_path is None:
            print(answers, end="")
        else:
            files.write_text(self.outputs_path, answers)
            print(f"{len(texts)} lines are labelled in {self.outputs_path}; {asked.cut} were cut")
        return 0


def _rules(language: "LabelledGrammar | None") -> dict[str, float]:
    """What is known of the accuracy of rules, where the language is known."""
    if language is None:
        return {}
    return {"bayes_accuracy": language.bayes_accuracy, "counting_accuracy": language.counting_accuracy}


def _page_of(rules: dict[str, float]) -> str:
    if not rules:
        return ""
    return f"\nBayes's rule: {rules['bayes_accuracy']:.2%}; counting words: {rules['counting_accuracy']:.2%}"
