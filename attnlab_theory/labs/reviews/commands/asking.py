"""attnlab reviews evaluate and predict: how often a classifier is right, and what it says of other lines."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files

if TYPE_CHECKING:
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.corpora.labelled_grammar import LabelledGrammar
    from attnlab_theory.language.corpora.reviews import Reviews

ERROR_RATE = 0.05
"""Of the interval."""

Model = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL", help="File of a model that reviews train wrote.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Tell how many reviews of a file a model labels as the file does, with an interval."""

    model: Model
    test: Path | None = None
    """File of reviews, a line LABEL text for each. By default they are drawn from the embedded grammar."""
    seed: int = 0
    """Of reviews that are drawn."""
    outputs_path: Path | None = None
    """File for the answers: a label on each line, in the order of the reviews."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Ask, count, print."""
        import numpy as np

        from attnlab_theory.labs.estimates import share
        from attnlab_theory.labs.reviews.answered import probabilities, right
        from attnlab_theory.labs.reviews.material import encoded
        from attnlab_theory.labs.reviews.starts import read_model
        from attnlab_theory.report import record

        if self.outputs_path is not None:
            files.refuse_unwritable(self.outputs_path)
            files.refuse_input(self.outputs_path, self.model, self.test)
        saved = read_model(self.model)
        reviews, language = self._asked(saved)
        asked = encoded(reviews, saved.text, saved.model.config.encoder.block)
        found = probabilities(saved.model, asked.rows)
        hits = right(found, reviews.targets)
        estimate = share("test accuracy", hits.astype(float), ERROR_RATE)
        told: dict[str, Any] = {
            "reviews": len(reviews),
            "right": int(np.sum(hits)),
            "accuracy": estimate.value,
            "interval": record.ends(estimate.interval),
            "error_rate": ERROR_RATE,
            "majority": reviews.majority,
            "cut": asked.cut,
        }
        if language is not None:
            told |= {"bayes_accuracy": language.bayes_accuracy, "counting_accuracy": language.counting_accuracy}
        if self.outputs_path is not None:
            files.write_text(self.outputs_path, "".join(f"{int(p > 0.5)}\n" for p in found))
        print(json.dumps(told, indent=1) if self.json else _page(told))
        return 0

    def _asked(self, saved: "Saved") -> tuple["Reviews", "LabelledGrammar | None"]:
        from attnlab_theory.labs.reviews.material import Sizes, generated
        from attnlab_theory.language.corpora.reviews import read_reviews

        if self.test is not None:
            return read_reviews(self.test), None
        drawn = generated(self.seed, Sizes())
        if saved.text.as_json() != drawn.text.as_json():
            raise ValueError(f"{self.model} was not trained on the embedded grammar: name reviews with --test")
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
        from attnlab_theory.labs.reviews.material import encoded
        from attnlab_theory.labs.reviews.starts import read_model
        from attnlab_theory.language.corpora.reviews import NAMES, Reviews, read_unlabelled

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


def _page(told: dict[str, Any]) -> str:
    low, high = told["interval"]
    lines = [
        f"{told['right']} of {told['reviews']} reviews are labelled right: {told['accuracy']:.2%}, "
        f"interval {low:.2%} to {high:.2%} ({1 - ERROR_RATE:.0%})",
        f"always the commoner label: {told['majority']:.2%}",
    ]
    if "bayes_accuracy" in told:
        lines.append(f"Bayes's rule: {told['bayes_accuracy']:.2%}; counting words: {told['counting_accuracy']:.2%}")
    if told["cut"]:
        lines.append(f"{told['cut']} reviews did not fit and were cut")
    return "\n".join(lines)
