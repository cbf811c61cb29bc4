"""Random search with a declared budget: which trials there are, and how many epochs each of them gets.

Nothing here imports jax, for the command line reads it first.
"""

import dataclasses
import itertools
import math
import random
from collections.abc import Sequence

from attnlab_theory.labs.recipes import Recipe


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """One way to train."""

    batch: int
    """Reviews behind one step."""
    rate: float
    """The highest learning rate."""
    epochs: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"batch-{self.batch}.lr-{self.rate:g}.epochs-{self.epochs}"

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what the trial says."""
        return dataclasses.replace(recipe, batch=self.batch, rate=self.rate, epochs=self.epochs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Space:
    """All trials that there could be: each batch size with each rate and each number of epochs.

    Raises:
        ValueError: naming a list that is empty, that holds a number twice or one that is not positive.
    """

    batches: tuple[int, ...]
    rates: tuple[float, ...]
    epochs: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, numbers in vars(self).items():
            if not numbers:
                raise ValueError(f"a search needs at least one value of {name}")
            for number in numbers:
                if not 0 < number < math.inf:
                    raise ValueError(f"{name} of a search must be positive and finite, not {number}")
                if numbers.count(number) > 1:
                    raise ValueError(f"{name} of a search hold {number} twice; once is enough")

    def __len__(self) -> int:
        return len(self.batches) * len(self.rates) * len(self.epochs)

    def drawn(self, number: int, seed: int) -> tuple[Trial, ...]:
        """Different trials in random order; a longer search begins with those of a shorter one.

        Raises:
            ValueError: if there are not so many, or none is asked for.
        """
        if not 1 <= number <= len(self):
            most = "only 1 trial" if len(self) == 1 else f"1 to {len(self)} trials"
            raise ValueError(f"a search of this space has {most}, not {number}")
        every = [
            Trial(batch=batch, rate=rate, epochs=epochs)
            for batch, rate, epochs in itertools.product(self.batches, self.rates, self.epochs)
        ]
        random.Random(f"search {seed}").shuffle(every)
        return tuple(every[:number])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Halving:
    """Successive halving: all trials begin, and after each rung only the best of them go on.

    Raises:
        ValueError: if there is no rung, or a rung keeps all trials.

    Source: Jamieson and Talwalkar 2016.
    """

    rungs: int = 3
    """How often trials are compared; one rung is plain random search."""
    factor: int = 2
    """Of so many trials one goes on, with so many times the epochs."""

    def __post_init__(self) -> None:
        if self.rungs < 1:
            raise ValueError(f"rungs must be a whole number of at least 1, not {self.rungs}")
        if self.factor < 2:
            raise ValueError(f"a rung keeps one trial of at least 2, not of {self.factor}")

    def refuse_too_many_rungs(self, trials: int) -> None:
        """Refuse rungs that would have no fewer trials than the one before.

        Raises:
            ValueError: naming how many trials it takes.
        """
        least = self.factor ** (self.rungs - 1)
        if trials < least:
            raise ValueError(f"{self.rungs} rungs need at least {least} trials, not {trials}: take fewer rungs")

    def kept(self, trials: int, rung: int) -> int:
        """How many of the trials take part in a rung, counted from 0."""
        return max(1, trials // self.factor**rung)

    def reached(self, epochs: int, rung: int) -> int:
        """After how many epochs a trial of so many is compared in a rung: in the last one after all."""
        return max(1, epochs // self.factor ** (self.rungs - 1 - rung))

    def epochs(self, trials: Sequence[Trial]) -> int:
        """No more epochs than these are trained, whichever trials go on: the budget that is declared."""
        spent = 0
        for rung in range(self.rungs):
            more = sorted(
                self.reached(trial.epochs, rung) - (self.reached(trial.epochs, rung - 1) if rung else 0)
                for trial in trials
            )
            spent += sum(more[-self.kept(len(trials), rung) :])
        return spent


def best(scores: Sequence[float], number: int) -> tuple[int, ...]:
    """The places of the highest scores, in their order; of equal ones the earlier.

    Raises:
        ValueError: if a score is no number.
    """
    for place, score in enumerate(scores):
        if math.isnan(score):
            raise ValueError(f"the score of trial {place} is no number: it cannot be compared")
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return tuple(sorted(order[:number]))
