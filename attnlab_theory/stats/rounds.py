"""Rounds that double: how often a measurement may be looked at, and what each look spends of the error rate."""

import dataclasses
import itertools
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Round:
    """One look at all draws so far."""

    number: int
    """From 1 on."""
    blocks: range
    """The blocks that are new in this round."""
    draws: int
    """All draws so far, those of this round included."""
    is_last: bool
    """Whether another round would exceed the cap."""

    def spends(self, error_rate: float) -> float:
        """Round j's share, error_rate / (j (j + 1)): all shares sum to the error rate, so one may stop at any."""
        return error_rate / (self.number * (self.number + 1))


def rounds(block: int, max_draws: int) -> Iterator[Round]:
    """One block, two, four, ..., as long as no more than `max_draws` are drawn.

    Args:
        block: draws in a block.
        max_draws: the cap, declared before looking.

    Raises:
        ValueError: if the cap does not hold one block.
    """
    if max_draws < block:
        raise ValueError(
            f"max_draws is {max_draws}, but a block holds {block}: lower the chunk, or allow more draws"
        )
    done = 0
    for number in itertools.count(1):
        blocks = range(done, 2 ** (number - 1))
        done = blocks.stop
        is_last = 2 * done * block > max_draws
        yield Round(number, blocks, done * block, is_last)
        if is_last:
            return
