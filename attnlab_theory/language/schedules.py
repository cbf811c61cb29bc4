"""Learning rates as functions of the progress of training: plain numbers, on the host.

optax has schedules too, but they count steps alone, and the homework's counts places. optax's cosine bends towards
its floor. The cosine here is cut off at the floor, as in the committed runs.
"""

import dataclasses
import math
from typing import Protocol, runtime_checkable

from attnlab_theory import refuse


@runtime_checkable
class Schedule(Protocol):
    """A learning rate for every step."""

    def rate(self, step: int, tokens: int) -> float:
        """The rate of a step, counted from 0. Before it, `tokens` places had been read, PAD included."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Constant:
    """The same rate at every step.

    Raises:
        ValueError: if the rate is not positive.
    """

    always: float

    def __post_init__(self) -> None:
        refuse.not_positive(always=self.always)

    def rate(self, step: int, tokens: int) -> float:
        """The rate, whatever the step."""
        return self.always


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cosine:
    """Warm up in a straight line, then half a cosine down to a floor, where it stays.

    Raises:
        ValueError: naming a number that makes no schedule.
    """

    peak: float
    """The highest rate."""
    steps: int
    """The number of steps of the whole run."""
    warmup: int = 0
    """Steps before the peak."""
    floor: float = 0.1
    """The lowest rate, as a share of the peak."""

    def __post_init__(self) -> None:
        refuse.not_positive(peak=self.peak)
        refuse.not_a_size(steps=self.steps)
        _refuse_floor(self.floor)
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup must be at least 0 and less than the {self.steps} steps, not {self.warmup}")

    def rate(self, step: int, tokens: int) -> float:
        """The rate of a step; `tokens` does not matter."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.peak * max(self.floor, _half_cosine(done))


@dataclasses.dataclass(frozen=True, kw_only=True)
class HomeworkCosine:
    """The homework's cosine over tokens, which rises again when it is over.

    The homework gives out minGPT's trainer, which does not stop the cosine at its end. Its first step has the peak
    rate, and the warm-up is over after one batch. Past `final_tokens` the rate rises again. In 2021 to 2023
    `final_tokens` was 200 epochs, and training took 650. So the rate falls until epoch 200, rises until 403, and
    falls until 605.

    Raises:
        ValueError: naming a number that makes no schedule.

    Source: Stanford CS224n, assignment 5, `trainer.py`.
    """

    peak: float
    final_tokens: int
    """The number of places, PAD included, after which the cosine is at its lowest for the first time."""
    warmup_tokens: int = 512 * 20
    floor: float = 0.1

    def __post_init__(self) -> None:
        refuse.not_positive(peak=self.peak)
        refuse.not_a_size(final_tokens=self.final_tokens, warmup_tokens=self.warmup_tokens)
        _refuse_floor(self.floor)
        if self.warmup_tokens >= self.final_tokens:
            raise ValueError(
                f"warmup_tokens {self.warmup_tokens} must be fewer than final_tokens {self.final_tokens}"
            )

    def rate(self, step: int, tokens: int) -> float:
        """The rate of a step. It is set after each step for the next one, so the first step has the peak rate."""
        if step == 0:
            return self.peak
        if tokens < self.warmup_tokens:
            return self.peak * tokens / self.warmup_tokens
        done = (tokens - self.warmup_tokens) / (self.final_tokens - self.warmup_tokens)
        return self.peak * max(self.floor, _half_cosine(done))


def _half_cosine(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def _refuse_floor(floor: float) -> None:
    if not 0 <= floor <= 1:
        raise ValueError(f"floor is a share of the peak rate, from 0 to 1, not {floor}")
