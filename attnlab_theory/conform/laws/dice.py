"""How a target gets its randomness: a seed, a generator, a key, or what all share."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.asking import SEEDS, Answer
from attnlab_theory.conform.finding import Fault, Trouble, Verdict
from attnlab_theory.conform.suite import Said, failed
from attnlab_theory.stats import Interval

ALPHA = 1e-6
"""How often a law may accuse a right program: the sum over all intervals of its row."""

UNEVEN = 0.1
"""The largest share that one of a thousand squares may have of their sum, if their mean is trusted.

Of squares of normal numbers it is about 0.01. Where it is much larger, a few draws decide what the mean is."""

STYLES: Mapping[str, Sequence[str]] = {
    "numpy": ("int", "numpy"),
    "torch": ("int", "torch"),
    "jax": ("jax", "int"),
}
"""What a framework's functions may take as their source of randomness, the most usual first."""

WORDS = {"int": "a whole number", "numpy": "a numpy Generator", "jax": "a key", "torch": "a torch Generator"}


@dataclasses.dataclass(frozen=True)
class Dice:
    """Where a target's random numbers come from."""

    name: str = ""
    """The parameter; empty for what all share."""
    style: str = "int"

    def thrown(self, seed: int) -> dict[str, list[Any]]:
        """What is asked of the harness for a seed."""
        return {self.name: [self.style, seed]}

    def __str__(self) -> str:
        return f"{self.name}: {WORDS[self.style]}" if self.name else "what numpy, torch and Python share is seeded"


def uneven(errors: np.ndarray) -> str:
    """Why the variance of draws cannot be had from them; empty if it can.

    Args:
        errors: draws less their mean, [draws ...].
    """
    squares = errors**2
    share = float(np.max(squares.max(0) / np.maximum(squares.sum(0), 1e-300)))
    if share <= UNEVEN:
        return ""
    return f"one of {len(errors)} draws makes {share:.0%} of their variance, which no formula tells"


def dice_of(names: Sequence[str], framework: str, tried: Callable[[Dice], Answer]) -> tuple[Dice, Answer]:
    """The first source that a target takes, and what it answered; the last one if it takes none.

    Args:
        names: its parameters.
        framework: whose arrays it takes.
        tried: makes a call with a source.
    """
    name = next((name for name in names if name.lower() in SEEDS), "")
    found = Dice(name, "int")
    answer = Answer(Trouble(fault=Fault.NOT_CALLED))
    # A Generator has methods that a whole number has not; a target that wants a number cannot use one.
    for style in STYLES[framework] if name else ("int",):
        found = Dice(name, style)
        answer = tried(found)
        if not answer.trouble:
            break
    return found, answer


def agrees(interval: Interval, right: float, slack: float = 0.0) -> bool:
    """Whether an interval holds the right number, give or take a rounding."""
    return interval.low - slack <= right <= interval.high + slack


def same_bits(first: Answer, second: Answer) -> bool:
    """Whether two answers are one."""
    return first.trouble == second.trouble and np.array_equal(first.output, second.output, equal_nan=True)


def seeded(dice: Dice, first: Answer, again: Answer, other: Answer) -> Said:
    """The same seed gives the same bits, and another seed gives others.

    Args:
        dice: the source.
        first: the answer to a seed.
        again: to the same seed.
        other: to another seed.
    """
    if trouble := first.trouble or again.trouble or other.trouble:
        return failed(trouble)
    if same_bits(first, other):
        return Said(Verdict.FAILS, "another seed gives the same numbers", 3)
    if not same_bits(first, again):
        if not dice.name:
            return Said(Verdict.CONVENTION, "its random numbers follow no seed that can be set from outside", 3)
        return Said(Verdict.FAILS, f"the same {dice.name} gives other numbers", 3)
    return Said(Verdict.HOLDS, "the same seed the same bits, another seed others", 3)
