"""Scores of files of predictions, by any program: how many are right or nearly right, and the gain over the first.

A nearly right answer differs from the place by invisible characters, or holds it among other words. The homework
counts neither as right.
"""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.comparisons import gained
from attnlab_theory.labs.estimates import Estimates, share
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, Score, read_predictions
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.language.text.characters import PAD
from attnlab_theory.plurals import some_of

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
"""Characters without width, which readers do not see."""


def scored(paths: Sequence[Path], labels: Sequence[str], questions: Questions, error_rate: float) -> Estimates:
    """`accuracy` of each file, and what `comparisons.gained` says about each file but the first, against the first.

    Then follow `accuracy but for spaces` and `lines that hold the place` of each file. They are no scores: the
    homework compares letter for letter.

    Args:
        paths: each with one answer on each line, in the order of the questions.
        labels: the names of the files in the estimates, all different.
        questions: with their places.
        error_rate: of each interval.

    Raises:
        ValueError: if the questions have no places, or a file is missing, not UTF-8 or of another length.
    """
    said = [read_predictions(path, questions) for path in paths]
    rights = [np.array([*map(str.__eq__, predictions, questions.answers)]) for predictions in said]
    found = [share("accuracy", right, error_rate, label=label) for label, right in zip(labels, rights, strict=True)]
    for label, right in zip(labels[1:], rights[1:], strict=True):
        found += gained(rights[0], right, error_rate, first=labels[0], label=label)
    for label, predictions in zip(labels, said, strict=True):
        for quantity, counted in (
            ("accuracy but for spaces", but_for_spaces),
            ("lines that hold the place", holding),
        ):
            found.append(share(quantity, counted(predictions, questions), error_rate, label=label))
    return Estimates(found)


def but_for_spaces(predictions: Sequence[str], questions: Questions) -> Bool[np.ndarray, " n"]:
    """Which predictions are the place up to spaces, padding, and Unicode's two ways to write an accent.

    Args:
        predictions: one for each question. Those that are right letter for letter count too.
        questions: with their places.

    Raises:
        ValueError: if the questions have no places.
    """
    pairs = zip(predictions, questions.answers, strict=True)
    return np.array([_seen(said) == _seen(place) for said, place in pairs], bool)


def holding(predictions: Sequence[str], questions: Questions) -> Bool[np.ndarray, " n"]:
    """Which predictions hold the place as whole words, alone or among other words.

    Args:
        predictions: one for each question.
        questions: with their places.

    Raises:
        ValueError: if the questions have no places.
    """
    pairs = zip(predictions, questions.answers, strict=True)
    return np.array([_holds(_seen(said), _seen(place)) for said, place in pairs], bool)


def remarks(predictions: Sequence[str], questions: Questions, *, who: str) -> list[str]:
    """Lines about nearly right answers, which a count of exact answers does not show: one for each kind.

    Args:
        predictions: one for each question.
        questions: with their places.
        who: the name of the model or file.
    """
    right = np.array([*map(str.__eq__, predictions, questions.answers)], bool)
    near, held = but_for_spaces(predictions, questions), holding(predictions, questions)
    said = []
    if missed := int((near & ~right).sum()):
        said.append(
            f"{who}: {missed} more would match but for spaces, padding ({PAD}) or accents that are written apart."
        )
    if (held & ~near).any():
        hold = some_of(int(held.sum()), len(right), "line", "holds", "hold")
        said.append(f"{who}: {hold} the place, alone or among other words.")
    return said


def as_json(score: Score | None) -> dict[str, Any]:
    """The number of right answers, their share and its interval. All are None if there is no score."""
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


def in_words(who: str, score: Score) -> str:
    """A line with the number of right answers, and the interval of their share."""
    interval = score.interval(ERROR_RATE)
    return (
        f"{who}: {score.correct} of {score.total} right, {100 * score.accuracy:.1f} % "
        f"({100 * (1 - ERROR_RATE):g} % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %)"
    )


def _seen(text: str) -> str:
    """The text as a reader sees it: one space between words, none around them, and accents as one character."""
    composed = unicodedata.normalize("NFC", text.translate(INVISIBLE))
    return " ".join(composed.rstrip(f"{PAD} ").split())


def _holds(said: str, place: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(place)}(?!\w)", said) is not None
