"""The accuracy of a classifier on reviews, with an interval, and its answers."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory import inputs
from attnlab_theory.labs.engine.record import read
from attnlab_theory.labs.estimates import Estimate, over_seeds, share
from attnlab_theory.labs.reviews.answers import Probabilities, probabilities, right
from attnlab_theory.labs.reviews.claims import OVER_MODELS, STATEMENTS
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.labs.verdicts import ERROR_RATE, Verdicts, verdicts_on
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.plurals import agree, several, some_of
from attnlab_theory.report import record
from attnlab_theory.stats import Interval


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The answers of one classifier about the reviews of a test."""

    answers: Probabilities
    """The probability of label 1, for every review."""
    right: int
    """How many reviews it labels as the file does."""
    accuracy: Estimate
    majority: float
    """The accuracy of always answering the commoner label."""
    cut: int
    """How many reviews did not fit into a row, and lost their end."""

    def as_json(self) -> dict[str, Any]:
        """All fields but the answers."""
        return {
            "reviews": len(self.answers),
            "right": self.right,
            "accuracy": self.accuracy.value,
            "interval": record.ends(self.accuracy.interval),
            "error_rate": ERROR_RATE,
            "majority": self.majority,
            "cut": self.cut,
        }

    @property
    def words(self) -> str:
        """The accuracy and its interval in words."""
        low, high = self.accuracy.interval.low, self.accuracy.interval.high
        said = (
            f"{some_of(self.right, len(self.answers), 'test review', 'is', 'are')} labelled right: "
            f"{self.accuracy.value:.2%}, interval {low:.2%} to {high:.2%} ({1 - ERROR_RATE:.0%})\n"
            f"always the commoner label: {self.majority:.2%}"
        )
        cut = f"\n{several(self.cut, 'review')} did not fit and {agree(self.cut, 'was', 'were')} cut"
        return said + cut * bool(self.cut)


def evaluation(model: Any, text: OfSentences, reviews: Reviews) -> Evaluation:
    """Ask a classifier about every review.

    Args:
        model: a `Classifier`.
        text: the vocabulary that it reads.
        reviews: with the labels that count as right.

    Raises:
        ValueError: if a review has no token, or a row of the model has no room for one.
    """
    asked = encoded(reviews, text, model.config.encoder.block)
    answers = probabilities(model, asked.rows)
    hits = right(answers, reviews.targets)
    return Evaluation(
        answers=answers,
        right=int(np.sum(hits)),
        accuracy=share("test accuracy", hits.astype(float), ERROR_RATE),
        majority=reviews.majority,
        cut=asked.cut,
    )


def over_models(values: Sequence[float]) -> Estimate:
    """`accuracy over models`: their mean accuracy on one test, with an interval for more models of their kind."""
    return over_seeds(OVER_MODELS, values, within=Interval(0.0, 1.0))


def judged_over_models(whole: Estimate, reviews: int, majority: float | None) -> Verdicts:
    """Judge whether more models of the kind would reach the wanted accuracy.

    Args:
        whole: the estimate of `over_models`.
        reviews: how many the test has.
        majority: the accuracy of always giving the commoner label. None if nobody knows: then nothing is supported.
    """
    setting = {"models": whole.draws, "reviews": reviews}
    whole = dataclasses.replace(whole, setting=setting if majority is None else {**setting, "majority": majority})
    return verdicts_on(STATEMENTS, [whole], experiment="reviews")


def again(folder: Path) -> Verdicts | None:
    """Judge again the finding about models that `reviews train` tested, by the accuracy of each.

    Args:
        folder: with `test.SEED.json` of every model, and `tested.json`. Without the latter there is nothing to
            judge.

    Raises:
        ValueError: if a file is damaged.
    """
    if not (folder / "tested.json").exists():
        return None
    paths = sorted(folder.glob("test.*.json"))
    tests = [read(path, _told) for path in paths]
    asked = {(reviews, majority) for reviews, _, majority in tests}
    if len(asked) != 1:
        raise ValueError(f"{folder} has tested.json, but no test.SEED.json of several models on one test")
    return judged_over_models(over_models([accuracy for _, accuracy, _ in tests]), *asked.pop())


def _told(value: Any) -> tuple[int, float, float | None]:
    """The number of reviews in the test of a model, its accuracy, and that of the commoner label if it is known."""
    inputs.refuse_other_fields(value["test"], {"reviews": int, "accuracy": (int, float)})
    if not 0 <= value["test"]["accuracy"] <= 1:
        raise ValueError(f"an accuracy lies between 0 and 1, not at {value['test']['accuracy']}")
    return value["test"]["reviews"], value["test"]["accuracy"], value["test"].get("majority")
