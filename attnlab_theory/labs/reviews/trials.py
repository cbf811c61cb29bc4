"""Random search with a declared budget: the trials, and the epochs that they take.

Nothing here imports jax, because the command line reads it first.
"""

import dataclasses
import itertools
import math
import random
from collections.abc import Sequence

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.plurals import several


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """One way to train."""

    batch: int
    """Reviews in one batch, which makes one step."""
    rate: float
    """The highest learning rate."""
    epochs: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"batch-{self.batch}.lr-{self.rate:g}.epochs-{self.epochs}"

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with the numbers of the trial."""
        return dataclasses.replace(recipe, batch=self.batch, rate=self.rate, epochs=self.epochs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Space:
    """All possible trials: each batch size with each rate and each number of epochs.

    Raises:
        ValueError: naming a list that is empty, or holds a number twice or one that is not positive.
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
        """Different trials in random order. A longer search begins with those of a shorter one.

        Raises:
            ValueError: if there are not so many, or `number` is not positive.
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


def budget(trials: Sequence[Trial]) -> int:
    """How many epochs all trials take, each trained to its end."""
    return sum(trial.epochs for trial in trials)


def declared(trials: Sequence[Trial]) -> str:
    """A line about the budget of a search."""
    return f"budget: {several(len(trials), 'trial')}, at most {several(budget(trials), 'epoch')}"
