"""Files of predictions, by whatever program: how many are right, nearly right, and gained over the first."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attnlab_theory.labs.comparisons import gained
from attnlab_theory.labs.estimates import Estimates, share
from attnlab_theory.labs.knowledge import near_answers
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, read_predictions


def scored(paths: Sequence[Path], labels: Sequence[str], questions: Questions, error_rate: float) -> Estimates:
    """`accuracy` of each file, and of all but the first what `comparisons.gained` says beside the first.

    After those stand, for each file, `accuracy but for spaces` and `lines that hold the place`, as `near_answers`
    has them. They are no scores: the homework counts letter for letter.

    Args:
        paths: each with one answer per line, in the order of the questions; an answer is right letter for letter.
        labels: what the estimates call them, all different.
        questions: with their places.
        error_rate: of each interval.

    Raises:
        ValueError: if the questions have no places, or as `read_predictions`.
    """
    said = [read_predictions(path, questions) for path in paths]
    rights = [np.array([*map(str.__eq__, predictions, questions.answers)]) for predictions in said]
    found = [share("accuracy", right, error_rate, label=label) for label, right in zip(labels, rights, strict=True)]
    for label, right in zip(labels[1:], rights[1:], strict=True):
        found += gained(rights[0], right, error_rate, first=labels[0], label=label)
    for label, predictions in zip(labels, said, strict=True):
        for quantity, counted in (
            ("accuracy but for spaces", near_answers.but_for_spaces),
            ("lines that hold the place", near_answers.holding),
        ):
            found.append(share(quantity, counted(predictions, questions), error_rate, label=label))
    return Estimates(found)
