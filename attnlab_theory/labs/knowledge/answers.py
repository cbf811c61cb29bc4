"""A model's answers to the question where somebody was born."""

import dataclasses
import math
from typing import Any, get_args

import numpy as np
from jaxtyping import Bool, Float64

from attnlab_theory.labs.knowledge.arms import UNTRAINED
from attnlab_theory.labs.knowledge.corpora.biographies import Group


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answered:
    """One question, and the answer of one model.

    Raises:
        ValueError: if there is no name, no such group, or the probability is not a probability.
    """

    name: str
    """The name of the person."""
    gold: str
    """The birthplace."""
    predicted: str
    """The answer."""
    log_probability: float
    """The natural logarithm of the probability of the whole answer, with its closing mark."""
    group: Group
    """What the model has seen about this person."""
    variant: str
    """The arm, by its name in files: "none", or the name of a pretrained model."""
    seed: int
    """The seed of the training run."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError(f"an answer needs the name of the person asked for, not {self.name!r}")
        if self.group not in get_args(Group):
            raise ValueError(f"group is one of {', '.join(get_args(Group))}, not {self.group!r}")
        # A sum of float32 logarithms may come out a little above zero.
        if not -math.inf < self.log_probability <= 1e-3:
            raise ValueError(
                f"the log-probability of an answer is at most 0, and finite, not {self.log_probability}"
            )

    @property
    def is_right(self) -> bool:
        """Whether the answer is the place, letter for letter."""
        return self.predicted == self.gold

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Answered":
        """The answer that `as_json` wrote.

        Raises:
            ValueError: if a field is missing, unknown or out of range.
        """
        try:
            return cls(**value)
        except TypeError as error:
            raise ValueError(f"{value} is not an answer of a model: {error}; evaluate it again") from None


class Answers(tuple[Answered, ...]):
    """Answers of one or several models, in the order in which they were given."""

    def of(self, *groups: str, **fields: Any) -> "Answers":
        """The answers about persons of these groups, by default of all, whose fields have these values.

        Raises:
            ValueError: if there is none.
        """
        chosen = Answers(
            answer
            for answer in self
            if (not groups or answer.group in groups)
            and all(getattr(answer, name) == value for name, value in fields.items())
        )
        if not chosen:
            raise ValueError(
                f"no answer is of {' or '.join(groups) or 'any group'} and {fields}; evaluate those first"
            )
        return chosen

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms, in order of first appearance. The one without pretraining comes first."""
        arms = dict.fromkeys(answer.variant for answer in self)
        return tuple(sorted(arms, key=lambda arm: arm != UNTRAINED))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order of first appearance."""
        return tuple(dict.fromkeys(answer.seed for answer in self))

    @property
    def right(self) -> Bool[np.ndarray, " questions"]:
        """Which answers are right."""
        return np.array([answer.is_right for answer in self], bool)

    @property
    def log_probabilities(self) -> Float64[np.ndarray, " questions"]:
        """The log-probability of each answer."""
        return np.array([answer.log_probability for answer in self], np.float64)

    @property
    def confidences(self) -> Float64[np.ndarray, " questions"]:
        """The probabilities of the answers."""
        return np.exp(np.minimum(self.log_probabilities, 0.0))


def independent(answers: Answers) -> Answers:
    """The answers of seeds with different questions. Of seeds with the same questions, only the first counts.

    Models of one recipe answer a question in much the same way. If it counted once for each seed, every interval
    would be too narrow.
    """
    first: dict[tuple[tuple[str, str, str], ...], int] = {}
    for seed in answers.seeds:
        asked = dict.fromkeys((answer.group, answer.name, answer.gold) for answer in answers if answer.seed == seed)
        first.setdefault(tuple(asked), seed)
    return Answers(answer for answer in answers if answer.seed in first.values())


def in_pairs(answers: Answers, first: str, second: str, *groups: str) -> tuple[Answers, Answers]:
    """The answers of two arms to the same questions, seed by seed.

    Raises:
        ValueError: if one has no answers, or they did not answer the same questions in the same order.
    """
    pair = answers.of(*groups, variant=first), answers.of(*groups, variant=second)
    asked = [[(a.seed, a.group, a.name, a.gold) for a in one] for one in pair]
    if asked[0] != asked[1]:
        raise ValueError(
            f"{first} and {second} were not asked the same questions in the same order "
            f"({len(asked[0])} and {len(asked[1])} of them); evaluate both on the same seeds"
        )
    return pair
