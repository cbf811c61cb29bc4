"""Names that a model has never seen: is it confident about them, and what in the name decides its answer?

There is nothing to measure if a model has no questions about such names.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Int

from attnlab_theory.labs.estimates import Estimate, Estimates, share
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.arms import UNTRAINED
from attnlab_theory.labs.knowledge.confidence import sure_of_right
from attnlab_theory.stats import proportion
from attnlab_theory.stats.comparisons import permutation_test

Part = Literal["first", "last"]

SYLLABLE = 2
"""The letters of a syllable of a generated name: a consonant and a vowel."""


def confident_places(answers: Answers, places: Collection[str], error_rate: float) -> Estimates:
    """`confident places` of each arm and seed: the share of names never seen that get a place with confidence.

    That is more confidence than half of this model's right answers about held-out persons have. Answers learned by
    rote do not count, because they have more. The threshold is taken as given. A model without a right answer has
    no share.
    """
    known, found = frozenset(places), []
    for arm, seed, model in _models(answers):
        held_out = Answers(answer for answer in model if answer.group == "held-out")
        if not held_out.right.any():
            continue
        unseen, threshold = model.of("never-seen"), sure_of_right(held_out)
        is_place = np.array([answer.predicted in known for answer in unseen])
        setting = {"variant": arm, "seed": seed, "threshold": threshold}
        found.append(
            share("confident places", is_place & (unseen.log_probabilities > threshold), error_rate, **setting)
        )
    return Estimates(found)


def same_part(answers: Answers, part: Part, error_rate: float, *, shuffles: int = 9_999) -> Estimates:
    """`p of same part`: do names never seen get the same place more often if they share their first (last) part?

    It is a permutation test for each arm and seed. `agreement` is the share of pairs of such names with one answer.
    `by_chance` is its mean when the answers are shuffled over the names. There is none if no two names share the
    part.
    """
    found = []
    for arm, seed, model in _models(answers):
        unseen = model.of("never-seen")
        parts = np.array([part_of(answer.name, part) for answer in unseen])
        i, j = np.nonzero(np.triu(parts[:, None] == parts, 1))
        if not i.size:
            continue
        found.append(
            _shuffled(
                "p of same part",
                lambda places, i=i, j=j: np.mean(places[..., i] == places[..., j], axis=-1),
                _numbered([answer.predicted for answer in unseen]),
                error_rate,
                shuffles,
                {"variant": arm, "seed": seed, "part": part, "pairs": len(i)},
            )
        )
    return Estimates(found)


def like_the_nearest(answers: Answers, error_rate: float, *, shuffles: int = 9_999) -> Estimates:
    """`p of nearest name`: do names never seen get the place of the known person with the most similar name?

    It is a permutation test for each arm and seed. `agreement` is the share of answers that are the place of the
    nearest name by edit distance. Several equally near names count in parts. `by_chance` is its mean when the
    answers are shuffled. Known persons are those about whom this model has read.
    """
    found = []
    for arm, seed, model in _models(answers):
        # Without pretraining, finetuning is all that spoke of anybody.
        known = {"finetuned"} if arm == UNTRAINED else {"finetuned", "held-out"}
        unseen, seen = model.of("never-seen"), [a for a in model if a.group in known]
        if not seen:
            continue
        distances = edit_distances([a.name for a in unseen], [a.name for a in seen])
        nearest = distances == distances.min(axis=1, keepdims=True)
        i, j = np.nonzero(nearest)
        weights = 1 / nearest.sum(axis=1)[i] / len(unseen)
        numbers = _numbered([a.predicted for a in unseen] + [a.gold for a in seen])
        said, true = numbers[: len(unseen)], numbers[len(unseen) :]
        found.append(
            _shuffled(
                "p of nearest name",
                lambda places, i=i, wanted=true[j], weights=weights: (places[..., i] == wanted) @ weights,
                said,
                error_rate,
                shuffles,
                {"variant": arm, "seed": seed, "distance": float(np.mean(distances.min(axis=1)))},
            )
        )
    return Estimates(found)


def part_of(name: str, part: Part) -> str:
    """The first name or the surname. If the name is one word, its first or last syllable."""
    words = name.split()
    if len(words) > 1:
        return words[0] if part == "first" else words[-1]
    return name[:SYLLABLE] if part == "first" else name[-SYLLABLE:]


def edit_distances(first: Sequence[str], second: Sequence[str]) -> Int[np.ndarray, "first second"]:
    """The number of letters to insert, delete or replace that turn one name into the other (Levenshtein).

    Raises:
        ValueError: if a name is empty.
    """
    if not all(first) or not all(second):
        raise ValueError("edit distances are between names, and a name has at least one letter")
    rows, columns = (_letters(names) for names in (first, second))
    row_ends, column_ends = ([len(name) for name in names] for names in (first, second))
    distances = np.zeros((len(first), len(second)), np.int64)
    # The table of dynamic programming, for all pairs of names at once: a layer is one of its rows.
    layer = np.broadcast_to(
        np.arange(columns.shape[1] + 1)[:, None, None], (columns.shape[1] + 1, *distances.shape)
    )
    for i in range(1, rows.shape[1] + 1):
        above, layer = layer, np.full_like(layer, i)
        for j in range(1, columns.shape[1] + 1):
            replaced = above[j - 1] + (rows[:, i - 1, None] != columns[:, j - 1])
            layer[j] = np.minimum(replaced, np.minimum(above[j], layer[j - 1]) + 1)
        done = np.equal(row_ends, i)
        distances[done] = layer[column_ends, :, np.arange(len(second))].T[done]
    return distances


def _letters(names: Sequence[str]) -> np.ndarray:
    padded = np.array(names)
    return padded.view(np.uint32).reshape(len(names), -1)


def _numbered(places: list[str]) -> np.ndarray:
    return np.unique(np.array(places), return_inverse=True)[1]


def _models(answers: Answers) -> list[tuple[str, int, Answers]]:
    """The answers about persons who were never seen."""
    models = dict.fromkeys((a.variant, a.seed) for a in answers if a.group == "never-seen")
    return [(arm, seed, answers.of(variant=arm, seed=seed)) for arm, seed in models]


def _shuffled(
    quantity: str,
    statistic: Callable[[np.ndarray], np.ndarray],
    labels: np.ndarray,
    error_rate: float,
    shuffles: int,
    setting: dict,
) -> Estimate:
    found = permutation_test(statistic, labels, shuffles=shuffles)
    bound = proportion()
    return Estimate(
        quantity=quantity,
        setting={**setting, "agreement": found.observed, "by_chance": found.mean},
        value=found.p,
        interval=bound.interval(np.arange(shuffles) < found.reached, error_rate),
        draws=shuffles,
        bound=f"{bound.name}: shuffles that come as high (Clopper-Pearson)",
        error_rate=error_rate,
    )
