"""Rounds that double: how often a measurement may be looked at, and what each look spends of the error rate."""

import dataclasses
import itertools
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Round:
    """One look at all draws so far.

    Example:
        The first of two looks at blocks of 8 draws. It may spend half of the error rate, the second a sixth.

        >>> first, second = rounds(8, 16)
        >>> first
        Round(number=1, blocks=range(0, 1), draws=8, is_last=False)
        >>> first.spends(0.12), round(second.spends(0.12), 12)
        (0.06, 0.02)
    """

    number: int
    """The number of the round, from 1."""
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

    Example:
        Blocks of 8 draws, and at most 40 in all: 8, then 16, then 32. The next round would need 64.

        >>> [each.draws for each in rounds(8, 40)]
        [8, 16, 32]
        >>> [list(each.blocks) for each in rounds(8, 40)]
        [[0], [1], [2, 3]]
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
